"""The description of votes tells sizes, connected items and cycles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankbench.core.text import cut, short_repr
from rankbench.errors import InputError
from rankbench.interfaces.pair_counts import PairCounts

if TYPE_CHECKING:
    from rankbench.ranking.drift import Drift
    from rankbench.ranking.judges import OneSided, Position, Repeats
    from rankbench.ranking.suspicions import Findings


DENSE = 3000
"""Most items whose triples are counted by products of dense matrices (36 MB each)."""

_WORK = 30_000_000
"""Steps of a sparse product beyond which triples are not counted."""


@dataclass(frozen=True)
class Majority:
    """What the majority graph is like.

    Attributes
    ----------
    decided : int
        Compared pairs in which one item won more weight than the other.
    triples : int, optional
        Triples of items whose three pairs are all decided; None where counting them would
        take too long.
    cycles : int, optional
        Triples in which each item beats one of the others.
    winner : str, optional
        The Condorcet winner: beats every other item.
    """

    decided: int
    triples: int | None
    cycles: int | None
    winner: str | None

    @property
    def share(self) -> float | None:
        """Share of the triples that are cyclic; None if there are none."""
        return self.cycles / self.triples if self.triples and self.cycles is not None else None


def majority(counts: PairCounts) -> Majority:
    """Describe the majority graph; a pair with equal weights both ways has no edge.

    The number of 3-cycles is tr(B^3) / 3 with B the 0/1 matrix of "beats".
    """
    m, low, high = counts.m, counts.low, counts.high
    there, back = counts.forward > counts.backward, counts.backward > counts.forward
    better = np.concatenate([low[there], high[back]])
    worse = np.concatenate([high[there], low[back]])
    beaten = np.bincount(better, minlength=m)
    winner = counts.items[int(beaten.argmax())] if m > 1 and beaten.max() == m - 1 else None
    degree = np.bincount(np.concatenate([better, worse]), minlength=m)
    if m <= DENSE:
        b = np.zeros((m, m), np.float32)
        b[better, worse] = 1
        # Entries of the products are at most m, exact in float32; the sums are taken in float64.
        cyclic = float(((b @ b) * b.T).sum(dtype=np.float64)) / 3
        u = b + b.T
        every = float(((u @ u) * u).sum(dtype=np.float64)) / 6
        return Majority(len(better), round(every), round(cyclic), winner)
    if int((degree.astype(np.int64) ** 2).sum()) > _WORK:
        return Majority(len(better), None, None, winner)
    from scipy.sparse import coo_array

    edges = coo_array((np.ones(len(better), np.int64), (better, worse)), shape=(m, m)).tocsr()
    cyclic = int((edges @ edges).multiply(edges.T).sum()) // 3
    both = (edges + edges.T).tocsr()
    return Majority(len(better), int((both @ both).multiply(both).sum()) // 6, cyclic, winner)


@dataclass(frozen=True)
class Sizes:
    """Distribution of a count."""

    smallest: int
    median: float
    mean: float
    largest: int

    @classmethod
    def from_counts(cls, counts: list[int]) -> Sizes:
        """Summarize at least one count."""
        values = np.array(counts)
        return cls(int(values.min()), float(np.median(values)), float(values.mean()), int(values.max()))

    def __str__(self) -> str:
        if self.smallest == self.largest:
            return f"{self.smallest:,}"
        return f"{self.smallest:,} to {self.largest:,} (median {self.median:,.0f}, mean {self.mean:,.1f})"


@dataclass(frozen=True)
class TableSummary(ABC):
    """What a table holds.

    Attributes
    ----------
    table : str
        Name of the kind of table.
    """

    table: str = field(init=False)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)

    @abstractmethod
    def lines(self) -> list[tuple[str, str]]:
        """Return name and value of each fact, for people."""


_ROUNDED = 1e-12
_MOST = 4

_MIRRORED = 1 << 18
"""Votes among which mirrored ones are looked for."""


@dataclass(frozen=True)
class ComparisonsSummary(TableSummary):
    """What is in a comparisons table.

    Attributes
    ----------
    rows, queries, items : int
    rows_per_query : Sizes
    ties : int
    judges : int, optional
        None if the table does not say who judged.
    weight : tuple of float, optional
        Smallest and largest; None if unweighted.
    time : tuple of str, optional
        The first and the last; None if the table does not say when.
    untimed : int
        Votes without a time; if there are any, there is no order of time.
    pairs : int
        Different pairs of items that were compared, in whatever query.
    pairs_observed : float
        Their share of all pairs.
    components : list of int
        Sizes of the connected components, the largest first: of different ones nothing can be
        said. At most twenty.
    scales : list of int
        Sizes of the strongly connected components of "beat, or tied with", the largest first: in
        them plain maximum likelihood has finite scores. At most twenty.
    component_count, scale_count : int
    majority : Majority
    position : Position, optional
        None if the table does not say what stood on the left.
    one_sided : list of OneSided, optional
    repeats : Repeats, optional
    mirrored : (int, int), optional
        Votes that have a mirrored one, and all that were looked at, the first 262,144; None where games do not stand
        there from both sides.
    drift : Drift, optional
        None if there is no order of time.
    lookalikes : list of list of str
        Items called alike.
    odd_names : list of str
    """

    table: str = field(default="comparisons", init=False)
    rows: int
    queries: int
    items: int
    rows_per_query: Sizes
    ties: int
    judges: int | None
    weight: tuple[float, float] | None
    time: tuple[str, str] | None
    untimed: int
    pairs: int
    pairs_observed: float
    components: list[int]
    component_count: int
    scales: list[int]
    scale_count: int
    majority: Majority
    position: Position | None
    one_sided: list[OneSided] | None
    repeats: Repeats | None
    mirrored: tuple[int, int] | None
    drift: Drift | None
    lookalikes: list[list[str]]
    odd_names: list[str]

    def lines(self) -> list[tuple[str, str]]:
        """Return name and value of each fact, for people."""
        from rankbench.ranking.suspicions import count_and_first

        found = self._findings()
        alike = [" = ".join(map(short_repr, group)) for group in self.lookalikes]
        return [
            ("table", self.table),
            ("rows", f"{self.rows:,}"),
            ("queries", f"{self.queries:,}"),
            *([("rows per query", str(self.rows_per_query))] if self.queries > 1 else []),
            ("items", f"{self.items:,}"),
            ("ties", f"{self.ties:,} ({self.ties / self.rows:.1%})"),
            ("judges", "not given" if self.judges is None else f"{self.judges:,}"),
            ("weights", "none" if self.weight is None else f"{self.weight[0]:g} to {self.weight[1]:g}"),
            ("time", self._time()),
            ("pairs observed", f"{self.pairs:,} ({self.pairs_observed:.1%} of all)"),
            ("connected", self._connected()),
            ("strongly connected", self._strongly()),
            ("majority", self._majority()),
            ("Condorcet winner", "none" if self.majority.winner is None else cut(self.majority.winner)),
            ("left wins", _marked(found.left_wins(), found.sided())),
            ("one-sided judges", _marked(found.one_sided_judges(), bool(self.one_sided))),
            ("votes cast again", _marked(found.cast_again(), self.repeats is not None and self.repeats.votes > 0)),
            ("mirrored votes", _marked(found.mirrored_games(), self.mirrored is not None)),
            ("drift", _marked(self._drift(), self.drift is not None and bool(self.drift.items))),
            ("items called alike", _marked(count_and_first(alike), bool(alike))),
            (
                "odd names",
                _marked(count_and_first([short_repr(name) for name in self.odd_names]), bool(self.odd_names)),
            ),
        ]

    def _time(self) -> str:
        if self.time is None:
            return "not given"
        missing = f"; missing in {self.untimed:,} rows, so that there is no order of time  !" if self.untimed else ""
        return f"{self.time[0]} to {self.time[1]}{missing}"

    def _drift(self) -> str:
        if self.drift is None:
            return "not known: no order of time, or one time alone"
        from rankbench.ranking.suspicions import count_and_first

        who = "judges" if self.drift.by_judge else "votes"
        about = "" if self.drift.sampled == 1 else f"; of {self.drift.sampled:.0%} of the votes"
        if not self.drift.items:
            return f"no item is shown to change at a quarter of the log ({who} taken as independent{about})"
        said = [
            f"{short_repr(one.item)} ({one.change:+.2f} log-odds from {one.since} on; won {one.before:.0%} before, "
            f"{one.after:.0%} after)"
            for one in self.drift.items
        ]
        return f"{count_and_first(said)} ({who} taken as independent{about})"

    def _connected(self) -> str:
        if self.component_count == 1:
            return "all items"
        sizes = ", ".join(f"{size:,}" for size in self.components[:_MOST])
        more = ", ..." if self.component_count > _MOST else ""
        return f"no: {self.component_count:,} groups ({sizes}{more} items) that were never compared with one another"

    def _strongly(self) -> str:
        if self.scale_count == 1:
            return "all items"
        alone = "an item that never won, or never lost, is a group of its own"
        return f"no: {self.scale_count:,} groups, the largest of {self.scales[0]:,} items ({alone})"

    def _majority(self) -> str:
        found = self.majority
        if found.triples is None or found.cycles is None:
            return f"{found.decided:,} pairs decided; too many triples to count cycles"
        if not found.triples:
            return f"{found.decided:,} pairs decided; no triple of items is"
        share = found.cycles / found.triples
        return (
            f"{found.decided:,} pairs decided; {found.cycles:,} of {found.triples:,} triples are cycles ({share:.1%})"
        )

    def _findings(self) -> Findings:
        from rankbench.ranking.suspicions import Findings

        return Findings(self.position, self.one_sided, self.repeats, mirrored=self.mirrored)


def _marked(text: str, suspicious: bool) -> str:
    return f"{text}  !" if suspicious else text


def describe_votes(table: pl.LazyFrame, *, path: Path | None = None) -> ComparisonsSummary:
    """Summarize a comparisons table in a few passes; see `rankbench.ranking.describe.describe`.

    Memory grows with the queries, the judges, the items and their compared pairs, not with
    the rows.
    """
    from rankbench.interfaces.pair_counts import connected_components, strongly_connected
    from rankbench.ranking.count_log import count_log
    from rankbench.ranking.drift import drift
    from rankbench.ranking.judges import mirrored_votes, position_bias, repeats, votes_with_points
    from rankbench.ranking.suspicions import lookalikes, odd

    votes = votes_with_points(table)
    schema = votes.collect_schema()
    facts = votes.select(_needed_columns(schema)).collect(engine="streaming").row(0, named=True)
    if not facts["rows"]:
        raise InputError("the table has no rows", path=path)
    counts = count_log(table)
    sizes = votes.group_by("query_id").len().collect(engine="streaming")["len"].to_list()
    position, judges = position_bias(votes)
    components, scales = connected_components(counts).sizes, strongly_connected(counts).sizes
    m = counts.m
    weights = (facts["lightest"], facts["heaviest"]) if "weight" in schema else None
    if weights is not None and "points" in schema and max(abs(weight - 1) for weight in weights) < _ROUNDED:
        weights = None  # rows of split points have weights, those of votes are 1
    return ComparisonsSummary(
        rows=facts["rows"],
        queries=len(sizes),
        items=m,
        rows_per_query=Sizes.from_counts(sizes),
        ties=facts.get("ties", 0),
        judges=facts.get("judges"),
        weight=weights,
        time=None if facts.get("earliest") is None else (str(facts["earliest"]), str(facts["latest"])),
        untimed=facts.get("untimed", 0),
        pairs=len(counts),
        pairs_observed=len(counts) / (m * (m - 1) / 2),
        components=sorted(components.tolist(), reverse=True)[:20],
        component_count=len(components),
        scales=sorted(scales.tolist(), reverse=True)[:20],
        scale_count=len(scales),
        majority=majority(counts),
        position=position,
        one_sided=judges,
        repeats=repeats(votes, facts["rows"]),
        mirrored=mirrored_votes(votes.head(_MIRRORED)),
        drift=drift(votes, facts["rows"], counts) if facts.get("untimed") == 0 else None,
        lookalikes=lookalikes(counts.items),
        odd_names=odd(counts.items),
    )


def _needed_columns(schema: pl.Schema) -> list[pl.Expr]:
    wanted = [pl.len().alias("rows")]
    if "tie" in schema:
        wanted.append(pl.col("tie").sum().alias("ties"))
    if "judge" in schema:
        wanted.append(pl.col("judge").drop_nulls().n_unique().alias("judges"))
    if "weight" in schema:
        wanted += [pl.col("weight").min().alias("lightest"), pl.col("weight").max().alias("heaviest")]
    if "time" in schema:
        time = pl.col("time")
        wanted += [
            time.min().alias("earliest"),
            time.max().alias("latest"),
            time.null_count().alias("untimed"),
        ]
    return wanted
