"""Checks in a process of their own, which may hang or die without taking the others along."""

from __future__ import annotations

import functools
import signal
from collections.abc import Iterator
from concurrent.futures import TimeoutError as Expired
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rankbench.plugin.kinds import KINDS, SUITE, base_of
from rankbench.plugin.loading import OURSELVES, load
from rankbench.testing.check_results import CheckResult

__all__ = ["Isolated", "Lost", "Survey", "labelled"]

PATIENCE = 2
"""Processes that one component may cost before its other checks are given up."""

STARTUP = 300
"""Seconds in which a new process must be ready."""


@dataclass(frozen=True)
class Survey:
    """What a distribution (or a name) turned out to bring.

    Attributes
    ----------
    targets : list of (str, str)
        Kind and spec of each component; of a suite, the path of its file.
    results : list of CheckResult
        Of loading the plugin.
    """

    targets: list[tuple[str, str]]
    results: list[CheckResult] = field(default_factory=list)


class Isolated:
    """A worker process that runs checks, and is replaced whenever it hangs or dies.

    Parameters
    ----------
    seconds : float
        For one check.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._pool: Any = None

    def __enter__(self) -> Self:
        from pebble import ProcessPool

        # Spawned, because Polars' threads do not survive a fork.
        self._pool = ProcessPool(max_workers=1, context=get_context("spawn"))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.stop()
        self._pool.join()

    def call(self, function: Any, *arguments: Any) -> Any:
        """Return what a function returns there.

        Raises
        ------
        Lost
            The process hung or died.
        """
        from pebble import ProcessExpired

        # A process that is new first imports us, which is not the component's time.
        self._pool.schedule(_ready, timeout=STARTUP).result()
        try:
            return self._pool.schedule(function, args=arguments, timeout=self.seconds).result()
        except Expired:
            raise Lost(f"not done after {self.seconds:g} s; its process was ended") from None
        except ProcessExpired as error:
            raise Lost(_ended(error.exitcode)) from None

    def survey(self, distribution: str) -> Survey:
        """Load a distribution's plugins and say what they brought and how they behaved."""
        survey: Survey = self.call(_survey, distribution)
        return survey

    def check(self, kind: str, text: str) -> Iterator[CheckResult]:
        """Run all checks of one component, yielding each result as it is there."""
        from rankbench.testing.catalog import checks_for

        label = labelled(kind, text)
        lost = 0
        for check in checks_for(kind):
            if lost >= PATIENCE:
                yield CheckResult(label, check.name, "failed", f"not tried: {lost} processes were lost before")
                continue
            try:
                yield self.call(_check, kind, text, check.name)
            except Lost as trouble:
                lost += 1
                yield CheckResult(label, check.name, "failed", str(trouble))


def labelled(kind: str, text: str) -> str:
    """Return what a target is called in results: as a `Subject` is."""
    return f"{kind}/{Path(text).stem if kind == SUITE else text}"


class Lost(Exception):
    """A worker process that did not come back; the message says how it ended."""


def _ended(code: int | None) -> str:
    if code is not None and code < 0:
        return f"it killed its process ({signal.Signals(-code).name})"
    return f"it ended its process (exit code {code})"


@functools.cache
def _ready() -> None:
    """Import what the checks and the built-in components need, once a process."""
    from importlib.metadata import entry_points

    import numba
    import polars
    import scipy.optimize

    from rankbench.plugin import hookspecs
    from rankbench.testing.catalog import all_checks

    del numba, polars, scipy
    load(e for e in entry_points(group=hookspecs.GROUP) if e.dist and e.dist.name == OURSELVES)
    all_checks()


def _check(kind: str, text: str, check: str) -> CheckResult:
    from rankbench.errors import RankbenchError
    from rankbench.plugin import manager
    from rankbench.testing.catalog import registered_check
    from rankbench.testing.run_checks import run_check
    from rankbench.testing.subjects import subject_of

    try:
        subject = subject_of(Path(text) if kind == SUITE else manager.get(base_of(kind), text))
    except RankbenchError as error:
        return CheckResult(labelled(kind, text), check, "failed", f"it cannot be made: {error}")
    return run_check(subject, registered_check(check))


def _survey(distribution: str) -> Survey:
    from importlib.metadata import entry_points

    from rankbench.plugin import hookspecs, manager
    from rankbench.testing.calls import CALLED
    from rankbench.testing.state import State
    from rankbench.testing.subjects import specs_at_bounds

    every = entry_points(group=hookspecs.GROUP)
    before = State.now()
    load(e for e in every if e.dist is not None and e.dist.name == distribution)
    traces = before.changes()
    label = f"plugin/{distribution}"
    causes = [cause for status in manager.statuses() if status.distribution == distribution for cause in status.causes]
    causes = list(dict.fromkeys((*causes, *manager.plugins().registry.contested(distribution))))
    suites = manager.suites()
    targets = [
        (kind, text)
        for kind in (*KINDS, SUITE)
        for name in manager.names(kind)
        if manager.origin(kind, name).distribution == distribution
        for text in (
            [str(suites[name])]
            if kind == SUITE
            else [name, *(specs_at_bounds(manager.component_class(base_of(kind), name)) if kind in CALLED else ())]
        )
    ]
    results = [
        _check_result(label, "loads", "; ".join(causes)),
        _check_result(label, "import-touches-nothing", f"importing it changes {traces[0]}" if traces else ""),
        _check_result(label, "brings-something", "" if targets else "it registered no component and no suite"),
    ]
    return Survey(targets, results)


def _check_result(label: str, check: str, failure: str) -> CheckResult:
    return CheckResult(label, check, "failed" if failure else "passed", failure)
