"""A comparison judges changes over a family, and writes Markdown and JSON."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import count_text, significant
from rankbench.interfaces.suite import in_gate, matches
from rankbench.stats.contrast_columns import VarianceSources
from rankbench.stats.multiple_tests import holm

ChangeVerdict: TypeAlias = Literal[
    "equal", "rounding", "worse", "better", "changed", "not significant", "described", "not tested"
]
"""``equal``: every number, to the byte. ``rounding``: no number differs by more than `ROUNDING`. ``changed``: both saw
the same judgments and differ, without significance. ``not significant``: of other judgments. ``described``: there is
nothing that an interval could rest on. ``not tested``: base has it, and head has nothing to compare it with."""

ROUNDING = 1e-9
"""Largest difference that is rounding, relative to the largest number of a row."""

LEAST_ROWS = 3
"""Contenders whose spread tells a change of one from a change of all."""

EVERY = "all contenders"
"""Stands for the contender in a row of a whole experiment."""

ChangeSubject: TypeAlias = Literal["quality", "speed", "memory", "ranking"]


@dataclass(frozen=True)
class Change:
    """A contender in one metric, before and after.

    Attributes
    ----------
    where : str
        As in ``figure-3, n = 800,000, ndcg, design``.
    what : str
        The contender.
    base, head : float
        Means, of memory in bytes, or ratios to the reference.
    change : float
        Of head against base, with the sign that has more be worse: a difference; of ratios, that of their logarithms.
    lower, upper : float
        95% interval of this change alone; nan where there is none.
    p : float
        Of the hypothesis that head is not worse by more than the margin where the change is above 0, else that it is
        not better by more: one-sided, adjusted over all tested changes (Holm); nan where it was not tested.
    verdict : ChangeVerdict
    rests : str
        Basis of the interval as text.
    detectable : float
        The change beyond the margin that such a comparison finds in 9 of 10; nan where nothing was tested.
    about : {"quality", "speed", "memory", "ranking"}
        Subject of the change: a metric, a time, bytes at the peak, or an item's score.
    matched : bool
        Both saw the same judgments, so that only code can make them differ.
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
    matched: bool = False

    @property
    def differs(self) -> bool:
        """True if the numbers differ on the same judgments by more than rounding."""
        return self.matched and self.verdict not in ("equal", "rounding")

    @property
    def detectable_percent(self) -> float:
        """The change detected with 90% power, in percent of base; nan if meaningless."""
        if self.about == "speed":
            return 100 * math.expm1(self.detectable)
        return 100 * self.detectable / abs(self.base) if self.about in ("quality", "memory") and self.base else math.nan


