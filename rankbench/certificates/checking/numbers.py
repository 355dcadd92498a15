"""The checker computes with rationals and with intervals of expressions and their derivatives."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

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
    """A certificate does not prove its claim, for the reason in the message."""


class Uncheckable(Exception):
    """Installed software does not suffice to check a certificate, which may be right."""


def require(holds: object, why: str) -> None:
    """Reject a certificate unless a condition of its claim holds."""
    if not holds:
        raise Rejected(why)


def check_keys(written: object, needed: Collection[str], what: str, free: Collection[str] = ()) -> None:
    """Reject anything but an object with these keys and, at most, the free ones."""
    require(isinstance(written, dict), f"{what} is an object")
    for key in written:  # type: ignore[attr-defined]
        require(key in needed or key in free, f"there is no key {key[:40]!r} in {what}")
    for key in sorted(needed):
        require(key in written, f"{what} has the key {key!r}")  # type: ignore[operator]


def rational(value: object) -> Fraction:
    """Read a number: a text like ``-3``, ``2/7`` or ``0.125``, of at most 60 characters, |value| <= 10^9."""
    if not isinstance(value, str) or len(value) > LONGEST or not _NUMBER.fullmatch(value):
        raise Rejected(f"{str(value)[:40]!r} is no number: write -3, 2/7 or 0.125, in quotes")
    try:
        number = Fraction(value)
    except ZeroDivisionError:
        raise Rejected(f"{value!r} divides by zero") from None
    require(abs(number) <= 10**9, f"{value!r} is beyond 10^9")
    return number


def rationals(value: object, count: int | None = None) -> list[Fraction]:
    """Read a list of numbers, of a length if it is given."""
    if not isinstance(value, list) or len(value) > 5000 or (count is not None and len(value) != count):
        raise Rejected(f"a list of {count if count is not None else 'at most 5000'} numbers was expected")
    return [rational(entry) for entry in value]


def sized(number: Fraction) -> Fraction:
    """Return a sum, unless its denominator has grown so long that adding to it takes long."""
    require(number.denominator.bit_length() <= MOST_BITS, f"a sum has a denominator of more than {MOST_BITS:,} bits")
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
        require(not exp, "an interval has no finite end")
        return Fraction(0)
    require(exp <= 20000, "a value is too large")
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


class Jet(NamedTuple):
    """An interval of values and one of derivatives, of an expression at t."""

    value: Interval
    slope: Interval


class Phi:
    """A convex function of one number, as a certificate writes it."""

    def __init__(self, written: Any) -> None:
        check_keys(written, ["pieces"] if "pieces" in written else ["expression"], "a phi", free=["infimum"])
        self.pieces: list[tuple[Fraction | None, list[Fraction]]] = []
        self.infimum = None if written.get("infimum") is None else rational(written["infimum"])
        self.text, self.size, self.trusted = "", 1, False
        if "pieces" in written:
            self._read_pieces(written["pieces"])
        else:
            self._read_expression(written["expression"])

    def _read_pieces(self, pieces: Any) -> None:
        require(isinstance(pieces, list) and 1 <= len(pieces) <= 8, "a phi has 1 to 8 pieces")
        for piece in pieces:
            end = None if piece.get("until") is None else rational(piece["until"])
            coefficients = rationals(piece["coefficients"])
            require(
                len(coefficients) <= 3 and not any(c < 0 for c in coefficients[2:]),
                "a piece of phi is convex, with powers up to t^2",
            )
            self.pieces.append((end, [*coefficients, *[Fraction(0)] * 3][:3]))
        ends: list[Any] = [end for end, _ in self.pieces]
        follow = ends.pop() is None and None not in ends and ends == sorted(set(ends))
        require(follow, "the pieces of phi do not follow one another")
        for at, (_, left), (_, right) in zip(ends, self.pieces, self.pieces[1:], strict=False):
            slopes = [c[1] + 2 * c[2] * at for c in (left, right)]
            continuous = _polynomial(left, at) == _polynomial(right, at)
            require(continuous and slopes[0] <= slopes[1], "phi is not continuous and convex where its pieces meet")

    def _read_expression(self, text: Any) -> None:
        require(isinstance(text, str) and len(text) <= 200, "an expression is a text of at most 200 characters")
        self.text = text
        try:
            self.tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            raise Rejected("an expression cannot be read") from None
        self.size = sum(1 for _ in ast.walk(self.tree))
        require(self.size <= 120, "an expression is too long")
        power = re.fullmatch(r"abs\(t\) \*\* \(([0-9/]+)\) / \(\1\)", text)
        known = text in ("log(1 + exp(-t))", "exp(-t)") or (power is not None and rational(power[1]) > 1)
        self.trusted = not known
        if known:
            require((self.infimum or 0) <= 0, "phi goes below its infimum")
        else:
            self._probe()

    def _probe(self) -> None:
        """Search points at which an expression is not convex, or below its infimum."""
        jets = [self.jet(Fraction(k, 2)) for k in range(-40, 41)]
        require(all(high(b.slope) >= low(a.slope) for a, b in pairwise(jets)), "an expression is not convex")
        above = self.infimum is None or all(high(jet.value) >= self.infimum for jet in jets)
        require(above, "phi goes below its infimum")

    def jet(self, t: Fraction) -> Jet:
        """Return value and derivative of an expression at t."""
        require(abs(t) <= FARTHEST, f"an argument of phi is beyond {FARTHEST}")
        return _evaluate(self.tree, Jet(interval(t), _iv().mpf(1)))

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
        at = (t - beside, t + beside)
        (_, b, c), (_, d, e) = (next(own for end, own in self.pieces if end is None or x <= end) for x in at)
        return b + 2 * c * at[0], d + 2 * e * at[1]

    def least(self, slope: Fraction, between: list[Fraction]) -> Interval | Fraction:
        """Return a lower bound of ``phi(t) - slope t``.

        Of pieces the infimum itself. Of an expression the tangents at two points, at which the
        derivative is below and above `slope`, are lower bounds; so is their mixture of that
        slope. Without points the slope is 0, and the number is the infimum.
        """
        if self.pieces:
            require(not between, "a slope of a phi with pieces stands alone")
            return self._infimum(slope)
        if not between:
            require(not slope and self.infimum is not None, "a slope without points is 0, of a phi with an infimum")
            return self.infimum
        require(len(between) == 2, "a slope stands between two points")
        below, above = (self.jet(t) for t in between)
        require(high(below.slope) < slope < low(above.slope), "a slope is not between those at its points")
        first, second = (jet.value - jet.slope * interval(t) for jet, t in zip((below, above), between, strict=True))
        share = (interval(slope) - below.slope) / (above.slope - below.slope)
        return first + share * (second - first)

    def _infimum(self, slope: Fraction) -> Fraction:
        found, start = [], None
        for end, (a, b, c) in self.pieces:
            tilt = b - slope
            falls = not c and ((start is None and tilt > 0) or (end is None and tilt < 0))
            require(not falls, "phi less a line goes down without end")
            points = [p for p in (start, end) if p is not None]
            if c:
                best = -tilt / (2 * c)
                if (start is None or best >= start) and (end is None or best <= end):
                    points.append(best)
            found += [_polynomial([a, tilt, c], p) for p in points or [Fraction(0)]]
            start = end
        return min(found)


def _polynomial(coefficients: list[Fraction], t: Fraction) -> Fraction:
    a, b, c = coefficients
    return a + t * (b + t * c)


def log_sum(alpha: list[Fraction]) -> Interval:
    """Return ``log sum_j e^alpha_j``."""
    iv = _iv()
    return iv.log(sum((iv.exp(interval(a)) for a in alpha), iv.mpf(0)))


def raised(base: Fraction | None, exponent: Fraction) -> Fraction:
    """Return about ``base ** exponent``, of e where the base is None, for tables of irrational numbers."""
    iv = _iv()
    power = iv.exp(interval(exponent) * (iv.mpf(1) if base is None else iv.log(interval(base))))
    return round((low(power) + high(power)) / 2 * 2**120) / Fraction(2**120)


def entropy(shares: list[Fraction]) -> Interval:
    """Return ``-sum_j p_j log p_j``, the lower bound of ``log sum_j e^alpha_j - p'alpha``."""
    require(all(p >= 0 for p in shares) and sum(shares) == 1, "shares must be at least 0, with sum 1")
    iv = _iv()
    return -sum((interval(p) * iv.log(interval(p)) for p in shares if p), iv.mpf(0))


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
        require(0 not in b.value, "an expression divides by zero")
        return Jet(a.value / b.value, (a.slope * b.value - a.value * b.slope) / (b.value * b.value))
    if isinstance(node.op, ast.Pow) and b.slope == 0:
        bounded = low(b.value) >= 1 and high(b.value) <= 64 and low(a.value) >= 0
        require(bounded, "a power is of a number that is not negative, from 1 to 64")
        if 0 in a.value:
            require(a.value == 0 and low(b.value) > 1, "a power is too near to 0 to be told")
            return Jet(_iv().mpf(0), _iv().mpf(0))
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
    require(len(given) == 1, f"{name[:20]} takes another number of arguments")
    (a,) = given
    if name == "exp":
        require(high(a.value) <= 100_000, "an exponential is too large")
        raised = iv.exp(a.value)
        return Jet(raised, raised * a.slope)
    if name in ("log", "sqrt"):
        require(low(a.value) > 0, f"{name} of a number that is not above 0")
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
