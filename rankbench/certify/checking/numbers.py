"""The checker computes with rationals and with intervals of expressions and their derivatives."""

from __future__ import annotations

import ast
import re
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

PRECISION = 128
"""Bits of the intervals' ends."""

LONGEST = 60
"""Characters of a number."""

MOST_BITS = 8000
"""Of the denominator of a sum."""

FARTHEST = 1000
"""Largest argument of an expression, largest score and largest weight, in absolute value."""

_NUMBER = re.compile(r"-?[0-9]+(/[0-9]+|\.[0-9]+)?", re.ASCII)

Interval: TypeAlias = Any
"""An interval of mpmath."""


class Rejected(Exception):
    """A certificate does not prove what it claims; the message says why."""


class Uncheckable(Exception):
    """What is installed does not suffice to check a certificate, which may be right."""


def rational(value: object) -> Fraction:
    """Read a number: a text like ``-3``, ``2/7`` or ``0.125``, of at most 60 characters, |value| <= 10^9."""
    if not isinstance(value, str) or len(value) > LONGEST or not _NUMBER.fullmatch(value):
        raise Rejected(f"{str(value)[:40]!r} is no number: write -3, 2/7 or 0.125, in quotes")
    try:
        number = Fraction(value)
    except ZeroDivisionError:
        raise Rejected(f"{value!r} divides by zero") from None
    if abs(number) > 10**9:
        raise Rejected(f"{value!r} is beyond 10^9")
    return number


def rationals(value: object, count: int | None = None) -> list[Fraction]:
    """Read a list of numbers, of a length if it is given."""
    if not isinstance(value, list) or len(value) > 5000 or (count is not None and len(value) != count):
        raise Rejected(f"a list of {count if count is not None else 'at most 5000'} numbers was expected")
    return [rational(entry) for entry in value]


def sized(number: Fraction) -> Fraction:
    """Return a sum, unless its denominator has grown so long that adding to it takes long."""
    if number.denominator.bit_length() > MOST_BITS:
        raise Rejected(f"a sum has a denominator of more than {MOST_BITS:,} bits")
    return number


def whole(value: object, least: int, largest: int, what: str) -> int:
    """Read a JSON integer within bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= largest:
        raise Rejected(f"{what} must be a whole number from {least} to {largest}, not {str(value)[:40]}")
    return value


def _iv() -> Any:
    try:
        from mpmath import iv
    except ImportError:
        raise Uncheckable(
            "its numbers are intervals, for which mpmath must be installed; certificates whose arithmetic is exact "
            "need the standard library alone"
        ) from None

    iv.prec = PRECISION
    return iv


def interval(number: Fraction) -> Interval:
    """Return an interval that holds a rational number."""
    iv = _iv()
    return iv.mpf(number.numerator) / iv.mpf(number.denominator)


TINY = Fraction(1, 2**5000)


def _end(mantissa: Any, away: int) -> Fraction:
    """Return the end of an interval; one next to 0 is moved away from the interval's inside."""
    sign, man, exp, _ = mantissa
    if not man:
        if exp:
            raise Rejected("an interval has no finite end")
        return Fraction(0)
    if exp > 20000:
        raise Rejected("a value is too large")
    if exp < -20000:
        return TINY * away if (sign == 1) == (away < 0) else Fraction(0)
    number = Fraction(int(man)) * Fraction(2) ** int(exp)
    return -number if sign else number


def low(value: Interval | Fraction) -> Fraction:
    """Return the lower end of an interval, or the number that is exact."""
    return value if isinstance(value, Fraction) else _end(value._mpi_[0], -1)


def high(value: Interval | Fraction) -> Fraction:
    """Return the upper end of an interval, or the number that is exact."""
    return value if isinstance(value, Fraction) else _end(value._mpi_[1], 1)


class Jet:
    """An interval of values and one of derivatives: what an expression and its derivative are at t."""

    def __init__(self, value: Interval, slope: Interval) -> None:
        self.value, self.slope = value, slope


