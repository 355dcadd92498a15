"""Checking everything that a name stands for: a plugin's distribution, a component, a suite."""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points

from rankbench.errors import SpecError, closest
from rankbench.plugin import manager
from rankbench.plugin.blocked import VARIABLE
from rankbench.plugin.hookspecs import GROUP
from rankbench.plugin.kinds import KINDS, SUITE, kind_of
from rankbench.plugin.loading import OURSELVES
from rankbench.scaffold import of_this_python
from rankbench.spec import parse
from rankbench.testing.check_results import CheckResult
from rankbench.testing.isolated import Isolated, Lost, labelled
from rankbench.testing.run_checks import unexecuted
from rankbench.text import normalized

__all__ = ["check_named", "distributions"]


def distributions() -> list[str]:
    """Return the names of the distributions that have plugins, without importing any."""
    return sorted({entry.dist.name for entry in entry_points(group=GROUP) if entry.dist is not None})


def check_named(name: str, *, kind: str | None = None, seconds: float = 120.0) -> Iterator[CheckResult]:
    """Check what a name stands for, each check in a process that may hang or die.

    Parameters
    ----------
    name : str
        A distribution with plugins (all that it brings, at default parameters), a component
        in the contender grammar, a suite, or the path of a suite's TOML file or of a plugin's folder.
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
    target = (SUITE, name) if name.endswith(".toml") and kind in (None, SUITE) else _component(name, kind)
    with Isolated(seconds) as isolated:
        yield from _checked(labelled(*target), isolated, [target])


def _called(name: str) -> str:
    """Return the distribution that stands in a folder, which may be named otherwise; other names as they are."""
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
        with _blocking(blocked), Isolated(seconds) as isolated:
            try:
                survey = isolated.survey(distribution)
            except Lost as lost:
                reason = f"importing it: {lost}"
                continue
            yield from survey.results
            yield from _checked(label, isolated, survey.targets)
            return
    yield CheckResult(label, "loads", "failed", reason)


def _checked(label: str, isolated: Isolated, targets: Sequence[tuple[str, str]]) -> Iterator[CheckResult]:
    """Check targets, and say why if no check of a component (of a suite, if there is nothing else) was executed."""
    results: dict[bool, list[CheckResult]] = {}
    for kind, text in targets:
        for result in isolated.check(kind, text):
            results.setdefault(kind != SUITE, []).append(result)
            yield result
    if results:
        yield from unexecuted(label, results[max(results)])


@contextmanager
def _blocking(names: list[str]) -> Iterator[None]:
    """Add to the block list that worker processes inherit."""
    before = os.environ.get(VARIABLE)
    if names:
        os.environ[VARIABLE] = ",".join([*([before] if before else []), *names])
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before


def _component(name: str, kind: str | None) -> tuple[str, str]:
    """Return kind and spec of the one component (or suite) of that name."""
    if os.path.isfile(os.path.join(name, "pyproject.toml")):
        install = of_this_python("pip", "install", "-e", name)
        raise SpecError(
            f"plugin {_called(name)!r}, which stands in {name!r}, is not installed here: {install}; or check "
            f"what others would install: rankbench check {shlex.quote(name)} --wheel"
        )
    given, _, rest = name.partition("/")
    if kind is None and rest and given in (*KINDS, SUITE):
        kind, name = given, rest
    kinds = [kind_of(kind)] if kind is not None else [*KINDS, SUITE]
    bare = parse(name).name
    found = [k for k in kinds if bare in manager.names(k)]
    if not found:
        known = {n for k in kinds for n in manager.names(k)} | set(distributions())
        message = f"there is no plugin, component or suite {bare!r}{closest(bare, known)}{manager.maybe_theirs(bare)}"
        if kind is None:
            folder = bare if os.path.isdir(bare) else "FOLDER"
            message += f" (a plugin must be installed: {of_this_python('pip', 'install', '-e', folder)})"
        raise SpecError(message)
    if len(found) > 1:
        raise SpecError(f"{bare!r} names several things ({', '.join(found)}); say which with --kind")
    return found[0], str(manager.suites()[bare]) if found[0] == SUITE else name
