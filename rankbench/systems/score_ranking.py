"""`rankbench rank` ranks a score table by several methods side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankbench.core.runtime import LOG_SEED, settle_runtime
from rankbench.core.text import listed
from rankbench.data.readers.frame_source import readable
from rankbench.data.readers.run_measures import Measure, Ties
from rankbench.data.readers.trec_tables import QrelsInMemory
from rankbench.data.readings.find import AnyReading
from rankbench.drawing.canvas import TitledDrawing
from rankbench.errors import SpecError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.sequential_aggregator import ScoreAggregator, TaskScores
from rankbench.logs.open import Log
from rankbench.plugin import manager
from rankbench.ranking.load import fitting_aggregators
from rankbench.ranking.pictures import systems_drawing
from rankbench.ranking.rank import Ranking
from rankbench.stats.contrasts import within_range
from rankbench.stats.simultaneous import FEW
from rankbench.systems.question import RESAMPLES_OF_SCORES, Missing, SystemsQuestion
from rankbench.systems.read_scores import RunFiles, Runs, ScoresRead, scores_read
from rankbench.systems.score_sample import (
    LEVEL,
    Kept,
    cells_table,
    complete_cases,
    dominant_task_notes,
    mixed_tasks,
    pair_table_notes,
    parts_drawn,
    size_text,
    turned_note,
)
from rankbench.systems.system_difference import system_differences
from rankbench.systems.system_ranking import is_mean, rank_systems, system_table, turned, turns

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MEAN_SCORE, MEAN_RANK = "mean-score", "mean-rank"

_NAMED = 5

METHODS = (MEAN_SCORE, MEAN_RANK, "borda-count")
"""Methods that are shown side by side where none is named."""

_SCHEMA = 1


@dataclass(frozen=True)
class ScoreRanking:
    """Rankings of the systems of a score table, by one or more methods.

    Attributes
    ----------
    table : DataFrame
        ``method, system, score, lower, upper, rank_low, rank_high, may_be_first, tier, p_first, p_top_k``, the best
        first in each method. The interval is the score's own, at 95%; rank ranges hold for all systems together at 95%.
        The best system is at 95% one of those that may be first. Tier 1 are the systems without a significantly better
        one. ``p_first`` and ``p_top_k`` are the shares of resamples in which a system is first, or among the first k.
    facts : dict
        Contents of `as_dict` beside the table and the notes.
    notes : tuple of str
        Remarks for the reader on missing, averaged and resampled scores.
    cells : TaskScores
        The scores that were ranked and those left out, as they were read.
    between : DataFrame, optional
        The difference of two systems that were asked for, a row for each method: ``method, system, other`` and the
        values of `rankbench.systems.system_difference.system_difference`.
    """

    table: pl.DataFrame
    facts: dict[str, Any]
    notes: tuple[str, ...]
    cells: TaskScores
    between: pl.DataFrame | None = None

    @property
    def by_task(self) -> pl.DataFrame:
        """The score of each system on each task, ``task, system, score``, with ``seed`` if there are several."""
        return cells_table(self.cells)

    def plot(self, method: str = "", top: int | None = None) -> Figure:
        """Draw the first systems with their intervals and places, as ``rankbench rank --out FILE.png``.

        Parameters
        ----------
        method : str
            One of those that ranked; by default the first.
        top : int, optional
            Number of systems; 21 by default.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        SpecError
            The table was not ranked by such a method.
        """
        return self.drawing(method, top).canvas()

    def drawing(self, method: str = "", top: int | None = None) -> TitledDrawing:
        """Return the drawing of `plot`, as data."""
        known = list(self.facts["methods"])
        if method and method not in known:
            raise SpecError(f"it was ranked by {', '.join(known)}, not by {method!r}")
        return systems_drawing(self.table, method or known[0], self.facts, top)

    def _repr_html_(self) -> str:
        """Return the methods and the table, for a notebook."""
        return f"<p>{escape(', '.join(self.facts['methods']))}</p>{self.table._repr_html_()}"

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain values for JSON."""
        return self.facts | {"notes": list(self.notes), "systems": self.table.to_dicts()}


