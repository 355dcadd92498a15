"""Blocks on a Dask cluster that the user already has (the extra ``rankbench[dask]``).

Dask cannot stop a task that hangs, so its workers run each block in a plain process. What
blocks are drawn from is sent once to every worker and unpacked there. A worker that is
lost costs time, not numbers: Dask gives its blocks to another one, and a block is a
function of its inputs alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, cast

from rankbench.errors import ExecutorError
from rankbench.protocols.base import BlockTask, Prepared
from rankbench.results.schema import BlockResult
from rankbench.runner.blocks import run_block
from rankbench.runner.deaths import Dead, apart, failed, placed, plugins_of
from rankbench.runner.executors import LIMIT, warm_up_all
from rankbench.runner.foreign import PAUSE
from rankbench.runner.remote import Remote
from rankbench.runner.share import shared
from rankbench.runner.wire import result_from_bytes, result_to_bytes, task_from_json, task_to_json

__all__ = ["connected", "run_on_cluster"]

PATIENCE = 30
"""Seconds to wait for a scheduler, and for its first worker."""

Parcel = dict[str, bytes]
"""Files of a folder by their name."""


def connected(address: str) -> Any:
    """Return a client of the scheduler at `address`, with at least one worker that has our code.

    Raises
    ------
    ExecutorError
        `distributed` is not installed, nobody answers at the address, there is no worker,
        or a worker has other code: its numbers might be others.
    """
    try:
        import distributed
    except ImportError as error:
        raise ExecutorError("the executor dask needs the package distributed: pip install 'rankbench[dask]'") from error
    from rankbench.digest import code_digest

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
    strangers = sorted(worker for worker, digest in digests.items() if digest != code_digest())
    if strangers:
        client.close()
        raise ExecutorError(
            f"{len(strangers)} of {len(digests)} Dask workers have other code, libraries or processors than this "
            f"machine, the first at {strangers[0]}: install the same rankbench, plugins and pins there"
        )
    return client


def run_on_cluster(
    sources: Sequence[Prepared], tasks: Sequence[BlockTask], address: str, timeout: float = LIMIT
) -> Iterator[BlockResult]:
    """Run blocks on the Dask cluster whose scheduler is at `address`.

    Each process there runs built-in contenders, or those of one plugin. Deaths and timeouts of
    blocks are treated as in `rankbench.runner.executors.run_in_pool`.

    Raises
    ------
    ExecutorError
        See `connected`; also if the cluster is lost on the way: what was done is kept.
    """
    # Before anything that takes long: most of what can go wrong goes wrong here.
    with contextlib.closing(connected(address)) as client:
        from distributed import as_completed

        protocols = [prepared.protocol for prepared in sources]
        places = placed(tasks, sources)
        yield from places.nowhere
        for task in places.here:
            yield run_block(sources[task.source], task)
        warm_up_all(sources, (*places.ours, *places.foreign))
        with shared(sources) as files:
            parcel = {path.name: path.read_bytes() for path in files.folder.iterdir()}
        name = _name_of(parcel)
        try:
            sent = client.scatter(parcel, broadcast=True, hash=False)

            def submit(task: BlockTask) -> Any:
                theirs = bool(plugins_of(task, sources[task.source]))
                return client.submit(_run, sent, name, task_to_json(task), timeout, theirs, pure=False, retries=3)

            waiting: dict[Any, BlockTask] = {submit(task): task for task in (*places.ours, *places.foreign)}
            queue = cast(Any, as_completed)(list(waiting), loop=client.loop)
            for future in queue:
                task = waiting.pop(future)
                result = _result(future)
                parts = apart(task, protocols[task.source].contender) if isinstance(result, Dead) else []
                for part in parts:
                    again = submit(part)
                    waiting[again] = part
                    queue.add(again)
                if not parts:
                    yield failed(task, result) if isinstance(result, Dead) else result
        finally:
            with contextlib.suppress(Exception):  # a worker that is gone has nothing to forget
                client.run(_forget, name, on_error="ignore")


def _result(future: Any) -> BlockResult | Dead:
    from distributed import CancelledError, KilledWorker

    try:
        status, said = future.result()
    except KilledWorker as error:
        return Dead("error", f"every worker that ran the block was lost ({type(error).__name__})")
    except CancelledError as error:
        raise ExecutorError("the Dask cluster was lost; run again to go on where it stopped") from error
    if status != "done":
        return Dead(status, said)
    return result_from_bytes(said)


def _name_of(parcel: Parcel) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for name, data in sorted(parcel.items()):
        digest.update(f"{name} {len(data)}\n".encode() + data)
    return f"rankbench-{digest.hexdigest()}"


# What follows runs on the cluster's machines.


_DIGEST = (
    "from rankbench.runtime import prepare; prepare(); from rankbench.digest import code_digest; print(code_digest())"
)


def _digest() -> str:
    """Return the code digest as a block's process there would have it."""
    done = subprocess.run(
        [sys.executable, "-c", _DIGEST],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    return done.stdout.strip()


_folders: dict[str, Path] = {}
_unpacking = Lock()


def _unpacked(parcel: Parcel, name: str) -> Path:
    """Return this worker's folder with the parcel's files, made once, for its user alone."""
    with _unpacking:
        folder = _folders.get(name)
        if folder is None:
            folder = _unpack(parcel, Path(tempfile.mkdtemp(prefix="rankbench-")))
            _folders[name] = folder
        return folder


def _unpack(parcel: Parcel, folder: Path) -> Path:
    for inner, data in parcel.items():
        (folder / inner).write_bytes(data)
    return folder


def _run(parcel: Parcel, name: str, task: str, timeout: float, foreign: bool) -> tuple[str, Any]:
    """Run a block in a process of its own; return its result as bytes, or how it ended.

    One with foreign code gets files of its own: it can change those of nobody else. Whether it did
    is looked at.
    """
    with tempfile.TemporaryDirectory(prefix="rankbench-", ignore_cleanup_errors=True) as own:
        folder = _unpack(parcel, Path(own)) if foreign else _unpacked(parcel, name)
        process = Remote(folder, task_from_json(task), timeout, quiet=True)
        while not process.ended():
            time.sleep(PAUSE)
        outcome = process.outcome()
        if foreign and any(_content(folder / inner) != data for inner, data in parcel.items()):
            return "error", "it changed the data that it was given"
    if isinstance(outcome, Dead):
        return outcome.status, outcome.reason
    return "done", result_to_bytes(outcome)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _forget(name: str) -> None:
    """Remove what was unpacked."""
    with _unpacking:
        folder = _folders.pop(name, None)
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)
