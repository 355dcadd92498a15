"""What is to go: it works for a while yet, and warns with what to use instead and the version in which it goes.

Every `Deprecation` is remembered, so that a test can fail once its version has come (`overdue`): nothing stays longer
than it was said to, and nothing goes sooner. The rules are those of docs/versions.md. Plugins may use it for what they
offer themselves.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, TypeVar, cast

from packaging.version import InvalidVersion, Version

__all__ = ["Deprecation", "overdue"]

T = TypeVar("T", bound=Callable[..., Any])

_KNOWN: list[Deprecation] = []


class Deprecation:
    """One thing that is to go; as a decorator, a function, method or class that warns when it is used.

    Parameters
    ----------
    what : str
        Its full name, as ``rankbench.kinds.loss.Loss.worth``; of what is no name in Python, how a user writes it.
    since : str
        Version that says so first.
    goes : str
        Version in which it is not there any more: before 1.0 a later minor version, from then on a later major one.
    use : str
        What to use instead, as the reader is to write it.

    Raises
    ------
    ValueError
        A version that is none, or one that comes too soon.

    Examples
    --------
    >>> @Deprecation("mine.old", since="0.2", goes="0.3", use="mine.new")
    ... def old() -> int:
    ...     return 1
    """

    def __init__(self, what: str, *, since: str, goes: str, use: str) -> None:
        self.what, self.since, self.goes, self.use = what, since, goes, use
        try:
            first, last = Version(since), Version(goes)
        except InvalidVersion as error:
            raise ValueError(f"{what}: {error}") from None
        soonest = (first.major, first.minor + 1) if first.major == 0 else (first.major + 1, 0)
        if (last.major, last.minor) < soonest:
            wanted = ".".join(map(str, soonest))
            raise ValueError(f"{what} is deprecated since {since} and cannot go in {goes}: not before {wanted}")
        if not use:
            raise ValueError(f"{what}: it is not said what to use instead")
        _KNOWN.append(self)

    def __str__(self) -> str:
        return f"{self.what} is deprecated since {self.since} and goes in {self.goes}; use {self.use}"

    def warn(self, stacklevel: int = 1) -> None:
        """Warn, for what is no function: a parameter, a key of a suite, an option.

        Parameters
        ----------
        stacklevel : int
            Whose line is named: 1 is the caller's of the function that calls this.
        """
        warnings.warn(str(self), DeprecationWarning, stacklevel=stacklevel + 2)

    def __call__(self, old: T) -> T:
        """Return a function that warns at every call, or a class that warns when it is made or derived from."""
        if inspect.isclass(old):
            self._watch(old)
            return old

        @functools.wraps(old)
        def warning(*args: Any, **named: Any) -> Any:
            self.warn()
            return old(*args, **named)

        return cast(T, warning)

    def _watch(self, cls: type) -> None:
        made, derived = cls.__init__, cls.__init_subclass__  # type: ignore[misc]

        @functools.wraps(made)
        def init(instance: Any, *args: Any, **named: Any) -> None:
            if type(instance) is cls:
                self.warn()
            made(instance, *args, **named)

        def init_subclass(derived_class: type, /, **named: Any) -> None:
            self.warn()
            derived.__func__(derived_class, **named) if inspect.ismethod(derived) else derived(**named)

        setattr(cls, "__init__", init)  # noqa: B010  # a type checker refuses the plain form
        setattr(cls, "__init_subclass__", classmethod(init_subclass))  # noqa: B010


def overdue(version: str, prefix: str = "") -> list[Deprecation]:
    """Return what should be gone in a version, of all that was imported so far.

    Parameters
    ----------
    version : str
    prefix : str
        Only what has a name that begins so, as ``rankbench.``.
    """
    return [one for one in _KNOWN if one.what.startswith(prefix) and Version(one.goes) <= Version(version)]
