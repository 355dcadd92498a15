"""Covariates of votes are written as ``side:unless=neutral, log(length), bold``.

A bare word is a column. Where the file has one for each of the two items (``length_a, length_b``), they are
differenced, left minus right; ``side`` is 1 for the left, and 0 where what is said by ``unless`` holds. Transforms are
calls, made of each of the two before the difference. All are divided by their root mean square over the votes, but
for ``side`` and what is within ``raw(...)``: see `rankbench.interfaces.covariate_aggregator`.

Predictions are written as ``elo_prob1, prob:of=home_team``: columns of chances, whose log-odds go with the votes as
covariates do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from rankbench.core.text import short_repr
from rankbench.data.tables.vote_sides import differing_words, name_words
from rankbench.errors import InputError, nearest, option
from rankbench.interfaces.covariate_aggregator import PREDICTION

CONTROL = "control: "
"""Prefix of columns with covariates, in the schema of comparisons; the rest is the term."""

_ITEMS = ("left", "right")
_CALL = re.compile(r"([A-Za-z]\w*)\s*\((.*)\)", re.DOTALL)
_SIDE = re.compile(r"side\s*(?::\s*unless\s*=\s*(.+))?", re.DOTALL)
_PREDICTION = re.compile(r'("(?:[^"]|"")*"|[^":]+)(?::\s*of\s*=\s*(.+))?', re.DOTALL)
_PART = re.compile(r'"(?:[^"]|"")*"|[^",()]+|[,()]')


@dataclass(frozen=True)
class Transform:
    """A function of a column.

    Attributes
    ----------
    value : callable
    defined : callable
        Where it is a number.
    needs : str
        Its domain as text.
    """

    value: Callable[[pl.Series], pl.Series]
    defined: Callable[[pl.Series], pl.Series]
    needs: str


TRANSFORMS: dict[str, Transform] = {
    "log": Transform(lambda x: x.log(), lambda x: x > 0, "a number above 0"),
    "log1p": Transform(lambda x: x.log1p(), lambda x: x > -1, "a number above -1"),
    "sqrt": Transform(lambda x: x.sqrt(), lambda x: x >= 0, "a number that is not negative"),
    "abs": Transform(lambda x: x.abs(), lambda x: x == x, "a number"),
    "square": Transform(lambda x: x * x, lambda x: x.abs() < 1e150, "a number below 1e150"),
}
"""Functions by name."""


@dataclass(frozen=True)
class ControlTerm:
    """One covariate as written in an option.

    Attributes
    ----------
    column : str
        Its column, or the common name of the columns of the two sides; empty: the side itself.
    unless : str
        Of ``side``: the column that says where there is none; or empty.
    transforms : tuple of str
        The innermost first.
    raw : bool
        Whether it is left in its own units.
    """

    column: str
    unless: str = ""
    transforms: tuple[str, ...] = ()
    raw: bool = False

    def __str__(self) -> str:
        if not self.column:
            return f"side:unless={_quoted(self.unless)}" if self.unless else "side"
        text = _quoted(self.column)
        for name in self.transforms:
            text = f"{name}({text})"
        return f"raw({text})" if self.raw else text

    @property
    def name(self) -> str:
        """Its column in the schema of comparisons."""
        return f"{CONTROL}{self}"

    @property
    def scaled(self) -> bool:
        """True if it is divided by its root mean square."""
        return bool(self.column) and not self.raw


@dataclass(frozen=True)
class VotePrediction:
    """Predictions recorded beside a log's votes, as written in an option.

    Attributes
    ----------
    column : str
        Their column, or the common name of the columns of the two items.
    item : str
        The column of the item that wins with this chance; empty: the column's own name says it.
    """

    column: str
    item: str = ""

    @property
    def name(self) -> str:
        """Column of their log-odds, in the schema of comparisons."""
        return f"{PREDICTION}{self.column}"


def covariate_terms(options: Mapping[str, str]) -> tuple[ControlTerm | VotePrediction, ...]:
    """Return the options ``control`` and ``predictions``, parsed."""
    control, predictions = options.get("control"), options.get("predictions")
    return (*(parse_control(control) if control else ()), *(parse_predictions(predictions) if predictions else ()))


def parse_predictions(text: str) -> tuple[VotePrediction, ...]:
    """Return the predictions that a text names, with commas between them and quotes as in `parse_control`.

    Raises
    ------
    InputError
        There are none, one comes twice, or a quote is not closed.
    """
    found = dict[str, VotePrediction]()
    for part in _parts(text):
        said = _PREDICTION.fullmatch(part)
        term = VotePrediction(_column(said[1], part), _column(said[2], part) if said[2] else "") if said else None
        if term is None or term.column in found:
            raise InputError(f"predictions {text!r}: write each column once, as prob or prob:of=home_team")
        found[term.column] = term
    return tuple(found.values())


def parse_control(text: str) -> tuple[ControlTerm, ...]:
    """Return the covariates that a text names.

    Parameters
    ----------
    text : str
        Terms with commas between them; a column whose name has a comma, a parenthesis or is ``side`` stands between
        double quotes.

    Raises
    ------
    InputError
        There are none, one comes twice, a transform is unknown, or a parenthesis or quote is not closed.
    """
    terms = tuple(map(_term, _parts(text)))
    for at, term in enumerate(terms):
        if term in terms[:at] or (not term.column and any(not other.column for other in terms[:at])):
            raise InputError(f"control {text!r}: {str(term)!r} is said twice")
    return terms


def control_roles(
    terms: Iterable[ControlTerm | VotePrediction], columns: Sequence[str], roles: Mapping[str, str]
) -> dict[str, str]:
    """Return the columns of a file that covariates are made of, by role: ``control.0.left``, ``.right``, ``.vote``.

    Parameters
    ----------
    terms : iterable of ControlTerm or VotePrediction
    columns : sequence of str
        All of the file.
    roles : mapping of str to str
        Columns of the votes by role, as a reading says.

    Raises
    ------
    InputError
        An unknown column, a side in a log without sides, or a chance of an unknown item.
    """
    found, terms = dict[str, str](), list(terms)
    for number, term in enumerate(terms):
        if isinstance(term, VotePrediction):
            chances = _prediction_role(term, columns, roles)
            found |= {f"control.{number}.{part}": name for part, name in chances.items()}
            continue
        if not term.column or term.unless:
            _need_sides(str(term), roles)
        if term.unless:
            found[f"control.{number}.unless"] = _known(term.unless, columns, roles)[0]
        elif term.column:
            names = _known(term.column, columns, roles)
            if len(names) == 1:
                _need_sides(str(term), roles)
                _of_one_item(term, terms, columns, roles)
            parts = ("left", "right") if len(names) == 2 else ("vote",)
            found |= {f"control.{number}.{part}": name for part, name in zip(parts, names, strict=True)}
    return found


def _prediction_role(term: VotePrediction, columns: Sequence[str], roles: Mapping[str, str]) -> dict[str, str]:
    """Return the column of a prediction by the side whose chance it is, or its two columns."""
    names = _known(term.column, columns, roles)
    if len(names) == 2:
        if term.item:
            message = f"{term.column!r} is two columns, {names[0]!r} and {names[1]!r}, of the two items: leave out of="
            raise InputError(message, column=term.column)
        return dict(zip(_ITEMS, names, strict=True))
    parts = {"left": "left", "right": "right"}
    if "loser" in roles:
        parts = {"winner": "left", "loser": "right", "first": "vote"}
    sides = {roles[role]: part for role, part in parts.items() if role in roles}
    plain, words = _plain(term.column), _words(roles) if "left" in roles else []
    said = {part for part, turn in (("left", 1), ("right", -1)) if any(_stripped(plain, *two[::turn]) for two in words)}
    part = sides.get(term.item, "") if term.item else said.pop() if len(said) == 1 else ""
    if not part:
        choices = " or ".join(f"{_quoted(term.column)}:of={_quoted(name)}" for name in sides)
        wrong = f"{term.item!r} is no column of items" if term.item else f"nothing says whose chance {term.column!r} is"
        raise InputError(f"{wrong}: write {choices}", column=term.column)
    return {part: term.column}


def control_expressions(roles: Mapping[str, str]) -> list[pl.Expr]:
    """Return the columns of a file that covariates are made of, called by their roles."""
    return [pl.col(name).alias(role) for role, name in roles.items() if role.startswith("control.")]


def _need_sides(term: str, roles: Mapping[str, str]) -> None:
    if "left" not in roles and "first" not in roles:
        raise InputError(f"control {term!r}: the log has no sides; give its columns the roles left and right, or first")


def _of_one_item(
    term: ControlTerm, terms: Iterable[ControlTerm | VotePrediction], columns: Sequence[str], roles: Mapping[str, str]
) -> None:
    """Refuse a column that may be of one of the two items, without that of the other: its value is no difference."""
    said, plain = {_plain(one.column) for one in terms}, _plain(term.column)
    by_plain = {_plain(column): column for column in columns if column not in roles.values()}
    called = " and ".join(_words(roles)[0])
    for left, right in _words(roles):
        for base, other in (*_stripped(plain, left, right), *_stripped(plain, right, left)):
            if other not in said:
                there = f"{option('control', _quoted(base))} takes their difference"
                how = there if other in by_plain else "the file lacks that of the other"
                what = f"control {str(term)!r} is called like a column of one of the two items"
                raise InputError(f"{what}: {how}; rename it if it is of the vote", column=term.column)
    for other, column in by_plain.items():
        if other not in said and differing_words(term.column, column):
            what = f"control {str(term)!r} has a twin, {short_repr(column)}: are they of the two items, {called}?"
            how = "Then call them as these; else name both, or rename one"
            raise InputError(f"{what} {how}", column=term.column)


def _known(name: str, columns: Sequence[str], roles: Mapping[str, str]) -> tuple[str, ...]:
    """Return the column of a name, or its columns of the two sides."""
    if name in columns:
        return (name,)
    bases = sided_columns(columns, roles)
    if (pair := bases.get(_plain(name))) is None:
        words = {column: name_words(column) for column in columns}
        apart = [
            column
            for column, own in words.items()
            if name_words(name) in [own[:k] + own[k + 1 :] for k in range(len(own))]
        ]
        if len(apart) == 2:
            called = " and ".join(_words(roles)[0])
            what = (
                f"there is no column {name!r}, and which of {apart[0]!r} and {apart[1]!r} is of which item is not said"
            )
            raise InputError(f"{what}: call them as {called}", column=name)
        raise InputError(f"there is no column {name!r}{nearest(name, {*columns, *bases})}", column=name)
    return pair


def sided_columns(columns: Sequence[str], roles: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return pairs of columns, of the left and of the right, by the common part of their names: ``length`` of two.

    Parameters
    ----------
    columns : sequence of str
        All that are looked at.
    roles : mapping of str to str
        Columns of the votes by role, with the names of the sides.
    """
    by_plain: dict[str, list[str]] = {}
    for column in columns:
        by_plain.setdefault(_plain(column), []).append(column)
    bases = dict[str, tuple[str, str]]()
    for left, right in _words(roles):
        for plain in by_plain:
            for base, other in _stripped(plain, left, right):
                if other in by_plain:
                    bases.setdefault(base, (by_plain[plain][0], by_plain[other][0]))
    return bases


