"""Newton's method minimizes surrogates' conditional risks in double precision."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import PluginError
from rankbench.interfaces.exact import ConvexPhi, ExactSurrogate

Vector: TypeAlias = NDArray[np.float64]
Jets: TypeAlias = tuple[Vector, Vector, Vector]
"""Values, first and second derivatives, elementwise."""


def jets(phi: ConvexPhi, t: Vector) -> Jets:
    """Return phi, phi' and phi'' at each t; at a kink, of the left piece."""
    if phi.pieces:
        table = np.array([[float(x) for x in (*coefficients, 0, 0, 0)[:3]] for _, coefficients in phi.pieces])
        piece = np.searchsorted([float(end) for end, _ in phi.pieces if end is not None], t)
        a, b, c = np.moveaxis(table[piece], -1, 0)
        return a + t * (b + t * c), b + 2 * c * t, 2 * c
    with np.errstate(all="ignore"):
        v, d, dd = _evaluate(_tree(phi.expression), t)
    return v + np.zeros_like(t), d + np.zeros_like(t), dd + np.zeros_like(t)


@cache
def _tree(expression: str) -> ast.AST:
    try:
        return ast.parse(expression, mode="eval").body
    except SyntaxError as error:
        raise PluginError(f"the expression {expression!r} of phi cannot be read: {error.msg}") from None


def _evaluate(node: ast.AST, t: Vector) -> Jets:
    zero = np.zeros_like(t)
    if isinstance(node, ast.Name) and node.id == "t":
        return t, zero + 1.0, zero
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return zero + float(node.value), zero, zero  # type: ignore[arg-type]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        v, d, dd = _evaluate(node.operand, t)
        return -v, -d, -dd
    if isinstance(node, ast.BinOp):
        return _operation(node.op, _evaluate(node.left, t), _evaluate(node.right, t))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _function(node.func.id, [_evaluate(argument, t) for argument in node.args])
    raise PluginError("the expression of phi has t, numbers, + - * / **, exp, log, sqrt, abs and max")


def _operation(op: ast.operator, a: Jets, b: Jets) -> Jets:
    (u, du, ddu), (v, dv, ddv) = a, b
    if isinstance(op, ast.Add):
        return u + v, du + dv, ddu + ddv
    if isinstance(op, ast.Sub):
        return u - v, du - dv, ddu - ddv
    if isinstance(op, ast.Mult):
        return u * v, du * v + u * dv, ddu * v + 2 * du * dv + u * ddv
    if isinstance(op, ast.Div):
        ratio = u / v
        slope = (du - ratio * dv) / v
        return ratio, slope, (ddu - 2 * slope * dv - ratio * ddv) / v
    if isinstance(op, ast.Pow):
        p = v
        inner = np.where(u == 0, 0.0, np.where(u == 0, 1.0, u) ** (p - 2))
        second = np.where(p == 2, 1.0, inner)
        return u**p, p * u * second * du, p * ((p - 1) * second * du**2 + u * second * ddu)
    raise PluginError("the expression of phi has + - * / and powers")


def _function(name: str, given: list[Jets]) -> Jets:
    if name == "max" and len(given) == 2:
        first = given[0][0] >= given[1][0]
        v, d, dd = (np.where(first, a, b) for a, b in zip(given[0], given[1], strict=True))
        return v, d, dd
    if len(given) != 1:
        raise PluginError(f"{name} takes another number of arguments")
    u, du, ddu = given[0]
    if name == "exp":
        raised = np.exp(u)
        return raised, raised * du, raised * (du**2 + ddu)
    if name == "log":
        return np.log(u), du / u, ddu / u - (du / u) ** 2
    if name == "sqrt":
        root = np.sqrt(u)
        return root, du / (2 * root), ddu / (2 * root) - du**2 / (4 * root**3)
    if name == "abs":
        sign = np.sign(u)
        return np.abs(u), sign * du, sign * ddu
    raise PluginError(f"the expression of phi has a function {name}, which is not known")


@dataclass(frozen=True, eq=False)
class FloatRisk:
    """``sum_t f_t phi_t(c_t'alpha - o_t) + b'alpha + e log sum e^alpha`` in double precision.

    Attributes
    ----------
    phis : tuple of (ConvexPhi, slice)
        Each phi with its terms, which stand side by side.
    forms : ndarray of float64, shape (T, m)
    factors, offsets : ndarray of float64, shape (T,)
    linear : ndarray of float64, shape (m,)
    entropy : float
    """

    phis: tuple[tuple[ConvexPhi, slice], ...]
    forms: Vector
    factors: Vector
    offsets: Vector
    linear: Vector
    entropy: float

    @property
    def shift_invariant(self) -> bool:
        """True if only differences of scores matter."""
        return not self.forms.sum(axis=1).any() and abs(float(self.linear.sum()) + self.entropy) < 1e-12

    def terms(self, alpha: Vector) -> Jets:
        """Return phi_t and two derivatives of each term, shape (T,)."""
        t = self.forms @ alpha - self.offsets
        parts = [jets(phi, t[where]) for phi, where in self.phis]
        if not parts:
            return t, t, t
        v, d, dd = (np.concatenate(column) for column in zip(*parts, strict=True))
        return v, d, dd

    def __call__(self, alpha: Vector) -> tuple[float, Vector, Vector]:
        """Return the value, the gradient and the Hessian."""
        v, d, dd = self.terms(alpha)
        value = float(self.factors @ v + self.linear @ alpha)
        gradient = self.forms.T @ (self.factors * d) + self.linear
        hessian = self.forms.T @ ((self.factors * dd)[:, None] * self.forms)
        if self.entropy:
            top = float(alpha.max())
            raised = np.exp(alpha - top)
            mass = float(raised.sum())
            shares = raised / mass
            value += self.entropy * (top + float(np.log(mass)))
            gradient = gradient + self.entropy * shares
            hessian = hessian + self.entropy * (np.diag(shares) - np.outer(shares, shares))
        return value, gradient, hessian


