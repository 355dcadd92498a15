"""Signatures declare the types of compiled functions, for plugins too.

A kernel is a ``numba.njit`` function with one of the explicit signatures below. The
runner calls it as a first-class function value, so a new kernel costs its own
compilation and nothing else. All arrays are C-contiguous; floats are float64 and item
indices int32. `params` are the component's numbers for its kernel; `work` has the
length that `Kernel.work` asks for, **holds zeros on entry and must hold zeros again on
return** unless a signature says otherwise.

This module imports numba; import it only from kernel modules and from the runner.
"""

from __future__ import annotations

from numba import types

from rankbench.core.runtime import settle_runtime
from rankbench.kernels import Kernel, no_work

__all__ = [
    "AGGREGATE",
    "EDGES",
    "GRADIENT",
    "LOSS",
    "MATRIX_LOSS",
    "PHI",
    "SELECT",
    "STEP",
    "TARGET",
    "WALK",
    "WEIGH",
    "Kernel",
    "no_work",
]


settle_runtime()


VECTOR = types.float64[::1]
MATRIX = types.float64[:, ::1]
INDEX = types.int32[::1]
ROWS = types.int64[::1]
FLAGS = types.boolean[::1]

AGGREGATE = types.void(INDEX, INDEX, VECTOR, types.int64, VECTOR, VECTOR, VECTOR)
"""``(winners, losers, weights, m, params, work, out)``: k judgments to scores ``out`` (m,)."""

EDGES = types.int64(INDEX, INDEX, VECTOR, types.int64, VECTOR, VECTOR, INDEX, INDEX, VECTOR)
"""``(winners, losers, weights, m, params, work, tails, heads, edge_weights) -> count``.

k judgments to at most k weighted edges ``tails[e] -> heads[e]`` (tail preferred to head).
"""

SELECT = types.void(ROWS, ROWS, INDEX, FLAGS, ROWS, VECTOR, VECTOR)
"""``(offsets, starts, items, clicked, item_offsets, params, out)``: selections of all queries to scores.

The first four are the arrays of a `Selections`; the items of query q are rows
``item_offsets[q]:item_offsets[q + 1]`` of the scores. ``out`` has the scores of the N items
first, then the examination of each position of the longest list. There is no scratch memory.
"""

WALK = types.void(INDEX, INDEX, types.int8[::1], VECTOR, ROWS, MATRIX, VECTOR, VECTOR, VECTOR)
"""``(first, second, outcome, weights, starts, state, params, work, margins)``: all times, one after the other.

Votes of time t are ``starts[t]:starts[t + 1]``; ``outcome`` is 1 where the first item won, -1 where the second
did, and 0 for a tie. Margins of a time are written from the state before it; then the state, shape (m, s), learns
its votes, together.
"""

TARGET = types.void(VECTOR, VECTOR, VECTOR, VECTOR)
"""``(scores, params, work, target)``: a score structure to the surrogate's target, (m,)."""

GRADIENT = types.float64(VECTOR, VECTOR, VECTOR, VECTOR)
"""``(alpha, target, params, gradient) -> value`` of a score surrogate, gradient in alpha."""

PHI = types.void(VECTOR, VECTOR, VECTOR)
"""``(margins, params, out)``: phi (or a derivative) of each margin, elementwise."""

WEIGH = types.void(VECTOR, VECTOR, VECTOR)
"""``(weights, params, offsets)``: edges' weights, replaced by their factors, and offsets of the margins."""

STEP = types.void(MATRIX, MATRIX, types.int64, MATRIX, MATRIX)
"""``(theta, gradient, t, params, state)``: update each row of theta in place at step t = 1, 2, ...

One row a contender: theta and gradient have shape (c, d), params (c, p), state (c, s).
Rows must not touch one another. `state` is the contenders' own memory: zeros at t = 1,
kept from step to step.
"""

LOSS = types.float64(VECTOR, VECTOR, VECTOR, VECTOR)
"""``(alpha, structure scores, params, work) -> loss`` of one query; work is *not* cleared."""

RANKED = types.float64(VECTOR, types.int64[::1], VECTOR, types.boolean, VECTOR, VECTOR)
"""``(ranked, ends, best, zero, params, work) -> loss`` of one query, of a loss that looks at the top k alone.

`ranked` are the structure scores of at least the first min(k, m) items in the order of alpha,
``ends[p]`` is the end of the group of ties that position p belongs to (groups are whole);
`best` are the min(k, m) largest structure scores, in descending order; `zero`: all scores are 0.
`work` is *not* cleared.
"""

MATRIX_LOSS = types.float64(VECTOR, MATRIX, VECTOR, VECTOR)
"""``(alpha, adjacency, params, work) -> loss`` of one query; work is *not* cleared."""
