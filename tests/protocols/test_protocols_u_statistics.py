"""The protocol u-statistics: what it measures, against expectations in closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from competing import executed

from rankbench import api
from rankbench.certify.kernels import draw_outcomes, normal
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.interfaces.method import Method
from rankbench.kernels.random import seed_state
from rankbench.methods.baselines import LogOddsRegression
from rankbench.plugin import manager
from rankbench.protocols.u_statistics import UStatistics

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
    assert "bias, without its sign" in protocol.assumptions()[-1]


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
        api.planned("u-statistics", extra=["random-scores"])
