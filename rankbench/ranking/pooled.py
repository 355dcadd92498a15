"""Categories borrow strength from one another by partial pooling."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.core.runtime import one_blas_thread
from rankbench.core.text import number
from rankbench.errors import SpecError, option
from rankbench.interfaces.aggregator import Aggregator, CountAggregator, WithCovariance
from rankbench.interfaces.aggregator_calls import call_aggregator
from rankbench.logs.opened import OpenedLog
from rankbench.logs.votes import Votes
from rankbench.ranking.categories import CategorySample, category_votes, differences, estimated_categories
from rankbench.ranking.expected_votes import CategoryTest, category_test, chances
from rankbench.ranking.rank import Ranking, normal_deviations, sampling_notes, with_covariance
from rankbench.ranking.rank_ranges import check_size
from rankbench.ranking.ranked_log import tallies_of_counts
from rankbench.ranking.sampling_units import Units, few_judges, units_words
from rankbench.stats.random_effects import Shrinkage, VarianceEstimate

MOST_POOLED = 1000
"""Most items of categories that borrow from one another: some twenty matrices of all pairs for each category."""

_MOST_MATRICES = 200_000_000
"""Numbers of the covariances of all categories together: 1.6 GB."""

_LEVEL = 0.05


def category_rankings(
    source: OpenedLog, aggregator: Aggregator, *, column: str, seed: int
) -> tuple[dict[str, Ranking], dict[str, Any], list[str]]:
    """Rank categories by scores that are shrunk toward common ones.

    Parameters
    ----------
    source : OpenedLog
        Whose queries are the categories.
    aggregator : Aggregator
        Of log-odds, with a formula for their covariance.
    column : str
        Name of the category.
    seed : int

    Returns
    -------
    rankings : dict of str to Ranking
        By category.
    facts : dict
        ``pool`` and ``by_judge``, as `rankbench.Aggregation` has them.
    notes : list of str

    Raises
    ------
    SpecError
        The log holds no votes, the aggregator is not of log-odds or has no formula, or there are too many items.
    InputError
        The votes cannot be loaded.
    """
    formula = isinstance(aggregator, WithCovariance) and isinstance(aggregator, CountAggregator)
    if not formula or aggregator.score_unit() != "log-odds":
        raise SpecError(
            f"{option('pool')} needs log-odds and their covariance, for which {aggregator.name!r} has no formula; take "
            "bradley-terry:penalty=firth or davidson:penalty=firth"
        )
    if source.table.row != "comparisons":
        raise SpecError(f"{option('pool')} is for votes; {source.name} holds {source.table}")
    log = category_votes(source.frame)
    check_size(len(log.items))
    # Many small matrices: more threads take longer.
    with one_blas_thread():
        return pooled_rankings(log, aggregator, column, seed)


def pooled_rankings(
    log: Votes, aggregator: Aggregator, column: str, seed: int
) -> tuple[dict[str, Ranking], dict[str, Any], list[str]]:
    """Rank categories by scores that are shrunk toward common ones: see `category_rankings`.

    Raises
    ------
    SpecError
        See `category_rankings`.
    """
    m = len(log.items)
    if m > MOST_POOLED:
        raise SpecError(f"{option('pool')}: {m:,} items are too many (at most {MOST_POOLED:,}); leave some out")
    cells = log.queries.astype(np.int64) * m
    items = np.bincount(np.unique(np.concatenate([cells + log.winners, cells + log.losers])) // m)
    if float((items.astype(np.float64) ** 2).sum()) > _MOST_MATRICES:
        raise SpecError(f"{option('pool')}: items by categories are more than fit into memory; leave some out")
    few = few_judges(log)
    if few is not None:
        log = replace(log, judges=None, judge_names=())
    sample = estimated_categories(log, aggregator, seed)
    model = Shrinkage(sample.categories, m, sample.errors, sample.joint)
    if not model.freedom:
        raise SpecError(
            f"{option('pool')}: no difference of items is known in two categories of {column}: nothing can be shared"
        )
    tested = categories_matter(log, aggregator, seed)
    variance = without_zero(model.variance, tested)
    facts: dict[str, Any] = {"pool": _facts(variance, tested), "by_judge": log.judge_count > 1 and not log.unsigned}
    whole = replace(sample.whole, noun=units_words(facts["by_judge"], few))
    facts["sampled"] = [whole.noun]
    notes = [*_words(variance, tested, column, log), *sample.notes, *sampling_notes(whole, few)]
    rankings = [_ranking(log, sample, model, category, seed) for category in range(len(sample.names))]
    return dict(zip(sample.names, rankings, strict=True)), facts, notes


def categories_matter(log: Votes, aggregator: Aggregator, seed: int) -> CategoryTest:
    """Test whether categories matter, around the scores that the aggregator gives the whole log."""
    common = call_aggregator(aggregator, log.counts(), len(log.items))
    residuals = log.weights * (log.share_won(log.winners) - chances(common, log.winners, log.losers))
    judges = log.judges if log.judge_count > 1 and log.judges is not None else log.numbers
    return category_test(residuals, log.winners, log.losers, log.queries, judges, len(log.items), seed)


def without_zero(found: VarianceEstimate, tested: CategoryTest) -> VarianceEstimate:
    """Return the interval of a variance that contains 0 if and only if the test of categories does not reject it.

    Likelihood ratios test all other values. 0 has the better test, whose level needs no model of the scores; where the
    test rejects 0, an interval from 0 on is open.
    """
    return found if tested.p <= _LEVEL else replace(found, lower=0.0)


def _ranking(log: Votes, sample: CategorySample, model: Shrinkage, category: int, seed: int) -> Ranking:
    """Return the ranking of the items of a category by their predicted scores."""
    found, whole, items = model.predicted(category), sample.whole, sample.categories[category].items
    block, scales = np.ix_(items, items), model.scales[items]
    scores, covariance = _centered(found.scores[items], found.covariance[block], scales)
    # Degrees of freedom of the category's own units for their part of the error, else of the log's units.
    variance = np.maximum(np.diag(covariance), 0.0)
    own = np.clip(np.diag(_centered(scores, found.own[block], scales)[1]), 0.0, variance)
    log_freedom = np.maximum(whole.df_units[items] - 1, 1.0)
    own_freedom = np.maximum(sample.units[category].df_units - 1, 1.0)
    spread = own**2 / own_freedom + (variance - own) ** 2 / log_freedom
    freedom = np.divide(variance**2, spread, out=log_freedom.copy(), where=spread > 0)
    units = Units(whole.count, whole.effective, whole.items[items], whole.votes[items], freedom + 1)
    names = [log.items[i] for i in items]
    ranking = with_covariance(names, scores, scales, covariance, units, normal_deviations(covariance, seed))
    return replace(ranking, tallies=tallies_of_counts(sample.counts[category]))


def _centered(
    scores: NDArray[np.float64], covariance: NDArray[np.float64], scales: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return scores that sum to zero on every scale, (k,), and the covariance of these, (k, k)."""
    project = differences(scales)
    return project @ scores, project @ covariance @ project


