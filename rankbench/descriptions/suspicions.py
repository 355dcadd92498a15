"""Suspicions name lookalike items and odd votes.

References
----------
.. [UTS39] Unicode Technical Standard 39: Unicode security mechanisms.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl

from rankbench.core.text import count_text, first_of, short_repr, short_reprs
from rankbench.data.tables.cells import EMPTY
from rankbench.data.tables.schemas import REST
from rankbench.descriptions.judges import BiasedJudge, Position, Repeats, position_bias, repeats, votes_with_points
from rankbench.errors import Warned, option
from rankbench.logs.stream import LOOKED_AT

# ruff: noqa: RUF001


_TWINS: dict[str, str] = {
    # Cyrillic, Greek and Armenian letters that look like small or capital Latin ones.
    "a": "аα",
    "b": "вβьЬ",
    "c": "сϲ",
    "d": "ԁ",
    "e": "еεҽ",
    "g": "ɡց",
    "h": "һнη",
    "i": "іιıӏ",
    "j": "јϳ",
    "k": "кκ",
    "m": "мμ",
    "n": "пո",
    "o": "оοσօ",
    "p": "рρ",
    "q": "ԛ",
    "r": "гг",
    "s": "ѕ",
    "t": "тτ",
    "u": "υս",
    "v": "νѵ",
    "w": "ԝω",
    "x": "хχ",
    "y": "уγү",
}
_NUMBER = re.compile(r"\+?(-?)([0-9]+)(?:\.([0-9]*))?")
_ROUNDS = 5
_TABLE = {ord(twin): latin for latin, twins in _TWINS.items() for twin in twins.casefold()}
_DIGITS = str.maketrans("01|", "oll")
_CAPITALS = str.maketrans("IL", "l\ue000")
"""A capital I looks like a small l; a capital L stands for itself in the range for private use."""
_SEPARATORS = re.compile("[ .-]+")
_APART = r"\s,;_()\[\]-"
_CODE_LAST = re.compile(rf"(?P<rest>.*[^{_APART}])[{_APART}]+(?P<code>[^{_APART}]+)[{_APART}]*")
_CODE_FIRST = re.compile(rf"[{_APART}]*(?P<code>[^{_APART}]+)[{_APART}]+(?P<rest>[^{_APART}].*)")
_ABBREVIATION = re.compile("[A-Z][^aeiouy]{2,3}")
"""The short form of a word, as Ltd and GmbH, has no vowel behind its first letter."""


@cache
def _plain(character: str) -> str:
    category = unicodedata.category(character)
    if character.isspace():
        return " "
    if category in ("Cf", "Cc"):
        return ""
    if category in ("Pd", "Pc") or character == "\u2212":
        return "-"
    if category in ("Pi", "Pf") or character in "'\"`´":
        return "'"
    return _TABLE.get(ord(character), character)


def skeletons(name: str) -> tuple[str, str]:
    """Return the skeletons of a name for names that are read alike and for names that look alike, as in [UTS39]_.

    Compatible forms, capitals, white space, hidden characters, dashes, dots and quotes make no difference to either;
    nor do letters of other alphabets that look like Latin ones. A dash or a dot between digits counts, and so does a
    dash at an end: 4.1 is not 41. Numbers that are equal look alike, as 007 and 7.0. The digits 0 and 1 look like O
    and l, and a capital I like a small l; a capital L looks like none of these.
    """
    before, read, look = "", name, name
    # The remaining characters may compose anew, or have another small form.
    for _ in range(_ROUNDS):
        if before == (before := read + look):
            break
        read, look = _reduced(read), _reduced(look, looks=True)
    return read, look.translate(_DIGITS)


def _reduced(name: str, *, looks: bool = False) -> str:
    if (number := _NUMBER.fullmatch(name.strip())) is not None:
        sign, whole, fraction = number.groups(default="")
        name = f"{sign}{whole.lstrip('0') or '0'}.{fraction.rstrip('0')}".removesuffix(".")
    folded = unicodedata.normalize("NFKC", name)
    folded = unicodedata.normalize("NFKC", (folded.translate(_CAPITALS) if looks else folded).casefold())
    text = "".join(map(_plain, folded))
    return _SEPARATORS.sub(_joined, text)


def _joined(run: re.Match[str]) -> str:
    """Return the text that replaces spaces, dashes and dots between two characters."""
    text, found = run.string, run[0].replace(" ", "")
    before, after = text[: run.start()][-1:], text[run.end() :][:1]
    if before.isdecimal() and after.isdecimal():
        return "." if found == "." else "-"
    if not after:
        return found.replace(".", "") if before else found
    return "" if before.isalnum() and after.isalnum() else found


def _without_code(name: str) -> Iterator[tuple[str, str]]:
    """Yield a name without a short form at its end or beginning, and that form: Fulham of Fulham (FC) or Fulham Ltd.

    It has two or three capitals, or begins with one and has no vowel behind it.

    Capitals mean nothing in a name without small letters, and the capitals of Rocky II are a number.
    """
    for found in (_CODE_LAST.fullmatch(name), _CODE_FIRST.fullmatch(name)):
        if found is not None:
            code, rest = found["code"].replace(".", ""), found["rest"]
            capitals = 2 <= len(code) <= 3 and code.isupper() and not {*code} <= {*"IVX"}
            if code.isalpha() and (capitals or _ABBREVIATION.fullmatch(code)):
                yield from [(rest, code)] if any(map(str.islower, rest)) else []


def lookalikes(names: Iterable[str]) -> list[list[str]]:
    """Return the groups of different names that are read alike or look alike, sorted.

    Names of a group share a skeleton, or one is the other and a short form: see `_without_code`.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    listed, first = sorted(set(names)), dict[tuple[int, str], int]()
    pairs = [(at, first.setdefault(key, at)) for at, name in enumerate(listed) for key in enumerate(skeletons(name))]
    for at, name in enumerate(listed):
        for rest, code in _without_code(name):
            key = skeletons(rest)[0]
            pairs += [(at, first.get((0, key), at)), (at, first.setdefault((2, f"{key} {code}"), at))]
    ends = tuple(zip(*pairs, strict=True)) or ((), ())
    graph = coo_array((np.ones(len(pairs)), ends), shape=(len(listed), len(listed)))
    groups: dict[int, list[str]] = {}
    for name, number in zip(listed, connected_components(graph, directed=False)[1].tolist(), strict=True):
        groups.setdefault(number, []).append(name)
    return [found for found in groups.values() if len(found) > 1]


