"""The protocols of aggregators, of votes and of clicks: draws, answers, what they refuse."""

import pickle

import numpy as np
import pytest
from amounts import examples
from competing import executed, task_of
from hypothesis import given
from hypothesis import strategies as st

from rankbench.aggregators.bradley_terry import BradleyTerry, Davidson
from rankbench.aggregators.clicks import Cascade
from rankbench.aggregators.labels import LimitScores
from rankbench.aggregators.plackett_luce import PlackettLuce
from rankbench.aggregators.rates import Borda
from rankbench.core.runtime import draw_entropy
from rankbench.data.simulators.cascade_clicks import CascadeClicks
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.interfaces.aggregator import Aggregator, ComparisonAggregator, OrderAggregator
from rankbench.interfaces.cell import cell_problem
from rankbench.interfaces.click_aggregator import SelectionAggregator, longest_list, rows_of
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.protocol import Protocol
from rankbench.interfaces.queries import Comparisons, Orders
from rankbench.losses.positions import ERR, NDCG
from rankbench.plugin import manager
from rankbench.plugin.third_party import without_third_party
from rankbench.protocols.aggregation import AggregationTrial, Selection, directions, misordered, regret, rmse


def run(protocol, given, metrics=(), n=200):
    return executed(protocol.prepare(None, 7), given, metrics, n=n, seed=7)


def drawn(protocol, p, n=200, repetition=0):
    """Return the judgments of population p."""
    prepared = protocol.prepare(None, 7)
    return protocol._draw(prepared, task_of(prepared, [], n=n, repetition=repetition, seed=7), p)


def test_values_are_those_of_the_aggregators_on_the_draw():
    protocol = AggregationTrial(law="btl", items=6, populations=4, ties=0.5)
    prepared = protocol.prepare(None, 7)
    found = run(protocol, ["borda", "davidson"])
    for p in range(4):
        judged = drawn(protocol, p)
        assert isinstance(judged, Comparisons)
        assert 0.1 < judged.ties.mean() < 0.35
        for aggregator in (Borda(), Davidson()):
            scores = aggregator.from_comparisons(judged, 6)
            losses = found[str(aggregator)].losses
            order = np.argsort(-prepared.arrays["populations.scores"][p])
            wins = prepared.arrays["populations.wins"][p]
            assert losses["misordered", "design"][p] == misordered(scores, order)
            assert losses["regret", "design"][p] == pytest.approx(regret(scores, order, wins))
            truth = prepared.arrays["populations.scores"][p]
            assert losses["rmse", "design"][p] == pytest.approx(rmse(scores, truth), abs=1e-8)


def test_a_population_has_the_order_that_is_asked_for():
    orders = {}
    for target in ("scores", "borda"):
        found = AggregationTrial(law="intransitive", cycle=3, populations=20, target=target).prepare(None, 7).arrays
        orders[target] = found["populations.orders"]
    scores, wins = (found[f"populations.{name}"] for name in ("scores", "wins"))
    for order, value in ((orders["scores"], scores), (orders["borda"], wins.sum(axis=2))):
        assert np.all(np.diff(np.take_along_axis(value, order, axis=1)) <= 0)
    assert not np.array_equal(*orders.values())


def test_ballots_and_what_they_imply():
    protocol = AggregationTrial(law="plackett-luce", items=6, populations=3, length=4)
    prepared = protocol.prepare(None, 7)
    found = run(protocol, ["plackett-luce", "bradley-terry"], n=30)
    for p in range(3):
        judged = drawn(protocol, p, 30)
        assert isinstance(judged, Orders)
        assert len(judged) == 30
        order = np.argsort(-prepared.arrays["populations.scores"][p])
        for aggregator in (PlackettLuce(), BradleyTerry()):
            expected = misordered(aggregator.from_orders(judged, 6), order)
            assert found[str(aggregator)].losses["misordered", "design"][p] == expected


