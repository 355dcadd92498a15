"""`rankbench time` times a suite."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from rankbench.core.code_digest import cpu_class
from rankbench.core.text import count_text, significant, without_nan
from rankbench.errors import SpecError, option
from rankbench.stats.contrasts import mean_intervals
from rankbench.tracking import turns
from rankbench.tracking.compare import compare_results
from rankbench.tracking.comparison import Comparison
from rankbench.tracking.other_version import other_version
from rankbench.tracking.question import CompareQuestion, TimeQuestion
from rankbench.tracking.timed_versions import Launcher, here
from rankbench.tracking.timings import TimingFacts, Timings, has_timings, read_timings, write_timings

Side: TypeAlias = Literal["base", "head", ""]
"""A version that is timed: of two the other or the running one; empty: alone."""

TIME_COLUMNS = ("where", "contender", "median", "95% interval", "to reference", "95% interval", "first call", "memory")


class TimedRow(NamedTuple):
    """A contender's time; unknown values are nan.

    Attributes
    ----------
    where, contender : str
    seconds, lower, upper : float
        Median over launches of the fastest warm call, and its 95% interval.
    ratio, ratio_lower, ratio_upper : float
        To the reference, by paired log ratios.
    first : float
        Seconds of a process's first call, which compiles or loads compiled code.
    memory : float
        Peak memory of a call in bytes, beyond the process's memory before.
    """

    where: str
    contender: str
    seconds: float
    lower: float
    upper: float
    ratio: float
    ratio_lower: float
    ratio_upper: float
    first: float
    memory: float

    def cells(self) -> tuple[str, ...]:
        """Return a row of a table."""
        return (
            self.where,
            self.contender,
            _seconds(self.seconds),
            _interval(self.lower, self.upper, _seconds),
            significant(self.ratio),
            _interval(self.ratio_lower, self.ratio_upper, significant),
            _seconds(self.first),
            "" if math.isnan(self.memory) else f"{self.memory / 1e6:,.1f} MB",
        )


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 1 else f"{1000 * value:.3g} ms"


def _interval(lower: float, upper: float, said: Callable[[float], str]) -> str:
    return "" if math.isnan(lower) else f"{said(lower)} to {said(upper)}"


@dataclass(frozen=True)
class TimedSuite:
    """Results of timing a suite.

    Attributes
    ----------
    directory : Path
        Folder of the tables; two versions have theirs in ``base`` and ``head``.
    rows : list of TimedRow
        Rows of the running version, or of both versions, `base` first.
    comparison : Comparison or None
        Comparison of two versions, without changes where nothing was timed.
    notes : list of str
    launches, rounds : int
    """

    directory: Path
    rows: list[TimedRow]
    comparison: Comparison | None
    notes: list[str]
    launches: int
    rounds: int

    @property
    def exit_code(self) -> int:
        """As of a comparison; of one version 0; 3 if nothing was timed."""
        if self.comparison is not None:
            return self.comparison.exit_code
        return 0 if self.rows else 3

    def headline(self) -> str:
        """Return which contender is the fastest."""
        if not self.rows:
            return "Nothing was timed."
        fastest = min(self.rows, key=lambda row: row.seconds)
        return f"{fastest.contender} is the fastest of {count_text(len(self.rows), 'row')}."

    def sentence(self) -> str:
        """Return a sentence on the number of timings."""
        launches, rounds = count_text(self.launches, "launch"), count_text(self.rounds, "round")
        return f"{launches} of {rounds}, each contender once a round; in {self.directory}."


def time_suite(
    suite: str, question: TimeQuestion, out: Path | None = None, say: Callable[[str], None] = lambda text: None
) -> TimedSuite:
    """Time the contenders of a suite in turns: one version, or two of them.

    Parameters
    ----------
    suite : str
    question : TimeQuestion
    out : Path, optional
        By default ``runs/SUITE-timings``.
    say : callable
        Gets the current step as text.

    Raises
    ------
    InputError
        The other version cannot be had, or a process that was timed ended.
    SpecError
        Limits that are none, or a suite without such contenders.
    """
    sides = [other_version(question.against, say), here()] if question.against else [here()]
    folder = out or Path("runs") / f"{Path(suite).stem}-timings"
    folders = _folders(folder, ["base", "head"] if question.against else [""])
    launcher = Launcher(sides, suite, question)
    if question.against:
        say(f"timing {suite}")  # the last message was on the other version's environment
    taken = turns.take_turns(
        launcher.launch,
        question.precision,
        budget=question.limit,
        launches=question.launches,
        looked=_keeper(launcher, folders, Path(suite).stem, question.precision),
    )
    if not launcher.cells and not launcher.failed:
        both = " in both versions" if question.against else ""
        raise SpecError(f"suite {suite!r} has nothing to time{both}")
    notes = _notes(launcher)
    if not taken.launches or not launcher.cells:
        notes.append("nothing was timed: the budget is too small for a round, or every contender failed")
        compared = str(folder / "base"), str(folder / "head")
        nothing = Comparison(*compared, (), "", question.alpha, tuple(notes)) if question.against else None
        return TimedSuite(folder, [], nothing, notes, 0, turns.ROUNDS)
    timed = [read_timings(where) for where in folders.values()]
    comparison: Comparison | None = None
    if question.against:
        asked = CompareQuestion(margin=question.margin, alpha=question.alpha)
        comparison = compare_results(folder / "base", folder / "head", asked)
        comparison = replace(comparison, notes=tuple(dict.fromkeys([*comparison.notes, *notes])))
    rows = [row for one in timed for row in _rows(one)]
    return TimedSuite(folder, rows, comparison, notes, timed[0].launches, timed[0].rounds)


def _folders(folder: Path, sides: Sequence[Side]) -> dict[Side, Path]:
    """Return the folder of each side.

    Raises
    ------
    SpecError
        A folder has the timings of another job.
    """
    folders = {side: folder / side for side in sides}
    for other in {folder, folder / "base", folder / "head"}.difference(folders.values()):
        if has_timings(other):
            raise SpecError(
                f"{other} has the timings of another job; give this one a folder of its own with {option('out')}"
            )
    return folders


def _keeper(
    launcher: Launcher, folders: Mapping[Side, Path], suite: str, precision: float
) -> Callable[[turns.TurnsTaken], None]:
    """Return a function that writes the timings of each side after each look."""
    job = secrets.token_hex(16)

    def keep(taken: turns.TurnsTaken) -> None:
        failed = {str(cell): why for cell, why in launcher.failed.items()}
        for at, (side, where) in enumerate(folders.items()):
            facts = TimingFacts(
                job=job,
                side=side,
                suite=suite,
                version=launcher.sides[at].name,
                machine=cpu_class(),
                reference=str(launcher.facts[at]["reference"]),
                versions=dict(launcher.facts[at]["versions"]),
                declared=taken.declared,
                last=taken.last,
                precision=precision,
                seed=launcher.seed,
                failed=failed,
            )
            write_timings(where, _timings(launcher, taken.launches, at, facts))

    return keep


def _notes(launcher: Launcher) -> list[str]:
    """Return notes on cells that failed, and on cells of one version alone."""
    notes = [f"not timed: {cell}: {why}" for cell, why in sorted(launcher.failed.items())]
    for side, cells in sorted(launcher.missing.items()):
        notes += [f"{'gone' if side else 'new'}: {cell}" for cell in cells]
    return notes


def _timings(launcher: Launcher, launches: Sequence[turns.Launch], at: int, facts: TimingFacts) -> Timings:
    """Return the table of one side: all that was timed without failure in each launch."""
    seconds = np.stack([one.seconds[at] for one in launches], axis=1)  # (C + 1, L, R)
    kept = [(place, cell) for place, cell in enumerate(launcher.cells) if cell not in launcher.failed]
    return Timings(
        facts,
        {cell: seconds[place] for place, cell in kept},
        seconds[-1],
        {cell: np.array([one.first[at, place] for one in launches]) for place, cell in kept},
        {cell: np.array([one.memory[at, place] for one in launches]) for place, cell in kept},
    )


def _rows(timings: Timings) -> list[TimedRow]:
    share = turns.share_of_look(timings.facts.declared, timings.launches, last=timings.facts.last)
    found = []
    for cell, seconds in timings.seconds.items():
        of_launches = seconds.min(axis=-1)
        ratios = turns.launch_log_ratios(seconds, timings.reference)
        interval = mean_intervals(ratios[:, None], 1 - 0.05 * share)
        taken = timings.memory[cell]
        side = f"{timings.facts.side}, " if timings.facts.side else ""
        found.append(
            TimedRow(
                f"{side}{cell.experiment}, n = {cell.n:,}",
                cell.contender,
                float(np.median(of_launches)),
                *turns.median_interval(of_launches),
                float(np.exp(interval.mean[0])),
                float(np.exp(interval.lower[0])),
                float(np.exp(interval.upper[0])),
                float(np.median(timings.first[cell])),
                float(np.nanmedian(taken)) if np.isfinite(taken).any() else math.nan,
            )
        )
    return found


def timed_json(timed: TimedSuite) -> dict[str, Any]:
    """Return everything as values for JSON; unknown values are null."""
    return {
        "directory": str(timed.directory),
        "launches": timed.launches,
        "rounds": timed.rounds,
        "times": [without_nan(row._asdict()) for row in timed.rows],
        "notes": timed.notes,
        "exit_code": timed.exit_code,
    }
