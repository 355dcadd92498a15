"""One picture shows a counterexample."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankbench.certificates.certificate import Certificate, difference_edges, shown
from rankbench.certificates.checking.law import law, true_risks
from rankbench.certificates.checking.numbers import Phi
from rankbench.certificates.checking.rules import read_risk
from rankbench.certificates.floats import float_risk, on_cone
from rankbench.certificates.laws import Law
from rankbench.certificates.piecewise import least_on_cone
from rankbench.drawing.looks import COLORS, render, safe, styled
from rankbench.errors import InputError
from rankbench.interfaces.exact import ConvexPhi, ExactSurrogate, PhiTerm

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class OrderRisks(NamedTuple):
    """One order: its true risk, the least surrogate risk of scores that order items so, and whether it is right."""

    order: str
    true: float
    surrogate: float
    right: bool


def order_risks(content: Mapping[str, Any]) -> list[OrderRisks]:
    """Return the risks of all orders without ties.

    Numerical certificates have no formula of the risk: surrogate risks come from the cuts, for the preferred scores
    and for cones with a bound, and are nan of others.
    """
    m, mu = content["items"], law(content["mu"], content["items"])
    orders = list(itertools.permutations(range(m)))
    risks = true_risks(content["loss"], mu, m)
    true = [risks[tuple((i,) for i in order)] for order in orders]
    least = min(true)
    rows = []
    for order, risk in zip(orders, true, strict=True):
        name = ">".join(str(i + 1) for i in order)
        rows.append(OrderRisks(name, float(risk), _surrogate(content, order, name), risk == least))
    return [row for row in rows if not np.isnan(row.surrogate)]


def _surrogate(content: Mapping[str, Any], order: tuple[int, ...], name: str) -> float:
    if "risk" in content:
        stated = _stated(content)
        if stated.terms and all(term.phi.piecewise_linear for term in stated.terms):
            found = least_on_cone(stated, order)
            return float(found.value) if found else float("nan")
        risk = float_risk(stated)
        return risk(on_cone(risk, order))[0]
    alpha = [float(Fraction(a)) for a in content["alpha"]]
    if all(alpha[a] >= alpha[b] for a, b in itertools.pairwise(order)):
        return float(Fraction(content["alpha_value"]))
    bound = next((b for b in content["bounds"] if b["order"] == name), None)
    if bound is None:
        return float("nan")
    return min(float(Fraction(cut["value"])) for cut in bound["cuts"])


def _stated(content: Mapping[str, Any]) -> ExactSurrogate:
    """Return a certificate's risk, as the checker reads it."""
    read = [Phi(written) for written in content["phis"]]
    phis = [ConvexPhi(tuple((end, tuple(c)) for end, c in phi.pieces), phi.text, phi.infimum) for phi in read]
    risk = read_risk(content["risk"], content["items"], len(phis))
    terms = tuple(PhiTerm(term.factor, term.form, term.offset, phis[term.phi]) for term in risk.terms)
    return ExactSurrogate(terms, risk.linear, risk.entropy)


RIGHT, WRONG = COLORS[2], COLORS[1]
MOST_ORDERS = 24
"""Orders that have bars of their own; of more, those with the least surrogate risk."""


def draw_counterexample(certificate: Certificate) -> dict[str, bytes]:
    """Return the picture as SVG and as PNG, by suffix.

    At left the difference graph, or the grades; in the middle every order's true risk, at right the
    least surrogate risk of scores that order the items so: both above the smallest one. Right orders
    are dots, wrong ones crosses.

    Raises
    ------
    InputError
        The certificate is not about one law.
    """
    law = certificate.law
    if law is None or not certificate.alpha:
        raise InputError(f"{certificate.label} is not about one distribution: there is nothing to draw")
    from matplotlib.figure import Figure

    risks = order_risks(certificate.content)
    rows = sorted(risks, key=lambda row: (row.surrogate, row.true))[:MOST_ORDERS]
    with styled():
        height = max(3.4, 1.7 + 0.2 * len(rows))
        figure = Figure(figsize=(9.0, height), layout="constrained")
        left, middle, last = figure.subplots(1, 3, width_ratios=(1.15, 1, 1))
        draw = _draw_graph if law.of_graphs else _draw_grades
        draw(left, law, certificate.alpha)
        _draw_risks(middle, rows, "true", f"true risk: {certificate.loss} (less is better)", names=True)
        _draw_risks(last, rows, "surrogate", "least surrogate risk (less is better)", names=False)
        total = math.factorial(law.items)
        if len(rows) < total:
            which = "with the least surrogate risk" if "risk" in certificate.content else "in the proof"
            middle.set_ylabel(safe(f"{len(rows)} of {total} orders {which}"), fontsize=8)
        about = f"{certificate.surrogate} for {certificate.loss}, {certificate.noise}"
        figure.suptitle(f"{safe(f'{about}: {certificate.label}')}\n{safe(_subtitle(certificate))}", fontsize=9.5)
        handles, names = last.get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=2)
        return render(figure)


