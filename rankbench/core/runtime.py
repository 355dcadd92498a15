"""One BLAS thread, seeds of a run, settings before numba starts, where machine code is kept.

All entropy is a list of integers for `numpy.random.SeedSequence`: the suite's seed, what
the block is, and which of its streams. Nothing else decides a draw: no order of
execution, no number of workers, no neighbor.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rankbench.core.code_digest import PACKAGE, compiled_digest
from rankbench.core.temporary import kept_folder

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

AVX512 = frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})

STALE_DAYS = 14

LOCATORS = (
    *("rankbench.core.machine_code.CacheLocator", "UserProvidedCacheLocator", "InTreeCacheLocator"),
    *("UserWideCacheLocator", "IPythonCacheLocator", "ZipCacheLocator"),
)
"""Classes that numba asks in turn where it may keep a function's machine code: ours, and all of its own."""

INSTALLED = "machine_code"
"""Folder of the package that only an installation makes; a checkout has none."""


def settle_runtime() -> None:
    """Set BLAS threads and numba's cache folder; settings of the user stay.

    Call it before numba is imported; calling it again changes nothing. If numba is
    already there, it reads its variables again. Worker processes inherit them, so that
    all of a run's processes share one folder.
    """
    settle_blas()
    if not os.environ.get("NUMBA_CACHE_DIR") and (folder := numba_cache()) is not None:
        os.environ["NUMBA_CACHE_DIR"] = str(folder)
    os.environ.setdefault("NUMBA_CACHE_LOCATOR_CLASSES", ",".join(LOCATORS))
    if "numba" in sys.modules:
        sys.modules["numba"].config.reload_config()


def settle_blas() -> None:
    """Ask BLAS libraries that are not loaded yet for one thread and for the kernels of this CPU.

    OpenBLAS takes AMD's newer processors for older ones and then runs at half the speed:
    where the processor has AVX-512, its kernels are asked for by name. Settings of the
    user stay, and so does a library that is already loaded, which has read its variables: results
    are computed within `one_blas_thread`.
    """
    for variable in BLAS_THREADS:
        os.environ.setdefault(variable, "1")
    if "OPENBLAS_CORETYPE" not in os.environ and _amd_with_avx512():
        os.environ["OPENBLAS_CORETYPE"] = "SkylakeX"


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Compute with one BLAS thread, whatever the user's environment says: more of them round differently.

    A limit holds for libraries that are loaded when it is set. So NumPy's and SciPy's (the
    one of numba's products) are loaded first; what is loaded later reads its variables. In a
    process that computes several blocks the first one would otherwise differ from the others.
    """
    import scipy.linalg  # noqa: F401

    asked = {variable: os.environ.get(variable) for variable in BLAS_THREADS}
    os.environ.update(dict.fromkeys(BLAS_THREADS, "1"))
    try:
        with _loaded_libraries(len(sys.modules)).limit(limits=1, user_api="blas"):
            yield
    finally:
        for variable, value in asked.items():
            if value is None:
                os.environ.pop(variable, None)
            else:
                os.environ[variable] = value


@functools.lru_cache(maxsize=1)
def _loaded_libraries(modules: int) -> ThreadpoolController:
    """Return threadpoolctl's controller, made again after imports of more modules: the search is slow."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _amd_with_avx512() -> bool:
    """Return whether this is an AMD processor with all of AVX-512 that OpenBLAS's kernels use."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    fields = dict(line.split(":", 1) for line in text.split("\n\n", 1)[0].splitlines() if ":" in line)
    known = {key.strip(): value.strip() for key, value in fields.items()}
    return known.get("vendor_id") == "AuthenticAMD" and set(known.get("flags", "").split()) >= AVX512


def available_cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cache_root() -> Path:
    """Return the cache folder: ``RANKBENCH_CACHE``, or the user's own for this platform."""
    chosen = os.environ.get("RANKBENCH_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return platformdirs.user_cache_path("rankbench", appauthor=False)


def numba_cache() -> Path | None:
    """Return a writable folder of this user for compiled code, keyed by the compiled digest.

    It is made if needed, with what was compiled when the package was installed. Where the cache folder cannot be
    written it is a temporary one, removed when this process ends, and a line on standard error says so. None where
    there is none either, and numba keeps nothing. Folders of other digests that no process has used for `STALE_DAYS`
    days are removed.
    """
    folder = Path(os.path.abspath(cache_root())) / "numba" / compiled_digest()[:16]
    try:
        if not folder.is_dir():
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            made = _filled(Path(tempfile.mkdtemp(dir=folder.parent)))
            try:
                made.rename(folder)
            except OSError:  # another process was faster
                shutil.rmtree(made, ignore_errors=True)
        os.utime(folder)
        with tempfile.TemporaryFile(dir=folder) as tried:
            tried.write(bytes(1 << 16))  # a full disk makes files too
    except OSError as error:
        return _temporary(error)
    oldest = time.time() - STALE_DAYS * 86400
    for other in folder.parent.iterdir():
        with suppress(OSError):
            if other != folder and other.stat().st_mtime < oldest:
                shutil.rmtree(other, ignore_errors=True)
    return folder


def _installed() -> Path:
    """Return the folder of the machine code that the installation compiled; it may not exist."""
    return PACKAGE / INSTALLED / compiled_digest()[:16]


def _filled(folder: Path) -> Path:
    """Copy the installation's machine code, if any, into a new folder, and return the folder."""
    if (installed := _installed()).is_dir():
        shutil.copytree(installed, folder, dirs_exist_ok=True)
        folder.chmod(0o700)
    return folder


def _temporary(error: OSError) -> Path | None:
    """Return a temporary folder of this process; not at a fixed path, as anybody may write to /tmp.

    Parameters
    ----------
    error : OSError
        Trouble with the cache folder, which is printed unless the installation holds machine code.
    """
    if not _installed().is_dir():
        print(
            f"note: the cache folder {str(cache_root())!r} cannot be written ({error.strerror}). Each call compiles "
            "for up to half a minute. Set RANKBENCH_CACHE to a folder that can be written.",
            file=sys.stderr,
        )
    try:
        with kept_folder() as folder:
            return _filled(folder)
    except OSError:
        return None


JUDGMENTS, STREAM, RESAMPLES = 1, 2, 3
"""Streams: of a block its judgments (shared by all n of a repetition) and its draws from them; a log's resamples."""

LOG_SEED = 20130501
"""Default seed of commands and functions on a user's own log."""


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def draw_entropy(seed: int, fingerprint: str, repetition: int) -> tuple[int, ...]:
    """Return the entropy of a repetition's judgments: the judgments of a smaller n are a prefix."""
    return (seed, _number(fingerprint), repetition, JUDGMENTS)


def block_entropy(seed: int, fingerprint: str, n: int, repetition: int) -> tuple[int, ...]:
    """Return the entropy of all random numbers drawn within a block."""
    return (seed, _number(fingerprint), repetition, n)


def resample_entropy(seed: int, units: int) -> tuple[int, ...]:
    """Return the entropy of the resamples of a log with this number of judgments, judges, ballots or sessions.

    Nothing else of the log decides how often its first unit is drawn, its second, and so on: not its format, nor what
    its units say.
    """
    return (seed, units, RESAMPLES)
