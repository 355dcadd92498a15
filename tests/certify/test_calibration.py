"""Calibration functions: closed forms, random search with SciPy, verdicts of certificates, bounds of excess risks."""

from __future__ import annotations

import csv
import itertools
import json
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from amounts import examples, part_of
from certify_laws import GRADES, PHIS, THEOREM_2, disagreement, least, pairwise_risk, sides
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize, nnls

import rankbench
from rankbench.certify.calibration import MINORANT_ERROR, Calibration
from rankbench.certify.conditional_risks import suboptimality, surrogate_risk
from rankbench.certify.exact_modulus import lower_hull
from rankbench.certify.law_cells import dot
from rankbench.certify.populations import Setting, draw_populations
from rankbench.certify.squares_modulus import least_norm
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.surrogate import Loss, Surrogate
from rankbench.kernels.random import seed_state
from rankbench.plugin import manager

FOLDER = Path(__file__).resolve().parents[2] / "leaderboards" / "consistency"

HINGE_LOW = {"1/10": "0", "1/6": "0", "1/5": "1/20", "1/2": "3/8", "1": "1"}


@cache
def single(name: str, noise: str, steps: int = 20, aggregator: str | None = None) -> Calibration:
    """Return H for three items."""
    return rankbench.calibration(name, noise=noise, steps=steps, aggregator=aggregator)


def entropy(p: float) -> float:
    return float(-p * np.log(p) - (1 - p) * np.log(1 - p)) if 0 < p < 1 else 0.0


TWO_ITEMS = {
    "pairwise-squared-hinge": lambda eps: eps**2,
    "pairwise-exponential": lambda eps: 1 - np.sqrt(1 - eps**2),
    "pairwise-logistic": lambda eps: np.log(2) - entropy((1 + eps) / 2),
}


@pytest.mark.parametrize("name", TWO_ITEMS)
def test_two_items_have_the_psi_transform_of_classification(name):
    """With weight 1 on one pair, H is that of Bartlett, Jordan and McAuliffe (2006)."""
    found = rankbench.calibration(name, items=2)
    exact = np.array([TWO_ITEMS[name](float(eps)) for eps in found.eps])
    assert (found.lower <= exact + 1e-9).all()
    assert (found.upper >= exact - 5e-7).all()  # of eps - 1e-13: the slope of H may be infinite
    np.testing.assert_allclose(found.lower, found.upper, rtol=1e-6)
    assert found.error < 1e-6
    assert f"at most {found.error:.2g} apart" in found.words()
    assert (found.biconjugate(found.eps) <= exact + 1e-9).all()


def test_two_items_hinge_is_eps():
    found = rankbench.calibration("pairwise-hinge", items=2)
    assert found.lower == found.upper == found.eps
    assert found.consistent
    np.testing.assert_array_equal(found.biconjugate(found.eps), np.array(found.eps, dtype=float))


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("pairwise-hinge", 1.0),
        ("pairwise-logistic", np.log(2)),
        ("pairwise-squared-hinge", 1.0),
        ("pairwise-exponential", 1.0),
    ],
)
def test_23_has_a_linear_calibration_function_without_cycles(name, rate):
    """Each reversed edge costs phi(0) or more, and an acyclic graph attains inf phi: phi(0) - inf phi times eps."""
    found = single(name, "dag", aggregator="difference-graph")
    eps = np.array(found.eps, dtype=float)
    for h in (found.lower, found.upper, found.biconjugate(eps)):
        np.testing.assert_allclose(np.array(h, dtype=float), rate * eps, rtol=1e-6)
    np.testing.assert_allclose(found.excess_bound(rate * eps), eps, rtol=1e-6)


def test_28_has_a_quadratic_calibration_function():
    """eps^2 / (2 m |D|^2), D_i = 1/F(i) - 1/F(m + 1 - i), is a bound for any laws, and attained for small eps."""
    inverse = 1 / np.log(1 + np.arange(1, 4))
    difference = inverse - inverse[::-1]
    units = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    found = rankbench.calibration("regression", "ndcg", structures=units, eps=[0.1, 0.2, 0.3])
    assert found.exact
    assert found.consistent
    formula = np.array([0.01, 0.04, 0.09]) / (6 * difference @ difference)
    np.testing.assert_allclose(np.array(found.lower, dtype=float), formula, rtol=1e-5)  # discounts have 6 decimals


