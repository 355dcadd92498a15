"""Ballots that are held out: what is held out together, and chances of the next place."""

import numpy as np
import polars as pl
import pytest
from scipy.special import gammaln
from scipy.stats import kendalltau

import rankbench
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.cell import BlockKey
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.protocol import BlockTask
from rankbench.plugin.manager import get
from rankbench.protocols.held_out_ballots import HeldOutBallots
from rankbench.protocols.log_votes import votes_of
from rankbench.protocols.own_log import OwnLog


class Ballots(Dataset):
    """Ballots that a test makes: Plackett-Luce's, of three to six of eight items."""

    name = "test-ballots"
    table = "orders"
    title = "Ballots of a test"
    rows: int = 400
    queries: int = 20
    tied: bool = False
    dated: bool = True

    def scan(self):
        rng = np.random.default_rng(5)
        noise = rng.gumbel(size=(self.rows, 8)) + np.linspace(6, -6, 8)
        order = np.argsort(-noise, axis=1)
        ranking = [[[f"i{item}"] for item in row[: 3 + n % 4]] for n, row in enumerate(order)]
        if self.tied:
            ranking[3] = [["i1", "i2"], ["i3"]]
        frame = pl.DataFrame({"query_id": [f"q{n % self.queries:02}" for n in range(self.rows)], "ranking": ranking})
        return frame.with_columns(time=pl.Series(np.arange(self.rows) // 2)).lazy() if self.dated else frame.lazy()

    def fingerprint(self):
        return "cd" * 32


def judged(use, folds="ballot", repetition=0, **data):
    protocol = HeldOutBallots(folds=folds)
    prepared = protocol.prepare(Ballots(**data), 3)
    points = [get(Aggregator, text) for text in use.split(" ")]
    task = BlockTask(
        BlockKey("p", "d", prepared.scaled(1), repetition, 3),
        0,
        ("next-place", "kendall-tau"),
        {"c": Contender(use, tuple(points))},
    )
    (found,) = protocol.execute(prepared, task)
    assert found.status == "done", found.reason
    return prepared, {name: float(found.losses[name, "heldout"][0]) for name in task.metrics}


def test_uniform_ballots_lose_the_logarithm_of_those_who_are_left():
    _, found = judged("coin")
    lengths = np.array([3 + n % 4 for n in range(400)])
    whole = gammaln(lengths + 1).sum() / (lengths - 1).sum()
    assert found["next-place"] == pytest.approx(whole, abs=0.03)  # a fold has nearly as many of each length
    assert found["kendall-tau"] == 0


def test_the_correlation_is_the_mean_of_kendalls_over_ballots_of_any_length():
    protocol = HeldOutBallots()
    prepared = protocol.prepare(Ballots(), 3)
    trial = protocol._trial(prepared, BlockKey("p", "d", prepared.scaled(1), 0, 3))
    scores, cast = np.random.default_rng(1).normal(size=8), trial.weights[-1]
    ballots = [row[row >= 0] for row in trial.rows]
    assert {len(ballot) for ballot in ballots} == {3, 4, 5, 6}
    each = [kendalltau(-np.arange(len(ballot)), scores[ballot]).statistic for ballot in ballots]
    assert trial.tau(scores, cast) == pytest.approx(np.average(each, weights=cast), abs=1e-12)


@pytest.mark.parametrize("folds", ["ballot", "query", "time"])
def test_methods_of_ballots_and_of_comparisons_beat_the_coin(folds):
    coin = judged("coin", folds)[1]
    for use in ("plackett-luce:ridge=1", "bradley-terry:ridge=1 bradley-terry:ridge=10", "kemeny", "win-rate"):
        found = judged(use, folds)[1]
        assert found["next-place"] < coin["next-place"] - 0.3
        assert found["kendall-tau"] > 0.5


def test_what_is_held_out_together():
    by_query = judged("coin", "query")[0]
    assert by_query.arrays["ballots.group"].max() == 19
    by_time = judged("coin", "time")[0]
    assert (by_time.fixed, by_time.arrays["ballots.group"].max()) == (5, 199)


def test_a_query_may_be_better_than_its_order_says():
    """The scale of scores is fitted: ranks of an order are as good as scores up to a factor."""
    _, once = judged("plackett-luce:ridge=0.001")
    _, shrunk = judged("plackett-luce:ridge=100")
    assert abs(once["next-place"] - shrunk["next-place"]) < 0.05


def test_who_goes_by_the_order_of_votes_cannot_compete():
    assert "order of votes" in HeldOutBallots().misfit(get(Aggregator, "elo"))
    assert not HeldOutBallots().misfit(get(Aggregator, "instant-runoff"))


def test_ties_and_times_that_are_missing_are_refused():
    with pytest.raises(InputError, match="tie items"):
        HeldOutBallots().prepare(Ballots(tied=True), 3)
    with pytest.raises(SpecError, match="no folds by time"):
        HeldOutBallots(folds="time").prepare(Ballots(dated=False), 3)


def test_points_of_one_winner_and_halves_are_grouped_as_votes(tmp_path):
    """A column of points makes tables that could hold shares of votes; without shares they are plain votes."""
    table = tmp_path / "games.csv"
    rows = [f"t{n % 5},t{(n + 1 + n // 5 % 4) % 5},{(0, 0.5, 1)[n % 3]}" for n in range(200)]
    table.write_text("left,right,points\n" + "\n".join(rows) + "\n")
    log = rankbench.logs.open.log_file(table)
    assert votes_of(log).votes.rest is None
    assert OwnLog().prepare(log, 1).units
