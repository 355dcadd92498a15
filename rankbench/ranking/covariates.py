"""Rankings with covariates give scores of items, and effects of covariates."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.data.tables.covariates import CONTROL, ControlTerm, sided_columns
from rankbench.data.tables.kinds import default_of
from rankbench.errors import InputError, SpecError, option
from rankbench.interfaces.aggregator import MOST_DENSE, Aggregator
from rankbench.interfaces.covariate_aggregator import ControlledAggregator, Covariates, CovariateVotes
from rankbench.logs.opened import OpenedLog
from rankbench.logs.votes import Votes, load_votes
from rankbench.plugin.manager import get
from rankbench.ranking.interval_kinds import Intervals, LogFacts, by_judge
from rankbench.ranking.rank import (
    Ranking,
    normal_deviations,
    ranked,
    reference_note,
    sampling_notes,
    unknown,
    with_covariance,
)
from rankbench.ranking.rank_ranges import LARGEST, check_size
from rankbench.ranking.sampling_units import Units, few_judges, units_of_counts, units_of_votes, units_words
from rankbench.stats.moderation import RangeErrors

_LEVEL = 0.95


def checked_control(
    aggregator: Aggregator,
    source: OpenedLog,
    intervals: Intervals | Literal["auto"] | None,
) -> tuple[ControlledAggregator, Literal["sandwich"] | None]:
    """Return the aggregator and the intervals of a ranking with covariates.

    Raises
    ------
    SpecError
        It cannot have them: by method, kind of log, or kind of intervals.
    """
    if not isinstance(aggregator, ControlledAggregator):
        raise SpecError(
            f"{aggregator.name!r} estimates no effects of covariates: {option('control')} goes with bradley-terry and "
            "davidson"
        )
    if source.table.row != "comparisons":
        raise SpecError(f"{option('control')} is about votes, and {source.name} holds {source.table}")
    if intervals not in (None, "auto", "sandwich"):
        raise SpecError(
            f"{option('intervals', intervals)}: with {option('control')} they are by formula, and by judge where the "
            "log names judges; take auto or sandwich"
        )
    return aggregator.model_copy(update={"control": True}), None if intervals is None else "sandwich"


def rank_controlled(
    source: OpenedLog, aggregator: ControlledAggregator, intervals: Literal["sandwich"] | None, seed: int
) -> Ranking:
    """Rank the items of a log whose columns were read with covariates.

    Parameters
    ----------
    source : OpenedLog
    aggregator : ControlledAggregator
    intervals : "sandwich" or None
        Of the items; effects always have intervals.
    seed : int
        Of the normal deviations that rank ranges are made of.

    Returns
    -------
    Ranking
        Scores without what covariates explain; with ``effects``, ``covariate, effect, lower, upper, p, unit, words``:
        log-odds that `unit` of a covariate adds, with a 95% interval and the p of no effect (null where there are
        none), and the same in words.

    Raises
    ------
    InputError
        A covariate is missing in some rows, constant, or follows from others; more items than intervals compare.
    ContenderDiverged
        There is no maximum.
    """
    votes = load_votes(source.frame)
    votes = replace(votes, covariates=aggregator.shown(votes.covariates))
    if intervals is not None:
        check_size(len(votes.items))
    few = few_judges(votes)
    clustered = by_judge(LogFacts(votes.count, votes.judge_count, votes.unsigned, few is not None), "sandwich")
    rows = covariate_votes(votes, by_judge=clustered)
    notes = [*_scale_notes(votes), *_separated(rows)]
    if aggregator.config().get("penalty") == "firth" and len(votes.items) > MOST_DENSE:
        notes.append(
            f"with covariates Firth's penalty takes a matrix of all pairs of items, and {len(votes.items):,} items are "
            "too many: scores and effects have no penalty"
        )
    rows = rows.summed()
    aggregator.refuse_unidentified(rows)
    fit = aggregator.fit_controlled(rows)
    units = replace(_units(votes, rows, clustered), noun=units_words(clustered, few))
    covariance = None
    if units.count > 1 and len(votes.items) <= LARGEST:
        covariance = aggregator.checked_numbers("controlled_covariance", aggregator.controlled_covariance(rows, fit))
    scales = fit.scales.scale_of.astype(np.int64)
    m = len(votes.items)
    if intervals is None:
        ranking = ranked(votes.items, fit.scores, scales)
    elif covariance is None:
        ranking = unknown(votes.items, fit.scores, scales, units)
    else:
        own = covariance[:m, :m]
        errors = None if clustered or not votes.alike else RangeErrors(own, np.full(m, np.inf))
        ranking = with_covariance(votes.items, fit.scores, scales, own, units, normal_deviations(own, seed), errors)
        notes += [*sampling_notes(units, few), *reference_note(ranking)]
    if covariance is None:
        notes.append("too many items, or too few votes, for intervals of effects")
    se, freedom = np.full(len(fit.effects), np.nan), np.full(1, max(units.effective - 1, 1.0))
    if covariance is not None:
        se = np.sqrt(np.maximum(np.diag(covariance)[m:], 0))
    effects = effects_table(rows.covariates, fit.effects, se, freedom, decided=len(fit.extra) > 0)
    return replace(ranking, effects=effects, notes=tuple(notes))


def covariate_votes(votes: Votes, *, by_judge: bool = False) -> CovariateVotes:
    """Return votes with their covariates, each a row: its winner is the first item.

    Parameters
    ----------
    votes : Votes
        That have covariates.
    by_judge : bool
        Votes of a judge belong together.

    Raises
    ------
    InputError
        They have none.
    """
    if votes.covariates is None:
        raise InputError("the log was asked for no covariates")
    outcomes = np.zeros((len(votes), 3))
    outcomes[:, 0] = np.where(votes.ties, 0.0, votes.weights)
    outcomes[:, 2] = np.where(votes.ties, votes.weights, 0.0)
    clusters = votes.judges if by_judge else None
    rows = CovariateVotes(
        votes.items, votes.winners, votes.losers, outcomes, votes.covariates, clusters, not votes.alike
    )
    if votes.rest is None:
        return rows
    # The loser's part of a vote stands in its row: a sandwich takes the two together.
    outcomes[np.flatnonzero(votes.rest) - 1, 1] = votes.weights[votes.rest]
    rows = rows.take(~votes.rest)
    return rows if by_judge else replace(rows, clusters=np.arange(len(rows), dtype=np.int32))


def _units(votes: Votes, rows: CovariateVotes, clustered: bool) -> Units:
    if clustered and votes.judges is not None:
        return units_of_votes(votes, votes.judges)
    if rows.weighted:
        return units_of_votes(votes, votes.numbers)
    return units_of_counts(rows.counts())


def controlled_votes(votes: Votes) -> tuple[Votes, list[str]]:
    """Return votes for a model whose effects of covariates have no penalty, and notes.

    Raises
    ------
    InputError
        The votes do not identify an effect, or leave it without bound.
    """
    aggregator = get(ControlledAggregator, "bradley-terry")
    votes = replace(votes, covariates=aggregator.shown(votes.covariates))
    rows = covariate_votes(votes)
    if separated := _separated(rows):
        raise InputError(f"{separated[0]}, and scores over time have none")
    aggregator.refuse_unidentified(rows.summed())
    return votes, [*_scale_notes(votes), "effects of covariates are the same at all times, and scores are beside them"]


def effect_design_effects(votes: Votes) -> NDArray[np.float64]:
    """Return the design effect of votes by judge on each effect, shape (p,): at least 1.

    It is the ratio of the variances of `bradley-terry` by judge and by vote, as `DesignEffect` has it for scores.
    """
    aggregator = get(ControlledAggregator, "bradley-terry:penalty=firth")
    single, by_judges = (covariate_votes(votes, by_judge=clustered).summed() for clustered in (False, True))
    fit, m = aggregator.fit_controlled(single), single.m
    each, together = (aggregator.controlled_covariance(rows, fit).diagonal()[m:] for rows in (single, by_judges))
    return np.maximum(together / each, 1.0)


def effects_table(
    covariates: Covariates,
    effects: NDArray[np.float64],
    errors: NDArray[np.float64],
    freedom: NDArray[np.float64],
    *,
    decided: bool = False,
) -> pl.DataFrame:
    """Return the table of effects, with 95% intervals and p by Student's t.

    Parameters
    ----------
    covariates : Covariates
    effects, errors : ndarray of float64, shape (p,)
        Effects with their standard errors; nan: there is none.
    freedom : ndarray of float64, shape (1,)
        Degrees of freedom of the errors.
    decided : bool
        Whether ties are an outcome of the model: effects are of the other votes.
    """
    from scipy.special import stdtr, stdtrit

    table, half_widths = [], -stdtrit(freedom, (1 - _LEVEL) / 2) * errors
    p = 2 * stdtr(freedom, -np.abs(effects) / np.maximum(errors, np.finfo(float).tiny))
    numbers = (effects.tolist(), half_widths.tolist(), p.tolist())
    for name, unit, effect, wide, chance in zip(covariates.names, covariates.scales, *numbers, strict=True):
        lower, upper = effect - wide, effect + wide
        words = _in_words(name, unit, (effect, lower, upper), decided=decided)
        table.append((name, effect, lower, upper, chance, unit, words))
    columns = {"covariate": pl.String, **dict.fromkeys(("effect", "lower", "upper", "p"), pl.Float64)}
    frame = pl.DataFrame(table, schema={**columns, "unit": pl.Float64, "words": pl.String}, orient="row")
    return frame.with_columns(pl.col("lower", "upper", "p").fill_nan(None))


def _in_words(name: str, unit: float, effect: tuple[float, float, float], *, decided: bool) -> str:
    """Return a text on an effect and its interval, for a vote between two items of equal scores."""
    share, low, high = (1 / (1 + math.exp(-max(min(each, 700.0), -700.0))) for each in effect)
    who = "the left" if name.startswith("side") else f"who has {unit:.4g} more of {name}"
    certain = "" if math.isnan(low) else f"; 95% interval {low:.1%} to {high:.1%}"
    return f"between equals, {who} wins {share:.1%} of {'decided ' if decided else ''}votes{certain}"


def _scale_notes(votes: Votes) -> list[str]:
    known = () if votes.covariates is None else zip(votes.covariates.names, votes.covariates.scales, strict=True)
    scaled = [f"{name} by {scale:.4g}" for name, scale in known if scale != 1]
    if not scaled:
        return []
    return [
        f"rankbench divides covariates by their root mean square over the votes ({', '.join(scaled)}): an effect is "
        "that of a typical difference. raw(..) leaves one as it is"
    ]


def _separated(rows: CovariateVotes) -> list[str]:
    """Return a note on each covariate whose higher side won every vote, or none."""
    found = []
    won, lost = rows.outcomes[:, 0], rows.outcomes[:, 1]
    tied = rows.outcomes[:, 2] > 0
    for k, name in enumerate(rows.covariates.names):
        x = rows.covariates.values[:, k]
        along = won * (x > 0) + lost * (x < 0)
        against = won * (x < 0) + lost * (x > 0)
        if not (tied & (x != 0)).any() and (along.any() != against.any()):
            word = "won" if along.any() else "lost"
            found.append(
                f"control {name!r} separates the votes: the side with more of it {word} every one; only the penalty "
                "bounds its effect"
            )
    return found


_MOST = 8


def _telling(votes: pl.LazyFrame, terms: Collection[str]) -> list[str]:
    """Return the terms whose difference has the winner's sign in each decisive vote: a match's scores, for example."""
    schema = votes.collect_schema()
    names = {term: f"{CONTROL}{term}" for term in terms if f"{CONTROL}{term}" in schema and term != "side"}
    if not names or "first" not in schema:
        return []
    decisive = ~pl.col("tie") if "tie" in schema else pl.lit(value=True)
    won = pl.when("first").then(1.0).otherwise(-1.0)
    facts = [(pl.col(name).sign() == won).filter(decisive).all().alias(term) for term, name in names.items()]
    row = votes.select(facts).collect(engine="streaming").row(0, named=True)
    return [term for term, told in row.items() if told]


def offered_controls(source: OpenedLog, side: bool) -> list[str]:
    """Return terms of ``--control`` for a log: all that a ranking takes together; none without votes.

    They are columns of numbers that the file has for each of the two items, and ``side`` on demand. Columns that the
    default method rejects are left out: with words or missing values, with one value in all votes, or with values that
    follow from the items or from terms before.

    Parameters
    ----------
    source : OpenedLog
    side : bool
        Offer ``side``, too.
    """
    if source.table.row != "comparisons":
        return []
    terms: dict[str, tuple[str, ...]] = {}
    if side:
        terms["side"] = ()
    pairs = sided_columns(source.left, source.columns)
    terms |= {str(ControlTerm(name)): pair for name, pair in list(pairs.items())[:_MOST]}
    aggregator = get(Aggregator, default_of(source.table, "method"))
    while terms and isinstance(aggregator, ControlledAggregator):
        try:
            read = source.with_role("control", ", ".join(terms))
            if told := _telling(read.frame, terms):
                for term in told:
                    del terms[term]
                continue
            aggregator.refuse_unidentified(covariate_votes(load_votes(read.frame)).summed())
        except InputError as error:
            refused = [term for term, pair in terms.items() if error.column in (term, *pair)]
            if not refused:
                return []
            del terms[refused[0]]
            continue
        break
    return list(terms)
