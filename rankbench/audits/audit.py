"""`rankbench audit` asks of one ranking what its readers ask, a probe for each question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
import polars as pl

from rankbench.audits.fewest import fewest_judges, fewest_prompts, fewest_runs, fewest_tasks, fewest_votes
from rankbench.audits.left_out import (
    category_columns,
    clones,
    clustering,
    drifting,
    without_category,
    without_item,
    without_judge,
    without_third,
)
from rankbench.audits.more_votes import more_tasks, more_votes
from rankbench.audits.probe import Probe, ScoreBoard, ScoreProbe, VoteBoard, VoteProbe
from rankbench.audits.question import AuditQuestion
from rankbench.audits.recording import (
    controlled_ranking,
    covariates,
    duplicates,
    exposure,
    flips,
    missing_tasks,
    names_alike,
    sides,
)
from rankbench.audits.rules import rules
from rankbench.core.runtime import LOG_SEED, settle_runtime
from rankbench.data.readings.find import AnyReading
from rankbench.data.tables.kinds import default_of, not_judged
from rankbench.errors import InputError, SpecError, option
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.sequential_aggregator import ScoreAggregator
from rankbench.logs.open import Log, raw_log
from rankbench.logs.opened import OpenedLog, RawLog, no_file
from rankbench.logs.question import Filter
from rankbench.logs.votes import load_votes
from rankbench.plugin import manager
from rankbench.ranking.load import check_fit, load_log
from rankbench.ranking.rank import rank
from rankbench.ranking.rank_ranges import places
from rankbench.stats.multiple_tests import holm
from rankbench.systems.question import SystemsQuestion
from rankbench.systems.read_scores import read_scores
from rankbench.systems.score_ranking import METHODS, ranked_scores
from rankbench.systems.score_sample import complete_cases

LEVEL = 0.05
"""Probability that any probe fires on a clean board, which has none of the faults that probes look for."""

VOTE_PROBES: tuple[VoteProbe, ...] = (
    *(fewest_votes, fewest_judges, fewest_prompts, more_votes),
    *(without_judge, without_item, clones, without_category, without_third, drifting, clustering),
    *(rules, sides, covariates, flips, exposure, duplicates, names_alike),
)
"""Probes of votes, in the order of the page."""

SCORE_PROBES: tuple[ScoreProbe, ...] = (fewest_tasks, fewest_runs, more_tasks, missing_tasks)
"""Probes of score tables, in the order of the page."""


@dataclass(frozen=True)
class Audit:
    """Answers of all probes about one ranking.

    Attributes
    ----------
    method : str
        Method of the ranking, in contender syntax.
    first : str
        Name of the item or system in the first place.
    may_be_first : list of str
        Names that the data leave open for the first place at 95%; empty without intervals.
    data : dict of str to int
        Amounts of judgments, by noun.
    seed : int
    probes : tuple of Probe
        Probes that fire stand first.
    notes : tuple of str
        Remarks on how the data were read and ranked.
    filter : dict
        Parts of the filter that were asked for.
    reading : dict
        The reading of the columns: see `rankbench.data.tables.checks.CheckedTable`.
    sha256 : callable
        See `rankbench.logs.opened.RawLog`.
    """

    method: str
    first: str
    may_be_first: list[str]
    data: dict[str, int]
    seed: int
    probes: tuple[Probe, ...]
    notes: tuple[str, ...] = ()
    filter: dict[str, Any] = field(default_factory=dict)
    reading: dict[str, Any] = field(default_factory=dict)
    sha256: Callable[[], str | None] = field(default=no_file, repr=False)

    @property
    def fired(self) -> list[str]:
        """Names of the probes that fire."""
        return [probe.name for probe in self.probes if probe.fires]

    @property
    def table(self) -> pl.DataFrame:
        """A row for each probe: ``probe, question, answer, fires, level, p``."""
        names = ("name", "question", "answer", "fires", "level", "p")
        types = (pl.String, pl.String, pl.String, pl.Boolean, pl.Float64, pl.Float64)
        rows = [[getattr(probe, name) for name in names] for probe in self.probes]
        return pl.DataFrame(rows, dict(zip(names, types, strict=True)), orient="row").rename({"name": "probe"})

    def as_dict(self) -> dict[str, Any]:
        """Return all of it as plain values for JSON."""
        return {
            "method": self.method,
            "data": self.data,
            "seed": self.seed,
            **({"reading": self.reading} if self.reading else {}),
            **({"filter": self.filter} if self.filter else {}),
            "first": self.first,
            "may_be_first": self.may_be_first,
            "level": LEVEL,
            "probes": [
                {
                    "name": probe.name, "question": probe.question, "answer": probe.answer, "fires": probe.fires,
                    "finding": probe.finding or "", "option": probe.acts, "level": probe.level, "p": probe.p,
                    "facts": probe.facts,
                    "rows": [] if probe.table is None else probe.table.to_dicts(),
                }
                for probe in self.probes
            ],
            "notes": list(self.notes),
        }  # fmt: skip


def audit(
    log: Log,
    method: str = "",
    *,
    columns: str = "",
    words: str = "",
    reading: AnyReading | None = None,
    reader: str = "",
    seed: int = LOG_SEED,
    where: str = "",
    without: Sequence[str] = (),
    without_judge: Sequence[str] = (),
    min_votes: int = 0,
) -> Audit:
    """Audit the ranking of a log of votes, or of a score table.

    Parameters
    ----------
    log : path, LazyFrame, DataFrame, or name of a data set
        Votes, or scores of systems on tasks.
    method : str
        An aggregator in the contender grammar; by default as `rankbench.aggregate` has it for votes, and
        ``mean-score`` for score tables.
    columns, words, reading, reader
        As `rankbench.aggregate` and `rankbench.rank` take them.
    seed : int
        Not negative.
    where, without, without_judge, min_votes
        As `rankbench.aggregate` takes them; of a score table `without` are tasks and systems, and there are no others.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        The log cannot be used; with the row.
    SpecError
        An unknown method, one that does not fit the log, or a log of neither votes nor scores.
    ContenderDiverged
        The method has no finite scores for this log.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada"] * 6 + ["bob"] * 4, "loser": ["bob"] * 6 + ["ada"] * 4}
    >>> found = rankbench.audit(votes, "win-rate")
    >>> next(probe.answer for probe in found.probes if probe.name == "fewest-votes")
    'the removal of 3 votes of 10 (30%) puts bob above ada; no smaller number does (proved); the minimum is 3'
    """
    asked = dict(locals())
    return audited_log(asked.pop("log"), AuditQuestion.from_options(**asked))


def audited_log(log: Log, question: AuditQuestion) -> Audit:
    """Audit the ranking of a log as a question asks: see `audit`."""
    settle_runtime()
    named = manager.get(Aggregator, question.method) if question.method else None
    raw = raw_log(log, question.reader)
    source = None if isinstance(named, ScoreAggregator) else _opened(raw, question.told, question.keep)
    if source is None:
        return _audit_scores(raw, question)
    return _audit_votes(source, named or manager.get(Aggregator, default_of(source.table, "method")), question)


def vote_board(source: OpenedLog, method: Aggregator, seed: int) -> tuple[VoteBoard, list[str]]:
    """Return opened votes with their ranking, and remarks on both.

    Raises
    ------
    InputError
        The log cannot be used.
    SpecError
        The method does not fit it, or makes nothing comparable.
    """
    check_fit(method, source)
    votes = load_votes(source.frame)
    loaded, intervals = load_log(source, method, "auto")
    ranking = rank(loaded, method, intervals=intervals, seed=seed)
    said = list(source.notes)
    board = VoteBoard(source, votes, method, loaded, ranking, seed)
    if len(board.compared) < 2:
        raise SpecError(
            f"{method} puts each item on a scale of its own, so that no two can be compared: choose another"
        )
    level = places(ranking.scores[board.compared], ranking.scales[board.compared])[0] == 1
    if (shared := int(level.sum())) > 1:
        said.append(
            f"{shared} items share the first place by score: probes take {board.items[board.first]} for the first"
        )
    return board, [*said, *ranking.notes]


def with_levels(probes: Sequence[Probe]) -> tuple[Probe, ...]:
    """Return probes with their levels, firing ones first.

    They are as in `rankbench.stats.multiple_tests.holm`: .05 divided by the number of tests for the smallest p, by
    one fewer for the next, and so on, up to the first test that does not reject; later ones have its level.
    """
    tested = sorted((probe.p, at) for at, probe in enumerate(probes) if probe.p is not None)
    rejected = int((holm(np.array([p for p, _ in tested], np.float64)) <= LEVEL).sum())
    levels = {at: LEVEL / (len(tested) - min(k, rejected)) for k, (_, at) in enumerate(tested)}
    shown = [replace(probe, level=levels.get(at)) for at, probe in enumerate(probes)]
    return tuple(sorted(shown, key=lambda probe: not probe.fires))


def _opened(raw: RawLog, columns: str, keep: Filter) -> OpenedLog | None:
    """Return opened votes; None: the log may be a score table.

    Raises
    ------
    InputError, SpecError
        It holds neither.
    """
    rows = Filter(keep.where)
    try:
        source = raw.opened(columns, rows)
    except InputError as error:
        if not keep.without:
            raise
        try:  # the part left out may contradict the reading, as a mean among the tasks
            read_scores(raw, columns, keep.without, keep.where)
        except (InputError, SpecError):
            raise error from None
        return None
    if "measurements" in source.table.judgments:
        return None
    if not default_of(source.table, "method"):
        raise not_judged(source.name, source.table, "method")
    source = (raw.opened(columns, keep) if keep != rows else source).judged()
    if source.table.row != "comparisons":
        raise SpecError(f"{source.name} holds {source.table}; rankbench audit takes votes and score tables")
    return source


def _audit_votes(source: OpenedLog, method: Aggregator, question: AuditQuestion) -> Audit:
    board, notes = vote_board(source, method, question.seed)
    controlled = controlled_ranking(source, method, question.seed)
    board = replace(board, categories=category_columns(source, board.votes), controlled=controlled)
    data = {"votes": board.votes.count, "items": len(board.items)}
    data |= {"judges": board.votes.judge_count} if board.votes.judge_count else {}
    probes = with_levels([probe(board) for probe in VOTE_PROBES])
    first, open_to = board.items[board.first], [board.items[i] for i in board.may_be_first]
    asked = question.keep.as_dict(), dict(source.stated), source.raw.sha256
    return Audit(str(method), first, open_to, data, question.seed, probes, tuple(notes), *asked)


def _audit_scores(raw: RawLog, question: AuditQuestion) -> Audit:
    keep, method = question.keep, question.method or METHODS[0]
    if keep.without_judge or keep.min_votes:
        raise SpecError(
            f"a score table has no judges and no votes: leave {option('without_judge')} and {option('min_votes')} out"
        )
    named = cast("ScoreAggregator", manager.get(Aggregator, method))  # `ranked_scores` rejects others
    asked = SystemsQuestion.from_options(
        methods=(method,), columns=question.told, seed=question.seed, where=keep.where, without=keep.without
    )
    ranking = ranked_scores(raw, asked)
    board = ScoreBoard(ranking.cells, complete_cases(ranking.cells, "tasks")[0], named, ranking, question.seed)
    open_to = ranking.table.filter("may_be_first")["system"].to_list()
    data = {"systems": len(board.whole.systems), "tasks": len(board.whole.tasks)}
    probes = with_levels([probe(board) for probe in SCORE_PROBES])
    said = ranking.notes, keep.as_dict(), dict(ranking.facts.get("reading", {})), raw.sha256
    return Audit(str(named), board.first, open_to, data, question.seed, probes, *said)