def odd(names: Iterable[str]) -> list[str]:
    """Return the names that are odd, sorted.

    Those that are empty, hold control or hidden characters, begin or end with space,
    look like formulas of spreadsheets, or like missing values, as ``NA``.
    """
    hidden = ("Cc", "Cf", "Cs", "Co")
    return sorted(
        name
        for name in set(names)
        if name.strip().casefold() in EMPTY
        or name != name.strip()
        or name[0] in "=+@"
        or any(unicodedata.category(character) in hidden for character in name)
    )


_BY_LOT = "if sides were randomized"
_MOST = 4
_MOST_NAMES = 100_000


@dataclass(frozen=True)
class Findings:
    """Findings about sides, judges and repeated votes.

    Attributes
    ----------
    position : Position or None
    biased_judges : list of BiasedJudge or None
    repeats : Repeats or None
        None: unknown.
    first : int or None
        They are about the first so many votes; None: about all.
    mirrored : (int, int) or None
        Votes that have a mirrored one, and all; None: games do not stand there from both sides.
    unsigned : int
        Votes without a judge, where other votes have one.
    """

    position: Position | None
    biased_judges: list[BiasedJudge] | None
    repeats: Repeats | None
    first: int | None = None
    mirrored: tuple[int, int] | None = None
    unsigned: int = 0

    def sided(self) -> bool:
        """Return whether one half lies outside the interval of the left's share."""
        return self.position is not None and not self.position.lower <= 0.5 <= self.position.upper

    def left_wins(self) -> str:
        """Return a text on the left's share of wins."""
        if self.position is None:
            return "not known: no columns left and right, or no decisive vote"
        found = self.position
        within = f"{found.lower:.1%} to {found.upper:.1%}{', by judge' if found.by_judge else ''}"
        of = "the points of " if found.points else "the weight of " if found.weighted else ""
        return f"{found.share:.1%} of {of}{count_text(found.votes, 'decisive vote')} (95%: {within})"

    def favored_sides(self) -> str:
        """Return a text on the judges who favor a side."""
        if self.biased_judges is None:
            return "not known"
        return count_and_first([f"{short_repr(j.judge)} ({j.left:,} left of {j.votes:,})" for j in self.biased_judges])

    @property
    def cast_again_title(self) -> str:
        """Title of the count of `cast_again`."""
        sides = self.repeats is not None and self.repeats.sides
        return f"votes cast again{' (in one order of sides)' if sides else ''}"

    def cast_again(self) -> str:
        """Return a text on repeated votes of judges."""
        if self.repeats is None:
            return "not known: the log does not say who judged"
        about = "" if self.repeats.sampled == 1 else "about "
        if not self.repeats.votes:
            return "none"
        return (
            f"{about}{self.repeats.votes:,.0f}, by the same judge on the same pair"
            f"{' and query' if self.repeats.queries else ' (the log names no queries)'}; "
            f"{about}{self.repeats.contradictions:,.0f} times the judge said something else"
        )

    def mirrored_games(self) -> str:
        """Return a text on the number of mirrored votes."""
        if self.mirrored is None:
            return "none"
        return (
            f"{self.mirrored[0]:,} of {self.mirrored[1]:,} votes stand there again from the other side (sides "
            "exchanged; same result, time and judge), perhaps one game seen from both teams"
        )

    def notes(self, *, control: bool = False) -> list[str]:
        """Return notes for readers of a ranking, a line each; none without findings.

        Parameters
        ----------
        control : bool
            Name the option that takes the side out.
        """
        found = list[str]()
        about = f" (of the first {self.first:,} votes; rankbench data describe looks at all)" if self.first else ""
        if self.sided():
            note = f"left wins {self.left_wins()}{about}, a preferred side {_BY_LOT}"
            out = Warned(note, option("control", "side"), "takes that out")
            plain = f"left wins {self.left_wins()}: a preferred side, {_BY_LOT} (home sides are not){about}"
            found.append(out if control else plain)
        if self.biased_judges:
            found.append(f"position-biased judges: {self.favored_sides()}: a preferred side, {_BY_LOT}{about}")
        if self.repeats is not None and self.repeats.votes:
            found.append(f"{self.cast_again_title}: {self.cast_again()}{about}")
        if self.mirrored is not None:
            note = f"mirrored votes: {self.mirrored_games()}{about}"
            found.append(Warned(note, option("columns", "mirrored=halve"), "counts each once"))
        if self.unsigned:
            missing = count_text(self.unsigned, "vote")
            note = f"{missing} without a judge: intervals by default take votes, not judges, for independent{about}"
            found.append(note)
        return found


