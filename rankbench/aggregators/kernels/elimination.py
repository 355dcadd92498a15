"""Kernels eliminate items of few opponents from Laplacian systems of compared items.

An item of a Laplacian that is eliminated leaves its neighbors connected with one another: with weights :math:`w_k` to
them, of sum f, two of them are connected by :math:`w_k w_l / f` more. All weights stay positive, and each item's
diagonal is the sum of its weights, so that nothing cancels. Items are numbered anew by their place in the order of
elimination; column p has the neighbors that p had when its turn came, rising, and the items of the core come last.

References
----------
.. [ADD96] P. R. Amestoy, T. A. Davis and I. S. Duff. An approximate minimum degree ordering algorithm. SIAM Journal on
   Matrix Analysis and Applications 17(4), 1996.
.. [ET75] A. M. Erisman and W. F. Tinney. On computing certain elements of the inverse of a sparse matrix.
   Communications of the ACM 18(3), 1975.
"""

from __future__ import annotations

import numpy as np

from rankbench.kernels.declared import (
    Index,
    Matrix,
    ReadIndex,
    ReadRows,
    ReadVector,
    Rows,
    Vector,
    declared,
)


@declared()
def live_neighbors(
    i: int,
    limit: int,
    starts: ReadRows,
    neighbors: Index,
    plain: Index,
    elements: Index,
    joined: Index,
    begins: Rows,
    pool: Index,
    sizes: Index,
    state: Index,
    seen: Rows,
    stamp: int,
    found: Index,
) -> int:
    """Write the neighbors of an item that are not eliminated to `found`; return their number, `limit` + 1 at most.

    Eliminated items are removed from lists when these are read: the first ``plain[i]`` of `neighbors`, which
    were compared, and those of the elements, whose first ``sizes[e]`` in `pool` are not eliminated.
    """
    count = 0
    seen[i] = stamp
    at, end = starts[i], starts[i] + plain[i]
    while at < end and count <= limit:
        j = neighbors[at]
        if state[j] != 0:
            end -= 1
            neighbors[at] = neighbors[end]
            continue
        if seen[j] != stamp:
            seen[j] = stamp
            found[count] = j
            count += 1
        at += 1
    plain[i] = end - starts[i]
    for k in range(starts[i], starts[i] + joined[i]):
        e = elements[k]
        if state[e] == 2:
            continue
        at = begins[e]
        while at < begins[e] + sizes[e] and count <= limit:
            j = pool[at]
            if state[j] != 0:
                sizes[e] -= 1
                last = begins[e] + sizes[e]
                pool[at], pool[last] = pool[last], pool[at]
                continue
            if seen[j] != stamp:
                seen[j] = stamp
                found[count] = j
                count += 1
            at += 1
    return count


@declared()
def eliminate(
    starts: ReadRows, neighbors: Index, limit: int, order: Index, begins: Rows, ends: Rows, pool: Index
) -> int:
    """Order items for elimination, always one with the fewest neighbors, while that is at most `limit` [ADD96]_.

    Parameters
    ----------
    starts : ndarray of int64, shape (m + 1,)
    neighbors : ndarray of int32
        Both items' rows have each pair; in another order on return.
    limit : int
    order : ndarray of int32, shape (m,)
        On return the eliminated items in their order, then the core in its own.
    begins, ends : ndarray of int64, shape (m,)
        On return item i's neighbors among those after it in the order are ``pool[begins[i]:ends[i]]``.
    pool : ndarray of int32

    Returns
    -------
    int
        Number of eliminated items; -1 where `pool` has too little room.
    """
    m = len(order)
    plain, joined, elements = np.empty(m, np.int32), np.zeros(m, np.int32), np.empty_like(neighbors)
    sizes, state, found = np.zeros(m, np.int32), np.zeros(m, np.int32), np.empty(m + 1, np.int32)
    seen, stamp = np.zeros(m, np.int64), 0
    # Lists of items by number of neighbors; of more than `limit` they are in none.
    head, after, before, degree = np.full(limit + 1, -1), np.full(m, -1), np.full(m, -1), np.full(m, -1)
    for i in range(m - 1, -1, -1):
        plain[i] = starts[i + 1] - starts[i]
        if plain[i] <= limit:
            d = degree[i] = plain[i]
            after[i] = head[d]
            if head[d] >= 0:
                before[head[d]] = i
            head[d] = i
    done, room, least = 0, 0, 0
    while True:
        while least <= limit and head[least] < 0:
            least += 1
        if least > limit:
            break
        p = head[least]
        head[least] = after[p]
        if after[p] >= 0:
            before[after[p]] = -1
        stamp += 1
        count = live_neighbors(
            p, m, starts, neighbors, plain, elements, joined, begins, pool, sizes, state, seen, stamp, found
        )
        if room + count > len(pool):
            return -1
        for k in range(starts[p], starts[p] + joined[p]):
            state[elements[k]] = 2
        begins[p], ends[p], sizes[p], state[p] = room, room + count, count, 1
        for k in range(count):
            pool[room + k] = found[k]
        order[done] = p
        done += 1
        for k in range(count):
            i = pool[room + k]
            if count > 1:
                size = starts[i + 1] - starts[i]
                if joined[i] == size:
                    kept = starts[i]
                    for at in range(starts[i], starts[i] + size):
                        if state[elements[at]] != 2:
                            elements[kept] = elements[at]
                            kept += 1
                    joined[i] = kept - starts[i]
                elements[starts[i] + joined[i]] = p
                joined[i] += 1
            stamp += 1
            now = live_neighbors(
                i, limit, starts, neighbors, plain, elements, joined, begins, pool, sizes, state, seen, stamp, found
            )
            if now == degree[i]:
                continue
            if degree[i] >= 0:
                if before[i] >= 0:
                    after[before[i]] = after[i]
                else:
                    head[degree[i]] = after[i]
                if after[i] >= 0:
                    before[after[i]] = before[i]
                degree[i] = -1
            if now <= limit:
                degree[i], after[i], before[i] = now, head[now], -1
                if head[now] >= 0:
                    before[head[now]] = i
                head[now] = i
                least = min(least, now)
        room += count
    eliminated = done
    for i in range(m):
        if state[i] == 0:
            order[done] = i
            done += 1
    for place in range(eliminated, m):
        i = order[place]
        stamp += 1
        count = live_neighbors(
            i, m, starts, neighbors, plain, elements, joined, begins, pool, sizes, state, seen, stamp, found
        )
        begins[i] = room
        for k in range(count):
            if found[k] > i:
                if room == len(pool):
                    return -1
                pool[room] = found[k]
                room += 1
        ends[i] = room
    return eliminated


