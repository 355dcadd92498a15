"""Records hold a run's plan and what its experiments are made from; contents are a journal's rows, read into memory."""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rankbench.core.code_digest import OURSELVES
from rankbench.interfaces.cell import ANSWERS, SPLITS, Direction, Layout, Split, Status
from rankbench.interfaces.metric import BUDGET, COLUMN_FACTS, RIDGE, Budget, Fact, Metric
from rankbench.interfaces.suite import Experiment


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
        Number of judgments, and the number in the suite's file, before any scaling.
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


def makers_text(names: Sequence[str] | None, versions: Mapping[str, str]) -> tuple[str, ...]:
    """Return a contender's distributions with their versions; rankbench's own version if it is built in."""
    return tuple(f"{name} {versions[name]}" if name in versions else name for name in names or (OURSELVES,))


class SourceRecord(BaseModel):
    """Source of some experiments of a suite: a protocol on a data set.

    Attributes
    ----------
    protocol, dataset : str
        Canonical specs; a protocol may need no data set.
    fingerprint : str
        sha256 of the data's contents.
    simulated : bool
        The data are simulated; the leaderboard then says so first, with `assumptions`.
    notes : tuple of str
        Changes on the way, as in a scaled number of queries or judgments; `unused` among it.
    unused : tuple of str
        Sentences about judgments of the data that no contender got.
    splits : dict of Split to str
        Title of each split that has units.
    units : dict of Split to list of str
        Names of the losses' units, in their order.
    counts : str
        Unit that n counts; empty where nothing is drawn.
    judged_on : str
        Kind of the units.
    test_share : float, optional
        Share of the observations that each repetition is tested on, where repetitions
        overlap.
    pool : int, optional
        Number of observations that every draw is a sample of, see `Prepared`.
    layout : Layout
        Contenders are compared, give exact numbers, or rank named items.
    metrics : tuple of Metric
        Metrics that contenders are judged by; see `SourceRecord.metric` for one that is not named.
    facts : tuple of Fact
        Values of rows, beside losses, that a report tells.
    budget : Budget, optional
        Fact that says what stochastic contenders were given.
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
    unused: tuple[str, ...] = ()
    splits: dict[Split, str]
    units: dict[Split, list[str]]
    counts: str = "judgments"
    judged_on: str = "queries"
    test_share: float | None = None
    pool: int | None = None
    layout: Layout = "race"
    metrics: tuple[Metric, ...] = ()
    facts: tuple[Fact, ...] = (*COLUMN_FACTS, RIDGE)
    budget: Budget | None = BUDGET
    curves: dict[str, tuple[Split, Direction]] = {}

    @model_validator(mode="after")
    def _every_split_has_a_title(self) -> Self:
        if untitled := self.units.keys() - self.splits.keys():
            raise ValueError(f"the units of {min(untitled)!r} are of no split ({', '.join(self.splits)})")
        return self

    def shown_splits(self) -> tuple[Split, ...]:
        """Return the splits that have units, in the order in which they are shown."""
        return tuple(split for split in SPLITS if self.units.get(split))

    def fixed(self, split: Split) -> bool:
        """Return whether all losses are of one fixed unit; intervals over other units are impossible then."""
        return self.pool is not None and len(self.units.get(split, ())) == 1

    def shared(self, n: int) -> float | None:
        """Return the share of all observations that two draws of n have in common; None where draws are new.

        Subsets of a pool of N deviate less from each other than from the pool's population: by
        (1 - n/N) in variance, for means. The correction is that of splits whose parts overlap by n/N.
        """
        if self.pool is None:
            return self.test_share
        return n / self.pool if n < self.pool else None

    def short(self, split: Split) -> str:
        """Return a split's title in a few words: "design queries"."""
        title = self.splits.get(split, split).partition(" (")[0]
        return title[:1].lower() + title[1:]

    def metric(self, name: str) -> Metric:
        """Return a metric by name; an undeclared one is minimized."""
        return next((metric for metric in self.metrics if metric.name == name), Metric(name))

    def direction(self, metric: str) -> Direction:
        """Return whether less or more of `metric` is better."""
        return self.metric(metric).direction

    def curve(self, metric: str) -> tuple[Split, Direction]:
        """Return the split that a curve was recorded on, and its direction.

        One that the protocol does not declare is a method's own, of its objective on the
        judgments that it learned from: design, minimized.
        """
        return self.curves.get(metric, ("design", "minimize"))