@pytest.mark.parametrize("items", part_of([3, 4], 2))
def test_linear_has_a_quadratic_calibration_function_in_low_noise(items):
    """3 eps^2 / (2 (m^2 - 1)): attained, and no law of random ones is below it."""
    found = rankbench.calibration("linear", items=items)
    assert found.exact
    assert found.lower == tuple(3 * eps**2 / (2 * (items**2 - 1)) for eps in found.eps)
    below = found.biconjugate(found.eps) / np.array(found.lower, dtype=float)
    assert (below <= 1 + 1e-9).all()
    assert (below >= 1 - 1e-9).all()
    between = np.linspace(0, float(found.largest), 101)
    exact = 3 * between**2 / (2 * (items**2 - 1))
    assert (found.biconjugate(between) <= exact + 1e-12).all()
    assert (found.biconjugate(between) >= exact - float(MINORANT_ERROR)).all()


EDGES = list(itertools.permutations(range(3), 2))


def lead_rows(noise: str) -> list[np.ndarray]:
    """Return, for each polyhedron of laws of one vote in which no item leads an earlier one, rows not below 0."""
    lead = {(i, j): np.array([(e == (i, j)) - 1.0 * (e == (j, i)) for e in EDGES]) for i, j in EDGES}
    basic = [lead[0, 1], lead[0, 2], lead[1, 2]]
    if noise == "dag":
        return [np.array(basic)]
    chain = lead[0, 2] - lead[0, 1] - lead[1, 2]
    return [np.array([*basic, chain]), np.array([*basic, -lead[0, 1]]), np.array([*basic, -lead[1, 2]])]


def least_square_excess(targets: np.ndarray, factor: float, gaps: dict, cells: list, eps: float) -> float:
    """Return the least excess of squares over weights and scores in a wrong order, by SciPy's SLSQP."""
    m, k, found = targets.shape[1], len(targets), []
    for rows, (order, gap) in itertools.product(cells, gaps.items()):

        def excess(x: np.ndarray) -> float:
            return factor * float(np.square(x[k:] - x[:k] @ targets).sum())

        order_rows = np.array([np.eye(m)[a] - np.eye(m)[b] for a, b in itertools.pairwise(order)])
        limits = [
            {"type": "eq", "fun": lambda x: x[:k].sum() - 1},
            {"type": "ineq", "fun": lambda x, gap=gap: gap @ x[:k] - eps},
            {"type": "ineq", "fun": lambda x, rows=order_rows: rows @ x[k:]},
        ]
        if len(rows):
            limits.append({"type": "ineq", "fun": lambda x, rows=rows: rows @ x[:k]})
        start = np.concatenate([np.full(k, 1 / k), np.zeros(m)])
        bounds = [(0, 1)] * k + [(-3, 3)] * m
        done = minimize(excess, start, method="SLSQP", bounds=bounds, constraints=limits, options={"ftol": 1e-13})
        if done.success:
            found.append(done.fun)
    return min(found)


@pytest.mark.parametrize("noise", ["low", "dag"])
def test_linear_has_the_least_excess_that_scipy_finds(noise):
    """Quadratic programs over weights of six votes and scores, one for each polyhedron and wrong order."""
    found = rankbench.calibration("linear", noise=noise, eps=[0.35, 0.6, 0.95])
    targets = np.array([[1.0 * (e[0] == i) - (e[1] == i) for i in range(3)] for e in EDGES])
    orders = list(itertools.permutations(range(3)))
    losses = {o: np.array([1.0 * (o.index(i) > o.index(j)) for i, j in EDGES]) for o in orders}
    gaps = {o: losses[o] - losses[0, 1, 2] for o in orders[1:]}
    for eps, value in zip(found.eps, found.lower, strict=True):
        other = least_square_excess(targets, 1 / 6, gaps, lead_rows(noise), float(eps))
        assert float(value) == pytest.approx(other, abs=2e-7)
    assert found.zero == (0 if noise == "low" else Fraction(1, 3))


