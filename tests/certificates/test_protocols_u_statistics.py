"""The protocol u-statistics: what it measures, against expectations in closed form."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from competing import executed, task_of
from scipy.special import expit

from rankbench import api
from rankbench.certificates.conditional_risks import consistency_in
from rankbench.certificates.kernels import draw_outcomes, normal
from rankbench.certificates.populations import GRAPHS, draw_populations
from rankbench.certificates.protocols import theory
from rankbench.certificates.protocols.theory import ROUNDING, Repair, Theory
from rankbench.certificates.protocols.u_statistics import UStatistics
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.interfaces.cell import cell_problem
from rankbench.interfaces.method import Method
from rankbench.interfaces.protocol import Protocol
from rankbench.interfaces.surrogate import Surrogate
from rankbench.kernels.random import seed_state
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement
from rankbench.methods.baselines import LogOddsRegression, UStatistic
from rankbench.plugin import manager
from rankbench.protocols.expected_risk import expected_moments
from rankbench.runner.question import RunQuestion

METRICS = ("abs-bias", "deviation", "excess", "instability")


def run(protocol, n, metrics=METRICS, **cells):
    prepared = protocol.prepare(None, 3)
    return prepared, executed(prepared, cells, metrics, n=n, seed=3)


def test_bias_of_single_votes_is_that_of_their_law():
    """With k = 1 the empirical risk is unbiased for the risk of single votes, whatever n."""
    protocol = UStatistics(worlds=2, draws=400, queries=50)
    prepared, found = run(protocol, 200, ("abs-bias", "deviation"), a="u-statistic:exponent=0")
    p, high = protocol.frequencies, math.log(1.1 / 0.1)
    for u in range(2):
        x, chance, theta = (prepared.arrays[f"worlds.{name}"][u] for name in ("x", "chance", "theta"))
        f, limit = x @ theta, np.log((chance + 0.1) / (1.1 - chance))
        single = 0.5 * p @ (chance * (f - high) ** 2 + (1 - chance) * (f + high) ** 2)
        expected = single - 0.5 * p @ (f - limit) ** 2
        error = found["a"].losses["deviation", "design"][u] / math.sqrt(400)
        assert found["a"].losses["abs-bias", "design"][u] == pytest.approx(abs(expected), abs=4 * error)


def test_less_bias_is_better_whatever_its_sign():
    """Hardly biased, means of two draws fall on either side of the truth: none may count as better than 0."""
    protocol = UStatistics(worlds=30, draws=2, queries=2)
    _, found = run(protocol, 50_000, ("abs-bias",), a="u-statistic:exponent=1")
    bias = found["a"].losses["abs-bias", "design"]
    assert 0 <= bias.min() < bias.max() < 0.05
    assert "`abs-bias` is the absolute mean error" in protocol.assumptions()[-1]


@pytest.mark.parametrize("exponent", [0.25, 0.5])
def test_bias_is_that_of_the_expectation(exponent):
    """Draws of votes against (20), at the fixed scores; neither side uses the other's code."""
    protocol = UStatistics(worlds=1, draws=400, queries=50)
    prepared, found = run(protocol, 300, ("abs-bias", "deviation"), a=f"u-statistic:exponent={exponent}")
    p = protocol.frequencies
    x, chance, theta = (prepared.arrays[f"worlds.{name}"][0] for name in ("x", "chance", "theta"))
    mean, square = expected_moments(chance, p, 300, math.ceil(300**exponent), 0.1)
    f, limit = x @ theta, np.log((chance + 0.1) / (1.1 - chance))
    bias = 0.5 * p @ (square - limit**2 - 2 * f * (mean - limit))
    error = found["a"].losses["deviation", "design"][0] / math.sqrt(400)
    assert found["a"].losses["abs-bias", "design"][0] == pytest.approx(abs(bias), abs=4 * error)
    assert bias > 8 * error, "a bias of 0 would pass too"


