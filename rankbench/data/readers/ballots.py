"""Readers of ballots read files of PrefLib and of STV elections (BLT)."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
from pydantic import Field

from rankbench.core.text import count_text, listed, short_repr
from rankbench.data.readers.text_lines import TextLine, kept_lines
from rankbench.data.readers.unpacked import unpacked_name
from rankbench.data.tables.checks import TableReader
from rankbench.data.tables.orders import NO_CHOICES
from rankbench.data.tables.schemas import orders_schema
from rankbench.errors import InputError
from rankbench.interfaces.dataset import existing
from rankbench.interfaces.table_check import RawTable

_NUMBER = "[0-9]{1,15}"
_PLACE = rf"{_NUMBER}|{{\s*{_NUMBER}(?:\s*,\s*{_NUMBER})*\s*}}"
_BALLOT = re.compile(rf"({_NUMBER})\s*:\s*((?:{_PLACE})(?:\s*,\s*(?:{_PLACE}))*)")
_NAME = re.compile(r"#\s*ALTERNATIVE NAME ([0-9]{1,9})")
_MOST_ALTERNATIVES = 1_000_000
_ALTERNATIVES, _VOTERS, _UNIQUE = "NUMBER ALTERNATIVES", "NUMBER VOTERS", "NUMBER UNIQUE ORDERS"


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
        header, named, rows = dict[str, tuple[str, TextLine]](), dict[int, str](), list[TextLine]()
        for line in kept_lines(existing(path)):
            content = line.until(-1)
            key, colon, value = map(str.strip, content.text.partition(":"))
            if match := _NAME.fullmatch(key):
                named[int(match[1])] = value
            elif key.startswith("#") and colon:
                header[key[1:].strip()] = value, line
            elif content.text and not key.startswith("#"):
                rows.append(content)
        for key in (_ALTERNATIVES, _VOTERS, _UNIQUE):
            if key in header and not re.fullmatch(_NUMBER, header[key][0]):
                raise header[key][1].error(f"{key} must be a whole number, not {short_repr(header[key][0])}")
        if not rows:
            raise content.error("the file has no ballots")
        if _ALTERNATIVES not in header:
            raise rows[0].error(
                "there is no header line '# NUMBER ALTERNATIVES: ...'; files in PrefLib's format from before 2022 "
                "must be fetched again"
            )
        candidates = self._candidates(*header[_ALTERNATIVES], named, rows)
        kind = header["DATA TYPE"][0] if "DATA TYPE" in header else unpacked_name(path).rpartition(".")[2]
        # By places; tied alternatives may stand in any order.
        added = dict[tuple[frozenset[str], ...], LineBallot]()
        for ballot in (_preflib_ballot(row, candidates, kind.lower()) for row in rows):
            places = tuple(map(frozenset, ballot.places))
            former = added.get(places)
            added[places] = ballot if former is None else replace(former, count=former.count + ballot.count)
        voters = sum(int(ballot.count) for ballot in added.values())
        # Unique orders may be lines, if two have the same ballot.
        for key, found in ((_VOTERS, {voters}), (_UNIQUE, {len(added), len(rows)})):
            said, line = header.get(key, ("", content))
            if self.counts and said and int(said) not in found:
                made = " or ".join(map(str, sorted(found)))
                raise line.error(f"{key} is {said}, but the ballots make {made}; preflib:counts=false ignores it")
        more = count_text(len(rows) - len(added), "line")
        note = f"rankbench adds up the counts of equal ballots: {more} more than ballots"
        return ballot_table(path, [*added.values()], candidates.values(), [note] * (len(rows) > len(added)))

    def _candidates(self, said: str, line: TextLine, named: dict[int, str], rows: Sequence[TextLine]) -> dict[int, str]:
        """Return the alternatives, from 0 where the header names a 0, or, without names, where a ballot ranks it."""
        numbered = named or {int(n) for row in rows for n in re.findall(_NUMBER, row.text.partition(":")[2])}
        start = 0 if 0 in numbered else 1
        if int(said) > _MOST_ALTERNATIVES:
            raise line.error(f"there are {said} alternatives; PrefLib has no file of more than a few thousand")
        numbers = range(start, start + int(said))
        if not self.names:
            return {number: str(number) for number in numbers}
        if {*named} != {*numbers} or len({*named.values()} - {""}) < len(numbers) or not numbers:
            raise line.error(
                f"there are {said} alternatives, and each must have a name of its own; preflib:names=false calls items "
                "by number"
            )
        return {number: named[number] for number in numbers}


def _preflib_ballot(line: TextLine, candidates: Mapping[int, str], kind: str) -> LineBallot:
    """Return the ballot of a line."""
    if (match := _BALLOT.fullmatch(line.text)) is None:
        raise line.error(f"{short_repr(line.text)} is not a ballot such as '12: 3,{{1,4}},2'")
    places = [[int(item) for item in re.findall(_NUMBER, place)] for place in re.findall(_PLACE, match[2])]
    ranked, m = [item for place in places for item in place], len(candidates)
    if unknown := [item for item in ranked if item not in candidates]:
        start = min(candidates, default=1)
        raise line.error(f"alternative {unknown[0]} is unknown: there are {m}, from {start} to {start + m - 1}")
    ballot = LineBallot(line, [[candidates[item] for item in place] for place in places], int(match[1]))
    if kind in ("soc", "soi") and len(places) < len(ranked):
        raise line.error(f"the ballot has ties, but files of type {kind} have none")
    if kind in ("soc", "toc") and len(ranked) < m:
        raise line.error(f"the ballot ranks {len(ranked)} of {m} alternatives, but files of type {kind} rank all")
    return ballot


_HEAD = re.compile(rb"\s*\d+[ \t]+\d+[ \t]*\r?\n(?:[ \t]*(?:-\d+[ \t]*)+\r?\n)*[ \t]*\d+[ \t\d=-]*[ \t]0[ \t]*\r?\n")
"""Candidates and seats, withdrawn candidates, and the first ballot."""

_BLT_BALLOT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)((?:\s+(?:-|\d{1,6}(?:=\d{1,6})*))*)\s+0")
_WITHDRAWN = re.compile(r"-\d{1,6}(\s+-\d{1,6})*")


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
        whole = (line.until(-1) for line in kept_lines(existing(path)))
        lines = (one.until(0 if one.text.startswith("#") else -1) for one in whole)
        lines = (line for line in lines if line.text)
        first = next(lines, TextLine("", 1, path))
        if not re.fullmatch(r"[1-9]\d{0,5}[ \t]+\d{1,6}", first.text):
            raise first.error(f"{short_repr(first.text)} are not the numbers of candidates and of seats")
        m = int(first.text.split()[0])
        ballots, withdrawn = _blt_ballots(lines, m, path)
        names = [_unquoted(line.text) for line in islice(lines, m)]
        if len(names) < m or len(set(names)) < m or "" in names:
            said = f"there are {m} candidates (line {first.number}), and after the ballots the names {listed(names)}"
            raise InputError(said, path=path)
        gone = sorted(names[candidate - 1] for candidate in withdrawn)
        note = f"rankbench takes withdrawn candidates out of the ballots: {listed(gone)}"
        # Whole numbers count voters; fractions, as counting by transfers leaves, weigh ballots.
        counted = all(weight.is_integer() for _, weight, _ in ballots)
        kept = [name for name in names if name not in gone]
        found = list[LineBallot]()
        for line, weight, places in ballots:
            count, weight = (int(weight), 1.0) if counted else (1, weight)
            named = [[names[c - 1] for c in place] for place in places]
            found.append(LineBallot(line, named, count, weight).among(kept))
        return ballot_table(path, found, kept, [note] * bool(gone))


def _blt_ballots(
    lines: Iterator[TextLine], m: int, path: Path
) -> tuple[list[tuple[TextLine, float, list[list[int]]]], set[int]]:
    """Return lines of ballots, each with its weight and its places, and who has withdrawn."""
    ballots, withdrawn = list[tuple[TextLine, float, list[list[int]]]](), set[int]()
    for line in lines:
        if line.text == "0":
            if not ballots:
                raise line.error("there is no ballot")
            return ballots, withdrawn
        if not ballots and _WITHDRAWN.fullmatch(line.text):
            places = [[-int(word)] for word in line.text.split()]
            withdrawn.update(*places)
        elif match := _BLT_BALLOT.fullmatch(line.text):
            places = [[int(c) for c in word.split("=")] for word in match[2].split() if word != "-"]
            ballots.append((line, float(match[1]), places))
        else:
            raise line.error(f"{short_repr(line.text)} is no ballot: it is 'WEIGHT CANDIDATE ... 0', as '5 2=4 1 0'")
        if not all(1 <= c <= m for place in places for c in place):
            raise line.error(f"{short_repr(line.text)} names a candidate beyond the {m} that there are")
    raise InputError("the ballots do not end: a line '0' follows them, and then the names", path=path)


def _unquoted(text: str) -> str:
    return next(csv.reader([text]), [""])[0].strip() if text.startswith('"') else text


@dataclass(frozen=True)
class LineBallot:
    """A ballot in a line of a file: places of different names, how many voters cast it, and the weight of each.

    Raises
    ------
    InputError
        Nobody cast it, a name is there twice, or a word says that nobody was chosen.
    """

    line: TextLine
    places: list[list[str]]
    count: float = 1
    weight: float = 1

    def __post_init__(self) -> None:
        if not (self.count and self.weight):
            raise self.line.error("the ballot was cast by 0 voters")
        for name, times in Counter(self.names()).items():
            if times > 1:
                raise self.line.error(f"{short_repr(name)} is ranked twice")
            if name.lower() in NO_CHOICES:
                raise self.line.error(f"{short_repr(name)} names no candidate; leave it out")

    def names(self) -> list[str]:
        """Return the names on it, in their order."""
        return [name for place in self.places for name in place]

    def among(self, candidates: Collection[str]) -> LineBallot:
        """Return it without others than some candidates."""
        places = [[name for name in place if name in candidates] for place in self.places]
        return replace(self, places=[place for place in places if place])


def ballot_table(
    path: Path, ballots: Sequence[LineBallot], candidates: Iterable[str], notes: Iterable[str]
) -> RawTable:
    """Return the ballots of one query, named as the file; a note counts ballots that rank nothing.

    Parameters
    ----------
    path : Path
    ballots : sequence of LineBallot
    candidates : iterable of str
    notes : iterable of str
        Sentences on how the ballots were read.

    Raises
    ------
    InputError
        No ballot ranks a candidate.
    """
    full = [ballot for ballot in ballots if ballot.places]
    if not full:
        raise InputError("the file has no ballot that ranks anybody", path=path)
    weighed = any(ballot.weight != 1 for ballot in ballots)
    schema = orders_schema(("count", "candidates", *["weight"] * weighed))
    columns: dict[str, list[Any]] = {name: [getattr(one, name) for one in full] for name in ("count", "weight")}
    columns |= {"query_id": [Path(unpacked_name(path)).stem] * len(full), "candidates": [list(candidates)] * len(full)}
    columns |= {"ranking": [one.places for one in full]}
    orders = pl.DataFrame({name: columns[name] for name in schema}, schema)
    empty = len(ballots) - len(full)
    said = [f"rankbench leaves out {count_text(empty, 'line', 'of empty ballots')}"] if empty else []
    return RawTable(orders.lazy(), path, in_schema=True, notes=(*said, *notes))