class Phi:
    """A convex function of one number, as a certificate writes it."""

    def __init__(self, written: object) -> None:
        if not isinstance(written, dict) or not set(written) <= {"pieces", "expression", "infimum"}:
            raise Rejected("a phi has pieces, or an expression and its infimum")
        self.pieces: list[tuple[Fraction | None, list[Fraction]]] = []
        self.infimum = None if written.get("infimum") is None else rational(written["infimum"])
        self.text, self.size = "", 1
        if "pieces" in written:
            self._read_pieces(written["pieces"])
        else:
            self._read_expression(written.get("expression"))

    def _read_pieces(self, pieces: object) -> None:
        if not isinstance(pieces, list) or not 1 <= len(pieces) <= 8:
            raise Rejected("a phi has 1 to 8 pieces")
        for piece in pieces:
            end = None if piece.get("until") is None else rational(piece["until"])
            self.pieces.append((end, [*rationals(piece["coefficients"]), *[Fraction(0)] * 3][:3]))
            if len(piece["coefficients"]) > 3:
                raise Rejected("pieces have powers up to t^2")
        ends = [end for end, _ in self.pieces]
        if ends[-1] is not None or None in ends[:-1] or ends[:-1] != sorted(set(ends[:-1])):  # type: ignore[type-var]
            raise Rejected("the pieces of phi do not follow one another")
        for (end, left), (_, right) in zip(self.pieces, self.pieces[1:], strict=False):
            at = end or Fraction(0)
            slopes = [c[1] + 2 * c[2] * at for c in (left, right)]
            if _polynomial(left, at) != _polynomial(right, at) or slopes[0] > slopes[1]:
                raise Rejected("phi is not continuous and convex where its pieces meet")
        if any(c[2] < 0 for _, c in self.pieces):
            raise Rejected("a piece of phi is not convex")

    def _read_expression(self, text: object) -> None:
        if not isinstance(text, str) or len(text) > 200:
            raise Rejected("an expression is a text of at most 200 characters")
        self.text = text
        try:
            self.tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise Rejected("an expression cannot be read") from None
        self.size = sum(1 for _ in ast.walk(self.tree))
        if self.size > 120:
            raise Rejected("an expression is too long")
        power = re.fullmatch(r"abs\(t\) \*\* \(([0-9/]+)\) / \(\1\)", text)
        known = text in ("log(1 + exp(-t))", "exp(-t)") or (power is not None and rational(power[1]) > 1)
        self.trusted = not known
        if known and (self.infimum or Fraction(0)) > 0:
            raise Rejected("phi goes below its infimum")
        if not known:
            self._probe()

    def _probe(self) -> None:
        """Look for points that show an expression not convex, or below its infimum."""
        jets = [self.jet(Fraction(k, 2)) for k in range(-40, 41)]
        if any(high(a.slope) < low(b.slope) for b, a in pairwise(jets)):
            raise Rejected("an expression is not convex")
        if self.infimum is not None and any(high(jet.value) < self.infimum for jet in jets):
            raise Rejected("phi goes below its infimum")

    def jet(self, t: Fraction) -> Jet:
        """Return value and derivative of an expression at t."""
        if abs(t) > FARTHEST:
            raise Rejected(f"an argument of phi is beyond {FARTHEST}")
        iv = _iv()
        return _evaluate(self.tree, Jet(interval(t), iv.mpf(1)))

    def value(self, t: Fraction) -> Interval | Fraction:
        """Return phi(t), exactly where it has pieces."""
        for end, coefficients in self.pieces:
            if end is None or t <= end:
                return _polynomial(coefficients, t)
        return self.jet(t).value

    def slopes(self, t: Fraction, beside: Fraction) -> tuple[Fraction, Fraction]:
        """Return the least and the largest slope so near to t, nearly."""
        if not self.pieces:
            jet = self.jet(t)
            return low(jet.slope), high(jet.slope)
        found = []
        for at in (t - beside, t + beside):
            _, b, c = next(own for end, own in self.pieces if end is None or at <= end)
            found.append(b + 2 * c * at)
        return found[0], found[1]

    def least(self, slope: Fraction, between: list[Fraction]) -> Interval | Fraction:
        """Return a number that ``phi(t) - slope t`` never goes below.

        Of pieces the infimum itself. Of an expression the tangents at two points, at which the
        derivative is below and above `slope`, are lower bounds; so is their mixture of that
        slope. Without points the slope is 0, and the number is the infimum.
        """
        if self.pieces:
            if between:
                raise Rejected("a slope of a phi with pieces stands alone")
            return self._infimum(slope)
        if not between:
            if slope or self.infimum is None:
                raise Rejected("a slope without points must be 0, of a phi with an infimum")
            return self.infimum
        if len(between) != 2:
            raise Rejected("a slope stands between two points")
        below, above = (self.jet(t) for t in between)
        if not high(below.slope) < slope < low(above.slope):
            raise Rejected("a slope is not between those at its points")
        first, second = (jet.value - jet.slope * interval(t) for jet, t in zip((below, above), between, strict=True))
        share = (interval(slope) - below.slope) / (above.slope - below.slope)
        return first + share * (second - first)

    def _infimum(self, slope: Fraction) -> Fraction:
        found, start = [], None
        for end, (a, b, c) in self.pieces:
            tilted = [a, b - slope, c]
            if (start is None and (c < 0 or (c == 0 and tilted[1] > 0))) or (
                end is None and (c < 0 or (c == 0 and tilted[1] < 0))
            ):
                raise Rejected("phi less a line goes down without end")
            points = [p for p in (start, end) if p is not None]
            if c > 0:
                best = -tilted[1] / (2 * c)
                if (start is None or best >= start) and (end is None or best <= end):
                    points.append(best)
            found += [_polynomial(tilted, p) for p in points or [Fraction(0)]]
            start = end
        return min(found)


