"""Certificates prove that a surrogate is consistent or not, and a third person can check them.

The package can be called: ``rankbench.certify("pairwise-logistic")`` calls
`rankbench.certify.certify.certify`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Subcommand(ModuleType):
    """A module that can be called: the package and its one function have the same name."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from rankbench.certify.certify import certify

        return certify(*arguments, **options)


sys.modules[__name__].__class__ = _Subcommand