@pytest.mark.parametrize("name", ["regression", "regression:normalize=false"])
def test_regression_has_the_least_excess_that_scipy_finds(name):
    """Normalized gains or gains of seven binary grades; the excess of NDCG is that of normalized gains."""
    found = rankbench.calibration(name, "ndcg", eps=[0.15, 0.4])
    inverse = 1 / np.log(1 + np.arange(1, 4))
    shares = np.array([grades / (np.sort(grades)[::-1] @ inverse) for grades in RELEVANCE])
    orders = list(itertools.permutations(range(3)))
    earned = {o: shares[:, o] @ inverse for o in orders}
    gaps = {o: earned[0, 1, 2] - earned[o] for o in orders[1:]}
    targets = shares if name == "regression" else np.array(RELEVANCE)
    right = [np.array([earned[0, 1, 2] - earned[o] for o in orders[1:]])]
    for eps, value in zip(found.eps, found.lower, strict=True):
        other = least_square_excess(targets, 1 / 6, gaps, right, float(eps))
        assert float(value) == pytest.approx(other, abs=1e-6)
    assert found.consistent == (name == "regression")


@given(
    points=st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=1, max_size=7),
    rays=st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3).filter(any), min_size=1, max_size=3),
)
def test_the_shortest_vector_is_that_of_nonnegative_least_squares(points, rays):
    """SciPy's NNLS with a heavy row for the sum of shares; and the conditions of Wolfe's theorem, exactly."""
    exact = [[tuple(map(Fraction, vector)) for vector in side] for side in (points, rays)]
    x = least_norm(*exact)
    assert all(dot(point, x) >= dot(x, x) for point in exact[0])
    assert all(dot(ray, x) >= 0 for ray in exact[1])
    heavy = 1e4
    columns = [[*point, heavy] for point in points] + [[*ray, 0.0] for ray in rays]
    shares, _ = nnls(np.array(columns, dtype=float).T, np.array([0.0, 0.0, 0.0, heavy]))
    other = np.array(columns)[:, :3].T @ shares
    np.testing.assert_allclose(np.array(x, dtype=float), other, atol=2e-4)


def test_hinge_in_low_noise_is_exact():
    found = rankbench.calibration("pairwise-hinge", eps=[Fraction(eps) for eps in HINGE_LOW])
    assert [str(h) for h in found.lower] == list(HINGE_LOW.values())
    assert found.zero == Fraction(1, 6)
    assert found.consistent is False


def test_the_biconjugate_of_hinge_is_the_least_chord():
    """At each eps, H** is the least value of all chords of H there: here of chords between thirtieths."""
    found = rankbench.calibration("pairwise-hinge", eps=[Fraction(k, 30) for k in range(1, 31)])
    points = [(0.0, 0.0), *zip(map(float, found.eps), map(float, found.lower), strict=True)]
    chords = list(itertools.combinations(points, 2))
    for x, y in points[1:-1]:
        least_chord = min(b + (x - a) / (c - a) * (d - b) for (a, b), (c, d) in chords if a <= x <= c)
        assert found.biconjugate([x])[0] == pytest.approx(min(least_chord, y), abs=1e-9)


def laws(noise: str, count: int, seed: int) -> list[list[dict]]:
    """Return random laws of one vote on three items, as certificates have them."""
    found = draw_populations(noise, count, 3, seed_state((seed,)))
    edges = list(itertools.permutations(range(3), 2))
    return [
        [{"weight": p.votes[i, j], "structure": {f"{i + 1}>{j + 1}": 1}} for i, j in edges if p.votes[i, j]]
        for p in found
    ]


