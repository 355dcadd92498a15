"""Connecting to a Dask cluster that the user already has (the extra ``rankbench[dask]``)."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any, cast

from rankbench.digest import code_digest, plugins_digest
from rankbench.errors import ExecutorError

__all__ = ["connected_client"]

PATIENCE = 30
"""Seconds to wait for a scheduler, and for its first worker."""

_DIGEST = (
    "from rankbench.runtime import settle_runtime; settle_runtime(); "
    "from rankbench.digest import code_digest, plugins_digest; print(code_digest() + plugins_digest())"
)


def connected_client(address: str) -> Any:
    """Return a client of the scheduler at `address`, with at least one worker that has our code.

    Raises
    ------
    ExecutorError
        `distributed` is not installed, nobody answers at the address, there is no worker,
        or a worker has other code: its numbers might be others.
    """
    watched = "distributed" in sys.modules
    try:
        import distributed
    except ImportError as error:
        raise ExecutorError("the executor dask needs the package distributed: pip install 'rankbench[dask]'") from error
    if not watched:
        _silence()
    try:
        client = cast(Any, distributed).Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ExecutorError(f"no Dask scheduler answers at {address!r} ({error})") from error
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
        digests = client.run(_digest)
    except (OSError, TimeoutError) as error:
        client.close()
        raise ExecutorError(f"the Dask cluster at {address!r} has no worker that answers ({error})") from error
    strangers = sorted(worker for worker, digest in digests.items() if digest != code_digest() + plugins_digest())
    if strangers:
        client.close()
        raise ExecutorError(
            f"{len(strangers)} of {len(digests)} Dask workers have other code, libraries or processors than this "
            f"machine, the first at {strangers[0]}: install the same rankbench, plugins and pins there"
        )
    return client


def _silence() -> None:
    """Let Dask log nothing below a critical error: what becomes of the cluster, our own errors say.

    Where a program has imported Dask before, its log is that program's, and stays. Dask writes tracebacks to standard
    error when a scheduler dies.
    """
    names = ["distributed", *(name for name in logging.root.manager.loggerDict if name.startswith("distributed."))]
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _digest() -> str:
    """Return the digests of rankbench's and all plugins' code as a block's process there would have them."""
    done = subprocess.run(
        [sys.executable, "-c", _DIGEST],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    return done.stdout.strip()