class SuiteRecord(BaseModel):
    """Record of a resolved suite in the journal, with all that a report says about it.

    Attributes
    ----------
    asks : str
        The question of the suite, in plain words; empty in older runs.
    sources : tuple of SourceRecord
    source_index : dict of str to int
        Index of each experiment's source.
    left_out : dict of str to str
        Experiments that the data do not allow, and why.
    added : dict of str to tuple of str
        By experiment, the labels of contenders that the run adds to the suite.
    smaller : tuple of str
        Sentences on quantities that the data made smaller than the suite asks for.
    made_by : dict of str to dict of str to tuple of str
        By experiment and label, the distributions of a contender; only where plugins have a part.
    plugins : dict of str to str
        Code digests of the plugins that have a part in a cell, by distribution.
    versions, cpu, code_digest
        Origin of the cells: versions of libraries and plugins, class of processor, rankbench's code.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", serialize_by_alias=True)

    name: str
    title: str
    asks: str = ""
    seed: int
    sources: tuple[SourceRecord, ...]
    source_index: dict[str, int] = Field(alias="of")
    left_out: dict[str, str] = {}
    added: dict[str, tuple[str, ...]] = {}
    smaller: tuple[str, ...] = ()
    experiments: tuple[Experiment, ...]
    made_by: dict[str, dict[str, tuple[str, ...]]] = {}
    plugins: dict[str, str] = {}
    versions: dict[str, str] = {}
    cpu: str = ""
    code_digest: str = ""

    @model_validator(mode="after")
    def _every_experiment_has_its_source(self) -> Self:
        for experiment in self.experiments:
            index = self.source_index.get(experiment.name)
            if index is None or not 0 <= index < len(self.sources):
                raise ValueError(f"experiment {experiment.name!r} is made from none of the {len(self.sources)} sources")
        return self

    def source(self, experiment: str) -> SourceRecord:
        """Return the source of an experiment."""
        return self.sources[self.source_index[experiment]]

    def makers(self, experiment: str, label: str) -> tuple[str, ...]:
        """Return the distributions of a contender with their versions."""
        return makers_text(self.made_by.get(experiment, {}).get(label), self.versions)

    def codes(self, experiment: str, label: str) -> str:
        """Return the code digests of a contender, one space between them: rankbench's, then its plugins'."""
        made_by = self.made_by.get(experiment, {}).get(label, ())
        return " ".join([self.code_digest, *filter(None, map(self.plugins.get, made_by))])


TABLES = {
    "head": "plan TEXT, blocks INTEGER, digest TEXT",
    "suite": "json TEXT",
    "members": "experiment TEXT, label TEXT, spec TEXT, config TEXT, n INTEGER, n_declared INTEGER, "
    "repetition INTEGER, cell TEXT, position INTEGER",
    "blocks": "block INTEGER, protocol TEXT, dataset TEXT, n INTEGER, repetition INTEGER, seed INTEGER, seconds REAL, "
    "digest TEXT",
    "cells": "block INTEGER, cell TEXT, status TEXT, reason TEXT, trace TEXT, optimality REAL, info TEXT",
    "losses": "block INTEGER, cell TEXT, metric TEXT, split TEXT, data BLOB",
    "curves": "block INTEGER, cell TEXT, metric TEXT, steps BLOB, data BLOB",
}
"""The tables of a journal, as SQL."""

SCHEMA = tuple((name, f"CREATE TABLE {name} ({columns})") for name, columns in TABLES.items())

COLUMNS = {name: tuple(column.split()[0] for column in columns.split(", ")) for name, columns in TABLES.items()}
"""Names of the columns of each table, in their order."""

RESULTS = ("cells", "losses", "curves")
"""Tables whose rows belong to a block."""

StoredValue: TypeAlias = "str | int | float | bytes | None"
"""Python types of the values that SQLite stores."""


def row_digest(table: str, *values: StoredValue) -> str:
    """Return the blake2b digest (32 hex digits) of a row: of its table's name and of its values with their types.

    Lengths stand before the values, so that nothing can move from one value to the next.
    """
    digest = hashlib.blake2b(table.encode(), digest_size=16)
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode()
        digest.update(b"%s %d\n" % (type(value).__name__.encode(), len(data)))
        digest.update(data)
    return digest.hexdigest()


def plan_digest(suite: str, members: Sequence[tuple[StoredValue, ...]]) -> str:
    """Return the digest of a plan: of the suite's JSON and of the rows of members, in their order."""
    return row_digest("plan", suite, *(row_digest("members", *row) for row in members))