def surrogate_least(name: str, mu: list[dict]) -> float:
    """Return the least risk anywhere, by SciPy."""
    if name != "pairwise-hinge":
        risk = pairwise_risk(PHIS[name], mu)
        return min(minimize(risk, start, method="BFGS").fun for start in (np.zeros(3), np.array([1.0, 0.5, -1.0])))
    rows = np.zeros((len(mu), 3 + len(mu)))
    for at, entry in enumerate(mu):
        (edge,) = entry["structure"]
        i, j = (int(part) - 1 for part in edge.split(">"))
        rows[at, [i, j, 3 + at]] = -1, 1, -1
    costs = [0, 0, 0, *(entry["weight"] for entry in mu)]
    free = [(None, None)] * 3 + [(0, None)] * len(mu)
    return float(linprog(costs, A_ub=rows, b_ub=-np.ones(len(mu)), bounds=free).fun)


def hinge_on_cone(mu: list[dict], order: tuple[int, ...]) -> float:
    """Return the least hinge risk on a cone by a grid of thirds, which has all ends of pieces."""
    risk = pairwise_risk(PHIS["pairwise-hinge"], mu)
    steps = np.arange(0, 3)
    return min(risk([-float(sum(z[: order.index(i)])) for i in range(3)]) for z in itertools.product(steps, steps))


@pytest.mark.parametrize(
    ("name", "noise"),
    [
        ("pairwise-hinge", "low"),
        ("pairwise-hinge", "dag"),
        ("pairwise-logistic", "dag"),
        ("pairwise-squared-hinge", "low"),
    ],
)
def test_no_law_is_below_the_calibration_function(name, noise):
    """Least risks of wrong orders, by other programs, under random laws: never below the lower bound (7)."""
    found = single(name, noise, 15)
    for mu in laws("low-noise" if noise == "low" else "acyclic", 12 if name == "pairwise-hinge" else 2, 7):
        star = surrogate_least(name, mu)
        bayes = min(float(disagreement(mu, o)) for o in itertools.permutations(range(3)))
        for order in itertools.permutations(range(3)):
            true = float(disagreement(mu, order)) - bayes
            cone = hinge_on_cone(mu, order) if name == "pairwise-hinge" else least(pairwise_risk(PHIS[name], mu), order)
            for eps, low in zip(found.eps, found.lower, strict=True):
                assert true < eps or cone - star >= low - 1e-6
            assert found.biconjugate([true])[0] <= cone - star + 1e-6
            assert found.excess_bound(np.array([cone - star + 1e-6]))[0] >= true - 1e-9


@given(
    scores=st.lists(st.lists(st.floats(-2, 2), min_size=3, max_size=3), min_size=2, max_size=2),
    seed=st.integers(0, 1000),
    share=st.floats(0, 1),
    near=st.floats(0, 1),
)
@examples(80)
def test_the_excess_risk_of_several_queries_is_within_the_bound(scores, seed, share, near):
    """Supplement, eq. (1): H** of the mean true excess is at most the mean surrogate excess."""
    found = single("pairwise-squared-hinge", "dag", aggregator="difference-graph")
    true, surrogate = np.zeros(2), np.zeros(2)
    for q, mu in enumerate(laws("acyclic", 2, seed)):
        lead = {}
        for entry in mu:
            (edge,) = entry["structure"]
            i, j = (int(part) - 1 for part in edge.split(">"))
            lead[i, j] = lead.get((i, j), 0.0) + entry["weight"]
            lead[j, i] = lead.get((j, i), 0.0) - entry["weight"]
        alpha = near * np.array(scores[q])
        true[q] = sum(
            w for (i, j), w in lead.items() if w > 0 and (alpha[i] < alpha[j] or (alpha[i] == alpha[j] and i < j))
        )
        surrogate[q] = sum(w * max(1 - (alpha[i] - alpha[j]), 0) ** 2 for (i, j), w in lead.items() if w > 0)
    mix = np.array([share, 1 - share])
    assert found.biconjugate([mix @ true])[0] <= mix @ surrogate + 1e-9
    assert mix @ true <= found.excess_bound(np.array([mix @ surrogate]))[0] + 1e-9


