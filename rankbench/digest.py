"""Hashes of everything that can change a number, besides the suite, and of what machine code is made from.

The code digest addresses result cells, with the digests of the plugins that have a part in a cell. Two more key what
numba keeps: it notices an edit of the file that a cached function stands in, but not an edit of a helper that it calls.
The compiled digest is for rankbench's own functions, the plugins' digest for all others: with one digest for
everything, each edit would compile everything again.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import os
import platform
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from rankbench.text import normalized

__all__ = [
    "blas_cores",
    "code_digest",
    "compiled_digest",
    "compiled_sources",
    "cpu_class",
    "distribution_of",
    "edited_file",
    "first_seen",
    "machine_code_name",
    "plugin_digest",
    "plugins_digest",
    "sources",
    "version",
]

PACKAGE = Path(__file__).resolve().parent

OURSELVES = "rankbench"

BLOCKS = (
    "rankbench.counts.log_file",
    "rankbench.runner.plan",
    "rankbench.runner.prepare",
    "rankbench.runner.executors",
    "rankbench.runner.cluster",
)
"""Where a run's numbers come from: the log that it is given, its cells, its draws, and where blocks are judged."""

AFTERWARDS = {"rankbench.kinds.claim", "rankbench.kinds.figure"}
"""Kinds that are made of stored rows, when all blocks are computed: neither they nor what registers as one count."""

NUMERICS = ("llvmlite", "numba", "numpy", "polars", "scipy")
"""Libraries whose version can change a number."""

COMPILERS = ("llvmlite", "numba", "numpy", "scipy")
"""Libraries whose version can change machine code: its compilers, and whose constants and functions are in it."""

SOURCES = (".py", ".so", ".pyd")
"""What modules are made of: text, or machine code."""

SWITCHES = ("NPY_DISABLE_CPU_FEATURES", "NUMBA_CPU_FEATURES", "NUMBA_CPU_NAME", "OPENBLAS_CORETYPE")
"""Environment variables that choose other machine code on the same machine."""

UNCOMPILED = ("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS")
"""Settings of numba that change no machine code; we set the first one ourselves."""


@functools.cache
def code_digest() -> str:
    """Return a hash (blake2b, 32 hex digits) of all code that can change a number of a built-in contender.

    It covers the `sources` of rankbench, the versions of the numerical libraries, and the CPU. It is
    taken once a process. What a plugin has a part in depends on `plugin_digest` too.
    """
    first_seen(OURSELVES)
    digest = hashlib.blake2b(digest_size=16)
    _add_tree(digest, OURSELVES, PACKAGE, sources(PACKAGE))
    _add_machine(digest, NUMERICS, SWITCHES)
    digest.update(blas_cores().encode())
    return digest.hexdigest()


@functools.cache
def compiled_digest() -> str:
    """Return a hash (blake2b, 32 hex digits) of all that rankbench's own machine code is made from.

    It covers the `compiled_sources` of rankbench, the versions of the libraries that compile them, the CPU, and all
    of numba's settings but for those that do not change machine code. An edit of anything else leaves the machine
    code where it is, and so does an edit of a plugin.
    """
    digest = hashlib.blake2b(digest_size=16)
    _add_tree(digest, OURSELVES, PACKAGE, compiled_sources(PACKAGE))
    settings = (name for name in sorted(os.environ) if name.startswith("NUMBA_") and name not in UNCOMPILED)
    _add_machine(digest, COMPILERS, (*SWITCHES, *settings))
    return digest.hexdigest()


def machine_code_name() -> str:
    """Return what a folder of rankbench's machine code is called: the first digits of its digest."""
    return compiled_digest()[:16]


@functools.cache
def plugins_digest() -> str:
    """Return a hash (blake2b, 32 hex digits) of the code of all plugins, see `plugin_digest`."""
    return _hash_of(_plugin_distributions())


@functools.cache
def plugin_digest(distribution: str) -> str:
    """Return a hash (blake2b, 32 hex digits) of a plugin's code; ``""`` if no distribution of that name has plugins.

    It covers the distribution's version, all files in its packages (extension modules and data too), the versions of
    what it requires, and the code of those of them that are plugins. It is taken once a process.
    """
    first_seen(distribution)
    plugins = _with_required(distribution)
    return _hash_of(plugins) if plugins else ""


def _hash_of(plugins: _Plugins) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name, found, _ in plugins:
        digest.update(f"{name} {found.version}\n".encode())
        for library in map(_library, sorted(found.requires or [])):
            digest.update(f"{name} needs {library} {version(library)}\n".encode())
    for name, found, modules in plugins:
        for root in _plugin_roots(found, modules):
            _add_tree(digest, name, root, _all_files(root))
    return digest.hexdigest()


_Stamps = dict[Path, tuple[int, int, int]]


