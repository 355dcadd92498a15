"""Readers of lines such as ``42: Ann>Bob=Cy`` read ABIF and the Condorcet Election Format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import ClassVar

from rankbench.core.text import count_text, listed, short_repr
from rankbench.data.readers.ballots import LineBallot, ballot_table
from rankbench.data.readers.text_lines import TextLine, kept_lines
from rankbench.data.tables.checks import TableReader
from rankbench.interfaces.dataset import existing
from rankbench.interfaces.table_check import RawTable

_NAME = r'\[[^\]]+\]|"[^"]+"|[^\s>=,/:#*\[\]"{}]+'
_CHOICE = rf"(?:{_NAME})(?:\s*/\s*-?\d+(?:\.\d+)?)?"
_CHOICES = rf"{_CHOICE}(?:\s*[>=,]\s*{_CHOICE})*"
_ABIF_BALLOT = re.compile(rf"(\d{{1,15}})\s*[:*]\s*((?:{_CHOICES})?)")
_PART = re.compile(rf"({_NAME})(?:\s*/\s*([-\d.]+))?\s*([>=,]?)")
_DECLARED = re.compile(rf"=\s*({_NAME})\s*:\s*(?:\[([^\]]+)\]|([^\[\]]+))")
_UNCOMMENTED = re.compile(r'(?:\[[^\]]*\]|"[^"]*"|[^#\["])*')
_PLAIN_BALLOT = re.compile(r'\d{1,15}\s*[:*]\s*(?=[^\W\d_]|[\["])(?=.*[>=/])')


class AbifReader(TableReader):
    """Orders as ABIF has them: ``27: Mem>Nash>Chat=Knox``, so many voters and their ballot.

    A line ``=Mem:[Memphis, TN]`` gives the name of a candidate whom ballots call ``Mem``; names with other signs than
    letters stand in brackets. Ratings may follow, ``Mem/5``. Commas stand between rated candidates in any order, who
    are then ranked by their ratings; with ``>`` and ``=`` ratings must agree. Their sizes are not read. A file is one
    query, called as the file is. Candidates whom a ballot leaves out are not ranked.

    Prefer it for small elections, as people write them.
    """

    name: ClassVar[str] = "abif"
    source: ClassVar[str] = "electowiki.org/wiki/ABIF; electorama/abif and electorama/abiftool"
    extensions: ClassVar[tuple[str, ...]] = (".abif",)

    @classmethod
    def example(cls) -> bytes:
        """Return nine ballots on three candidates, ratings and a tie among them."""
        return b"# a town\n=Ann:[Ann Ive]\n4: Ann>Bob=Cy\n3: Bob/5, Cy/2, Ann/0\n2: Cy\n"

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the first line that is no comment, no name and no remark is a ballot of names."""
        texts = head.decode("utf-8", "replace").splitlines()
        lines = (text[: _comment(text) % (len(text) + 1)].strip() for text in texts)
        first = next((line for line in lines if line and line[0] not in "{="), "")
        return _PLAIN_BALLOT.match(first) is not None and _ABIF_BALLOT.fullmatch(first) is not None

    def raw(self, path: Path) -> RawTable:
        """Return the orders; see `Reader.raw`. All of the file is read at once."""
        lines = [line.until(_comment(line.text)) for line in kept_lines(existing(path))]
        names = _declared([line for line in lines if line.text.startswith("=")])
        ballots, rated = list[LineBallot](), False
        for line in lines:
            if not line.text or line.text[0] in "{=":
                continue
            if (match := _ABIF_BALLOT.fullmatch(line.text)) is None:
                what = "'27: Ann>Bob=[Cy Young]', or '27: Ann/5, Bob/3'"
                raise line.error(f"{short_repr(line.text)} is no ballot such as {what}")
            choices = [(names.get(_bare(name), _bare(name)), *rest) for name, *rest in _PART.findall(match[2])]
            ballots.append(LineBallot(line, _placed(choices, line), int(match[1])))
            rated |= any(rating for _, rating, _ in choices)
        candidates = _named(names.values(), ballots)
        notes = ["rankbench reads the order of ratings, not their sizes"] if rated else []
        if names and (others := candidates[len(names) :]):
            notes.append(f"no line gives the names of {listed(others)}, who are called as in the ballots")
        return ballot_table(path, ballots, candidates, notes)


