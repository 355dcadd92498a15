"""From specs to components: those that compete, and those in the parameters of another one."""

from __future__ import annotations

import re
from collections.abc import Callable

from pydantic import BeforeValidator

from rankbench.component import Component, build
from rankbench.errors import SpecError, nearest
from rankbench.kinds.contender import Contender
from rankbench.kinds.suite import ContenderEntry
from rankbench.plugin.kinds import base_of
from rankbench.spec import Spec

__all__ = ["LABEL_LENGTH", "contender", "contenders", "reference"]

LABEL_LENGTH = 200


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
    from rankbench.plugin.manager import written_class

    return Contender(str(spec), tuple(build(written_class(base, spec.name), spec)))


def contenders(entry: ContenderEntry, kind: str = "method") -> list[tuple[str, Contender]]:
    """Return the contenders of an entry by label, its grid multiplied out.

    An entry to be tuned is one contender whose points are its grid; the others have one
    point each.

    Raises
    ------
    SpecError
        An unknown component or parameter, a label that names one, or a label that gets
        longer than 200 characters.
    """
    whole = contender(base_of(kind), entry.use)
    if entry.tune:
        return [(entry.label or whole.text, whole)]
    labelled = []
    for point in whole.points:
        written = {key: _short(getattr(point, attribute)) for key, attribute in point.attributes().items()}
        alone = Contender.single(point)
        labelled.append((_label(entry, written) if entry.label else alone.text, alone))
    return labelled


def _label(entry: ContenderEntry, written: dict[str, str]) -> str:
    """Replace each ``{name}`` by that parameter's value: names only, no format string."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in written:
            raise SpecError(
                f"label {entry.label!r} of {str(entry.use)!r}: {match[1]!r} is no parameter{nearest(match[1], written)}"
            )
        return written[match[1]]

    label = re.sub(r"\{([^{}]*)\}", value, entry.label)
    if len(label) > LABEL_LENGTH:
        raise SpecError(
            f"label {entry.label!r} of {str(entry.use)!r}: longer than {LABEL_LENGTH} characters; shorten it"
        )
    return label


def _short(value: object) -> str:
    if isinstance(value, Component):
        return value.spec().nested()
    return f"{value:g}" if isinstance(value, float) else str(value)


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
