"""Other libraries are imported when they are used; the error for a missing one names it."""

from __future__ import annotations

import importlib
from typing import Any

from rankbench.errors import SpecError

__all__ = ["package"]


def package(module: str, distribution: str) -> Any:
    """Import a module of another library.

    Parameters
    ----------
    module : str
        As in ``"sklearn.linear_model"``.
    distribution : str
        The package, as in ``"scikit-learn"``: also the name of this plugin's extra.

    Raises
    ------
    SpecError
        The library is not installed. A contender becomes a row *skipped* that says so.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A library that misses something of its own is broken, not missing.
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        raise SpecError(
            f"the package {distribution!r} is not installed; pip install 'rankbench-peers[{distribution}]'"
        ) from error
