"""How a leaderboard begins: what was asked, of which data, who is best and whether that is real, and a figure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rankbench.kinds.cell import RANKING, SPLITS, Split
from rankbench.kinds.metric import Metric
from rankbench.reports.analysis import Analysis, Section
from rankbench.reports.document.tree import Bullets, Column, Grid, Image, Node, Paragraph, Quote
from rankbench.reports.leaders import Leaders, leaders_of, said_of_leaders
from rankbench.reports.recommendation import Recommendation
from rankbench.reports.sample import Arm
from rankbench.reports.sources import Group
from rankbench.reports.standing_tables import item_table
from rankbench.reports.verdicts import Verdict
from rankbench.text import code, grouped_digits, markdown, number, sentence

__all__ = [
    "at_a_glance",
    "headline_section",
    "in_short",
    "items_said",
    "question_and_data",
    "split_words",
    "top_items",
    "who_is_best",
]

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
    compared = [section for section in analysis.sections if section.rows]
    if not compared:
        return None

    def weight(section: Section) -> tuple[bool, int, bool]:
        experiment = section.sampler.experiment
        return experiment.recommend, len(experiment.claims), bool(experiment.figures)

    return max(compared, key=weight)


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
    lines = who_is_best(section) if section is not None else []
    lines = [f"**Who is best?** {lines[0]}", *lines[1:]] if lines else []
    lines += [f"**Which item is first?** {said}" for said in items_said(analysis)]
    lines += [f"**What to use?** {line}" for one in found for line in one.answer[:1]]
    lines += _tally(analysis)
    parts: list[Node] = [Bullets(tuple(lines))] if lines else []
    figures = section.sampler.experiment.figures if section is not None else ()
    if section is not None and figures:
        words = markdown(figures[0].title or section.sampler.experiment.title)
        parts.append(Image(words, f"figures/{figures[0].file}.svg"))
    return parts


def who_is_best(section: Section) -> list[str]:
    """Say who is best in an experiment, a sentence for each split."""
    sampler, lines = section.sampler, []
    for leaders in leaders_of(section):
        at = f", n = {grouped_digits(leaders.n)}" if sampler.source.counts and len(sampler.races) > 1 else ""
        how = f"by {code(sampler.metrics[0])} in {code(sampler.experiment.name)}{at}{_not_counted(leaders)}"
        lines.append(f"On {leaders.split_title} {said_of_leaders(leaders)} ({how}).")
    return lines


def _not_counted(leaders: Leaders) -> str:
    if not leaders.oracles:
        return ""
    names, several = ", ".join(map(markdown, leaders.oracles)), len(leaders.oracles) > 1
    return f"; not counted: {names}, which know{'' if several else 's'} what the others have to learn"


def split_words(analysis: Analysis) -> dict[Split, str]:
    """Return what claims are about, by split, in a few words."""
    titles = {s.sampler.experiment.name: s.sampler.source for s in analysis.sections}
    about = [(a.about, titles[a.experiment].short(a.about)) for s in analysis.sections for a in s.answers]
    words = {split: " / ".join(dict.fromkeys(name for at, name in about if at == split)) for split in SPLITS}
    return {split: name for split, name in words.items() if name}


def _tally(analysis: Analysis) -> list[str]:
    """Count the claims by verdict, for each kind of what they were judged on."""
    answers = [answer for section in analysis.sections for answer in section.answers]
    if not answers:
        return []
    claims = {(answer.experiment, answer.claim.id) for answer in answers}
    late = {(a.experiment, a.claim.id) for a in answers if a.claim.origin == "post hoc"}
    asked = Counter((answer.experiment, answer.claim.id) for answer in answers)
    parts = []
    for split, words in split_words(analysis).items():
        found = Counter(answer.verdict for answer in answers if answer.about == split)
        counted = [f"{found[verdict]} {said}" for verdict, said in VERDICTS.items() if found[verdict]]
        parts.append(f"on {words} {', '.join(counted)}")
    knew = f" ({len(late)} written knowing earlier results)" if late else ""
    number_of = f"{len(claims)} claim{'s' if len(claims) != 1 else ''}"
    twice = sum(count > 1 for count in asked.values())
    # Else the verdicts, added up, would be more than the claims.
    which = f"{twice} of them " if twice < len(claims) else ""
    more = f", {which}judged on several kinds of data" if twice else ""
    return [f"**Do the claims hold?** {number_of}{more}{knew}: {'; '.join(parts)}."]


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
    said = [f"{code(one.name)}: {_metric_said(one)}" for one in metrics]
    sources = [section.sampler.source for section in analysis.sections]
    titles = dict.fromkeys(source.splits.get(split, "") for source in sources for split in source.shown_splits())
    # What a title explains stands in its parentheses.
    explained = [found for title in titles if (found := re.fullmatch(r"(.+?) \((.+)\)", title))]
    said += [f"*{markdown(found[1][:1].lower() + found[1][1:])}*: {markdown(found[2])}." for found in explained]
    return [Bullets(tuple(said))]


def _metric_said(metric: Metric) -> str:
    text = metric.sentence or f"a loss; {code(f'rankbench info {metric.name}')} says which."
    coin = "" if metric.chance is None else f" A coin gets {metric.chance:.4g}."
    return f"{text[:1].lower()}{text[1:]}{coin}"


def _best(leaders: Leaders) -> tuple[str, str]:
    if not leaders.runners:
        return "—", f"unknown: {leaders.unranked}"
    row = leaders.runners[0].row
    name = markdown(row.contender)
    mean = f"{f'**{name}**' if leaders.sure else name} {number(row.mean)}"
    if len(leaders.runners) == 1:
        return mean, "alone"
    if leaders.sure:
        return mean, f"yes, of {grouped_digits(len(leaders.runners))}"
    if leaders.ahead:
        return mean, f"as trained on the one draw, of {grouped_digits(len(leaders.runners))}; not shown for other draws"
    alike = sum(runner.row.mean == row.mean for runner in leaders.first)
    if alike == len(leaders.first):
        return mean, f"no: {alike} of {grouped_digits(len(leaders.runners))} have the same mean"
    return mean, f"not shown: any of {len(leaders.first)} of {grouped_digits(len(leaders.runners))} may be"


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