def float_risk(risk: ExactSurrogate) -> FloatRisk:
    """Return a sum in double precision; its terms are grouped by phi, as `merged` leaves them."""
    m = len(risk.linear)
    phis, at = [], 0
    for phi, terms in groupby(risk.terms, key=attrgetter("phi")):
        phis.append((phi, slice(at, at := at + len(list(terms)))))
    return FloatRisk(
        tuple(phis),
        np.array([term.coefficients for term in risk.terms], dtype=np.float64).reshape(-1, m),
        _array([term.factor for term in risk.terms]),
        _array([term.offset for term in risk.terms]),
        _array(risk.linear),
        float(risk.entropy),
    )


def _array(numbers: Sequence[object]) -> Vector:
    return np.array([float(number) for number in numbers], dtype=np.float64)  # type: ignore[arg-type]


FAR = 60.0
"""Largest difference of neighbors: where an infimum is not attained, phi is next to it there."""

STEPS = 200
"""Of Newton's method."""


def cone_basis(order: Sequence[int]) -> Vector:
    """Return the columns 1 and ``1[first k]``, k = 1..m-1: with coefficients >= 0 of all but the first, the cone."""
    m = len(order)
    basis = np.zeros((m, m))
    basis[:, 0] = 1.0
    for k in range(1, m):
        basis[list(order[:k]), k] = 1.0
    return basis


def on_cone(risk: FloatRisk, order: Sequence[int], tilt: float = 0.0) -> Vector:
    """Return the minimizer of ``risk(alpha) - tilt sum_k z_k`` on the cone of an order, shape (m,).

    The tilt leaves a slope of at least `tilt` along every edge of the cone, where the infimum is
    attained: room for rounding it to rational numbers.
    """
    m = len(order)
    far = 0.0 if risk.shift_invariant else FAR
    low, high = np.array([-far, *[0.0] * (m - 1)]), np.array([far, *[FAR] * (m - 1)])
    start, slope = np.array([0.0, *[0.5] * (m - 1)]), np.array([0.0, *[tilt] * (m - 1)])
    basis = cone_basis(order)
    return basis @ _minimize(risk, basis, start, low, high, slope)


def somewhere(risk: FloatRisk, m: int) -> Vector:
    """Return a minimizer of the risk, shape (m,); the last score is 0 if only differences matter."""
    high = np.full(m, FAR)
    if risk.shift_invariant:
        high[-1] = 0.0
    return _minimize(risk, np.eye(m), np.zeros(m), -high, high, np.zeros(m))


def _minimize(risk: FloatRisk, basis: Vector, z: Vector, low: Vector, high: Vector, tilt: Vector) -> Vector:
    """Projected Newton steps with backtracking (Bertsekas 1982)."""

    def tilted(z: Vector) -> tuple[float, Vector, Vector]:
        value, gradient, hessian = risk(basis @ z)
        return value - float(tilt @ z), basis.T @ gradient - tilt, hessian

    def lower(direction: Vector) -> Vector | None:
        """Return the first point that goes down enough, of steps of half the length each; None if none does."""
        size = 1.0
        while size > 1e-12:
            trial: Vector = np.clip(z + size * direction, low, high)
            down = float(slope @ (z - trial))
            if down > 0:
                there = tilted(trial)[0]
                if there < value - 1e-4 * down or (there <= value and size == 1.0):
                    return trial if (trial != z).any() else None
            size *= 0.5
        return None

    for _ in range(STEPS):
        value, slope, hessian = tilted(z)
        free = ~((z <= low) & (slope >= 0)) & ~((z >= high) & (slope <= 0))
        if not free.any() or np.abs(slope[free]).max() < 1e-14 * max(1.0, np.abs(value)):
            break
        curved = (basis.T @ hessian @ basis)[np.ix_(free, free)]
        ridge = 1e-13 * max(float(np.trace(curved)), 1e-12)
        step = np.zeros_like(z)
        step[free] = np.linalg.solve(curved + ridge * np.eye(int(free.sum())), -slope[free])
        # A Newton step that is cut off at the bounds need not go down; the gradient's does.
        ways = (way * min(1.0, 8.0 / float(np.abs(way).max())) for way in (step, np.where(free, -slope, 0.0)))
        found = next((point for way in ways if (point := lower(way)) is not None), None)
        if found is None:
            break
        z = found
    return z
