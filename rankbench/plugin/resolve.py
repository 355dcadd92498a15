"""From specs to components: those that compete, and those in the parameters of another one."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import BeforeValidator

from rankbench.component import Component, build
from rankbench.errors import SpecError
from rankbench.kinds.contender import Contender
from rankbench.spec import Spec

__all__ = ["contender", "reference"]


def contender(base: Callable[..., Component], spec: Spec) -> Contender:
    """Return who a spec says competes, a grid with all its points.

    Parameters
    ----------
    base : type
        What contenders are, as of `rankbench.get`: the base class of their kind.
    spec : Spec

    Raises
    ------
    SpecError
        An unknown component or parameter, or a value that does not fit.
    """
    from rankbench.plugin.manager import component_class

    return Contender(str(spec), tuple(build(component_class(base, spec.name), spec)))


def reference(base: type[Component]) -> BeforeValidator:
    """Return a validator that looks up names and specs in the registry.

    Parameters
    ----------
    base : type
        What the component must be, as of `rankbench.get`: ``Annotated[Model, reference(Model)]``.

    Raises
    ------
    SpecError
        `base` is no class of components: at once, where the parameter is declared.
    """
    if not (isinstance(base, type) and issubclass(base, Component)):
        raise SpecError(
            f"reference({base!r}) names no class of components; write reference(rankbench.Model) and the like"
        )

    def resolve(value: object) -> object:
        if isinstance(value, (str, Spec)):
            from rankbench.plugin.manager import get

            return get(base, value)
        return value

    return BeforeValidator(resolve)