RELEVANCE = [np.array(grades, dtype=float) for grades in itertools.product((0, 1), repeat=3) if any(grades)]


@cache
def of_grades(name: str) -> Calibration:
    return rankbench.calibration(name, "ndcg", steps=20)


@pytest.mark.parametrize("name", ["regression", "cross-entropy", "listnet", "pairwise-hinge"])
@given(
    weights=st.lists(st.integers(0, 9), min_size=7, max_size=7).filter(any),
    scores=st.lists(st.floats(-1, 1), min_size=3, max_size=3),
)
@examples(60)
def test_a_small_surrogate_excess_makes_a_small_true_excess(name, weights, scores):
    """Implication (7) with delta(eps) = H(eps), and eq. (1) of the supplement, by another program's least risks."""
    found, law = of_grades(name), np.array(weights) / sum(weights)
    surrogate, loss = manager.get(Surrogate, name), manager.get(Loss, "ndcg")
    kept = [at for at, weight in enumerate(law) if weight]
    setting = Setting("", "", tuple(RELEVANCE[at] for at in kept), tuple(law[kept]))
    _, infima = suboptimality(surrogate, setting, loss)
    alpha = np.array(scores)
    own = surrogate_risk(surrogate, setting, loss)(alpha)[0] - infima.min()
    structures = np.array(setting.structures)
    orders = [np.array(order, dtype=float) for order in itertools.permutations(range(3))]
    risks = [loss.expected(scores_, structures, law[kept]) for scores_ in (alpha, *orders)]
    true = risks[0] - min(risks[1:])
    assert found.biconjugate([true - 1e-5])[0] <= own + 1e-6  # tables of discounts have 6 decimals
    for eps, delta in zip(found.eps, found.lower, strict=True):
        assert own >= delta - 1e-5 or true < eps + 1e-5


def test_9_is_a_step_function_of_one_law():
    """H(eps, mu) is the smallest surrogate excess of the orders whose true excess is eps or more."""
    found = rankbench.calibration("pairwise-logistic", mu=THEOREM_2)
    risk = pairwise_risk(PHIS["pairwise-logistic"], THEOREM_2)
    right, wrong = sides(THEOREM_2, 3, disagreement)
    cones = {order: least(risk, order) for order in (*right, *wrong)}
    bayes = disagreement(THEOREM_2, right[0])
    for eps, low, high in zip(found.eps, found.lower, found.upper, strict=True):
        expected = min(cones[o] for o in cones if disagreement(THEOREM_2, o) - bayes >= eps) - min(cones.values())
        assert low == pytest.approx(expected, abs=1e-6)
        assert high == pytest.approx(expected, abs=1e-6)
    assert found.zero == pytest.approx(0.05)  # Theorem 2: the edge 2 over 3, of mean weight 1/20


def test_9_of_hinge_is_exact():
    found = rankbench.calibration("pairwise-hinge", mu=THEOREM_2, eps=[Fraction(1, 20), Fraction(1, 10)])
    least_risk, wrong = (Fraction(x).limit_denominator(1000) for x in _hinge_of_theorem_2())
    assert found.exact
    assert found.zero == Fraction(1, 20)
    assert found.lower == (0, wrong - least_risk)


def _hinge_of_theorem_2() -> tuple[float, float]:
    risk = pairwise_risk(PHIS["pairwise-hinge"], THEOREM_2)
    grid = [(a, b, 0.0) for a in np.arange(-3, 4) for b in np.arange(-3, 4)]
    orders = itertools.permutations(range(3))
    bayes = min(disagreement(THEOREM_2, o) for o in itertools.permutations(range(3)))
    far = [o for o in orders if disagreement(THEOREM_2, o) - bayes >= Fraction(1, 10)]
    on = [a for a in grid if any(all(a[x] >= a[y] for x, y in itertools.pairwise(o)) for o in far)]
    return min(map(risk, grid)), min(map(risk, on))


def questions() -> list[dict[str, str]]:
    with (FOLDER / "leaderboard.csv").open(encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row["items"] == "3"]


