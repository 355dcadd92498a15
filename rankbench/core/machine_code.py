"""How numba keeps our machine code: importing this changes its cache, see `rankbench.core.runtime.settle_runtime`.

Functions of the package stand in folders without a place in their names, so that what was compiled when the package was
built is found where it is installed; functions of others in folders that are named by the code of all plugins. Every
file is checked by a digest when it is read: machine code with a wrong bit ends the process, or computes something else.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core import caching as numba_caching

from rankbench.core.code_digest import PACKAGE, compiled_digest, plugins_digest

caching: Any = numba_caching


class _Place(caching.UserProvidedCacheLocator):  # type: ignore[misc]
    """Where the machine code of a file's functions is kept; a folder that cannot be made is no reason to fail."""

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        return cls(py_func, py_file) if caching.config.CACHE_DIR and os.path.exists(py_file) else None

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        if _is_ours(py_file):
            return ".".join(Path(os.path.abspath(py_file)).parent.relative_to(PACKAGE.parent).parts)
        return f"{super().get_suitable_cache_subpath(py_file)}_{plugins_digest()[:16]}"

    def get_source_stamp(self) -> Any:
        return compiled_digest() if _is_ours(self._py_file) else super().get_source_stamp()


def _is_ours(py_file: str) -> bool:
    return Path(os.path.abspath(py_file)).is_relative_to(PACKAGE)


class _CheckedFile(caching.IndexDataCacheFile):  # type: ignore[misc]
    """Files of one function; what is damaged is compiled anew."""

    def save(self, key: Any, data: Any) -> None:
        whole = self._dump((self._index_name, key, data))
        super().save(key, (hashlib.blake2b(whole).digest(), whole))

    def load(self, key: Any) -> Any:
        with suppress(Exception):  # unpickling what is damaged raises anything
            found = super().load(key)
            if found is None:
                return None
            digest, whole = found
            if digest == hashlib.blake2b(whole).digest():
                index, of, data = pickle.loads(whole)
                if (index, of) == (self._index_name, key):
                    return data
        with suppress(OSError):
            self.flush()
        return None


def _load_overload(self: Any, sig: Any, target_context: Any) -> Any:
    """Load a function as numba does, but for filling its registries: of half a second, and for compiling alone."""
    sys.modules["numba.core.runtime"].rtsys.initialize(target_context)
    with self._guard_against_spurious_io_errors():
        return self._load_overload(sig, target_context)


def _save_overload(self: Any, sig: Any, data: Any, save: Any = caching.Cache.save_overload) -> None:
    """Keep a function where that is possible: the disk may be full."""
    with suppress(OSError):
        save(self, sig, data)


caching.CacheImpl._locator_classes.insert(0, _Place)
caching.IndexDataCacheFile = _CheckedFile
caching.Cache.load_overload = _load_overload
caching.Cache.save_overload = _save_overload
