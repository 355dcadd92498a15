"""Where numba keeps machine code.

numba imports the locator by its name, which `rankbench.core.runtime.settle_runtime` puts into
``NUMBA_CACHE_LOCATOR_CLASSES``. Machine code of rankbench's own functions stands in folders that are named by their
modules, without a place: so a process finds what was compiled when the package was built. Machine code of all other
functions stands in folders that are named by the code of all plugins: numba notices an edit of the file that a function
stands in, and no edit of a helper in another file.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from numba.core import config
from numba.core.caching import UserProvidedCacheLocator

from rankbench.core.code_digest import PACKAGE, compiled_digest, plugins_digest


class CacheLocator(UserProvidedCacheLocator):
    """Finds the folder of a function's machine code within numba's cache folder."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)  # type: ignore[no-untyped-call]
        self.ours = _is_ours(py_file)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """Return the locator of a function; None where there is no cache folder, or no file."""
        return cls(py_func, py_file) if config.CACHE_DIR and os.path.exists(py_file) else None  # type: ignore[attr-defined]

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        """Return the folder's name."""
        if _is_ours(py_file):
            return ".".join(Path(os.path.abspath(py_file)).parent.relative_to(PACKAGE.parent).parts)
        name = super().get_suitable_cache_subpath(py_file)  # type: ignore[no-untyped-call]
        return f"{name}_{plugins_digest()[:16]}"

    def get_source_stamp(self) -> Any:
        """Return the digest that numba compares with a cached function's to find changed sources."""
        return compiled_digest() if self.ours else super().get_source_stamp()  # type: ignore[no-untyped-call]


def _is_ours(py_file: str) -> bool:
    return Path(os.path.abspath(py_file)).is_relative_to(PACKAGE)
