"""One look for each contender in all figures of a suite, and which of them share a plot."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

from rankbench.drawing.style import COLORS, GRAYS, Look, gray, look
from rankbench.kinds.figure import Cast

__all__ = ["assign_looks", "groups"]

T = TypeVar("T")

TOGETHER = 16
"""Series of one panel: more of them cannot be told apart, and become small multiples."""

_GROUP = 8
"""Series of a panel among small multiples: each has a color of its own there."""


def groups(series: Sequence[T]) -> list[tuple[T, ...]]:
    """Return which series share a panel: all of up to sixteen, else groups of up to eight, alike in size."""
    if len(series) <= TOGETHER:
        return [tuple(series)]
    count = -(-len(series) // _GROUP)
    edges = [round(i * len(series) / count) for i in range(count + 1)]
    return [tuple(series[start:end]) for start, end in itertools.pairwise(edges)]


def assign_looks(casts: Sequence[Cast]) -> dict[str, Look]:
    """Return a look for every name in the figures of a suite, the same one in all of them.

    Names that share a figure never look alike, and as few of them as possible share a color. A name that says
    more than that of another figure, as "regression k=100" does than "regression", has its color. Names
    that were added to the run come last, so that the others look as they do without them.
    """
    quiet = _always_quiet(casts)
    bases = _special_cases(casts) | {name: base for cast in casts for name, base in cast.variants.items()}
    beside: dict[str, set[str]] = defaultdict(set)
    for cast in casts:
        for name in cast.names:
            beside[name].update(cast.names)
    ordered = [(name in bases, name in cast.added, name) for cast in casts for name in cast.names]
    # Sorting is stable: within each of the four classes the order is that of the suite.
    late = sorted(ordered, key=lambda entry: entry[:2])
    places: dict[str, int] = {}
    for name in dict.fromkeys(name for _, _, name in late if name not in quiet):
        taken = {places[other] for other in beside[name] if other in places}
        color = places[bases[name]] % len(COLORS) if bases.get(name) in places else None
        places[name] = _free(taken, color)
    return {name: look(place) for name, place in places.items()} | {name: gray(i) for i, name in enumerate(quiet)}


def _special_cases(casts: Sequence[Cast]) -> dict[str, str]:
    """Return by name the one of another figure that it begins with, the longest, if no figure shows both."""
    names = list(dict.fromkeys(name for cast in casts for name in cast.names))
    together = {frozenset((a, b)) for cast in casts for a, b in itertools.combinations(cast.names, 2)}
    found = {}
    for name in names:
        heads = [head for head in names if name.startswith(f"{head} ") and frozenset((head, name)) not in together]
        if heads:
            found[name] = max(heads, key=len)
    return found


def _always_quiet(casts: Sequence[Cast]) -> list[str]:
    loud = {name for cast in casts for name in cast.names if name not in cast.quiet}
    return [name for name in dict.fromkeys(name for cast in casts for name in cast.names) if name not in loud][:GRAYS]


def _free(taken: set[int], color: int | None) -> int:
    """Return the place whose color is the least used, of these the first."""
    many = len(COLORS)
    beyond = many * (max(taken, default=0) // many + 2)
    free = [i for i in range(beyond) if i not in taken and (color is None or i % many == color)]
    return min(free, key=lambda i: (sum(other % many == i % many for other in taken), i))
