"""What must be settled before numba starts: the number of threads and the cache folder."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from rankbench.digest import code_digest, cpu_class

__all__ = ["cache_root", "code_digest", "cpu_class", "numba_cache", "prepare", "single_threaded_blas"]

BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

STALE_DAYS = 14


def prepare() -> None:
    """Settle BLAS threads and numba's cache folder; what the user has set stays.

    Call it before numba is imported; calling it again changes nothing. If numba is
    already there, its configuration is told. `NUMBA_CACHE_DIR` is inherited by worker
    processes, so that all of a run's processes share one folder.
    """
    single_threaded_blas()
    if "NUMBA_CACHE_DIR" not in os.environ:
        os.environ["NUMBA_CACHE_DIR"] = str(numba_cache())
    config = getattr(sys.modules.get("numba"), "config", None)
    if config is not None and not config.CACHE_DIR:
        config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]


def single_threaded_blas() -> None:
    """Ask BLAS libraries that are not loaded yet for one thread, unless the user asked for more.

    A library that is already loaded has read its variables: limit it with
    `threadpoolctl` where the number of threads matters.
    """
    for variable in BLAS_THREADS:
        os.environ.setdefault(variable, "1")


def cache_root() -> Path:
    """Return the cache folder: ``RANKBENCH_CACHE``, or the user's own for this platform."""
    chosen = os.environ.get("RANKBENCH_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return platformdirs.user_cache_path("rankbench", appauthor=False)


def numba_cache() -> Path:
    """Return a writable folder for compiled code, keyed by the code digest.

    It is made if needed. Where the cache folder cannot be written it is a temporary one,
    removed when this process ends. Folders of other digests that no process has used for
    `STALE_DAYS` days are removed.
    """
    folder = cache_root() / "numba" / code_digest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        # Not a fixed name: numba unpickles what it finds, and anybody may write to /tmp.
        folder = Path(tempfile.mkdtemp(prefix="rankbench-numba-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    else:
        _prune(folder.parent, keep=folder)
    return folder


def _prune(root: Path, keep: Path) -> None:
    oldest = time.time() - STALE_DAYS * 86400
    for folder in root.iterdir():
        try:
            stale = folder != keep and folder.stat().st_mtime < oldest
        except OSError:
            continue
        if stale:
            shutil.rmtree(folder, ignore_errors=True)
