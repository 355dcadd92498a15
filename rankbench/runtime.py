"""What must be settled before numba starts: the number of threads and the cache folder."""

from __future__ import annotations

import atexit
import functools
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rankbench.compiled import private, prune, sealed_cache, untrusted
from rankbench.digest import cpu_class, machine_code_name, plugins_digest
from rankbench.errors import InputError
from rankbench.text import one_line

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = [
    "available_cores",
    "cache_root",
    "check_variables",
    "cpu_class",
    "numba_cache",
    "one_blas_thread",
    "settle_blas",
    "settle_runtime",
]

BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

AVX512 = frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})

STALE_DAYS = 14


def settle_runtime() -> None:
    """Settle BLAS threads and numba's cache folder; what the user has set stays, but for a folder that is not safe.

    Call it before numba is imported; calling it again changes nothing. If numba is
    already there, its configuration is told. `NUMBA_CACHE_DIR` is inherited by worker
    processes, so that all of a run's processes share one folder.

    Raises
    ------
    InputError
        What an environment variable says is no setting.
    """
    check_variables()
    settle_blas()
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if not chosen or _is_refused(chosen):
        os.environ["NUMBA_CACHE_DIR"] = str(numba_cache())
    sealed_cache(plugins_digest, machine_code_name)
    config = getattr(sys.modules.get("numba"), "config", None)
    if config is not None and config.CACHE_DIR in ("", chosen):
        config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]
    _check_numba()


@functools.cache
def _is_refused(chosen: str) -> bool:
    """Return whether the folder that ``NUMBA_CACHE_DIR`` names is not used, and say so: once for each."""
    try:
        trouble = untrusted(Path(chosen))
    except OSError as error:
        trouble = f"it cannot be looked at ({error.strerror})"
    if trouble:
        print(
            f"warning: NUMBA_CACHE_DIR={one_line(chosen)} is not used, as what is compiled there could be another's: "
            f"{trouble}",
            file=sys.stderr,
        )
    return bool(trouble)


def check_variables() -> None:
    """Refuse what environment variables say that numba, Polars or BLAS would end at, or go on with otherwise.

    Raises
    ------
    InputError
        With the variable, what it says, and what it may say.
    """
    for name, value in os.environ.items():
        if not name.startswith(("MKL_", "NUMBA_", "OMP_", "OPENBLAS_", "POLARS_")):
            continue
        for names, pattern, words in _VARIABLES:
            if re.fullmatch(names, name) and not re.fullmatch(pattern, value, re.ASCII):
                raise InputError(f"{name}={one_line(value)}: it must be {words}; or unset it")


_VARIABLES = (
    ("POLARS_MAX_THREADS|NUMBA_NUM_THREADS", r"0*[1-9]\d{0,3}", "a whole number from 1 to 9,999"),
    # Nothing and 0 are as good as not set; OpenMP takes one for each level.
    ("|".join(BLAS_THREADS), r"(\d{1,4}(,\d{1,4})*)?", "a whole number, at most 9,999"),
    # Polars panics at others in threads of its own, and may then take a table for an empty one.
    (r"POLARS_\w+_(COUNT|SIZE|SIZE_BYTES|SIZE_ROWS|LIMIT|BUDGET)", r"0*[1-9]\d{0,17}", "a whole number, 1 or more"),
    ("NUMBA_CPU_FEATURES", r"([+-][\w.-]+(,[+-][\w.-]+)*)?", "features with + or - before each and commas between"),
    ("NUMBA_CACHE_LOCATOR_CLASSES", "", "empty: NUMBA_CACHE_DIR names where compiled code is kept"),
)
"""Names, what they may say, and that in words."""


def _check_numba() -> None:
    """Import numba if it has variables that are seldom set: it warns, with a traceback, of those that it cannot read.

    Raises
    ------
    InputError
        With the variable.
    """
    usual = {"NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS"}
    if "numba" in sys.modules or all(name in usual for name in os.environ if name.startswith("NUMBA_")):
        return
    import warnings

    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Environment variable 'NUMBA_", RuntimeWarning)
        try:
            import numba  # noqa: F401
        except RuntimeWarning as warning:
            name = str(warning).split("'")[1]
            raise InputError(
                f"{name}={one_line(os.environ[name])}: numba cannot read it; correct or unset it"
            ) from warning


def settle_blas() -> None:
    """Ask BLAS libraries that are not loaded yet for one thread and for the kernels of this CPU.

    OpenBLAS takes AMD's newer processors for older ones and then runs at half the speed:
    where the processor has AVX-512, its kernels are asked for by name. What the user has
    set stays, and so does a library that is already loaded, which has read its variables: results
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
    """Return what sets the threads of libraries, looked for again when more modules are imported: it takes a while."""
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


def numba_cache() -> Path:
    """Return a writable folder for compiled code that is this user's alone, keyed by the compiled digest.

    It is made if needed. Where the cache folder cannot be written, or others can write to it (which is said), it is a
    temporary one, removed when this process ends; where there is none either it is no folder, and nothing is kept.
    Folders of other digests that no process has used for `STALE_DAYS` days are removed.
    """
    root = Path(os.path.abspath(cache_root()))
    folder = root / "numba" / machine_code_name()
    try:
        if trouble := private(root, folder):
            print(
                f"warning: {folder} is not used, as what is compiled there could be another's: {trouble}; "
                "compiled for this run alone (make it yours alone by chmod 700, or name another with RANKBENCH_CACHE)",
                file=sys.stderr,
            )
            return _temporary()
        os.utime(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        return _temporary()
    prune(folder.parent, keep=folder, days=STALE_DAYS)
    return folder


def _temporary() -> Path:
    """Return a folder of this process, which is not at a fixed name: anybody may write to /tmp."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="rankbench-", ignore_cleanup_errors=True)
        return Path(_until_the_end.enter_context(folder))
    except OSError:
        return Path(os.devnull)


_until_the_end = ExitStack()
atexit.register(_until_the_end.close)
