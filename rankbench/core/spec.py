r"""The grammar `name:param=value` writes a component with its parameters, everywhere.

::

    spec    = name ["@" k] [":" params]  at the top:  erm:k=10,lambda=1e-3, ndcg@10
    nested  = name ["(" params ")"]      as a value:  aggregator=mean-log-odds(smoothing=0.5)
    params  = key "=" value ("," key "=" value)*
    value   = number | inf | true | false | null | text | nested | "[" value ("," value)* "]"
    text    = word | quoted              columns="left=model_x,right=model_y"

A word begins with a letter and goes on with letters, digits and ``_ . + - /``. Every other
text is quoted, one that would be read as a value of another kind (``"true"``, ``"12"``) too: between
double quotes, with a backslash before a double quote and a backslash; ``\u000a`` and ``\U0001f600`` are
characters by their number. At the top a name may be quoted as well.

A list is a grid: `expand` multiplies it out. `str(spec)` is canonical: parsing it gives
an equal spec, and writing that gives the same characters. A word has at most 200
characters, a quoted text 10,000, a number 40, and lists and nested components are at most 20 deep.
"""

from __future__ import annotations

import itertools
import math
import re
import sys
from dataclasses import dataclass, field
from typing import TypeAlias

from rankbench.errors import SpecError

Value: TypeAlias = "bool | int | float | str | Spec | list[Value] | None"

GRID_POINTS = 10_000
"""Points that one spec may expand to."""

DEPTH = 20
"""Deepest nesting of lists and components."""

WORD_LENGTH, QUOTED_LENGTH, NUMBER_LENGTH = 200, 10_000, 40
"""Characters of a word, between quotes, and of a number."""

SHOWN = 200
"""Characters of a text that an error repeats."""

_TOKEN = re.compile(r"""\s*([A-Za-z0-9_.+\-/]+|[:=,()\[\]@]|"[^"\\]*(?:\\.[^"\\]*)*")""", re.DOTALL)
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.+\-/]*\Z")
_PLACE = re.compile(r"[1-9][0-9]*\Z")
_INT = re.compile(r"[+-]?[0-9]+\Z")
_ESCAPE = re.compile(r"\\(?:(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|(.))", re.DOTALL)

_CONSTANTS: dict[str, bool | float | None] = {"true": True, "false": False, "inf": math.inf, "null": None}
"""Words that are no texts."""


@dataclass(frozen=True)
class Spec:
    """A component's name and the parameters written beside it.

    Attributes
    ----------
    name : str
        Name of the component, kebab-case.
    params : dict of str to Value
        Only parameters as written; a component adds its defaults.
    """

    name: str
    params: dict[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        name = _text(self.name)
        return f"{name}:{_params(self.params)}" if self.params else name

    def nested(self) -> str:
        """Write the spec as nested in another one, with parentheses."""
        return f"{self.name}({_params(self.params)})" if self.params else self.name


def _params(params: dict[str, Value]) -> str:
    return ",".join(f"{key}={_value(value)}" for key, value in params.items())


def _value(value: Value) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Spec):
        return value.nested()
    if isinstance(value, list):
        return "[" + ",".join(_value(v) for v in value) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    # Of NumPy's numbers, `repr` says the type too.
    return float.__repr__(value) if isinstance(value, float) else str(value)


def _text(text: str) -> str:
    """Write a text: a word unquoted, any other text quoted, with invisible characters escaped."""
    if _WORD.match(text) and len(text) <= WORD_LENGTH and text not in _CONSTANTS:
        return text
    # Two spaces beside each other are one where texts are shown.
    return '"' + "".join(map(_quoted, text)).replace("  ", " \\u0020") + '"'


