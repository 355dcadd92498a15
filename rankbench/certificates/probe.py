"""Probes reject surrogates that break their declarations, before a proof is tried."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from rankbench.certificates.conditional_risks import RiskFunction, surrogate_risk
from rankbench.certificates.floats import FAR, float_risk
from rankbench.certificates.laws import Law
from rankbench.certificates.numerical import lowest
from rankbench.certificates.true_risk import TrueLoss, exact_risk, setting_of
from rankbench.core.text import exception_text
from rankbench.errors import PluginError, RankbenchError
from rankbench.interfaces.surrogate import Surrogate

Vector = NDArray[np.float64]

POINTS = 12
"""Scores at which a surrogate is looked at."""

NEAR = 1e-6
"""Relative difference that rounding may make."""

LINES = 6
"""Straight lines along which a surrogate is followed, as far as the search goes."""

PLACES = np.array([0.0, *(s * r for s in (1.0, -1.0) for r in (0.3, 1, 2, 3, 5, 7, 10, 15, 20, 30, 45, FAR))])
"""On a line; beside each is another place, so that a slope is compared with a difference."""

BESIDE = 1e-5


def risk_of(surrogate: Surrogate, seen: Law, loss: TrueLoss) -> RiskFunction:
    """Return the surrogate's own risk, in double precision; its exceptions become a `PluginError`."""
    risk = None

    def guarded(alpha: Vector) -> tuple[float, Vector]:
        nonlocal risk
        try:
            if risk is None:
                risk = surrogate_risk(surrogate, setting_of(seen), loss.loss)
            value, gradient = risk(alpha)
        except RankbenchError:
            raise
        # Foreign code may raise anything.
        except Exception as error:
            raise PluginError(
                f"surrogate {surrogate} fails at alpha = {_shown(alpha)}: {exception_text(error)}"
            ) from error
        if np.shape(gradient) != alpha.shape:
            raise PluginError(f"surrogate {surrogate} has a gradient of shape {np.shape(gradient)}, not {alpha.shape}")
        return float(value), gradient

    return guarded


def probe(surrogate: Surrogate, seen: list[Law], loss: TrueLoss) -> None:
    """Reject a surrogate that cannot be certified.

    Raises
    ------
    PluginError
        It returns nan, is not convex with the gradient that it says (with the chord that shows it), not
        bounded below, the same for all structures, or states itself in exact numbers as another function
        than it computes.
    """
    rng = np.random.default_rng(0)
    name, m = str(surrogate), seen[0].items
    points = [rng.normal(0.0, scale, m) for scale in (0.3, 1.0, 3.0) for _ in range(POINTS // 3)]
    answers = []
    for law in seen:
        risk = risk_of(surrogate, law, loss)
        values = _values(name, risk, points)
        _check_convex(name, risk, points, values)
        _check_lines(name, risk, points)
        _check_bounded(name, risk, m)
        if "shift-invariant" in surrogate.properties:
            _check_shifts(name, risk, points, values)
        _check_exact(surrogate, law, loss, points, values)
        answers.append(values)
    changes = [values - values[0] for values in answers]
    if all(np.allclose(change, changes[0], rtol=1e-12, atol=1e-12) for change in changes):
        raise PluginError(f"surrogate {name} ignores the structure: it is the same function of alpha for all of them")


def _values(name: str, risk: RiskFunction, points: list[Vector]) -> Vector:
    found = []
    for alpha in points:
        value, gradient = risk(alpha)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            raise PluginError(f"surrogate {name} is {value} with gradient {gradient} at alpha = {_shown(alpha)}")
        found.append(value)
    return np.array(found)


def _check_convex(name: str, risk: RiskFunction, points: list[Vector], values: Vector) -> None:
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


def _check_shifts(name: str, risk: RiskFunction, points: list[Vector], values: Vector) -> None:
    for alpha, value in zip(points, values, strict=True):
        there = risk(alpha + 1.0)[0]
        if abs(there - value) > NEAR * (1.0 + abs(value)):
            raise PluginError(
                f"surrogate {name} declares that it is shift-invariant, and is {value:.6g} at alpha = {_shown(alpha)}, "
                f"{there:.6g} where all scores are 1 more"
            )


def _check_lines(name: str, risk: RiskFunction, points: list[Vector]) -> None:
    """Check on straight lines that the rise between two places is between the bounds by the slopes at both."""
    rng, m = np.random.default_rng(2), len(points[0])
    places = np.sort(np.concatenate([PLACES, PLACES + BESIDE]))
    for at, start in enumerate([np.zeros(m), *points[1:LINES]]):
        direction = rng.normal(0.0, 1.0, m) if at else np.eye(m)[0] - np.eye(m)[1]
        direction /= np.abs(direction).max()
        with np.errstate(over="ignore", invalid="ignore"):
            answers = [risk(start + place * direction) for place in places]
        values = np.array([value for value, _ in answers])
        slopes = np.array([float(gradient @ direction) for _, gradient in answers])
        if np.isnan(values).any():
            where = start + places[np.isnan(values).argmax()] * direction
            raise PluginError(f"surrogate {name} is nan at alpha = {_shown(where)}")
        for i, j in itertools.pairwise(np.flatnonzero(np.isfinite(values) & np.isfinite(slopes))):
            step = places[j] - places[i]
            rise = (values[j] - values[i]) / step
            rounding = 1e-14 * max(1.0, abs(values[i]), abs(values[j])) / step
            room = rounding + 1e-8 * (1.0 + max(abs(slopes[i]), abs(slopes[j])))
            if not slopes[i] - room <= rise <= slopes[j] + room:
                raise PluginError(
                    f"surrogate {name} is not convex with the gradient that it says. From alpha = "
                    f"{_shown(start + places[i] * direction)} to {_shown(start + places[j] * direction)} its slope "
                    f"goes from {slopes[i]:.9g} to {slopes[j]:.9g}; the chord's slope is {rise:.9g}"
                )


def _check_bounded(name: str, risk: RiskFunction, m: int) -> None:
    directions = [np.array(signs) for signs in itertools.product((0.0, 1.0, -1.0), repeat=m) if any(signs)]
    downhill = _downhill(risk, m)
    for direction in directions if downhill is None else [*directions, downhill]:
        with np.errstate(over="ignore", invalid="ignore"):
            near, far = risk(1e3 * direction)[0], risk(1e4 * direction)[0]
        if far < near - 1e-3 * (1.0 + abs(near)):
            raise PluginError(
                f"surrogate {name} is not bounded below: along {_shown(direction)} it falls from {near:.6g} at a "
                f"distance of 1,000 to {far:.6g} at 10,000"
            )


def _downhill(risk: RiskFunction, m: int) -> Vector | None:
    """Return the direction to a lower risk in a larger box, if the minimizer in a box is at an edge."""
    with np.errstate(over="ignore", invalid="ignore"):
        near = lowest(risk, m, False)
        if np.abs(near).max() < FAR:
            return None
        way: Vector = lowest(risk, m, False, far=100 * FAR) - near
    longest = float(np.abs(way).max())
    return way / longest if np.isfinite(longest) and longest > FAR else None


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
            f"surrogate {surrogate} states itself in exact numbers as another function than it computes. From alpha = "
            f"{_shown(points[0])} to {_shown(points[worst])} it changes by {values[worst] - values[0]:.9g}, not by "
            f"{own[worst] - own[0]:.9g}"
        )


def _shown(vector: Vector) -> str:
    return "(" + ", ".join(f"{float(x):.4g}" for x in vector) + ")"