def _polynomial(coefficients: list[Fraction], t: Fraction) -> Fraction:
    a, b, c = coefficients
    return a + t * (b + t * c)


def log_sum(alpha: list[Fraction]) -> Interval:
    """Return ``log sum_j e^alpha_j``."""
    iv = _iv()
    return iv.log(sum((iv.exp(interval(a)) for a in alpha), iv.mpf(0)))


def near(value: Interval) -> Fraction:
    """Return a rational number next to an interval's ends, for tables of irrational numbers."""
    return round((low(value) + high(value)) / 2 * 2**120) / Fraction(2**120)


def raised(base: Fraction | None, exponent: Fraction) -> Fraction:
    """Return about ``base ** exponent``, of e where the base is None."""
    iv = _iv()
    return near(iv.exp(interval(exponent) * (iv.mpf(1) if base is None else iv.log(interval(base)))))


def entropy(shares: list[Fraction]) -> Interval:
    """Return ``-sum_j p_j log p_j``: what ``log sum_j e^alpha_j - p'alpha`` never goes below."""
    iv = _iv()
    if any(p < 0 for p in shares) or sum(shares) != 1:
        raise Rejected("shares must be at least 0, with sum 1")
    total = iv.mpf(0)
    for p in shares:
        if p:
            total -= interval(p) * iv.log(interval(p))
    return total


def _evaluate(node: ast.AST, t: Jet) -> Jet:
    iv = _iv()
    if isinstance(node, ast.Name) and node.id == "t":
        return t
    if isinstance(node, ast.Constant) and type(node.value) in (int, float) and abs(node.value) <= 10**9:  # type: ignore[arg-type]
        return Jet(interval(Fraction(str(node.value))), iv.mpf(0))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _evaluate(node.operand, t)
        return Jet(-inner.value, -inner.slope)
    if isinstance(node, ast.BinOp):
        return _operation(node, t)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return _function(node.func.id, [_evaluate(argument, t) for argument in node.args])
    raise Rejected("an expression has t, numbers, + - * / **, exp, log, sqrt, abs and max")


def _operation(node: ast.BinOp, t: Jet) -> Jet:
    a, b = _evaluate(node.left, t), _evaluate(node.right, t)
    if isinstance(node.op, ast.Add):
        return Jet(a.value + b.value, a.slope + b.slope)
    if isinstance(node.op, ast.Sub):
        return Jet(a.value - b.value, a.slope - b.slope)
    if isinstance(node.op, ast.Mult):
        return Jet(a.value * b.value, a.slope * b.value + a.value * b.slope)
    if isinstance(node.op, ast.Div):
        if 0 in b.value:
            raise Rejected("an expression divides by zero")
        return Jet(a.value / b.value, (a.slope * b.value - a.value * b.slope) / (b.value * b.value))
    if isinstance(node.op, ast.Pow) and b.slope == 0:
        if high(b.value) > 64 or low(b.value) < 1 or low(a.value) < 0:
            raise Rejected("a power is of a number that is not negative, from 1 to 64")
        if high(a.value) == 0 or (0 in a.value):
            flat = low(b.value) > 1
            edge = _iv().mpf([0, 0]) if flat and a.value == 0 else None
            if edge is None:
                raise Rejected("a power is too near to 0 to be told")
            return Jet(edge, edge)
        power = _iv().exp(b.value * _iv().log(a.value))
        return Jet(power, b.value * (power / a.value) * a.slope)
    raise Rejected("an expression has + - * / and powers that are numbers")


def _function(name: str, given: list[Jet]) -> Jet:
    iv = _iv()
    if name == "max" and len(given) == 2:
        a, b = given
        if low(a.value) > high(b.value):
            return a
        if high(a.value) < low(b.value):
            return b
        return Jet(_hull(a.value, b.value), _hull(a.slope, b.slope))
    if len(given) != 1:
        raise Rejected(f"{name[:20]} takes another number of arguments")
    (a,) = given
    if name == "exp":
        if high(a.value) > 100_000:
            raise Rejected("an exponential is too large")
        raised = iv.exp(a.value)
        return Jet(raised, raised * a.slope)
    if name in ("log", "sqrt"):
        if low(a.value) <= 0:
            raise Rejected(f"{name} of a number that is not above 0")
        if name == "log":
            return Jet(iv.log(a.value), a.slope / a.value)
        root = iv.sqrt(a.value)
        return Jet(root, a.slope / (2 * root))
    if name == "abs":
        if a.value == 0:
            return Jet(iv.mpf(0), _hull(-a.slope, a.slope))
        if low(a.value) > 0:
            return a
        if high(a.value) < 0:
            return Jet(-a.value, -a.slope)
        raise Rejected("abs of a number whose sign cannot be told")
    raise Rejected(f"an expression knows no {name[:20]}")


def _hull(a: Interval, b: Interval) -> Interval:
    iv = _iv()
    return iv.mpf([min(a.a, b.a, key=low), max(a.b, b.b, key=high)])
