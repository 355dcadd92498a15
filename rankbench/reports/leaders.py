"""Leaders are the contenders of an experiment that may be the best."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import NamedTuple

from rankbench.core.text import grouped_digits, markdown, mean_text
from rankbench.interfaces.cell import Split
from rankbench.reports.analysis import Analysis, Section
from rankbench.reports.experiment_data import MatchedRuns
from rankbench.reports.standings import Standing, best_first
from rankbench.stats.contrasts import FEWEST, too_few_to_rank

MOST_NAMED = 4
"""Contenders that a sentence names; of more it says how many."""


_ROUNDED = 1e-12
"""Difference of means up to which they are level, as places are."""


class Leaders(NamedTuple):
    """Contenders that may be the best of a table: the headline at the largest n that has results, on one split.

    Attributes
    ----------
    n : int
    split : Split
    split_title : str
        In a few words.
    rows : tuple of Standing
        Contenders with a place, the best mean first; places are among these rows. Oracles and contenders that equal
        another one are not among them.
    only_oracles : bool
        Every contender knows the truth, which others learn.
    one_draw : bool
        There is one repetition of several that could be drawn: ranks hold for contenders as trained on it.
    size : bool
        The metric is a size (`Metric.quality`): nothing is better.
    repetitions : int
    unranked : frozenset of str
        Labels of contenders, oracles among them, that so few repetitions cannot rank: see `too_few_to_rank`.
    """

    n: int
    split: Split
    split_title: str
    rows: tuple[Standing, ...]
    only_oracles: bool = False
    one_draw: bool = False
    size: bool = False
    repetitions: int = FEWEST
    unranked: frozenset[str] = frozenset()

    @property
    def too_few(self) -> str:
        """The contenders with too few repetitions for ranks, as text without a period; empty if repetitions suffice."""
        some = [row.contender for row in self.rows if row.contender in self.unranked]
        if not self.unranked or (self.rows and not some):
            return ""
        several = f"{self.repetitions} repetitions are" if self.repetitions > 1 else "1 repetition is"
        whom = _listed(some) if len(some) < len(self.rows) else "the contenders"
        return f"{several} too few to rank {whom}; at least {FEWEST} are needed"

    @property
    def first(self) -> tuple[Standing, ...]:
        """Contenders that may be the best: the best one is among them at 95%."""
        return tuple(row for row in self.rows if row.rank_low == 1)

    @property
    def level(self) -> tuple[Standing, ...]:
        """Contenders with the best mean, but for rounding."""
        return tuple(row for row in self.rows if abs(row.mean - self.rows[0].mean) <= _ROUNDED)

    @property
    def tied(self) -> bool:
        """True if several contenders may be the best, and all of them have one mean."""
        return len(self.first) > 1 and {*self.first} <= {*self.level}

    @property
    def sure(self) -> bool:
        """True if one contender alone may be the best, for other repetitions too."""
        return self.ahead and not self.one_draw

    @property
    def ahead(self) -> bool:
        """True if one contender alone may be the best, as it was trained here."""
        return len(self.rows) > 1 and len(self.first) == 1


def leaders_of(section: Section) -> list[Leaders]:
    """Return the leaders of an experiment, held-out units first; none if no contender has a number."""
    data = section.data
    by_n = [matched for matched in data.by_n if matched.compared and matched.repetitions]
    if not by_n or not section.rows:
        return []
    return [_leaders(section, by_n[-1], split) for split in reversed(data.source.shown_splits())]


def _leaders(section: Section, matched: MatchedRuns, split: Split) -> Leaders:
    data, source = section.data, section.data.source
    metric = data.metrics[0]
    by_label = {
        row.contender: row for row in section.rows if (row.n, row.metric, row.split) == (matched.n, metric, split)
    }
    known = [runs for runs in matched.compared if by_label[runs.label].oracle]
    contenders = [runs for runs in matched.compared if runs not in known and matched.same_as(runs) is None]
    rows = best_first([by_label[runs.label] for runs in contenders])
    ranked = tuple(row for row in rows if row.rank_low is not None)
    unranked = frozenset[str]()
    if not source.fixed(split):
        few = too_few_to_rank(data.sample(matched.compared, metric, split, matched.repetitions))
        unranked = frozenset(compress((runs.label for runs in matched.compared), few))
    whole = source.pool is not None and matched.n >= source.pool
    one_draw = len(matched.repetitions) == 1 and bool(source.counts) and not whole
    return Leaders(
        matched.n, split, source.short(split), ranked, bool(known) and not contenders, one_draw,
        not source.metric(metric).quality, len(matched.repetitions), unranked,
    )  # fmt: skip


def said_of_leaders(found: Leaders) -> str:
    """Return which contenders may be the best, in Markdown, without a period."""
    rows, first = found.rows, found.first
    if not rows:
        if found.size:
            return "no contender is called the best: the metric is a size, neither good nor bad"
        if found.only_oracles:
            return "no contender is called the best: every contender is an oracle"
        return found.too_few or "no contender is ranked: there are no intervals"
    best, others, rest = f"**{markdown(rows[0].contender)}**", len(rows) - 1, len(rows) - len(first)
    if not others:
        return f"{best} is alone"
    if found.ahead:
        draw = "" if found.sure else " as trained in the one repetition; others may differ"
        return f"{best} is the best of {grouped_digits(len(rows))} contenders with 95% confidence{draw}"
    few = f"; {found.too_few}" if found.too_few else ""
    leading = f"{best} has the best mean"
    if (count := len(found.level)) > 1:
        every = f"{'both' if count == 2 else f'all {grouped_digits(count)}'} contenders have the same mean"
        leading = f"{grouped_digits(count)} of {grouped_digits(len(rows))} contenders have the same best mean"
        leading = every if count == len(rows) else f"{leading} ({_listed([row.contender for row in found.level])})"
    if not rest and few:
        return f"{leading}{few}"
    if not rest:
        none = "the two contenders do not" if others == 1 else f"no two of the {grouped_digits(len(rows))} contenders"
        return f"{leading}; {none} differ significantly"
    trained = " as trained in the one repetition" if found.one_draw else ""
    other = f"{grouped_digits(rest)} other{'s' if rest > 1 else ''} {are(rest)}"
    near = f"{leading}; {len(first)} of {grouped_digits(len(rows))} contenders may be the best"
    if found.tied:
        near = f"{len(first)} of {grouped_digits(len(rows))} contenders have the same best mean"
    listed = _listed([row.contender for row in first])
    return f"{near} ({listed}); {other} significantly worse than the best{trained}{few}"


def _listed(labels: Sequence[str]) -> str:
    names = [markdown(label) for label in labels]
    kept = names if len(names) <= MOST_NAMED else names[: MOST_NAMED - 1]
    listed = ("; " if any("," in name for name in kept) else ", ").join(kept)
    return listed + (f" and {len(names) - len(kept)} more" if len(kept) < len(names) else "")


def are(count: int) -> str:
    """Return *is* or *are*."""
    return "is" if count == 1 else "are"


def best_and_verdict(leaders: Leaders) -> tuple[str, str]:
    """Return the contender of the best mean with it, and whether it is the best, in Markdown."""
    if leaders.size:
        return "—", "none: the metric is a size"
    if not leaders.rows:
        unknown = f"unknown: {leaders.too_few or 'no intervals'}"
        return "—", "none: every contender is an oracle" if leaders.only_oracles else unknown
    row, count = leaders.rows[0], grouped_digits(len(leaders.rows))
    name = markdown(row.contender)
    mean = f"{f'**{name}**' if leaders.sure else name} {mean_text(row.mean)}"
    if leaders.sure:
        return mean, f"the best of {count}"
    if leaders.ahead:
        return mean, f"the best of {count} as trained in the one repetition; not known for others"
    if leaders.too_few and len(leaders.rows) > 1:
        return mean, f"unknown: {leaders.too_few}"
    if leaders.tied:
        return mean, f"not significant: {len(leaders.first)} of {count} have the same mean"
    near = f"not significant: {len(leaders.first)} of {count} may be the best"
    return mean, near if len(leaders.rows) > 1 else "alone"


def headline_section(analysis: Analysis) -> Section | None:
    """Return the experiment that represents a suite.

    It has a recommendation, or else contenders that are no oracles, then the most claims; of equals it is the first
    with a figure.
    """

    def weight(section: Section) -> tuple[bool, bool, int, bool]:
        experiment = section.data.experiment
        competes = any(not row.oracle for row in section.rows)
        return experiment.recommend, competes, len(experiment.claims), bool(experiment.figures)

    return max((section for section in analysis.sections if section.rows), key=weight, default=None)
