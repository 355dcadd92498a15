"""Component-valued parameters: a name or spec inside a spec becomes a component."""

from __future__ import annotations

from pydantic import BeforeValidator

from rankbench.spec import Spec

__all__ = ["reference"]


def reference(kind: str) -> BeforeValidator:
    """Return a validator that looks up names and specs of `kind` in the registry."""

    def resolve(value: object) -> object:
        if isinstance(value, (str, Spec)):
            from rankbench.plugin.manager import get

            return get(kind, value)
        return value

    return BeforeValidator(resolve)