def _comment(text: str) -> int:
    """Return the index of the comment in a line of ABIF, or -1; there is none after an open bracket or quote."""
    found = _UNCOMMENTED.match(text)
    end = found.end() if found else 0
    return end if text[end : end + 1] == "#" else -1


def _bare(token: str) -> str:
    return token[1:-1].strip() if token[0] in '["' else token


def _declared(lines: Iterable[TextLine]) -> dict[str, str]:
    """Return the names of candidates by their tokens in ballots."""
    names = dict[str, str]()
    for line in lines:
        if (match := _DECLARED.fullmatch(line.text)) is None:
            raise line.error(f"{short_repr(line.text)} is no name such as '=Ann:[Ann Ive]'")
        token, name = _bare(match[1]), (match[2] or match[3]).strip()
        if token in names or name in names.values() or not name:
            raise line.error(f"{short_repr(line.text)}: another line has the same, or no name")
        names[token] = name
    return names


def _placed(choices: Sequence[tuple[str, str, str]], line: TextLine) -> list[list[str]]:
    """Return the places of names, by the signs that follow them, or by their ratings between commas."""
    signs = {sign for *_, sign in choices} - {""}
    if "," in signs:
        if signs != {","} or not all(rating for _, rating, _ in choices):
            raise line.error(
                "commas stand between candidates who are all rated ('Ann/5, Bob/3'); write '>' for before, '=' for a "
                "tie"
            )
        ordered = sorted(choices, key=lambda choice: -float(choice[1]))
        return [[name for name, *_ in tied] for _, tied in groupby(ordered, lambda choice: float(choice[1]))]
    places, before, last = list[list[str]]([[]]), False, ""
    for name, rating, sign in choices:
        places[-1].append(name)
        if rating:
            rise = float(rating) - float(last or rating)
            if rise > 0 or (rise < 0 and not before):
                what = f"{short_repr(name)} is rated {rating}, and {last} stands before"
                raise line.error(f"{what}: ratings and signs contradict each other")
            last, before = rating, False
        if sign == ">":
            before = True
            places.append([])
    return [place for place in places if place]


def _named(names: Iterable[str], ballots: Iterable[LineBallot]) -> list[str]:
    """Return some names, and behind them others that ballots name."""
    return list(dict.fromkeys([*names, *(name for ballot in ballots for name in ballot.names())]))


_PARAMETER = re.compile(r"#/([^:]+):(.*)")
_KNOWN = ("candidates", "number of seats", "number of seat", "implicit ranking", "weight allowed")
_VOTE = re.compile(
    r"(?:(?P<tags>[^|>]*)\|\|)?(?P<ranking>[^|^*]*)(?:\^\s*(?P<weight>\d{1,9})\s*)?(?:\*\s*(?P<count>\d{1,15}))?"
)
_EMPTY = ("/EMPTY_RANKING/", "/EMPTY/")
_RESERVED = re.compile(r'[<;,#/|^*"]|\A\Z')
"""Signs that no name of a candidate has in CEF; or a name without any."""