def test_smaller_n_are_prefixes_and_neighbors_do_not_matter():
    protocol = AggregationTrial(items=5, populations=2)
    long, short = (drawn(protocol, 1, n) for n in (300, 40))
    assert np.array_equal(long.winners[:40], short.winners)
    other = drawn(protocol, 1, 40, repetition=1)
    assert not np.array_equal(other.winners, short.winners)
    alone = run(protocol, ["elo"])["elo"]
    among = run(protocol, ["borda", "elo", "kemeny"])["elo"]
    for key, values in alone.losses.items():
        assert np.array_equal(values, among.losses[key])


def test_graphs_have_no_scores():
    protocol = AggregationTrial(items=4, populations=2)
    found = run(protocol, ["average-adjacency", "borda"])
    assert found["average-adjacency"].status == "skipped"
    assert "no rmse" in found["average-adjacency"].reason
    assert found["borda"].status == "done"
    fine = run(protocol, ["average-adjacency", "difference-graph"], metrics=("misordered",))
    values = [result.losses["misordered", "design"] for result in fine.values()]
    assert np.array_equal(*values)


class Spoiling(ComparisonAggregator):
    """Overwrites what it is lent."""

    name = "spoiling"
    source = "test"

    def aggregate(self, winners, losers, weights, m):
        return Borda().aggregate(winners, losers, weights, m)

    def from_comparisons(self, comparisons, m):
        scores = super().from_comparisons(comparisons, m)
        for array in (comparisons.winners, comparisons.losers, comparisons.weights, comparisons.offsets):
            array[:] = 0
        if comparisons.ties is not None:
            comparisons.ties[:] = True
        return scores


class SpoilingBallots(OrderAggregator):
    """Overwrites the ballots that it is lent."""

    name = "spoiling-ballots"
    source = "test"

    def from_orders(self, orders, m):
        scores = PlackettLuce().from_orders(orders, m)
        for array in (orders.items, orders.places, orders.weights, orders.starts, orders.offsets):
            array[:] = 0
        return scores


OF_BALLOTS = AggregationTrial(law="plackett-luce", items=5, populations=2, length=3)


@pytest.mark.parametrize(
    ("protocol", "spoiler", "cells"),
    [
        (AggregationTrial(items=4, populations=2, ties=0.5), Spoiling(), ["borda", "davidson"]),
        (OF_BALLOTS, Spoiling(), ["borda", "plackett-luce"]),
        (OF_BALLOTS, SpoilingBallots(), ["plackett-luce", "borda"]),
    ],
)
def test_what_a_contender_does_to_its_judgments_is_its_own(protocol, spoiler, cells):
    alone, among = run(protocol, cells), run(protocol, [spoiler, *cells])
    for cell in cells:
        for key, values in alone[cell].losses.items():
            assert np.array_equal(values, among[cell].losses[key])
    # It ranks as the first of them does, which it asks before it spoils anything.
    assert np.array_equal(
        *(found["misordered", "design"] for found in (among[str(spoiler)].losses, among[cells[0]].losses))
    )


class Broken(ComparisonAggregator):
    """Goes wrong in one of several ways."""

    name = "broken"
    source = "test"
    way: str = "raise"

    def aggregate(self, winners, losers, weights, m):
        if self.way == "raise":
            raise ValueError("no idea")
        if self.way == "diverge":
            raise ContenderDiverged("no limit")
        return np.full(m, np.nan) if self.way == "nan" else np.zeros(m + 1)


@pytest.mark.parametrize(
    ("way", "status", "said"),
    [
        ("raise", "error", "ValueError: no idea"),
        ("diverge", "diverged", "no limit"),
        ("nan", "diverged", "not finite"),
        ("long", "error", "shape (5,)"),
    ],
)
def test_troubles_are_the_contenders_own(way, status, said):
    broken = Broken(way=way)
    found = run(AggregationTrial(items=4, populations=2), [broken, "borda"], metrics=("misordered",))
    assert (found[str(broken)].status, found["borda"].status) == (status, "done")
    assert said in found[str(broken)].reason


@pytest.mark.parametrize(
    ("law", "aggregator", "said"),
    [("btl", "limit-scores", "truth"), ("btl", "plackett-luce", "works on orders"), ("plackett-luce", "borda", "")],
)
def test_who_may_compete(law, aggregator, said):
    misfit = AggregationTrial(law=law).misfit(manager.get(Aggregator, aggregator))
    assert said in misfit
    assert bool(misfit) == bool(said)


