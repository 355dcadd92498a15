"""What a run depends on besides the suite: versions, CPU, folders."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from dataclasses import dataclass

from rankbench import digest, runtime
from rankbench.plugin import manager
from rankbench.plugin.loading import OURSELVES

__all__ = ["Environment", "environment"]


@dataclass(frozen=True)
class Environment:
    """Where and with what a program runs.

    Attributes
    ----------
    rankbench, python, platform : str
        Versions.
    libraries : dict of str to str
        rankbench's dependencies with their versions, and llvmlite.
    plugins : dict of str to str
        Distributions of third parties, with their versions.
    cpu_class : str
        Equal classes and equal code give equal bytes.
    cpus : int
        Logical processors that this process may use.
    blas : tuple of str
        Linear algebra libraries with version, kernels and number of threads.
    code_digest : str
        Hash of all code that can change a number.
    cache : str
        Folder of downloads and compiled code.
    data : str
        ``RANKBENCH_DATA``, the folder of data that is already there; empty if not set.
    """

    rankbench: str
    python: str
    platform: str
    libraries: dict[str, str]
    plugins: dict[str, str]
    cpu_class: str
    cpus: int
    blas: tuple[str, ...]
    code_digest: str
    cache: str
    data: str


def environment() -> Environment:
    """Look around."""
    from rankbench.runtime import available_cores

    third_parties = {s.distribution: s.version for s in manager.statuses() if s.distribution != OURSELVES}
    return Environment(
        rankbench=importlib.metadata.version("rankbench"),
        python=platform.python_version(),
        platform=platform.platform(),
        libraries=_libraries(),
        plugins=third_parties,
        cpu_class=digest.cpu_class(),
        cpus=available_cores(),
        blas=_blas(),
        code_digest=digest.code_digest(),
        cache=str(runtime.cache_root()),
        data=os.environ.get("RANKBENCH_DATA", ""),
    )


def _libraries() -> dict[str, str]:
    required = importlib.metadata.requires("rankbench") or []
    names = {re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in required if "extra ==" not in line}
    return {name: digest.version(name) for name in sorted(names | {"llvmlite"})}


def _blas() -> tuple[str, ...]:
    import numpy as np  # noqa: F401  (loads its BLAS, which is what is asked about)
    from threadpoolctl import threadpool_info

    described = (
        f"{found['internal_api']} {found['version']} ({found.get('architecture', '?')}), "
        f"{found['num_threads']} thread{'s' * (found['num_threads'] != 1)}"
        for found in threadpool_info()
        if found["user_api"] == "blas"
    )
    return tuple(dict.fromkeys(described))
