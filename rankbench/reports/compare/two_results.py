"""From two paths to a comparison, by what they hold."""

from __future__ import annotations

from pathlib import Path

from rankbench.errors import InputError, SpecError, StoreError
from rankbench.reports.compare.change_estimates import Margin
from rankbench.reports.compare.comparison import Comparison
from rankbench.reports.compare.quality_changes import quality_changes
from rankbench.reports.compare.ranking_changes import is_arena_log, ranking_changes
from rankbench.reports.compare.speed_changes import is_benchmark, speed_changes
from rankbench.reports.compare.summary_changes import summary_changes
from rankbench.store.file import FILE
from rankbench.store.open import open_results
from rankbench.store.published import rows_folder

__all__ = ["ALPHA", "SLOWER_BY", "compare_results"]

ALPHA = 0.01
"""Chance of a false alarm of a whole comparison."""

SLOWER_BY = 0.05
"""Share by which a ratio of times must grow to matter, unless the caller says otherwise."""

SUMMARY = "leaderboard.csv"


def compare_results(
    base: Path,
    head: Path,
    *,
    margin: Margin | None = None,
    gate: tuple[str, ...] = (),
    reference: str = "",
    method: str = "",
    columns: str = "",
    alpha: float = ALPHA,
) -> Comparison:
    """Compare two results.

    Parameters
    ----------
    base, head : Path
        Each the folder of a run, a published one, a ``leaderboard.csv`` (or a folder that has nothing else), JSON
        of pytest-benchmark, or a log of votes, whose rankings are compared.
    margin : Margin, optional
        What a practical difference must exceed; by default 0 for qualities and 5% for speeds.
    gate : tuple of str
        What is tested, see `rankbench.reports.compare.quality_changes.quality_changes`; empty: everything.
    reference : str
        The benchmark that the others are divided by.
    method, columns : str
        Of logs: who ranks them, and what their columns mean; see
        `rankbench.reports.compare.ranking_changes.ranking_changes`.
    alpha : float, in (0, .5)

    Raises
    ------
    InputError
        A path that is none of these, two of different kinds, or one that is damaged.
    SpecError
        A margin or a level that is none.
    """
    if not 0 < alpha < 0.5:
        raise SpecError(f"the chance of a false alarm must lie between 0 and .5, not {alpha:g}")
    if margin is not None and not 0 <= margin.size < float("inf"):
        raise SpecError(f"a margin is a number, 0 or more, not {margin.size:g}")
    kinds = {"a log" if method or columns else _kind(path): path for path in (base, head)}
    if len(kinds) > 1:
        (one, first), (other, second) = kinds.items()
        raise InputError(f"{first} is {one} and {second} is {other}: these cannot be compared")
    kind = next(iter(kinds))
    if kind == "a benchmark":
        limit = margin or Margin(SLOWER_BY, relative=True)
        changes, notes = speed_changes(base, head, reference, limit.size, alpha)
        return Comparison(str(base), str(head), tuple(changes), str(limit), alpha, tuple(notes))
    limit = margin or Margin()
    if kind == "a log":
        changes, notes = ranking_changes(base, head, method, columns, limit, gate, alpha)
    elif kind == "a summary":
        changes, notes = summary_changes(_summary(base), _summary(head))
    else:
        try:
            with open_results(base) as before, open_results(head) as after:
                changes, notes = quality_changes(before, after, limit, gate, alpha)
        except StoreError as error:
            raise InputError(str(error)) from error
    if gate and kind in ("results", "a log") and not changes:
        form = "an item" if kind == "a log" else "EXPERIMENT or EXPERIMENT/CONTENDER"
        raise SpecError(f"nothing that both have fits the gate {' '.join(gate)}; write {form}")
    return Comparison(str(base), str(head), tuple(changes), str(limit), alpha, tuple(notes))


def _kind(path: Path) -> str:
    if is_benchmark(path):
        return "a benchmark"
    if path.is_dir() and ((path / FILE).exists() or rows_folder(path) is not None):
        return "results"
    if (path / SUMMARY).is_file():
        return "a summary"
    if is_arena_log(path):
        return "a log"
    if path.suffix == ".csv":
        return "a summary"
    raise InputError(
        f"{path}: it is no folder of a run, no published one, no {SUMMARY}, no JSON of pytest-benchmark and no log of "
        "votes"
    )


def _summary(path: Path) -> Path:
    return path / SUMMARY if path.is_dir() else path
