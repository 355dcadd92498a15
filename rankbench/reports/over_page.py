"""The page of experiments on several logs: an answer in sentences, methods over logs, and methods by logs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankbench.core.spec import Spec, expand, parse
from rankbench.core.text import count_text, first_of, interval_text, markdown, number, place_range_text
from rankbench.interfaces.figure import Dot, Drawing, Plot
from rankbench.interfaces.suite import Figure
from rankbench.reports.document import Bullets, Column, Grid, Heading, Image, Node, Paragraph
from rankbench.reports.figures import DrawnFigure
from rankbench.reports.leaders import MOST_NAMED
from rankbench.reports.over_logs import OverLogs
from rankbench.reports.recommendation import joined_words
from rankbench.reports.tables import metric_name
from rankbench.stats.simultaneous import FEW
from rankbench.systems.score_sample import wrong_rates

_PANELS = 5
"""Methods of a figure: the best, each with a panel of its own."""


def answer_over_logs(overs: Sequence[OverLogs]) -> tuple[str, ...]:
    """Return the answer: a sentence on the differences in each experiment with a margin."""
    return tuple(_sentence(one) for one in overs if one.logs[0].data.experiment.margin)


def tables_over_logs(overs: Sequence[OverLogs]) -> list[Node]:
    """Return for each experiment a table of methods over logs, the figure, and a table of methods by logs."""
    return [node for one in overs for node in (Heading(2, markdown(one.title)), *_methods(one), *_by_log(one))]


def _sentence(over: OverLogs) -> str:
    """Return a sentence on the methods that may be the best, with misordered judgments of a hundred."""
    loss, base = over.losses[0], over.baseline
    labels, found = over.ranked(loss)
    logs = f"{count_text(len(over.places), 'log')} of {count_text(len(over.families), 'family')}"
    if found is None:
        return f"**{markdown(over.title)}** ({logs}): too few logs for an answer over logs."
    maximize = over.metric(loss).direction == "maximize"
    best = int(np.argmax(found.scores) if maximize else np.argmin(found.scores))
    first = [label for label, one in zip(labels, np.asarray(found.first), strict=True) if one and label != labels[best]]
    ends = interval_text(*over.interval_of_many(loss, labels[best]), sign=True)
    also = ", and no other method may be the best"
    if first:
        also = f"; {first_of([*map(markdown, first)], MOST_NAMED)} may be the best, too"
    metric, gap = over.metric(loss), number(found.scores[best], sign=True)
    said = (
        f"**{markdown(over.title)}** ({logs}): **{markdown(labels[best])}** has the best mean {metric_name(metric)}, "
    )
    said += f"{gap} {metric.unit} from the {markdown(base)} (95% interval {ends}, "
    everywhere = " with a result on every log" if len(labels) < len(over.labels) else ""
    said += f"which allows for the choice of the best of {len(labels)}{everywhere}){also}"
    return f"{said}{_of_a_hundred(over, labels[best])}."


def _of_a_hundred(over: OverLogs, label: str) -> str:
    """Return the numbers of 100 judgments that methods misorder, if a loss is a share of them."""
    loss = next((one for one in over.losses if over.metric(one).unit.startswith("share of ")), "")
    if not loss:
        return ""
    means = dict(zip(over.labels, 100 * over.of_families(over.values(loss, "mean")).mean(axis=0), strict=True))
    what = over.metric(loss).unit.removeprefix("share of ")
    known = [one for one in (over.baseline, over.chance) if one and one != label]
    others = [f"{markdown(one)} {number(means[one], 1)}" for one in known]
    wrong = f"{number(means[label], 1)} of 100 held-out {what}"
    return f". On average over families it orders {wrong} the other way, {', '.join(others)}"


def _methods(over: OverLogs) -> list[Node]:
    """Return the methods by mean difference over families, with places, and the figure."""
    loss = over.losses[0]
    metric, (labels, found) = over.metric(loss), over.ranked(loss)
    if found is None:
        return []
    sign, others = (-1.0 if metric.direction == "maximize" else 1.0), over.losses[1:]
    means = {
        one: dict(zip(over.labels, over.of_families(over.values(one, "difference")).mean(axis=0), strict=True))
        for one in others
    }
    ranks = over.mean_ranks(loss)
    columns = [Column("method"), Column(f"{metric_name(metric)} minus {markdown(over.baseline)}", "right")]
    columns += [Column(title, "center") for title in ("95% interval", "rank", "may be the best", "mean rank")]
    columns += [Column(f"{metric_name(over.metric(one))}, difference", "right") for one in others]
    rows, places = [], found.columns()
    for at in np.argsort(sign * found.scores, kind="stable").tolist():
        place = place_range_text(places["rank_low"][at], places["rank_high"][at])
        rest = [number(means[one][labels[at]], sign=True) for one in others]
        ends = interval_text(found.lower[at], found.upper[at], sign=True)
        yes = "yes" if np.asarray(found.first)[at] else ""
        mean = number(ranks[labels[at]], 1)
        rows.append((markdown(labels[at]), number(found.scores[at], sign=True), ends, place, yes, mean, *rest))
    families, logs = count_text(len(over.families), "family"), count_text(len(over.places), "log")
    notes = [
        f"Means over {families} of {logs}, which are the sample: the logs of a family count as one, by their mean. "
        "Intervals hold for each method by itself, ranks for all together at 95%. *Mean rank*: among these methods, "
        f"over families.{f' Not called the best, as it guesses: {markdown(over.chance)}.' if over.chance else ''}",
        *_few(len(over.families), len(labels)),
        *_failed(over, labels),
        *_at_ends(over),
    ]
    figure = Image(markdown(over.title), f"figures/{over.name}.svg")
    return [Grid.from_rows(columns, rows), Bullets(tuple(notes)), figure]


def _few(families: int, methods: int) -> list[str]:
    """Return a note on rank ranges over few families."""
    if families > FEW:
        return []
    wrong = wrong_rates(families, methods)[0]
    return [
        f"{count_text(families, 'family')} are few. Of simulated tables with skewed scores, {wrong:.0%} have a wrong "
        "rank range; the level is 5%."
    ]


def _failed(over: OverLogs, ranked: Sequence[str]) -> list[str]:
    """Return a note on methods without a place, with the logs on which they failed and a reason."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for label in (label for label in over.labels if label not in ranked):
        rows = [over.row(log, label, over.losses[0]) for log in range(len(over.places))]
        where = tuple(place.log for place, row in zip(over.places, rows, strict=True) if row.status != "done")
        found.setdefault(where, {})[label] = next(row.reason for row in rows if row.status != "done")
    return [
        f"No place over logs: {joined_words([*map(markdown, whose)])}, without a result on {joined_words(where)} "
        f"({markdown(next(iter(whose.values())))})."
        for where, whose in found.items()
    ]


