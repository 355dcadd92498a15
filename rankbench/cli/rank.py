"""`rankbench rank` ranks the systems of a score table by several methods side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rankbench.cli.output import complete_names, heartbeat, reader_option
from rankbench.cli.shown import Format, chosen_form, file_options, show
from rankbench.core.runtime import LOG_SEED


@click.command()
@click.argument(
    "scores", metavar="SCORES|RUN...", nargs=-1, required=True, shell_complete=complete_names("dataset", files=True)
)
@click.option(
    "--method",
    "methods",
    multiple=True,
    metavar="NAME",
    shell_complete=complete_names("aggregator"),
    help="Aggregator of score tables, NAME:param=...; repeatable. Default: mean-score, mean-rank and borda-count.",
)
@click.option("--lower", multiple=True, metavar="TASK", help="A task of which less is better, as latency; repeatable.")
@click.option(
    "--without",
    multiple=True,
    metavar="NAME",
    help="A task or system to leave out, as an average; repeatable.",
)
@click.option("--top", default=3, show_default=True, type=click.IntRange(1), help="k of P(top k).")
@click.option("--replicates", default=10_000, show_default=True, type=click.IntRange(2, 100_000), help="Resamples.")
@click.option("--seed", default=LOG_SEED, show_default=True, type=click.IntRange(0), help="Of the resamples.")
@click.option(
    "--columns",
    default="",
    metavar="ROLE=NAME,..",
    help="What columns mean: system=model,task=dataset,score=accuracy,seed=run; system or task alone: its row holds "
    "all scores of it.",
)
@reader_option
@click.option("--qrels", default="", metavar="FILE", help="Judgments of TREC runs, which are then given: RUN RUN ...")
@click.option(
    "--loss",
    default="",
    metavar="NAME",
    shell_complete=complete_names("loss"),
    help="What judges runs; default: ndcg:gain=identity,cutoff=10 (nDCG@10).",
)
@click.option(
    "--missing",
    type=click.Choice(["tasks", "systems"]),
    default="tasks",
    show_default=True,
    help="What is left out where cells are missing: tasks that not all systems have, or systems without all tasks.",
)
@file_options("Write a file, whole or not at all; .png and .svg: a picture of the first method's ranking.")
def rank(
    scores: tuple[str, ...],
    methods: tuple[str, ...],
    form: Format | None,
    out: Path | None,
    qrels: str,
    **options: Any,
) -> None:
    """Rank the systems of a score table.

    SCORES is a table of systems by tasks, with or without seeds: a row a cell, a row a system, or a row a task. With
    --qrels it is TREC runs, whose topics are the tasks. Rank ranges hold for all systems together at 95%; systems of
    tier 1 are not told apart from the first. P(first) is the share of resamples of tasks (and seeds) in which a system
    is first.
    """
    from rankbench.cli.rankings import systems_answer
    from rankbench.data.readers.remote import shown_log
    from rankbench.errors import SpecError
    from rankbench.ranking.score_ranking import rank_scores

    shown = chosen_form(form, out, [*scores, qrels], pictures=True)
    if len(scores) > 1 and not qrels:
        raise SpecError("one score table is ranked at a time; several TREC runs need their judgments: --qrels FILE")
    with heartbeat(f"ranking {' '.join(map(shown_log, scores))}"):
        found = rank_scores(scores if qrels else scores[0], methods, qrels=qrels, **options)
    show(systems_answer(found), shown, out)