@functools.cache
def first_seen(distribution: str) -> _Stamps:
    """Return time of change, size and inode of the files of a distribution, as they were when this was first asked.

    Plugins are asked about before they are imported, rankbench before its code is hashed.
    """
    return _stamps(distribution)


def edited_file(distribution: str) -> Path | None:
    """Return a file of rankbench or of a plugin that was written, added or removed since `first_seen`; None if none.

    A file whose contents are back to what they were counts: what ran meanwhile may have read the others.
    """
    before, now = first_seen(distribution), _stamps(distribution)
    return next((path for path in {**before, **now} if before.get(path) != now.get(path)), None)


def _stamps(distribution: str) -> _Stamps:
    theirs, stamps = (path for root in _roots_of(distribution) for path in _all_files(root)), {}
    for path in sources(PACKAGE) if distribution == OURSELVES else theirs:
        with contextlib.suppress(FileNotFoundError):
            found = path.stat()
            stamps[path] = (found.st_mtime_ns, found.st_size, found.st_ino)
    return stamps


@functools.cache
def _roots_of(distribution: str) -> list[Path]:
    found = _with_required(distribution)
    return [root for _, one, modules in found for root in _plugin_roots(one, modules)]


def _with_required(distribution: str) -> _Plugins:
    """Return a plugin distribution and those that it requires, directly or not, sorted; none if it is no plugin."""
    plugins = {normalized(name): (name, found, modules) for name, found, modules in _plugin_distributions()}
    chosen, left = set[str](), [normalized(distribution)]
    while left:
        name = left.pop()
        if name in plugins and name not in chosen:
            chosen.add(name)
            left += [normalized(_library(requirement)) for requirement in plugins[name][1].requires or []]
    return sorted((plugins[name] for name in chosen), key=lambda plugin: plugin[0])


def _library(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]


def _add_machine(digest: hashlib.blake2b, libraries: Iterable[str], switches: Iterable[str]) -> None:
    for library in libraries:
        digest.update(f"{library} {version(library)}\n".encode())
    for switch in switches:
        digest.update(f"{switch}={os.environ.get(switch, '')}\n".encode())
    digest.update(f"{cpu_class()} ".encode())


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


@functools.cache
def sources(package: Path) -> list[Path]:
    """Return the sources of a copy of the rankbench package that can change a number, sorted.

    The rule: a source counts if it is compiled (stands in a folder ``kernels``), if computing
    a block can import it (`BLOCKS`, the modules that register our components, and what
    these import in turn, inside of functions too; but for registered kinds of claims and figures), or if it is
    the face of a package with one that counts. What shows, stores, analyzes or looks up what others compute is
    imported by none of them: leaderboards, statistics and figures are made anew from stored rows each time.
    """
    modules = _modules(package)
    registered = [entry.module for name, entry in _entries() if name == OURSELVES]
    compiled = [name for name in modules if "kernels" in name.split(".")]
    # Our public face hands names on to users: no code of ours takes its way through it.
    counted = {OURSELVES}
    left = [*BLOCKS, *registered, *compiled]
    imported = {name: _imported(Path(path).read_text(encoding="utf-8")) for name, path in modules.items()}
    while left:
        name = left.pop()
        if name in counted or name not in modules:
            continue
        counted.add(name)
        left += [name.rpartition(".")[0]]
        after = AFTERWARDS | {part for part in imported[name] if AFTERWARDS & set(imported.get(part, ()))}
        left += [part for part in imported[name] if part not in (after if name in registered else AFTERWARDS)]
    return sorted(Path(modules[name]) for name in counted if name in modules)


def compiled_sources(package: Path) -> list[Path]:
    """Return the sources of a copy of the rankbench package that machine code is made from, sorted.

    These are the modules in folders named ``kernels`` that import numba or declare functions that it compiles, with
    what they import in turn, always at a module's top: a compiled function sees the names of its module, and cannot
    import. Other files are not opened: this is asked at every start.
    """
    known = _modules(package)
    text = functools.cache(lambda path: Path(path).read_text(encoding="utf-8"))
    counted = set[str]()
    left = [path for name, path in known.items() if ".kernels." in f"{name}." and _COMPILING.search(text(path))]
    while left:
        path = left.pop()
        if path in counted:
            continue
        counted.add(path)
        for indented, origin, names, plain in _IMPORT.findall(text(path)):
            named = [known.get(f"{origin}.{part}") for part in re.findall(r"\w+", names)]
            found = [*named, *(known.get(one) for one in re.findall(r"rankbench[\w.]*", plain))]
            # Of a package whose modules alone are named, nothing else is compiled.
            found += [known.get(origin)] if None in named else []
            left += [one for one in found if one is not None and not indented]
    return sorted(map(Path, counted))