def rank_scores(
    scores: Log | RunFiles | Runs,
    methods: Sequence[str] = (),
    *,
    without: Sequence[str] = (),
    top: int = 3,
    replicates: int = RESAMPLES_OF_SCORES,
    seed: int = LOG_SEED,
    columns: str = "",
    words: str = "",
    reading: AnyReading | None = None,
    reader: str = "",
    qrels: str | os.PathLike[str] | QrelsInMemory = "",
    loss: str = "",
    ties: Ties = "shared",
    missing: Missing | None = None,
    where: str = "",
    between: tuple[str, str] | None = None,
) -> ScoreRanking:
    """Rank the systems of a score table, with simultaneous rank ranges.

    Parameters
    ----------
    scores : path, DataFrame or LazyFrame
        A row a cell, a row a system or a row a task: docs/how-to/score-tables.md. With `qrels`, the path of a TREC run,
        a list of paths, or runs in memory: ``{system: {topic: {document: score}}}``, ``{topic: {document: score}}`` or
        a frame with the columns ``query_id, doc_id, score`` and perhaps ``system``.
    methods : sequence of str
        Aggregators of score tables; by default ``mean-score``, ``mean-rank`` and ``borda-count``, and of one run alone
        ``mean-score``.
    without : sequence of str
        Tasks and systems that are left out, such as the column of an average.
    top : int
        k of "top k in".
    replicates, seed : int
        Resamples, and their seed.
    columns, words, reading
        See `rankbench.aggregate`: ``system=model,task=dataset,score=accuracy,seed=run``, or ``system=model,scores=*``;
        less is better of ``loss`` and ``losses``.
    reader : str
        Reader of a file; chosen by its ending by default.
    qrels : path, mapping or frame
        Judgments by which TREC runs are judged: a file, ``{topic: {document: grade}}``, or a frame with the columns
        ``query_id, doc_id, relevance``.
    loss : str
        Loss that runs are judged by, the score being one minus it, or a measure as ir_measures calls it, as ``AP``. By
        default nDCG@10, as trec_eval has it.
    ties : {"shared", "trec-eval"}
        Places of documents of equal scores: the mean of their places, or trec_eval's order, backwards by name.
    missing : {"tasks", "systems", "zero"}
        Part left out where cells are missing: tasks that some system lacks, the default, or systems that lack some
        task. ``zero``, the default with `qrels`: a judged topic that a run lacks scores 0 (``trec_eval -c``).
    where : str
        Condition on the table's rows: see `rankbench.aggregate`.
    between : (str, str), optional
        Two systems whose difference is wanted, chosen beforehand.

    Raises
    ------
    InputError
        The table cannot be used, with row and column where there is one; or it has no such system.
    SpecError
        An unknown method or task, or an option that is out of range.
    """
    asked = dict(locals())
    return ranked_scores(asked.pop("scores"), SystemsQuestion.from_options(**asked))


def ranked_scores(scores: Log | RunFiles | Runs, question: SystemsQuestion) -> ScoreRanking:
    """Rank the systems of a score table as a question asks: see `rank_scores`."""
    settle_runtime()
    asked = [score_method(text) for text in question.methods or METHODS]
    found = scores_read(scores, question)
    read, alone = found.table, bool(found.loss) and len(found.table.systems) == 1
    with readable(found.path):
        kept: Kept = "systems" if question.missing == "systems" else "tasks"
        whole, more = (read, []) if alone else complete_cases(read, kept, found.notes)
    asked = asked[:1] if alone and not question.methods else asked
    mixed = mixed_tasks(whole)
    about = [*dominant_task_notes(whole), *mixed, *pair_table_notes(whole), size_text(whole, every=bool(mixed))]
    k, drawn = min(question.top, len(whole.systems)), {"replicates": question.replicates, "seed": question.seed}
    known: dict[bytes, Ranking] = {}
    ranked = [_ranked(whole, method, found.loss, k=k, known=known, **drawn) for method in asked]
    notes = [*found.notes, *turned_note(read), *more, *about]
    notes += [f"{method}: {note}" for method, ranking in zip(asked, ranked, strict=True) for note in ranking.notes]
    if not alone:
        notes += _by_ranks(whole, known=known, **drawn)
        parts = parts_drawn(whole)
        notes.append(f"first in, top {k} in: shares of resamples ({parts}), not probabilities of being the best")
    tables = [
        system_table(method, whole.systems, ranking, less=_less(method, whole))
        for method, ranking in zip(asked, ranked, strict=True)
    ]
    contrasts = system_differences(whole, asked, question.between, **drawn) if question.between else None
    return ScoreRanking(pl.concat(tables), _facts(found, whole, asked, question, k), tuple(notes), read, contrasts)