def _at_ends(over: OverLogs) -> list[str]:
    """Return a note on the share of runs in which a method's choice was an end of its grid, for each list of it."""
    said = []
    for label in over.labels:
        each = [runs for one in over.logs for matched in one.data.by_n if (runs := matched.runs(label))]
        infos = [runs.stored[done].info for runs in each for done in runs.done]
        points = [int(info["point"]) for info in infos if "point" in info]
        shares = shares_at_ends(parse(each[0].spec), points) if points else {}
        of = (f" ({name})" if len(shares) > 1 else "" for name in shares)
        said += [f"{markdown(label)}{which} {share:.0%}" for which, share in zip(of, shares.values(), strict=True)]
    why = "Grids are searched within training folds; where a parameter changes little, any point may be chosen."
    return [f"{why} The end of a grid was chosen in this share of runs: {', '.join(said)}."] if said else []


def shares_at_ends(spec: Spec, points: Sequence[int]) -> dict[str, float]:
    """Return the share of points of a grid, by number, with the least or the largest value of each list of numbers."""
    grid, shares = expand(spec), dict[str, float]()
    for name, value in spec.params.items():
        if isinstance(value, list) and len(value) > 1 and all(type(one) in (int, float) for one in value):
            of_points = np.array([point.params[name] for point in grid], np.float64)
            shares[name] = float(np.isin(of_points[points], (of_points.min(), of_points.max())).mean())
    return shares


def _by_log(over: OverLogs) -> list[Node]:
    """Return differences from the baseline, a row a log and a column a method."""
    loss, base = over.losses[0], over.baseline
    others = [label for label in over.labels if label != base]
    columns = [Column("log"), Column("kind"), Column("family"), *(Column(markdown(label), "right") for label in others)]
    rows = []
    for at, place in enumerate(over.places):
        cells = []
        for row in (over.row(at, label, loss) for label in others):
            half = (row.difference_upper - row.difference_lower) / 2
            spread = "" if math.isnan(half) else f" ± {number(half)}"
            cells.append(f"{number(row.difference, sign=True)}{spread}" if row.status == "done" else f"*{row.status}*")
        rows.append((markdown(place.log), place.kind, "" if place.family == place.log else place.family, *cells))
    said = (
        f"{metric_name(over.metric(loss))} minus that of the {markdown(base)} on the same judgments, ± half the 95% "
        "interval, each by itself. What differs between kinds of logs is described here, and not tested. "
        "[details.md](details.md) has a section for each log, [leaderboard.csv](leaderboard.csv) the other losses."
    )
    return [Grid.from_rows(columns, rows), Paragraph(said[0].upper() + said[1:])]


def figures_over_logs(overs: Sequence[OverLogs]) -> list[DrawnFigure]:
    """Return a figure for each experiment on several logs: logs down, a panel for each of the best methods."""
    return [_figure(one) for one in overs]


def _figure(over: OverLogs) -> DrawnFigure:
    loss = over.losses[0]
    metric, (labels, found) = over.metric(loss), over.ranked(loss)
    sign = -1.0 if metric.direction == "maximize" else 1.0
    order = [labels[at] for at in np.argsort(sign * found.scores, kind="stable")] if found is not None else labels
    shown = [label for label in order if label != over.baseline][:_PANELS]
    plots = []
    for label in shown:
        rows = [over.row(at, label, loss) for at in range(len(over.places))]
        dots = tuple(
            Dot(label, place.log, row.difference, row.difference_lower, row.difference_upper)
            for place, row in zip(over.places, rows, strict=True)
        )
        axis = metric.axis(after=f" minus {over.baseline}", lines=2)
        plots.append(Plot(title=label, x_label=axis, dots=dots, zero=True))
    what = f"{metric.name} minus that of the {over.baseline}, {metric.better}"
    title = f"{over.title}\n{what}; 95% intervals of each log"
    drawing = Drawing((tuple(plots),), tuple(shown), legends="none", size=(3.4, 2.6))
    return DrawnFigure(over.logs[0].data, Figure(file=over.name, kind="dots", title=over.title), drawing, title)
