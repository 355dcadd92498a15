"""Experiment data turn journal rows into arrays of matched cells and their means.

Comparisons are matched: all contenders that are compared at an n use the same repetitions, those that each of them has
finished. A contender with a cell that diverged, was skipped or failed is not compared: the mean over the repetitions
where it happened to work would flatter it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import natural
from rankbench.errors import StoreError
from rankbench.interfaces.cell import MAY_BE_FIRST, RANKING, Split
from rankbench.interfaces.figure import ContenderResults, MatchedResults
from rankbench.interfaces.metric import Fact
from rankbench.interfaces.protocol import STRETCHES
from rankbench.interfaces.suite import Experiment
from rankbench.stats.bootstrap import (
    ARRAYS,
    REPLICATES,
    TOGETHER,
    Crossed,
    crossed,
    order_widening,
    side_by_side,
    widened_for_order,
    widened_for_overlap,
    widening,
)
from rankbench.stats.contender_ranks import ranges_from_first
from rankbench.stats.contrasts import MeanIntervals, mean_intervals, within_range
from rankbench.store.journal import StoredResults
from rankbench.store.records import Member, StoredCell, SuiteRecord

ContenderKey: TypeAlias = tuple[int, str]
"""n (as run) and label."""

KEPT = 256_000_000
"""Bytes of resampled means that an experiment keeps for later; others are resampled again."""

FEW_SPLITS = 10
"""Fewer overlapping splits may all give the same number by chance: that is no certainty."""

_WORST = ("error", "timeout", "diverged", "skipped")


def bootstrap_seed(seed: int) -> int:
    """Return the seed of all bootstraps of a suite, apart from the seeds of its draws."""
    return int.from_bytes(hashlib.blake2b(f"bootstrap {seed}".encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True)
class ContenderRuns(ContenderResults):
    """One contender at one n, with its stored cells.

    Attributes
    ----------
    n : int
    spec : str
    cells : dict of int to str
        Cell id by planned repetition.
    stored : dict of int to StoredCell
        By repetition, those that have a row.
    """

    n: int
    spec: str
    cells: dict[int, str]
    stored: dict[int, StoredCell]

    @classmethod
    def from_members(cls, members: Sequence[Member], cells: Mapping[str, StoredCell]) -> ContenderRuns:
        """Return the contender of one contender's members, a member for each repetition."""
        first = members[0]
        stored = {m.repetition: cells[m.cell] for m in members if m.cell in cells}
        found = {cell.status for cell in stored.values()}
        status = next((status for status in _WORST if status in found), "done" if found else "pending")
        done = [cell for cell in stored.values() if cell.status == "done"]
        return cls(
            first.label,
            first.order,
            first.config,
            status,
            finished=bool(done),
            compared=bool(done) and len(done) == len(stored),
            equals="",
            n=first.n,
            spec=first.spec,
            cells={m.repetition: m.cell for m in members},
            stored=stored,
        )

    @property
    def key(self) -> ContenderKey:
        """N and label."""
        return self.n, self.label

    @property
    def done(self) -> frozenset[int]:
        """Repetitions that are done."""
        return frozenset(r for r, cell in self.stored.items() if cell.status == "done")

    @property
    def times(self) -> str:
        """Number of repetitions that failed, as in "1 of 6 repetitions"; empty if none did."""
        wrong = sum(cell.status != "done" for cell in self.stored.values())
        return f"{wrong} of {len(self.cells)} repetitions" if wrong else ""

    @property
    def first_reason(self) -> str:
        """Reason of the first failure."""
        return next((cell.reason for _, cell in sorted(self.stored.items()) if cell.status == self.status), "")

    @property
    def reason(self) -> str:
        """Reason of the first failure, and the number of failures."""
        return f"{self.times}: {self.first_reason}" if self.times and self.first_reason else self.times

    def info(self, name: str) -> float:
        """Return the mean over finished repetitions of a named fact; nan if unknown."""
        values = [self.stored[r].info.get(name, math.nan) for r in sorted(self.done)]
        return float(np.mean(values)) if values else math.nan

    def fact(self, fact: Fact) -> float:
        """Return the value of a declared fact; nan if unknown."""
        if fact.summary == "mean":
            return self.info(fact.name)
        return _largest(self.stored[r].info.get(fact.name, math.nan) for r in self.done)

    @property
    def optimality(self) -> float:
        """The farthest from optimal that a finished repetition stopped; nan if unknown."""
        return _largest(self.stored[r].optimality for r in self.done)


