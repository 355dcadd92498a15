"""A reading says what the columns of a table mean: roles of columns, meanings of words, and where that is said."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Any, Self

from pydantic import Field, ValidationError

from rankbench.core.component import Record, first_problem
from rankbench.errors import InputError, nearest

Names = dict[str, tuple[str, ...]]
"""Columns by role, or words by meaning."""

SEVERAL = frozenset({"scores", "losses", "items", "ranks", "places", "ignore"})
"""Roles that any number of columns may have; their names may be patterns."""

JOINED = frozenset({"left", "right", "query", "item", "system", "task", "judge", "seed", "session"})
"""Roles whose names, where there are several, make one name in each row."""

ITEM_ROLES = ("left", "right", "winner", "loser", "item", "ranks", "system")
"""Roles whose cells name items."""

VALUES = frozenset({"cells", "mirrored", "self", "alike", "numbers", "dates", "control", "predictions", "by", "keep"})
"""Roles that name no column: they say how something is read."""

MANY = SEVERAL | JOINED | VALUES | {"winner"}
"""Roles that may have several columns; where they name winners, each is a vote."""

NO_COLUMNS = VALUES | {"ignore"}
"""Roles whose columns, if they have any, are not read."""

MEANINGS = ("left", "right", "tie", "missing", "last", "more", "less", "name")
"""Meanings of words, beside the names of the columns of items."""

_KEY = r'(?:\s*"((?:[^"]|"")*)"\s*|([^=,]*))='
_NAME = r'(?:\s*"((?:[^"]|"")*)"\s*|((?!\s*")[^,|]*))'
_TEXT_PARTS = ("columns", "words", "format")
_TABLES = ("columns", "words", "where", "unless", "turned", "same")
_PLAIN = ("rows", "header", "format", "split", "once")
_PART = re.compile(r'(?:"(?:[^"]|"")*"|[^";])*')
"""A part of a reading as one text, up to the next semicolon."""

_HEAD, _CELL = re.compile(_KEY), re.compile(_NAME + r"(?=[,|]|\Z)")


def fits(name: str, pattern: str) -> bool:
    """Return whether a name matches a pattern: ``*`` matches any text, ``?`` any character."""
    return re.fullmatch(expression_of(pattern), name, re.DOTALL) is not None


def expression_of(pattern: str) -> str:
    """Return the regular expression of a pattern."""
    return re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")


def has_wildcards(name: str) -> bool:
    """Return whether a name has a sign of patterns in it."""
    return "*" in name or "?" in name


def said_names(text: str, what: str = "columns") -> Names:
    """Return the roles and names in ``role=name|name,...``.

    Parameters
    ----------
    text : str
        A name with a comma, a bar or a blank at an end stands between double quotes: ``winner="A, or B?"``.
    what : str
        Name of the option, for errors.

    Raises
    ------
    InputError
        A part has no equals sign, a quote is not closed, or a role is given twice.
    """
    found: Names = {}
    at = 0
    while at < len(text):
        head = _HEAD.match(text, at)
        if head is None:
            raise _no_grammar(text[at:], what)
        quoted, plain = head.groups()
        role = plain.strip() if quoted is None else quoted.replace('""', '"')
        if role in found:
            raise InputError(f"{what}: {role!r} is given twice")
        names, at = [], head.end()
        while True:
            cell = _CELL.match(text, at)
            if cell is None:
                raise _no_grammar(text[at:], what)
            quoted, plain = cell.groups()
            names.append(plain.strip() if quoted is None else quoted.replace('""', '"'))
            at = cell.end() + 1
            if text[cell.end() : at] != "|":
                break
        found[role] = tuple(names)
    return found


def _no_grammar(part: str, what: str) -> InputError:
    which = "ROLE=NAME|NAME" if what == "columns" else "MEANING=WORD|WORD"
    return InputError(f"{what} are given as {which}, a name with a comma or a bar between double quotes, not {part!r}")


def told_text(columns: str = "", words: str = "", file_format: str = "") -> str:
    """Return options for columns, words and a format as one text: see `Reading.text`.

    Raises
    ------
    InputError
        One of them is not in its grammar, or gives a word two meanings.
    """
    if not (words or file_format):
        return columns
    told = Reading.told(columns, words)
    for word in dict.fromkeys(word for given in told.words.values() for word in given):
        if len(meanings := [meaning for meaning, given in told.words.items() if word in given]) > 1:
            raise InputError(f"words: {word!r} means {meanings[0]} and {meanings[1]}; give it one meaning")
    return told.model_copy(update={"format": file_format}).text()


def with_told(told: str, role: str, name: str) -> str:
    """Return the text of column roles with the column of one role replaced, and the former column ignored.

    It is the same text where `name` is empty.
    """
    if not name:
        return told
    reading = Reading.parsed(told)
    others = reading.without(role).read()
    former = () if role in NO_COLUMNS else tuple(one for one in reading.all(role) if one not in {name, *others})
    ignored = {"ignore": (*reading.columns.get("ignore", ()), *former)} if former else {}
    return reading.with_({role: (name,), **ignored}).text()


def names_text(names: Mapping[str, Iterable[str]]) -> str:
    """Return names as text, the inverse of `said_names`."""
    return ",".join(f"{_quoted(role)}={'|'.join(map(_quoted, given))}" for role, given in names.items())


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[^\s,|=;\"'()]*", name) else '"' + name.replace('"', '""') + '"'


class Reading(Record):
    """Meanings of the columns of a table.

    Attributes
    ----------
    columns : dict of str to tuple of str
        Columns by role; a role whose one name is empty has no column.
    words : dict of str to tuple of str
        Words of cells by meaning: the name of a column of items (or ``left``, ``right``), ``tie``, ``missing``,
        ``last``, ``more``, ``less``; ``name``: words are names of items.
    header : int
        Lines of the header of CSV; the last one names the columns. Without a header columns are called 1, 2, ...
    rows : str
        Path of the rows in nested JSON, as ``results.*task.*metric``.
    split : dict of str to str
        Columns whose texts are several columns: ``{"pair": "{one} vs {other}"}``.
    where, unless : dict of str to tuple of str
        Rows that are read, and rows that are not: words, or patterns, by column.
    turned : dict of str to tuple of str
        Rows in which the words of the two sides mean each other's.
    once : tuple of str
        Columns whose equal cells mark rows as repeated: the first is read.
    same : dict of str to tuple of str
        Other names of an item, by the name that it has.
    format : str
        Name of the format that it adds to.
    source : str
        Where it is said, for people: "told", "votes.csv.reading.toml", "format football-data", "standard names".
    known : tuple of str
        Columns, or patterns, that are known and not read.

    Examples
    --------
    >>> reading = Reading.told("left=home,right=visitor,winner=result", "home=H,visitor=A,tie=D")
    >>> reading.first["winner"], reading.words["tie"]
    ('result', ('D',))
    >>> print(reading.to_toml())
    [columns]
    left = "home"
    right = "visitor"
    winner = "result"
    <BLANKLINE>
    [words]
    home = "H"
    visitor = "A"
    tie = "D"
    <BLANKLINE>
    """

    columns: Names = Field(default_factory=dict)
    words: Names = Field(default_factory=dict)
    rows: str = ""
    header: int = Field(default=1, ge=0)
    split: dict[str, str] = Field(default_factory=dict)
    where: Names = Field(default_factory=dict)
    unless: Names = Field(default_factory=dict)
    turned: Names = Field(default_factory=dict)
    once: tuple[str, ...] = ()
    same: Names = Field(default_factory=dict)
    format: str = ""
    source: str = "told"
    known: tuple[str, ...] = ()

    @classmethod
    def told(cls, columns: str = "", words: str = "") -> Self:
        """Return the reading given by two options: see `said_names`."""
        return cls(columns=said_names(columns), words=said_names(words, "words"))

    @classmethod
    def parsed(cls, text: str) -> Self:
        """Return the reading of a text: columns, words and a format, separated by semicolons; see `text`."""
        at, parts = 0, list[str]()
        while at <= len(text) and len(parts) < len(_TEXT_PARTS):
            part = _PART.match(text, at)
            parts.append((part[0] if part else "").strip())
            at = (part.end() if part else at) + 1
        columns, words, name = [*parts, "", "", ""][:3]
        rest = json.loads(text[at:]) if text[at:].strip() else {}
        return cls.told(columns, words).model_copy(update={**cls(**rest).model_dump(include=set(rest)), "format": name})

    def text(self) -> str:
        """Return the inverse of `parsed`: ``left=home,right=visitor,winner=result; home=H,visitor=A``.

        Other attributes, as ``where``, stand behind the format as JSON.
        """
        rest = self.model_dump(exclude={*_TEXT_PARTS, "source", "known"}, exclude_defaults=True)
        more = json.dumps(rest, ensure_ascii=False) if rest else ""
        parts = [names_text(self.columns), names_text(self.words), self.format, more]
        while parts and not parts[-1]:
            parts.pop()
        return "; ".join(parts)

    @classmethod
    def from_toml(cls, data: Mapping[str, Any], source: str) -> Self:
        """Return the reading of a TOML table; a text is read as a list of one text.

        Raises
        ------
        InputError
            A key is not known, or has another type.
        """
        found = dict(data)
        for name in _TABLES:
            if isinstance(found.get(name), Mapping):
                found[name] = {key: (text,) if isinstance(text, str) else text for key, text in found[name].items()}
        if unknown := [name for name in found if name not in (*_TABLES, *_PLAIN)]:
            raise InputError(f"a reading has no key {unknown[0]!r}{nearest(unknown[0], cls.model_fields)}")
        try:
            return cls(**found, source=source)
        except ValidationError as error:
            where, reason = first_problem(error)
            raise InputError(f"{where}: {reason}") from error

    def to_toml(self) -> str:
        """Return the text of a reading file, which `from_toml` reads back."""
        lines = [f"{key} = {_toml(value)}" for key in ("format", "rows") if (value := getattr(self, key))]
        lines += [f"header = {self.header}"] if self.header != 1 else []
        lines += [f"once = {json.dumps(self.once, ensure_ascii=False)}"] if self.once else []
        for head in _TABLES:
            if table := getattr(self, head):
                lines += [*([""] if lines else []), f"[{head}]"]
                lines += [f"{_toml_key(key)} = {_toml(names)}" for key, names in table.items()]
        if self.split:
            lines += ["", "[split]", *(f"{_toml_key(key)} = {_toml(text)}" for key, text in self.split.items())]
        return "\n".join(lines) + "\n"

    def __bool__(self) -> bool:
        return self.model_copy(update={"source": "told", "known": ()}) != type(self)()

    @cached_property
    def first(self) -> Mapping[str, str]:
        """The first column of each role; empty: it has none."""
        return defaultdict(str, {role: names[0] for role, names in self.columns.items() if names})

    def all(self, role: str) -> tuple[str, ...]:
        """Return the columns of a role."""
        return tuple(filter(None, self.columns.get(role, ())))

    def has(self, *roles: str) -> bool:
        """Return whether all of some roles have a column."""
        return all(self.first[role] for role in roles)

    def with_(self, columns: Mapping[str, tuple[str, ...]] | None = None, **more: Any) -> Self:
        """Return this with other columns for some roles, and other attributes."""
        return self.model_copy(update={"columns": {**self.columns, **(columns or {})}, **more})

    def adding(self, other: Reading) -> Self:
        """Return this reading updated by another one; columns that are ignored, or known, are united."""
        ignored = (*self.columns.get("ignore", ()), *other.columns.get("ignore", ()))
        columns = {**self.columns, **other.columns, **({"ignore": ignored} if ignored else {})}
        update: dict[str, Any] = {"columns": columns, "words": {**self.words, **other.words}}
        for name in ("where", "unless", "turned", "same"):
            update[name] = {**getattr(self, name), **getattr(other, name)}
        update |= {"header": self.header if other.header == 1 else other.header}
        update |= {"rows": other.rows or self.rows, "split": {**self.split, **other.split}}
        if other:
            update["source"] = (
                f"{self.source}, {other.source}" if self and other.source != self.source else other.source
            )
        update |= {"format": other.format or self.format, "once": other.once or self.once}
        update |= {"known": (*self.known, *other.known)}
        return self.model_copy(update=update)

    def without(self, *roles: str) -> Self:
        """Return this without some roles."""
        return self.model_copy(update={"columns": {role: n for role, n in self.columns.items() if role not in roles}})

    def expanded(self, names: Collection[str]) -> Self:
        """Return this with patterns replaced by the columns that match them; names without a role stay out.

        Parameters
        ----------
        names : collection of str
            Columns of the table.

        Raises
        ------
        InputError
            A column that was named is not there, or a role that one column has is given several.
        """
        said = {role: given for role, given in self.columns.items() if role not in VALUES}
        taken = {name for role, given in said.items() if role != "ignore" for name in given}
        patterns = [pattern for pattern in said.get("ignore", ()) if pattern not in names]
        ignored = {*said.get("ignore", ()), *(name for name in names for one in patterns if fits(name, one))}
        full: Names = {}
        for role, given in self.columns.items():
            if role in VALUES:
                full[role] = given
                continue
            found: list[str] = []
            for name in filter(None, given):
                if name in names:
                    found.append(name)
                elif role in SEVERAL and has_wildcards(name):
                    some = [one for one in names if fits(one, name) and one not in taken]
                    found += [one for one in some if role == "ignore" or one not in ignored]
                elif role != "ignore":
                    raise InputError(f"there is no column {name!r} for the {role}{nearest(name, names)}", column=name)
            full[role] = tuple(dict.fromkeys(found)) or ("",)
            if len(full[role]) > 1 and role not in MANY:
                several = " and ".join(map(repr, full[role]))
                raise InputError(f"{several} are several columns for the {role}, which is one", column=full[role][1])
        return self.model_copy(update={"columns": full})

    def read(self) -> set[str]:
        """Return the columns that it reads."""
        roles = {name for role, given in self.columns.items() if role not in NO_COLUMNS for name in given}
        return (
            roles | self.where.keys() | self.unless.keys() | self.turned.keys() | self.split.keys() | {*self.once}
        ) - {""}

    def unread(self, names: Iterable[str]) -> list[str]:
        """Return the columns of a table that it neither reads nor ignores."""
        read, known = self.read(), (*self.all("ignore"), *self.known)
        return [name for name in names if name not in read and not any(fits(name, pattern) for pattern in known)]


def _toml(value: str | tuple[str, ...]) -> str:
    texts = [json.dumps(text, ensure_ascii=False) for text in ([value] if isinstance(value, str) else value)]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)
