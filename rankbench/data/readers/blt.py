"""The BLT reader reads ballots of STV elections."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import polars as pl

from rankbench.core.text import count_text, listed, short_repr
from rankbench.data.readers.text_lines import numbered_lines, unpacked_name
from rankbench.data.tables.schemas import orders_schema
from rankbench.errors import InputError
from rankbench.interfaces.dataset import Reader, existing, remark

_HEAD = re.compile(rb"\s*\d+[ \t]+\d+[ \t]*\r?\n(?:[ \t]*(?:-\d+[ \t]*)+\r?\n)*[ \t]*\d+[ \t\d=-]*[ \t]0[ \t]*\r?\n")
"""Candidates and seats, withdrawn candidates, and the first ballot."""

_FORM = "a line is 'WEIGHT CANDIDATE ... 0', as '5 2=4 1 0'"


class BltReader(Reader):
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

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the orders; see `Reader.scan`. All of the file is read at once."""
        whole = ((number, text.strip()) for number, text in numbered_lines(existing(path)))
        lines = ((number, text) for number, text in whole if text and not text.startswith("#"))
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
        rankings, weights, empty = [], [], 0
        for weight, places in ballots:
            kept = [[names[c - 1] for c in place if c not in withdrawn] for place in places]
            kept = [place for place in kept if place]
            if kept:
                rankings.append(kept)
                weights.append(weight)
            else:
                empty += 1
        if empty:
            remark(f"rankbench leaves out {count_text(empty, 'line', 'of empty ballots')}")
        if gone:
            remark(f"rankbench takes withdrawn candidates out of the ballots: {listed(sorted(gone))}")
        candidates = [name for name in names if name not in gone]
        schema = orders_schema(("weight", "candidates"))
        query = [Path(unpacked_name(path)).stem] * len(rankings)
        rows = [query, rankings, weights, [candidates] * len(rankings)]
        return pl.DataFrame(dict(zip(schema, rows, strict=True)), schema=schema).lazy()


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
