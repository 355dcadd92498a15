"""`rankbench aggregate` ranks the items of a log, `rank` the systems of a score table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click

from rankbench.cli import rankings
from rankbench.cli.difference import between_answer, systems_difference_answer
from rankbench.cli.forms import Format, chosen_form, file_options
from rankbench.cli.help import FILES, FILTER, READING, SectionedCommand
from rankbench.cli.origin import Provenance
from rankbench.cli.output import (
    complete_names,
    filter_options,
    heartbeat,
    reading_options,
    where_option,
)
from rankbench.cli.question_options import question_options
from rankbench.cli.shown import show
from rankbench.core.text import count_text
from rankbench.data.readers.remote import shown_log
from rankbench.errors import SpecError
from rankbench.ranking.aggregate import Aggregation, ranked_log
from rankbench.ranking.over_time import ScoresOverTime, scores_over_time
from rankbench.ranking.pictures import judgments_text
from rankbench.ranking.question import OverTimeQuestion, RankingQuestion
from rankbench.ranking.rankings_across import point_scale_of, rescaled
from rankbench.ranking.times import CalendarUnit
from rankbench.systems.question import SystemsQuestion
from rankbench.systems.read_scores import scores_read
from rankbench.systems.score_ranking import rank_scores


@click.command(
    cls=SectionedCommand,
    sections={
        "Which votes": f"{READING} {FILTER}",
        "Which model": "method by pool control over time_unit since",
        "How sure": "intervals between",
        "How shown": f"top points across matrix effects {FILES}",
    },
)
@click.argument("log", metavar="LOG", shell_complete=complete_names("dataset", files=True))
@question_options(RankingQuestion)
@click.option("--effects", is_flag=True, help="With --control: show the effects alone.")
@reading_options
@filter_options
@file_options
@click.option("--top", type=click.IntRange(1), help="Number of items to show, the first; places are among all items.")
@click.option("--scale", "points", default="", metavar="elo[:anchor=NAME@1000]", help="Log-odds as Elo points.")
@click.option(
    "--across",
    is_flag=False,
    flag_value="ranks",
    type=click.Choice(["ranks", "scores"]),
    help="With --by: a row for each item, a column for each category; without a value, of ranks.",
)
@click.option("--over", type=click.Choice(["time"]), help="Scores over time, with bands, and changes since --since.")
@question_options(OverTimeQuestion)
@click.option("--matrix", is_flag=True, help="Shares of wins of each item (row) against each other (column).")
def aggregate(
    log: str,
    effects: bool,
    form: Format | None,
    out: Path | None,
    top: int | None,
    points: str,
    across: Literal["ranks", "scores"] | None,
    over: str | None,
    time_unit: CalendarUnit | None,
    since: str,
    matrix: bool,
    title: str,
    **options: Any,
) -> None:
    """Rank the items of a log of votes, ballots or clicks.

    LOG is a file, a folder of shards or the name of a data set. Items that cannot be compared
    with one another stand on scales of their own.
    """
    shown = chosen_form(form, out, [log], pictures=not (matrix or effects))
    asked = RankingQuestion.from_options(**options)
    if over:
        if any([asked.by, asked.pool, asked.between, asked.intervals, asked.address, effects, points, across, matrix]):
            refused = "--by, --pool, --between, --effects, --intervals, --scale, --across, --matrix, --executor"
            raise SpecError(f"--over time: leave {refused} out")
        with heartbeat(f"scores over time of {shown_log(log)}"):
            history = scores_over_time(log, OverTimeQuestion.beside(asked, time_unit=time_unit, since=since))
        answer, size = rankings.history_answer(history, top), count_text(history.facts["n"], "vote")
        return show(replace(answer, title=title, provenance=_provenance(history, log, size)), shown, out)
    if time_unit or since:
        raise SpecError("--time-unit and --since go with --over time")
    scale = point_scale_of(points) if points else None
    if effects and (not asked.control or matrix):
        raise SpecError("--effects shows effects of covariates: name covariates with --control, and leave --matrix out")
    if across and (asked.by is None or matrix):
        raise SpecError("--across: categories stand side by side; say --by COLUMN with it, and no --matrix")
    if asked.intervals and (matrix or across == "scores"):
        raise SpecError("--matrix and --across scores show no intervals: leave --intervals out, or take --across ranks")
    if asked.between and any([effects, across, matrix, points]):
        raise SpecError("--between: leave --effects, --across, --matrix and --scale out")
    with heartbeat(f"ranking {shown_log(log)}"):
        found = ranked_log(log, asked)
    found = rescaled(found, scale) if scale else found
    if asked.between:
        answer = between_answer(found)
    elif effects:
        answer = rankings.effects_answer(found)
    elif across:
        answer = rankings.across_answer(found, across, top, shown)
    elif matrix:
        answer = rankings.matrix_answer(found, top)
    else:
        answer = rankings.ranking_answer(found, top, log)
        if shown == "html" and found.pairs is not None:
            shares = rankings.matrix_answer(found, min(top or rankings.PAIRED_ON_A_PAGE, rankings.PAIRED_ON_A_PAGE))
            answer = replace(answer, tables=[*answer.tables, *shares.tables])
    size = judgments_text(found.facts)
    return show(replace(answer, title=title, provenance=_provenance(found, log, size)), shown, out)


def _provenance(found: Aggregation | ScoresOverTime, log: str, size: str) -> Provenance:
    return Provenance({log: size}, [found.method], found.sha256, found.facts.get("reading", {}))


def _refuse_filter_of_votes(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        raise click.UsageError("score tables have no judges and no votes: leave --without-judge and --min-votes out")


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
@question_options(SystemsQuestion)
@click.option("--without-judge", "--min-votes", hidden=True, expose_value=False, callback=_refuse_filter_of_votes)
@reading_options
@where_option
@click.option("--per-task", is_flag=True, help="The score of each system on each task, or topic, and no ranking.")
@file_options
def rank(
    scores: tuple[str, ...],
    methods: tuple[str, ...],
    form: Format | None,
    out: Path | None,
    qrels: str,
    per_task: bool,
    title: str,
    **options: Any,
) -> None:
    """Rank the systems of a score table.

    SCORES is a table of systems by tasks, with or without seeds: a row a cell, a row a system, or a row a task. With
    --qrels it is TREC runs, whose topics are the tasks. Rank ranges hold for all systems together at 95%; systems of
    tier 1 are not significantly different from the first. "First in" is the share of resamples of tasks (and
    seeds) in which a system is first.
    """
    if per_task and options["between"]:
        raise SpecError("--per-task shows the scores of all systems: leave --between out")
    shown = chosen_form(form, out, [*scores, qrels], pictures=not (options["between"] or per_task))
    if len(scores) > 1 and not qrels:
        raise SpecError(
            "rank takes one score table, or a pattern, as 'runs/*.eval'; several TREC runs need their judgments: "
            "--qrels FILE"
        )
    given = scores if qrels else scores[0]
    if per_task:
        read = scores_read(given, SystemsQuestion.from_options(methods=methods, qrels=qrels, **options))
        inputs = dict.fromkeys(filter(None, (*scores, qrels)), "")
        digest = None if qrels else lambda: read.sha256
        answer = rankings.per_task_answer(read)
        return show(replace(answer, title=title, provenance=Provenance(inputs, (), digest, read.stated)), shown, out)
    with heartbeat(f"ranking {' '.join(map(shown_log, scores))}"):
        found = rank_scores(given, methods, qrels=qrels, **options)
    n = found.facts["n"]
    size = f"{count_text(n['systems'], 'system')}, {count_text(n['tasks'], 'task')}"
    inputs = {name: "" if qrels else size for name in filter(None, (*scores, qrels))}
    answer = rankings.systems_answer(found) if found.between is None else systems_difference_answer(found)
    digest = None if qrels else lambda: str(found.facts["sha256"])
    provenance = Provenance(inputs, [*found.facts["methods"]], digest)
    return show(replace(answer, title=title, provenance=provenance), shown, out)
