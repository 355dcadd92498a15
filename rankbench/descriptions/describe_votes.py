"""The description of votes tells sizes, connected items and cycles."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rankbench.core.runtime import LOG_SEED
from rankbench.core.text import count_text, cut, short_reprs
from rankbench.descriptions.drift import drift
from rankbench.descriptions.judges import position_bias, repeats, votes_with_points
from rankbench.descriptions.suspicions import Findings, count_and_first, lookalikes, mirrored_votes, odd
from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import call_aggregator, covariance_of
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.logs.count_log import count_frame
from rankbench.logs.votes import refuse_counts
from rankbench.plugin import manager

DENSE = 3000
"""Most items whose triples are counted by products of dense matrices (36 MB each)."""

_WORK = 30_000_000
"""Steps of a sparse product beyond which triples are not counted."""


@dataclass(frozen=True)
class Majority:
    """Properties of the majority graph.

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
    by_order : (float, float), optional
        Shares of triples that are cycles in 95% of logs with as many votes on each pair, by one order of the items: see
        `cycles_by_order`. None where votes have weights, or items are too many.
    """

    decided: int
    triples: int | None
    cycles: int | None
    winner: str | None
    by_order: tuple[float, float] | None = None

    def beyond_order(self) -> bool:
        """Return whether more triples are cycles than one order of the items explains."""
        return self.by_order is not None and self.share() > self.by_order[1]

    def share(self) -> float:
        """Return the share of triples that are cycles."""
        return (self.cycles or 0) / self.triples if self.triples else 0.0

    def __str__(self) -> str:
        said = "no triple of items is"
        if self.triples is None or self.cycles is None:
            said = "too many triples to count cycles"
        elif self.triples:
            said = f"cycles in {self.cycles:,} of {count_text(self.triples, 'triple')} ({self.share():.1%})"
            if self.by_order:
                low, high = self.by_order
                said += f"; chance makes {low:.1%} to {high:.1%} where one order is behind the votes"
        return f"{count_text(self.decided, 'pair')} decided; {said}"


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


_SIMULATED = 250
"""Most items whose votes are simulated: a second."""

_DRAWS = 200


def cycles_by_order(counts: PairCounts) -> tuple[float, float] | None:
    r"""Return the shares of triples that are cycles in the middle 95% of 200 simulated logs.

    Each log has as many wins on each pair as the log that is described, and draws them by Bradley-Terry scores. Fitted
    scores vary by their errors, too, and would make too few cycles: they are multiplied by
    :math:`\sqrt{(v - e) / v}`, with v their variance and e the mean of their squared errors. None where votes
    have weights, where there are no wins, or where items are more than 250.
    """
    # Ties decide no majority, and half wins would draw the scores together.
    votes = int((counts.forward + counts.backward).sum())
    if counts.weighted or counts.m > _SIMULATED or votes < 2:
        return None
    counts = replace(counts, ties=np.zeros(len(counts)), judgments=votes).observed()
    decided = counts.forward + counts.backward
    method = manager.get(Aggregator, "bradley-terry:penalty=firth")
    try:
        scores = call_aggregator(method, counts, counts.m)
        errors = np.diag(covariance_of(method, counts, scores, None))
    except ContenderDiverged:
        return None
    spread = float(scores.var())
    scores *= np.sqrt(max(spread - float(errors.mean()), 0.0) / spread) if spread > 0 else 0.0
    chance = 1 / (1 + np.exp(scores[counts.high] - scores[counts.low]))
    rng, shares = np.random.default_rng([LOG_SEED, 9]), []
    for won in rng.binomial(np.rint(decided).astype(np.int64), chance, size=(_DRAWS, len(counts))).astype(np.float64):
        found = majority(replace(counts, forward=won, backward=decided - won))
        shares.append(found.share())
    low, high = np.quantile(shares, [0.025, 0.975])
    return float(low), float(high)


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
class TableSummary:
    """Summary of a table.

    Attributes
    ----------
    facts : dict
        By name; ``table`` is the name of the kind of table.
    lines : list of (str, str)
        Name and value of each fact, for people.
    """

    facts: dict[str, Any]
    lines: list[tuple[str, str]]

    def headline(self) -> str:
        """Return a sentence on the table's contents and size."""
        sizes = {"row": "rows", "session": "sessions", "query": "queries", "item": "items", "judge": "judges"}
        amounts = [count_text(self.facts[key], noun) for noun, key in sizes.items() if self.facts.get(key)]
        return f"It holds {self.facts['table']}: {', '.join(amounts)}."

    def as_dict(self) -> dict[str, Any]:
        """Return the facts as plain values for JSON."""
        facts: dict[str, Any] = asdict(self)["facts"]
        return facts


_ROUNDED = 1e-12
_MOST = 4

_MIRRORED = 1 << 18
"""Votes among which mirrored ones are looked for."""


_FACTS = {
    "rows": pl.len(),
    "ties": pl.col("tie").sum(),
    "judges": pl.col("judge").drop_nulls().n_unique(),
    "lightest": pl.col("weight").min(),
    "heaviest": pl.col("weight").max(),
    "earliest": pl.col("time").min(),
    "latest": pl.col("time").max(),
    "untimed": pl.col("time").null_count(),
}
"""Facts that one pass computes, for the columns that the table has."""


