"""The PrefLib reader reads orders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import polars as pl
from polars.io.plugins import register_io_source
from pydantic import Field

from rankbench.core.text import short_repr
from rankbench.data.readers.frame_source import io_source
from rankbench.data.readers.text_lines import numbered_lines, unpacked_name
from rankbench.data.tables.schemas import orders_schema
from rankbench.errors import InputError
from rankbench.interfaces.dataset import Reader, existing


class PreflibReader(Reader):
    """Orders as PrefLib publishes them: a header of ``# KEY: value``, then ``count: 3,{1,4},2``.

    A file is one query, called as the file is, without its ending; its alternatives are the
    candidates. Items are called by their names. What the header says is checked: numbers of
    alternatives, voters and unique orders, and the data type: ``soc`` and ``soi`` have no ties, ``soc``
    and ``toc`` rank everything. Lines that begin with ``#`` and say something else are comments.
    """

    name: ClassVar[str] = "preflib"
    source: ClassVar[str] = "preflib.org, format of 2022; N. Mattei and T. Walsh, ADT 2013"
    extensions: ClassVar[tuple[str, ...]] = (".soc", ".soi", ".toc", ".toi")

    names: bool = Field(
        default=True, description="Whether items are called by their names; else by their numbers in the file."
    )
    counts: bool = Field(
        default=True, description="Whether voters and unique orders must be as many as the header says."
    )

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

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the orders; see `Reader.scan`."""
        existing(path)
        return register_io_source(io_source(lambda: self.batches(path)), schema=orders_schema(("weight", "candidates")))

    def batches(self, path: Path) -> Iterator[pl.DataFrame]:
        """Yield the orders in pieces of bounded size."""
        yield from PreflibFile(existing(path), self.names, self.counts).batches()


