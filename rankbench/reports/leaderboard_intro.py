"""The introduction tells who is best, what was asked, and on which data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from rankbench.core.text import code, grouped_digits, markdown, number, sentence
from rankbench.interfaces.cell import RANKING, SPLITS, Split
from rankbench.reports.analysis import Analysis, Section
from rankbench.reports.claim_verdicts import Verdict
from rankbench.reports.document import Bullets, Column, Grid, Image, Node, Paragraph, Quote
from rankbench.reports.experiment_data import Arm, Race
from rankbench.reports.footnotes import Group
from rankbench.reports.recommendation import Recommendation
from rankbench.reports.standings import Standing, best_first
from rankbench.reports.tables import item_table
from rankbench.stats.contrasts import contender_rank_ranges

MOST_NAMED = 4
"""Contenders that a sentence names; of more it says how many."""


class Leaders(NamedTuple):
    """Who may be the best of a table: the headline at the largest n that has results, on one split.

    Attributes
    ----------
    n : int
    split : Split
    split_title : str
        In a few words.
    rows : tuple of Standing
        Who is measured and has a place, the best mean first; places are among these rows. Contenders that know what
        the others have to learn, and those that equal another one, are not among them.
    oracles : tuple of str
        Labels of those that know.
    one_draw : bool
        There is one repetition, of several that could be drawn: what is shown holds for what was learned from it.
    """

    n: int
    split: Split
    split_title: str
    rows: tuple[Standing, ...]
    oracles: tuple[str, ...] = ()
    one_draw: bool = False

    @property
    def first(self) -> tuple[Standing, ...]:
        """Those that nobody is shown to be better than."""
        return tuple(row for row in self.rows if row.rank_low == 1)

    @property
    def sure(self) -> bool:
        """Whether one contender is shown to be better than every other one, for other draws too."""
        return self.ahead and not self.one_draw

    @property
    def ahead(self) -> bool:
        """Whether one contender is shown to be better than every other one, as it was trained here."""
        return len(self.rows) > 1 and self.rows[0].rank_high == 1 and len(self.first) == 1


def leaders_of(section: Section) -> list[Leaders]:
    """Return who may be the best of an experiment, one for each split; nothing where no contender has a number."""
    sampler = section.sampler
    races = [race for race in sampler.races if race.racing and race.repetitions]
    if not races or not section.rows:
        return []
    return [_leaders(section, races[-1], split) for split in sampler.source.shown_splits()]


def _leaders(section: Section, race: Race, split: Split) -> Leaders:
    sampler, source = section.sampler, section.sampler.source
    metric = sampler.metrics[0]
    by_label = {row.contender: row for row in section.rows if (row.n, row.metric, row.split) == (race.n, metric, split)}
    known = [arm for arm in race.racing if by_label[arm.label].oracle]
    arms = [arm for arm in race.racing if arm not in known and race.twin(arm) is None]
    rows = [by_label[arm.label] for arm in arms]
    if known and len(arms) > 1 and rows[0].rank_low is not None:
        # Places among those that are measured: an oracle takes none of them.
        sample = sampler.sample(arms, metric, split, race.repetitions)
        ranges = contender_rank_ranges(sample, maximize=source.direction(metric) == "maximize")
        places = zip(rows, ranges, strict=True)
        rows = [replace(row, rank_low=int(low), rank_high=int(high)) for row, (low, high) in places]
    ranked = tuple(row for row in best_first(rows) if row.rank_low is not None)
    whole = source.pool is not None and race.n >= source.pool
    one_draw = len(race.repetitions) == 1 and bool(source.counts) and not whole
    return Leaders(race.n, split, source.short(split), ranked, tuple(arm.label for arm in known), one_draw)


def said_of_leaders(found: Leaders) -> str:
    """Return who is best and whether that is real, in Markdown, without a period."""
    rows, first = found.rows, found.first
    if not rows:
        return "nobody is ranked: there are no intervals"
    best, others, rest = f"**{markdown(rows[0].contender)}**", len(rows) - 1, len(rows) - len(first)
    each = "the other one" if others == 1 else f"each of the other {grouped_digits(others)}"
    if not others:
        return f"{best} is alone"
    if found.sure:
        return f"{best} is best: it is shown to be better than {each}"
    if found.ahead:
        return (
            f"nobody is shown to be best: there is one draw. As trained on it, {best} is shown to be better than {each}"
        )
    if not rest:
        return (
            f"nobody is shown to be best: none of the {grouped_digits(len(rows))} contenders is shown to be worse "
            f"than another; {best} has the best mean"
        )
    names = [markdown(row.contender) for row in first]
    kept = names if len(names) <= MOST_NAMED else names[: MOST_NAMED - 1]
    listed = ("; " if any("," in name for name in kept) else ", ").join(kept)
    more = f" and {len(names) - len(kept)} more" if len(kept) < len(names) else ""
    trained = " as trained on the one draw" if found.one_draw else ""
    behind = f"{grouped_digits(rest)} other{'s are' if rest > 1 else ' is'} shown to be worse than somebody{trained}"
    may_be = f"{len(first)} of {grouped_digits(len(rows))} contenders may be ({listed}{more})"
    return f"nobody is shown to be best: {may_be}, {best} has the best mean; {behind}"


VERDICTS: dict[Verdict, str] = {
    "held": "held",
    "did not hold": "did not hold",
    "could not tell": "cannot be decided by these data",
}

MOST_ITEMS = 10
"""Items of a ranking that stand at the beginning."""


def headline_section(analysis: Analysis) -> Section | None:
    """Return the experiment that stands for a suite.

    The one that a recommendation is drawn from, else that about which most is claimed; of equals the first that has
    a figure.
    """

    def weight(section: Section) -> tuple[bool, int, bool]:
        experiment = section.sampler.experiment
        return experiment.recommend, len(experiment.claims), bool(experiment.figures)

    return max((section for section in analysis.sections if section.rows), key=weight, default=None)


def question_and_data(analysis: Analysis, groups: Sequence[Group]) -> list[Node]:
    """Return a paragraph: what was asked, and whether anybody judged anything; then what real data were put to."""
    simulated = [group for group in groups if group.first.simulated]
    drawn = [group for group in groups if group.first.simulated or group.first.dataset]
    real = [group for group in groups if group.first.dataset and not group.first.simulated]
    parts = [markdown(sentence(analysis.record.asks))] if analysis.record.asks else []
    if simulated:
        which = "All data are" if len(simulated) == len(drawn) else f"The data of {_experiments(simulated)} are"
        parts.append(f"**{which} *simulated***: no person judged anything ([what is assumed](#the-data)).")
    if real:
        names = ", ".join(dict.fromkeys(f"{code(group.first.dataset)}{_judgments(group)}" for group in real))
        whose = f" of {_experiments(real)}" if simulated else ""
        what = "are" if any(group.first.assumptions for group in real) else "are real:"
        parts.append(f"The data{whose} {what} {names}.")
    said = [
        (f"**{_experiments([group])}**: " if len(groups) > 1 else "")
        + " ".join(markdown(sentence(text)) for text in group.first.assumptions)
        for group in real
        if group.first.assumptions
    ]
    found: list[Node] = [Paragraph(" ".join(parts))] if parts else []
    return [*found, *([Quote(tuple(said))] if said else [])]


def _judgments(group: Group) -> str:
    """Return how many judgments a real log has; nothing where judgments are simulated, or of subsets."""
    whole = [source.pool for source in group.sources if source.pool is not None] or list(group.n)
    if group.first.assumptions or len(set(whole)) != 1 or not group.first.counts:
        return ""
    return f" ({grouped_digits(whole[0])} {markdown(group.first.counts)})"


def _experiments(groups: Sequence[Group]) -> str:
    return ", ".join(markdown(name) for group in groups for name in group.experiments)


def in_short(analysis: Analysis, found: Sequence[Recommendation]) -> list[Node]:
    """Return who is best, what to use, how the claims fared, and the figure of the headline experiment."""
    section = headline_section(analysis)
    lines = who_is_best(section)
    lines = [f"**Who is best?** {lines[0]}", *lines[1:]] if lines else []
    lines += [f"**Which item is first?** {said}" for said in items_said(analysis)]
    lines += [f"**What to use?** {line}" for one in found for line in one.answer[:1]]
    lines += claims_counted(analysis)
    parts: list[Node] = [Bullets(tuple(lines))] if lines else []
    figures = section.sampler.experiment.figures if section is not None else ()
    if section is not None and figures:
        words = markdown(figures[0].title or section.sampler.experiment.title)
        parts.append(Image(words, f"figures/{figures[0].file}.svg"))
    return parts


def who_is_best(section: Section | None) -> list[str]:
    """Say who is best in an experiment, if there is one, a sentence for each split."""
    if section is None:
        return []
    sampler, lines = section.sampler, []
    for leaders in leaders_of(section):
        how = f"by {code(sampler.metrics[0])} in {code(sampler.experiment.name)}"
        if sampler.source.counts and len(sampler.races) > 1:
            how += f", n = {grouped_digits(leaders.n)}"
        if leaders.oracles:
            names, know = map(markdown, leaders.oracles), "know" if len(leaders.oracles) > 1 else "knows"
            how += f"; not counted: {', '.join(names)}, which {know} what the others have to learn"
        lines.append(f"On {leaders.split_title} {said_of_leaders(leaders)} ({how}).")
    return lines


def split_words(analysis: Analysis) -> dict[Split, str]:
    """Return what claims are about, by split, in a few words."""
    titles = {s.sampler.experiment.name: s.sampler.source for s in analysis.sections}
    about = [(a.about, titles[a.experiment].short(a.about)) for s in analysis.sections for a in s.answers]
    words = {split: " / ".join(dict.fromkeys(name for at, name in about if at == split)) for split in SPLITS}
    return {split: name for split, name in words.items() if name}


def claims_counted(analysis: Analysis) -> list[str]:
    """Count the claims by verdict, for each kind of what they were judged on."""
    answers = [answer for section in analysis.sections for answer in section.answers]
    if not answers:
        return []
    asked = Counter((answer.experiment, answer.claim.id) for answer in answers)
    late = len({(a.experiment, a.claim.id) for a in answers if a.claim.origin == "post hoc"})
    twice = sum(count > 1 for count in asked.values())
    parts = []
    for split, words in split_words(analysis).items():
        found = Counter(answer.verdict for answer in answers if answer.about == split)
        counted = [f"{found[verdict]} {said}" for verdict, said in VERDICTS.items() if found[verdict]]
        parts.append(f"on {words} {', '.join(counted)}")
    said = f"{len(asked)} claim{'s' if len(asked) != 1 else ''}"
    if twice:  # else the verdicts, added up, would be more than the claims
        said += f", {f'{twice} of them ' if twice < len(asked) else ''}judged on several kinds of data"
    if late:
        said += f" ({late} written knowing earlier results)"
    return [f"**Do the claims hold?** {said}: {'; '.join(parts)}."]


def at_a_glance(analysis: Analysis) -> list[Node]:
    """Return a table of who is best in each experiment, at its largest n, by its headline."""
    rows = []
    for section in analysis.sections:
        source, experiment = section.sampler.source, section.sampler.experiment
        data = code(source.dataset.partition(":")[0]) if source.dataset else "made by the protocol"
        data += " (simulated)" if source.simulated else ""
        for leaders in leaders_of(section):
            n = grouped_digits(leaders.n) if source.counts else ""
            metric = section.sampler.metrics[0]
            rows.append(
                (
                    markdown(experiment.name), data, n, leaders.split_title,
                    f"{code(metric)}, {source.metric(metric).better}", *_best(leaders),
                )
            )  # fmt: skip
    if not rows:
        return []
    titles = ("experiment", "data", "n", "judged on", "by", "best mean", "shown to be best?")
    columns = [Column(title, "right" if title == "n" else "left") for title in titles]
    note = (
        "*Shown*: at 95% better than every other contender of the table, by tests of all pairs at once, for other "
        "queries or splits too and not only for other draws. *Not shown* does not mean equal: the data may be too few."
    )
    return [Grid.from_rows(columns, rows), Paragraph(note), *_judged_by(analysis)]


def _judged_by(analysis: Analysis) -> list[Node]:
    """Say what the metrics of the table are; of losses, where it is said."""
    metrics = dict.fromkeys(
        section.sampler.source.metric(section.sampler.metrics[0]) for section in analysis.sections if section.rows
    )
    said = []
    for one in metrics:
        text = one.sentence or f"a loss; {code(f'rankbench info {one.name}')} says which."
        coin = "" if one.chance is None else f" A coin gets {one.chance:.4g}."
        said.append(f"{code(one.name)}: {text[:1].lower()}{text[1:]}{coin}")
    sources = [section.sampler.source for section in analysis.sections]
    titles = dict.fromkeys(source.splits.get(split, "") for source in sources for split in source.shown_splits())
    # What a title explains stands in its parentheses.
    explained = [found for title in titles if (found := re.fullmatch(r"(.+?) \((.+)\)", title))]
    said += [f"*{markdown(found[1][:1].lower() + found[1][1:])}*: {markdown(found[2])}." for found in explained]
    return [Bullets(tuple(said))]


def _best(leaders: Leaders) -> tuple[str, str]:
    if not leaders.rows:
        return "—", "unknown: no intervals"
    row, count = leaders.rows[0], grouped_digits(len(leaders.rows))
    name = markdown(row.contender)
    mean = f"{f'**{name}**' if leaders.sure else name} {number(row.mean)}"
    if leaders.sure:
        return mean, f"yes, of {count}"
    if leaders.ahead:
        return mean, f"as trained on the one draw, of {count}; not shown for other draws"
    if len(leaders.rows) > 1 and all(one.mean == row.mean for one in leaders.first):
        return mean, f"no: {len(leaders.first)} of {count} have the same mean"
    return mean, f"not shown: any of {len(leaders.first)} of {count} may be" if len(leaders.rows) > 1 else "alone"


def top_items(analysis: Analysis) -> list[Node]:
    """Return the first items of each ranking of items, by the first contender that finished."""
    parts: list[Node] = []
    for section, arm, split in _rankings(analysis):
        count = len(section.sampler.source.units[split])
        more = f" The first {MOST_ITEMS}:" if count > MOST_ITEMS else ""
        parts += [
            Paragraph(f"{_first_item(section, arm, split)}{more}"), item_table(section.sampler, arm, split, MOST_ITEMS)
        ]  # fmt: skip
    return parts


def items_said(analysis: Analysis) -> list[str]:
    """Return which item is first, a sentence for each ranking of items."""
    return [_first_item(*ranking) for ranking in _rankings(analysis)]


def _rankings(analysis: Analysis) -> Iterator[tuple[Section, Arm, Split]]:
    for section in analysis.sections:
        sampler = section.sampler
        if sampler.source.layout == "ranking" and sampler.races:
            arm = next((arm for arm in sampler.races[-1].arms if arm.done), None)
            if arm is not None:
                yield from ((section, arm, split) for split in sampler.source.shown_splits())


def _first_item(section: Section, arm: Arm, split: Split) -> str:
    sampler = section.sampler
    units = sampler.source.units[split]
    score, _, _, low, high = (sampler.values(arm, metric, split) for metric in RANKING)
    best = min(range(len(units)), key=lambda i: (-round(float(score[i]), 9), units[i]))
    who = f"**{markdown(units[best])}** has the highest score"
    if low[best] == high[best] == 1:
        told = f"{who} of {grouped_digits(len(units))}, and it is shown to stand above each other one"
    else:
        told = f"{who}, but any of {int((low == 1).sum())} of {grouped_digits(len(units))} may be first"
    return f"By {markdown(arm.label)}, {told} (95%, all places at once)."
