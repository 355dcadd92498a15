"""Bayes risks: the least expected loss of any scores, for a law of structures that is known."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError

__all__ = ["MOST_ENUMERATED", "BayesRisk", "enumerated", "weights_of"]

MOST_ENUMERATED = 8
"""Items up to which all orders are tried where nothing better is known of a loss."""


@dataclass(frozen=True)
class BayesRisk:
    r"""What is known of :math:`\min_\alpha E\, L(\alpha, s)`.

    Attributes
    ----------
    lower, upper : float
        The Bayes risk is between them; equal where it is known exactly.
    alpha : ndarray of float64, shape (m,)
        Scores whose expected loss is `upper`.
    """

    lower: float
    upper: float
    alpha: NDArray[np.float64]

    @property
    def exact(self) -> bool:
        """Whether the Bayes risk is known, and `alpha` optimal."""
        return self.lower == self.upper


def weights_of(
    structures: NDArray[np.float64], probabilities: NDArray[np.float64] | None, dimensions: int
) -> NDArray[np.float64]:
    """Return the probabilities of structures, equal ones unless given, shape (S,).

    Parameters
    ----------
    structures : ndarray of float64
        The first axis counts structures; `dimensions` more belong to each.
    probabilities : ndarray of float64, shape (S,), or None

    Raises
    ------
    InputError
        No structure, wrong shapes, numbers that are not finite, or probabilities that are
        negative or do not sum to 1.
    """
    shape = structures.shape
    square = dimensions == 1 or shape[-1] == shape[-2]
    if structures.ndim != dimensions + 1 or 0 in shape or not square:
        wanted = "(S, m)" if dimensions == 1 else "(S, m, m)"
        raise InputError(f"structures have shape {shape}, not {wanted}; give one alone as structure[None]")
    if not np.isfinite(structures).all():
        raise InputError("structures must be finite numbers")
    if probabilities is None:
        return np.full(len(structures), 1.0 / len(structures))
    known = np.asarray(probabilities, dtype=np.float64)
    if known.shape != (len(structures),) or not (known >= 0).all() or not math.isclose(known.sum(), 1.0):
        raise InputError(f"{len(structures)} structures need as many probabilities, at least 0, with sum 1")
    return known


def enumerated(expected: Callable[[NDArray[np.float64]], float], m: int) -> BayesRisk:
    """Return the least expected loss over all orders of m items, by trying them.

    Raises
    ------
    InputError
        More than `MOST_ENUMERATED` items.
    """
    if m > MOST_ENUMERATED:
        raise InputError(f"all orders can be tried of at most {MOST_ENUMERATED} items, not of {m}")
    orders = (np.array(order, dtype=np.float64) for order in itertools.permutations(range(m)))
    best, alpha = min(((expected(alpha), alpha) for alpha in orders), key=lambda found: found[0])
    return BayesRisk(best, best, alpha)
