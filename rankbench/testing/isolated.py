"""Checks of a component, a distribution or a file by name, in a process."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeVar

from rankbench.core.code_digest import OURSELVES
from rankbench.core.spec import parse
from rankbench.core.text import normalized
from rankbench.errors import RankbenchError, SpecError, closest, option
from rankbench.plugin import manager
from rankbench.plugin.blocked import VARIABLE
from rankbench.plugin.loading import load
from rankbench.plugin.registry import FILES, GROUP, KINDS, base_of, kind_of, kind_of_file
from rankbench.runner.blocks import LostProcess
from rankbench.runner.worker_pool import START, Worker
from rankbench.testing.check import (
    CheckResult,
    all_checks,
    checks_for,
    registered_check,
    run_check,
    subject_of,
    unexecuted,
)
from rankbench.testing.scaffold import of_this_python
from rankbench.testing.state import State, import_libraries

T = TypeVar("T")

PATIENCE = 2
"""Processes that one component may cost before its other checks are given up."""


class Isolated:
    """A worker process that runs checks, and is replaced whenever it hangs or dies.

    Parameters
    ----------
    seconds : float
        For one check.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._worker: Worker | None = None

    def close(self) -> None:
        """End the process."""
        if self._worker is not None:
            self._worker.end()

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return the result of a function in the worker process.

        Raises
        ------
        Lost
            The process hung or died.
        """
        if self._worker is None:
            self._worker = Worker()
            # A new process first imports rankbench, which is not the component's time.
            self._worker.call(_ready, timeout=START)
        found: T | LostProcess = self._worker.call(function, *arguments, timeout=self.seconds)
        if not isinstance(found, LostProcess):
            return found
        self._worker.end()
        self._worker = None
        raise Lost(found.reason)

    def check(self, kind: str, text: str) -> Iterator[CheckResult]:
        """Run all checks of one component, yielding each result at once.

        A component that hangs would fail every check. It fails the first check alone that loses its process.
        """
        label = labelled(kind, text)
        lost: list[tuple[str, str]] = []
        for check in checks_for(kind):
            if len(lost) >= PATIENCE:
                yield CheckResult(label, check.name, "skipped", f"not tried: {len(lost)} processes were lost before")
                continue
            try:
                yield self.call(_check, kind, text, check.name)
            except Lost as trouble:
                if lost:
                    yield CheckResult(label, check.name, "skipped", f"it lost a process as {lost[0][0]} did: {trouble}")
                lost.append((check.name, str(trouble)))
                if len(lost) == 1:
                    yield CheckResult(label, check.name, "failed", str(trouble))


def labelled(kind: str, text: str) -> str:
    """Return a target's name in results, as a `Subject` has it."""
    return f"{kind}/{kind_of_file(Path(text))[1] if kind in FILES else text}"


class Lost(Exception):
    """A worker process was lost, for the reason in the message."""


def _ready() -> None:
    """Import all that the checks and the built-in components need."""
    import_libraries()
    load(e for e in entry_points(group=GROUP) if e.dist and e.dist.name == OURSELVES)
    all_checks()


def _check(kind: str, text: str, check: str) -> CheckResult:
    try:
        subject = subject_of(Path(text) if kind in FILES else manager.get(base_of(kind), text))
    except RankbenchError as error:
        return CheckResult(labelled(kind, text), check, "failed", f"it cannot be made: {error}")
    return run_check(subject, registered_check(check))[0]


def _survey(distribution: str) -> tuple[list[tuple[str, str]], list[CheckResult]]:
    """Load a distribution's plugins; return kinds and names of their components, and results of loading."""
    every = entry_points(group=GROUP)
    before = State.now()
    load(e for e in every if e.dist is not None and e.dist.name == distribution)
    traces = before.changes()
    label = f"plugin/{distribution}"
    causes = [cause for status in manager.statuses() if status.distribution == distribution for cause in status.causes]
    causes = list(dict.fromkeys((*causes, *manager.plugins().registry.contested(distribution))))
    targets = []
    for kind in (*KINDS, *FILES):
        for name in manager.names(kind):
            if manager.origin(kind, name).distribution == distribution:
                targets.append((kind, _text(kind, name)))
    results = [
        _check_result(label, "loads", "; ".join(causes)),
        _check_result(label, "import-touches-nothing", f"importing it changes {traces[0]}" if traces else ""),
        _check_result(label, "brings-something", "" if targets else "it registered no component, suite or format"),
    ]
    return targets, results


def _check_result(label: str, check: str, failure: str) -> CheckResult:
    return CheckResult(label, check, "failed" if failure else "passed", failure)


def distributions() -> list[str]:
    """Return the names of the distributions that have plugins, without importing any."""
    return sorted({entry.dist.name for entry in entry_points(group=GROUP) if entry.dist is not None})