@declared()
def reduce_weights(
    eliminated: int,
    starts: ReadRows,
    rows: ReadIndex,
    column: ReadIndex,
    back_starts: ReadRows,
    back: ReadRows,
    weights: Vector,
    total: Vector,
) -> None:
    """Replace weights, 0 for pairs without comparisons, by the weights after elimination.

    Parameters
    ----------
    eliminated : int
    starts, rows, column : ndarray
        Column p's entries are ``starts[p]`` to ``starts[p + 1] - 1``, and `rows` their items, rising.
    back_starts, back : ndarray of int64
        Entries of each item in columns before its own, rising.
    weights : ndarray of float64, shape (E,)
        On return those of column p as p is eliminated, and of the core when all are.
    total : ndarray of float64, shape (m,)
        Sums of columns on return; 0 on entry.
    """
    m = len(starts) - 1
    where = np.empty(m, np.int64)
    for j in range(m):
        for e in range(starts[j], starts[j + 1]):
            where[rows[e]] = e
        for k in range(back_starts[j], back_starts[j + 1]):
            entry = back[k]
            p = column[entry]
            if p >= eliminated:
                break
            if total[p] > 0.0:
                share = weights[entry] / total[p]
                for e in range(entry + 1, starts[p + 1]):
                    weights[where[rows[e]]] += share * weights[e]
        for e in range(starts[j], starts[j + 1]):
            total[j] += weights[e]


@declared()
def place_of(rows: ReadIndex, begin: int, end: int, row: int) -> int:
    """Return the index of a row in a sorted part of `rows` that contains it."""
    while end - begin > 1:
        middle = (begin + end) // 2
        if rows[middle] <= row:
            begin = middle
        else:
            end = middle
    return begin


@declared()
def resistances(
    eliminated: int, starts: ReadRows, rows: ReadIndex, weights: ReadVector, total: ReadVector, out: Vector
) -> None:
    r"""Write the effective resistance of each entry's two items, the variance of their difference [ET75]_.

    With :math:`a_k = w_k / f` of an item's neighbors,
    :math:`R_{pj} = 1 / f + \sum_k a_k R_{kj} - \frac12 \sum_{k, l} a_k a_l R_{kl}`. Any two neighbors are an entry of
    a later column.

    Parameters
    ----------
    weights, total : ndarray of float64, shapes (E,), (m,)
        As `reduce_weights` leaves them, with positive sums.
    out : ndarray of float64, shape (E,)
        Resistances of the core's entries on entry.
    """
    longest = 0
    for p in range(eliminated):
        longest = max(longest, starts[p + 1] - starts[p])
    share, ahead = np.empty(longest), np.empty(longest)
    for p in range(eliminated - 1, -1, -1):
        begin, d = starts[p], starts[p + 1] - starts[p]
        for k in range(d):
            share[k], ahead[k] = weights[begin + k] / total[p], 0.0
        for k in range(d):
            i = rows[begin + k]
            at = starts[i]
            for n in range(k + 1, d):
                at = place_of(rows, at, starts[i + 1], rows[begin + n])
                ahead[k] += share[n] * out[at]
                ahead[n] += share[k] * out[at]
        middle = 0.0
        for k in range(d):
            middle += share[k] * ahead[k]
        for k in range(d):
            out[begin + k] = 1.0 / total[p] + ahead[k] - 0.5 * middle


@declared()
def forward(
    eliminated: int, starts: ReadRows, rows: ReadIndex, weights: ReadVector, total: ReadVector, sides: Matrix
) -> None:
    """Move right sides, (m, K), from the eliminated items to the core, in place."""
    for p in range(eliminated):
        for e in range(starts[p], starts[p + 1]):
            share, row = weights[e] / total[p], rows[e]
            for k in range(sides.shape[1]):
                sides[row, k] += share * sides[p, k]


@declared()
def backward(
    eliminated: int, starts: ReadRows, rows: ReadIndex, weights: ReadVector, total: ReadVector, sides: Matrix
) -> None:
    """Write the eliminated items' solutions over the right sides that `forward` left, (m, K), from the core's."""
    for p in range(eliminated - 1, -1, -1):
        for k in range(sides.shape[1]):
            sides[p, k] = sides[p, k] / total[p] if total[p] > 0.0 else 0.0
        for e in range(starts[p], starts[p + 1]):
            share, row = weights[e] / total[p], rows[e]
            for k in range(sides.shape[1]):
                sides[p, k] += share * sides[row, k]
