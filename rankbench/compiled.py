"""Where numba keeps machine code, and that nothing but what we wrote is loaded from there.

What numba keeps are pickles and machine code, which it loads as they are. So the folder must be one that nobody
else can write to, and every file ends in a digest of its name and contents: one that is damaged is thrown away and
made anew. Where a file cannot be written (the disk is full, the folder is gone), every process compiles for itself.
What others' functions are compiled to, as plugins', stands in folders of its own, whose names change with their code.
"""

from __future__ import annotations

import hashlib
import importlib.machinery
import io
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import IO, Any

__all__ = ["private", "prune", "seal", "sealed_cache"]

PACKAGE = Path(os.path.abspath(__file__)).parent

MODULE = "numba.core.caching"

LENGTH = 32
"""Bytes of a digest. numba reads a file up to the end of its pickle, so that one with a digest is one for it too."""


def private(root: Path, folder: Path) -> str:
    """Make a folder that only this user can write to, or reach; say why it cannot be trusted if it is not that.

    Parameters
    ----------
    root : Path
        From here on downwards nothing may be writable by others; above it, nothing that others can get at.
    folder : Path
        It and the folders above it are made if needed, for this user alone, whatever the umask.

    Returns
    -------
    str
        Empty where nobody but this user (and root) can write to it, or put another one in its place.

    Raises
    ------
    OSError
        It cannot be made.
    """
    folder.relative_to(root)
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        with suppress(FileExistsError):
            place.mkdir(mode=0o700)
    if not hasattr(os, "geteuid"):
        return ""
    root, folder = root.resolve(), folder.resolve()
    if trouble := _above(root):
        return trouble
    for place in (folder, *(p for p in folder.parents if p.is_relative_to(root))):
        found = place.stat()
        if found.st_uid != os.geteuid():
            return f"{place} belongs to another user (number {found.st_uid})"
        if found.st_mode & 0o022:
            return _writable(place, found.st_mode)
    folder.chmod(0o700)
    return ""


def _above(root: Path) -> str:
    """Say who else can put another folder in the place of `root`; nobody gets below a folder that is closed."""
    for place in reversed(root.parents):
        found = place.stat()
        if found.st_uid not in (0, os.geteuid()):
            return f"{place} belongs to another user (number {found.st_uid})"
        # A sticky folder, as /tmp: others add to it and change nothing of ours.
        if found.st_mode & 0o022 and not found.st_mode & stat.S_ISVTX:
            return _writable(place, found.st_mode)
        if found.st_uid == os.geteuid() and not found.st_mode & 0o033:
            break
    return ""


def _writable(place: Path, mode: int) -> str:
    return f"others may write to {place} (mode {stat.S_IMODE(mode):04o})"


def prune(root: Path, keep: Path, days: float) -> None:
    """Remove folders in `root`, but for `keep`, that no process has used for so many days."""
    oldest = time.time() - days * 86400
    for folder in root.iterdir():
        try:
            stale = folder != keep and folder.stat().st_mtime < oldest
        except OSError:
            continue
        if stale:
            shutil.rmtree(folder, ignore_errors=True)


def seal(name: str, data: bytes) -> bytes:
    """Return what a file of the cache ends in."""
    return hashlib.blake2b(name.encode() + b"\0" + data, digest_size=LENGTH).digest()


def sealed_cache(others: Callable[[], str]) -> None:
    """Have numba check what it loads and go on without what it cannot write: now, or when it will be imported.

    Parameters
    ----------
    others : callable
        Returns a digest of the code of everybody else: what is compiled from that stands in folders with this name.
    """
    caching = sys.modules.get(MODULE)
    if caching is not None:
        _install(caching, others)
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(others))


class _Finder:
    """Finds numba's module of its cache, once, as Python itself would, and changes it after it is executed."""

    def __init__(self, others: Callable[[], str]) -> None:
        self.others = others

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def executed(module: ModuleType) -> None:
                execute(module)
                _install(module, self.others)

            setattr(spec.loader, "exec_module", executed)  # noqa: B010
        return spec


def _install(caching: Any, others: Callable[[], str]) -> None:
    """Put our forms in the place of numba's; of a numba that is built differently only folders are changed."""
    for locator in caching.CacheImpl._locator_classes:
        if not hasattr(locator.get_suitable_cache_subpath, "plain"):
            locator.get_suitable_cache_subpath = staticmethod(
                _named_with_others(locator.get_suitable_cache_subpath, others)
            )
    known = all(
        hasattr(caching, name) for name in ("IndexDataCacheFile", "Cache", "CacheImpl", "UserProvidedCacheLocator")
    )
    if not known or hasattr(caching.IndexDataCacheFile, "is_whole"):
        return
    caching.IndexDataCacheFile = _checked(caching.IndexDataCacheFile)
    caching.Cache._save_overload = _kept_where_possible(caching.Cache._save_overload)
    without = _without(caching)
    for place, locator in enumerate(caching.CacheImpl._locator_classes):
        if locator is caching.UserProvidedCacheLocator:
            caching.CacheImpl._locator_classes.insert(place + 1, without)
            break


def _named_with_others(plain: Callable[[str], str], others: Callable[[], str]) -> Any:
    """Return what names the folder of a function's file: of one that is not ours, with a digest of others' code."""

    def subpath(py_file: str) -> str:
        ours = Path(os.path.abspath(py_file)).is_relative_to(PACKAGE)
        return plain(py_file) if ours else f"{plain(py_file)}_{others()[:16]}"

    subpath.plain = plain  # type: ignore[attr-defined]
    return subpath


def _checked(base: Any) -> Any:
    """Return numba's files of one function with digests."""

    class Checked(base):  # type: ignore[misc]
        def is_whole(self, path: str) -> bool:
            """Return whether a file is as it was written; throw it away if not."""
            try:
                data = _contents(path)
            except FileNotFoundError:
                return False
            except OSError:
                data = b""
            if data[-LENGTH:] == seal(os.path.basename(path), data[:-LENGTH]):
                return True
            with suppress(OSError):
                os.unlink(path)
            return False

        def _load_index(self) -> dict[Any, str]:
            return super()._load_index() if self.is_whole(self._index_path) else {}

        def _load_data(self, name: str) -> Any:
            path = self._data_path(name)
            if not self.is_whole(path):
                raise FileNotFoundError(path)  # which numba takes for one that it has to compile
            return super()._load_data(name)

        @contextmanager
        def _open_for_write(self, filepath: str) -> Iterator[IO[bytes]]:
            with super()._open_for_write(filepath) as file:
                held = io.BytesIO()
                yield held
                data = held.getvalue()
                file.write(data + seal(os.path.basename(filepath), data))

    return Checked


def _contents(path: str) -> bytes:
    """Return what is in a file that is one, and not a pipe or a device, which may have no end."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is not a file")
        return file.read()


def _kept_where_possible(save: Any) -> Any:
    def save_overload(self: Any, sig: Any, data: Any) -> None:
        with suppress(OSError):
            save(self, sig, data)

    return save_overload


def _without(caching: Any) -> Any:
    """Return what finds the place of a function where the folder that was set cannot be written to: nowhere."""

    class Nowhere(caching.UserProvidedCacheLocator):  # type: ignore[misc]
        def ensure_cache_path(self) -> None:
            raise OSError(f"{self._cache_path} cannot be written to")

        @classmethod
        def from_function(cls, py_func: Any, py_file: str) -> Any:
            return cls(py_func, py_file) if sys.modules["numba"].config.CACHE_DIR else None

    return Nowhere
