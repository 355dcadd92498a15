"""What the end of a run has to say beside its results: who has none, who is missing from a figure, what is unused."""

from __future__ import annotations

from typing import Literal, NamedTuple

from rankbench.reports.analysis import Analysis
from rankbench.text import first_of, grouped_digits

__all__ = ["Notice", "notices"]

MOST_NAMED = 5
"""Contenders, and experiments, that one notice names."""


class Notice(NamedTuple):
    """A sentence about contenders that are not where a reader may look for them, unused data or a damaged file.

    Attributes
    ----------
    kind : {"skipped", "diverged", "failed", "left out", "damaged", "unused"}
    text : str
        Who, where and why, in one line, the reason as it was given.
    trace : str
        The traceback of what was raised, if something was and this machine ran it.
    """

    kind: Literal["skipped", "diverged", "failed", "left out", "damaged", "unused"]
    text: str
    trace: str = ""


def notices(analysis: Analysis) -> list[Notice]:
    """Return what was skipped, diverged, failed, was left out of a figure that should show it, or is unused.

    A contender that has no numbers is named once with its reason, not again for every figure; one
    that the suite's figure does not ask for is named under the figure alone.
    """
    unused = dict.fromkeys(text for section in analysis.sections for text in section.sampler.source.unused)
    return [*_without_numbers(analysis), *_not_drawn(analysis), *(Notice("unused", text) for text in unused)]


def _without_numbers(analysis: Analysis) -> list[Notice]:
    places: dict[tuple[Literal["skipped", "diverged", "failed"], str], list[tuple[str, str, str]]] = {}
    traces: dict[tuple[str, str], str] = {}
    for section in analysis.sections:
        for arm in (arm for race in section.sampler.races for arm in race.arms):
            for repetition, stored in arm.stored.items():
                if stored.status != "done":
                    kind = stored.status if stored.status in ("skipped", "diverged") else "failed"
                    place = arm.member.label, section.sampler.experiment.name, arm.cells[repetition]
                    places.setdefault((kind, stored.reason), []).append(place)
                    traces.setdefault((kind, stored.reason), stored.trace)
    found = []
    for (kind, reason), where in places.items():
        labels, experiments, cells = (list(dict.fromkeys(names)) for names in zip(*where, strict=True))
        number = f"{grouped_digits(len(cells))} cell{'s' if len(cells) != 1 else ''}"
        text = f"{kind}: {first_of(labels, MOST_NAMED)} ({number} of {first_of(experiments, MOST_NAMED)})"
        found.append(Notice(kind, f"{text}: {reason}" if reason else text, traces[kind, reason]))
    return found


def _not_drawn(analysis: Analysis) -> list[Notice]:
    found = []
    for cast in (cast for section in analysis.sections for cast in section.casts):
        by_reason: dict[str, list[str]] = {}
        for omission in cast.left_out:
            if omission.cause == "misfit":
                by_reason.setdefault(omission.why, []).append(omission.label)
        for why, labels in by_reason.items():
            found.append(Notice("left out", f"left out of {cast.file}: {first_of(labels, MOST_NAMED)}: {why}"))
    return found