def _quoted(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def parse(text: str) -> Spec:
    """Parse ``name:param=value,...``.

    Raises
    ------
    SpecError
        With the character column of the first thing that does not fit, is too long or
        nested too deep.
    """
    reader = _Reader(text)
    spec = reader.spec(top=True)
    reader.end()
    return spec


def expand(spec: Spec) -> list[Spec]:
    """Multiply out every list in `spec`: the grid of specs, the last parameter fastest.

    Raises
    ------
    SpecError
        The grid has more than `GRID_POINTS` points.
    """
    points = _points(spec)
    if points > GRID_POINTS:
        # Huge counts are not written out: Python refuses integers of thousands of digits.
        said = f"{points:,}" if points < 10**15 else "more than 10^15"
        raise SpecError(f"the grid of {spec.name!r} has {said} points, at most {GRID_POINTS:,} are allowed; split it")
    axes: list[list[Value]] = []
    for value in spec.params.values():
        options = value if isinstance(value, list) else [value]
        axes.append([v for o in options for v in (expand(o) if isinstance(o, Spec) else [o])])
    return [Spec(spec.name, dict(zip(spec.params, point, strict=True))) for point in itertools.product(*axes)]


def _points(spec: Spec) -> int:
    """Count the points of a grid without building it."""
    axes = (value if isinstance(value, list) else [value] for value in spec.params.values())
    return math.prod(sum(_points(v) if isinstance(v, Spec) else 1 for v in axis) for axis in axes)


class _Reader:
    """A recursive-descent reader of the grammar above."""

    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0
        self.token, self.column = "", 0
        self.depth = 0
        self.advance()

    def advance(self) -> str:
        taken = self.token
        rest = self.text[self.position :]
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            if rest.strip():
                self.column = self.position + len(rest) - len(rest.lstrip())
                first = rest.strip()[0]
                raise self.error("a quote that is not closed" if first == '"' else f"unexpected character {first!r}")
            self.token, self.column = "", len(self.text)
        else:
            self.token, self.column, self.position = match[1], match.start(1), match.end()
            word = self.token[0].isalpha()
            longest = WORD_LENGTH if word else NUMBER_LENGTH
            if self.token[0] != '"' and len(self.token) > longest:
                raise self.error(f"a {'word' if word else 'number'} of more than {longest} characters")
        return taken

    def error(self, message: str) -> SpecError:
        shown = self.text if len(self.text) <= SHOWN else self.text[:SHOWN] + "..."
        return SpecError(
            f"cannot read {shown!r}: {message} at column {self.column + 1}; "
            "write name:param=value,... with nested components as name(param=value)"
        )

    def expect(self, token: str) -> None:
        if self.token != token:
            raise self.error(f"expected {token!r}, found {self.token or 'the end'!r}")
        self.advance()

    def end(self) -> None:
        if self.token:
            raise self.error(f"unexpected {self.token!r}")

    def word(self, what: str) -> str:
        if not _WORD.match(self.token):
            raise self.error(f"expected {what}, found {self.token or 'the end'!r}")
        return self.advance()

    def quoted(self) -> str:
        """Read a text between quotes."""
        text = _ESCAPE.sub(self._escaped, self.token[1:-1])
        if len(text) > QUOTED_LENGTH:
            raise self.error(f"a quoted text of more than {QUOTED_LENGTH:,} characters")
        self.advance()
        return text

    def _escaped(self, match: re.Match[str]) -> str:
        number, character = match.groups()
        if number and int(number[1:], 16) <= sys.maxunicode:
            return chr(int(number[1:], 16))
        if character in ('"', "\\"):
            return str(character)
        raise self.error(f"{match[0]!r} is no character in a quoted text; write a backslash as \\\\")

    def spec(self, *, top: bool) -> Spec:
        name = self.quoted() if top and self.token[:1] == '"' else self.word("a component name")
        params: dict[str, Value] = {}
        if self.token == "@":
            self.advance()
            params["at"] = self._place()
        opening = ":" if top else "("
        if self.token != opening:
            return Spec(name, params)
        self.advance()
        while True:
            key = self.word("a parameter name")
            if key in params:
                raise self.error(f"parameter {key!r} is given twice")
            self.expect("=")
            params[key] = self.value()
            if self.token != ",":
                break
            self.advance()
        if not top:
            self.expect(")")
        return Spec(name, params)

    def _place(self) -> int:
        """Read the number after ``@``."""
        if not _PLACE.match(self.token):
            raise self.error(f"expected a whole number after '@', found {self.token or 'the end'!r}")
        return int(self.advance())

    def value(self) -> Value:
        self.depth += 1
        if self.depth > DEPTH:
            raise self.error(f"nested more than {DEPTH} deep")
        value = self._value()
        self.depth -= 1
        return value

    def _value(self) -> Value:
        if self.token == "[":
            self.advance()
            values = [self.value()]
            while self.token == ",":
                self.advance()
                values.append(self.value())
            self.expect("]")
            return values
        if self.token[:1] == '"':
            return self.quoted()
        if self.token in _CONSTANTS:
            return _CONSTANTS[self.advance()]
        number = _number(self.token)
        if number is not None:
            self.advance()
            return number
        spec = self.spec(top=False)
        return spec if spec.params else spec.name


def _number(token: str) -> int | float | None:
    if _INT.match(token):
        return int(token)
    if token[:1].isalpha():
        return None
    try:
        number = float(token)
    except ValueError:
        return None
    return None if math.isnan(number) else number
