"""Exact surrogates compute in rational numbers, for proofs.

A surrogate that states itself in this form gets rigorous certificates from `rankbench certify`;
one that does not is asked for values and gradients in double precision, and labelled numerical.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError

ExactScores: TypeAlias = tuple[Fraction, ...]
"""A score structure."""

ExactGraph: TypeAlias = Mapping[tuple[int, int], Fraction]
"""A graph structure: the weights > 0 of its edges (i, j), items counted from 0."""


@dataclass(frozen=True)
class ConvexPhi:
    """A convex function of one number t: by exact rational pieces, or by an expression for interval arithmetic.

    Attributes
    ----------
    pieces : tuple of (Fraction or None, tuple of Fraction)
        From left to right: where the piece ends (None for the last one), and its
        coefficients of 1, t, t^2; no higher powers. A proof with pieces is exact, and
        rankbench checks that they are continuous and convex. The hinge is
        ``((Fraction(1), (Fraction(1), Fraction(-1))), (None, (Fraction(0),)))``.
    expression : str
        Of ``t`` and numbers, with ``+ - * / **``, ``exp log sqrt abs max``; differentiable.
        It is evaluated in interval arithmetic, its derivative too, which is derived from it.
        That it is convex is taken on trust, but for `log(1 + exp(-t))`, `exp(-t)` and
        powers of ``abs(t)``.
    infimum : Fraction, optional
        A number that the expression never goes below; needed where it is approached at infinity.
    """

    pieces: tuple[tuple[Fraction | None, tuple[Fraction, ...]], ...] = ()
    expression: str = ""
    infimum: Fraction | None = None

    @classmethod
    def polynomial(cls, *coefficients: int | Fraction) -> ConvexPhi:
        """Return the function of one piece with these coefficients of 1, t, t^2."""
        return cls(((None, tuple(map(Fraction, coefficients))),))

    @property
    def exact(self) -> bool:
        """True if pieces define it."""
        return bool(self.pieces)

    @property
    def piecewise_linear(self) -> bool:
        """True if all pieces are linear."""
        return self.exact and all(not any(c[2:]) for _, c in self.pieces)


@dataclass(frozen=True)
class PhiTerm:
    """``factor * phi(coefficients . alpha - offset)``.

    Attributes
    ----------
    factor : Fraction
        At least 0.
    coefficients : tuple of int
        One an item: 1 and -1 at a pair's items, or 1 at a single one.
    offset : Fraction
    phi : ConvexPhi
    """

    factor: Fraction
    coefficients: tuple[int, ...]
    offset: Fraction
    phi: ConvexPhi


@dataclass(frozen=True)
class ExactSurrogate:
    r"""phi(., s) of one structure, up to a number that does not depend on alpha.

    .. math:: \sum_t f_t \phi_t(c_t'\alpha - o_t) + b'\alpha + e \log \sum_j e^{\alpha_j}

    Attributes
    ----------
    terms : tuple of PhiTerm
    linear : tuple of Fraction
        b, one number an item.
    entropy : Fraction
        e, at least 0.
    """

    terms: tuple[PhiTerm, ...]
    linear: tuple[Fraction, ...]
    entropy: Fraction = Fraction(0)


def pairwise_terms(
    m: int, weights: Mapping[tuple[int, int], tuple[Fraction, Fraction]], phi: ConvexPhi
) -> ExactSurrogate:
    """Return ``sum_ij w_ij phi(alpha_i - alpha_j - o_ij)`` for factors and offsets (w, o) of the pairs (i, j)."""
    terms = []
    for (i, j), (factor, offset) in sorted(weights.items()):
        if factor:
            coefficients = tuple(int(k == i) - int(k == j) for k in range(m))
            terms.append(PhiTerm(factor, coefficients, offset, phi))
    return ExactSurrogate(tuple(terms), (Fraction(0),) * m)


MOST_ENUMERATED = 8
"""Items up to which all orders are tried where nothing better is known of a loss."""


@dataclass(frozen=True)
class BayesRisk:
    r"""Bounds of the Bayes risk :math:`\min_\alpha E\, L(\alpha, s)`.

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
        """True if the Bayes risk is known, and `alpha` optimal."""
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
