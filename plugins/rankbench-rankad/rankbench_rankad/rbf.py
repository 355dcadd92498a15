"""Functions of the RKHS of an RBF kernel that are spanned by a number of landmarks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankbench_rankad.margins import Floats

__all__ = ["CHUNK", "RbfMap", "median_distance", "rbf_kernel"]

CHUNK = 512
"""Rows that are scored at a time: their kernel values stay in the processor's cache."""

SMALLEST = 1e-10
"""Eigenvalues of the landmarks' kernel matrix below this share of the largest are noise."""


def rbf_kernel(x: Floats, z: Floats, sigma: float) -> Floats:
    """Return ``k(x, z) = exp(-|x - z|^2 / (2 sigma^2))``, shape (N, m)."""
    scale = 1.0 / (2.0 * sigma * sigma)
    exponent = (2.0 * scale) * (x @ z.T)
    exponent -= scale * np.einsum("ij,ij->i", x, x)[:, None]
    exponent -= scale * np.einsum("ij,ij->i", z, z)[None, :]
    # Rounding may leave a point's distance to itself a little below zero.
    np.minimum(exponent, 0.0, out=exponent)
    result: Floats = np.exp(exponent, out=exponent)
    return result


def median_distance(points: Floats, generator: np.random.Generator, pairs: int = 4000) -> float:
    """Return the median distance of random pairs of different points, the scale of sigma."""
    first = generator.integers(len(points), size=pairs)
    second = generator.integers(len(points), size=pairs)
    distances = np.sqrt(np.sum(np.square(points[first] - points[second]), axis=1))
    apart = distances[distances > 0]
    return float(np.median(apart)) if len(apart) else 1.0


@dataclass(frozen=True, eq=False)
class RbfMap:
    """Coordinates of the span of ``k(z_1, .), ..., k(z_m, .)``, in which its norm is Euclidean.

    With Z drawn from the training points this is the Nystroem approximation, with all of
    them the RKHS that the representer theorem speaks of: the exact solution is there.

    Attributes
    ----------
    landmarks : ndarray of float64, shape (m, d)
    sigma : float
    root : ndarray of float64, shape (m, r)
        ``V Lambda^(-1/2)`` of the landmarks' kernel matrix; r is its numerical rank.
    """

    landmarks: Floats
    sigma: float
    root: Floats

    @classmethod
    def from_landmarks(cls, landmarks: Floats, sigma: float) -> RbfMap:
        """Decompose the kernel matrix of the landmarks."""
        from scipy.linalg import eigh

        values, vectors = eigh(rbf_kernel(landmarks, landmarks, sigma))
        kept = values > SMALLEST * values[-1]
        return cls(landmarks, sigma, vectors[:, kept] / np.sqrt(values[kept]))

    def coordinates(self, x: Floats) -> Floats:
        """Return the coordinates of ``k(x, .)`` projected on the span, shape (N, r)."""
        result: Floats = rbf_kernel(x, self.landmarks, self.sigma) @ self.root
        return result

    def weights(self, theta: Floats) -> Floats:
        """Return the weights beta of ``g = sum_j beta_j k(z_j, .)`` for coordinates theta, shape (m,)."""
        beta: Floats = self.root @ theta
        return beta

    def evaluate(self, x: Floats, beta: Floats) -> Floats:
        """Return g(x), shape (N,), by one matrix product for `CHUNK` rows."""
        scores = np.empty(len(x))
        for first in range(0, len(x), CHUNK):
            scores[first : first + CHUNK] = rbf_kernel(x[first : first + CHUNK], self.landmarks, self.sigma) @ beta
        return scores
