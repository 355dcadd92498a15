"""The headline comes first on a terminal, with a partial table and notices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from rankbench.core.text import first_of, grouped_digits, markdown, mean_text, without_nan
from rankbench.interfaces.cell import Split
from rankbench.reports.analysis import Analysis
from rankbench.reports.document import Bullets, Column, Grid, Paragraph, TerminalNode
from rankbench.reports.figures import DrawnFigure
from rankbench.reports.footnotes import STOPPED
from rankbench.reports.leaderboard_intro import answer_sentences
from rankbench.reports.leaders import headline_section, leaders_of
from rankbench.reports.over_logs import over_logs
from rankbench.reports.over_page import answer_over_logs
from rankbench.reports.standings import Standing, best_first
from rankbench.reports.tables import metric_title, rank_text
from rankbench.stats.contrasts import FEWEST

MOST_SHOWN = 15
"""Contenders in the table of a terminal; all are on the leaderboard."""


class Headline(NamedTuple):
    """Best contenders, in sentences and as a table.

    Attributes
    ----------
    sentences : tuple of str
        Sentences in Markdown.
    title : str
        Title of the table, in Markdown; empty where no contenders are compared.
    splits : mapping of str to str
        Title of each split, in a few words.
    rows : tuple of Standing
        Of the headline experiment's largest n with results, by its first metric, on each split.
    repetitions : mapping of str to object, optional
        Where repetitions are too few to rank: ``done``, ``needed``, and ``unranked``, the contenders that they do not
        rank.
    smaller : tuple of str
        Sentences on quantities that the data made smaller than the suite asks for.
    """

    sentences: tuple[str, ...]
    title: str = ""
    splits: Mapping[Split, str] = MappingProxyType({})
    rows: tuple[Standing, ...] = ()
    repetitions: Mapping[str, Any] | None = None
    smaller: tuple[str, ...] = ()

    def nodes(self) -> list[TerminalNode]:
        """Return it for a terminal: the sentences, then the table."""
        table = [Paragraph(self.title), *self._table()] if self.rows else []
        below = tuple(map(markdown, self.smaller))
        return [*map(Paragraph, self.sentences), *table, *([Bullets(below)] if below else [])]

    def _table(self) -> list[TerminalNode]:
        by_split = {split: {row.contender: row for row in self.rows if row.split == split} for split in self.splits}
        order = best_first([row for row in self.rows if row.split == next(iter(by_split))])
        ranked = any(row.rank_low is not None for row in self.rows)
        columns = [Column("contender")]
        for words in map(markdown, self.splits.values()):
            columns += (
                [Column(f"rank, {words}", "center"), Column("mean", "right")] if ranked else [Column(words, "right")]
            )
        lines = [
            [row.shown, *(cell for own in by_split.values() for cell in _cells(own[row.contender], ranked=ranked))]
            for row in order[:MOST_SHOWN]
        ]
        left = len(order) - MOST_SHOWN
        more = [Paragraph(f"and {left} more{': see leaderboard.md' if ranked else ''}")] if left > 0 else []
        return [Grid.from_rows(columns, lines), *more]

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values for JSON: sentences, and a row for each contender and split."""
        names = (
            "experiment", "n", "contender", "spec", "metric", "direction", "split", "status", "rank_low", "rank_high",
            "oracle", "mean", "lower", "upper",
        )  # fmt: skip
        rows = [without_nan({name: getattr(row, name) for name in names}) for row in self.rows]
        return {"who_is_best": list(self.sentences), "headline": rows, "too_few_repetitions": self.repetitions}


def _cells(row: Standing, *, ranked: bool) -> tuple[str, ...]:
    if not ranked:
        return (mean_text(row.mean) if row.status == "done" else row.status,)
    return rank_text(row), mean_text(row.mean)


