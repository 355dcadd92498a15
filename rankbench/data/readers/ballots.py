"""Readers of ballots read files of PrefLib and of STV elections (BLT)."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import polars as pl
from pydantic import Field

from rankbench.core.text import count_text, listed, short_repr
from rankbench.data.readers.text_lines import numbered_lines, uncommented
from rankbench.data.readers.unpacked import unpacked_name
from rankbench.data.tables.checks import TableReader
from rankbench.data.tables.schemas import orders_schema
from rankbench.errors import InputError
from rankbench.interfaces.dataset import existing
from rankbench.interfaces.table_check import RawTable


class PreflibReader(TableReader):
    """Orders as PrefLib publishes them: a header of ``# KEY: value``, then ``count: 3,{1,4},2``.

    A file is one query, called as the file is, without its ending; its alternatives are the
    candidates, numbered from 1, or from 0 as pref_voting writes them. Items are called by their names. The
    reader adds the counts of lines with one ballot. It checks the header: numbers of
    alternatives, voters and unique orders, and the data type: ``soc`` and ``soi`` have no ties, ``soc``
    and ``toc`` rank everything. Lines that begin with ``#`` and say something else are comments.

    Prefer it for elections of preflib.org.
    """

    name: ClassVar[str] = "preflib"
    source: ClassVar[str] = "preflib.org, format of 2022; N. Mattei and T. Walsh, ADT 2013"
    extensions: ClassVar[tuple[str, ...]] = (".soc", ".soi", ".toc", ".toi")

    names: bool = Field(default=True, description="Call items by their names; else by their numbers in the file.")
    counts: bool = Field(default=True, description="Require as many voters and unique orders as the header says.")

    @classmethod
    def example(cls) -> bytes:
        """Return six ballots on three alternatives."""
        return (
            b"# FILE NAME: example.toi\n# DATA TYPE: toi\n# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: 6\n"
            b"# NUMBER UNIQUE ORDERS: 3\n# ALTERNATIVE NAME 1: ann\n# ALTERNATIVE NAME 2: bob\n"
            b"# ALTERNATIVE NAME 3: cy\n3: 1,{2,3}\n2: 2,1\n1: {1,3}\n"
        )

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the file begins with a header that counts alternatives."""
        return head.startswith(b"#") and b"\n# NUMBER ALTERNATIVES:" in head

    def raw(self, path: Path) -> RawTable:
        """Return the orders; see `Reader.raw`. All of the file is read at once."""
        file = PreflibFile(existing(path), self.names, self.counts)
        return RawTable(file.orders().lazy(), path, in_schema=True, notes=tuple(file.notes))


_NUMBER = "[0-9]{1,15}"
_PLACE = rf"{_NUMBER}|{{\s*{_NUMBER}(?:\s*,\s*{_NUMBER})*\s*}}"
_BALLOT = re.compile(rf"({_NUMBER})\s*:\s*((?:{_PLACE})(?:\s*,\s*(?:{_PLACE}))*)")
_NAME = re.compile(r"ALTERNATIVE NAME ([0-9]{1,9})")
_MOST_ALTERNATIVES = 1_000_000
_COUNTS = ("NUMBER ALTERNATIVES", "NUMBER VOTERS", "NUMBER UNIQUE ORDERS")