def test_suprema_are_over_the_ball():
    """Over 3,000 linear scores of norm at most 1: none beats the supremum, and the best one comes close to it."""
    protocol = UStatistics(worlds=1, draws=2, queries=20, dimension=2)
    prepared, found = run(protocol, 200, ("sup-deviation", "order-bias", "rho"), a="u-statistic:exponent=0.5")
    losses = {metric: values[0] for (metric, _), values in found["a"].losses.items()}
    p, k = protocol.frequencies, 15
    x, chance = (prepared.arrays[f"worlds.{name}"][0] for name in ("x", "chance"))
    angles = np.linspace(0, 2 * np.pi, 300)
    thetas = np.concatenate([r * np.stack([np.cos(angles), np.sin(angles)]) for r in np.linspace(0.1, 1, 10)], axis=1)
    f, limit = x @ thetas, np.log((chance + 0.1) / (1.1 - chance))
    risk = 0.5 * p @ (f - limit[:, None]) ** 2

    def at_order(k):
        share = np.arange(k + 1) / k
        s = np.log((share + 0.1) / (1.1 - share))
        each = np.stack([np.array([math.comb(k, w) * c**w * (1 - c) ** (k - w) for w in range(k + 1)]) for c in chance])
        return 0.5 * (p @ (f**2 - 2 * f * (each @ s)[:, None] + (each @ s**2)[:, None]))

    biases = [np.abs(at_order(order) - risk).max() for order in (k, 2 * k)]
    assert losses["order-bias"] == pytest.approx(biases[0], rel=1e-3)
    assert losses["rho"] == pytest.approx(math.log2(biases[0] / biases[1]), abs=1e-2)
    largest = []
    task = task_of(prepared, ["u-statistic"], ("sup-deviation",), n=200, seed=3)
    for won, starts in protocol._draw(prepared, task, 0).draws:
        w, (mean, square) = np.diff(starts) / 200, UStatistic().moments(won, starts, k)
        largest.append(np.abs(0.5 * w @ (f**2 - 2 * f * mean[:, None] + square[:, None]) - risk).max())
    assert losses["sup-deviation"] == pytest.approx(np.mean(largest), rel=1e-3)


def test_deviations_are_below_the_bound_of_bounded_differences():
    """(4) in closed form; of 400 draws, 5% may be beyond it, so their standard deviation is far below."""
    protocol = UStatistics(worlds=1, draws=400, queries=10)
    prepared, found = run(protocol, 500, ("deviation", "deviation-bound"), a="u-statistic:exponent=0.25")
    longest = np.linalg.norm(prepared.arrays["worlds.x"][0], axis=1).max()
    bound = 5 * (longest + math.log(11)) ** 2 / 2 * math.sqrt(8 * math.log(40) / 500)
    assert found["a"].losses["deviation-bound", "design"][0] == pytest.approx(bound)
    assert 0 < found["a"].losses["deviation", "design"][0] < bound


def test_bounds_are_of_subsets_alone():
    protocol = UStatistics(worlds=1, draws=2, queries=30)
    _, found = run(protocol, 1000, ("sampling-bias", "sampling-bound"), a="u-statistic", b="disjoint-batches")
    assert found["b"].status == "skipped"
    assert "all k-subsets" in found["b"].reason
    bias, bound = (found["a"].losses[metric, "design"][0] for metric in ("sampling-bias", "sampling-bound"))
    assert 0 < bias < bound


@pytest.mark.parametrize(
    ("error", "status"),
    [(ContenderDiverged("far"), "diverged"), (SpecError("no fit"), "skipped"), (ValueError(), "error")],
)
def test_troubles_are_called_by_their_names(monkeypatch, error, status):
    def failing(*args):
        raise error

    monkeypatch.setattr(LogOddsRegression, "solve", failing)
    _, found = run(UStatistics(worlds=1, draws=2, queries=4), 20, ("excess",), a="u-statistic:exponent=0")
    assert found["a"].status == status


def test_deviation_of_single_votes_is_that_of_their_law():
    protocol = UStatistics(worlds=1, draws=600, queries=20)
    prepared, found = run(protocol, 100, ("deviation",), a="u-statistic:exponent=0")
    p, high = protocol.frequencies, math.log(1.1 / 0.1)
    x, chance, theta = (prepared.arrays[f"worlds.{name}"][0] for name in ("x", "chance", "theta"))
    won, lost = 0.5 * (x @ theta - high) ** 2, 0.5 * (x @ theta + high) ** 2
    mean = p @ (chance * won + (1 - chance) * lost)
    variance = p @ (chance * won**2 + (1 - chance) * lost**2) - mean**2
    assert found["a"].losses["deviation", "design"][0] == pytest.approx(math.sqrt(variance / 100), rel=0.15)


def test_only_batches_depend_on_the_order():
    protocol = UStatistics(worlds=3, draws=2, queries=100)
    _, found = run(protocol, 500, a="u-statistic", b="disjoint-batches", c="u-statistic:exponent=1")
    assert not found["a"].losses["instability", "design"].any()
    assert not found["c"].losses["instability", "design"].any()
    assert (found["b"].losses["instability", "design"] > 0).all()
    assert found["a"].info["k"] == math.ceil(500**0.4)


def test_excess_goes_to_zero_with_complete_aggregation():
    protocol = UStatistics(worlds=1, draws=2, queries=20)
    excess = [run(protocol, n, ("excess",), a="u-statistic:exponent=1")[1]["a"] for n in (100, 100_000)]
    values = [one.losses["excess", "design"][0] for one in excess]
    assert values[0] > values[1] >= 0
    assert values[1] < 1e-3


