"""What a comparison of two results says, cell by cell, and what it could not compare."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["Change", "ChangeSubject", "ChangeVerdict", "Comparison"]

ChangeVerdict: TypeAlias = Literal["equal", "worse", "better", "not shown", "described"]
"""``equal``: every number, to the byte. ``described``: there is nothing that an interval could rest on."""

ChangeSubject: TypeAlias = Literal["quality", "speed", "ranking"]


@dataclass(frozen=True)
class Change:
    """A contender in one metric, before and after.

    Attributes
    ----------
    where : str
        As in ``figure-3, n = 800,000, ndcg, design``.
    what : str
        The contender, or the benchmark.
    base, head : float
        Means, or ratios to the reference.
    change : float
        Of head against base, with the sign that has more be worse: a difference; of ratios, that of their logarithms.
    lower, upper : float
        95% interval of the change, for this cell alone; nan where there is none.
    p : float
        Of the hypothesis that head is not worse by more than the margin where the change is above 0, else that it is
        not better by more: one-sided, adjusted over all gated cells (Holm); nan where it was not tested.
    verdict : ChangeVerdict
    rests : str
        What the interval rests on, in words.
    detectable : float
        The change beyond the margin that such a comparison finds in 9 of 10; nan where nothing was tested.
    about : {"quality", "speed", "ranking"}
        Whether it is of a metric, of a time, or of an item's score.
    """

    where: str
    what: str
    base: float
    head: float
    change: float
    verdict: ChangeVerdict
    rests: str
    lower: float = math.nan
    upper: float = math.nan
    p: float = math.nan
    detectable: float = math.nan
    about: ChangeSubject = "quality"


@dataclass(frozen=True)
class Comparison:
    """All changes between two results.

    Attributes
    ----------
    base, head : str
        What was compared.
    changes : tuple of Change
    margin : str
        What a practical difference must exceed, in words.
    alpha : float
        Chance of calling anything worse, or anything better, where nothing changed.
    notes : tuple of str
        What is new, gone, failed, skipped or changed in version or data, a sentence each.
    """

    base: str
    head: str
    changes: tuple[Change, ...]
    margin: str
    alpha: float
    notes: tuple[str, ...] = field(default=())

    def by_verdict(self, verdict: ChangeVerdict) -> list[Change]:
        """Return the changes with a verdict."""
        return [change for change in self.changes if change.verdict == verdict]

    @property
    def tested(self) -> int:
        """Number of cells that were tested, or are equal to the byte."""
        return sum(change.verdict != "described" for change in self.changes)

    @property
    def exit_code(self) -> int:
        """0: the same or better; 1: something is worse; 3: nothing could be compared."""
        if self.by_verdict("worse"):
            return 1
        return 0 if self.tested else 3

    def sentence(self) -> str:
        """Return what came of it, in a sentence."""
        if not self.changes:
            return "Nothing could be compared."
        if not self.tested:
            return "There is nothing that an interval could rest on: differences are described, none is called real."
        worse, better, equal = (len(self.by_verdict(verdict)) for verdict in ("worse", "better", "equal"))
        unknown = self.tested - worse - better - equal
        parts = [
            f"{worse} worse",
            f"{better} better",
            f"{equal} equal to the byte",
            f"{unknown} without a shown change",
        ]
        return (
            f"Of {self.tested} cells {', '.join(parts)} (margin {self.margin}; chance of a false alarm {self.alpha:g})."
        )
