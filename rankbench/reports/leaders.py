"""Who is best in a table, in one sentence that says no more than the rank ranges do."""

from __future__ import annotations

from typing import NamedTuple

from rankbench.kinds.cell import Split
from rankbench.kinds.figure import matches
from rankbench.reports.analysis import Section
from rankbench.reports.sample import Arm, Race
from rankbench.reports.standings import Standing, best_first
from rankbench.stats.ranks import contender_rank_ranges
from rankbench.text import grouped_digits, markdown

__all__ = ["Leaders", "Runner", "leaders_of", "said_of_leaders"]

MOST_NAMED = 4
"""Contenders that a sentence names; of more it says how many."""


class Runner(NamedTuple):
    """A contender, and the places that it may hold among those that are measured."""

    row: Standing
    low: int
    high: int


class Leaders(NamedTuple):
    """Who may be the best of a table: the headline at the largest n that has results, on one split.

    Attributes
    ----------
    n : int
    split : Split
    split_title : str
        In a few words.
    runners : tuple of Runner
        Who is measured and has a place, the best mean first; contenders that know what the others have to
        learn, and those that equal another one, are not among them.
    oracles : tuple of str
        Labels of those that know.
    unranked : str
        Why nobody has a place; empty where places are known.
    one_draw : bool
        There is one repetition, of several that could be drawn: what is shown holds for what was learned from it.
    """

    n: int
    split: Split
    split_title: str
    runners: tuple[Runner, ...]
    oracles: tuple[str, ...]
    unranked: str
    one_draw: bool = False

    @property
    def first(self) -> tuple[Runner, ...]:
        """Those that nobody is shown to be better than."""
        return tuple(one for one in self.runners if one.low == 1)

    @property
    def sure(self) -> bool:
        """Whether one contender is shown to be better than every other one, for other draws too."""
        return self.ahead and not self.one_draw

    @property
    def ahead(self) -> bool:
        """Whether one contender is shown to be better than every other one, as it was trained here."""
        return len(self.runners) > 1 and self.runners[0].high == 1 and len(self.first) == 1


def leaders_of(section: Section) -> list[Leaders]:
    """Return who may be the best of an experiment, one for each split; nothing where no contender has a number."""
    sampler = section.sampler
    races = [race for race in sampler.races if race.racing and race.repetitions]
    if not races or not section.rows:
        return []
    return [_leaders(section, races[-1], split) for split in sampler.source.shown_splits()]


def _leaders(section: Section, race: Race, split: Split) -> Leaders:
    sampler = section.sampler
    metric, patterns = sampler.metrics[0], sampler.experiment.oracles
    rows = [row for row in section.rows if (row.n, row.metric, row.split) == (race.n, metric, split)]
    by_label = {row.contender: row for row in rows}
    known = [arm for arm in race.racing if matches(arm.label, patterns)]
    arms = [arm for arm in race.racing if arm not in known and not _counted_elsewhere(arm, race)]
    ranks = {arm.label: (by_label[arm.label].rank_low, by_label[arm.label].rank_high) for arm in arms}
    if known and len(arms) > 1 and None not in next(iter(ranks.values())):
        # Places among those that are measured: an oracle takes none of them.
        sample = sampler.sample(arms, metric, split, race.repetitions)
        ranges = contender_rank_ranges(sample, maximize=sampler.source.direction(metric) == "maximize")
        ranks = {arm.label: (int(low), int(high)) for arm, (low, high) in zip(arms, ranges, strict=True)}
    runners = tuple(
        Runner(row, low, high)
        for row in best_first([by_label[label] for label in ranks])
        for low, high in [ranks[row.contender]]
        if low is not None and high is not None
    )
    unranked = "" if runners else "no intervals"
    oracles = tuple(arm.label for arm in known)
    source = sampler.source
    whole = source.pool is not None and race.n >= source.pool
    one_draw = len(race.repetitions) == 1 and bool(source.counts) and not whole
    return Leaders(race.n, split, source.short(split), runners, oracles, unranked, one_draw)


def _counted_elsewhere(arm: Arm, race: Race) -> bool:
    other = race.arm(arm.equals) if arm.equals else None
    return other is not None and other.racing


def said_of_leaders(found: Leaders) -> str:
    """Return who is best and whether that is real, in Markdown, without a period."""
    runners, first = found.runners, found.first
    if not runners:
        return f"nobody is ranked: there are {found.unranked}"
    best = f"**{markdown(runners[0].row.contender)}**"
    others = len(runners) - 1
    if not others:
        return f"{best} is alone"
    each = "the other one" if others == 1 else f"each of the other {grouped_digits(others)}"
    if found.sure:
        return f"{best} is best: it is shown to be better than {each}"
    if found.ahead:
        return (
            f"nobody is shown to be best: there is one draw. As trained on it, {best} is shown to be better than {each}"
        )
    if len(first) == len(runners):
        return (
            f"nobody is shown to be best: none of the {grouped_digits(len(runners))} contenders is shown to be worse "
            f"than another; {best} has the best mean"
        )
    rest = len(runners) - len(first)
    trained = " as trained on the one draw" if found.one_draw else ""
    behind = f"{grouped_digits(rest)} other{'s are' if rest > 1 else ' is'} shown to be worse than somebody{trained}"
    if len(first) == 1:
        return f"nobody is shown to be better than **{markdown(first[0].row.contender)}**, and {behind}"
    names = [markdown(one.row.contender) for one in first]
    kept = names if len(names) <= MOST_NAMED else names[: MOST_NAMED - 1]
    between = "; " if any("," in name for name in kept) else ", "
    listed = between.join(kept) + (f" and {len(names) - len(kept)} more" if len(kept) < len(names) else "")
    several = f"{len(first)} of {grouped_digits(len(runners))} contenders may be ({listed})"
    return f"nobody is shown to be best: {several}, {best} has the best mean; {behind}"
