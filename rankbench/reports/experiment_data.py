"""Experiment data turn journal rows into arrays of matched cells and their means.

An *arm* is a contender at one n. Comparisons are matched: all arms of a comparison use
the same repetitions, those that every arm which is still in the race has finished. An
arm with a cell that diverged, was skipped or failed is out of the race: the mean over
the repetitions where it happened to work would flatter it.
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
from rankbench.interfaces.cell import Split
from rankbench.interfaces.figure import ArmResults, RaceResults
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
from rankbench.stats.contrasts import MeanIntervals, mean_intervals, within_range
from rankbench.store.journal import StoredResults
from rankbench.store.records import Member, StoredCell, SuiteRecord

ArmKey: TypeAlias = tuple[int, str]
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
class Arm(ArmResults):
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
    def from_members(cls, members: Sequence[Member], cells: Mapping[str, StoredCell]) -> Arm:
        """Return the arm of one contender's members, a member for each repetition."""
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
            racing=bool(done) and len(done) == len(stored),
            equals="",
            n=first.n,
            spec=first.spec,
            cells={m.repetition: m.cell for m in members},
            stored=stored,
        )

    @property
    def key(self) -> ArmKey:
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
class Race(RaceResults):
    """The arms of an experiment at one n, and the repetitions that they are compared in."""

    arms: tuple[Arm, ...]
    planned: int

    @property
    def racing(self) -> tuple[Arm, ...]:
        """The arms that are compared."""
        return tuple(arm for arm in self.arms if arm.racing)

    def arm(self, label: str) -> Arm | None:
        """Return the arm named `label`, or None."""
        return next((arm for arm in self.arms if arm.label == label), None)

    def twin(self, arm: Arm) -> Arm | None:
        """Return the arm that an arm is the same as, if both are compared; it counts for the two of them."""
        other = self.arm(arm.equals) if arm.equals else None
        return other if other is not None and other.racing else None


