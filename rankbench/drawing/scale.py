"""A logarithmic axis on which infinity (and zero) has a place of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LogAxis"]

CLOSE = 0.12
"""Words of ticks that are closer than this share of the axis touch one another."""


@dataclass(frozen=True)
class LogAxis:
    """Places of a parameter's values: log10, with infinity to the right and zero to the left.

    Attributes
    ----------
    places : dict of float to float
    """

    places: dict[float, float]

    @classmethod
    def with_places_for(cls, values: Iterable[float]) -> LogAxis:
        """Place `values`, all of them >= 0."""
        known = sorted(set(values))
        inner = [value for value in known if 0 < value < math.inf]
        places = {value: math.log10(value) for value in inner}
        left, right = min(places.values(), default=0.0), max(places.values(), default=0.0)
        gap = max(0.14 * (right - left), 0.45)
        if 0.0 in known:
            places[0.0] = left - gap
        if math.inf in known:
            places[math.inf] = right + gap
        return cls(places)

    def ticks(self, axes: Axes) -> None:
        """Put a tick at every value; those that would touch the one before have no words."""
        inner = sorted(value for value in self.places if 0 < value < math.inf)
        spaced, apart = set[float](), -math.inf
        for value in inner:
            if self.places[value] >= apart:
                spaced.add(value)
                apart = self.places[value] + CLOSE * (self.places[inner[-1]] - self.places[inner[0]])
        shown = [value for value in self.places if value in spaced or value in (0.0, math.inf)]
        axes.set_xticks([self.places[value] for value in shown], [_words(value, inner) for value in shown])
        axes.set_xticks([place for value, place in self.places.items() if value not in shown], minor=True)
        axes.tick_params(axis="x", length=2.5, which="both")
        if math.inf in self.places and inner:
            edge = (self.places[math.inf] + self.places[inner[-1]]) / 2
            axes.axvline(edge, color="#BBBBBB", linewidth=0.8, linestyle=(0, (2, 2)), zorder=0)


def _words(value: float, inner: list[float]) -> str:
    if math.isinf(value):
        return "∞"
    if value == 0:
        return "0"
    if min(inner) < 0.01 or max(inner) >= 1e5:
        exponent = math.floor(math.log10(value) + 1e-9)
        factor = value / 10**exponent
        return f"$10^{{{exponent}}}$" if abs(factor - 1) < 1e-6 else f"${factor:g}\\cdot 10^{{{exponent}}}$"
    return f"{value:g}"
