"""Kernels compute gradients and Newton steps of the Bradley-Terry likelihood.

The pairs are rows of a sparse upper triangle (`rankbench.interfaces.pair_counts`). The loss is

    sum over pairs {i, j} of  n_ij log(e^{s_i} + e^{s_j}) - sum_i won_i s_i + ridge/2 |s|^2

with n_ij all that was judged between i and j, and won_i all that i won: only n is needed
in the inner loops. Where the pairs of a row are those with consecutive items, the loop over
them has no index and no division that Python would check: the compiler makes vectors of it.
Elsewhere indices are unsigned: a negative one would be looked for, to count it from the end.

References
----------
.. [STD19] T. Sun and Q. Tran-Dinh. Generalized self-concordant functions: a recipe for Newton-type methods.
   Mathematical Programming 178, 2019.
.. [EW94] S. C. Eisenstat and H. F. Walker. Globally convergent inexact Newton methods.
   SIAM Journal on Optimization 4(2), 1994.
"""

from __future__ import annotations

import math

import numpy as np

from rankbench.core.runtime import settle_runtime
from rankbench.kernels.declared import Index, ReadIndex, ReadRows, ReadVector, Rows, Vector, declared
from rankbench.kernels.pairs import WORK, conjugate_gradients, consecutive, sum_in_eights, sum_pairs
from rankbench.kernels.signatures import AGGREGATE

settle_runtime()


AT_MAXIMUM, NEEDS_SOLUTION, STUCK, UNFINISHED = 0, 1, 2, 3
"""Outcomes of `newton`: it came to rest; the next step has to be solved for; rounding stops it; too many steps."""

NEWTON_WORK = WORK + 2
"""Vectors of length m that `newton` needs, besides a number a pair."""

FAR = 4.0
"""Log-odds: a step that moves the items of a pair further apart is damped."""

_STEPS = 200
_ROUNDING = 1e-15
_WIDE = 300.0
"""Scores beyond this are not raised to powers of e: e^600 is still a number."""


@declared()
def item_sums(
    starts: ReadRows, high: ReadIndex, forward: ReadVector, backward: ReadVector, won: Vector, lost: Vector
) -> None:
    """Sum every item's wins and losses, (m,), in arrays that hold zeros on entry."""
    for i in range(len(won)):
        mine, other = 0.0, 0.0
        for e in range(starts[i], starts[i + 1]):
            j = high[e]
            mine += forward[e]
            other += backward[e]
            won[j] += backward[e]
            lost[j] += forward[e]
        won[i] += mine
        lost[i] += other


@declared(error_model="numpy")
def gradient_and_curvature(
    starts: ReadRows,
    high: ReadIndex,
    judged: ReadVector,
    won: ReadVector,
    ridge: float,
    scores: Vector,
    gradient: Vector,
    curvature: Vector,
) -> None:
    """Write the gradient, (m,), and each pair's second derivative ``n p (1 - p)``, (P,)."""
    m = len(scores)
    widest = 0.0
    for i in range(m):
        gradient[i] = ridge * scores[i] - won[i]
        widest = max(widest, abs(scores[i]))
    if widest < _WIDE:
        # One power an item instead of one a pair.
        power, parts = np.exp(scores), np.empty(m)
        for i in range(m):
            p_i, begin, end = power[i], starts[i], starts[i + 1]
            if consecutive(high, begin, end):
                n, bend, part = judged[begin:end], curvature[begin:end], parts[: end - begin]
                theirs, slope = power[high[begin] :], gradient[high[begin] :]
                for k in range(len(part)):
                    inverse = 1.0 / (p_i + theirs[k])
                    share = n[k] * inverse
                    part[k] = share * p_i
                    bend[k] = share * p_i * (theirs[k] * inverse)
                    slope[k] += share * theirs[k]
                gradient[i] += sum_in_eights(part)
                continue
            mine = 0.0
            for e in range(np.uint64(begin), np.uint64(end)):
                j = np.uint64(high[e])
                inverse = 1.0 / (p_i + power[j])
                share = judged[e] * inverse
                curvature[e] = share * p_i * (power[j] * inverse)
                mine += share * p_i
                gradient[j] += share * power[j]
            gradient[i] += mine
        return
    for i in range(m):
        mine = 0.0
        for e in range(starts[i], starts[i + 1]):
            j = high[e]
            # exp may overflow to inf: 0 is then right.
            p = 1.0 / (1.0 + math.exp(scores[j] - scores[i]))
            q = 1.0 / (1.0 + math.exp(scores[i] - scores[j]))
            curvature[e] = judged[e] * p * q
            mine += judged[e] * p
            gradient[j] += judged[e] * q
        gradient[i] += mine


