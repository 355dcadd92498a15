"""The table `timings` holds every call that was timed.

``timings/timings.parquet`` has a row for each call, ``timings/timings.json`` the job, its machine and the sha256 of the
table. docs/reference/leaderboard-columns.md describes the columns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rankbench.core.system import replace_file
from rankbench.errors import StoreError
from rankbench.store.published import sha256
from rankbench.store.results_frame import parquet_bytes

TIMINGS = "timings"
"""Folder of the table in that of a run, and name of its files."""

REFERENCE = "reference"
"""Name in the table of the workload beside the contenders; its experiment is empty."""


class TimedCell(NamedTuple):
    """A timed contender of an experiment at one n."""

    experiment: str
    contender: str
    n: int

    def __str__(self) -> str:
        return f"{self.experiment}, n = {self.n:,}, {self.contender}"


class TimingFacts(BaseModel):
    """Facts of a job, beside its times.

    Attributes
    ----------
    job : str
        Identifier of the job, the same for both of its sides.
    side : {"base", "head", ""}
        Side of the job; empty where one version was timed.
    suite, version : str
        Suite that was timed, and version of rankbench, as ``0.1.0`` or a commit.
    machine : str
        Class of processor.
    reference : str
        Workload beside the contenders, with the library that computes it.
    versions : dict of str to str
    declared : int
        Largest number of launches, see `rankbench.tracking.turns`.
    last : bool
        The time was up, or all launches were done.
    precision : float
        The relative half width at which the job ended, if it did.
    seed : int
        Of the order of calls.
    failed : dict of str to str
        Contenders that could not be timed, and why.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[2] = 2
    job: str = Field(min_length=1)
    side: Literal["base", "head", ""] = ""
    suite: str
    version: str
    machine: str
    reference: str
    versions: dict[str, str] = {}
    declared: int = Field(ge=1)
    last: bool
    precision: float = Field(gt=0)
    seed: int
    failed: dict[str, str] = {}


@dataclass(frozen=True)
class Timings:
    """The times of one version in a job.

    Attributes
    ----------
    facts : TimingFacts
    seconds : dict of TimedCell to ndarray of float64, shape (L, R)
        Of the fastest call, by launch and round.
    reference : ndarray of float64, shape (L, R)
        Of the workload beside them.
    first : dict of TimedCell to ndarray of float64, shape (L,)
        Of the first call of each launch, which compiles or loads compiled code.
    memory : dict of TimedCell to ndarray of float64, shape (L,)
        Peak memory of a call in bytes, beyond its process's memory before, above 16 MiB a mean of three calls; nan
        where it was not measured.
    """

    facts: TimingFacts
    seconds: Mapping[TimedCell, NDArray[np.float64]]
    reference: NDArray[np.float64]
    first: Mapping[TimedCell, NDArray[np.float64]]
    memory: Mapping[TimedCell, NDArray[np.float64]]

    @property
    def launches(self) -> int:
        """Number of launches."""
        return int(self.reference.shape[0])

    @property
    def rounds(self) -> int:
        """Number of rounds of a launch."""
        return int(self.reference.shape[1])


def has_timings(directory: Path) -> bool:
    """Return whether a folder has the table."""
    return (directory / TIMINGS / f"{TIMINGS}.json").is_file()


def write_timings(directory: Path, timings: Timings) -> None:
    """Write the table into a run's folder, replacing a former one.

    Raises
    ------
    StoreError
        It cannot be written.
    """
    data = parquet_bytes(_frame(timings))
    facts = timings.facts.model_dump() | {
        "launches": timings.launches,
        "rounds": timings.rounds,
        "sha256": sha256(data),
    }
    folder = directory / TIMINGS
    try:
        # A manifest never stands beside a table that is not its own.
        (folder / f"{TIMINGS}.json").unlink(missing_ok=True)
        replace_file(folder / f"{TIMINGS}.parquet", data)
        replace_file(folder / f"{TIMINGS}.json", (json.dumps(facts, indent=1, sort_keys=True) + "\n").encode())
    except OSError as error:
        raise StoreError(f"{folder}: the timings cannot be written ({error.strerror or error})") from error


def read_timings(directory: Path) -> Timings:
    """Read the table of a run's folder.

    Raises
    ------
    StoreError
        There is none, it is damaged, or of a version that this rankbench does not read.
    """
    folder = directory / TIMINGS
    path = folder / f"{TIMINGS}.json"
    try:
        text: dict[str, Any] = json.loads(path.read_bytes())
        data = (folder / f"{TIMINGS}.parquet").read_bytes()
        launches, rounds, digest = (text.pop(name) for name in ("launches", "rounds", "sha256"))
        facts = TimingFacts.model_validate(text)
        if sha256(data) != digest:
            raise StoreError(f"{folder / TIMINGS}.parquet: it is not what was written: its sha256 is another one")
        return _timings(facts, pl.read_parquet(data), (launches, rounds))
    except OSError as error:
        raise StoreError(f"{folder}: the timings cannot be read ({error.strerror or error})") from error
    except (ValidationError, ValueError, LookupError, TypeError, AttributeError, pl.exceptions.PolarsError) as error:
        raise StoreError(f"{path}: these are no timings ({type(error).__name__}: {error})") from error


def _frame(timings: Timings) -> pl.DataFrame:

    rows: list[tuple[Any, ...]] = []

    def add(cell: TimedCell, seconds: NDArray[np.float64]) -> None:
        for (launch, number), value in np.ndenumerate(seconds):
            rows.append((*cell, launch + 1, number + 1, float(value), None))

    for cell, seconds in timings.seconds.items():
        for launch, value in enumerate(timings.first[cell]):
            taken = float(timings.memory[cell][launch])
            rows.append((*cell, launch + 1, 0, float(value), None if np.isnan(taken) else taken))
        add(cell, seconds)
    add(TimedCell("", REFERENCE, 0), timings.reference)
    schema = {
        **{"experiment": pl.String, "contender": pl.String, "n": pl.Int64, "launch": pl.Int64, "round": pl.Int64},
        **{"seconds": pl.Float64, "memory": pl.Float64},
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _timings(facts: TimingFacts, frame: pl.DataFrame, shape: tuple[int, int]) -> Timings:

    seconds: dict[TimedCell, NDArray[np.float64]] = {}
    first: dict[TimedCell, NDArray[np.float64]] = {}
    memory: dict[TimedCell, NDArray[np.float64]] = {}
    ordered = frame.sort("launch", "round", maintain_order=True)
    for (experiment, contender, n), calls in ordered.group_by("experiment", "contender", "n", maintain_order=True):
        cell = TimedCell(str(experiment), str(contender), int(n))
        if not (calls["seconds"].to_numpy() > 0).all():
            raise ValueError(f"a call of {cell} took no time")
        timed, warmed = calls.filter(pl.col("round") > 0), calls.filter(round=0)
        seconds[cell] = timed["seconds"].to_numpy().reshape(shape)
        first[cell] = warmed["seconds"].to_numpy()
        memory[cell] = warmed["memory"].fill_null(np.nan).to_numpy()
    reference = TimedCell("", REFERENCE, 0)
    del first[reference], memory[reference]
    return Timings(facts, seconds, seconds.pop(reference), first, memory)
