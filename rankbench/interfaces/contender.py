"""Contenders are components that compete, or grids of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

from rankbench.core.component import Component
from rankbench.errors import SpecError

C = TypeVar("C", bound=Component)
"""Of ``Callable[..., C]``, not of ``type[C]``, in which mypy accepts no abstract class."""


@dataclass(frozen=True)
class Contender:
    """A component that competes, or a grid from which its protocol chooses one on validation data.

    `rankbench.plugin.manager.contender` makes it. Its text is for people, for files and for other
    processes: within one process it is never parsed again.

    Attributes
    ----------
    text : str
        As it is written in the contender grammar; lists in it are the choices of a grid.
    points : tuple of Component
        The component, or the points of its grid.
    """

    text: str
    points: tuple[Component, ...]

    @classmethod
    def single(cls, component: Component) -> Contender:
        """Return a component as a contender."""
        return cls(str(component), (component,))

    def __str__(self) -> str:
        return self.text

    def component(self, base: Callable[..., C]) -> C:
        """Return the component.

        Parameters
        ----------
        base : type
            Class that it must have, as of `rankbench.get`.

        Raises
        ------
        SpecError
            It is something else, or a grid.
        """
        points = self.grid(base)
        if len(points) != 1:
            raise SpecError(f"{self.text!r} is a grid of {len(points)} points, and nothing chooses one of them here")
        return points[0]

    def grid(self, base: Callable[..., C]) -> list[C]:
        """Return the points, one if it is no grid.

        Parameters
        ----------
        base : type
            Class that they must have, as of `rankbench.get`.

        Raises
        ------
        SpecError
            One of them is something else.
        """
        wanted = cast("type[C]", base)
        for point in self.points:
            if not isinstance(point, wanted):
                raise SpecError(f"{point.kind} {point.name!r} is not a {wanted.__name__}")
        return [cast("C", point) for point in self.points]


def sees_truth(component: Component) -> bool:
    """Return whether a component, or one in it, declares that it sees the labels that judge contenders."""
    inner = (getattr(component, attribute) for attribute in component.attributes().values())
    return bool(getattr(component, "needs_truth", False)) or any(
        sees_truth(value) for value in inner if isinstance(value, Component)
    )