class CefReader(TableReader):
    """Orders in the Condorcet Election Format: ``Ann > Bob = Cy ^7 * 42``, 42 votes of weight 7.

    Lines ``#/Candidates: Ann ; Bob ; Cy`` come first; ballots lose others than these. ``#/Implicit Ranking: true``,
    the default, puts candidates whom a ballot leaves out behind the others, tied; where it is false, they are not
    ranked. Weights count where ``#/Weight Allowed`` is true. The number of seats does not matter, and tags before
    ``||`` are not read. A file is one query, called as the file is.

    Prefer it for elections of CondorcetPHP and condorcet.vote.
    """

    name: ClassVar[str] = "cef"
    source: ClassVar[str] = "CondorcetVote/CondorcetElectionFormat, version 1; julien-boudry/Condorcet"
    extensions: ClassVar[tuple[str, ...]] = (".cvotes",)

    @classmethod
    def example(cls) -> bytes:
        """Return nine ballots on three candidates, one of them empty."""
        return (
            b"#/Candidates: Ann ; Bob ; Cy\n#/Implicit Ranking: false\n#/Weight Allowed: true\n\n"
            b"Ann > Bob = Cy * 4\nward 1 || Cy > Ann ^2 * 3 # by post\nBob\n/EMPTY_RANKING/\n"
        )

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether a parameter lists candidates."""
        return re.search(rb"(?im)^#/candidates *:", head) is not None

    def raw(self, path: Path) -> RawTable:
        """Return the orders; see `Reader.raw`. All of the file is read at once."""
        said, votes, tagged = dict[str, str](), list[LineBallot](), False
        for line in kept_lines(existing(path)):
            if line.text.lstrip().startswith("#/"):
                key, value = _parameter(replace(line, text=line.text.rstrip()))
                if votes or key in said:
                    what = "is given twice" if key in said else "must stand before the votes"
                    raise line.error(f"the parameter {short_repr(key)} {what}")
                said[key] = value
            elif (content := line.until(line.text.find("#"))).text:
                votes.append(_vote(content))
                tagged |= "||" in content.text
        candidates = list(map(str.strip, said["candidates"].split(";"))) if "candidates" in said else _named((), votes)
        others = _named(candidates, votes)[len(candidates) :]
        unknown = [key for key in said if key not in _KNOWN]
        notes = {
            f"rankbench takes candidates out of ballots whom '#/Candidates' does not name: {listed(others)}": others,
            f"rankbench does not read the parameters {listed(unknown)}": unknown,
            "rankbench does not read tags": tagged,
        }
        if said.get("weight allowed") != "true":
            unread = "rankbench does not read weights, as '#/Weight Allowed: true' is not said"
            notes[unread] = any(vote.weight != 1 for vote in votes)
            votes = [replace(vote, weight=1) for vote in votes]
        ballots, lacking = [vote.among(candidates) for vote in votes], 0
        for ballot in ballots if said.get("implicit ranking", "true") == "true" else []:
            if behind := [name for name in candidates if name not in ballot.names()]:
                lacking += 1
                ballot.places.append(behind)
        leave = f"{count_text(lacking, 'line')} {'leaves' if lacking == 1 else 'leave'} candidates out"
        notes[f"{leave}: they stand behind the others, tied, unless '#/Implicit Ranking: false' is said"] = lacking
        return ballot_table(path, ballots, candidates, [note for note, holds in notes.items() if holds])


def _parameter(line: TextLine) -> tuple[str, str]:
    """Return the name of a parameter, in small letters, and its value."""
    if (match := _PARAMETER.fullmatch(line.text)) is None:
        what = "is no parameter such as '#/Candidates: Ann ; Bob', at the beginning of its line"
        raise line.error(f"{short_repr(line.text)} {what}")
    key, value = match[1].strip().lower(), match[2].strip()
    if key in ("implicit ranking", "weight allowed"):
        value = value.lower()
        if value not in ("true", "false"):
            raise line.error(f"{key} must be true or false, not {short_repr(value)}")
    names = [name.strip() for name in value.split(";")] if key == "candidates" else []
    if len({*names}) < len(names) or any(map(_RESERVED.search, names)):
        raise line.error(f"{listed(names)} are not names of different candidates")
    return key, value


def _vote(line: TextLine) -> LineBallot:
    """Return the vote in a line, without its comment."""
    match = _VOTE.fullmatch(line.text)
    ranking = match["ranking"].strip() if match else ""
    places = [[name.strip() for name in place.split("=")] for place in ranking.split(">")]
    if ranking in _EMPTY:
        places = []
    if match is None or any(_RESERVED.search(name) for place in places for name in place):
        what = "is no line of votes: '(TAG, TAG ||) Ann > Bob = Cy (^WEIGHT) (* VOTES)'"
        raise line.error(f"{short_repr(line.text)} {what}")
    return LineBallot(line, places, int(match["count"] or 1), int(match["weight"] or 1))
