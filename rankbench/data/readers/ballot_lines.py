"""Readers of lines such as ``42: Ann>Bob=Cy`` read ABIF and the Condorcet Election Format."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import ClassVar

from rankbench.core.text import count_text, listed, short_repr
from rankbench.data.readers.ballots import ballot_table
from rankbench.data.readers.text_lines import numbered_lines, uncommented
from rankbench.data.tables.checks import TableReader
from rankbench.data.tables.orders import NO_CHOICES
from rankbench.errors import InputError
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
        numbered = [
            (number, uncommented(text, _comment(text), path, number).strip())
            for number, text in numbered_lines(existing(path), kept=True)
        ]
        lines = [(number, text) for number, text in numbered if text and not text.startswith("{")]
        names = _declared([(number, text) for number, text in lines if text.startswith("=")], path)
        rankings, counts, rated = list[list[list[str]]](), list[int](), False
        for number, text in lines:
            if text.startswith("="):
                continue
            if (match := _ABIF_BALLOT.fullmatch(text)) is None:
                what = "'27: Ann>Bob=[Cy Young]', or '27: Ann/5, Bob/3'"
                raise InputError(f"{short_repr(text)} is no ballot such as {what}", path=path, row=number)
            choices = [_Choice(names.get(_bare(name), _bare(name)), *rest) for name, *rest in _PART.findall(match[2])]
            rankings.append(_checked(_placed(choices, path, number), path, number))
            counts.append(_voters(match[1], path, number))
            rated |= any(choice.rating for choice in choices)
        candidates = list(dict.fromkeys([*names.values(), *_named(rankings)]))
        notes = ["rankbench reads the order of ratings, not their sizes"] if rated else []
        if names and (others := candidates[len(names) :]):
            notes.append(f"no line gives the names of {listed(others)}, who are called as in the ballots")
        return ballot_table(path, rankings, {"count": counts}, candidates, notes)


@dataclass(frozen=True)
class _Choice:
    """A candidate of a ballot of ABIF, with the rating, or none, and the sign that follows."""

    name: str
    rating: str
    sign: str


def _comment(text: str) -> int:
    """Return the index of the comment in a line of ABIF, or -1; there is none after an open bracket or quote."""
    found = _UNCOMMENTED.match(text)
    end = found.end() if found else 0
    return end if text[end : end + 1] == "#" else -1


def _bare(token: str) -> str:
    return token[1:-1].strip() if token[0] in '["' else token


def _declared(lines: Iterable[tuple[int, str]], path: Path) -> dict[str, str]:
    """Return the names of candidates by their tokens in ballots."""
    names = dict[str, str]()
    for number, text in lines:
        if (match := _DECLARED.fullmatch(text)) is None:
            raise InputError(f"{short_repr(text)} is no name such as '=Ann:[Ann Ive]'", path=path, row=number)
        token, name = _bare(match[1]), (match[2] or match[3]).strip()
        if token in names or name in names.values() or not name:
            raise InputError(f"{short_repr(text)}: another line has the same, or no name", path=path, row=number)
        names[token] = name
    return names


def _placed(choices: Sequence[_Choice], path: Path, number: int) -> list[list[str]]:
    """Return the places of a ballot, by its signs, or by ratings between commas."""
    signs = {choice.sign for choice in choices} - {""}
    if "," in signs:
        if signs != {","} or not all(choice.rating for choice in choices):
            raise InputError(
                "commas stand between candidates who are all rated ('Ann/5, Bob/3'); write '>' for before, '=' for a "
                "tie",
                path=path,
                row=number,
            )
        ordered = sorted(choices, key=lambda choice: -float(choice.rating))
        return [[choice.name for choice in tied] for _, tied in groupby(ordered, lambda choice: float(choice.rating))]
    places, before, last = list[list[str]]([[]]), False, ""
    for choice in choices:
        places[-1].append(choice.name)
        if choice.rating:
            rise = float(choice.rating) - float(last or choice.rating)
            if rise > 0 or (rise < 0 and not before):
                what = f"{short_repr(choice.name)} is rated {choice.rating}, and {last} stands before"
                raise InputError(f"{what}: ratings and signs contradict each other", path=path, row=number)
            last, before = choice.rating, False
        if choice.sign == ">":
            before = True
            places.append([])
    return [place for place in places if place]


def _named(rankings: Iterable[Sequence[Sequence[str]]]) -> list[str]:
    return list(dict.fromkeys(name for places in rankings for place in places for name in place))


def _voters(text: str, path: Path, number: int) -> int:
    if int(text) == 0:
        raise InputError("the ballot was cast by 0 voters", path=path, row=number)
    return int(text)


def _checked(places: list[list[str]], path: Path, number: int) -> list[list[str]]:
    """Return the places of a ballot that names candidates, each once."""
    ranked = [name for place in places for name in place]
    if again := [name for name, times in Counter(ranked).items() if times > 1]:
        raise InputError(f"{short_repr(again[0])} is ranked twice", path=path, row=number)
    if words := [name for name in ranked if name.lower() in NO_CHOICES]:
        raise InputError(f"{listed(words)} names no candidate; leave it out", path=path, row=number)
    return places


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
        said, votes = _cef_lines(existing(path))
        named = _named(vote.places for vote in votes)
        candidates = dict.fromkeys(map(str.strip, said["candidates"].split(";")) if "candidates" in said else named)
        rankings = [[[name for name in place if name in candidates] for place in vote.places] for vote in votes]
        rankings = [[place for place in places if place] for places in rankings]
        notes, lacking = _not_read(said, votes, [name for name in named if name not in candidates]), 0
        for places in rankings if said.get("implicit ranking", "true") == "true" else []:
            if behind := [*candidates.keys() - _named([places])]:
                lacking += 1
                places.append(sorted(behind, key=[*candidates].index))
        if lacking:
            what = f"{count_text(lacking, 'line')} {'leaves' if lacking == 1 else 'leave'} candidates out"
            notes.append(f"{what}: they stand behind the others, tied, unless '#/Implicit Ranking: false' is said")
        beside = {"count": [vote.count for vote in votes]}
        if _weighed(said) and any(vote.weight != 1 for vote in votes):
            beside["weight"] = [vote.weight for vote in votes]
        return ballot_table(path, rankings, beside, [*candidates], notes)


@dataclass(frozen=True)
class _Vote:
    """A line of votes of CEF: places, how many votes, the weight of each, and whether it has tags."""

    places: list[list[str]]
    count: int
    weight: int
    tagged: bool


def _weighed(said: Mapping[str, str]) -> bool:
    return said.get("weight allowed") == "true"


def _not_read(said: Mapping[str, str], votes: Sequence[_Vote], others: Sequence[str]) -> list[str]:
    """Return notes on contents of the file that rankbench leaves out."""
    unknown = [key for key in said if key not in _KNOWN]
    notes = {
        f"rankbench takes candidates out of the ballots whom '#/Candidates' does not name: {listed(others)}": others,
        f"rankbench does not read the parameters {listed(unknown)}": unknown,
        "rankbench does not read tags": any(vote.tagged for vote in votes),
        "rankbench does not read weights, as '#/Weight Allowed: true' is not said": (
            not _weighed(said) and any(vote.weight != 1 for vote in votes)
        ),
    }
    return [note for note, holds in notes.items() if holds]


def _cef_lines(path: Path) -> tuple[dict[str, str], list[_Vote]]:
    """Return the values of parameters, by their names in small letters, and the votes."""
    said, votes = dict[str, str](), list[_Vote]()
    for number, text in numbered_lines(path, kept=True):
        if text.lstrip().startswith("#/"):
            key, value = _parameter(text.rstrip(), path, number)
            if votes or key in said:
                what = "is given twice" if key in said else "must stand before the votes"
                raise InputError(f"the parameter {short_repr(key)} {what}", path=path, row=number)
            said[key] = value
        elif content := uncommented(text, text.find("#"), path, number).strip():
            votes.append(_vote(content, path, number))
    return said, votes


def _parameter(text: str, path: Path, number: int) -> tuple[str, str]:
    """Return the name of a parameter, in small letters, and its value."""
    if (match := _PARAMETER.fullmatch(text)) is None:
        what = "is no parameter such as '#/Candidates: Ann ; Bob', at the beginning of its line"
        raise InputError(f"{short_repr(text)} {what}", path=path, row=number)
    key, value = match[1].strip().lower(), match[2].strip()
    if key in ("implicit ranking", "weight allowed"):
        value = value.lower()
        if value not in ("true", "false"):
            raise InputError(f"{key} must be true or false, not {short_repr(value)}", path=path, row=number)
    names = [name.strip() for name in value.split(";")] if key == "candidates" else []
    if len({*names}) < len(names) or any(map(_RESERVED.search, names)):
        raise InputError(f"{listed(names)} are not names of different candidates", path=path, row=number)
    return key, value


def _vote(text: str, path: Path, number: int) -> _Vote:
    """Return the vote in a line, without its comment."""
    match = _VOTE.fullmatch(text)
    ranking = match["ranking"].strip() if match else ""
    places = [[name.strip() for name in place.split("=")] for place in ranking.split(">")]
    if ranking in _EMPTY:
        places = []
    if match is None or any(_RESERVED.search(name) for place in places for name in place):
        what = "is no line of votes: '(TAG, TAG ||) Ann > Bob = Cy (^WEIGHT) (* VOTES)'"
        raise InputError(f"{short_repr(text)} {what}", path=path, row=number)
    count, weight = (_voters(match[name] or "1", path, number) for name in ("count", "weight"))
    return _Vote(_checked(places, path, number), count, weight, match["tags"] is not None)