@dataclass(frozen=True)
class Comparison:
    """All changes between two results.

    Attributes
    ----------
    base, head : str
        Runs, versions or logs that were compared.
    changes : tuple of Change
    margin : str
        Size that a practical difference must exceed, as text.
    alpha : float
        Chance of calling anything worse, or anything better, where nothing changed.
    notes : tuple of str
        Remarks on anything new, failed in both, or of another version or data, a sentence each.
    differing : tuple of str
        Statuses, convergence records and curves that differ by more than rounding where no row does, a line each.
    declared : str
        Reason for an intended change of results; empty: none was declared.
    """

    base: str
    head: str
    changes: tuple[Change, ...]
    margin: str
    alpha: float
    notes: tuple[str, ...] = field(default=())
    differing: tuple[str, ...] = ()
    declared: str = ""

    def by_verdict(self, verdict: ChangeVerdict) -> list[Change]:
        """Return the changes with a verdict."""
        return [change for change in self.changes if change.verdict == verdict]

    @property
    def tested(self) -> int:
        """Number of changes that were tested, or whose judgments are the same."""
        return sum(one.matched or one.verdict not in ("described", "not tested") for one in self.changes)

    @property
    def exit_code(self) -> int:
        """0: nothing is worse; 1: something is worse, or changed undeclared; 3: something was not tested."""
        if self.by_verdict("worse") or self.undeclared:
            return 1
        return 3 if self.by_verdict("not tested") or not self.tested else 0

    @property
    def undeclared(self) -> bool:
        """True if results changed on the same judgments without a declaration."""
        return not self.declared and (bool(self.differing) or any(one.differs for one in self.changes))

    def finds(self) -> str:
        """Return a sentence on the detectable changes, memory aside; empty if nothing was tested."""
        rows = [one for one in self.changes if one.about != "memory"]  # its margin in bytes is no small share
        shares = [one.detectable_percent for one in rows if one.detectable_percent > 0]
        if not (sizes := [one.detectable for one in rows if one.detectable > 0]):
            return ""
        least, most = (
            f"{significant(one, 2)}{'%' if shares else ''}" for one in (min(shares or sizes), max(shares or sizes))
        )
        of = " of base" if shares else ""
        spread = "" if least == most else f" in its most sensitive row; its least sensitive row needs {most}"
        return f"The comparison detects a change of {least}{of} or more with probability 0.9{spread}."

    def sentence(self) -> str:
        """Return the result in a few sentences; changes on the same judgments come first."""
        gone = len(self.by_verdict("not tested"))
        said = [*self._of_same_judgments(), *self._of_others(), *self._moved_together()]
        if len(self.changes) == gone and not self.differing:
            said.append("Nothing could be compared.")
        if self.differing:
            said.append(f"{count_text(len(self.differing), 'other value')} changed by more than rounding.")
        said += self._of_untested()
        if self.declared:
            said.append(f"Declared: {self.declared.rstrip('.')}.")
        elif self.undeclared:
            said.append("Nobody declared a change of results.")
        return " ".join(said)

    def _of_untested(self) -> Iterator[str]:
        """Yield the parts of base that were not tested, or in part."""
        tested = {place_of_row(one) for one in self.changes if one.verdict != "not tested"}
        counted: dict[bool, dict[str, set[tuple[str, str]]]] = {False: {}, True: {}}
        for one in self.by_verdict("not tested"):
            counted[place_of_row(one) in tested].setdefault(_noun(one), set()).add(place_of_row(one))
        for partly, names in counted.items():
            if count := sum(map(len, names.values())):
                listed = " and ".join(count_text(len(one), noun) for noun, one in names.items())
                said = "tested in part" if partly else "not tested"
                yield f"Of base {listed} {'was' if count == 1 else 'were'} {said}."

    def _of_same_judgments(self) -> Iterator[str]:
        """Yield the number of rows that differ on the same judgments."""
        if not (matched := [one for one in self.changes if one.matched]):
            return
        found = Counter(one.verdict for one in matched)
        differ = sum(one.differs for one in matched)
        if not differ:
            rounded = f", {found['rounding']:,} of them but for rounding" if found["rounding"] else " to the byte"
            yield f"{'The row is' if len(matched) == 1 else f'All {len(matched):,} rows are'} equal{rounded}."
            return
        rounded = f"; {found['rounding']:,} more by rounding" if found["rounding"] else ""
        verb = "differs" if differ == 1 else "differ"
        yield (
            f"{differ:,} of {count_text(len(matched), 'row')} {verb} on the same judgments: {found['better']} better, "
            f"{found['worse']} worse, {found['changed']} too small to test ({self._level}{rounded})."
        )

    def _of_others(self) -> Iterator[str]:
        """Yield the verdicts on other rows: other judgments, times, logs."""
        others = [one for one in self.changes if not one.matched and one.verdict != "not tested"]
        if not others:
            return
        found = Counter(change.verdict for change in others)
        if not (tested := len(others) - found["described"]):
            yield "rankbench could not compute an interval: it describes differences, and tests none."
            return
        counts = f"{found['worse']} worse, {found['better']} better, {found['equal']} equal to the byte, "
        counts += f"{found['not significant']} without a significant change"
        more = f"; {found['described']:,} more are described" if found["described"] else ""
        yield f"Of {count_text(tested, 'row')} {counts} ({self._level}{more})."

    @property
    def _level(self) -> str:
        return f"margin {self.margin}; chance of a false alarm {self.alpha:g}"

    def _moved_together(self) -> Iterator[str]:
        """Yield a warning if most contenders of a table move the same way by more than they differ in base."""
        tables: dict[str, list[Change]] = defaultdict(list)
        for one in self.changes:
            if one.matched and one.about == "quality" and not math.isnan(one.change):
                tables[one.where].append(one)
        moved = []
        for where, rows in tables.items():
            spread = float(np.std([one.base for one in rows], ddof=1)) if len(rows) >= LEAST_ROWS else math.inf
            ways = Counter(np.sign(one.change) for one in rows if one.differs and abs(one.change) > spread)
            if 2 * max(ways.values(), default=0) > len(rows):
                moved.append(where)
        if moved:
            more = f" and {len(moved) - 1:,} more" if len(moved) > 1 else ""
            yield (
                f"Most contenders move the same way by more than they differ ({moved[0]}{more}): a metric or the data "
                "may have changed."
            )


def place_of_row(change: Change) -> tuple[str, str]:
    """Return the experiment and the contender of a row."""
    return change.where.split(", n = ")[0].partition(":")[0], change.what


def _noun(change: Change) -> str:
    """Return the noun for an untested row."""
    if change.what in ("", EVERY):
        return "experiment" if change.what else "gate pattern"
    return "contender"