@declared()
def centered(vector: Vector, scale: ReadIndex, sizes: ReadVector) -> None:
    """Make a vector sum to zero on every scale, in place."""
    means = np.zeros(len(sizes))
    for i in range(len(vector)):
        means[scale[i]] += vector[i]
    for s in range(len(sizes)):
        means[s] /= sizes[s]
    for i in range(len(vector)):
        vector[i] -= means[scale[i]]


@declared()
def largest_lead(starts: ReadRows, high: ReadIndex, step: Vector) -> float:
    """Return the largest difference of a step, (m,), between the items of a pair."""
    largest = 0.0
    for i in range(len(step)):
        for e in range(starts[i], starts[i + 1]):
            largest = max(largest, abs(step[i] - step[high[e]]))
    return largest


@declared()
def newton(
    starts: ReadRows,
    high: ReadIndex,
    judged: ReadVector,
    won: ReadVector,
    lost: ReadVector,
    ridge: float,
    scale: ReadIndex,
    sizes: ReadVector,
    patience: int,
    tolerance: float,
    solved: bool,
    scores: Vector,
    gradient: Vector,
    curvature: Vector,
    step: Vector,
    work: Vector,
) -> tuple[int, float, int]:
    """Move `scores` to the maximum of the likelihood by Newton's method [EW94]_.

    A step that moves a pair by D > `FAR` is taken by log(1 + D) / D of its length: the likelihood then grows
    ([STD19]_, damped steps for nu = 2), where the whole step may end so far out that no pair bends any more.

    Parameters
    ----------
    starts, high, judged : ndarray
        The pairs, none between two scales, and each pair's judgments.
    won, lost : ndarray of float64, shape (m,)
    scale, sizes : ndarray
        Scale of every item, number of items of every scale. Gradients and steps sum to zero on every
        scale but for rounding, which is taken out: along it only the ridge holds.
    patience : int
        Steps of conjugate gradients for a system; one that takes more is left to the caller.
    tolerance : float
        The last step changes no score by more; quadratic convergence leaves the square of it.
    solved : bool
        Whether the caller has solved for `step`, with `gradient` and `curvature` as they were left.
    scores : ndarray of float64, shape (m,)
        Where to start; on return where it ended.
    gradient, curvature, step : ndarray of float64, shapes (m,), (P,), (m,)
        At `scores` on return, where the step has to be solved for.
    work : ndarray of float64
        Room for ``NEWTON_WORK m + P`` numbers.

    Returns
    -------
    status : int
        `AT_MAXIMUM`, `NEEDS_SOLUTION`, `STUCK` or `UNFINISHED`.
    change : float
        Largest change of a score in the last step.
    iterations : int
        Steps taken.
    """
    m = len(scores)
    ahead, trial, inner = work[:m], work[m : 2 * m], work[2 * m : NEWTON_WORK * m]
    spare = work[NEWTON_WORK * m : NEWTON_WORK * m + len(judged)]
    if not solved:
        gradient_and_curvature(starts, high, judged, won, ridge, scores, gradient, curvature)
        centered(gradient, scale, sizes)
    squares, all_judged = 0.0, 0.0
    for i in range(m):
        squares += gradient[i] * gradient[i]
        all_judged += (won[i] + lost[i]) * (won[i] + lost[i])
    norm = first = math.sqrt(squares)
    noise = _ROUNDING * math.sqrt(all_judged)
    # They change places at every step: of millions of pairs a copy takes as long as a tenth of the step.
    bends, bends_ahead, exchanged = curvature, spare, False
    change = 0.0
    for iteration in range(_STEPS):
        if norm <= noise:
            return AT_MAXIMUM, 0.0, iteration
        if not solved:
            # Solved loosely far away and ever more tightly near by: quadratic convergence.
            enough = max(min(0.01, norm / first), 1e-12) * norm
            if conjugate_gradients(starts, high, bends, ridge, gradient, enough, patience, inner, step) < 0:
                if exchanged:
                    for e in range(len(judged)):
                        curvature[e] = bends[e]
                return NEEDS_SOLUTION, change, iteration
            centered(step, scale, sizes)
        solved = False
        change = 0.0
        for i in range(m):
            change = max(change, abs(step[i]))
        if change <= tolerance:
            for i in range(m):
                scores[i] -= step[i]
            return AT_MAXIMUM, change, iteration + 1
        length, lead = 1.0, 0.0
        if 2.0 * change > FAR:
            lead = largest_lead(starts, high, step)
            if lead > FAR:
                length = math.log1p(lead) / lead
        while True:
            for i in range(m):
                trial[i] = scores[i] - length * step[i]
            gradient_and_curvature(starts, high, judged, won, ridge, trial, ahead, bends_ahead)
            centered(ahead, scale, sizes)
            squares = 0.0
            for i in range(m):
                squares += ahead[i] * ahead[i]
            after = math.sqrt(squares)
            # Backtracking on the gradient's norm needs no value of the objective.
            if lead > FAR or after <= max((1.0 - 1e-4 * length) * norm, noise):
                break
            length *= 0.5
            if length < 1e-10:
                return STUCK, change, iteration
        # Loops: the first assignment of an array to a slice takes numba two seconds to compile.
        for i in range(m):
            scores[i] = trial[i]
            gradient[i] = ahead[i]
        bends, bends_ahead, exchanged = bends_ahead, bends, not exchanged
        norm = after
    return UNFINISHED, change, _STEPS


