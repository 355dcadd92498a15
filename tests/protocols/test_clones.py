"""The best of n clones: what is published, against exact sums over binomial numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from competing import executed
from scipy.special import expit, logit
from scipy.stats import binom, norm

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.aggregators.rates import WinRate
from rankbench.aggregators.sequential import Elo
from rankbench.protocols.score_tables import BestOfClones, critical_value, expected_maximum

PLAIN = "bradley-terry:penalty=none"


def test_expected_maxima_are_those_of_closed_forms() -> None:
    root = math.sqrt(math.pi)
    assert expected_maximum(1) == pytest.approx(0, abs=1e-12)
    assert expected_maximum(2) == pytest.approx(1 / root)
    assert expected_maximum(3) == pytest.approx(1.5 / root)
    assert expected_maximum(5) == pytest.approx(1.25 / root * (1 + 6 / math.pi * math.asin(1 / 3)))


def test_the_correction_covers_all_independent_errors_at_once() -> None:
    assert critical_value(1) == pytest.approx(norm.ppf(0.975))
    for n in (5, 25):
        value = critical_value(n)
        assert (norm.cdf(value) - norm.cdf(-value)) ** n == pytest.approx(0.95)
        # The largest of n errors misses on the upper side alone, next to always.
        assert norm.cdf(value) ** n - norm.cdf(-value) ** n == pytest.approx(0.975, abs=1e-3)


def blocks(protocol: BestOfClones, n: int, repetitions: int) -> dict[str, np.ndarray]:
    """Return each metric, shape (repetitions, populations)."""
    prepared = protocol.prepare(None, 7)
    runs = [executed(prepared, [PLAIN], n=n, seed=7, repetition=r)[PLAIN] for r in range(repetitions)]
    assert all(run.status == "done" for run in runs)
    return {name: np.stack([run.losses[name, "design"] for run in runs]) for name in protocol.metric_names()}


@pytest.mark.full
def test_against_one_public_model_the_bias_is_that_of_binomial_numbers() -> None:
    """The score of a variant is the log-odds of its wins, and variants are independent."""
    protocol, n, repetitions = BestOfClones(public=1, votes=400, populations=30), 5, 8
    found = blocks(protocol, n, repetitions)
    theta = np.diff(protocol.prepare(None, 7).arrays["populations.scores"], axis=1)[:, 0]
    wins = np.arange(1, 400)
    scores = logit(wins / 400)
    for values, critical in ((found["missed"], 1), (found["missed-after-correction"], n)):
        error = 1 / np.sqrt(wins * (400 - wins) / 400)
        expected, variances = [], []
        for truth in theta:
            chance = np.diff(binom.cdf(np.arange(400), 400, expit(truth)) ** n)  # of the largest of n
            missed = chance @ (np.abs(scores - truth) > norm.ppf((1 + 0.95 ** (1 / critical)) / 2) * error)
            expected.append(missed)
            variances.append(missed * (1 - missed))
        assert values.mean() == pytest.approx(
            np.mean(expected), abs=4 * math.sqrt(np.sum(variances) / repetitions) / len(theta)
        )
    laws = [np.diff(binom.cdf(np.arange(400), 400, expit(truth)) ** n) for truth in theta]
    means = np.array([law @ scores for law in laws])
    spread = np.array([law @ scores**2 for law in laws]) - means**2
    error = math.sqrt(spread.sum() / repetitions) / len(theta)
    assert found["score-bias"].mean() == pytest.approx((means - theta).mean(), abs=4 * error)
    deviation = 1 / np.sqrt(400 * expit(theta) * expit(-theta))
    assert found["score-bias"] - found["surplus"] == pytest.approx(
        np.tile(deviation * expected_maximum(n), (repetitions, 1))
    )


def test_votes_on_fewer_variants_are_part_of_those_on_more() -> None:
    protocol = BestOfClones(public=3, votes=20, populations=2)
    truth = protocol.prepare(None, 7).arrays["populations.scores"][1]
    few, many = (protocol._draw(truth, n, np.random.default_rng(1)) for n in (2, 6))
    assert (few.m, many.m) == (5, 9)
    rows = many.high < few.m
    for name in ("low", "high", "forward", "backward"):
        assert np.array_equal(getattr(few, name), getattr(many, name)[rows])
    # All pairs but those of two variants have all votes.
    assert np.all(many.forward + many.backward == 20)
    assert len(many) == 3 + 3 * 6
    assert many.low.max() < 3


def test_votes_are_by_26() -> None:
    protocol = BestOfClones(public=2, votes=100_000)
    truth = np.array([1.0, -0.5, 0.3])
    drawn = protocol._draw(truth, 2, np.random.default_rng(3))
    theta = np.array([1.0, -0.5, 0.3, 0.3])
    share = drawn.forward / 100_000
    assert share == pytest.approx(expit(theta[drawn.low] - theta[drawn.high]), abs=4 * 0.5 / math.sqrt(100_000))


@pytest.mark.parametrize(
    ("aggregator", "said"),
    [(BradleyTerry(), ""), (WinRate(), "no formula for the covariance"), (Elo(), "not an aggregator of counts")],
)
def test_who_may_compete(aggregator: object, said: str) -> None:
    misfit = BestOfClones().misfit(aggregator)  # type: ignore[arg-type]
    assert (said in misfit, bool(misfit)) == (True, bool(said))


def test_the_claimed_shares_without_the_true_score() -> None:
    """12% and 47% of the suite after-2013: of n independent errors the largest lies above, or all below."""
    upper, lower = Fraction(975, 1000), Fraction(25, 1000)
    assert [round(float(1 - upper**n + lower**n), 2) for n in (1, 5, 25)] == [0.05, 0.12, 0.47]


def test_populations_and_repetitions_have_votes_of_their_own() -> None:
    prepared = BestOfClones(public=2, populations=4).prepare(None, 7)
    scores = prepared.arrays["populations.scores"]
    alike = replace(prepared, arrays={"populations.scores": np.repeat(scores[:1], len(scores), axis=0)})
    runs = [executed(alike, [PLAIN], n=3, seed=7, repetition=r)[PLAIN] for r in (0, 1)]
    assert len({bias for run in runs for bias in run.losses["score-bias", "design"].tolist()}) == 8
