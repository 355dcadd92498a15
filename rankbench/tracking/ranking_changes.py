"""Two rankings of one arena are compared.

If an item is as strong later as before, the early votes on a pair are any of its votes, drawn without replacement. So
the early log is drawn again, pair by pair and of its own length, from the whole log, and ranked. Its scores differ
from scores of the whole log by length alone (a ridge shrinks a short log more) and by chance: they spread also where
the later votes at hand all say the same, and a bootstrap would show no spread.

Estimates of two such logs depend on each other, and their intervals say nothing about their difference: what both
have in common moves both alike. So the units of the two logs together (judges with all their votes, where the log
names them; else votes) are resampled once, and both rankings are fitted to the same resample, each to the part of it
that is in its log. The spread of the difference is that of these pairs [ET93]_. An item has moved if its score changed
against that of the median item, for any centre of the two scales and any number of new items.

Later votes that all say the same show no spread, and a ridge shrinks the shorter log more. So the early votes are also
dealt anew among all votes of each pair (`shuffled_scores`): the mean change of those is taken off, and the spread is
the larger of the two.

References
----------
.. [ET93] B. Efron and R. J. Tibshirani. An introduction to the bootstrap. Chapman & Hall, 1993.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.runtime import LOG_SEED, one_blas_thread, settle_runtime
from rankbench.core.spec import parse
from rankbench.data.tables.comparisons import ComparisonTable
from rankbench.data.tables.kinds import default_of
from rankbench.errors import ContenderDiverged, InputError, SpecError
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.interfaces.aggregator_calls import call_aggregator, replicates_of, scales_of
from rankbench.interfaces.pair_counts import ClusterCounts, PairCounts
from rankbench.interfaces.resamples import Resamples, draws_of
from rankbench.logs.count_log import count_frame
from rankbench.logs.open import open_log
from rankbench.logs.votes import refuse_counts
from rankbench.plugin import manager
from rankbench.ranking.sampling_units import ENOUGH
from rankbench.tracking.comparison import Change, ChangeEstimate, Family


def shuffled_scores(
    base: PairCounts, head: PairCounts, aggregator: Aggregator, times: int, seed: int
) -> NDArray[np.float64] | None:
    """Return the scores of shuffled early logs, shape (times, m of base); a row without scores is nan.

    Parameters
    ----------
    base, head : PairCounts
        Of the early log, and of the whole one.
    aggregator : Aggregator
        One that ranks counts.
    times, seed : int

    Returns
    -------
    ndarray or None
        None where votes are no units: they have weights, or some of the early ones are not in the whole log.
    """
    if base.weighted or head.weighted:
        return None
    votes = _votes_of(base, head)
    early = np.rint(base.forward + base.backward + base.ties).astype(np.int64)
    if votes is None or (early > votes.sum(axis=1)).any():
        return None
    forward, backward, ties = votes.T
    rng = np.random.default_rng(seed)
    found = np.full((times, base.m), np.nan)
    for row in found:
        won = rng.hypergeometric(forward, backward + ties, early)
        lost = rng.hypergeometric(backward, ties, early - won)
        forth, back, tied = (column.astype(np.float64) for column in (won, lost, early - won - lost))
        try:
            row[:] = call_aggregator(aggregator, replace(base, forward=forth, backward=back, ties=tied), base.m)
        except (ContenderDiverged, InputError):
            continue
    return found


def _votes_of(base: PairCounts, head: PairCounts) -> NDArray[np.int64] | None:
    """Return the whole log's votes on the early log's pairs, shape (P, 3): `low` won, `high` won, ties."""
    if not set(base.items) <= set(head.items):
        return None
    places = _places(head, base.items)
    one, other = places[base.low], places[base.high]
    keys = np.minimum(one, other) * head.m + np.maximum(one, other)
    known = head.low.astype(np.int64) * head.m + head.high
    at = np.searchsorted(known, keys)
    if (at == len(known)).any() or (known[at] != keys).any():
        return None
    cells = np.column_stack([head.forward, head.backward, head.ties])[at]
    turned = one > other
    cells[turned] = cells[turned][:, [1, 0, 2]]
    return np.rint(cells).astype(np.int64)


def _places(counts: PairCounts, items: Sequence[str]) -> NDArray[np.int64]:
    """Return the numbers of items that a log has."""
    number = {item: place for place, item in enumerate(counts.items)}
    return np.array([number[item] for item in items], dtype=np.int64)


RESAMPLES = 1000

_UNIT, _AGAIN, _ROW = "unit of resampling", "which of equal votes", "row of base"


def is_arena_log(path: Path) -> bool:
    """Return whether a path holds votes."""
    try:
        return isinstance(open_log(path).judged().table, ComparisonTable)
    except (InputError, SpecError):
        return False


def ranking_changes(
    base: Path, head: Path, method: str, columns: str, family: Family
) -> tuple[list[Change], list[str]]:
    """Compare the rankings of two logs of votes; the second holds the votes of the first and later ones.

    Parameters
    ----------
    base, head : Path
    method : str
        An aggregator that ranks counted votes; empty: what suits votes.
    columns : str
        Meanings of columns, in both.
    family : Family
        Its gate names items.

    Returns
    -------
    changes : list of Change
        Of scores against the median item, the sign turned: above 0 where an item fell.
    notes : list of str

    Raises
    ------
    InputError
        A log that cannot be used.
    SpecError
        No votes; or a method that does not rank counted votes, or whose resamples show nothing.
    """
    settle_runtime()
    frames = [_votes(path, columns) for path in (base, head)]
    aggregator = _aggregator(method)
    (first, second), common, by_judge = _units_of(*frames)
    notes = _kept(common, first.height, second.height, by_judge)
    with one_blas_thread():
        sides = _Side.both(first, second, aggregator)
    items = [set(side.data.counts.items) for side in sides]
    notes += [f"gone: item {item}" for item in sorted(items[0] - items[1])]
    notes += [f"new: item {item}" for item in sorted(items[1] - items[0])]
    chosen, apart = _comparable(sides, aggregator)
    notes += [f"not compared: item {item} stands on another scale" for item in apart]
    rests = f"{common:,} common votes, {second.height - common:,} new ones{', by judge' if by_judge else ''}"
    same = common == first.height == second.height
    dealt = shuffled_scores(sides[0].data.counts, sides[1].data.counts, aggregator, RESAMPLES, LOG_SEED)
    if dealt is None:
        notes.append(
            "rankbench cannot shuffle the early votes, since votes have weights or the second log lacks some early "
            "votes. It reports too many moves of items with nearly one-sided later votes, and of items far apart under "
            "a ridge"
        )
    return family.judged(_estimates(sides, dealt, aggregator, chosen, family, rests, same)), notes


def _votes(path: Path, columns: str) -> pl.DataFrame:
    source = open_log(path, columns=columns).judged()
    if not isinstance(source.table, ComparisonTable):
        raise SpecError(f"{path} holds {source.table}; rankbench compares rankings of votes alone")
    refuse_counts(source.frame)
    return source.frame.collect()


def _aggregator(method: str) -> Aggregator:
    usual = default_of(ComparisonTable(), "method")
    aggregator = manager.get(Aggregator, method or usual)
    if aggregator.structure != "scores" or aggregator.needs_truth or not isinstance(aggregator, CountAggregator):
        raise SpecError(f"{aggregator.name!r} does not rank counted votes; take {parse(usual).name} or the like")
    if "irregular" in aggregator.properties:
        raise SpecError(f"resamples do not show how certain the scores of {aggregator.name!r} are; take another method")
    return aggregator


def _kept(common: int, before: int, after: int, by_judge: bool) -> list[str]:
    """Return notes on the votes that only one log has."""
    notes = [f"{after - common:,} of {after:,} votes are new"]
    if not by_judge:
        notes.append("not all votes name a judge: rankbench takes votes for independent")
    if common < before:
        notes.append(f"gone: {before - common:,} of {before:,} votes: the second log does not contain the first")
    return notes


def _units_of(base: pl.DataFrame, head: pl.DataFrame) -> tuple[tuple[pl.DataFrame, pl.DataFrame], int, bool]:
    """Return both logs with the number or name of each vote's unit, the number of common votes, and if it is a judge.

    A vote is in both if all columns that both have say the same; of equal ones as many as there are in both.
    """
    shared = [name for name in base.columns if name in head.columns]
    alike = [pl.col(name).cast(pl.String) for name in shared if base.schema[name] != head.schema[name]]
    keys = [*shared, _AGAIN]
    numbered = [
        side.with_columns(alike).with_columns(pl.int_range(pl.len()).over(shared).alias(_AGAIN)).select(keys)
        for side in (base, head)
    ]
    rows = numbered[1].join(
        numbered[0].with_row_index(_ROW), on=keys, how="left", nulls_equal=True, maintain_order="left"
    )[_ROW]
    common = len(rows) - rows.null_count()
    signed = [side["judge"] for side in (base, head) if "judge" in side.columns]
    named = len(signed) == 2 and not any(judges.null_count() for judges in signed)
    if named and pl.concat([judges.unique().cast(pl.String) for judges in signed]).n_unique() > 1:
        units = [judges.cast(pl.String) for judges in signed]
        by_judge = True
    else:
        own = pl.Series(np.arange(base.height, base.height + head.height))
        units = [pl.Series(np.arange(base.height)), rows.cast(pl.Int64).zip_with(rows.is_not_null(), own)]
        by_judge = False
    one, other = (side.with_columns(unit.alias(_UNIT)) for side, unit in zip((base, head), units, strict=True))
    return (one, other), common, by_judge


@dataclass(frozen=True, eq=False)
class _Side:
    """A log counted by the units of both logs; units without votes in it are empty."""

    data: ClusterCounts
    scores: NDArray[np.float64]
    drawn: NDArray[np.float64]

    @classmethod
    def both(cls, base: pl.DataFrame, head: pl.DataFrame, aggregator: Aggregator) -> list[_Side]:
        """Count both, fit both, and fit both to the same resamples."""
        counted = [cast(ClusterCounts, count_frame(side.lazy(), judge=_UNIT).data) for side in (base, head)]
        units = sorted({name for one in counted for name in one.clusters})
        place = {name: number for number, name in enumerate(units)}
        draws = draws_of(len(units), RESAMPLES, LOG_SEED)
        sides = []
        for one in counted:
            lengths = np.zeros(len(units), np.int64)  # clusters are listed by name, as units are
            lengths[[place[name] for name in one.clusters]] = np.diff(one.starts)
            data = replace(one, clusters=units, starts=np.concatenate([[0], np.cumsum(lengths)]))
            scores = call_aggregator(aggregator, data.counts, data.counts.m)
            resamples = Resamples(data.counts, draws, data.starts, data.cells, data.weights)
            sides.append(cls(data, scores, replicates_of(aggregator, scores, resamples)))
        return sides

    def shares(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return keys (item among `places`, unit) and the share of the item's votes that are the unit's."""
        counts, units = self.data.counts, len(self.data.clusters)
        of = np.full(counts.m, -1)
        of[places] = np.arange(len(places))
        pair = self.data.cells // 3
        unit = np.tile(np.repeat(np.arange(units), np.diff(self.data.starts)), 2)
        item = of[np.concatenate([counts.low[pair], counts.high[pair]])]
        known = item >= 0
        keys, at = np.unique(item[known] * units + unit[known], return_inverse=True)
        said = np.bincount(at.reshape(-1), np.tile(self.data.weights, 2)[known], len(keys))
        return keys, said / np.bincount(keys // units, said, len(places))[keys // units]


def _comparable(sides: Sequence[_Side], aggregator: Aggregator) -> tuple[list[str], list[str]]:
    """Return the items on the largest scale that both logs have in common, and the other common ones."""
    scales = [scales_of(aggregator, side.data.counts).scale_of for side in sides]
    head = dict(zip(sides[1].data.counts.items, scales[1], strict=True))
    groups: dict[tuple[int, int], list[str]] = {}
    for item, scale in zip(sides[0].data.counts.items, scales[0], strict=True):
        if item in head:
            groups.setdefault((int(scale), int(head[item])), []).append(item)
    if not groups:
        return [], []
    largest = max(groups.values(), key=len)
    return largest, sorted(item for group in groups.values() if group is not largest for item in group)


def _freedom(sides: Sequence[_Side], places: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
    """Return the effective number of units behind the change of each item, by Kish's formula.

    A unit adds to the change of an item the difference of its shares of the item's votes.
    """
    units, items = len(sides[0].data.clusters), len(places[0])
    (base_keys, base), (head_keys, head) = (side.shares(at) for side, at in zip(sides, places, strict=True))
    keys, at = np.unique(np.concatenate([base_keys, head_keys]), return_inverse=True)
    added = np.bincount(at.reshape(-1), np.concatenate([-base, head]), len(keys)) ** 2
    squares, fourth = (np.bincount(keys // units, power, items) for power in (added, added**2))
    return np.divide(squares**2, fourth, out=np.zeros(items), where=fourth > 0)


def _estimates(
    sides: Sequence[_Side],
    dealt: NDArray[np.float64] | None,
    aggregator: Aggregator,
    items: list[str],
    family: Family,
    rests: str,
    same: bool,
) -> list[ChangeEstimate]:
    if not items:
        return []
    places = [_places(side.data.counts, items) for side in sides]
    scores = [side.scores[at] for side, at in zip(sides, places, strict=True)]
    drawn = [side.drawn[:, at] for side, at in zip(sides, places, strict=True)]
    whole = ~np.isnan(drawn[0]).any(axis=1) & ~np.isnan(drawn[1]).any(axis=1)
    freedom = _freedom(sides, places)
    votes = np.min(
        [np.add(*side.data.counts.won_and_lost())[at] for side, at in zip(sides, places, strict=True)], axis=0
    )
    known = (freedom >= ENOUGH) & (votes >= ENOUGH) & (whole.sum() >= RESAMPLES / 2)
    moved = scores[1] - scores[0]
    centre = np.median(moved[known]) if known.any() else np.median(moved)
    moved = moved - centre
    again = _centred(drawn[1][whole] - drawn[0][whole], known)
    units = len(sides[0].data.clusters)
    se = again.std(axis=0, ddof=1) * np.sqrt(units / (units - 1)) if whole.sum() > 1 else np.full(len(items), np.nan)
    if dealt is not None:
        by_chance = scores[1] - dealt[:, places[0]]
        by_chance = _centred(by_chance[~np.isnan(by_chance).any(axis=1)], known)
        if len(by_chance) >= RESAMPLES / 2:
            moved = moved - by_chance.mean(axis=0)
            se = np.maximum(se, by_chance.std(axis=0, ddof=1))
    ranks = [1 + (score[:, None] < score).sum(axis=1) for score in scores]
    level = scores[0] - scores[0].mean()
    found = []
    for i, item in enumerate(items):
        if not family.has(item):
            continue
        where = f"{aggregator}, place {ranks[0][i]} then {ranks[1][i]} of {len(items)}"
        now = float(level[i] + moved[i])
        told = Change(where, item, float(level[i]), now, float(-moved[i]), "described", rests, about="ranking")
        if same:
            told = replace(told, head=told.base, change=0.0, verdict="equal", rests="every vote", lower=0.0, upper=0.0)
            found.append(ChangeEstimate(told))
            continue
        if not (known[i] and se[i] > 0):
            found.append(ChangeEstimate(told, margin=family.margin.at(told.base)))
            continue
        df = max(float(freedom[i]) - 1.0, 1.0)
        one = ChangeEstimate(told, float(se[i]), 1.0, (df, df), family.margin.at(told.base))
        found.append(one.with_interval())
    return found


def _centred(changes: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return changes, shape (B, items), less that of the median item among known ones."""
    return changes - np.median(changes[:, known] if known.any() else changes, axis=1, keepdims=True)
