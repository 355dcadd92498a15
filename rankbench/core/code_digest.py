"""Digests cover the code that can change a number, and the code that machine code depends on.

The code digest addresses result cells, with the digests of the plugins that have a part in a cell. Two more key what
numba keeps: it notices an edit of the file that a cached function stands in, but not an edit of a helper that it calls.
The compiled digest is for rankbench's own functions, the plugins' digest for all others: with one digest for
everything, each edit would compile everything again.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import platform
import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from rankbench.core.text import normalized

PACKAGE = Path(__file__).resolve().parent.parent

OURSELVES = "rankbench"

AFTERWARDS = (
    *("__main__.py", "api.py", "certificates", "cli", "drawing", "html", "interfaces/claim.py", "interfaces/figure.py"),
    *("audits", "reports", "store", "suites", "testing", "tracking"),
)
"""Packages and files that show, store, analyze or look up results of others: no number of a block depends on them."""

POPULATIONS = (
    *("certificates/conditional_risks.py", "certificates/kernels.py", "certificates/populations.py"),
    *("certificates/protocols/theory.py", "certificates/protocols/u_statistics.py"),
)
"""Files within `AFTERWARDS` that blocks of protocols compute with all the same."""

COMPILED_TOO = ("core/gains.py", "interfaces/exact.py", "surrogates/phi.py")
"""Files outside of kernels from which kernels make functions."""

NUMERICS = ("llvmlite", "numba", "numpy", "polars", "scipy")
"""Libraries whose version can change a number."""

COMPILERS = ("llvmlite", "numba", "numpy", "scipy")
"""Libraries whose version can change machine code: its compilers, and whose constants and functions are in it."""

SOURCES = (".py", ".so", ".pyd")
"""Endings of modules: text, or machine code."""

SWITCHES = ("NPY_DISABLE_CPU_FEATURES", "NUMBA_CPU_FEATURES", "NUMBA_CPU_NAME", "OPENBLAS_CORETYPE")
"""Environment variables that choose other machine code on the same machine."""

UNCOMPILED = ("NUMBA_CACHE_DIR", "NUMBA_CACHE_LOCATOR_CLASSES", "NUMBA_NUM_THREADS")
"""Settings of numba that change no machine code; rankbench sets the first two itself."""


@functools.cache
def code_digest() -> str:
    """Return a hash (blake2b, 32 hex digits) of all code that can change a number of a built-in contender.

    It covers the `sources` of rankbench, the versions of the numerical libraries, and the CPU. It is
    taken once a process. Cells in which a plugin has a part depend on `plugin_digest` too.
    """
    first_seen(OURSELVES)
    return _hash({PACKAGE: sources(PACKAGE)}, [*_machine(NUMERICS, SWITCHES), blas_cores()])


@functools.cache
def compiled_digest() -> str:
    """Return a hash (blake2b, 32 hex digits) of the sources and settings that rankbench's machine code depends on.

    It covers the `compiled_sources` of rankbench, the versions of the libraries that compile them, the CPU, and all
    of numba's settings but for those that do not change machine code. An edit of anything else leaves the machine
    code where it is, and so does an edit of a plugin.
    """
    settings = [name for name in sorted(os.environ) if name.startswith("NUMBA_") and name not in UNCOMPILED]
    return _hash({PACKAGE: compiled_sources(PACKAGE)}, _machine(COMPILERS, (*SWITCHES, *settings)))


@functools.cache
def plugins_digest() -> str:
    """Return a hash (blake2b, 32 hex digits) of the code of all plugins, see `plugin_digest`."""
    return _hash_of(_plugins().values())


@functools.cache
def plugin_digest(distribution: str) -> str:
    """Return a hash (blake2b, 32 hex digits) of a plugin's code; ``""`` if no distribution of that name has plugins.

    It covers the distribution's version, all files in its packages (extension modules and data too), the versions of
    its requirements, and the code of required plugins. It is computed once a process.
    """
    first_seen(distribution)
    plugins = _with_required(distribution)
    return _hash_of(plugins) if plugins else ""


def _hash_of(plugins: Iterable[importlib.metadata.Distribution]) -> str:
    lines, files = list[str](), dict[Path, list[Path]]()
    for plugin in plugins:
        lines.append(f"{plugin.name} {plugin.version}")
        lines += [f"{plugin.name} needs {name} {version(name)}" for name in _required(plugin)]
        files |= {root: _files(root) for root in _roots(plugin)}
    return _hash(files, lines)


def _hash(files: Mapping[Path, Iterable[Path]], lines: Iterable[str]) -> str:
    """Return a hash of lines, and of files with their paths relative to their package or module."""
    digest = hashlib.blake2b(digest_size=16)
    for root, paths in files.items():
        for path in paths:
            content = path.read_bytes()
            digest.update(f"{path.relative_to(root.parent).as_posix()} {len(content)}\n".encode() + content)
    digest.update("\n".join(lines).encode())
    return digest.hexdigest()


def _machine(libraries: Iterable[str], switches: Iterable[str]) -> list[str]:
    versions = [f"{library} {version(library)}" for library in libraries]
    return [*versions, *(f"{switch}={os.environ.get(switch, '')}" for switch in switches), cpu_class()]


_Stamps = dict[Path, tuple[int, int, int]]


@functools.cache
def first_seen(distribution: str) -> _Stamps:
    """Return modification time, size and inode of a distribution's files at the first call.

    Plugins are asked about before they are imported, rankbench before its code is hashed.
    """
    return _stamps(distribution)


def edited_file(distribution: str) -> Path | None:
    """Return a file of rankbench or of a plugin that was written, added or removed since `first_seen`, or None.

    A file whose contents were restored counts, as code that ran meanwhile may have read the changed ones.
    """
    before, now = first_seen(distribution), _stamps(distribution)
    return next((path for path in {**before, **now} if before.get(path) != now.get(path)), None)


def _stamps(distribution: str) -> _Stamps:
    theirs = (path for root in _roots_with_required(distribution) for path in _files(root))
    found = {path: path.stat() for path in (sources(PACKAGE) if distribution == OURSELVES else theirs) if path.exists()}
    return {path: (stat.st_mtime_ns, stat.st_size, stat.st_ino) for path, stat in found.items()}


@functools.cache
def _roots_with_required(distribution: str) -> list[Path]:
    return [root for plugin in _with_required(distribution) for root in _roots(plugin)]


def _with_required(distribution: str) -> list[importlib.metadata.Distribution]:
    """Return a plugin distribution and the plugins that it requires, directly or not, sorted; empty for no plugin."""
    plugins, chosen, left = _plugins(), set[str](), [normalized(distribution)]
    while left:
        name = left.pop()
        if name in plugins and name not in chosen:
            chosen.add(name)
            left += map(normalized, _required(plugins[name]))
    return [plugins[name] for name in sorted(chosen)]


def _required(plugin: importlib.metadata.Distribution) -> list[str]:
    return [re.split(r"[^A-Za-z0-9._-]", each, maxsplit=1)[0] for each in sorted(plugin.requires or [])]


@functools.cache
def blas_cores() -> str:
    """Return the kernels that the loaded BLAS libraries chose, such as ``"SkylakeX"``.

    They depend on the CPU, on ``OPENBLAS_CORETYPE`` and on whether NumPy was imported
    before rankbench could set that: so they are read off the libraries themselves.
    """
    import numpy as np
    import threadpoolctl

    del np  # imported only to load its BLAS
    found = {
        str(info.get("architecture", "?")) for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas"
    }
    return ",".join(sorted(found))


@functools.cache
def cpu_class() -> str:
    """Return the CPU's name and a hash of its features: equal classes give equal bytes.

    Machine code is made for exactly these features, and BLAS chooses its kernels by
    them, so rounding may differ between two classes.
    """
    from llvmlite import binding

    features = binding.get_host_cpu_features().flatten()
    mark = hashlib.blake2b(features.encode(), digest_size=4).hexdigest()
    return f"{platform.machine()}-{binding.get_host_cpu_name()}-{mark}"


def sources(package: Path) -> list[Path]:
    """Return the sources of a copy of the rankbench package that can change a number, sorted: all but `AFTERWARDS`."""
    afterwards = tuple(f"{package / name}{os.sep}" for name in AFTERWARDS)
    counted = {package / name for name in POPULATIONS}
    found = package.rglob("*.py")
    return sorted(path for path in found if path in counted or not f"{path}{os.sep}".startswith(afterwards))


def compiled_sources(package: Path) -> list[Path]:
    """Return the sources of a copy of the rankbench package that machine code is made from, sorted.

    They are named ``kernels.py``, stand in folders named ``kernels``, or are `COMPILED_TOO`.
    """
    named = (*package.rglob("kernels/*.py"), *package.rglob("kernels.py"))
    return sorted([*named, *(package / name for name in COMPILED_TOO)])


def _files(root: Path) -> list[Path]:
    """Return a plugin's files, extension modules and package data too, but nothing that is made from them."""
    if not root.is_dir():
        return [root]
    found = (path for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc")
    made = ("__pycache__", ".")
    return sorted(path for path in found if not any(part.startswith(made) for part in path.relative_to(root).parts))


def _plugins() -> dict[str, importlib.metadata.Distribution]:
    """Return the distributions of third parties that have plugins, sorted by normalized name."""
    entries = importlib.metadata.entry_points(group=OURSELVES)
    # A name is read by parsing all of the metadata, pages of text: once for each distribution.
    found = {id(entry.dist): entry.dist for entry in entries if entry.dist is not None}
    named = {normalized(one.name): one for one in found.values()}
    return {name: named[name] for name in sorted(named) if name != OURSELVES}


@functools.cache
def distribution_of(module: str) -> str:
    """Return the distribution of a module: rankbench, a plugin's by its entry points, or ``""``."""
    if _within(module, OURSELVES):
        return OURSELVES
    plugins = _plugins().values()
    return next((one.name for one in plugins if any(_within(module, top) for top in _named_tops(one))), "")


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _named_tops(plugin: importlib.metadata.Distribution) -> set[str]:
    """Return the outermost regular packages, or modules, that a plugin's entry points name."""
    return {_top_package(entry.module) for entry in plugin.entry_points if entry.group == OURSELVES}


def _top_package(module: str) -> str:
    parts = module.split(".")
    outer = [".".join(parts[:end]) for end in range(1, len(parts))]
    return next((name for name in outer if (found := _spec(name)) is None or found.origin is not None), module)


def _roots(plugin: importlib.metadata.Distribution) -> list[Path]:
    """Return the folders of a plugin's top-level packages, and its top-level modules, importing none of them."""
    installed = (PurePosixPath(str(path)) for path in plugin.files or [])
    # As in "module.py" and "module.cpython-311-x86_64-linux-gnu.so".
    packaged = {path.parts[0].partition(".")[0] for path in installed if path.suffix in SOURCES}
    roots = set[Path]()
    for found in map(_spec, _named_tops(plugin) | set(filter(str.isidentifier, packaged))):
        if found is not None and found.submodule_search_locations is not None:
            roots |= set(map(Path, found.submodule_search_locations))
        elif found is not None and found.origin is not None and found.origin.endswith(SOURCES):
            roots.add(Path(found.origin))
    return sorted(roots)


def _spec(module: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None


@functools.cache
def version(library: str) -> str:
    """Return the version of an installed distribution, or ``"missing"``, also for an invalid name."""
    try:
        return importlib.metadata.version(library)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return "missing"