def count_and_first(texts: Sequence[str]) -> str:
    """Return the number of texts, and the first four."""
    return f"{len(texts):,}: {first_of(texts, _MOST)}" if texts else "none"


_STAKE = 1e12
"""Payment for a mirrored group beside that for another one, which costs what twenty mirrored pairs of votes bring."""
_SURE = 100
"""Factor of all bets from which mirrored votes are no chance."""


def mirrored_votes(table: pl.LazyFrame) -> tuple[int, int] | None:
    r"""Return the number of mirrored votes and of all, if games are recorded from both sides; else None.

    A mirrored vote is about the same items, with the sides exchanged and the same result, and of the same time, judge
    and query. Votes on one pair of one time, judge and query are a group, which is mirrored if one of its votes at most
    has no partner. Where sides are drawn by lot, and two results are as often, a group of n is mirrored by a chance of

    .. math:: p_n \le \tfrac12 \binom{n}{n/2} 2^{-n} \;\text{(n even)}, \quad
              p_n \le \tfrac32 \binom{n+1}{(n+1)/2} 2^{-n-1} \;\text{(n odd, above 1)}

    A fair bet on each group multiplies a stake by :math:`S / (1 + (S - 1) p_n)` if it is mirrored, else by
    :math:`1 / (1 + (S - 1) p_n)`, with S = `_STAKE`. By Markov's inequality all bets together win `_SURE` times the
    stake in one log of a hundred at most. A vote that is alone in its group changes nothing.

    Parameters
    ----------
    table : LazyFrame
        Comparisons in the schema, as `votes_with_points` returns them.
    """
    names = table.collect_schema().names()
    if "first" not in names:
        return None
    low, high = pl.min_horizontal("winner", "loser"), pl.max_horizontal("winner", "loser")
    tie = pl.col("tie").fill_null(value=False) if "tie" in names else pl.lit(value=False)
    points = pl.col("points") if "points" in names else pl.lit(1.0)
    of_low = pl.when(pl.col("winner") == low).then(points).otherwise(1 - points)
    result = pl.when(~tie).then(of_low.round(9))
    turned = pl.when("first").then("winner").otherwise("loser") != low
    beside = [name for name in ("query_id", "time", "judge", "weight") if name in names]
    sizes = (
        table.select(low.alias("low"), high.alias("high"), *beside, result=result, turned=turned)
        .group_by("low", "high", "result", *beside)
        .agg(n=pl.len().cast(pl.Int64), turned=pl.col("turned").sum().cast(pl.Int64))
        .group_by("low", "high", *beside)
        .agg(pl.col("n").sum(), alone=(pl.col("n") - 2 * pl.col("turned")).abs().sum())
        .group_by("n")
        .agg(groups=pl.len().cast(pl.Int64), mirrored=(pl.col("alone") < 2).sum(), alone=pl.col("alone").sum())
        .sort("n")
        .collect(engine="streaming")
    )
    bets = 0.0
    for n, groups, mirrored, _ in sizes.filter(pl.col("n") > 1).iter_rows():
        even = n + n % 2
        chance = (1.5 if n % 2 else 0.5) * (math.comb(even, even // 2) / 2**even)
        bets += mirrored * math.log(_STAKE) - groups * math.log1p((_STAKE - 1) * chance)
    rows, alone = int((sizes["n"] * sizes["groups"]).sum()), int(sizes["alone"].sum())
    return (rows - alone, rows) if bets >= math.log(_SURE) else None


def suspicious_votes(table: pl.LazyFrame, *, whole: bool = False, queries: bool = True) -> Findings:
    """Look at the first `LOOKED_AT` votes of a log; at position-biased judges only if these are all.

    Parameters
    ----------
    table : LazyFrame
        Comparisons in the schema.
    whole : bool
        Look at all votes, however many.
    queries : bool
        Whether ``query_id`` is what was asked; else it says something else of a vote, and nothing is said of votes that
        were cast again.
    """
    names = table.collect_schema().names()
    read = ("query_id", "winner", "loser", "tie", "first", "judge", "time", "weight", REST)
    chosen = table.select([name for name in read if name in names])
    head = (chosen if whole else chosen.head(LOOKED_AT + 1)).collect(engine="streaming")
    cut = not whole and len(head) > LOOKED_AT
    votes = votes_with_points((head.head(LOOKED_AT) if cut else head).lazy()).collect()
    position, judges = position_bias(votes.lazy(), accuse=not cut)
    again = repeats(votes.lazy(), len(votes)) if queries and "query_id" in names else None
    missing = votes["judge"].null_count() if "judge" in votes.columns else 0
    unsigned = missing if missing < len(votes) else 0
    return Findings(position, judges, again, len(votes) if cut else None, mirrored_votes(votes.lazy()), unsigned)


def name_notes(names: Collection[str], what: str = "items") -> list[str]:
    """Return notes on items that people would confuse or hardly read; none if there are very many."""
    if len(names) > _MOST_NAMES:
        return []
    notes = []
    if groups := [" = ".join(short_reprs(group[:3])) for group in lookalikes(names)]:
        notes.append(f"rankbench takes {what} called alike for different ones: {count_and_first(groups)}")
    if strange := short_reprs(odd(names)):
        notes.append(f"odd names{'' if what == 'items' else f' of {what}'}: {count_and_first(strange)}")
    return notes