def _ranked(
    whole: TaskScores,
    method: ScoreAggregator,
    loss: str,
    *,
    k: int,
    replicates: int,
    seed: int,
    known: dict[bytes, Ranking],
) -> Ranking:
    """Return the ranking by a method, in the units of the table; its intervals keep to the range of a loss."""
    ranking = rank_systems(whole.better, method, k=k, replicates=replicates, seed=seed, known=known)
    ranking = turned(ranking, -1.0, 0.0) if turns(method, whole) else ranking
    if loss and is_mean(method, whole.better):
        ends = Measure.parsed(loss).ends()
        lower, upper = within_range(ranking.scores, ranking.lower, ranking.upper, ends)
        ranking = replace(ranking, lower=lower, upper=upper)
    return ranking


def _facts(
    found: ScoresRead,
    whole: TaskScores,
    asked: Sequence[ScoreAggregator],
    question: SystemsQuestion,
    k: int,
) -> dict[str, Any]:
    """Return the facts in JSON beside the table: methods, source, sizes, missing cells."""
    read = found.table
    return {
        "schema_version": _SCHEMA,
        "methods": {
            str(method): {"unit": method.unit, "direction": "minimize" if _less(method, whole) else "maximize"}
            for method in asked
        },
        "sha256": found.sha256,
        **({"reading": dict(found.stated)} if found.stated else {}),
        "loss": found.loss or None,
        "n": {"systems": len(whole.systems), "tasks": len(whole.tasks), "seeds": len(whole.seeds)},
        "tasks": whole.tasks,
        "lower_is_better": [task for task in whole.tasks if task in whole.less],
        "without": list(question.without),
        **({"filter": {"where": question.where}} if question.where else {}),
        "missing": {
            "cells": int((~read.present).sum()),
            "of_cells": read.present.size,
            "left_out": found.missing,
            "tasks_left_out": len(read.tasks) - len(whole.tasks),
            "systems_left_out": len(read.systems) - len(whole.systems),
        },
        "seed": question.seed,
        "replicates": question.replicates,
        "top_k": k,
        "intervals": {
            "level": LEVEL,
            "scores": "each by itself, Student's t with the standard error of the bootstrap",
            "ranks": "all together, step-down tests of all ordered pairs",
            "resampled": parts_drawn(whole),
        },
    }


def _less(method: ScoreAggregator, whole: TaskScores) -> bool:
    """Return whether a method's scores are minimized."""
    return (method.direction == "minimize") != turns(method, whole)


def _by_ranks(whole: TaskScores, *, replicates: int, seed: int, known: dict[bytes, Ranking]) -> list[str]:
    """Return a note on the first systems by mean ranks, if tasks are few and no method of `known` uses ranks."""
    if len(whole.tasks) > FEW:
        return []
    asked, by_ranks = len(known), score_method(MEAN_RANK)
    found = rank_systems(whole.better, by_ranks, k=1, replicates=replicates, seed=seed, known=known)
    if len(known) == asked:
        return []
    names = [name for name, first in zip(whole.systems, np.asarray(found.first), strict=True) if first]
    return [f"by {MEAN_RANK}, {listed(names, _NAMED)} may be first"]


def score_method(text: str) -> ScoreAggregator:
    """Return an aggregator of score tables from its text.

    Raises
    ------
    SpecError
        It aggregates something else.
    """
    found = manager.get(Aggregator, text)
    if isinstance(found, ScoreAggregator):
        return found
    fitting = ", ".join(fitting_aggregators(["measurements"]))
    raise SpecError(f"{found.name!r} aggregates {found.judgments}, not score tables; methods: {fitting}")