def agrees(row: dict[str, str]) -> None:
    asked = {"noise": row["noise"], "aggregator": row["aggregator"] or None}
    if row["verdict"].startswith("VIOLATION"):
        law = json.loads((FOLDER / row["certificate"]).read_text(encoding="utf-8"))["mu"]
        found = rankbench.calibration(row["surrogate"], row["loss"], mu=law, steps=0, **asked)
        assert found.zero > 0
        assert found.consistent is False
    else:
        found = rankbench.calibration(row["surrogate"], row["loss"], steps=120, **asked)
        assert found.zero == 0
        assert found.consistent is True
        assert found.lower[6] > 0
        assert min(found.upper) > 1e-7


def named(row: dict[str, str]) -> str:
    return Path(row["certificate"]).stem


QUICK = (
    "pairwise-hinge",
    "pairwise-squared-hinge-on-difference-graph_pairwise_low",
    "regression_ndcg",
    "linear_pairwise_dag",
)


@pytest.mark.parametrize("row", [row for row in questions() if named(row).startswith(QUICK)], ids=named)
def test_verdicts_of_certificates_agree(row):
    """Pointwise consistency: H(eps) > 0 for all eps > 0 (Proposition 1), or a certificate of a violation."""
    agrees(row)


@pytest.mark.long
@pytest.mark.parametrize("row", questions(), ids=named)
def test_verdicts_of_all_certificates_agree(row):
    agrees(row)


@given(
    steps=st.lists(st.floats(1e-3, 1), min_size=1, max_size=8),
    shares=st.lists(st.floats(0.01, 1), min_size=8, max_size=8),
)
def test_a_biconjugate_of_a_positive_step_function_is_positive_and_below(steps, shares):
    """Lemma 2 of the supplement, of functions on a grid."""
    x = np.cumsum(shares[: len(steps)])
    y = np.cumsum(steps)
    hull = np.array(lower_hull([(0.0, 0.0), *zip(x.tolist(), y.tolist(), strict=True)]))
    below = np.interp(x, *hull.T)
    assert (below > 0).all()
    assert (below <= y + 1e-12).all()
    assert (np.diff(np.diff(hull[:, 1]) / np.diff(hull[:, 0])) >= -1e-9).all()


def test_the_hinge_is_exact_for_grades_too():
    found = rankbench.calibration("pairwise-hinge", "ndcg", structures=[entry["structure"] for entry in GRADES])
    assert found.exact
    assert found.zero > 0


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"surrogate": "pairwise-hinge", "items": 5}, SpecError, "2 to 4 items"),
        ({"surrogate": "pairwise-hinge", "eps": [0.0]}, SpecError, "above 0"),
        ({"surrogate": "regression", "loss": "err", "noise": "independent"}, SpecError, "no polytope"),
        ({"surrogate": "pairwise-hinge", "mu": THEOREM_2, "structures": [{"1>2": 1}]}, SpecError, "mu or structures"),
        ({"surrogate": "pairwise-hinge", "structures": [[1, 0, 0]]}, InputError, "is of graphs"),
        (
            {"surrogate": "pairwise-logistic:power=2", "aggregator": "difference-graph"},
            SpecError,
            "not linear in the law",
        ),
        ({"surrogate": "regression", "aggregator": "net-weights"}, SpecError, "not linear in the law"),
        ({"surrogate": "pairwise-logistic", "items": 4, "noise": "any"}, SpecError, "directions"),
        (
            {"surrogate": "pairwise-hinge", "mu": [{"weight": 1, "structure": {"1>2": 1, "2>3": 1, "3>1": 1}}]},
            InputError,
            "not in the noise class",
        ),
        (
            {"surrogate": "regression", "loss": "ndcg", "structures": [[1, 1, 1]]},
            InputError,
            "every order has the same loss",
        ),
    ],
    ids=lambda value: next(iter(value.values())) if isinstance(value, dict) else "",
)
def test_what_cannot_be_computed_is_said(arguments, error, words):
    with pytest.raises(error, match=words):
        rankbench.calibration(**arguments)