def stored_number(value: float) -> float | None:
    """Return a number as SQLite returns it: no negative zero, and None for nan."""
    number = float(value)
    return None if math.isnan(number) else number + 0.0


def json_object(text: str) -> dict[str, Any]:
    """Return the JSON object in a cell of a table.

    Raises
    ------
    ValueError, TypeError, RecursionError
        It holds none.
    """
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(f"{text!r} is no JSON object")
    return found


@dataclass(frozen=True)
class StoredCell:
    """A cell in the journal, without its losses."""

    status: Status
    reason: str
    optimality: float
    info: dict[str, float]
    trace: str = ""


class Place(NamedTuple):
    """Place of a row, and the digest of its contents."""

    row: int
    digest: str


@dataclass
class Contents:
    """Contents of a journal when it was opened.

    Attributes
    ----------
    suite : str
        JSON of the plan's suite; empty before the first plan.
    members : list of Member
        In a fixed order.
    cells : dict of str to StoredCell
        The latest row of every cell, of the plan or not.
    answered : set of str
        Cells that have an answer.
    losses : dict of (cell, metric, split) to Place
    curves : dict of cell to dict of metric to Place
    blocks : int
        Number of blocks.
    digest : str
        Digest of the last block, and so of all blocks; empty without one.
    """

    suite: str = ""
    members: list[Member] = field(default_factory=list)
    cells: dict[str, StoredCell] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    losses: dict[tuple[str, str, Split], Place] = field(default_factory=dict)
    curves: dict[str, dict[str, Place]] = field(default_factory=dict)
    blocks: int = 0
    digest: str = ""

    def add(self, table: str, values: tuple[Any, ...], place: Place) -> None:
        """Add a row of a block; a later row of a cell replaces an earlier one."""
        cell = sys.intern(values[1])
        if table == "cells":
            _, _, status, reason, trace, optimality, info = values
            known = math.nan if optimality is None else optimality
            self.cells[cell] = StoredCell(status, reason, known, json_object(info), trace)
            if status in ANSWERS:
                self.answered.add(cell)
        elif table == "losses":
            self.losses[cell, sys.intern(values[2]), sys.intern(values[3])] = place  # type: ignore[index]
        else:
            self.curves.setdefault(cell, {})[sys.intern(values[2])] = place

    def plan(self, suite: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Replace the plan by another one, given as the rows of its tables."""
        configs = {text: json_object(text) for text in {row[3] for row in rows}}
        members = [
            Member(experiment, label, spec, configs[config], n, declared, repetition, cell, position)
            for experiment, label, spec, config, n, declared, repetition, cell, position in rows
        ]
        self.suite = suite
        self.members = sorted(members, key=lambda m: (m.experiment, m.n, m.order, m.label, m.repetition))