def _subtitle(certificate: Certificate) -> str:
    """Return the finding in a line."""
    right, preferred = certificate.right_orders(3), certificate.preferred_order
    if certificate.verdict == "VIOLATION_BOUNDARY":
        return f"right: {right}; the surrogate's risk is least at {preferred}, and as small at wrong orders"
    return f"right: {right}; the surrogate prefers {preferred}, by at least {float(certificate.gap):.3g}"


def _draw_graph(axes: Axes, law: Law, alpha: Sequence[Fraction]) -> None:
    """Draw the mean leads between items, on a circle, item 1 at the top."""
    m = law.items
    at = [(math.sin(2 * math.pi * i / m), math.cos(2 * math.pi * i / m)) for i in range(m)]
    axes.set_axis_off()
    axes.set_aspect("equal")
    axes.set_xlim(-1.55, 1.55)
    axes.set_ylim(-1.45, 1.55)
    for (i, j), weight in difference_edges(law).items():
        start, end = np.array(at[i]), np.array(at[j])
        axes.annotate(
            "",
            xy=tuple(end),
            xytext=tuple(start),
            arrowprops={"arrowstyle": "-|>", "color": "#444444", "shrinkA": 13, "shrinkB": 13, "linewidth": 1.3},
        )
        along = 0.5 if m < 4 else 0.36
        middle = start + along * (end - start)
        box: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
        axes.text(float(middle[0]), float(middle[1]), shown(weight), ha="center", va="center", fontsize=8, bbox=box)
    for i, (x, y) in enumerate(at):
        axes.plot([x], [y], "o", markersize=20, color=COLORS[0])
        axes.text(x, y, str(i + 1), ha="center", va="center", color="white", fontsize=10, fontweight="bold")
    scores = ", ".join(f"{float(a):.3g}" for a in alpha)
    axes.set_title(safe("who leads whom on average, by how much"))
    axes.text(0.0, -1.4, safe(f"scores that the surrogate prefers: {scores}"), ha="center", va="center", fontsize=8)


def _draw_grades(axes: Axes, law: Law, alpha: Sequence[Fraction]) -> None:
    """Draw the grades as a table, with the scores under them."""
    axes.set_axis_off()
    axes.set_title("grades, and their probabilities")
    cells = [[f"{w}", *(shown(g) for g in s if not isinstance(g, tuple))] for w, s in law.support]
    cells.append(["scores", *(f"{float(a):.3g}" for a in alpha)])
    table = axes.table(
        cellText=cells, colLabels=["p", *(f"item {i + 1}" for i in range(law.items))], loc="center", cellLoc="center"
    )
    table.auto_set_font_size(False)
    table.set_fontsize(8)
    table.scale(1.0, 1.5)


def _draw_risks(axes: Axes, rows: list[OrderRisks], which: str, title: str, names: bool) -> None:
    values = np.array([getattr(row, which) for row in rows])
    above = values - values.min()
    scale = max(1.0, float(np.abs(values).max()))
    places = np.arange(len(rows))[::-1]
    for place, row, value in zip(places, rows, above, strict=True):
        color = RIGHT if row.right else WRONG
        axes.plot([0.0, value], [place, place], color=color, linewidth=1.2)
        axes.plot([value], [place], marker="o" if row.right else "X", color=color, markersize=6, clip_on=False)
        if which == "surrogate":
            told = "least" if value <= 1e-9 * scale else f"+{value:.3g}"
            axes.annotate(told, (value, place), (6, 0), textcoords="offset points", va="center", fontsize=7)
    axes.set_yticks(places, [row.order for row in rows] if names else ["" for _ in rows])
    axes.set_ylim(-0.7, len(rows) - 0.3)
    top = float(above.max())
    if top <= 1e-9 * scale:
        axes.set_xlim(-0.04, 1.0)
        axes.set_xticks([0.0])
    else:
        axes.set_xlim(-0.04 * top, (1.25 if which == "surrogate" else 1.08) * top)
        axes.locator_params(axis="x", nbins=4)
    axes.set_xlabel("above the smallest (less is better)")
    axes.set_title(safe(title))
    for right, word in ((True, "right"), (False, "wrong")):
        if any(row.right == right for row in rows):
            marker, color = ("o", RIGHT) if right else ("X", WRONG)
            axes.plot([], [], marker=marker, color=color, label=word)
