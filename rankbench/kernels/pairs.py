"""Kernels sum judgments by pair, multiply by Laplacians and find connected components.

The pairs that were compared are kept as rows of a sparse upper triangle: the pairs
{i, high[e]} with i < high[e] are ``e = starts[i] .. starts[i + 1] - 1``, sorted in every row.
"""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from numba import types
from numpy.typing import NDArray

from rankbench.kernels.declared import (
    Index,
    Matrix,
    ReadIndex,
    ReadMatrix,
    ReadRows,
    ReadVector,
    Rows,
    Vector,
    declared,
)

WORK = 5
"""Vectors of length m that `conjugate_gradients` needs."""


@declared()
def sum_pairs(
    winners: ReadIndex,
    losers: ReadIndex,
    weights: ReadVector,
    starts: Rows,
    high: Index,
    forward: Vector,
    backward: Vector,
) -> None:
    """Sum the weights of k judgments by unordered pair, in O(k + m).

    Parameters
    ----------
    winners, losers, weights : ndarray, shape (k,)
    starts : ndarray of int64, shape (m + 1,)
        Zero on entry; the rows on return, ``starts[m]`` the number of pairs, at most k.
    high : ndarray of int32, shape (k,)
        On return the larger item of each pair, rising in every row.
    forward, backward : ndarray of float64, shape (k,)
        On return the weight for the smaller and for the larger item of each pair.
    """
    k, m = len(winners), len(starts) - 1
    # Sorted by the larger item, then by the smaller one: the second sort keeps the order of the first.
    place, order = np.zeros(m + 1, np.int64), np.empty(k, np.int64)
    for t in range(k):
        place[max(winners[t], losers[t]) + 1] += 1
        starts[min(winners[t], losers[t]) + 1] += 1
    for i in range(m):
        place[i + 1] += place[i]
        starts[i + 1] += starts[i]
    for t in range(k):
        j = max(winners[t], losers[t])
        order[place[j]] = t
        place[j] += 1
    # A loop, as numba takes two seconds to compile what checks the lengths of an assignment.
    for i in range(m + 1):
        place[i] = starts[i]
    for row in range(k):
        t = order[row]
        low = min(winners[t], losers[t])
        e = place[low]
        # A pair that was there before is the last one of its row.
        if e > starts[low] and high[e - 1] == max(winners[t], losers[t]):
            e -= 1
        else:
            place[low] = e + 1
            high[e] = max(winners[t], losers[t])
            forward[e] = backward[e] = 0.0
        if winners[t] == low:
            forward[e] += weights[t]
        else:
            backward[e] += weights[t]
    # Rows with repeated pairs have become shorter.
    count = 0
    for i in range(m):
        begin = starts[i]
        starts[i] = count
        for e in range(begin, place[i]):
            high[count], forward[count], backward[count] = high[e], forward[e], backward[e]
            count += 1
    starts[m] = count


@declared()
def root_of(parent: Rows, a: int) -> int:
    """Return the root of a's set in a union-find forest, and halve the way to it."""
    while parent[a] != a:
        parent[a] = parent[parent[a]]
        a = parent[a]
    return a


@declared()
def join(parent: Rows, a: int, b: int) -> None:
    """Merge the sets of a and b in the union-find forest `parent`, shape (m,), ``arange(m)`` at first.

    The smaller index becomes the root, so that every parent comes before its children: one
    pass of ``parent[i] = parent[parent[i]]`` in order then names each item's root.
    """
    a, b = root_of(parent, a), root_of(parent, b)
    parent[max(a, b)] = min(a, b)


@declared()
def sum_in_eights(values: ReadVector) -> float:
    """Return the sum of some values: eight sums side by side, in an order that is the same on every processor."""
    a, b, c, d, e, f, g, h = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    whole = len(values) - len(values) % 8
    for i in range(0, whole, 8):
        a += values[i]
        b += values[i + 1]
        c += values[i + 2]
        d += values[i + 3]
        e += values[i + 4]
        f += values[i + 5]
        g += values[i + 6]
        h += values[i + 7]
    for i in range(whole, len(values)):
        a += values[i]
    return ((a + b) + (c + d)) + ((e + f) + (g + h))


@declared(inline="always")
def consecutive(high: ReadIndex, begin: int, end: int) -> bool:
    """Return whether a sorted row is that of items one after the other, and long enough for that to be of use."""
    return end - begin >= 8 and high[end - 1] - high[begin] == end - begin - 1


