"""`rankbench aggregate` ranks the items of a log, `rank` the systems of a score table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import click
from pydantic import Field, model_validator

from rankbench.cli import rankings
from rankbench.cli.difference import between_answer, systems_difference_answer
from rankbench.cli.forms import Format, chosen_form, file_options
from rankbench.cli.help import FILES, FILTER, READING, SectionedCommand
from rankbench.cli.origin import Provenance
from rankbench.cli.output import complete_names, heartbeat
from rankbench.cli.question_options import command_on, question_options
from rankbench.cli.shown import Answer, show
from rankbench.core.question import Offered
from rankbench.core.text import count_text
from rankbench.data.readers.remote import shown_log
from rankbench.errors import OptionError, SpecError
from rankbench.logs.question import LogQuestion, ReadingQuestion, RowsQuestion
from rankbench.ranking.aggregate import ranked_log
from rankbench.ranking.aggregation import Aggregation
from rankbench.ranking.over_time import ScoresOverTime, scores_over_time
from rankbench.ranking.pictures import judgments_text
from rankbench.ranking.question import OverTimeQuestion, RankingQuestion
from rankbench.ranking.rankings_across import point_scale_of, rescaled
from rankbench.systems.question import SystemsQuestion
from rankbench.systems.read_scores import scores_read
from rankbench.systems.score_ranking import ranked_scores


class AggregateQuestion(RankingQuestion, OverTimeQuestion):
    """Options of `rankbench aggregate`: the ranking, and what of it is shown."""

    effects: Annotated[bool, Offered()] = False
    """With `control`: show the effects alone."""

    top: Annotated[int | None, Field(ge=1), Offered()] = None
    """Number of items to show, the first; places are among all items."""

    scale: Annotated[str, Offered(metavar="elo[:anchor=NAME@1000]")] = ""
    """Log-odds as Elo points."""

    across: Annotated[Literal["ranks", "scores"] | None, Offered(flag_value="ranks")] = None
    """With `by`: a row for each item, a column for each category; without a value, of ranks."""

    over: Annotated[Literal["time"] | None, Offered()] = None
    """Scores over time, with bands, and changes since `since`."""

    matrix: Annotated[bool, Offered()] = False
    """Shares of wins of each item (row) against each other (column)."""

    @model_validator(mode="after")
    def _shown_together(self) -> Self:
        of_rankings = ("by", "pool", "between", "effects", "intervals", "scale", "across", "matrix", "address")
        self.refuse_together("over", "shows scores of the whole log, with bands", *of_rankings)
        for name in ("time_unit", "since"):
            self.refuse_alone(name, "is of scores over time", "over=time")
        self.refuse_alone("effects", "shows effects of covariates", "control=TERM")
        self.refuse_together("effects", "shows effects of covariates", "matrix")
        self.refuse_alone("across", "shows categories side by side", "by=COLUMN")
        self.refuse_together("across", "shows categories side by side", "matrix")
        self.refuse_together("matrix", "shows no intervals", "intervals")
        if self.across == "scores" and self.intervals:
            raise OptionError("across", "shows no intervals of scores", excludes="intervals")
        self.refuse_together("between", "shows two items alone", "effects", "across", "matrix", "scale")
        return self


@click.command(
    cls=SectionedCommand,
    sections={
        "Which votes": f"{READING} {FILTER}",
        "Which model": "method by pool control over time_unit since",
        "How sure": "intervals between",
        "How shown": f"top scale across matrix effects {FILES}",
    },
)
@click.argument("log", metavar="LOG", shell_complete=complete_names("dataset", files=True))
@question_options(RankingQuestion, ReadingQuestion, RowsQuestion, LogQuestion, OverTimeQuestion, AggregateQuestion)
@file_options
def aggregate(log: str, form: Format | None, out: Path | None, title: str, **options: Any) -> None:
    """Rank the items of a log of votes, ballots or clicks.

    LOG is a file, a folder of shards or the name of a data set. Items that cannot be compared
    with one another stand on scales of their own.
    """
    shown = chosen_form(form, out, [log], pictures=not (options["matrix"] or options["effects"]))
    asked, name = AggregateQuestion.from_options(**options), shown_log(log)
    scale = point_scale_of(asked.scale) if asked.scale else None
    found: Aggregation | ScoresOverTime
    if asked.over:
        with heartbeat(f"scores over time of {name}"):
            found = scores_over_time(log, asked)
        answer, size = rankings.history_answer(found, asked.top), count_text(found.facts["n"], "vote")
    else:
        with heartbeat(f"ranking {name}"):
            found = ranked_log(log, asked)
        found = rescaled(found, scale) if scale else found
        answer, size = _ranking_answer(found, asked, name, shown), judgments_text(found.facts)
    origin = Provenance({log: size}, [found.method], found.sha256, found.facts.get("reading", {}))
    long = asked.top is not None
    show(replace(answer, title=title, long=long, provenance=origin, question=asked), shown, out)


def _ranking_answer(found: Aggregation, asked: AggregateQuestion, name: str, shown: Format) -> Answer:
    if asked.between:
        return replace(between_answer(found), next=[command_on("audit", name, asked)])
    if asked.effects:
        return rankings.effects_answer(found)
    if asked.across:
        return rankings.across_answer(found, asked.across, asked.top, shown)
    if asked.matrix:
        intervals = command_on("aggregate", name, asked, "--intervals")
        return replace(rankings.matrix_answer(found, asked.top, shown), next=[intervals])
    answer = rankings.ranking_answer(found, asked.top, command_on("audit", name, asked))
    if shown == "html" and found.pairs is not None:
        most = min(asked.top or rankings.PAIRED_ON_A_PAGE, rankings.PAIRED_ON_A_PAGE)
        return replace(answer, tables=[*answer.tables, *rankings.matrix_answer(found, most, shown).tables])
    return answer


class RankQuestion(SystemsQuestion):
    """Options of `rankbench rank`: the ranking, and what of it is shown."""

    per_task: Annotated[bool, Offered()] = False
    """The score of each system on each task, or topic, and no ranking."""

    @model_validator(mode="after")
    def _shown_together(self) -> Self:
        self.refuse_together("per_task", "shows the scores of all systems", "between")
        return self


@click.command(
    cls=SectionedCommand,
    sections={
        "Which scores": f"{READING} where without missing qrels",
        "Which method": "methods loss ties",
        "How sure": "between top",
        "How shown": f"per_task {FILES}",
    },
)
@click.argument(
    "scores", metavar="SCORES|RUN...", nargs=-1, required=True, shell_complete=complete_names("dataset", files=True)
)
@question_options(SystemsQuestion, ReadingQuestion, RowsQuestion, RankQuestion)
@file_options
def rank(scores: tuple[str, ...], form: Format | None, out: Path | None, title: str, **options: Any) -> None:
    """Rank the systems of a score table.

    SCORES is a table of systems by tasks, with or without seeds: a row a cell, a row a system, or a row a task. With
    --qrels it is TREC runs, whose topics are the tasks. Rank ranges hold for all systems together at 95%; systems of
    tier 1 are not significantly different from the first. "First in" is the share of resamples of tasks (and
    seeds) in which a system is first.
    """
    asked = RankQuestion.from_options(**options)
    qrels = asked.qrels
    shown = chosen_form(form, out, [*scores, qrels], pictures=not (asked.between or asked.per_task))
    if len(scores) > 1 and not qrels:
        raise SpecError(
            "rank takes one score table, or a pattern, as 'runs/*.eval'; several TREC runs need their judgments: "
            "--qrels FILE"
        )
    given, inputs = scores if qrels else scores[0], list(filter(None, (*scores, qrels)))
    facts: Mapping[str, Any] = {}
    if asked.per_task:
        read = scores_read(given, asked)
        answer, digest, size = rankings.per_task_answer(read), read.sha256, ""
    else:
        with heartbeat(f"ranking {' '.join(map(shown_log, scores))}"):
            found = ranked_scores(given, asked)
        answer = rankings.systems_answer(found) if found.between is None else systems_difference_answer(found)
        facts, digest, n = found.facts, found.facts["sha256"], found.facts["n"]
        size = f"{count_text(n['systems'], 'system')}, {count_text(n['tasks'], 'task')}"
    stated = read.stated if asked.per_task else {}
    sizes = dict.fromkeys(inputs, "" if qrels else size)
    origin = Provenance(sizes, [*facts.get("methods", ())], None if qrels else lambda: digest, stated)
    show(replace(answer, title=title, provenance=origin, question=asked), shown, out)