def _facts(found: VarianceEstimate, tested: CategoryTest) -> dict[str, Any]:
    return {
        "variance": found.variance,
        "lower": found.lower,
        "upper": None if math.isinf(found.upper) else found.upper,
        "differences": found.freedom,
        "unit": "log-odds",
        "p": tested.p,
        "trials": tested.trials,
    }


def _words(found: VarianceEstimate, tested: CategoryTest, column: str, log: Votes) -> list[str]:
    """Return a note on the test of categories, and on the size of their effect."""
    of = "judges" if log.judge_count > 1 else "votes"
    p = f"p = {tested.p:.3g}" if tested.p > 0.001 else "p = 0.001 or less"
    made = f"{p}, {tested.trials} random exchanges of the categories of {of}"
    if tested.p <= _LEVEL:
        matters = f"{column} matters: scores differ between its categories by more than chance explains ({made})"
    else:
        matters = f"{column} shows no significant effect: chance may explain how scores differ between its categories"
        matters += f" ({made})"
    least = number(math.sqrt(found.lower)) if found.lower > 0 or tested.p > _LEVEL else "above 0"
    top = "any value above" if math.isinf(found.upper) else f"to {number(math.sqrt(found.upper))}"
    return [
        matters,
        f"an item's score differs between categories with a standard deviation of {number(math.sqrt(found.variance))}"
        f" log-odds (95% interval {least} {top}; variance {number(found.variance)} by REML). "
        "It shrinks scores of categories toward the common ones",
    ]
