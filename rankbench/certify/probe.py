"""Looking at a surrogate before anything is proved of it: what breaks its promises is refused."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench.certify.floats import float_risk
from rankbench.certify.laws import Law
from rankbench.certify.seen import exact_risk, setting_of
from rankbench.certify.truth import TrueLoss
from rankbench.errors import PluginError
from rankbench.kinds.surrogate import Surrogate
from rankbench.theory.risks import Risk, surrogate_risk

__all__ = ["probe", "risk_of"]

Vector = NDArray[np.float64]

POINTS = 12
"""Scores at which a surrogate is looked at."""

NEAR = 1e-6
"""Relative difference that rounding may make."""


def risk_of(surrogate: Surrogate, seen: Law, loss: TrueLoss) -> Risk:
    """Return the surrogate's risk as it computes it itself, in double precision."""
    return surrogate_risk(surrogate, setting_of(seen), loss.loss)


def probe(surrogate: Surrogate, seen: list[Law], loss: TrueLoss) -> None:
    """Refuse a surrogate that cannot be certified.

    Raises
    ------
    PluginError
        It returns nan, answers differently from call to call, has another gradient than it says, is
        not convex (with the chord that shows it), not bounded below, the same for all structures,
        or states itself in exact numbers as another function than it computes.
    """
    rng = np.random.default_rng(0)
    name, m = str(surrogate), seen[0].items
    points = [rng.normal(0.0, scale, m) for scale in (0.3, 1.0, 3.0) for _ in range(POINTS // 3)]
    tables = []
    for law in seen:
        risk = risk_of(surrogate, law, loss)
        again = risk_of(surrogate, law, loss)
        values = _values(name, risk, again, points)
        _check_gradient(name, risk, points)
        _check_convex(name, risk, points, values)
        _check_bounded(name, risk, m)
        _check_exact(surrogate, law, loss, points, values)
        tables.append(values - values[0])
    if len(tables) > 1 and all(np.allclose(table, tables[0], rtol=1e-12, atol=1e-12) for table in tables):
        raise PluginError(f"surrogate {name} ignores the structure: it is the same function of alpha for all of them")


def _values(name: str, risk: Risk, again: Risk, points: list[Vector]) -> Vector:
    found = []
    for alpha in points:
        (value, gradient), (other, other_gradient) = risk(alpha), again(alpha.copy())
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            raise PluginError(f"surrogate {name} is {value} with gradient {gradient} at alpha = {_shown(alpha)}")
        if value != other or not np.array_equal(gradient, other_gradient):
            raise PluginError(f"surrogate {name} answers {value!r} and then {other!r} for alpha = {_shown(alpha)}")
        found.append(value)
    return np.array(found)


def _check_gradient(name: str, risk: Risk, points: list[Vector]) -> None:
    """Compare slopes with difference quotients; at a kink the slope is between those on both sides."""
    rng = np.random.default_rng(1)
    for alpha in points:
        direction = rng.normal(0.0, 1.0, len(alpha))
        direction /= np.linalg.norm(direction)
        h = 1e-5
        value, gradient = risk(alpha)
        up, down = risk(alpha + h * direction)[0], risk(alpha - h * direction)[0]
        slope = float(gradient @ direction)
        right, left = (up - value) / h, (value - down) / h
        room = 1e-4 * (1.0 + abs(slope)) + abs(right - left)
        if not min(left, right) - room <= slope <= max(left, right) + room:
            raise PluginError(
                f"surrogate {name} has another gradient than it says: along {_shown(direction)} at alpha = "
                f"{_shown(alpha)} its slope is about {0.5 * (left + right):.6g}, not {slope:.6g}"
            )


def _check_convex(name: str, risk: Risk, points: list[Vector], values: Vector) -> None:
    for a in range(len(points)):
        for b in range(a):
            for share in (0.25, 0.5, 0.75):
                middle = share * points[a] + (1 - share) * points[b]
                chord = share * values[a] + (1 - share) * values[b]
                value = risk(middle)[0]
                if value > chord + NEAR * (1.0 + abs(chord)):
                    raise PluginError(
                        f"surrogate {name} is not convex: between {_shown(points[a])} and {_shown(points[b])} it is "
                        f"{value:.6g} at {_shown(middle)}, above the chord, {chord:.6g}"
                    )


def _check_bounded(name: str, risk: Risk, m: int) -> None:
    directions = [sign * np.eye(m)[i] for i in range(m) for sign in (1.0, -1.0)]
    directions += [np.eye(m)[i] - np.eye(m)[j] for i in range(m) for j in range(m) if i != j]
    for direction in directions:
        with np.errstate(over="ignore", invalid="ignore"):
            near, far = risk(1e3 * direction)[0], risk(1e4 * direction)[0]
        if far < near - 1e-3 * (1.0 + abs(near)):
            raise PluginError(
                f"surrogate {name} is not bounded below: along {_shown(direction)} it falls from {near:.6g} at a "
                f"distance of 1,000 to {far:.6g} at 10,000"
            )


def _check_exact(surrogate: Surrogate, law: Law, loss: TrueLoss, points: list[Vector], values: Vector) -> None:
    exact = exact_risk(surrogate, law, loss)
    if exact is None:
        return
    stated = float_risk(exact.risk)
    own = np.array([stated(alpha)[0] for alpha in points])
    difference = (values - values[0]) - (own - own[0])
    scale = np.abs(values - values[0]) + 1.0
    # The tables of logarithmic discounts have 6 decimals.
    if not (np.abs(difference) <= 1e-5 * scale).all():
        worst = int(np.argmax(np.abs(difference)))
        raise PluginError(
            f"surrogate {surrogate} states itself in exact numbers as another function than it computes: from alpha = "
            f"{_shown(points[0])} to {_shown(points[worst])} it changes by {values[worst] - values[0]:.9g}, not by "
            f"{own[worst] - own[0]:.9g}"
        )


def _shown(vector: Vector) -> str:
    return "(" + ", ".join(f"{float(x):.4g}" for x in vector) + ")"
