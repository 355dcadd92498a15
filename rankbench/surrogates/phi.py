"""Formulas define phi(t) and its derivatives, each written once.

Formulas are written with NumPy's elementwise functions, without ``if``: on an array of margins each is its own NumPy
form, and compiled forms are made of it by `rankbench.kernels.declared`. A comparison counts 1 where it holds, else 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.exact import ConvexPhi

Floats: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class PhiFormula:
    """A convex function phi of a margin t.

    Attributes
    ----------
    phi, dphi : callable
        phi and its derivative (a subgradient at kinks): plain functions of t alone, of NumPy's elementwise functions.
    ddphi : callable, optional
        The second derivative, if there is one.
    exact : ConvexPhi, optional
        phi in exact rational pieces or as an expression.
    """

    phi: Callable[[Floats], Floats]
    dphi: Callable[[Floats], Floats]
    ddphi: Callable[[Floats], Floats] | None = None
    exact: ConvexPhi | None = None


# log(1 + e^-t); no exponential can overflow.


def _logistic(t: Floats) -> Floats:
    return np.maximum(-t, 0.0) + np.log1p(np.exp(-np.abs(t)))


def _logistic_slope(t: Floats) -> Floats:
    e = np.exp(-np.abs(t))
    return -(e * (t > 0.0) + (t <= 0.0)) / (1.0 + e)


def _logistic_bend(t: Floats) -> Floats:
    e = np.exp(-np.abs(t))
    return e / np.square(1.0 + e)


LOGISTIC = PhiFormula(
    _logistic, _logistic_slope, _logistic_bend, ConvexPhi(expression="log(1 + exp(-t))", infimum=Fraction(0))
)


# e^-t, also its own second derivative; infinite below -709.


def _exponential(t: Floats) -> Floats:
    power: Floats = np.exp(-t)
    return power


def _exponential_slope(t: Floats) -> Floats:
    return -np.exp(-t)


EXPONENTIAL = PhiFormula(
    _exponential, _exponential_slope, _exponential, ConvexPhi(expression="exp(-t)", infimum=Fraction(0))
)


# max(0, 1 - t); the subgradient at the kink t = 1 is that of the flat side.


def _hinge(t: Floats) -> Floats:
    short: Floats = np.maximum(1.0 - t, 0.0)
    return short


def _hinge_slope(t: Floats) -> Floats:
    slope: Floats = 0.0 - (t < 1.0)
    return slope


HINGE = PhiFormula(
    _hinge, _hinge_slope, None, ConvexPhi(((Fraction(1), (Fraction(1), Fraction(-1))), (None, (Fraction(0),))))
)


# max(0, 1 - t)^2; its second derivative at t = 1 is that of the flat side.


def _squared_hinge(t: Floats) -> Floats:
    square: Floats = np.square(np.maximum(1.0 - t, 0.0))
    return square


def _squared_hinge_slope(t: Floats) -> Floats:
    return -2.0 * np.maximum(1.0 - t, 0.0)


def _squared_hinge_bend(t: Floats) -> Floats:
    bend: Floats = 2.0 * (t < 1.0)
    return bend


SQUARED_HINGE = PhiFormula(
    _squared_hinge,
    _squared_hinge_slope,
    _squared_hinge_bend,
    ConvexPhi(((Fraction(1), (Fraction(1), Fraction(-2), Fraction(1))), (None, (Fraction(0),)))),
)


# (1 - t)^2


def _squared(t: Floats) -> Floats:
    return np.square(1.0 - t)


def _squared_slope(t: Floats) -> Floats:
    return 2.0 * (t - 1.0)


def _squared_bend(t: Floats) -> Floats:
    bend: Floats = 2.0 * (t <= np.inf)
    return bend


SQUARED = PhiFormula(_squared, _squared_slope, _squared_bend, ConvexPhi.polynomial(1, -2, 1))