@pytest.mark.parametrize(
    "text",
    [
        "aggregation:law=thurstone,ties=1",
        "aggregation:law=plackett-luce,exposure=1",
        "aggregation:law=plackett-luce,length=11",
        "aggregation:items=15",
        "aggregation:law=mallows",
    ],
)
def test_parameters_are_validated(text):
    with pytest.raises(SpecError):
        manager.get(Protocol, text)


def test_smaller_blocks_compile_the_same():
    protocol = AggregationTrial(items=4, populations=6)
    whole = protocol.prepare(None, 7)
    prepared, small = protocol.smaller(whole, task_of(whole, ["borda", "kemeny"], n=10_000))
    assert (small.key.n, set(small.cells)) == (5, {"borda", "kemeny"})
    found = prepared.protocol.execute(prepared, small)
    assert [result.losses["misordered", "design"].shape for result in found] == [(1,), (1,)]


SMALL = st.integers(-3, 3).map(float)


@st.composite
def cases(draw):
    m = draw(st.integers(2, 6))
    scores = np.array(draw(st.lists(SMALL, min_size=m, max_size=m)))
    order = np.array(draw(st.permutations(range(m))))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    wins = np.triu(rng.random((m, m)), 1)
    return scores, order, wins + np.tril(1 - wins.T, -1)


@given(case=cases())
@examples(60)
def test_pairs_one_by_one(case):
    scores, order, wins = case
    m = len(order)
    wrong, lost = 0.0, 0.0
    for at, i in enumerate(order):
        for j in order[at + 1 :]:
            share = 0.5 if scores[i] == scores[j] else float(scores[i] < scores[j])
            wrong += share
            # Disagreement with a preference that is i over j with probability wins[i, j].
            lost += share * wins[i, j] + (1 - share) * wins[j, i] - wins[j, i]
    pairs = m * (m - 1) / 2
    assert misordered(scores, order) == pytest.approx(wrong / pairs)
    assert regret(scores, order, wins) == pytest.approx(lost / pairs)
    # A graph with these directions is judged alike.
    graph = np.maximum(scores[:, None] - scores[None, :], 0) + 0.25
    np.fill_diagonal(graph, 0)
    assert misordered(graph, order) == pytest.approx(wrong / pairs)
    assert regret(graph, order, wins) == pytest.approx(lost / pairs)


def test_levels():
    assert directions(np.array([0.1 + 0.2, 0.3, 1.0]))[0].tolist() == [0, 0, -1]
    assert not directions(np.zeros((3, 3))).any()
    assert directions(np.array([[0, 2.0], [1.0, 0]])).tolist() == [[0, 1], [-1, 0]]


def test_rmse_after_the_best_fit():
    rng = np.random.default_rng(2)
    truth, scores = rng.normal(size=9), rng.normal(size=9)
    design = np.stack([scores, np.ones(9)], axis=1)
    residual = truth - design @ np.linalg.lstsq(design, truth, rcond=None)[0]
    assert rmse(scores, truth) == pytest.approx(np.sqrt(np.mean(residual**2)))
    assert rmse(3 - 2 * truth, truth) == pytest.approx(0, abs=1e-12)
    assert rmse(np.full(9, 4.0), truth) == pytest.approx(truth.std())


DATASET = CascadeClicks(queries=12, items=8, shown=5)
LOSSES = ("err", "ndcg", "pairwise-disagreement")


class Own(SelectionAggregator):
    """Clicks on an item."""

    name = "own-clicks"
    source = "test"
    spoil: bool = False
    bad: str = ""

    def estimate(self, selections, item_offsets):
        m, examination = int(item_offsets[-1]), np.ones(longest_list(selections))
        if self.bad == "raises":
            raise RuntimeError("broken aggregator")
        if self.bad == "nan":
            return np.full(m, np.nan), examination
        if self.bad == "short":
            return np.zeros(m - 1), examination
        rows = rows_of(selections, item_offsets)[0]
        clicks = np.bincount(rows[selections.clicked], minlength=m).astype(float)
        selections.items[:] = 0
        selections.clicked[:] = True
        return clicks, examination


