"""What a run writes down before its results: its plan, and what its experiments are made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from rankbench.kinds.cell import SPLITS, BlockKey, Direction, Layout, Split
from rankbench.kinds.suite import Experiment

__all__ = ["Member", "SourceRecord", "SuiteRecord"]


@dataclass(frozen=True)
class Member:
    """One cell as an experiment shows it: the plan that a report is made from.

    Attributes
    ----------
    experiment, label, spec : str
        Where it is shown, under which name, and the contender's canonical spec.
    config : dict of str to object
        *All* parameters of the contender as plain values; infinite orders are ``"inf"``.
    n, n_declared : int
        Number of judgments, and what the suite's file says before any scaling.
    repetition : int
    cell : str
        Id of the cell.
    order : int
        Place among the experiment's contenders.
    """

    experiment: str
    label: str
    spec: str
    config: dict[str, Any]
    n: int
    n_declared: int
    repetition: int
    cell: str
    order: int


class SourceRecord(BaseModel):
    """What some experiments of a suite are made from: a protocol on a data set.

    Attributes
    ----------
    protocol, dataset : str
        Canonical specs; a protocol may need no data set.
    fingerprint : str
        sha256 of the data's contents.
    simulated : bool
        Whether the data are; the leaderboard then says so first, with `assumptions`.
    notes : tuple of str
        What was changed on the way, as in a scaled number of queries or judgments.
    splits : dict of Split to str
        Title of each split that has units.
    units : dict of Split to list of str
        Names of what losses are given for, in their order.
    counts : str
        What n counts; empty where nothing is drawn.
    test_share : float, optional
        Share of the observations that each repetition is tested on, where repetitions
        overlap.
    pool : int, optional
        Number of observations that every draw is a sample of, see `Prepared`.
    layout : Layout
        Whether contenders are compared, give exact numbers, or rank named items.
    words : dict of str to dict of float to str
        What values of a metric are called, where they stand for words.
    directions : dict of str to Direction
        By metric; one that is not named is minimized.
    chance : dict of str to float
        What a coin gets, by metric; of one that is not named nobody said.
    curves : dict of str to (Split, Direction)
        By metric of a curve; see `SourceRecord.curve` for one that is not named.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    protocol: str
    dataset: str = ""
    fingerprint: str = ""
    simulated: bool = False
    assumptions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    splits: dict[Split, str]
    units: dict[Split, list[str]]
    counts: str = "judgments"
    test_share: float | None = None
    pool: int | None = None
    layout: Layout = "race"
    words: dict[str, dict[float, str]] = {}
    directions: dict[str, Direction] = {}
    chance: dict[str, float] = {}
    curves: dict[str, tuple[Split, Direction]] = {}

    def shown_splits(self) -> tuple[Split, ...]:
        """Return the splits that have units, in the order in which they are shown."""
        return tuple(split for split in SPLITS if self.units.get(split))

    def fixed(self, split: Split) -> bool:
        """Return whether all is judged on one unit that stays the same: nothing tells of other ones."""
        return self.pool is not None and len(self.units.get(split, ())) == 1

    def shared(self, n: int) -> float | None:
        """Return the share of all observations that two draws of n have in common; None where draws are new.

        Subsets of a pool of N deviate less from each other than from what the pool was drawn from: by
        (1 - n/N) in variance, for means. The correction is that of splits whose parts overlap by n/N.
        """
        if self.pool is None:
            return self.test_share
        return n / self.pool if n < self.pool else None

    def short(self, split: Split) -> str:
        """Return a split's title in a few words: "design queries"."""
        title = self.splits.get(split, split).partition(" (")[0]
        return title[:1].lower() + title[1:]

    def sizes(self) -> dict[Split, int]:
        """Return the number of units of each split."""
        return {split: len(names) for split, names in self.units.items()}

    def direction(self, metric: str) -> Direction:
        """Return whether less or more of `metric` is better."""
        return self.directions.get(metric, "minimize")

    def curve(self, metric: str) -> tuple[Split, Direction]:
        """Return what a curve was recorded on, and which way is better.

        One that the protocol does not declare is a method's own, of its objective on the
        judgments that it learned from: design, minimized.
        """
        return self.curves.get(metric, ("design", "minimize"))


class SuiteRecord(BaseModel):
    """What the journal keeps of a resolved suite: all that a report has to say about it.

    Attributes
    ----------
    sources : tuple of SourceRecord
    of : dict of str to int
        Index of each experiment's source.
    left_out : dict of str to str
        Experiments that the data do not allow, and why.
    added : dict of str to tuple of str
        By experiment, the labels of contenders that are not of the suite but were added to the run.
    versions, cpu, code_digest
        What computed the cells.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    title: str
    seed: int
    sources: tuple[SourceRecord, ...]
    of: dict[str, int]
    left_out: dict[str, str] = {}
    added: dict[str, tuple[str, ...]] = {}
    experiments: tuple[Experiment, ...]
    versions: dict[str, str] = {}
    cpu: str = ""
    code_digest: str = ""

    def source(self, experiment: str) -> SourceRecord:
        """Return what an experiment is made from."""
        return self.sources[self.of[experiment]]

    def source_of(self, key: BlockKey) -> SourceRecord | None:
        """Return the source that a block was drawn from, if the plan has it."""
        made = (key.protocol, key.dataset)
        return next((source for source in self.sources if (source.protocol, source.dataset) == made), None)