def headline_of(analysis: Analysis) -> Headline:
    """Return the headline of a run."""
    said, section = tuple(answer_sentences(analysis)), headline_section(analysis)
    leaders = leaders_of(section) if section is not None else []
    if overs := over_logs(analysis.sections):
        return Headline(answer_over_logs(overs), smaller=analysis.record.smaller)
    if section is None or not leaders:
        return Headline(said, smaller=analysis.record.smaller)
    data, n = section.data, leaders[0].n
    source, metric = data.source, data.metrics[0]
    rows = tuple(row for row in section.rows if (row.n, row.metric) == (n, metric))
    at = f", n = {grouped_digits(n)}" if source.counts else ""
    simulated = ", **simulated data**" if source.simulated else ""
    title = f"{markdown(data.experiment.name)}{at}: {metric_title(source.metric(metric))}{simulated}"
    splits = {one.split: one.split_title for one in leaders}
    few = sorted({label for one in leaders if one.too_few for label in one.unranked})
    missing = {"done": leaders[0].repetitions, "needed": FEWEST, "unranked": few} if few else None
    return Headline(said, title, splits, rows, missing, analysis.record.smaller)


MOST_NAMED = 5
"""Contenders, and experiments, that one notice names."""


NoticeKind: TypeAlias = Literal["skipped", "diverged", "failed", "stopped", "left out", "unused", "smaller"]


class Notice(NamedTuple):
    """A sentence about contenders that are not where a reader may look for them, unused data, or a smaller design.

    Attributes
    ----------
    kind : {"skipped", "diverged", "failed", "stopped", "left out", "unused", "smaller"}
    text : str
        Contender, place and reason, in one line.
    trace : str
        The traceback, if an exception was raised on this machine.
    """

    kind: NoticeKind
    text: str
    trace: str = ""


def notices(analysis: Analysis, figures: Sequence[DrawnFigure]) -> list[Notice]:
    """Return notices of contenders that failed, stopped early or are missing in a figure, and of limits of the data.

    A contender without numbers has one notice with its reason, not one for every figure. A contender that the
    suite's figure does not ask for is named under the figure alone.
    """
    unused = dict.fromkeys(text for section in analysis.sections for text in section.data.source.unused)
    data = [*(Notice("unused", text) for text in unused), *(Notice("smaller", t) for t in analysis.record.smaller)]
    return [*_without_numbers(analysis), *_not_drawn(figures), *data]


def _without_numbers(analysis: Analysis) -> list[Notice]:
    places: dict[tuple[NoticeKind, str], list[tuple[str, str, str]]] = {}
    traces: dict[tuple[str, str], str] = {}
    for section in analysis.sections:
        for runs in (runs for matched in section.data.by_n for runs in matched.contenders):
            for repetition, stored in runs.stored.items():
                if stored.status == "done" and "unfinished" not in stored.info:
                    continue
                known: NoticeKind = stored.status if stored.status in ("skipped", "diverged") else "failed"
                kind: NoticeKind = "stopped" if stored.status == "done" else known
                reason = f"{STOPPED}; transform features, or raise lambda" if kind == "stopped" else stored.reason
                place = runs.label, section.data.experiment.name, runs.cells[repetition]
                places.setdefault((kind, reason), []).append(place)
                traces.setdefault((kind, reason), stored.trace)
    found = []
    for (kind, reason), where in places.items():
        labels, experiments, cells = (list(dict.fromkeys(names)) for names in zip(*where, strict=True))
        number = f"{grouped_digits(len(cells))} cell{'s' if len(cells) != 1 else ''}"
        text = f"{kind}: {first_of(labels, MOST_NAMED)} ({number} of {first_of(experiments, MOST_NAMED)})"
        found.append(Notice(kind, f"{text}: {reason}" if reason else text, traces[kind, reason]))
    return found


def _not_drawn(figures: Sequence[DrawnFigure]) -> list[Notice]:
    by_reason: dict[tuple[str, str], list[str]] = {}
    for one in figures:
        for omission in one.drawing.left_out:
            if omission.cause == "misfit":
                by_reason.setdefault((one.figure.file, omission.why), []).append(omission.label)
    return [
        Notice("left out", f"left out of {file}: {first_of(labels, MOST_NAMED)}: {why}")
        for (file, why), labels in by_reason.items()
    ]
