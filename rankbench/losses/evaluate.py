"""One pass judges many contenders on many queries."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rankbench.core.system import check_memory
from rankbench.errors import InputError
from rankbench.interfaces.surrogate import Loss
from rankbench.kernels import Kernel

_MANY = 4000
"""Items of a query whose matrix is looked for room for."""

_MATRICES = 2
"""Matrices of all pairs that live at once, at least, while one is made."""

Structures = NDArray[np.float64] | Callable[[int], NDArray[np.float64]]
"""Score structures of all queries concatenated, shape (N,), or query -> (m_q, m_q) matrix."""


def evaluate(
    loss: Loss, alpha: NDArray[np.float64], structures: Structures, offsets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the loss of every contender on every query.

    Losses with a kernel are computed without the interpreter and without the GIL; a new
    kernel does not recompile the pass. The others run in a Python loop, on read-only arrays.

    Parameters
    ----------
    loss : Loss
    alpha : ndarray of float64, shape (C, N)
        Scores of C contenders for the items of all queries.
    structures : ndarray of float64, shape (N,), or callable
        Truth that they are judged against: the score structures, concatenated as the items
        are; or, for a loss of edges, a function from a query's index q to its adjacency
        matrix, shape (m_q, m_q), called once a query.
    offsets : ndarray of int64, shape (Q + 1,)
        Items of query q are ``offsets[q]:offsets[q + 1]``.

    Returns
    -------
    ndarray of float64, shape (C, Q)

    Raises
    ------
    InputError
        Shapes that do not fit each other or the loss.
    SpecError
        The adjacency matrix of a query does not fit into memory.
    """
    kernel = loss.kernel()
    alpha = _read_only(alpha) if kernel is None else _writable(alpha)
    offsets = np.ascontiguousarray(offsets, dtype=np.int64)
    _check(loss, alpha, structures, offsets)
    out = np.empty((alpha.shape[0], len(offsets) - 1))
    largest = int(np.diff(offsets).max(initial=0))
    work = np.zeros(kernel.work(largest) if kernel else 0)
    if callable(structures) and largest > _MANY:
        needed = _MATRICES * np.float64().itemsize * largest**2
        check_memory(needed, f"the matrix of preferences among the {largest:,} items of a query", "another loss")
    if kernel is not None:
        from rankbench.losses.kernels.evaluate import matrix_pass, scores_pass

        if not callable(structures):
            scores_pass(kernel.function, alpha, _writable(structures), offsets, kernel.params, work, out)
            return out
    column = np.empty(len(alpha))
    for q, (start, stop) in enumerate(itertools.pairwise(offsets.tolist())):
        structure = _adjacency(structures(q), stop - start) if callable(structures) else structures[start:stop]
        if kernel is not None:
            matrix_pass(kernel.function, alpha, start, _writable(structure), kernel.params, work, column)
            out[:, q] = column
            continue
        structure = _read_only(structure)
        for c in range(len(alpha)):
            out[c, q] = loss.checked_numbers("value", loss.value(alpha[c, start:stop], structure))
    return out


def _adjacency(matrix: NDArray[np.float64], items: int) -> NDArray[np.float64]:
    if matrix.shape != (items, items):
        raise InputError(f"a query of {items} items needs an adjacency matrix of that size, not {matrix.shape}")
    return matrix


def evaluate_all(
    losses: Sequence[Loss], alpha: NDArray[np.float64], structures: Structures, offsets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return several losses of every contender on every query.

    Those that look at the top 16 positions or less (`Loss.ranked_kernel`) are computed in one
    pass that selects the top items once for all of them; so one of them costs little more
    than nothing. They equal `evaluate` up to rounding (some 1e-15). The others are
    left to `evaluate`.

    Parameters
    ----------
    losses : sequence of Loss
    alpha, structures, offsets
        As in `evaluate`.

    Returns
    -------
    ndarray of float64, shape (L, C, Q)

    Raises
    ------
    InputError
        Shapes that do not fit each other or a loss.
    """
    alpha, offsets = np.ascontiguousarray(alpha, np.float64), np.ascontiguousarray(offsets, np.int64)
    for loss in losses:
        _check(loss, alpha, structures, offsets)
    out = np.empty((len(losses), len(alpha), len(offsets) - 1))
    kernels = [None if callable(structures) else loss.ranked_kernel() for loss in losses]
    together = [at for at, kernel in enumerate(kernels) if kernel is not None]
    for at in set(range(len(losses))) - set(together):
        out[at] = evaluate(losses[at], alpha, structures, offsets)
    ranked = [kernel for kernel in kernels if kernel is not None]
    if ranked and not callable(structures):
        out[together] = _ranked(ranked, alpha, np.ascontiguousarray(structures, np.float64), offsets)
    return out


def _ranked(
    kernels: Sequence[tuple[Kernel, int]],
    alpha: NDArray[np.float64],
    structures: NDArray[np.float64],
    offsets: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the losses of kernels of the signature `RANKED`."""
    from rankbench.kernels.declared import functions, vectors
    from rankbench.kernels.signatures import RANKED
    from rankbench.losses.kernels.evaluate import ranked_pass

    passes = functions(RANKED, [kernel.function for kernel, _ in kernels])
    params = vectors(np.require(kernel.params, np.float64, ["C", "W"]) for kernel, _ in kernels)
    largest = int(np.diff(offsets).max(initial=0))
    work = max(kernel.work(largest) for kernel, _ in kernels)
    out = np.empty((len(kernels), len(alpha), len(offsets) - 1))
    most = max(cutoff for _, cutoff in kernels)
    ranked_pass(passes, params, most, alpha, structures, offsets, largest, work, out)
    return out


def _writable(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the array for kernels; a read-only one is copied."""
    return np.require(array, np.float64, ["C", "W"])


def _read_only(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a read-only view, so that a loss cannot change the truth for the next contender."""
    view = np.ascontiguousarray(array, np.float64).view()
    view.flags.writeable = False
    return view


def _check(loss: Loss, alpha: NDArray[np.float64], structures: Structures, offsets: NDArray[np.int64]) -> None:
    if alpha.ndim != 2 or offsets.ndim != 1 or len(offsets) < 1:
        raise InputError("evaluate needs scores of shape (contenders, items) and offsets of shape (queries + 1,)")
    if offsets[0] != 0 or offsets[-1] != alpha.shape[1] or (np.diff(offsets) < 1).any():
        raise InputError(
            f"offsets must rise from 0 to the number of items, {alpha.shape[1]}, with one item a query at least"
        )
    if callable(structures) != (loss.structure == "edges"):
        wanted = "a function from query to adjacency matrix" if loss.structure == "edges" else "one array of scores"
        raise InputError(f"loss {loss.name!r} is of {loss.structure}: it needs {wanted}")
    if not callable(structures) and structures.shape != alpha.shape[1:]:
        raise InputError(f"structures have shape {structures.shape}, the scores' items {alpha.shape[1:]}")
