"""Where numba keeps machine code, and that nothing but what we wrote is loaded from there.

What numba keeps are pickles and machine code, which it loads as they are. So the folder must be one that nobody
else can write to, and every file ends in a digest of its name and contents: one that is damaged is thrown away and
made anew. Where a file cannot be written (the disk is full, the folder is gone), every process compiles for itself.
What others' functions are compiled to, as plugins', stands in folders of its own, whose names change with their code.

What was compiled when the package was installed stands inside of the package, in a folder that is named by what it was
made from and for. It is looked at first, trusted as far as the code beside it, and never written to.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import io
import os
import pickle
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import IO, Any

__all__ = ["INSTALLED", "installed_code", "is_sealed", "private", "prune", "seal", "sealed_cache", "untrusted"]

PACKAGE = Path(os.path.abspath(__file__)).parent

INSTALLED = "machine_code"
"""Folder of the package that only an installation makes; a checkout has none."""

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
        if trouble := _shared(place, {os.geteuid()}):
            return trouble
    folder.chmod(0o700)
    return ""


def untrusted(folder: Path) -> str:
    """Say who else can change what is in a folder that somebody has named; empty if nobody can, or it is not there.

    Nothing is made and no mode is changed. A folder of root is as good as one's own: root's code runs anyway.
    """
    if not hasattr(os, "geteuid"):
        return ""
    folder = folder.resolve()
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if there == folder:
        return _above(folder) or _shared(folder, {0, os.geteuid()})
    return _above(there / "not there yet")


def _above(root: Path) -> str:
    """Say who else can put another folder in the place of `root`; nobody gets below a folder that is closed."""
    for place in reversed(root.parents):
        found = place.stat()
        # A sticky folder, as /tmp: others add to it and change nothing of ours.
        if trouble := _shared(place, {0, os.geteuid()}, may_add=bool(found.st_mode & stat.S_ISVTX)):
            return trouble
        if found.st_uid == os.geteuid() and not found.st_mode & 0o033:
            break
    return ""


def _shared(place: Path, owners: set[int], may_add: bool = False) -> str:
    """Say who but its owners may change a folder."""
    found = place.stat()
    if found.st_uid not in owners:
        return f"{place} belongs to another user (number {found.st_uid})"
    if found.st_mode & 0o022 and not may_add:
        return f"others may write to {place} (mode {stat.S_IMODE(found.st_mode):04o})"
    return ""


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


def is_sealed(name: str, data: bytes) -> bool:
    """Return whether a file's contents are as they were written."""
    return data[-LENGTH:] == seal(name, data[:-LENGTH])


def installed_code(package: Path, ours: Callable[[], str]) -> Path | None:
    """Return the folder of machine code that came with a package; None if there is none for this machine.

    Parameters
    ----------
    package : Path
    ours : callable
        Returns a digest of all that the machine code is made from; asked for only if there is machine code.

    Returns
    -------
    Path or None
        A folder that is not as safe as the package itself is not used, and that is said.
    """
    root = package / INSTALLED
    if not root.is_dir():
        return None
    folder = root / ours()
    if not folder.is_dir():
        return None
    for place in (root, folder):
        if not _as_safe(place.lstat(), package.stat()):
            print(
                f"warning: {place} is not used, as what is compiled there could be another's: its owner or its mode "
                f"({stat.S_IMODE(place.lstat().st_mode):04o}) is not that of {package}",
                file=sys.stderr,
            )
            return None
    return folder


def _as_safe(found: os.stat_result, code: os.stat_result) -> bool:
    """Return whether nobody but root can write to what was found who cannot write to the code."""
    if not hasattr(os, "geteuid"):
        return True
    writers = found.st_mode & 0o022
    return (
        not stat.S_ISLNK(found.st_mode)
        and found.st_uid in (0, code.st_uid)
        and not writers & ~code.st_mode
        and (not writers & 0o020 or found.st_gid == code.st_gid)
    )


def sealed_cache(others: Callable[[], str], ours: Callable[[], str]) -> None:
    """Have numba check what it loads and go on without what it cannot write: now, or when it will be imported.

    Parameters
    ----------
    others : callable
        Returns a digest of the code of everybody else: what is compiled from that stands in folders with this name.
    ours : callable
        Returns a digest of our own code, which names the folder of what was compiled when we were installed.
    """
    caching = sys.modules.get(MODULE)
    if caching is not None:
        _install(caching, others, ours)
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(others, ours))


