"""The PrefLib reader reads orders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import polars as pl
from pydantic import Field

from rankbench.core.text import short_repr
from rankbench.data.readers.text_lines import numbered_lines, unpacked_name
from rankbench.data.tables.schemas import orders_schema
from rankbench.errors import InputError
from rankbench.interfaces.dataset import Reader, existing


class PreflibReader(Reader):
    """Orders as PrefLib publishes them: a header of ``# KEY: value``, then ``count: 3,{1,4},2``.

    A file is one query, called as the file is, without its ending; its alternatives are the
    candidates. Items are called by their names. The reader checks the header: numbers of
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

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the orders; see `Reader.scan`. All of the file is read at once."""
        return PreflibFile(existing(path), self.names, self.counts).orders().lazy()


_NUMBER = "[0-9]{1,15}"
_PLACE = rf"{_NUMBER}|{{\s*{_NUMBER}(?:\s*,\s*{_NUMBER})*\s*}}"
_BALLOT = re.compile(rf"({_NUMBER})\s*:\s*((?:{_PLACE})(?:\s*,\s*(?:{_PLACE}))*)")
_NAME = re.compile(r"ALTERNATIVE NAME ([0-9]{1,9})")
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
        self.candidates: list[str] = []
        self.voters = 0
        self.seen: dict[tuple[tuple[int, ...], ...], int] = {}

    def orders(self) -> pl.DataFrame:
        """Return the ballots; a file is read once."""
        query, line = Path(unpacked_name(self.path)).stem, 0
        rows = []
        for line, text in numbered_lines(self.path):
            content = text.strip()
            if content.startswith("#"):
                self._say(content[1:].strip(), line)
            elif content:
                if not self.seen:
                    self._begin(line)
                ranking, weight = self._ballot(content, line)
                rows.append((query, ranking, weight, self.candidates))
        self._end(line)
        return pl.DataFrame(rows, schema=orders_schema(("weight", "candidates")), orient="row")

    def _error(self, message: str, line: int) -> InputError:
        return InputError(message, path=self.path, row=line)

    def _say(self, text: str, line: int) -> None:
        """Keep what a line of the header says."""
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
        said, place = self.header["NUMBER ALTERNATIVES"]
        numbers = range(1, int(said) + 1)
        self.candidates = [self.named.get(number, "") if self.names else str(number) for number in numbers]
        different = {*self.candidates} - {""}
        if self.names and not len(different) == len(self.named) == len(numbers):
            raise self._error(
                f"there are {said} alternatives, and each must have a name of its own; preflib:names=false calls items "
                "by number",
                place,
            )
        ending = unpacked_name(self.path).rpartition(".")[2]
        self.type = self.header.get("DATA TYPE", (ending, 0))[0].lower()

    def _ballot(self, text: str, line: int) -> tuple[list[list[str]], float]:
        """Return a ballot's places, and how many voters cast it."""
        match = _BALLOT.fullmatch(text)
        if match is None:
            raise self._error(f"{short_repr(text)} is not a ballot such as '12: 3,{{1,4}},2'", line)
        weight = int(match[1])
        if weight == 0:
            raise self._error("the ballot was cast by 0 voters", line)
        places = [[int(item) for item in re.findall(_NUMBER, place)] for place in re.findall(_PLACE, match[2])]
        ranked = [item for place in places for item in place]
        if len(set(ranked)) < len(ranked):
            again = next(item for i, item in enumerate(ranked) if item in ranked[:i])
            raise self._error(f"alternative {again} is ranked twice", line)
        m = len(self.candidates)
        if unknown := [item for item in ranked if not 1 <= item <= m]:
            raise self._error(f"alternative {unknown[0]} is unknown: there are {m}", line)
        if self.type in ("soc", "soi") and len(places) < len(ranked):
            raise self._error(f"the ballot has ties, but files of type {self.type} have none", line)
        if self.type in ("soc", "toc") and len(ranked) < m:
            what = f"the ballot ranks {len(ranked)} of {m} alternatives"
            raise self._error(f"{what}, but files of type {self.type} rank all", line)
        before = self.seen.setdefault(tuple(tuple(sorted(place)) for place in places), line)
        if before != line:
            raise self._error(f"the same ballot is in line {before} already; their counts belong together", line)
        self.voters += weight
        return [[self.candidates[item - 1] for item in place] for place in places], float(weight)

    def _end(self, line: int) -> None:
        """Check what the header counts."""
        if not self.seen:
            raise self._error("the file has no ballots", line)
        for key, found in (("NUMBER VOTERS", self.voters), ("NUMBER UNIQUE ORDERS", len(self.seen))):
            said, place = self.header.get(key, (str(found), 0))
            if self.counted and int(said) != found:
                raise self._error(
                    f"{key} is {said}, but the ballots make {found}; preflib:counts=false ignores it", place
                )