def describe_votes(table: pl.LazyFrame, *, path: Path | None = None) -> TableSummary:
    """Summarize a comparisons table in a few passes; see `rankbench.descriptions.describe.describe`.

    Memory grows with the queries, the judges, the items and their compared pairs, not with the rows. The facts are:

    - ``rows, queries, items, ties``; ``rows_per_query``, a `Sizes`; ``judges``, None if the table names none;
    - ``weight``, smallest and largest, None if unweighted; ``time``, the first and the last, None without times;
      ``untimed``, votes without a time: if there are any, there is no order of time;
    - ``pairs``, different pairs of items that were compared, in any query, and ``pairs_observed``, their share of
      all pairs;
    - ``components``, sizes of the connected components, and ``scales``, sizes of the strongly connected components of
      "beat, or tied with", in which plain maximum likelihood has finite scores. Both are the largest first, at most
      twenty of ``component_count`` and ``scale_count``;
    - ``majority``, a `Majority`; ``drift``, None if there is no order of time; ``position``,
      ``biased_judges``, ``repeats`` and ``mirrored`` as in `rankbench.descriptions.suspicions.Findings`, the last
      of the first 262,144 votes;
    - ``lookalikes`` and ``odd_names``, names of items.
    """
    refuse_counts(table)
    votes = votes_with_points(table)
    schema = votes.collect_schema()
    wanted = {name: fact for name, fact in _FACTS.items() if schema.keys() >= {*fact.meta.root_names()}}
    seen = votes.select(**wanted).collect(engine="streaming").row(0, named=True)
    rows, untimed = seen["rows"], seen.get("untimed")
    if not rows:
        raise InputError("the table has no rows", path=path)
    counts = count_frame(table).counts
    sizes = votes.group_by("query_id").len().collect(engine="streaming")["len"].to_list()
    components, scales = (
        sorted(found.sizes.tolist(), reverse=True) for found in (counts.connected, counts.strongly_connected)
    )
    weight = (seen["lightest"], seen["heaviest"]) if "weight" in schema else None
    if weight is not None and "points" in schema and max(abs(each - 1) for each in weight) < _ROUNDED:
        weight = None  # rows of split points have weights, votes have 1
    position, judges = position_bias(votes)
    found = Findings(position, judges, repeats(votes, rows), mirrored=mirrored_votes(votes.head(_MIRRORED)))
    facts = {
        "table": "comparisons",
        "rows": rows,
        "queries": len(sizes),
        "items": counts.m,
        "rows_per_query": Sizes.from_counts(sizes),
        "ties": seen.get("ties", 0),
        "judges": seen.get("judges"),
        "weight": weight,
        "time": None if seen.get("earliest") is None else (str(seen["earliest"]), str(seen["latest"])),
        "untimed": untimed or 0,
        "pairs": len(counts),
        "pairs_observed": len(counts) / (counts.m * (counts.m - 1) / 2),
        "components": components[:20],
        "component_count": len(components),
        "scales": scales[:20],
        "scale_count": len(scales),
        "majority": replace(majority(counts), by_order=cycles_by_order(counts)),
        "position": found.position,
        "biased_judges": found.biased_judges,
        "repeats": found.repeats,
        "mirrored": found.mirrored,
        "drift": drift(votes, rows, counts) if untimed == 0 else None,
        "lookalikes": lookalikes(counts.items),
        "odd_names": odd(counts.items),
    }
    return TableSummary(facts, _lines(facts, found))


def _lines(facts: dict[str, Any], found: Findings) -> list[tuple[str, str]]:
    """Return name and value of each fact about votes, with a mark at suspicious ones."""

    def marked(fact: object, suspicious: object) -> str:
        return f"{fact}  !" if suspicious else str(fact)

    rows, weight, drift = facts["rows"], facts["weight"], facts["drift"]
    alike = [" = ".join(short_reprs(group)) for group in facts["lookalikes"]]
    strange = short_reprs(facts["odd_names"])
    connected, strongly = "all items", "all items"
    if facts["component_count"] > 1:
        sizes = ", ".join(f"{size:,}" for size in facts["components"][:_MOST])
        more = ", ..." if facts["component_count"] > _MOST else ""
        connected = (
            f"no: {facts['component_count']:,} groups ({sizes}{more} items) that were never compared with one another"
        )
    if facts["scale_count"] > 1:
        largest, alone = count_text(facts["scales"][0], "item"), "one that never won, or never lost, is its own group"
        strongly = f"no: {facts['scale_count']:,} groups, the largest of {largest} ({alone})"
    time = "not given" if facts["time"] is None else " to ".join(facts["time"])
    if facts["time"] is not None and facts["untimed"]:
        time += f"; missing in {count_text(facts['untimed'], 'row')}, so that there is no order of time  !"
    winner = facts["majority"].winner
    return [
        ("table", facts["table"]),
        ("rows", f"{rows:,}"),
        ("queries", f"{facts['queries']:,}"),
        *([("rows per query", str(facts["rows_per_query"]))] if facts["queries"] > 1 else []),
        ("items", f"{facts['items']:,}"),
        ("ties", f"{facts['ties']:,} ({facts['ties'] / rows:.1%})"),
        ("judges", "not given" if facts["judges"] is None else f"{facts['judges']:,}"),
        ("weights", "none" if weight is None else f"{weight[0]:g} to {weight[1]:g}"),
        ("time", time),
        ("pairs observed", f"{facts['pairs']:,} ({facts['pairs_observed']:.1%} of all)"),
        ("connected", connected),
        ("strongly connected", strongly),
        ("majority", marked(facts["majority"], facts["majority"].beyond_order())),
        ("Condorcet winner", "none" if winner is None else cut(winner)),
        ("left wins", marked(found.left_wins(), found.sided())),
        ("position-biased judges", marked(found.favored_sides(), found.biased_judges)),
        ("votes cast again", marked(found.cast_again(), found.repeats and found.repeats.votes)),
        ("mirrored votes", marked(found.mirrored_games(), found.mirrored)),
        ("drift", marked(drift or "not known: no order of time, or one time alone", drift and drift.items)),
        ("items called alike", marked(count_and_first(alike), alike)),
        ("odd names", marked(count_and_first(strange), strange)),
    ]
