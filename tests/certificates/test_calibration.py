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
from certify_laws import GRADES, PHIS, RELEVANCE, THEOREM_2, disagreement, least, pairwise_risk, sides
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

import rankbench
from rankbench.certificates.calibration import Calibration
from rankbench.certificates.conditional_risks import suboptimality, surrogate_risk
from rankbench.certificates.exact_modulus import lower_hull
from rankbench.certificates.populations import Setting, draw_populations
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.surrogate import Loss, Surrogate
from rankbench.kernels.random import seed_state
from rankbench.plugin import manager

FOLDER = Path(__file__).resolve().parents[2] / "leaderboards" / "consistency"

HINGE_LOW = {"1/10": "0", "1/6": "0", "1/5": "1/20", "1/2": "3/8", "1": "1"}


@cache
def single(name: str, noise: str, steps: int = 3000, aggregator: str | None = None) -> Calibration:
    """Return H for three items."""
    return rankbench.calibration(name, noise=noise, eps=[0.2, 0.5, 1], steps=steps, aggregator=aggregator)


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
    assert (found.upper >= exact - 5e-7).all()  # of eps - 2e-14: the slope of H may be infinite
    np.testing.assert_allclose(found.lower, found.upper, rtol=1e-6)
    assert found.error < 1e-6
    assert f"at most {found.error:.2g} apart" in found.words()
    assert (found.biconjugate(found.eps) <= exact + 1e-9).all()


def test_bounds_that_say_nothing_are_named():
    """A theorem proves H > 0, and yet no step bounds it: the excess bound allows every true excess."""
    found = rankbench.calibration("cross-entropy", "ndcg", noise="any", items=2, steps=0)
    assert found.consistent
    assert set(found.lower) == {0.0}
    assert found.excess_bound(1e-9) == pytest.approx(float(found.largest))
    assert f"A lower bound of 0, here up to eps = {float(found.largest):.4g}, says nothing of H" in found.words()


def test_two_items_hinge_is_eps():
    found = rankbench.calibration("pairwise-hinge", items=2)
    assert found.lower == found.upper == found.eps
    assert found.consistent
    np.testing.assert_array_equal(found.biconjugate(found.eps), np.array(found.eps, dtype=float))


@pytest.mark.full
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


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "eps"),
    [
        ("pairwise-squared-hinge", 0.5),
        pytest.param("pairwise-logistic", 0.6, marks=pytest.mark.long),
        pytest.param("pairwise-squared-hinge", 0.7, marks=pytest.mark.long),
    ],
)
def test_single_judgments_have_the_least_excess_that_scipy_finds(name, eps):
    """Weights of six votes, leads in low noise, and scores with a tie; SLSQP descends for each order and tie."""
    found = rankbench.calibration(name, eps=[eps])
    assert found.error <= 1e-6 * found.upper[0]
    phi, edges = PHIS[name], list(itertools.permutations(range(3), 2))
    lead = {(i, j): np.array([(e == (i, j)) - 1.0 * (e == (j, i)) for e in edges]) for i, j in edges}
    losses = {
        o: np.array([1.0 * (o.index(i) > o.index(j)) for i, j in edges]) for o in itertools.permutations(range(3))
    }
    rng, best = np.random.default_rng(3), np.inf
    low_noise = np.array([lead[0, 1], lead[1, 2], lead[0, 2] - lead[0, 1] - lead[1, 2]])

    def risk(weights, alpha):
        return sum(w * phi(alpha[i] - alpha[j]) for w, (i, j) in zip(weights, edges, strict=True))

    def least_risk(weights):
        return minimize(lambda a: risk(weights, a), [0.9, 0.1, -0.8], method="BFGS").fun

    for order, tie in itertools.product(losses, ([1, 1, 0], [1, 0, 0])):
        gap = losses[order] - losses[0, 1, 2]
        if gap.max() <= eps:
            continue
        alpha = np.array(tie, dtype=float)[np.argsort(order)]
        limits = [
            {"type": "eq", "fun": lambda x: x[:6].sum() - 1},
            {"type": "ineq", "fun": lambda x: low_noise @ x[:6]},
            {"type": "ineq", "fun": lambda x, gap=gap: gap @ x[:6] - eps},
        ]
        start = np.append(rng.dirichlet(np.ones(6)), 0.5)
        done = minimize(
            lambda x, alpha=alpha: risk(x[:6], x[6] * alpha) - least_risk(x[:6]),
            start,
            method="SLSQP",
            bounds=[(0, 1)] * 6 + [(0, 4)],
            constraints=limits,
        )
        best = min(best, done.fun if done.success else np.inf)
    assert best == pytest.approx(found.upper[0], rel=1e-4)


def hinge_on_cone(mu: list[dict], order: tuple[int, ...]) -> float:
    """Return the least hinge risk on a cone by a grid of thirds, which has all ends of pieces."""
    risk = pairwise_risk(PHIS["pairwise-hinge"], mu)
    steps = np.arange(0, 3)
    return min(risk([-float(sum(z[: order.index(i)])) for i in range(3)]) for z in itertools.product(steps, steps))


@pytest.mark.full
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
    found = single(name, noise, 300)
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


@pytest.mark.full
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


@cache
def of_grades(name: str) -> Calibration:
    return rankbench.calibration(name, "ndcg", eps=[0.1, 0.2], steps=500)


@pytest.mark.parametrize("name", part_of(["regression", "cross-entropy", "listnet", "pairwise-hinge"]))
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


@pytest.mark.full
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
        found = rankbench.calibration(row["surrogate"], row["loss"], **asked)
        assert found.zero == 0
        assert found.consistent is True
        assert min(found.lower) > 1e-7


def named(row: dict[str, str]) -> str:
    return Path(row["certificate"]).stem


QUICK = (
    "pairwise-hinge",
    "pairwise-squared-hinge-on-difference-graph_pairwise_low",
    "regression_ndcg",
    "linear_pairwise_dag",
)


@pytest.mark.parametrize("row", part_of([row for row in questions() if named(row).startswith(QUICK)], 3), ids=named)
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