def test_contenders_are_judged_against_the_grades():
    prepared = Selection().prepare(DATASET, 7)
    found = executed(prepared, ["cascade", "coec"], LOSSES, n=900, repetition=3, seed=7)
    truth = DATASET.truth()
    log = DATASET.draw(900, draw_entropy(7, DATASET.fingerprint(), 3))
    alpha = Cascade().fit(log, truth.offsets).scores
    for name, loss in (("err", ERR()), ("ndcg", NDCG())):
        expected = [
            loss.value(alpha[a:b], truth.labels[a:b])
            for a, b in zip(truth.offsets[:-1], truth.offsets[1:], strict=True)
        ]
        assert found["cascade"].losses[name, "design"] == pytest.approx(expected)
    for result in found.values():
        assert result.status == "done"
        assert cell_problem(result, {"design": 12}) is None


def test_a_graph_of_grades_for_losses_of_edges():
    found = executed(Selection().prepare(DATASET, 7), ["cascade"], LOSSES, n=200_000, seed=7)["cascade"]
    # Enough sessions for the true order, of which disagreement with the grades is zero.
    assert found.losses["pairwise-disagreement", "design"].mean() < 0.3
    assert found.losses["ndcg", "design"].mean() < 0.01


def test_who_is_told_the_truth_does_best():
    found = executed(Selection().prepare(DATASET, 7), ["limit-scores", "cascade", "coec"], LOSSES, n=300, seed=7)
    truth = found.pop("limit-scores").losses
    assert truth["ndcg", "design"] == pytest.approx(np.zeros(12), abs=1e-12)
    for result in found.values():
        assert np.all(result.losses["err", "design"] >= truth["err", "design"] - 1e-12)


def test_the_sessions_of_a_smaller_n_are_a_prefix():
    one = CascadeClicks(queries=1, items=8)
    entropy = draw_entropy(7, one.fingerprint(), 0)
    assert np.array_equal(one.draw(50, entropy).items, one.draw(80, entropy).items[: 50 * 8])


def test_a_contender_does_not_depend_on_its_neighbors():
    prepared = pickle.loads(pickle.dumps(Selection().prepare(DATASET, 7)))
    alone = executed(prepared, ["cascade"], LOSSES, n=500, seed=7)["cascade"]
    # The neighbor overwrites the sessions that it is lent.
    among = executed(prepared, [Own(), "cascade"], LOSSES, n=500, seed=7)
    for metric, losses in alone.losses.items():
        assert np.array_equal(among["cascade"].losses[metric], losses)
    assert among["own-clicks"].status == "done"
    assert among["own-clicks"].losses["ndcg", "design"].mean() < 0.5


@pytest.mark.parametrize(
    ("bad", "status", "words"),
    [
        ("raises", "error", "broken aggregator"),
        ("nan", "diverged", "not finite"),
        ("short", "error", "shape (95,), not (96,)"),
    ],
)
def test_a_bad_contender_answers_for_itself(bad, status, words):
    found = executed(Selection().prepare(DATASET, 7), [Own(bad=bad), "cascade"], LOSSES, n=300, seed=7)
    assert found[f"own-clicks:bad={bad}"].status == status
    assert words in found[f"own-clicks:bad={bad}"].reason
    assert found["cascade"].status == "done"


def test_who_may_compete_on_what():
    protocol = Selection()
    assert protocol.misfit(Cascade()) == ""
    assert protocol.misfit(Own()) == ""
    assert protocol.misfit(LimitScores()) == ""
    assert "does not aggregate selections" in protocol.misfit(Borda())
    assert protocol.refusal(DATASET) == ""
    assert "does not have" in protocol.refusal(manager.get(Dataset, "yandex-clicks"))
    assert "takes selections" in protocol.refusal(manager.get(Dataset, "web10k-like"))


def test_the_block_that_compiles():
    protocol = Selection()
    prepared = protocol.prepare(DATASET, 7)
    _, small = protocol.smaller(prepared, task_of(prepared, {"a": "cascade"}, LOSSES, n=10_000))
    assert (small.key.n, list(small.cells)) == (50, ["a"])
    assert without_third_party(task_of(prepared, {}, LOSSES, n=10_000)) is None
