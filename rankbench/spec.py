"""The contender grammar: one way to write a component with its parameters, everywhere.

::

    spec    = name [":" params]          at the top:  erm:k=10,lambda=1e-3
    nested  = name ["(" params ")"]      as a value:  aggregator=mean-log-odds(smoothing=0.5)
    params  = key "=" value ("," key "=" value)*
    value   = number | inf | true | false | word | nested | "[" value ("," value)* "]"

A list is a grid: `expand` multiplies it out. `str(spec)` is canonical: parsing it gives
an equal spec, and writing that gives the same characters. A word has at most 200
characters, a number 40, and lists and nested components are at most 20 deep.
"""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field
from typing import TypeAlias

from rankbench.errors import SpecError

__all__ = ["Spec", "Value", "expand", "parse"]

Value: TypeAlias = "bool | int | float | str | Spec | list[Value]"

GRID_POINTS = 10_000
"""Points that one spec may expand to."""

DEPTH = 20
"""How deep lists and nested components may stand in each other."""

WORD_LENGTH, NUMBER_LENGTH = 200, 40
"""Characters of a word and of a number."""

SHOWN = 200
"""Characters of a text that an error repeats."""

_TOKEN = re.compile(r"\s*([A-Za-z0-9_.+\-/]+|[:=,()\[\]])")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.+\-/]*\Z")
_INT = re.compile(r"[+-]?\d+\Z")


@dataclass(frozen=True)
class Spec:
    """A component's name and the parameters written beside it.

    Attributes
    ----------
    name : str
        Name of the component, kebab-case.
    params : dict of str to Value
        Only what was written; defaults are the component's business.
    """

    name: str
    params: dict[str, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.name}:{_params(self.params)}" if self.params else self.name

    def nested(self) -> str:
        """Write the spec as it stands inside another one, with parentheses."""
        return f"{self.name}({_params(self.params)})" if self.params else self.name


def _params(params: dict[str, Value]) -> str:
    return ",".join(f"{key}={_value(value)}" for key, value in params.items())


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Spec):
        return value.nested()
    if isinstance(value, list):
        return "[" + ",".join(_value(v) for v in value) + "]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


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
                raise self.error(f"unexpected character {rest.strip()[0]!r}")
            self.token, self.column = "", len(self.text)
        else:
            self.token, self.column, self.position = match[1], match.start(1), match.end()
            word = self.token[0].isalpha()
            longest = WORD_LENGTH if word else NUMBER_LENGTH
            if len(self.token) > longest:
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

    def spec(self, *, top: bool) -> Spec:
        name = self.word("a component name")
        opening = ":" if top else "("
        if self.token != opening:
            return Spec(name)
        self.advance()
        params: dict[str, Value] = {}
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
        scalar = _scalar(self.token)
        if scalar is not None:
            self.advance()
            return scalar
        spec = self.spec(top=False)
        return spec if spec.params else spec.name


def _scalar(token: str) -> bool | int | float | None:
    if token in ("true", "false"):
        return token == "true"
    if _INT.match(token):
        return int(token)
    if token[:1].isalpha() and token not in ("inf",):
        return None
    try:
        return float(token)
    except ValueError:
        return None
