r"""Firth's penalty adds half the log determinant of the information to the likelihood of comparisons.

The penalty is Jeffreys' prior. It takes the first-order bias out of the scores, and they are finite for
whatever was compared. Bradley-Terry's and Davidson's models are log-linear, and for these the score
equations are those of maximum likelihood with pseudo-votes ([F93]_ section 3; [K21]_): a vote of
outcome c between i and j counts

.. math:: a_{ijc} = \tfrac12 n_{ij} P_{ijc} (T_c - \mu_{ij})^T \Sigma_{ij} (T_c - \mu_{ij})

more, with T the statistic of an outcome, :math:`\mu` its mean, and :math:`\Sigma_{ij}` the
inverse information of what the chances of the pair depend on. In Bradley-Terry they come to half of the pair's
hat value :math:`h_{ij} = n_{ij} p_{ij} (1 - p_{ij}) (e_i - e_j)^T \Sigma (e_i - e_j)` each way: of a single pair, half
a win each. Pseudo-votes depend on the scores, so that fits and pseudo-votes are made in turns until neither moves:
each fit is Newton's, from the one before.

References
----------
.. [F93] D. Firth. Bias reduction of maximum likelihood estimates. Biometrika 80(1), 1993.
.. [K21] I. Kosmidis and D. Firth. Jeffreys-prior penalty, finiteness and shrinkage in
   binomial-response generalized linear models. Biometrika 108(1), 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.likelihood.bradley_terry import PairFit, fit_bradley_terry
from rankbench.aggregators.likelihood.davidson import fit_davidson, tie_chances
from rankbench.aggregators.likelihood.laplacian_system import Laplacian
from rankbench.errors import ContenderDiverged, InputError
from rankbench.interfaces.aggregator import MOST_DENSE
from rankbench.interfaces.pair_counts import PairCounts, connected_components

_TURNS = 500

_CLOSE = 1e-9
"""The last turn changes no score by more."""

_LEAST = 1e-300
"""Rounding makes no pseudo-vote negative: each pair has some both ways, and all of a component are on one scale."""

_INNER = 1e-10
"""Fits between two turns move no score by more in their last step."""


def firth_bradley_terry(counts: PairCounts) -> PairFit:
    """Maximize the Bradley-Terry likelihood with Firth's penalty, ties being half wins.

    O(m^3) a turn; there are some ten turns, more where items have a few votes each: each turn leaves a share of the
    error that falls as votes become more, from a half, of one vote a pair, down to nothing.

    Parameters
    ----------
    counts : PairCounts
        Every pair has some weight.

    Returns
    -------
    PairFit
        Its scales are the connected components.

    Raises
    ------
    InputError
        No pairs, or more than 4000 items.
    ContenderDiverged
        The turns do not come to rest.
    """
    _check(counts)
    forward, backward = counts.wins()
    votes = replace(counts, forward=forward, backward=backward, ties=np.zeros(len(counts)))

    def fit(more: NDArray[np.float64], start: PairFit | None) -> PairFit:
        padded = replace(votes, forward=forward + more[0], backward=backward + more[1])
        return fit_bradley_terry(padded, start=None if start is None else start.scores, tolerance=_INNER)

    graph = _graph(counts)
    first = np.full((2, len(counts)), _even_share(graph) / 2)
    found = _in_turns(fit, lambda one: _half_hats(counts, graph, one.scores), first)
    return replace(found, scales=graph.scales)


def firth_davidson(counts: PairCounts) -> PairFit:
    r"""Maximize the likelihood of Davidson's model with Firth's penalty, that of scores and :math:`\log \nu` together.

    Without ties :math:`\nu = 0`, and the scores are those of `firth_bradley_terry`; if all are ties,
    :math:`\nu = \infty` and all scores are 0.

    Parameters
    ----------
    counts : PairCounts
        As in `firth_bradley_terry`.

    Returns
    -------
    PairFit
        Its scales are the connected components.

    Raises
    ------
    InputError, ContenderDiverged
        As in `firth_bradley_terry`.
    """
    _check(counts)
    if not counts.ties.any():
        return firth_bradley_terry(counts)
    graph = _graph(counts)
    if not (counts.forward.any() or counts.backward.any()):
        return PairFit(np.zeros(counts.m), graph.scales, 0.0, np.inf)

    def fit(more: NDArray[np.float64], start: PairFit | None) -> PairFit:
        padded = replace(
            counts, forward=counts.forward + more[0], backward=counts.backward + more[1], ties=counts.ties + more[2]
        )
        if start is None:
            return fit_davidson(padded, tolerance=_INNER)
        return fit_davidson(padded, start=start.scores, start_nu=start.nu, tolerance=_INNER)

    first = np.full((3, len(counts)), _even_share(graph) / 3)
    found = _in_turns(fit, lambda one: _davidson_hats(counts, graph, one), first)
    return replace(found, scales=graph.scales)


def pseudo_votes(counts: PairCounts, fit: PairFit) -> NDArray[np.float64]:
    """Return what Firth's penalty adds for `low`, for `high` and for ties of each pair, shape (3, P).

    In Bradley-Terry, half of the pair's hat value for each of the two, nothing for ties. The values of all pairs sum
    to m less the number of connected components.

    Parameters
    ----------
    counts : PairCounts
    fit : PairFit
        Whose nu is finite.
    """
    if fit.nu > 0:
        return _davidson_hats(counts, _graph(counts), fit)
    half = _half_hats(counts, _graph(counts), fit.scores)[0]
    return np.stack([half, half, np.zeros(len(half))])


def _davidson_hats(counts: PairCounts, graph: Laplacian, fit: PairFit) -> NDArray[np.float64]:
    chances = np.stack(tie_chances(graph, fit.scores, float(np.log(fit.nu))))
    p, q, r = chances
    judged = counts.forward + counts.backward + counts.ties
    inverse = graph.inverse(judged * (p + q - (p - q) ** 2) / 4)
    cross = graph.item_sums(-judged * r * (p - q) / 2)
    ahead = inverse @ cross
    spread = 1 / (float(judged @ (r * (p + q))) - float(cross @ ahead))
    gap = ahead[graph.low] - ahead[graph.high]
    # What an outcome says of the difference and of log nu, less its mean.
    by_lead = np.array([[0.5], [-0.5], [0.0]]) - (p - q) / 2
    by_tie = np.array([[0.0], [0.0], [1.0]]) - r
    form = by_lead**2 * (graph.distances(inverse) + gap**2 * spread)
    form += spread * (by_tie**2 - 2 * by_lead * by_tie * gap)
    more: NDArray[np.float64] = np.maximum(judged * chances * form / 2, _LEAST)
    return more


def _check(counts: PairCounts) -> None:
    if not len(counts):
        raise InputError("there are no comparisons to fit")
    if counts.m > MOST_DENSE:
        raise InputError(f"Firth's penalty of {counts.m} items takes too large a matrix (at most {MOST_DENSE} items)")


def _graph(counts: PairCounts) -> Laplacian:
    return Laplacian(counts.starts, counts.high, 0.0, connected_components(counts))


def _even_share(graph: Laplacian) -> float:
    """Return the mean of the pairs' hat values, whatever the scores are."""
    return (graph.m - len(graph.scales)) / len(graph.high)


def _half_hats(counts: PairCounts, graph: Laplacian, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return half of each pair's hat value in Bradley-Terry, twice, shape (2, P)."""
    from scipy.special import expit

    lead = scores[graph.low] - scores[graph.high]
    edge = (counts.forward + counts.backward + counts.ties) * expit(lead) * expit(-lead)
    half = np.maximum(edge * graph.distances(graph.inverse(edge)) / 2, _LEAST)
    return np.stack([half, half])


def _in_turns(
    fit: Callable[[NDArray[np.float64], PairFit | None], PairFit],
    added: Callable[[PairFit], NDArray[np.float64]],
    first: NDArray[np.float64],
) -> PairFit:
    """Return the fit whose pseudo-votes are those that it was made with."""
    found = fit(first, None)
    for turn in range(1, _TURNS + 1):
        after = fit(added(found), found)
        change = float(np.abs(after.scores - found.scores).max())
        found = replace(after, iterations=turn)
        if change <= _CLOSE:
            return found
    raise ContenderDiverged(f"Firth's penalty: not at the maximum after {_TURNS} turns (the last one of {change:.2g})")
