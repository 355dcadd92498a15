"""A comparison judges changes over a family, and writes Markdown and JSON."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import count_text, markdown, significant, without_nan
from rankbench.interfaces.suite import matches
from rankbench.reports.document import Bullets, Column, Grid, Heading, Node, Paragraph, markdown_of
from rankbench.reports.same_cells import in_gate
from rankbench.stats.contrast_columns import VarianceSources
from rankbench.stats.multiple_tests import holm

ChangeVerdict: TypeAlias = Literal["equal", "worse", "better", "not significant", "described", "not tested"]
"""``equal``: every number, to the byte. ``described``: there is nothing that an interval could rest on. ``not tested``:
base has it, and head has nothing to compare it with."""

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
        95% interval of this change alone; nan where there is none.
    p : float
        Of the hypothesis that head is not worse by more than the margin where the change is above 0, else that it is
        not better by more: one-sided, adjusted over all tested changes (Holm); nan where it was not tested.
    verdict : ChangeVerdict
    rests : str
        Basis of the interval, in words.
    detectable : float
        The change beyond the margin that such a comparison finds in 9 of 10; nan where nothing was tested.
    about : {"quality", "speed", "ranking"}
        Subject of the change: a metric, a time, or an item's score.
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
        Runs, versions or logs that were compared.
    changes : tuple of Change
    margin : str
        Size that a practical difference must exceed, in words.
    alpha : float
        Chance of calling anything worse, or anything better, where nothing changed.
    notes : tuple of str
        Remarks on anything new, failed in both, or of another version or data, a sentence each.
    differing : tuple of str or None
        Differences larger than rounding, a line each; None where it was not asked (``--unchanged``).
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
        """Number of changes that were tested, or are equal to the byte."""
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
        if not (sizes := [one.detectable for one in self.changes if one.detectable > 0]):
            return ""
        least, most = (
            f"{significant(one, 2)}{'%' if shares else ''}" for one in (min(shares or sizes), max(shares or sizes))
        )
        of = " of base" if shares else ""
        rows = "" if least == most else f" in its most sensitive row; its least sensitive row needs {most}"
        return f"The comparison detects a change of {least}{of} or more with probability 0.9{rows}."

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
            return f"rankbench could not compute an interval: it describes differences, and tests none.{missing}"
        found = Counter(change.verdict for change in self.changes)
        counts = f"{found['worse']} worse, {found['better']} better, {found['equal']} equal to the byte, "
        counts += f"{found['not significant']} without a significant change"
        described = len(self.by_verdict("described"))
        more = f"; {described:,} more are described" if described else ""
        chance = f"chance of a false alarm {self.alpha:g}"
        return f"Of {count_text(self.tested, 'row')} {counts} (margin {self.margin}; {chance}{more}).{missing}"


def untested(where: str, what: str, about: ChangeSubject = "quality") -> Change:
    """Return what base has and nothing can be compared with."""
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
    """A change with its standard error, before the family is known; `se` is nan where nothing shows a spread.

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
        return self.change.verdict == "described" and not math.isnan(self.se)

    def sources(self) -> VarianceSources:
        """Return where its variance comes from."""
        return VarianceSources(np.array([self.share]), *self.df)

    def with_interval(self, share: float = 1.0) -> ChangeEstimate:
        """Return the same with the 95% interval of the change, for itself alone; `share` of 5% is spent."""
        half = float(self.sources().quantile(0.05 * share)[0]) * self.se
        change = self.change
        return replace(self, change=replace(change, lower=change.change - half, upper=change.change + half))

    def least_found(self, level: float) -> float:
        """Return the change that a test of this level finds in 9 of 10."""
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

    def has_benchmark(self, name: str) -> bool:
        """Return whether the gate names a benchmark: in full, or by what stands after the name of its file."""
        return self.has(name) or matches(name, [f"*::{pattern}" for pattern in self.gate])

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
                verdict: ChangeVerdict = (
                    "worse" if p_worse <= self.alpha else "better" if p_better <= self.alpha else "not significant"
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


_COLUMNS = ("verdict", "where", "contender", "base", "head", "change", "95% interval", "p")

_PLUS: dict[ChangeSubject, tuple[str, str]] = {
    "quality": ("worse", "a positive difference of a metric is worse"),
    "speed": ("slower", "a positive share of a base time is slower"),
    "ranking": ("fell", "a positive change of an item is a fall of its score"),
}
"""Meaning of a change above 0: in the head of its column, and in a clause."""

MOST = 50
"""Rows that a table shows; all are in the JSON."""

_ORDER = ("worse", "not tested", "better", "not significant", "described", "equal")


def shown_first(comparison: Comparison) -> list[Change]:
    """Return the changes, the worst first, those that are equal last."""
    return sorted(comparison.changes, key=lambda one: (_ORDER.index(one.verdict), one.p if one.p == one.p else 2.0))


def cells_of(change: Change) -> tuple[str, ...]:
    """Return a row of a table."""
    said = _share if change.about == "speed" else "{:+.4g}".format
    interval = "" if math.isnan(change.lower) else f"[{said(change.lower)}, {said(change.upper)}]"
    p = "" if math.isnan(change.p) else f"{change.p:.2g}"
    numbers = ["" if math.isnan(one) else f"{one:.6g}" for one in (change.base, change.head)]
    numbers.append("" if math.isnan(change.change) else said(change.change))
    return change.verdict, change.where, change.what, *numbers, interval, p


def _share(log_ratio: float) -> str:
    """Return a logarithm of a ratio as the share by which the ratio is above 1."""
    return f"{100 * math.expm1(log_ratio):+.3g}%"


def columns_of(changes: Sequence[Change]) -> tuple[str, ...]:
    """Return the heads of a table's columns; that of changes says which way they go."""
    which = " or ".join(_PLUS[about][0] for about in _PLUS if any(one.about == about for one in changes))
    return tuple(f"change (+ {which})" if name == "change" else name for name in _COLUMNS)


def how_to_read(changes: Sequence[Change]) -> str:
    """Return which way changes go, and what intervals and p are of."""
    meaning = "; ".join(clause for about, (_, clause) in _PLUS.items() if any(one.about == about for one in changes))
    return f"{meaning[0].upper()}{meaning[1:]}. The interval is for its row alone; p is adjusted for all rows."


def comparison_markdown(comparison: Comparison) -> str:
    """Return a page: what came of it, then a table, then what was not compared."""
    title = f"{markdown(comparison.head)} against {markdown(comparison.base)}"
    page: list[Node] = [Heading(1, title), Paragraph(f"**{comparison.sentence()}**")]
    if comparison.finds():
        page.append(Paragraph(comparison.finds()))
    if comparison.differing:
        lines = tuple(markdown(one) for one in comparison.differing[:MOST])
        page += [Paragraph("Values that may not change, and differ by more than rounding:"), Bullets(lines)]
        if len(comparison.differing) > MOST:
            page.append(Paragraph(f"The JSON has {len(comparison.differing) - MOST:,} more."))
    if shown := [one for one in shown_first(comparison) if one.verdict != "equal"]:
        cells = [[markdown(cell) for cell in cells_of(one)] for one in shown[:MOST]]
        page += [Paragraph(how_to_read(shown)), Grid.from_rows([Column(name) for name in columns_of(shown)], cells)]
        if len(shown) > MOST:
            page.append(Paragraph(f"The JSON has {count_text(len(shown) - MOST, 'more row')}."))
    if comparison.notes:
        notes = Bullets(tuple(markdown(note) for note in comparison.notes))
        page += [Paragraph("Other differences:"), notes]
    return markdown_of(page) + "\n"


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Return the whole comparison for JSON; unknown values are null."""
    percent = "detectable_percent"
    changes = [without_nan(asdict(one) | {percent: one.detectable_percent}) for one in shown_first(comparison)]
    return {
        "base": comparison.base,
        "head": comparison.head,
        "sentence": comparison.sentence(),
        "finds": comparison.finds(),
        **{key: getattr(comparison, key) for key in ("exit_code", "margin", "alpha")},
        "changes": changes,
        "notes": list(comparison.notes),
        "differing": comparison.differing,
    }
