"""Component-valued parameters: a name or spec inside a spec becomes a component."""

from __future__ import annotations

from pydantic import BeforeValidator

from rankbench.component import Component
from rankbench.spec import Spec

__all__ = ["reference"]


def reference(base: type[Component]) -> BeforeValidator:
    """Return a validator that looks up names and specs in the registry.

    Parameters
    ----------
    base : type
        What the component must be, as of `rankbench.get`: ``Annotated[Model, reference(Model)]``.
    """

    def resolve(value: object) -> object:
        if isinstance(value, (str, Spec)):
            from rankbench.plugin.manager import get

            return get(base, value)
        return value

    return BeforeValidator(resolve)
