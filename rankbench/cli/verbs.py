"""Which verbs there are, from the entry points of what is installed, without importing them."""

from __future__ import annotations

import functools
from importlib.metadata import entry_points
from typing import NamedTuple

from rankbench.plugin.blocked import is_blocked
from rankbench.text import normalized

__all__ = ["GROUP", "SHORT_HELPS", "Verb", "offered", "verbs"]

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
    place = {name: number for number, name in enumerate(SHORT_HELPS)}
    found = [
        Verb(entry.name, entry.value, normalized(entry.dist.name) if entry.dist else "unknown")
        for entry in entry_points(group=GROUP)
    ]
    return tuple(
        sorted(
            (verb for verb in found if not is_blocked(verb.distribution)),
            key=lambda verb: (not verb.built_in, verb.distribution, place.get(verb.name, len(place)), verb.name),
        )
    )
