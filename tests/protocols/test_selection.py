import pickle

import numpy as np
import pytest
from competing import executed, task_of

from rankbench.aggregators.clicks import Cascade
from rankbench.aggregators.rates import Borda, LimitScores
from rankbench.core.runtime import draw_entropy
from rankbench.data.simulators.cascade_clicks import CascadeClicks
from rankbench.interfaces.cell import cell_problem
from rankbench.interfaces.click_aggregator import SelectionAggregator, longest_list, rows_of
from rankbench.interfaces.dataset import Dataset
from rankbench.losses.err import ERR
from rankbench.losses.ndcg import NDCG
from rankbench.plugin import manager
from rankbench.protocols.selection import Selection

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
    assert protocol.smaller(prepared, task_of(prepared, {}, LOSSES, n=10_000)) is None
