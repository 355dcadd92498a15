"""Surrogates written down in rational numbers, so that what is claimed about their risk can be proved.

A surrogate that states itself in this form gets rigorous certificates from `rankbench certify`;
one that does not is asked for values and gradients in double precision, and labelled numerical.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

__all__ = ["ConvexPhi", "ExactGraph", "ExactScores", "ExactSurrogate", "PhiTerm", "pairwise_terms"]

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
        coefficients of 1, t, t^2; no higher powers. What is proved with pieces is exact, and
        that they are continuous and convex is checked. The hinge is
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
        """Whether it is given by pieces."""
        return bool(self.pieces)

    @property
    def piecewise_linear(self) -> bool:
        """Whether all pieces are linear."""
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