_BATCH = 20_000
_BALLOT = re.compile(r"\s*([0-9]{1,15})\s*:(.*)\Z", re.DOTALL)
_NAME = re.compile(r"ALTERNATIVE NAME ([0-9]{1,9})\Z")
_COUNTS = ("NUMBER ALTERNATIVES", "NUMBER VOTERS", "NUMBER UNIQUE ORDERS")
_TYPES = ("soc", "soi", "toc", "toi")
_NUMBER = re.compile(r"[0-9]{1,15}\Z")
_TOKEN = re.compile(r"[{},]|[^{},\s][^{},]*")


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
        # Value and line of what the header says.
        self.counts: dict[str, tuple[int, int]] = {}
        self.alternatives: dict[int, tuple[str, int]] = {}
        self.type = ""
        self.candidates: list[str] = []
        self.voters, self.ballots = 0, 0
        self.seen: dict[tuple[tuple[int, ...], ...], int] = {}

    def batches(self) -> Iterator[pl.DataFrame]:
        """Yield the ballots; a file is read once."""
        rows: list[list[list[str]]] = []
        weights: list[float] = []
        line = 0
        for line, text in numbered_lines(self.path):
            content = text.strip()
            if content.startswith("#"):
                self._header(content[1:].strip(), line)
            elif content:
                if not self.ballots:
                    self._begin(line)
                weight, places = self._ballot(content, line)
                rows.append(places)
                weights.append(weight)
            if len(rows) == _BATCH:
                yield self._frame(rows, weights)
                rows, weights = [], []
        self._end(line)
        if rows:
            yield self._frame(rows, weights)

    def _frame(self, rows: list[list[list[str]]], weights: list[float]) -> pl.DataFrame:
        ids = pl.Series("query_id", [Path(unpacked_name(self.path)).stem], dtype=pl.String).new_from_index(0, len(rows))
        candidates = pl.Series("candidates", [self.candidates], dtype=pl.List(pl.String))
        schema = orders_schema(("weight", "candidates"))
        columns = [ids, pl.Series("ranking", rows, dtype=schema["ranking"]), pl.Series("weight", weights)]
        return pl.DataFrame([*columns, candidates.new_from_index(0, len(rows))], schema=schema)

    def _error(self, message: str, line: int) -> InputError:
        return InputError(message, path=self.path, row=line)

    def _header(self, text: str, line: int) -> None:
        key, colon, value = (part.strip() for part in text.partition(":"))
        if not colon:
            return
        if key in _COUNTS:
            if not _NUMBER.match(value):
                raise self._error(f"{key} must be a whole number, not {short_repr(value)}", line)
            self._once(key, key in self.counts, line)
            self.counts[key] = int(value), line
        elif key == "DATA TYPE":
            self._once(key, bool(self.type), line)
            if value.lower() not in _TYPES:
                raise self._error(f"DATA TYPE is {short_repr(value)}; ballots are one of {', '.join(_TYPES)}", line)
            self.type = value.lower()
        elif match := _NAME.match(key):
            number = int(match[1])
            self._once(key, number in self.alternatives, line)
            if not value and self.names:
                raise self._error(f"alternative {number} has no name; preflib:names=false calls items by number", line)
            self.alternatives[number] = value, line

    def _once(self, key: str, known: bool, line: int) -> None:
        if self.ballots:
            raise self._error(f"the header line {key} comes after the first ballot", line)
        if known:
            raise self._error(f"the header line {key} is there twice", line)

    def _begin(self, line: int) -> None:
        """Check the header at the first ballot."""
        if "NUMBER ALTERNATIVES" not in self.counts:
            raise self._error(
                "there is no header line '# NUMBER ALTERNATIVES: ...' before the first ballot; files in PrefLib's "
                "format from before 2022 must be fetched again",
                line,
            )
        m, place = self.counts["NUMBER ALTERNATIVES"]
        if m == 0:
            raise self._error("NUMBER ALTERNATIVES is 0", place)
        known: dict[str, int] = {}
        for number, (name, at) in self.alternatives.items():
            if not 1 <= number <= m:
                raise self._error(f"there is a name for alternative {number}, but {m} alternatives (line {place})", at)
            if self.names and name in known:
                raise self._error(
                    f"alternatives {known[name]} and {number} are both called {short_repr(name)}; "
                    "preflib:names=false calls items by number",
                    at,
                )
            known[name] = number
        if self.names and len(self.alternatives) < m:
            lacking = next(number for number in range(1, m + 1) if number not in self.alternatives)
            raise self._error(
                f"there are {m} alternatives, but alternative {lacking} has no name; "
                "preflib:names=false calls items by number",
                place,
            )
        self.candidates = [self.alternatives[i][0] if self.names else str(i) for i in range(1, m + 1)]
        self.type = self.type or unpacked_name(self.path).lower().rpartition(".")[2]

    def _ballot(self, text: str, line: int) -> tuple[float, list[list[str]]]:
        """Return how many voters cast a ballot, and its places."""
        match = _BALLOT.match(text)
        if match is None:
            raise self._error(f"{short_repr(text)} is not a ballot such as '12: 3,{{1,4}},2'", line)
        weight = int(match[1])
        if weight == 0:
            raise self._error("the ballot was cast by 0 voters", line)
        places = self._places(match[2], line)
        ranked = [item for place in places for item in place]
        if len(set(ranked)) < len(ranked):
            again = next(item for i, item in enumerate(ranked) if item in ranked[:i])
            raise self._error(f"alternative {again} is ranked twice", line)
        m = len(self.candidates)
        for item in ranked:
            if not 1 <= item <= m:
                raise self._error(f"alternative {item} is unknown: there are {m}", line)
        if self.type in ("soc", "soi") and len(places) < len(ranked):
            raise self._error(f"the ballot has ties, but files of type {self.type} have none", line)
        if self.type in ("soc", "toc") and len(ranked) < m:
            raise self._error(
                f"the ballot ranks {len(ranked)} of {m} alternatives, but files of type {self.type} rank all", line
            )
        known = tuple(tuple(sorted(place)) for place in places)
        if known in self.seen:
            raise self._error(
                f"the same ballot is there in line {self.seen[known]} already; their counts belong together", line
            )
        self.seen[known] = line
        self.voters += weight
        self.ballots += 1
        return float(weight), [[self.candidates[item - 1] for item in place] for place in places]

    def _places(self, text: str, line: int) -> list[list[int]]:
        """Return the numbers of the alternatives on each place."""
        places: list[list[int]] = []
        tied: list[int] | None = None
        expected = True
        for token in _TOKEN.findall(text):
            if token == ",":
                if expected:
                    raise self._error("a comma has no alternative before it", line)
                expected = True
            elif token == "{":
                if tied is not None or not expected:
                    raise self._error(f"there is a brace {short_repr('{')} out of place", line)
                tied = []
            elif token == "}":
                if tied is None or expected:
                    raise self._error(f"there is a brace {short_repr('}')} out of place", line)
                places.append(tied)
                tied = None
            else:
                number = token.strip()
                if not _NUMBER.match(number):
                    raise self._error(f"{short_repr(number)} is not the number of an alternative", line)
                if not expected:
                    raise self._error(f"there is no comma before {short_repr(number)}", line)
                if tied is None:
                    places.append([int(number)])
                else:
                    tied.append(int(number))
                expected = False
        if tied is not None:
            raise self._error("a brace is not closed", line)
        if expected:
            raise self._error("the ballot ranks nothing" if not places else "the ballot ends in a comma", line)
        return places

    def _end(self, line: int) -> None:
        """Check what the header counts."""
        if not self.ballots:
            raise InputError("the file has no ballots", path=self.path, row=line)
        for key, found, what in (
            ("NUMBER VOTERS", self.voters, "the ballots were cast by"),
            ("NUMBER UNIQUE ORDERS", self.ballots, "the number of ballots is"),
        ):
            if self.counted and key in self.counts and self.counts[key][0] != found:
                said, place = self.counts[key]
                raise self._error(f"{key} is {said}, but {what} {found}; preflib:counts=false does not mind", place)