class Sampler:
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
        self.races = tuple(_race(n, found, cells, self.source.facts) for n, found in by_n.items())
        self.seed = bootstrap_seed(record.seed)
        self._widenings: dict[tuple[str, Split, tuple[int, ...]], float] = {}
        self._means: dict[tuple[str, str, Split], np.float64] = {}
        self._samples: dict[tuple[str, Split, tuple[int, ...]], tuple[Crossed, dict[ArmKey, int]]] = {}

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the losses, the headline first."""
        return self.experiment.losses

    def arm(self, key: ArmKey) -> Arm | None:
        """Return the arm at `key`, or None."""
        return next((arm for race in self.races for arm in race.arms if arm.key == key), None)

    def means(self, arm: Arm, metric: str, split: Split, repetitions: Sequence[int]) -> NDArray[np.float64]:
        """Return an arm's mean over units, shape (R,)."""
        for r in repetitions:
            key = arm.cells[r], metric, split
            if key not in self._means:
                self._means[key] = self._losses(arm, r, metric, split).mean()
        return np.array([self._means[arm.cells[r], metric, split] for r in repetitions])

    def values(self, arm: Arm, metric: str, split: Split) -> NDArray[np.float64]:
        """Return an arm's value for every unit, of its first finished repetition, shape (U,)."""
        return self._losses(arm, min(arm.done), metric, split)

    def losses(self, arm: Arm, metric: str, split: Split, repetitions: Sequence[int]) -> NDArray[np.float64]:
        """Return an arm's loss of every unit in these repetitions, shape (R, U)."""
        return np.stack([self._losses(arm, r, metric, split) for r in repetitions])

    def sample(self, arms: Sequence[Arm], metric: str, split: Split, repetitions: tuple[int, ...]) -> Crossed:
        """Return the bootstrapped means of `arms` on the same `repetitions`.

        The same queries and repetitions are resampled for all arms of an experiment, at every
        n, so replicates made once are combined again for claims across n.
        """
        together, columns = self._resampled(arms, metric, split, repetitions)
        places = [columns[arm.key] for arm in arms]
        if places != list(range(len(columns))):
            together = Crossed(*(np.take(getattr(together, name), places, axis=1) for name in ARRAYS))
        found = widened_for_overlap(replace(together, cells=self._cells(arms, repetitions)), self.source.test_share)
        return widened_for_order(found, self.order_widening(metric, split, repetitions))

    def order_widening(self, metric: str, split: Split, repetitions: tuple[int, ...]) -> float:
        """Return the factor on standard errors for units dependent in time, else 1."""
        if self.source.judged_on != STRETCHES or len(repetitions) != 1:
            return 1.0
        place = metric, split, repetitions
        if place not in self._widenings:
            arms = [arm for race in self.races for arm in race.racing if repetitions[0] in arm.done]
            means = [self._losses(arm, repetitions[0], metric, split) for arm in arms]
            self._widenings[place] = order_widening(np.stack(means, axis=1))
        return self._widenings[place]

    def _resampled(
        self, arms: Sequence[Arm], metric: str, split: Split, repetitions: tuple[int, ...]
    ) -> tuple[Crossed, dict[ArmKey, int]]:
        """Return a sample with these arms and the column of each; it is kept, the oldest are given up for it."""
        place = metric, split, repetitions
        known = self._samples.get(place)
        columns = dict(known[1]) if known else {}
        missing = [arm for arm in arms if arm.key not in columns]
        parts = [known[0]] if known else []
        some = max(2, TOGETHER // (len(repetitions) * len(self.source.units[split])))
        for start in range(0, len(missing), some):
            group = missing[start : start + some]
            losses = np.stack([self._deviating(arm, metric, split, repetitions) for arm in group], axis=2)
            parts.append(crossed(losses, self.seed, REPLICATES))
        columns |= {arm.key: len(columns) + i for i, arm in enumerate(missing)}
        found = self._samples[place] = side_by_side(parts), columns
        sizes = {one: sample.nbytes for one, (sample, _) in self._samples.items()}
        for one in [*sizes][:-1]:
            if one != place and sum(sizes.values()) > KEPT:
                del self._samples[one], sizes[one]
        return found

    def intervals(
        self, arms: Sequence[Arm], metric: str, split: Split, repetitions: Sequence[int], level: float = 0.95
    ) -> MeanIntervals:
        """Return the means of `arms` with their intervals over repetitions."""
        means = np.stack([self.means(arm, metric, split, repetitions) for arm in arms], axis=1)
        same = len(self.source.units[split]) == 1 and bool((means == means[0]).all())
        if same or self.source.fixed(split):
            means = means.mean(axis=0, keepdims=True)
        shares = [self.source.shared(arm.n) for arm in arms]
        found = mean_intervals(means, level, np.array([widening(len(means), share) for share in shares]))
        lower, upper = within_range(found.mean, found.lower, found.upper, self.source.metric(metric).ends)
        found = replace(found, lower=lower, upper=upper)
        if self._cells(arms, tuple(repetitions)) is None:
            return found
        flat = found.sd <= 1e-12 * np.maximum(1.0, np.abs(found.mean))
        return replace(found, lower=np.where(flat, np.nan, found.lower), upper=np.where(flat, np.nan, found.upper))

    def _cells(self, arms: Sequence[Arm], repetitions: tuple[int, ...]) -> NDArray[np.int64] | None:
        """Return which arms are the same cells, as numbers, where splits are few and overlap; see `Crossed`."""
        if self.source.test_share is None or len(repetitions) >= FEW_SPLITS:
            return None
        cells = [tuple(arm.cells[r] for r in repetitions) for arm in arms]
        number = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
        return np.array([number[cell] for cell in cells], dtype=np.int64)

    def _deviating(self, arm: Arm, metric: str, split: Split, repetitions: tuple[int, ...]) -> NDArray[np.float64]:
        """Return an arm's losses, shape (R, U), with the deviations over repetitions that new ones would have."""
        losses = self.losses(arm, metric, split, repetitions)
        mean: NDArray[np.float64] = losses.mean(axis=0, keepdims=True)
        if self.source.fixed(split):
            return mean
        if self.source.pool is None or len(losses) < 2:
            return losses
        return np.asarray(mean + widening(len(losses), self.source.shared(arm.n)) * (losses - mean))

    def _losses(self, arm: Arm, repetition: int, metric: str, split: Split) -> NDArray[np.float64]:
        """Return an arm's losses from the journal, shape (U,)."""
        if (losses := self.results.losses(arm.cells[repetition], metric, split)) is None:
            raise StoreError(
                f"{self.results.path}: {arm.label!r} (n = {arm.n}, repetition {repetition}) is done but "
                f"has no {metric!r} on the {split} units: its losses are others. Run into a new folder"
            )
        return losses


def samplers_of(results: StoredResults) -> list[Sampler]:
    """Return a sampler for each experiment of stored results, in their order."""
    record, members, cells = results.record(), results.members(), results.cells()
    return [Sampler(results, record, experiment, members, cells) for experiment in record.experiments]


def _race(n: int, members: Sequence[Member], cells: Mapping[str, StoredCell], facts: Sequence[Fact]) -> Race:
    by_label: dict[str, list[Member]] = {}
    for member in members:
        by_label.setdefault(member.label, []).append(member)
    arms = [Arm.from_members(own, cells) for own in by_label.values()]
    arms.sort(key=lambda arm: (arm.order, natural(arm.label)))
    named = tuple(replace(arm, equals=_equal(arm, arms, facts)) for arm in arms)
    racing = [arm.done for arm in named if arm.racing]
    shared = frozenset.intersection(*racing) if racing else frozenset()
    planned = len({m.repetition for m in members})
    return Race(n, members[0].n_declared, named, tuple(sorted(shared)), planned)


def _equal(arm: Arm, arms: Sequence[Arm], facts: Sequence[Fact]) -> str:
    """Return the label of the arm that equals an arm, by a fact about all repetitions; empty if none does."""
    for fact in (fact for fact in facts if fact.same_as):
        owner = arm.config | {fact.parameter: fact.same_as}
        if not arm.done or str(arm.config.get(fact.parameter)) == fact.same_as:
            continue
        same = [other.label for other in arms if other.config == owner]
        if same and not any(arm.stored[r].info.get(fact.name, 0.0) < 1.0 for r in arm.done):
            return same[0]
    return ""