@declared()
def conjugate_gradients(
    starts: ReadRows,
    high: ReadIndex,
    edge: ReadVector,
    ridge: float,
    rhs: ReadVector,
    enough: float,
    limit: int,
    work: Vector,
    x: Vector,
) -> int:
    """Solve ``(L + ridge I) x = rhs``, diagonally preconditioned, until the residual's norm is `enough`.

    L is the Laplacian of the graph whose edge e weighs ``edge[e]``. With ``ridge = 0`` the
    right-hand side must sum to zero over every connected component. `work` holds `WORK` m numbers or more.

    Returns
    -------
    int
        Steps taken, or -1 if `limit` were not enough, or the matrix is singular as far as they could see: where the
        residual is, it is flat (or overflows). x is then the best so far.
    """
    m = len(x)
    inverse, r, p, q, flows = work[:m], work[m : 2 * m], work[2 * m : 3 * m], work[3 * m : 4 * m], work[4 * m : 5 * m]
    for i in range(m):
        inverse[i] = ridge
        r[i] = rhs[i]
    for i in range(m):
        begin, end = starts[i], starts[i + 1]
        if consecutive(high, begin, end):
            mine, theirs = edge[begin:end], inverse[high[begin] :]
            inverse[i] += sum_in_eights(mine)
            for k in range(len(mine)):
                theirs[k] += mine[k]
        elif end - begin >= 8:
            inverse[i] += sum_in_eights(edge[begin:end])
            for e in range(np.uint64(begin), np.uint64(end)):
                inverse[np.uint64(high[e])] += edge[e]
        else:
            # Short rows have no slices: they would take longer than the sums.
            total = 0.0
            for e in range(np.uint64(begin), np.uint64(end)):
                total += edge[e]
                inverse[np.uint64(high[e])] += edge[e]
            inverse[i] += total
    norm, rho = 0.0, 0.0
    for i in range(m):
        inverse[i] = 1.0 / inverse[i] if inverse[i] > 0.0 else 0.0
        x[i] = 0.0
        p[i] = inverse[i] * r[i]
        rho += r[i] * p[i]
        norm += r[i] * r[i]
    for step in range(limit):
        if math.sqrt(norm) <= enough:
            return step
        for i in range(m):
            q[i] = ridge * p[i]
        for i in range(m):
            p_i, begin, end = p[i], starts[i], starts[i + 1]
            if consecutive(high, begin, end):
                weigh, flow = edge[begin:end], flows[: end - begin]
                theirs, received = p[high[begin] :], q[high[begin] :]
                for k in range(len(flow)):
                    flow[k] = weigh[k] * (p_i - theirs[k])
                    received[k] -= flow[k]
                q[i] += sum_in_eights(flow)
                continue
            total = 0.0
            for e in range(np.uint64(begin), np.uint64(end)):
                j = np.uint64(high[e])
                one = edge[e] * (p_i - p[j])
                total += one
                q[j] -= one
            q[i] += total
        bend = 0.0
        for i in range(m):
            bend += p[i] * q[i]
        if not bend > 0.0:
            return -1
        length = rho / bend
        norm, rho_next = 0.0, 0.0
        for i in range(m):
            x[i] += length * p[i]
            r[i] -= length * q[i]
            rho_next += r[i] * inverse[i] * r[i]
            norm += r[i] * r[i]
        for i in range(m):
            p[i] = inverse[i] * r[i] + rho_next / rho * p[i]
        rho = rho_next
    return limit if math.sqrt(norm) <= enough else -1


Marks = Annotated[NDArray[np.uint8], types.uint8[:, ::1]]
Numbers = Annotated[NDArray[np.int32], types.int32[:, ::1]]


@declared()
def mark_pairs(first: ReadIndex, second: ReadIndex, begin: int, end: int, seen: Marks) -> None:
    """Write 1 for each pair of items of rows ``begin:end``, the smaller item first, into a table of shape (m, m)."""
    for row in range(begin, end):
        i, j = np.uint64(first[row]), np.uint64(second[row])
        seen[min(i, j), max(i, j)] = 1


@declared()
def number_rows(first: ReadIndex, second: ReadIndex, begin: int, end: int, place: Numbers, pair: Index) -> None:
    """Write the number of the pair of each row ``begin:end``, by the numbers of all pairs, shape (m, m)."""
    for row in range(begin, end):
        i, j = np.uint64(first[row]), np.uint64(second[row])
        pair[row] = place[min(i, j), max(i, j)]


@declared()
def sum_rows(
    first: ReadIndex, second: ReadIndex, pair: ReadIndex, outcomes: ReadMatrix, begin: int, end: int, cells: Matrix
) -> None:
    """Add rows ``begin:end`` to their pairs: wins of the smaller item, of the larger one, ties; shape (3, P)."""
    for row in range(begin, end):
        r = np.uint64(row)
        e, turned = np.uint64(pair[r]), np.uint64(first[r] > second[r])
        cells[turned, e] += outcomes[r, 0]
        cells[np.uint64(1) - turned, e] += outcomes[r, 1]
        cells[2, e] += outcomes[r, 2]


@declared()
def sum_some(
    winners: ReadIndex,
    losers: ReadIndex,
    weights: ReadVector,
    starts: Rows,
    high: Index,
    forward: Vector,
    backward: Vector,
) -> bool:
    """Return whether every item is in ``[0, m)``, and if so do as `rankbench.kernels.pairs.sum_pairs`."""
    m = len(starts) - 1
    for t in range(len(winners)):
        if min(winners[t], losers[t]) < 0 or max(winners[t], losers[t]) >= m:
            return False
    sum_pairs(winners, losers, weights, starts, high, forward, backward)
    return True


@declared()
def components(
    starts: ReadRows, high: ReadIndex, forward: ReadVector, backward: ReadVector, mutual: bool, root: Rows
) -> int:
    """Write each item's component, named by its first item, (m,); return their number.

    Edges are all pairs, or only those where each has beaten the other (`mutual`).
    """
    m = len(root)
    for i in range(m):
        root[i] = i
    left = m
    for i in range(m):
        for e in range(starts[i], starts[i + 1]):
            if mutual and not (forward[e] > 0.0 and backward[e] > 0.0):
                continue
            a, b = root_of(root, i), root_of(root, int(high[e]))
            root[max(a, b)] = min(a, b)
            left -= a != b
        if left == 1:
            break
    # Every root comes before its children.
    for i in range(m):
        root[i] = root[root[i]]
    return left