def test_a_metric_does_not_depend_on_the_others():
    protocol = UStatistics(worlds=1, draws=2, queries=20)
    together = run(protocol, 100, a="disjoint-batches")[1]["a"].losses
    for metric in METRICS:
        alone = run(protocol, 100, (metric,), a="disjoint-batches")[1]["a"].losses
        assert alone[metric, "design"].tolist() == together[metric, "design"].tolist()


def test_frequencies_satisfy_assumption_d():
    p = UStatistics(beta=0.5).frequencies
    assert p.sum() == pytest.approx(1)
    assert p[0] / p[99] == pytest.approx(100**1.5)


def test_draws_are_sorted_prefixes_with_the_right_frequencies():
    upto, chance = np.array([0.7, 0.7, 1.0]), np.array([0.2, 0.5, 0.9])
    won, starts = np.empty(20_000, np.bool_), np.empty(4, np.int64)
    draw_outcomes(upto, chance, seed_state((1,)), won, starts)
    assert np.diff(starts)[1] == 0
    assert starts[1] / 20_000 == pytest.approx(0.7, abs=0.02)
    assert won[: starts[1]].mean() == pytest.approx(0.2, abs=0.02)
    assert won[starts[1] :].mean() == pytest.approx(0.9, abs=0.02)
    few, begin = np.empty(50, np.bool_), np.empty(4, np.int64)
    draw_outcomes(upto, chance, seed_state((1,)), few, begin)
    assert few[: begin[1]].tolist() == won[: begin[1]].tolist()


def test_normal_variables():
    out = np.empty(20_000)
    normal(seed_state((5,)), out)
    assert out.mean() == pytest.approx(0, abs=0.03)
    assert out.std() == pytest.approx(1, abs=0.03)
    assert (np.abs(out) > 1.96).mean() == pytest.approx(0.05, abs=0.006)


def test_other_methods_do_not_fit():
    assert "does not estimate" in UStatistics().misfit(manager.get(Method, "random-scores"))
    with pytest.raises(SpecError, match="random-scores"):
        api.planned("u-statistics", RunQuestion(extra=["random-scores"]))


def ran(prepared, cells, metrics=(), n=1):
    return executed(prepared, cells, metrics, n=n, seed=7)


def test_theory_is_a_table_of_consistency():
    protocol = Theory(loss="pairwise-disagreement")
    prepared = protocol.prepare(None, 1)
    assert prepared.units["design"] == tuple(setting.name for setting in GRAPHS)
    (found,) = ran(prepared, ["pairwise-logistic"]).values()
    assert cell_problem(found, {"design": len(GRAPHS)}) is None
    loss, surrogate = PairwiseDisagreement(), manager.get(Surrogate, "pairwise-logistic")
    expected = [consistency_in(surrogate, setting, loss) for setting in GRAPHS]
    assert found.losses["gap", "design"].tolist() == [one.gap for one in expected]
    assert found.losses["verdict", "design"].tolist() == [(one.gap > 0) - (one.gap < 0) for one in expected]
    assert found.losses["excess", "design"].tolist() == [one.excess for one in expected]


def test_theory_skips_losses_that_do_not_care():
    (found,) = ran(Theory(loss="precision:k=3").prepare(None, 1), ["regression"], ("gap",)).values()
    assert found.status == "skipped"
    assert "same risk for all orders" in found.reason


def test_theory_calls_divergence_by_its_name(monkeypatch):
    def diverging(*args):
        raise ContenderDiverged("no minimum")

    monkeypatch.setattr(theory, "consistency_in", diverging)
    (found,) = ran(Theory().prepare(None, 1), ["pairwise-logistic"], ("gap",)).values()
    assert (found.status, found.reason) == ("diverged", "no minimum")


def test_theory_aggregates_graphs_only():
    with pytest.raises(SpecError, match="aggregation is of graphs"):
        manager.get(Protocol, "theory:loss=ndcg,aggregation=difference")


@pytest.fixture(scope="module")
def prepared():
    return Repair(paper=True, populations=4).prepare(None, 5)


CELLS = {
    "oracle": "oracle",
    "single": "erm:aggregator=identity,k=1,surrogate=pairwise-logistic,optimizer=newton,lambda=1e-7",
    "repaired": "erm:aggregator=difference-graph,k=inf,surrogate=pairwise-logistic,optimizer=newton,lambda=1e-7",
    "linear": "erm:aggregator=net-weights,k=inf,surrogate=linear,optimizer=exact,lambda=1e-7",
}


@pytest.mark.full
def test_repair_on_the_papers_populations(prepared):
    """With many votes: (12) misorders items 2 and 3, which costs their weight; (23) and linear do not."""
    rows = {cell: one.losses["excess", "design"] for cell, one in ran(prepared, CELLS, n=30_000).items()}
    assert not rows["oracle"].any()
    assert rows["single"][0] == pytest.approx(0.05 / 2.55)
    assert (rows["single"][1:] >= 0).all()
    # (2, 3) is 2% of the votes, all one way: no sample of this size has it otherwise.
    assert rows["repaired"][0] == rows["linear"][0] == 0


