"""Settled before anything imports NumPy: the same BLAS kernels and threads as a run has."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from amounts import is_full, numbered
from hypothesis import settings

from rankbench.core.runtime import settle_blas

if TYPE_CHECKING:
    from click.testing import Result
    from dask_cluster import Cluster

    from rankbench.interfaces.method import Block

settle_blas()

gc.set_threshold(50_000, 20, 20)  # a worker imports everything, and keeps it

# A law says nothing of time. Examples are the same at every run, so that a red run is the doing of what changed.
settings.register_profile("full", max_examples=30, deadline=None, derandomize=True)
settings.register_profile("quick", max_examples=5, deadline=None, derandomize=True)
settings.register_profile("fresh", max_examples=100, deadline=None, print_blob=True)
settings.load_profile("quick")  # pytest's option --hypothesis-profile comes after it


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a long test be run in parts."""
    parser.addoption("--cases", type=numbered, metavar="FIRST:END", help="of long tests whose cases are numbered")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no module without a test marked `alone`, or `lint`, where those are wanted: all take ten seconds."""
    wanted = config.option.markexpr.rpartition(" and ")[2]
    if wanted not in ("alone", "lint") or collection_path.suffix != ".py":
        return None
    return True if f"pytest.mark.{wanted}" not in collection_path.read_text(encoding="utf-8") else None


FIRST = (
    *("runner/test_left_behind", "runner/test_executors", "runner/test_plugin_code", "faults/test_same_bytes"),
    "tracking/test_cli_time",
)
"""Files whose tests share a run that takes long, or take long one by one."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests marked `full` to that profile, and let a worker of pytest-xdist begin with `FIRST`.

    Others steal what stands last: at the end that would be such tests, which each of them then makes the run for.
    """
    if not is_full():
        left = [item for item in items if item.get_closest_marker("full")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("full")]
    if hasattr(config, "workerinput"):
        names = {f"tests/{name}.py": rank for rank, name in enumerate(FIRST)}
        items.sort(key=lambda item: names.get(item.nodeid.partition("::")[0], len(FIRST)))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector the thousands of tests and modules that stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.fixture
def cases(request: pytest.FixtureRequest) -> Callable[[int], range]:
    """Return the cases of a test that has so many: all of them, or those that ``--cases`` names."""
    chosen: slice = request.config.getoption("--cases") or slice(None)
    return lambda number: range(number)[chosen]


@pytest.fixture
def block() -> Block:
    """150 judgments on five queries."""
    from small_blocks import make_block

    return make_block([4, 7, 3, 12, 5], 150)


@pytest.fixture
def rankbench() -> Callable[..., Result]:
    """Run ``rankbench`` with these arguments."""
    from command_line import called

    return called


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler and two workers, processes of their own; who kills one replaces it."""
    from dask_cluster import Cluster

    found = Cluster(tmp_path_factory.mktemp("cluster"), 2)
    yield found
    found.close()


@pytest.fixture(scope="session", autouse=True)
def journals_that_do_not_wait_for_the_disk() -> Iterator[None]:
    """Let the system write runs when it likes: thousands of blocks are committed, and no test cuts the power.

    A process that is killed loses nothing by it.
    """
    from rankbench.store.journal import Journal

    check = Journal.check_format

    def checked(journal: Journal, *, create: bool) -> None:
        check(journal, create=create)
        journal.connection.execute("PRAGMA synchronous = OFF")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Journal, "check_format", checked)
        yield