class PreflibFile:
    """One PrefLib file.

    Parameters
    ----------
    path : Path
    names : bool
        Whether items are called by their names.
    counted : bool
        Whether the header's numbers of voters and of unique orders must be right.
    """

    def __init__(self, path: Path, names: bool, counted: bool) -> None:
        self.path, self.names, self.counted = path, names, counted
        self.header: dict[str, tuple[str, int]] = {}  # value and line
        self.named: dict[int, str] = {}
        self.type = ""
        self.candidates: dict[int, str] = {}
        self.notes: list[str] = []

    def orders(self) -> pl.DataFrame:
        """Return the ballots; a file is read once."""
        line, ballots = 0, list[tuple[int, str]]()
        for line, text in numbered_lines(self.path, kept=True):
            content = text.strip()
            if content.startswith("#"):
                self._say(content[1:].strip(), line)
            elif content:
                if not ballots:
                    self._begin(line)
                ballots.append((line, content))
        self._number(ballots)
        # By places; tied alternatives may stand in any order.
        rankings: dict[tuple[frozenset[int], ...], list[list[int]]] = {}
        counts: Counter[tuple[frozenset[int], ...]] = Counter()
        for number, content in ballots:
            places, count = self._ballot(content, number)
            key = tuple(map(frozenset, places))
            rankings.setdefault(key, places)
            counts[key] += count
        self._end(line, len(ballots), counts)
        if repeated := len(ballots) - len(counts):
            self.notes.append(
                f"rankbench adds up the counts of equal ballots: {count_text(repeated, 'line')} more than ballots"
            )
        query, names = Path(unpacked_name(self.path)).stem, list(self.candidates.values())
        rows = [
            (query, [[self.candidates[item] for item in place] for place in rankings[key]], count, names)
            for key, count in counts.items()
        ]
        return pl.DataFrame(rows, schema=orders_schema(("count", "candidates")), orient="row")

    def _error(self, message: str, line: int) -> InputError:
        return InputError(message, path=self.path, row=line)

    def _say(self, text: str, line: int) -> None:
        """Keep the name or the value in a line of the header."""
        key, colon, value = (part.strip() for part in text.partition(":"))
        if named := _NAME.fullmatch(key):
            self.named[int(named[1])] = value
        elif colon and key in _COUNTS and not re.fullmatch(_NUMBER, value):
            raise self._error(f"{key} must be a whole number, not {short_repr(value)}", line)
        elif colon:
            self.header[key] = value, line

    def _begin(self, line: int) -> None:
        """Check the header at the first ballot."""
        if "NUMBER ALTERNATIVES" not in self.header:
            raise self._error(
                "there is no header line '# NUMBER ALTERNATIVES: ...' before the first ballot; files in PrefLib's "
                "format from before 2022 must be fetched again",
                line,
            )
        ending = unpacked_name(self.path).rpartition(".")[2]
        self.type = self.header.get("DATA TYPE", (ending, 0))[0].lower()

    def _number(self, ballots: list[tuple[int, str]]) -> None:
        """Name the alternatives, from 0 where the header names a 0, or, without names, where a ballot ranks it."""
        if not ballots:
            return
        said, place = self.header["NUMBER ALTERNATIVES"]
        named = self.named or {int(item) for _, text in ballots for item in re.findall(_NUMBER, text.partition(":")[2])}
        start = 0 if 0 in named else 1
        numbers = range(start, start + int(said))
        if len(numbers) > _MOST_ALTERNATIVES:
            raise self._error(f"there are {said} alternatives; PrefLib has no file of more than a few thousand", place)
        self.candidates = {number: self.named.get(number, "") if self.names else str(number) for number in numbers}
        different = {*self.candidates.values()} - {""}
        if self.names and not len(different) == len(self.named) == len(numbers):
            raise self._error(
                f"there are {said} alternatives, and each must have a name of its own; preflib:names=false calls items "
                "by number",
                place,
            )

    def _ballot(self, text: str, line: int) -> tuple[list[list[int]], int]:
        """Return a ballot's places, and how many voters cast it."""
        if (match := _BALLOT.fullmatch(text)) is None:
            raise self._error(f"{short_repr(text)} is not a ballot such as '12: 3,{{1,4}},2'", line)
        count = int(match[1])
        if count == 0:
            raise self._error("the ballot was cast by 0 voters", line)
        places = [[int(item) for item in re.findall(_NUMBER, place)] for place in re.findall(_PLACE, match[2])]
        ranked = [item for place in places for item in place]
        if len(set(ranked)) < len(ranked):
            again = next(item for i, item in enumerate(ranked) if item in ranked[:i])
            raise self._error(f"alternative {again} is ranked twice", line)
        m, start = len(self.candidates), min(self.candidates, default=1)
        if unknown := [item for item in ranked if item not in self.candidates]:
            what = f"alternative {unknown[0]} is unknown: there are {m}"
            raise self._error(f"{what}, from {start} to {start + m - 1}", line)
        if self.type in ("soc", "soi") and len(places) < len(ranked):
            raise self._error(f"the ballot has ties, but files of type {self.type} have none", line)
        if self.type in ("soc", "toc") and len(ranked) < m:
            what = f"the ballot ranks {len(ranked)} of {m} alternatives"
            raise self._error(f"{what}, but files of type {self.type} rank all", line)
        return places, count

    def _end(self, line: int, lines: int, weights: Mapping[tuple[frozenset[int], ...], int]) -> None:
        """Check the counts in the header; unique orders may be lines, if two have the same ballot."""
        if not lines:
            raise self._error("the file has no ballots", line)
        voters = sum(weights.values())
        for key, found in (("NUMBER VOTERS", {voters}), ("NUMBER UNIQUE ORDERS", {len(weights), lines})):
            said, place = self.header.get(key, ("", 0))
            if self.counted and said and int(said) not in found:
                made = " or ".join(map(str, sorted(found)))
                raise self._error(
                    f"{key} is {said}, but the ballots make {made}; preflib:counts=false ignores it", place
                )