def _largest(values: Iterable[float]) -> float:
    return max((value for value in values if not math.isnan(value)), default=math.nan)


@dataclass(frozen=True)
class MatchedRuns(MatchedResults):
    """The contenders of an experiment at one n, and the repetitions that they are compared in."""

    contenders: tuple[ContenderRuns, ...]
    planned: int

    @property
    def compared(self) -> tuple[ContenderRuns, ...]:
        """The contenders that are compared."""
        return tuple(runs for runs in self.contenders if runs.compared)

    def runs(self, label: str) -> ContenderRuns | None:
        """Return the contender named `label`, or None."""
        return next((runs for runs in self.contenders if runs.label == label), None)

    def same_as(self, runs: ContenderRuns) -> ContenderRuns | None:
        """Return the contender that another is the same as, if both are compared; it counts for the two of them."""
        other = self.runs(runs.equals) if runs.equals else None
        return other if other is not None and other.compared else None


class ExperimentData:
    """Everything about one experiment that statistics, tables and figures are made from.

    Parameters
    ----------
    results : StoredResults
    record : SuiteRecord
    experiment : Experiment
    members : sequence of Member
        The plan; members of other experiments are left out.
    cells : dict of str to StoredCell

    Attributes
    ----------
    added : frozenset of str
        Labels of the contenders that are not of the suite but were added to the run.
    """

    def __init__(
        self,
        results: StoredResults,
        record: SuiteRecord,
        experiment: Experiment,
        members: Sequence[Member],
        cells: dict[str, StoredCell],
    ) -> None:
        self.results, self.experiment = results, experiment
        self.source = record.source(experiment.name)
        self.added = frozenset(record.added.get(experiment.name, ()))
        own = [m for m in members if m.experiment == experiment.name]
        by_n = {n: [m for m in own if m.n == n] for n in sorted({m.n for m in own})}
        self.by_n = tuple(_matched(n, found, cells, self.source.facts) for n, found in by_n.items())
        self.seed = bootstrap_seed(record.seed)
        self._widenings: dict[tuple[str, Split, tuple[int, ...]], float] = {}
        self._means: dict[tuple[str, str, Split], np.float64] = {}
        self._samples: dict[tuple[str, Split, tuple[int, ...]], tuple[Crossed, dict[ContenderKey, int]]] = {}

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the losses, the headline first."""
        return self.experiment.losses

    def runs(self, key: ContenderKey) -> ContenderRuns | None:
        """Return the contender at `key`, or None."""
        return next((runs for matched in self.by_n for runs in matched.contenders if runs.key == key), None)

    def means(self, runs: ContenderRuns, metric: str, split: Split, repetitions: Sequence[int]) -> NDArray[np.float64]:
        """Return a contender's mean over units, shape (R,)."""
        for r in repetitions:
            key = runs.cells[r], metric, split
            if key not in self._means:
                self._means[key] = self._losses(runs, r, metric, split).mean()
        return np.array([self._means[runs.cells[r], metric, split] for r in repetitions])

    def values(self, runs: ContenderRuns, metric: str, split: Split) -> NDArray[np.float64]:
        """Return a contender's value for every unit, of its first finished repetition, shape (U,)."""
        return self._losses(runs, min(runs.done), metric, split)

    def losses(self, runs: ContenderRuns, metric: str, split: Split, repetitions: Sequence[int]) -> NDArray[np.float64]:
        """Return a contender's loss of every unit in these repetitions, shape (R, U)."""
        return np.stack([self._losses(runs, r, metric, split) for r in repetitions])

    def sample(
        self, contenders: Sequence[ContenderRuns], metric: str, split: Split, repetitions: tuple[int, ...]
    ) -> Crossed:
        """Return the bootstrapped means of `contenders` on the same `repetitions`.

        The same queries and repetitions are resampled for all contenders of an experiment, at every
        n, so replicates made once are combined again for claims across n.
        """
        together, columns = self._resampled(contenders, metric, split, repetitions)
        places = [columns[runs.key] for runs in contenders]
        if places != list(range(len(columns))):
            together = Crossed(*(np.take(getattr(together, name), places, axis=1) for name in ARRAYS))
        found = widened_for_overlap(
            replace(together, cells=self._cells(contenders, repetitions)), self.source.test_share
        )
        return widened_for_order(found, self.order_widening(metric, split, repetitions))

    def order_widening(self, metric: str, split: Split, repetitions: tuple[int, ...]) -> float:
        """Return the factor on standard errors for units dependent in time, else 1."""
        if self.source.judged_on != STRETCHES or len(repetitions) != 1:
            return 1.0
        place = metric, split, repetitions
        if place not in self._widenings:
            contenders = [runs for matched in self.by_n for runs in matched.compared if repetitions[0] in runs.done]
            means = [self._losses(runs, repetitions[0], metric, split) for runs in contenders]
            self._widenings[place] = order_widening(np.stack(means, axis=1))
        return self._widenings[place]

    def _resampled(
        self, contenders: Sequence[ContenderRuns], metric: str, split: Split, repetitions: tuple[int, ...]
    ) -> tuple[Crossed, dict[ContenderKey, int]]:
        """Return a sample with these contenders and the column of each; it is kept, the oldest are given up for it."""
        place = metric, split, repetitions
        known = self._samples.get(place)
        columns = dict(known[1]) if known else {}
        missing = [runs for runs in contenders if runs.key not in columns]
        parts = [known[0]] if known else []
        some = max(2, TOGETHER // (len(repetitions) * len(self.source.units[split])))
        for start in range(0, len(missing), some):
            group = missing[start : start + some]
            losses = np.stack([self._deviating(runs, metric, split, repetitions) for runs in group], axis=2)
            parts.append(crossed(losses, self.seed, REPLICATES))
        columns |= {runs.key: len(columns) + i for i, runs in enumerate(missing)}
        found = self._samples[place] = side_by_side(parts), columns
        sizes = {one: sample.nbytes for one, (sample, _) in self._samples.items()}
        for one in [*sizes][:-1]:
            if one != place and sum(sizes.values()) > KEPT:
                del self._samples[one], sizes[one]
        return found

    def intervals(
        self,
        contenders: Sequence[ContenderRuns],
        metric: str,
        split: Split,
        repetitions: Sequence[int],
        level: float = 0.95,
    ) -> MeanIntervals:
        """Return the means of `contenders` with their intervals over repetitions."""
        means = np.stack([self.means(runs, metric, split, repetitions) for runs in contenders], axis=1)
        same = len(self.source.units[split]) == 1 and bool((means == means[0]).all())
        if same or self.source.fixed(split):
            means = means.mean(axis=0, keepdims=True)
        shares = [self.source.shared(runs.n) for runs in contenders]
        found = mean_intervals(means, level, np.array([widening(len(means), share) for share in shares]))
        lower, upper = within_range(found.mean, found.lower, found.upper, self.source.metric(metric).ends)
        found = replace(found, lower=lower, upper=upper)
        if self._cells(contenders, tuple(repetitions)) is None:
            return found
        flat = found.sd <= 1e-12 * np.maximum(1.0, np.abs(found.mean))
        return replace(found, lower=np.where(flat, np.nan, found.lower), upper=np.where(flat, np.nan, found.upper))

    def _cells(self, contenders: Sequence[ContenderRuns], repetitions: tuple[int, ...]) -> NDArray[np.int64] | None:
        """Return which contenders are the same cells, as numbers, where splits are few and overlap; see `Crossed`."""
        if self.source.test_share is None or len(repetitions) >= FEW_SPLITS:
            return None
        cells = [tuple(runs.cells[r] for r in repetitions) for runs in contenders]
        number = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
        return np.array([number[cell] for cell in cells], dtype=np.int64)

    def _deviating(
        self, runs: ContenderRuns, metric: str, split: Split, repetitions: tuple[int, ...]
    ) -> NDArray[np.float64]:
        """Return a contender's losses, shape (R, U), with the deviations over repetitions that new ones would have."""
        losses = self.losses(runs, metric, split, repetitions)
        mean: NDArray[np.float64] = losses.mean(axis=0, keepdims=True)
        if self.source.fixed(split):
            return mean
        if self.source.pool is None or len(losses) < 2:
            return losses
        return np.asarray(mean + widening(len(losses), self.source.shared(runs.n)) * (losses - mean))

    def _losses(self, runs: ContenderRuns, repetition: int, metric: str, split: Split) -> NDArray[np.float64]:
        """Return a contender's losses, shape (U,); only what may be first has a range of ranks from 1."""
        ends = RANKING[3:]
        if metric not in ends or MAY_BE_FIRST not in self.metrics:
            return self._stored(runs, repetition, metric, split)
        low, high, first = (self._stored(runs, repetition, one, split) for one in (*ends, MAY_BE_FIRST))
        places = low.astype(np.int64), high.astype(np.int64)
        if (first == 1).any():  # nan: without intervals
            places = ranges_from_first(*places, first == 1)
        return places[ends.index(metric)].astype(np.float64)

    def _stored(self, runs: ContenderRuns, repetition: int, metric: str, split: Split) -> NDArray[np.float64]:
        """Return a contender's losses from the journal, shape (U,)."""
        if (losses := self.results.losses(runs.cells[repetition], metric, split)) is None:
            raise StoreError(
                f"{self.results.path}: {runs.label!r} (n = {runs.n}, repetition {repetition}) is done but "
                f"has no {metric!r} on the {split} units: its losses are others. Run into a new folder"
            )
        return losses


def experiment_data_of(results: StoredResults) -> list[ExperimentData]:
    """Return the data of each experiment of stored results, in their order."""
    record, members, cells = results.record(), results.members(), results.cells()
    return [ExperimentData(results, record, experiment, members, cells) for experiment in record.experiments]


def _matched(n: int, members: Sequence[Member], cells: Mapping[str, StoredCell], facts: Sequence[Fact]) -> MatchedRuns:
    by_label: dict[str, list[Member]] = {}
    for member in members:
        by_label.setdefault(member.label, []).append(member)
    contenders = [ContenderRuns.from_members(own, cells) for own in by_label.values()]
    contenders.sort(key=lambda runs: (runs.order, natural(runs.label)))
    named = tuple(replace(runs, equals=_equal(runs, contenders, facts)) for runs in contenders)
    compared = [runs.done for runs in named if runs.compared]
    shared = frozenset.intersection(*compared) if compared else frozenset()
    planned = len({m.repetition for m in members})
    return MatchedRuns(n, members[0].n_declared, named, tuple(sorted(shared)), planned)


def _equal(runs: ContenderRuns, contenders: Sequence[ContenderRuns], facts: Sequence[Fact]) -> str:
    """Return the label of the contender that another equals, by a fact about all repetitions; empty if none does."""
    for fact in (fact for fact in facts if fact.same_as):
        owner = runs.config | {fact.parameter: fact.same_as}
        if not runs.done or str(runs.config.get(fact.parameter)) == fact.same_as:
            continue
        same = [other.label for other in contenders if other.config == owner]
        if same and not any(runs.stored[r].info.get(fact.name, 0.0) < 1.0 for r in runs.done):
            return same[0]
    return ""
