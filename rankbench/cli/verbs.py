"""Which verbs there are, without importing them or even `importlib.metadata`.

`importlib.metadata` takes longer to import than click does, and ``--help`` needs of it
only the names in one entry-point group. So the ``entry_points.txt`` files on `sys.path`
are read here; a verb that is not found that way is asked for there.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["GROUP", "SHORT_HELPS", "Verb", "find_verb", "offered", "verbs"]

GROUP = "rankbench.commands"

SHORT_HELPS = {
    "run": "Run a suite: every contender on the same judgments.",
    "aggregate": "Rank the items of a log of votes, ballots or clicks.",
    "rank": "Rank the systems of a score table.",
    "certify": "Decide whether a surrogate is consistent, with a proof.",
    "plan": "Show what a run would do, without doing it.",
    "report": "Make leaderboards and figures again from stored rows.",
    "compare": "Compare two results and say what is worse.",
    "time": "Time contenders in turns, of one version or of two.",
    "history": "Keep what runs gave, and show when it changed.",
    "verify": "Verify that a published folder is what its rows give.",
    "list": "List components and suites.",
    "info": "Describe a component or a suite.",
    "data": "List, get, verify, describe and convert data.",
    "plugins": "List the plugins and what became of each.",
    "check": "Check that components do what they declare.",
    "new": "Write a plugin or a suite to start from.",
    "env": "Show versions, CPU class and folders.",
}
"""The built-in verbs in the order of ``--help``; a test keeps them equal to their docstrings."""


class Verb(NamedTuple):
    """A verb on offer.

    Attributes
    ----------
    name : str
    target : str
        ``module:attribute`` of its click command.
    distribution : str
        Who brings it.
    """

    name: str
    target: str
    distribution: str

    @property
    def built_in(self) -> bool:
        """Whether it is one of rankbench's own."""
        return self.distribution == "rankbench"


@functools.cache
def verbs() -> dict[str, Verb]:
    """Return the verbs by name: the built-in ones first, and none can take their names."""
    by_name: dict[str, Verb] = {}
    for verb in offered():
        by_name.setdefault(verb.name, verb)
    return by_name


@functools.cache
def offered() -> tuple[Verb, ...]:
    """Return every verb of every distribution: ours as ``--help`` shows them, then by distribution.

    Those of blocked distributions (``RANKBENCH_BLOCK_PLUGINS``) are not on offer.
    """
    from rankbench.plugin.blocked import is_blocked

    order = list(SHORT_HELPS)
    return tuple(
        sorted(
            (verb for verb in _scan(sys.path) if not is_blocked(verb.distribution)),
            key=lambda v: (
                not v.built_in,
                v.distribution,
                order.index(v.name) if v.name in order else len(order),
                v.name,
            ),
        )
    )


def find_verb(name: str) -> Verb | None:
    """Return the verb of that name, asking `importlib.metadata` about the less usual places."""
    if name in verbs():
        return verbs()[name]
    from importlib.metadata import entry_points

    from rankbench.plugin.blocked import is_blocked

    for entry in sorted(entry_points(group=GROUP, name=name), key=lambda e: e.dist.name if e.dist else ""):
        distribution = entry.dist.name if entry.dist else "unknown"
        if not is_blocked(distribution):
            return Verb(name, entry.value, distribution)
    return None


def _scan(folders: list[str]) -> Iterator[Verb]:
    seen: set[str] = set()
    for folder in folders:
        try:
            children = sorted(os.listdir(folder or "."))
        except OSError:
            continue
        for child in children:
            if not child.endswith((".dist-info", ".egg-info")):
                continue
            distribution = child.rpartition(".")[0].partition("-")[0].replace("_", "-").lower()
            if distribution in seen:  # shadowed, as when importing
                continue
            seen.add(distribution)
            try:
                with open(os.path.join(folder or ".", child, "entry_points.txt"), encoding="utf-8") as file:
                    yield from _parse(file.read(), distribution)
            except (OSError, UnicodeDecodeError):
                continue


def _parse(text: str, distribution: str) -> Iterator[Verb]:
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[]").strip()
        elif section == GROUP and "=" in line and line[0] not in "#;":
            name, _, target = line.partition("=")
            yield Verb(name.strip(), target.partition("[")[0].replace(" ", ""), distribution)
