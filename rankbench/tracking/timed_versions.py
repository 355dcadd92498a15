"""A launch has one process for each timed version; they compute one at a time."""

from __future__ import annotations

import json
import math
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.core.code_digest import version
from rankbench.core.runtime import BLAS_THREADS
from rankbench.errors import InputError
from rankbench.interfaces.cell import printable
from rankbench.interfaces.suite import SuitePart
from rankbench.tracking.question import TimeQuestion
from rankbench.tracking.speed_changes import LARGER_BYTES
from rankbench.tracking.timings import TimedCell
from rankbench.tracking.turns import ROUNDS, Launch, order_of_round

SCRIPT = Path(__file__).with_name("timing_worker.py")

SHORTEST = 0.02
"""Seconds of calls in a round, of which the fastest counts: a longer call is made once."""

_LAST_LINES = 15

_PATIENCE = 5.0
"""Seconds in which a process ends that does not answer."""


@dataclass(frozen=True)
class TimedVersion:
    """A version of rankbench that can be run.

    Attributes
    ----------
    python : str
        Its interpreter.
    name : str
        Name: a version, a commit, a path.
    path : tuple of str
        Python's path; empty: the path of the interpreter.
    """

    python: str
    name: str
    path: tuple[str, ...] = ()


def here() -> TimedVersion:
    """Return the rankbench that is running."""
    return TimedVersion(sys.executable, version("rankbench"), tuple(sys.path))


