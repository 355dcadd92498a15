"""Who is in a figure, who is left out and why, and one look for each of them in all figures of a suite."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeVar

from rankbench.reports.figures.style import COLORS, GRAYS, Look, gray, look, thousands
from rankbench.reports.sample import Sampler

__all__ = ["MOST", "Cast", "Omission", "assign", "groups", "limited", "order_of", "unfinished"]

T = TypeVar("T")

MOST = 64
"""Series of a figure; of more the first ones are drawn, of dots the best ones."""

TOGETHER = 16
"""Series of one panel: more of them cannot be told apart, and become small multiples."""

_GROUP = 8
"""Series of a panel among small multiples: each has a color of its own there."""

_WORDS = {
    "pending": "not computed yet",
    "done": "no repetition that all contenders have finished",
    "error": "failed",
    "timeout": "gave no answer in time",
}


class Omission(NamedTuple):
    """A contender that a figure does not show.

    Attributes
    ----------
    label : str
    why : str
        In a few words: "skipped", "it has no curve of 'exact-gap'".
    cause : {"choice", "status", "misfit"}
        The suite does not ask for it; it gave no numbers; or it was asked for, has numbers, and the
        figure cannot show them.
    where : str
        As in "n = 200,000", if the figure shows it elsewhere.
    """

    label: str
    why: str
    cause: Literal["choice", "status", "misfit"]
    where: str = ""


@dataclass(frozen=True)
class Cast:
    """Who is in a figure.

    Attributes
    ----------
    file : str
        The figure's.
    names : tuple of str
        Its series as the legend names them, in the suite's order: contenders, or lines of several.
    added : frozenset of str
        Those of `names` that are not of the suite but were added to the run.
    quiet : frozenset of str
        Those of `names` that are drawn as gray lines.
    variants : dict of str to str
        By name the other name whose color it has: one contender, drawn at several n.
    left_out : tuple of Omission
    """

    file: str
    names: tuple[str, ...]
    added: frozenset[str] = frozenset()
    quiet: frozenset[str] = frozenset()
    variants: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[Omission, ...] = ()


def order_of(sampler: Sampler) -> list[str]:
    """Return the labels of all contenders, in the order of the suite."""
    order = {arm.member.label: arm.member.order for race in sampler.races for arm in race.arms}
    return sorted(order, key=lambda label: order[label])


def unfinished(sampler: Sampler, labels: Iterable[str], n: Collection[int] | None = None) -> list[Omission]:
    """Return which of `labels` have no numbers, at any n or at some.

    Parameters
    ----------
    sampler : Sampler
    labels : iterable of str
    n : collection of int, optional
        Numbers of judgments (as run) that are drawn; all by default.
    """
    found = []
    races = [race for race in sampler.races if n is None or race.n in n]
    for label in labels:
        arms = [(race, arm) for race in races if (arm := race.arm(label)) is not None]
        without: dict[str, list[int]] = {}
        for race, arm in arms:
            if not (arm.racing and race.repetitions):
                without.setdefault(_WORDS.get(arm.status, arm.status), []).append(race.n)
        whole = len(without) == 1 and len(next(iter(without.values()))) == len(arms)
        for why, places in without.items():
            where = "" if whole else ", ".join(thousands(place) for place in places)
            found.append(Omission(label, why, "status", where))
    return found


def limited(names: Sequence[str], most: int = MOST) -> tuple[tuple[str, ...], list[Omission]]:
    """Return the names that a figure has room for, and the others."""
    why = f"the figure has room for {most}"
    return tuple(names[:most]), [Omission(name, why, "misfit") for name in names[most:]]


def groups(series: Sequence[T]) -> list[tuple[T, ...]]:
    """Return which series share a panel: all of up to sixteen, else groups of up to eight, alike in size."""
    if len(series) <= TOGETHER:
        return [tuple(series)]
    count = -(-len(series) // _GROUP)
    edges = [round(i * len(series) / count) for i in range(count + 1)]
    return [tuple(series[start:end]) for start, end in itertools.pairwise(edges)]


def assign(casts: Sequence[Cast]) -> dict[str, Look]:
    """Return a look for every name in the figures of a suite, the same one in all of them.

    Names that share a figure never look alike, and as few of them as possible share a color. Names
    that were added to the run come last, so that the others look as they do without them.
    """
    quiet = _always_quiet(casts)
    bases = {name: base for cast in casts for name, base in cast.variants.items()}
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


def _always_quiet(casts: Sequence[Cast]) -> list[str]:
    loud = {name for cast in casts for name in cast.names if name not in cast.quiet}
    return [name for name in dict.fromkeys(name for cast in casts for name in cast.names) if name not in loud][:GRAYS]


def _free(taken: set[int], color: int | None) -> int:
    """Return the place whose color is the least used, of these the first."""
    many = len(COLORS)
    beyond = many * (max(taken, default=0) // many + 2)
    free = [i for i in range(beyond) if i not in taken and (color is None or i % many == color)]
    return min(free, key=lambda i: (sum(other % many == i % many for other in taken), i))