def check_named(name: str, *, kind: str | None = None, seconds: float = 120.0) -> Iterator[CheckResult]:
    """Check the components of a name, each check in a process that may hang or die.

    Parameters
    ----------
    name : str
        A distribution with plugins (all that it brings, at default parameters), a component
        in the contender grammar, a suite, a known format, or the path of its TOML file or of a plugin's folder.
    kind : str, optional
        Of the component; needed where two kinds share the name.
    seconds : float
        For one check.

    Raises
    ------
    SpecError
        There is nothing of that name, or several things.
    """
    name = name.rstrip("/")  # a plugin's folder, as shells complete it
    spelled = {normalized(d): d for d in distributions()}
    chosen = spelled.get(normalized(_called(name)))
    if kind is None and chosen is not None:
        yield from _distribution(chosen, seconds)
        return
    is_file = name.endswith(".toml") and kind in (None, *FILES)
    target = (kind_of_file(Path(name))[0], name) if is_file else _component(name, kind)
    with closing(Isolated(seconds)) as isolated:
        yield from _checked(labelled(*target), isolated, [target])


def _called(name: str) -> str:
    """Return the name of a folder's distribution, which may differ from the folder's; other names unchanged."""
    try:
        with open(os.path.join(name, "pyproject.toml"), "rb") as file:
            return str(tomllib.load(file)["project"]["name"])
    except (OSError, ValueError, KeyError, TypeError):
        return name


def _distribution(distribution: str, seconds: float) -> Iterator[CheckResult]:
    label = f"plugin/{distribution}"
    others = [d for d in distributions() if d not in (distribution, OURSELVES)]
    reason = ""
    # Where some plugin hangs or ends the process when it is imported: is it this one?
    for blocked in ([], others):
        with _blocking(blocked), closing(Isolated(seconds)) as isolated:
            try:
                targets, results = isolated.call(_survey, distribution)
            except Lost as lost:
                reason = f"importing it: {lost}"
                continue
            yield from results
            yield from _checked(label, isolated, targets)
            return
    yield CheckResult(label, "loads", "failed", reason)


def _checked(label: str, isolated: Isolated, targets: Sequence[tuple[str, str]]) -> Iterator[CheckResult]:
    """Check targets, and add a failure if no check of a component (or of a file, without components) was executed."""
    results: dict[bool, list[CheckResult]] = {}
    for kind, text in targets:
        for result in isolated.check(kind, text):
            results.setdefault(kind not in FILES, []).append(result)
            yield result
    if results:
        yield from unexecuted(label, results[max(results)])


@contextmanager
def _blocking(names: list[str]) -> Iterator[None]:
    """Add to the block list that worker processes inherit."""
    before = os.environ.get(VARIABLE, "")
    os.environ[VARIABLE] = ",".join([before, *names])
    try:
        yield
    finally:
        os.environ[VARIABLE] = before


def _component(name: str, kind: str | None) -> tuple[str, str]:
    """Return kind and spec of the one component (or suite, or format) of that name."""
    if os.path.isfile(os.path.join(name, "pyproject.toml")):
        install = of_this_python("pip", "install", "-e", name)
        raise SpecError(f"plugin {_called(name)!r}, which stands in {name!r}, is not installed here: {install}")
    if name.endswith(".whl"):
        install = of_this_python("pip", "install", "--force-reinstall", "--no-deps", name)
        called = os.path.basename(name).partition("-")[0].replace("_", "-")
        raise SpecError(f"a wheel is checked once it is installed: {install} && rankbench check {called}")
    given, _, rest = name.partition("/")
    if kind is None and rest and given in (*KINDS, *FILES):
        kind, name = given, rest
    kinds = [kind_of(kind)] if kind is not None else [*KINDS, *FILES]
    bare = parse(name).name
    found = [k for k in kinds if bare in manager.names(k)]
    if not found:
        known = {n for k in kinds for n in manager.names(k)} | set(distributions())
        message = f"there is no plugin, component or suite {bare!r}{closest(bare, known)}{manager.broken_plugins(bare)}"
        if kind is None:
            folder = bare if os.path.isdir(bare) else "FOLDER"
            message += f" (a plugin must be installed: {of_this_python('pip', 'install', '-e', folder)})"
        raise SpecError(message)
    if len(found) > 1:
        raise SpecError(f"{bare!r} names several things ({', '.join(found)}); say which with {option('kind')}")
    return found[0], _text(found[0], bare) if found[0] in FILES else name


def _text(kind: str, name: str) -> str:
    """Return the name of a target for the checks; of a suite or a format, its file."""
    return str(manager.plugins(kind).registry.files(kind)[name]) if kind in FILES else name