class _Process:
    """A process that times cells on request; `places` has the place of each cell there.

    Raises
    ------
    InputError
        It cannot be started, or it ended: with its last lines.
    """

    def __init__(self, side: TimedVersion, suite: str, datasets: Sequence[str], extra: Sequence[str]) -> None:
        self.side = side
        self.places: dict[TimedCell, int] = {}
        self._said = TemporaryFile()  # noqa: SIM115
        one_thread = dict.fromkeys((*BLAS_THREADS, "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CACHE_")}
        try:
            self._process = subprocess.Popen(
                [side.python, "-I", str(SCRIPT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env=kept | one_thread,
                text=True,
                encoding="utf-8",
            )
        except OSError as error:
            raise InputError(f"{side.python}: it cannot be started ({error.strerror or error})") from error
        self.facts = self.ask(suite=suite, dataset=list(datasets), extra=list(extra), path=list(side.path))
        if "error" in self.facts:
            self.close()
            raise InputError(
                f"rankbench {side.name} ({side.python}) cannot time suite {suite!r}: {printable(self.facts['error'])}"
            )

    def ask(self, **request: object) -> dict[str, Any]:
        """Return the answer to a request."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
            answer = json.loads(self._process.stdout.readline())
        except (OSError, ValueError) as error:
            code = self._ended()
            self._said.seek(0)
            lines = self._said.read().decode("utf-8", "replace").strip().splitlines()[-_LAST_LINES:]
            last = "".join(f"\n  {printable(line)}" for line in lines)
            raise InputError(
                f"rankbench {self.side.name} ({self.side.python}): the process that was timed ended with exit code "
                f"{code}{':' if last else ''}{last}"
            ) from error
        return dict(answer)

    def call(self, cell: TimedCell | None, **request: object) -> dict[str, Any]:
        """Return the answer about a call of a cell, or of the reference."""
        return self.ask(at=None if cell is None else self.places[cell], **request)

    def _ended(self) -> int:
        """Return the exit code of a process that has sent its last message."""
        try:
            return self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def close(self) -> None:
        """Kill the process; it has nothing to lose."""
        self._process.kill()
        self._process.communicate()
        self._said.close()


class Launcher:
    """Starts a process for each side, and times their common cells in turns.

    Parameters
    ----------
    sides : sequence of TimedVersion
        Base and head, or one alone.
    suite : str
        Name, or path of a file.
    question : TimeQuestion
        Of `only` and `n`, see `rankbench.interfaces.suite.SuitePart`; by default at the smallest n of each contender.

    Attributes
    ----------
    cells : list of TimedCell
        Timed cells; known after the first launch, as all that follows.
    facts : list of dict
        By side: ``versions`` and ``reference``.
    missing : dict of int to list of TimedCell
        Cells that only the other side has, by side.
    failed : dict of TimedCell to str
        Cells that cannot be timed, with the reason.
    """

    def __init__(
        self,
        sides: Sequence[TimedVersion],
        suite: str,
        question: TimeQuestion,
    ) -> None:
        self.sides = list(sides)
        self.seed = secrets.randbelow(2**31) if question.seed is None else question.seed
        self._suite = str(Path(suite).resolve()) if Path(suite).is_file() else suite
        self._datasets, self._extra = list(question.dataset), list(question.extra)
        self._part = SuitePart(question.only, question.n)
        self.cells: list[TimedCell] = []
        self.facts: list[dict[str, Any]] = []
        self.missing: dict[int, list[TimedCell]] = {}
        self.failed: dict[TimedCell, str] = {}
        self._loops: list[int] = []
        self._large: list[int] = []

    def launch(self, number: int, until: float) -> Launch | None:
        """Launch, warm up and time; see `rankbench.tracking.turns.take_turns`."""
        with ExitStack() as running:
            processes = [
                running.enter_context(closing(_Process(side, self._suite, self._datasets, self._extra)))
                for side in self.sides
            ]
            for process in processes:
                process.places = self._chosen(process.facts["members"])
            if number == 0:
                self._agree(processes)
            if (first := self._first(processes, until)) is None:
                return None
            if number == 0:
                fastest = [min(process.call(cell)["seconds"] for process in processes) for cell in self.cells]
                self._loops = [*(max(1, math.ceil(SHORTEST / seconds)) for seconds in fastest), 1]
            memory = self._memory(number, processes)
            found = [self._round(number, one, processes, until) for one in range(ROUNDS if self.cells else 0)]
            rounds = [one for one in found if one is not None]
            # The first launch counts though it has fewer rounds: there may be no other.
            if not rounds or (number and len(rounds) < ROUNDS):
                return None
            return Launch(np.stack(rounds, axis=2), first, memory)

    def _chosen(self, members: Sequence[tuple[str, str, int, int]]) -> dict[TimedCell, int]:
        """Return the place of each requested cell that exists."""
        least: dict[str, int] = {}
        for experiment, _, _, declared in members:
            least[experiment] = min(declared, least.get(experiment, declared))
        found = {}
        for place, (experiment, label, n, declared) in enumerate(members):
            if self._part.takes(experiment, label, declared, default=declared == least[experiment]):
                found[TimedCell(experiment, label, n)] = place
        return found

    def _agree(self, processes: Sequence[_Process]) -> None:
        """Choose the cells that are timed: the cells of all sides."""
        self.facts = [process.facts for process in processes]
        sides = [process.places for process in processes]
        everything = dict.fromkeys(cell for own in sides for cell in own)
        self.missing = {side: [cell for cell in everything if cell not in own] for side, own in enumerate(sides)}
        self.cells = [cell for cell in everything if all(cell in own for own in sides)]

    def _first(self, processes: Sequence[_Process], until: float) -> NDArray[np.float64] | None:
        """Call every cell for the first time, and drop cells that fail; None: the time is over."""
        times = np.full((len(processes), len(self.cells)), np.nan)
        for side, process in enumerate(processes):
            for at, cell in enumerate(self.cells):
                if time.monotonic() > until:
                    return None
                answer = process.call(cell)
                times[side, at] = answer["seconds"]
                if answer["status"] != "done" and cell not in self.failed:
                    self.failed[cell] = f"{answer['status']}: {answer['reason']}"
        kept = [at for at, cell in enumerate(self.cells) if cell not in self.failed]
        if len(kept) < len(self.cells) and not self._loops:
            self.cells = [self.cells[at] for at in kept]
            times = times[:, kept]
        return times

    def _memory(self, number: int, processes: Sequence[_Process]) -> NDArray[np.float64]:
        """Return the bytes at the peak, shape (S, C); nan where they are not measured.

        A peak that is small in the first launch can have grown by `LARGER_BYTES` in no other. An allocator keeps pieces
        of different sizes from one call to the next: the mean of several calls varies less.
        """
        memory = np.full((len(processes), len(self.cells)), np.nan)
        if number == 0:
            memory = self._peaks(processes, range(len(self.cells)))
            self._large = np.flatnonzero(memory.max(axis=0) >= LARGER_BYTES).tolist()
        memory[:, self._large] = np.mean([self._peaks(processes, self._large) for _ in range(ROUNDS)], axis=0)
        return memory

    def _peaks(self, processes: Sequence[_Process], cells: Sequence[int]) -> NDArray[np.float64]:
        """Return the bytes at the peak of a call, a row a side; nan if the system does not report it."""
        asked = [[process.call(self.cells[at], memory=True)["memory"] for at in cells] for process in processes]
        return np.array(asked, dtype=np.float64)

    def _round(
        self, launch: int, number: int, processes: Sequence[_Process], until: float
    ) -> NDArray[np.float64] | None:
        """Return the seconds of a round, shape (S, C + 1); None if the time is over."""
        cells = [*self.cells, None]
        seconds = np.full((len(processes), len(cells)), np.nan)
        for side, one in order_of_round(self.seed, launch, number, len(processes), len(cells)):
            if time.monotonic() > until:
                return None
            seconds[side, one] = processes[side].call(cells[one], loops=self._loops[one])["seconds"]
        return seconds
