"""What a comparison of two results says, cell by cell, and what it could not compare."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from rankbench.text import significant

__all__ = ["COARSE", "Change", "ChangeSubject", "ChangeVerdict", "Comparison", "untested"]

ChangeVerdict: TypeAlias = Literal["equal", "worse", "better", "not shown", "described", "not tested"]
"""``equal``: every number, to the byte. ``described``: there is nothing that an interval could rest on. ``not tested``:
base has it, and head has nothing to compare it with."""

COARSE = 0.1
"""Share of base: a comparison that finds no smaller change warns of it."""

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

    @property
    def detectable_percent(self) -> float:
        """The change that such a comparison finds in 9 of 10, in percent of base; nan where that means nothing."""
        if self.about == "speed":
            return 100 * math.expm1(self.detectable)
        return 100 * self.detectable / abs(self.base) if self.about == "quality" and self.base else math.nan


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
        What is new, failed in both, or changed in version or data, a sentence each.
    differing : tuple of str or None
        What differs by more than rounding, a line each; None where it was not asked (``--unchanged``).
    """

    base: str
    head: str
    changes: tuple[Change, ...]
    margin: str
    alpha: float
    notes: tuple[str, ...] = field(default=())
    differing: tuple[str, ...] | None = None

    def by_verdict(self, verdict: ChangeVerdict) -> list[Change]:
        """Return the changes with a verdict."""
        return [change for change in self.changes if change.verdict == verdict]

    @property
    def tested(self) -> int:
        """Number of cells that were tested, or are equal to the byte."""
        return sum(change.verdict not in ("described", "not tested") for change in self.changes)

    @property
    def exit_code(self) -> int:
        """0: the same or better; 1: something is worse, or differs where nothing may; 3: something was not tested."""
        if self.by_verdict("worse") or self.differing:
            return 1
        return 3 if self.by_verdict("not tested") or not (self.tested or self.differing is not None) else 0

    def finds(self) -> str:
        """Return which changes such a comparison finds, in a sentence; empty where nothing was tested."""
        shares = [one.detectable_percent for one in self.changes if one.detectable_percent > 0]
        sizes = [one.detectable for one in self.changes if one.detectable > 0]
        if not sizes:
            return ""
        least, most = (
            f"{significant(one, 2)}{'%' if shares else ''}" for one in (min(shares or sizes), max(shares or sizes))
        )
        size = f"{least} or more" if least == most else f"{least} to {most} or more, by the cell,"
        return f"Such a comparison finds a change of {size} in 9 of 10{'; % is of base' if shares else ''}."

    @property
    def coarse(self) -> bool:
        """Whether it may be green because it could hardly find anything."""
        unknown = self.by_verdict("not shown")
        return self.exit_code == 3 or any(one.detectable_percent > 100 * COARSE for one in unknown)

    def sentence(self) -> str:
        """Return what came of it, in a sentence."""
        gone = len(self.by_verdict("not tested"))
        missing = f" Of base {gone:,} {'row was' if gone == 1 else 'rows were'} not tested." if gone else ""
        if self.differing is not None:
            what = f"{len(self.differing):,} differ" if self.differing else "nothing differs"
            missing += f" Of what may not change, {what} by more than rounding."
        if len(self.changes) == gone:
            return f"Nothing could be compared.{missing}"
        if not self.tested:
            return f"No interval could rest on anything: differences are described, none is called real.{missing}"
        worse, better, equal = (len(self.by_verdict(verdict)) for verdict in ("worse", "better", "equal"))
        unknown = self.tested - worse - better - equal
        parts = [
            f"{worse} worse",
            f"{better} better",
            f"{equal} equal to the byte",
            f"{unknown} without a shown change",
        ]
        described = len(self.by_verdict("described"))
        more = f"; {described:,} more are described" if described else ""
        chance = f"chance of a false alarm {self.alpha:g}"
        return f"Of {self.tested} cells {', '.join(parts)} (margin {self.margin}; {chance}{more}).{missing}"


def untested(where: str, what: str, about: ChangeSubject = "quality") -> Change:
    """Return what base has and nothing can be compared with."""
    return Change(where, what, math.nan, math.nan, math.nan, "not tested", "nothing", about=about)