def _modules(package: Path) -> dict[str, str]:
    """Return our modules' files by name, from one listing: to ask the system about each takes longer than all else."""
    walked = ((folder, name) for folder, _, names in os.walk(package) for name in names if name.endswith(".py"))
    files, outside = (os.path.join(folder, name) for folder, name in walked), len(str(package))
    dotted = {f"{OURSELVES}{path[outside:-3].replace(os.sep, '.')}": path for path in files}
    return {name.removesuffix(".__init__"): path for name, path in sorted(dotted.items())}


_FROM = r"from[ \t]+(rankbench[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)"
_IMPORT = re.compile(rf"^([ \t]*)(?:{_FROM}|import[ \t]+(rankbench[\w., \t]*))", re.MULTILINE)
_COMPILING = re.compile(r"^(?:from|import)[ \t]+(?:numba|rankbench\.kernels\.declared)\b", re.MULTILINE)


def _imported(text: str) -> list[str]:
    """Return the modules of ours that a source names in its imports, and names in them that may be modules."""
    found = list[str]()
    for _, origin, names, plain in _IMPORT.findall(text):
        found += [origin, *(f"{origin}.{name}" for name in re.findall(r"\w+", names))] if origin else []
        found += re.findall(r"rankbench[\w.]*", plain)
    return found


def _all_files(root: Path) -> list[Path]:
    """Return a plugin's files, extension modules and package data too, but nothing that is made from them."""
    if not root.is_dir():
        return [root]
    found = (path for path in root.rglob("*") if path.is_file() and path.suffix != ".pyc")
    made = ("__pycache__", ".")
    return sorted(path for path in found if not any(part.startswith(made) for part in path.relative_to(root).parts))


def _add_tree(digest: hashlib.blake2b, name: str, root: Path, files: Iterable[Path]) -> None:
    for path in files:
        relative = path.relative_to(root).as_posix() if path != root else path.name
        content = path.read_bytes()
        digest.update(f"{name} {relative} {len(content)}\n".encode())
        digest.update(content)


def _entries() -> list[tuple[str, importlib.metadata.EntryPoint]]:
    """Return the entry points of our group with the names of their distributions."""
    entries = [entry for entry in importlib.metadata.entry_points(group=OURSELVES) if entry.dist is not None]
    # A name is read by parsing all of the metadata, pages of text: once for each distribution.
    names = {id(dist): dist.name for dist in {id(entry.dist): entry.dist for entry in entries}.values() if dist}
    return [(names[id(entry.dist)], entry) for entry in entries]


_Plugins = list[tuple[str, importlib.metadata.Distribution, list[str]]]


def _plugin_distributions() -> _Plugins:
    """Return (name, distribution, modules named by its entry points) of third parties, sorted."""
    modules: dict[str, set[str]] = {}
    distributions: dict[str, importlib.metadata.Distribution] = {}
    for name, entry in _entries():
        if entry.dist is not None and name != OURSELVES:
            distributions[name] = entry.dist
            modules.setdefault(name, set()).add(entry.module)
    return [(name, distributions[name], sorted(modules[name])) for name in sorted(distributions)]


@functools.cache
def distribution_of(module: str) -> str:
    """Return the distribution that brings a module: ours, a plugin's by its entry points, or ``""``."""
    if _within(module, OURSELVES):
        return OURSELVES
    for name, _, named in _plugin_distributions():
        if any(_within(module, _top_package(one)) for one in named):
            return name
    return ""


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def _plugin_roots(distribution: importlib.metadata.Distribution, modules: Iterable[str]) -> list[Path]:
    """Return the folders of a plugin's top-level packages, and its top-level modules, importing none of them."""
    installed = (PurePosixPath(str(path)) for path in distribution.files or [])
    # As in "module.py" and "module.cpython-311-x86_64-linux-gnu.so".
    packaged = {path.parts[0].partition(".")[0] for path in installed if path.suffix in SOURCES}
    tops = {_top_package(module) for module in modules} | {part for part in packaged if part.isidentifier()}
    return sorted({root for top in tops for root in _roots(top)})


def _top_package(module: str) -> str:
    """Return the outermost regular package (or the module) that `module` is part of."""
    parts = module.split(".")
    for end in range(1, len(parts)):
        try:
            found = importlib.util.find_spec(".".join(parts[:end]))
        except (ImportError, ValueError):
            break
        if found is None or found.origin is not None:
            return ".".join(parts[:end])
    return module


def _roots(module: str) -> list[Path]:
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return []
    if found is None:
        return []
    if found.submodule_search_locations is not None:
        return [Path(folder) for folder in found.submodule_search_locations]
    return [Path(found.origin)] if found.origin is not None and found.origin.endswith(SOURCES) else []


@functools.cache
def version(library: str) -> str:
    """Return the version of an installed distribution, or ``"missing"``; nothing can have a name that is none."""
    try:
        return importlib.metadata.version(library)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return "missing"
