r"""Hall's cubic transformation corrects tests of means of skewed samples.

Student's t of a mean is skewed against the sample: with a long right tail, a sample without a value from it has too
small a mean and too small a standard error at once. With g the skewness, a = g / sqrt(n) and

.. math:: h(t) = t + \frac{a t^2}{3} + \frac{a^2 t^3}{27} + \frac{a}{6}

:math:`h(t)` is symmetric to a higher order [Hal92]_. A mean is told from 0 if t and h(t) both tell it. t alone is right
where a law has long tails on both sides, which skew a sample this way or that.

References
----------
.. [Hal92] P. Hall. On the removal of skewness by transformation. Journal of the Royal Statistical Society B
   54(1), 1992.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MORE = 6.0
"""Factor 1 + 6 / n of a sample's skewness: rare values make the law's larger, and small samples seldom have them."""

_SKEWED = 0.75
"""Standard errors of a normal sample's skewness. Wrong tests of ten skewed values come mostly from samples below it."""

_MOST = 0.5
"""Largest a: intervals reach farthest about there, and a larger a would let the cubic end them nearer again."""

_DIFFERENT = 0.75
"""Share of differences that are different numbers from which on rare values may be far away. Ranks, and tasks that
systems solve or not, are bounded."""


def hidden_by_skewness(
    means: NDArray[np.float64], t: NDArray[np.float64], critical: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], int]:
    r"""Return the pairs with an h(t) that is not significant, (P,), and the number of skewed pairs.

    A pair is skewed if the skewness of its differences is beyond .75 standard errors of a normal sample's,
    :math:`\sqrt{6 n (n - 1) / ((n - 2) (n + 1) (n + 3))}`, and three quarters of them are different numbers.

    Parameters
    ----------
    means : ndarray of float64, shape (T, S)
        Results of systems on T tasks.
    t : ndarray of float64, shape (P,)
        Differences of mean results of all pairs i < j, in standard errors; 0 where there is none.
    critical : ndarray of float64, shape (P,)
        Of a single two-sided test: the cubic says little about levels of many tests.
    """
    tasks, systems = means.shape
    if tasks < 3:
        return np.zeros(t.shape, np.bool_), 0
    slant = np.concatenate([_slant(means[:, [i]] - means[:, i + 1 :]) for i in range(systems - 1)])
    return (slant != 0) & (_transformed(np.abs(t), slant * np.sign(t)) <= critical), int((slant != 0).sum())


def mean_reach(differences: NDArray[np.float64], t: float, critical: float) -> tuple[float, tuple[float, float]]:
    r"""Return the size of t as `hidden_by_skewness` tests it, and how far an interval reaches below and above the mean.

    An end is where h(t) is critical, if that is farther than where t is:
    :math:`\frac{3}{a} \big( \sqrt[3]{1 + a (c - a / 6)} - 1 \big)`.

    Parameters
    ----------
    differences : ndarray of float64, shape (T,)
        On T >= 3 tasks.
    t : float
        Their mean in standard errors.
    critical : float
        c, of a two-sided test; both answers are in standard errors.
    """
    slant, sizes = _slant(differences[:, None]), np.array([abs(t)])
    a = float(slant[0])
    if a == 0:
        return abs(t), (critical, critical)
    size = min(abs(t), max(0.0, float(_transformed(sizes, slant * np.sign(t))[0])))
    below, above = (3 / one * (np.cbrt(1 + one * (critical - one / 6)) - 1) for one in (a, -a))
    return size, (max(critical, float(below)), max(critical, float(above)))


def _transformed(t: NDArray[np.float64], a: NDArray[np.float64]) -> NDArray[np.float64]:
    return t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6


def _slant(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Johnson's correction a of each column; 0 where skewness is insignificant, shape (P,)."""
    n = len(values)
    skewness = _skewness(values)
    normal = np.sqrt(6 * n * (n - 1) / ((n - 2) * (n + 1) * (n + 3)))
    a = np.clip((1 + _MORE / n) * skewness / np.sqrt(n), -_MOST, _MOST)
    return np.where(np.abs(skewness) > _SKEWED * normal, a, 0.0)


def _skewness(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sample skewness of columns, adjusted for their length; 0 of those with few values, shape (P,)."""
    n = len(values)
    near = np.diff(np.sort(values, axis=0), axis=0) <= 1e-12 * np.abs(values).max(initial=0.0)
    apart = values - values.mean(axis=0)
    squares, cubes = (apart**2).mean(axis=0), (apart**3).mean(axis=0)
    many = (squares > 0) & (1 - near.mean(axis=0) >= _DIFFERENT)
    found = np.divide(cubes, squares**1.5, out=np.zeros_like(cubes), where=many)
    return np.asarray(found * np.sqrt(n * (n - 1)) / (n - 2))