class _Finder:
    """Finds numba's module of its cache, once, as Python itself would, and changes it after it is executed."""

    def __init__(self, others: Callable[[], str], ours: Callable[[], str]) -> None:
        self.others, self.ours = others, ours

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
                _install(module, self.others, self.ours)

            setattr(spec.loader, "exec_module", executed)  # noqa: B010
        return spec


def _install(caching: Any, others: Callable[[], str], ours: Callable[[], str]) -> None:
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
    came_with_us = functools.cache(functools.partial(installed_code, PACKAGE, ours))
    caching.IndexDataCacheFile = _checked(caching.IndexDataCacheFile, came_with_us)
    caching.Cache.load_overload = _without_registries
    caching.Cache._save_overload = _kept_where_possible(caching.Cache._save_overload)
    without = _without(caching)
    for place, locator in enumerate(caching.CacheImpl._locator_classes):
        if locator is caching.UserProvidedCacheLocator:
            caching.CacheImpl._locator_classes.insert(place + 1, without)
            break


def _named_with_others(plain: Callable[[str], str], others: Callable[[], str]) -> Any:
    """Return what names the folder of a function's file: our package's, or numba's name with a digest of others' code.

    Ours says nothing about where we are: the same code in another place is the same machine code.
    """

    def subpath(py_file: str) -> str:
        folder = Path(os.path.abspath(py_file)).parent
        if folder.is_relative_to(PACKAGE):
            return ".".join(folder.relative_to(PACKAGE.parent).parts)
        return f"{plain(py_file)}_{others()[:16]}"

    subpath.plain = plain  # type: ignore[attr-defined]
    return subpath


def _checked(base: Any, came_with_us: Callable[[], Path | None]) -> Any:
    """Return numba's files of one function with digests, behind those that came with the package."""

    class Installed(base):  # type: ignore[misc]
        """Files that are read and never written; the folder's name stands for the sources, not a stamp in the file."""

        def _load_index(self) -> dict[Any, str]:
            try:
                file = io.BytesIO(_installed(self._index_path))
            except OSError:
                return {}
            if pickle.load(file) != self._version:
                return {}
            _, found = pickle.load(file)
            return dict(found)

        def _load_data(self, name: str) -> Any:
            return pickle.loads(_installed(self._data_path(name)))

    class Checked(base):  # type: ignore[misc]
        def load(self, key: Any) -> Any:
            """Return what came with the package, or else what this user's cache has."""
            folder = came_with_us()
            if folder is not None:
                room = folder / os.path.basename(self._cache_path)
                base_name = self._index_name.removesuffix(".nbi")
                found = Installed(str(room), base_name, None).load(key)
                if found is not None:
                    return found
            return super().load(key)

        def is_whole(self, path: str) -> bool:
            """Return whether a file is as we wrote it; throw it away if not."""
            try:
                data = _contents(path)
            except FileNotFoundError:
                return False
            except OSError:
                data = b""
            if is_sealed(os.path.basename(path), data):
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
                if hasattr(os, "fchmod"):  # whatever the umask: nobody else changes what is loaded
                    os.fchmod(file.fileno(), os.fstat(file.fileno()).st_mode & ~0o022)

    return Checked


_BINARY = getattr(os, "O_BINARY", 0)


def _contents(path: str) -> bytes:
    """Return what is in a file that nobody else can write to: no pipe or device, which may have no end."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{path} is not a file")
        if hasattr(os, "geteuid") and (found.st_uid not in (0, os.geteuid()) or found.st_mode & 0o022):
            raise OSError(f"{path} could be another's")
        return file.read()


def _installed(path: str) -> bytes:
    """Return what is in a file that came with the package, if it is whole and as safe as the package."""
    code = PACKAGE.stat()
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or not _as_safe(found, code):
            raise OSError(f"{path} is not a file that came with us")
        data = file.read()
    if not _as_safe(os.lstat(os.path.dirname(path)), code) or not is_sealed(os.path.basename(path), data):
        raise OSError(f"{path} is not whole, or not safe")
    return data


def _without_registries(self: Any, sig: Any, target_context: Any) -> Any:
    """Load a function as numba does, but for filling its registries: of half a second, and for compiling alone."""
    sys.modules["numba.core.runtime"].rtsys.initialize(target_context)
    with self._guard_against_spurious_io_errors():
        return self._load_overload(sig, target_context)


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