_HEAD = re.compile(rb"\s*\d+[ \t]+\d+[ \t]*\r?\n(?:[ \t]*(?:-\d+[ \t]*)+\r?\n)*[ \t]*\d+[ \t\d=-]*[ \t]0[ \t]*\r?\n")
"""Candidates and seats, withdrawn candidates, and the first ballot."""

_FORM = "a line is 'WEIGHT CANDIDATE ... 0', as '5 2=4 1 0'"


class BltReader(TableReader):
    """Orders as BLT has them: ``4 2`` (candidates, seats), ballots such as ``5 2=4 1 0``, ``0``, and the names.

    A file is one query, called as the file is, without its ending. ``2=4`` is a tie, ``-`` a place that was left empty.
    Candidates who have withdrawn (a line ``-3``) are taken out of the ballots, and ballots that rank nobody are left
    out; both are said. The number of seats does not matter.

    Prefer it for elections as OpenSTV and other counting programs write them.
    """

    name: ClassVar[str] = "blt"
    source: ClassVar[str] = "B. A. Wichmann, Voting matters 1994; OpenSTV"
    extensions: ClassVar[tuple[str, ...]] = (".blt",)

    @classmethod
    def example(cls) -> bytes:
        """Return six ballots on three candidates, a tie among them."""
        return b'3 1\n3 1 2 3 0\n2 2=3 0\n1 3 1 0\n0\n"ann"\n"bob"\n"cy"\n"a ward"\n'

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the file begins with two numbers and a ballot that ends with 0."""
        return _HEAD.match(head) is not None

    def raw(self, path: Path) -> RawTable:
        """Return the orders; see `Reader.raw`. All of the file is read at once."""
        whole = ((number, text.strip()) for number, text in numbered_lines(existing(path), kept=True))
        whole = ((number, uncommented(text, -1 if text[:1] != "#" else 0, path, number)) for number, text in whole)
        lines = ((number, text) for number, text in whole if text)
        number, first = next(lines, (1, ""))
        if not re.fullmatch(r"[1-9]\d{0,5}[ \t]+\d{1,6}", first):
            raise InputError(
                f"{short_repr(first)} are not the numbers of candidates and of seats", path=path, row=number
            )
        m = int(first.split()[0])
        ballots, withdrawn = _ballots(lines, m, path)
        names = [_unquoted(text) for _, text in zip(range(m), (text for _, text in lines), strict=False)]
        if len(names) < m or len(set(names)) < m or "" in names:
            raise InputError(
                f"there are {m} candidates (line {number}), and after the ballots the names {listed(names)}", path=path
            )
        gone = {names[candidate - 1] for candidate in withdrawn}
        rankings = [[[names[c - 1] for c in place if c not in withdrawn] for place in places] for _, places in ballots]
        rankings = [[place for place in places if place] for places in rankings]
        note = f"rankbench takes withdrawn candidates out of the ballots: {listed(sorted(gone))}"
        weights = [weight for weight, _ in ballots]
        # Whole numbers count voters; fractions, as counting by transfers leaves, weigh ballots.
        counted = all(weight.is_integer() for weight in weights)
        beside = {"count": [*map(int, weights)]} if counted else {"weight": weights}
        return ballot_table(
            path, rankings, beside, [name for name in names if name not in gone], [note] if gone else []
        )


def ballot_table(
    path: Path,
    rankings: Sequence[list[list[str]]],
    beside: Mapping[str, Sequence[float]],
    candidates: Sequence[str],
    notes: Iterable[str],
) -> RawTable:
    """Return the ballots of one query, named as the file; a note counts ballots that rank nothing.

    Parameters
    ----------
    path : Path
    rankings : sequence of lists of places
    beside : mapping of str to sequence of float
        ``count``, ``weight`` or both, of each ballot.
    candidates : sequence of str
    notes : iterable of str
        Sentences on how the ballots were read.

    Raises
    ------
    InputError
        No ballot ranks a candidate.
    """
    if not any(rankings):
        raise InputError("the file has no ballot that ranks anybody", path=path)
    schema = orders_schema((*beside, "candidates"))
    same = {"query_id": Path(unpacked_name(path)).stem, "candidates": list(candidates)}
    columns = {"ranking": rankings, **beside} | {name: [value] * len(rankings) for name, value in same.items()}
    orders = pl.DataFrame({name: columns[name] for name in schema}, schema=schema)
    empty = sum(not places for places in rankings)
    said = [f"rankbench leaves out {count_text(empty, 'line', 'of empty ballots')}"] if empty else []
    kept = orders.filter(pl.col("ranking").list.len() > 0)
    return RawTable(kept.lazy(), path, in_schema=True, notes=(*said, *notes))


def _ballots(
    lines: Iterator[tuple[int, str]], m: int, path: Path
) -> tuple[list[tuple[float, list[list[int]]]], set[int]]:
    """Return ballots, each with its weight, and who has withdrawn."""
    ballots: list[tuple[float, list[list[int]]]] = []
    withdrawn: set[int] = set()
    for number, text in lines:
        if text == "0":
            if not ballots:
                raise InputError("there is no ballot", path=path, row=number)
            return ballots, withdrawn
        words = text.split()
        if not ballots and all(re.fullmatch(r"-\d{1,6}", word) for word in words):
            ranked = [-int(word) for word in words]
            withdrawn.update(ranked)
        else:
            places = [word for word in words[1:-1] if word != "-"]
            good = re.fullmatch(r"\d{1,15}(\.\d{1,9})?", words[0]) and words[-1] == "0" and len(words) > 1
            if not good or not all(re.fullmatch(r"\d{1,6}(=\d{1,6})*", place) for place in places):
                raise InputError(f"{short_repr(text)} is no ballot: {_FORM}", path=path, row=number)
            ballots.append((float(words[0]), [[int(c) for c in place.split("=")] for place in places]))
            ranked = [c for place in ballots[-1][1] for c in place]
            if ballots[-1][0] == 0:
                raise InputError("the ballot was cast by 0 voters", path=path, row=number)
        if len(set(ranked)) < len(ranked) or not all(1 <= c <= m for c in ranked):
            raise InputError(
                f"{short_repr(text)} names a candidate twice, or one beyond the {m} that there are",
                path=path,
                row=number,
            )
    raise InputError("the ballots do not end: a line '0' follows them, and then the names", path=path)


def _unquoted(text: str) -> str:
    return next(csv.reader([text]), [""])[0].strip() if text.startswith('"') else text
