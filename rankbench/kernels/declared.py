"""Compiled functions of declared signatures, which are compiled, or loaded from the cache, when they are first needed.

``numba.njit`` does so where it decorates a function with a signature: whoever imports a module then waits for all of
its functions, some five milliseconds each. Half of them are called by other compiled functions alone, whose machine
code holds theirs already, or are not called at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import config
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.typeinfer import register_dispatcher

__all__ = ["DeclaredFunction", "declared", "load_declared"]

Function = TypeVar("Function", bound=Callable[..., Any])

_waiting: list[DeclaredFunction] = []
"""Functions that have been declared since all were loaded."""


class DeclaredFunction(CPUDispatcher):
    """A numba dispatcher with signatures of its own, and no others."""

    awaited: tuple[Any, ...] = ()
    """Signatures that are still to be compiled or loaded."""

    def load(self) -> None:
        """Compile what is declared, or load it from the cache, unless that was done."""
        with global_compiler_lock:
            awaited, self.awaited = self.awaited, ()
            if not awaited:
                return
            try:
                with register_dispatcher(self):  # a function may call itself
                    for signature in awaited:
                        self.compile(signature)
            except BaseException:
                self.awaited = awaited
                raise
            self.disable_compile()

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """Return what is called with arguments for which nothing is compiled: itself, when all is loaded."""
        self.load()
        return self

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the type of a call by a function that is being compiled."""
        self.load()
        return super().get_call_template(args, kws)

    def get_compile_result(self, sig: Any) -> Any:
        """Return what was compiled for a signature."""
        self.load()
        return super().get_compile_result(sig)

    def get_function_type(self) -> Any:
        """Return the type of a first-class function."""
        self.load()
        return super().get_function_type()

    @property
    def signatures(self) -> Any:
        """All signatures that it is compiled for."""
        self.load()
        return super().signatures

    @property
    def nopython_signatures(self) -> Any:
        """All signatures that it is compiled for, with the types that are returned."""
        self.load()
        return super().nopython_signatures


def declared(*signatures: Any, **options: Any) -> Callable[[Function], Function]:
    """Declare that a function is compiled for these signatures and no others; kept in the cache, without Python's lock.

    Parameters
    ----------
    signatures : numba signatures
    options
        As those of ``numba.njit``.
    """

    def declare(function: Function) -> Function:
        if config.DISABLE_JIT:  # type: ignore[attr-defined]
            return function
        made = DeclaredFunction(
            function, targetoptions={"nopython": True, "nogil": True, "boundscheck": None} | options
        )
        made.enable_caching()
        made.awaited = signatures
        _waiting.append(made)
        return made  # type: ignore[return-value]

    return declare


def load_declared() -> None:
    """Compile or load all functions that have been declared until now."""
    while _waiting:
        _waiting.pop().load()