_TOLERANCE = 1e-6


@declared(AGGREGATE)
def bradley_terry(
    winners: Index, losers: Index, weights: Vector, m: int, params: Vector, work: Vector, out: Vector
) -> None:
    """Write the penalized maximum-likelihood scores to `out`; ``params = [ridge]``, positive.

    nan where Newton's method does not come to rest, as with a ridge that is tiny beside the weights.
    """
    k = len(winners)
    # A small sample has few items: they alone are fitted, by consecutive numbers in their order. The others score 0.
    place = np.full(m, -1, dtype=np.int32)
    for t in range(k):
        place[winners[t]] = place[losers[t]] = 0
    items = 0
    for i in range(m):
        if place[i] == 0:
            place[i] = items
            items += 1
    # Few allocations: each call is some microseconds.
    of_index, of_pairs, of_items = np.empty(3 * k, np.int32), np.empty(4 * k), np.zeros((NEWTON_WORK + 5) * items + k)
    first, second, high = of_index[:k], of_index[k : 2 * k], of_index[2 * k :]
    for t in range(k):
        first[t], second[t] = place[winners[t]], place[losers[t]]
    starts = np.zeros(items + 1, dtype=np.int64)
    forward, backward = of_pairs[:k], of_pairs[k : 2 * k]
    sum_pairs(first, second, weights, starts, high, forward, backward)
    pairs = starts[items]
    won, lost, scores = of_items[:items], of_items[items : 2 * items], of_items[2 * items : 3 * items]
    gradient, step = of_items[3 * items : 4 * items], of_items[4 * items : 5 * items]
    item_sums(starts, high, forward, backward, won, lost)
    judged, curvature = of_pairs[2 * k : 2 * k + pairs], of_pairs[3 * k : 3 * k + pairs]
    for e in range(pairs):
        judged[e] = forward[e] + backward[e]
    # With a ridge every component's scores sum to zero by themselves: one scale is enough for them, and one for the
    # items whose judgments weigh nothing, whose scores stay exactly 0.
    scale, sizes = np.zeros(items, dtype=np.int32), np.zeros(2)
    for i in range(items):
        scale[i] = won[i] + lost[i] == 0.0
        sizes[scale[i]] += 1.0
    sizes[1] = max(1.0, sizes[1])
    status, _, _ = newton(
        starts, high[:pairs], judged, won, lost, params[0], scale, sizes, 10 * m, _TOLERANCE, False, scores, gradient,
        curvature, step, of_items[5 * items :],
    )  # fmt: skip
    # Where it stopped may be anywhere.
    for i in range(m):
        out[i] = np.nan if status != AT_MAXIMUM else scores[place[i]] if place[i] >= 0 else 0.0


@declared()
def complete(starts: Rows, high: Index) -> None:
    """Write the rows of all pairs of m items: `starts`, (m + 1,), and `high`, (m (m - 1) / 2,)."""
    m = len(starts) - 1
    begin = 0
    for i in range(m):
        starts[i] = begin
        for j in range(i + 1, m):
            high[begin + j - i - 1] = j
        begin += m - i - 1
    starts[m] = begin


@declared()
def spread(starts: ReadRows, high: ReadIndex, forward: ReadVector, backward: ReadVector, out: Vector) -> None:
    """Write ``forward + backward`` of the given pairs to their places in the rows of all pairs."""
    m = len(starts) - 1
    begin = 0
    for i in range(m):
        for e in range(starts[i], starts[i + 1]):
            out[begin + high[e] - i - 1] = forward[e] + backward[e]
        begin += m - i - 1