def _words(roles: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the words that distinguish columns of the two sides: columns' names, differing words, roles."""
    two = ("left", "right") if "left" in roles else ("winner", "loser")
    left, right = (roles.get(role, role) for role in two)
    return [*dict.fromkeys([(_plain(left), _plain(right)), differing_words(left, right) or two, two])]


def _plain(name: str) -> str:
    """Return a column's name in small letters with words separated: ``player_1`` of ``Player1`` and of ``player 1``."""
    return "_".join(name_words(name))


def _stripped(plain: str, left: str, right: str) -> list[tuple[str, str]]:
    """Return base names of a left column, and the names of the right columns that match it."""
    words, own, other = plain.split("_"), left.split("_"), right.split("_")
    found = []
    for at in range(len(words) - len(own) + 1):
        if words[at : at + len(own)] == own and len(words) > len(own):
            rest = [*words[:at], *words[at + len(own) :]]
            found.append(("_".join(rest), "_".join([*words[:at], *other, *words[at + len(own) :]])))
    return found


def _parts(text: str) -> list[str]:
    parts, depth, part = [], 0, ""
    for token in _PART.findall(text):
        depth += (token == "(") - (token == ")")
        if depth < 0:
            break
        if token == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += token
    parts.append(part.strip())
    if depth or sum(map(len, _PART.findall(text))) < len(text):
        raise InputError(f"control {text!r}: a parenthesis or a quote is not closed")
    if not all(parts):
        raise InputError(
            f"control {text!r}: a term is empty; write side, a column, or log(column), with commas between"
        )
    return parts


def _term(text: str) -> ControlTerm:
    if side := _SIDE.fullmatch(text):
        return ControlTerm("", unless=_column(side[1], text) if side[1] else "")
    raw, transforms, inner = False, list[str](), text
    while call := _CALL.fullmatch(inner):
        name, inner = call[1].lower(), call[2].strip()
        if name == "raw" and not transforms and not raw:
            raw = True
        elif name in TRANSFORMS:
            transforms.insert(0, name)
        else:
            raise InputError(f"control {text!r}: there is no transform {name!r}{nearest(name, [*TRANSFORMS, 'raw'])}")
    return ControlTerm(_column(inner, text), transforms=tuple(transforms), raw=raw)


def _column(text: str, term: str) -> str:
    text = text.strip()
    if len(text) > 1 and text.startswith('"') and text.endswith('"'):
        text = text[1:-1].replace('""', '"')
    elif re.search(r'["(),:=]', text):
        raise InputError(
            f"control {term!r}: {short_repr(text)} is no column; put a name with such signs in double quotes"
        )
    if not text:
        raise InputError(f"control {term!r}: it names no column")
    return text


def _quoted(name: str) -> str:
    plain = not re.search(r'["(),:=]', name) and name == name.strip() and name != "side"
    return name if plain else '"' + name.replace('"', '""') + '"'