def untested(where: str, what: str, about: ChangeSubject = "quality") -> Change:
    """Return the change for an entry of base that cannot be compared."""
    return Change(where, what, math.nan, math.nan, math.nan, "not tested", "nothing", about=about)


POWER = 0.9


class Margin(NamedTuple):
    """Size that a change must exceed to matter.

    Attributes
    ----------
    size : float
    relative : bool
        The size is a share of the base's mean.
    """

    size: float = 0.0
    relative: bool = False

    def at(self, base: float) -> float:
        """Return the margin of a cell whose mean was `base`."""
        return self.size * abs(base) if self.relative else self.size

    def __str__(self) -> str:
        return f"{100 * self.size:g}%" if self.relative else f"{self.size:g}"


@dataclass(frozen=True)
class ChangeEstimate:
    """A change with its standard error, before the family is known; `se` is nan if no variance can be estimated.

    Where `se` is 0 so many independent draws, or units, `agreed`: by chance with probability 2^(1 - n).
    """

    change: Change
    se: float = math.nan
    share: float = 1.0
    df: tuple[float, float] = (1.0, 1.0)
    margin: float = 0.0
    agreed: float = math.inf

    @property
    def tested(self) -> bool:
        """True if the change has an interval."""
        return self.change.verdict in ("described", "changed") and not math.isnan(self.se)

    def sources(self) -> VarianceSources:
        """Return the sources of its variance."""
        return VarianceSources(np.array([self.share]), *self.df)

    def with_interval(self, share: float = 1.0) -> ChangeEstimate:
        """Return the same with the 95% interval of the change, for itself alone; `share` of 5% is spent."""
        half = float(self.sources().quantile(0.05 * share)[0]) * self.se
        change = self.change
        return replace(self, change=replace(change, lower=change.change - half, upper=change.change + half))

    def least_found(self, level: float) -> float:
        """Return the change that a test of this level detects with 90% power."""
        from scipy.special import ndtri

        return self.margin + self.se * (float(self.sources().quantile(2 * level)[0]) + float(ndtri(POWER)))


class Family(NamedTuple):
    """Changes that are tested together, and the chance of an error among them.

    Attributes
    ----------
    margin : Margin
        Size that a change must exceed.
    gate : sequence of str
        Patterns of the changes to test; empty: all. Other changes are left out of the family.
    alpha : float
        Chance of calling anything worse, or anything better, where nothing changed.
    """

    margin: Margin
    gate: Sequence[str]
    alpha: float

    def has(self, item: str) -> bool:
        """Return whether the gate names an item."""
        return not self.gate or matches(item, self.gate)

    def has_cell(self, experiment: str, contender: str) -> bool:
        """Return whether the gate names a cell, by ``EXPERIMENT`` or ``EXPERIMENT/CONTENDER``."""
        return in_gate(self.gate, experiment, contender)

    def judged(self, found: Sequence[ChangeEstimate], share: float = 1.0) -> list[Change]:
        """Return the changes with their verdicts over the family; Holm's p-values are divided by the look's `share`."""
        sides = (np.minimum(1.0, holm(_p(found, sign)) / share) for sign in (1.0, -1.0))
        level = self.alpha * share / max(1, sum(one.tested for one in found))
        changes = []
        for one, p_worse, p_better in zip(found, *sides, strict=True):
            change = one.change
            if one.tested:
                small: ChangeVerdict = "changed" if change.matched else "not significant"
                verdict: ChangeVerdict = (
                    "worse" if p_worse <= self.alpha else "better" if p_better <= self.alpha else small
                )
                p = float(p_worse if change.change > 0 else p_better)
                change = replace(change, p=p, verdict=verdict, detectable=one.least_found(level))
            changes.append(change)
        return changes


def _p(found: Sequence[ChangeEstimate], sign: float) -> NDArray[np.float64]:
    """Return one-sided p-values of changes beyond the margin, to the worse (1) or the better (-1); nan: not tested."""
    p = np.full(len(found), np.nan)
    same: dict[tuple[float, float], list[int]] = defaultdict(list)
    for i, one in enumerate(found):
        beyond = sign * one.change.change - one.margin
        if one.tested and one.se == 0:
            p[i] = min(2.0 ** (1 - one.agreed), 1.0) if beyond > 0 else 1.0
        elif one.tested:
            same[one.df].append(i)
    for df, places in same.items():
        t = np.array([(sign * found[i].change.change - found[i].margin) / found[i].se for i in places])
        two_sided = VarianceSources(np.array([found[i].share for i in places]), *df).p(t)
        p[places] = np.where(t > 0, two_sided / 2, 1 - two_sided / 2)
    return p
