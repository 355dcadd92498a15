"""Two results are compared by their kinds: losses, timings, or both."""

from __future__ import annotations

from pathlib import Path

from rankbench.errors import InputError, SpecError, StoreError
from rankbench.interfaces.suite import in_gate
from rankbench.reports.same_cells import other_differences
from rankbench.store.published import holds_results, open_results
from rankbench.tracking.comparison import Change, Comparison, Family, Margin, place_of_row, untested
from rankbench.tracking.quality_changes import quality_changes
from rankbench.tracking.question import CompareQuestion
from rankbench.tracking.ranking_changes import is_arena_log, ranking_changes
from rankbench.tracking.speed_changes import LARGER_BY, LARGER_BYTES, timing_changes
from rankbench.tracking.timings import has_timings, read_timings

SLOWER_BY = 0.05
"""Share by which a ratio of times must grow to matter, unless the caller says otherwise."""

SLOWER_IN_TURNS = 0.01
"""The same of times that were taken in turns in one job."""


def compare_results(base: Path, head: Path, question: CompareQuestion | None = None) -> Comparison:
    """Compare two results.

    Parameters
    ----------
    base, head : Path
        Each the folder of a run, a published one, one with timings, or a log of votes, whose rankings are compared.
    question : CompareQuestion

    Raises
    ------
    InputError
        A path that is none of these, two of different kinds, or one that is damaged.
    SpecError
        A gate that fits nothing.
    """
    question = question or CompareQuestion()
    gate, alpha = question.gate, question.alpha
    kinds = {"a log" if question.method or question.columns else _kind(path): path for path in (base, head)}
    if len(kinds) > 1:
        (one, first), (other, second) = kinds.items()
        raise InputError(f"{first} is {one} and {second} is {other}: rankbench cannot compare these")
    kind = next(iter(kinds))
    if kind == "a log":
        limit, differing = question.margin or Margin(), list[str]()
        family, limits = Family(limit, gate, alpha), str(limit)
        changes, notes = ranking_changes(base, head, question.method, question.columns, family)
    else:
        changes, notes, limits, differing = _of_folders(base, head, question)
    if gate and not changes:
        form = "an item" if kind == "a log" else "EXPERIMENT or EXPERIMENT/CONTENDER"
        raise SpecError(f"nothing that both have fits the gate {' '.join(gate)}; write {form}")
    places = [place_of_row(one) for one in changes]
    for pattern in gate if kind == "results" else ():
        if not any(in_gate((pattern,), *place) for place in places):
            changes.append(untested(f"gate {pattern}: nothing that both have fits it", ""))
    said = tuple(notes), tuple(differing), question.declared
    return Comparison(str(base), str(head), tuple(changes), limits, alpha, *said)


def _of_folders(base: Path, head: Path, question: CompareQuestion) -> tuple[list[Change], list[str], str, list[str]]:
    """Return the changes in quality, speed and memory, notes, the margins as text, and other differences.

    Where there are both, quality gets half of the level.
    """
    held = [(holds_results(path), has_timings(path)) for path in (base, head)]
    qualities, speeds = (all(side) for side in zip(*held, strict=True))
    if not qualities and not speeds:
        raise InputError(f"one of {base} and {head} has results, the other timings: rankbench cannot compare these")
    margin, gate = question.margin, question.gate
    level = question.alpha / 2 if qualities and speeds else question.alpha
    changes, notes, limits, differing = list[Change](), list[str](), list[str](), list[str]()
    try:
        if qualities:
            limit = margin or Margin()
            with open_results(base) as before, open_results(head) as after:
                changes, notes = quality_changes(before, after, Family(limit, gate, level))
                told = {place_of_row(one) for one in changes if one.differs}
                equal = {place_of_row(one) for one in changes if one.matched} - told
                differing = other_differences(before, after, lambda *place: place in equal)
            limits.append(f"{limit} for quality" if speeds else str(limit))
        if speeds:
            once, again = read_timings(base), read_timings(head)
            default = SLOWER_IN_TURNS if once.facts.job == again.facts.job else SLOWER_BY
            limit = margin or Margin(default, relative=True)
            found, more = timing_changes(once, again, Family(limit, gate, level))
            changes, notes = changes + found, notes + more
            limits.append(f"{limit} for speed, {100 * LARGER_BY:g}% and {LARGER_BYTES >> 20} MiB for memory")
    except StoreError as error:
        raise InputError(str(error)) from error
    if any(timed for _, timed in held) and not speeds:
        notes.append("only one of them has timings: speed and memory were not compared")
    return changes, notes, ", ".join(limits), differing


def _kind(path: Path) -> str:
    if path.is_dir() and (holds_results(path) or has_timings(path)):
        return "results"
    if is_arena_log(path):
        return "a log"
    raise InputError(f"{path}: it is no folder of a run, of published results or of timings, and no log")