def test_the_true_excess_is_within_the_bound_of_the_surrogates(prepared):
    """Of (23) logistic, H(eps) is log 2 times eps: H(eps, mu) is no less, and its inverse no larger."""
    found = ran(prepared, CELLS, ("excess", "bound"), n=300)
    for cell, one in found.items():
        excess, bound = (one.losses[metric, "design"] for metric in ("excess", "bound"))
        assert (excess <= bound + 1e-12).all()
        assert (bound == 1).all() == (cell == "oracle")
    limit = ran(prepared, CELLS, ("bound",), n=100_000)
    assert limit["single"].losses["bound", "design"][0] >= 0.05 / 2.55  # Theorem 2: more votes do not help
    assert limit["repaired"].losses["bound", "design"][0] == limit["linear"].losses["bound", "design"][0] == 0


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_23_is_at_most_that_of_its_calibration_function(prepared, seed):
    from rankbench.certificates.protocols.theory import _populations, excess_bound

    method, loss = manager.get(Method, CELLS["repaired"]), PairwiseDisagreement()
    for population in _populations(prepared):
        alpha = np.random.default_rng(seed).normal(size=len(population.votes))
        lead = np.maximum(population.votes - population.votes.T, 0)
        surrogate = (lead * np.logaddexp(0, alpha[None, :] - alpha[:, None])).sum()  # its infimum is 0
        found = excess_bound(method, population.votes, alpha)
        risks = [loss.value(np.array(order, float), population.votes) for order in permutations(range(len(alpha)))]
        assert loss.value(alpha, population.votes) - min(risks) <= found + 1e-12
        assert found <= surrogate / np.log(2) + 1e-9


def test_a_method_without_a_surrogate_risk_has_no_bound(prepared):
    from rankbench.certificates.protocols.theory import excess_bound

    votes = np.array([[0.0, 1.0], [0.0, 0.0]])
    borda = manager.get(Method, "erm:aggregator=mean-log-odds,k=3,surrogate=regression,optimizer=exact")
    assert excess_bound(borda, votes, np.zeros(2)) == 1


def test_repair_prefixes(prepared):
    from rankbench.certificates.protocols.theory import _draw, _populations

    populations = _populations(prepared)
    assert [len(p.votes) for p in populations] == [3, 3, 4, 4, 4, 4]
    few, many = (_draw(populations, n, (1, 2)) for n in (10, 50))
    for q in range(len(populations)):
        assert few.winners[10 * q : 10 * q + 10].tolist() == many.winners[50 * q : 50 * q + 10].tolist()


def test_repair_labels_are_a_best_ranking(prepared):
    from rankbench.certificates.protocols.theory import _populations, _queries

    queries = _queries(prepared)
    for q, population in enumerate(_populations(prepared)):
        labels = queries.labels[queries.offsets[q] : queries.offsets[q + 1]]
        risks = [
            PairwiseDisagreement().value(np.array(alpha, float), population.votes)
            for alpha in np.ndindex(*(len(labels),) * len(labels))
        ]
        assert PairwiseDisagreement().value(labels, population.votes) == pytest.approx(min(risks))


def test_the_papers_populations_are_low_noise():
    with pytest.raises(SpecError, match="low-noise"):
        Repair(noise="cyclic", paper=True).prepare(None, 1)


@pytest.mark.full
@pytest.mark.parametrize(("items", "said"), [(4, 1 / 3), (5, 1 / 2)])
def test_how_often_the_limit_of_logistic_edges_is_wrong(items, said):
    """The shares that the page and the suite give: three standard errors of 1,000 populations are 0.047 at most."""
    drawn = draw_populations("low-noise", 1000, items, seed_state((items,)))
    loss = PairwiseDisagreement()
    wrong = sum(
        loss.value(limit(population.votes), population.votes) > loss.bayes_risk(population.votes[None]).upper + ROUNDING
        for population in drawn
    )
    assert wrong / 1000 == pytest.approx(said, abs=0.047)


def limit(votes):
    """Minimize (12) with the logistic phi for infinitely many votes: sum of votes[i, j] phi(s_i - s_j), by Newton."""
    scores = np.zeros(len(votes))
    for _ in range(50):
        p = expit(scores - scores[:, None])  # [i, j]: how much i over j is still to be learned
        slope = (votes * p).sum(axis=0) - (votes * p).sum(axis=1)
        if np.abs(slope).max() < 1e-13:
            return scores
        weights = (votes + votes.T) * p * (1 - p)
        scores -= np.linalg.lstsq(np.diag(weights.sum(axis=1)) - weights, slope, rcond=None)[0]
    raise AssertionError("Newton's method did not converge")
