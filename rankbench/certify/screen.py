"""Many laws of graphs looked at together: where a risk of pairs is least, law by law, in one pass."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankbench.certify.floats import jets
from rankbench.certify.laws import Law, leads
from rankbench.certify.seen import ExactRisk
from rankbench.kinds.exact import ConvexPhi

__all__ = ["suspicious"]

ROUNDS = 40
"""Newton steps; laws that are not at their least point by then are looked at one by one."""

CLOSE = 1e-7
"""Scores nearer to each other than this are called neither way."""


def suspicious(laws: Sequence[Law], risks: Sequence[ExactRisk]) -> list[bool]:
    """Return for every law without cycles whether the least scores put an item before one that leads it.

    Parameters
    ----------
    laws : sequence of Law
        Of graphs; of the same m.
    risks : sequence of ExactRisk
        Of pairs, all with the same one phi.
    """
    m = laws[0].items
    pairs = list(itertools.permutations(range(m), 2))
    keys = sorted({(term.coefficients, term.offset) for exact in risks for term in exact.risk.terms})
    at = {key: i for i, key in enumerate(keys)}
    factors = np.zeros((len(laws), len(keys)))
    for row, exact in zip(factors, risks, strict=True):
        for term in exact.risk.terms:
            row[at[term.coefficients, term.offset]] = float(term.factor)
    forms = np.array([key[0] for key in keys], dtype=np.float64)
    offsets = np.array([float(key[1]) for key in keys])
    alpha = _least(risks[0].phis[0], factors / factors.sum(axis=1, keepdims=True), forms, offsets)
    found = []
    for law, scores in zip(laws, alpha, strict=True):
        lead = leads(law.mean, m)
        found.append(any(lead[i, j] > 0 and scores[i] < scores[j] - CLOSE for i, j in pairs))
    return found


def _least(
    phi: ConvexPhi, factors: NDArray[np.float64], forms: NDArray[np.float64], offsets: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the least points, shape (laws, m), by damped Newton steps on all laws at once."""
    m = forms.shape[1]
    alpha = np.zeros((len(factors), m))
    value = _values(phi, factors, forms, offsets, alpha)
    for _ in range(ROUNDS):
        _, d, dd = jets(phi, alpha @ forms.T - offsets)
        gradient = (factors * d) @ forms
        hessian = np.einsum("bt,ti,tj->bij", factors * dd, forms, forms)
        # The ridge keeps flat directions, and that of equal shifts, from being solved for.
        ridge = 1e-10 + 1e-9 * np.trace(hessian, axis1=1, axis2=2)
        step = -np.linalg.solve(hessian + ridge[:, None, None] * np.eye(m), gradient[:, :, None])[:, :, 0]
        step *= np.minimum(1.0, 3.0 / np.maximum(np.abs(step).max(axis=1), 1e-300))[:, None]
        size = np.ones(len(factors))
        for _ in range(12):
            there = _values(phi, factors, forms, offsets, alpha + size[:, None] * step)
            worse = there > value
            if not worse.any():
                break
            size[worse] *= 0.5
        alpha = np.where((there <= value)[:, None], alpha + size[:, None] * step, alpha)
        value = np.minimum(there, value)
        if np.abs(gradient).max() < 1e-12:
            break
    return alpha


def _values(
    phi: ConvexPhi,
    factors: NDArray[np.float64],
    forms: NDArray[np.float64],
    offsets: NDArray[np.float64],
    alpha: NDArray[np.float64],
) -> NDArray[np.float64]:
    values: NDArray[np.float64] = (factors * jets(phi, alpha @ forms.T - offsets)[0]).sum(axis=1)
    return values
