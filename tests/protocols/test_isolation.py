"""Which code is foreign, and what it gets: copies of all that was said, ties included, and no labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
import pytest
from competing import executed
from small_blocks import make_block

import rankbench
from rankbench.errors import PluginError
from rankbench.interfaces.cell import CellResult
from rankbench.interfaces.method import Block, Fitted, Method
from rankbench.interfaces.protocol import sees_truth
from rankbench.methods.erm import ERM
from rankbench.plugin import manager
from rankbench.plugin.foreign_code import disposable_block, is_ours, strangers
from rankbench.plugin.registry import Origin


def test_a_lent_block_is_a_copy_with_its_ties() -> None:
    block = make_block([4, 5], 30)
    ties = np.arange(30) % 3 == 0
    block = replace(block, comparisons=replace(block.comparisons, ties=ties))
    lent = disposable_block(block).comparisons
    assert lent.ties is not None
    for name in ("offsets", "winners", "losers", "weights", "ties"):
        mine, theirs = getattr(block.comparisons, name), getattr(lent, name)
        assert np.array_equal(mine, theirs)
        assert not np.shares_memory(mine, theirs)
    assert disposable_block(make_block([4], 5)).comparisons.ties is None


def test_ours_is_what_our_distribution_registered_whatever_a_class_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_ours(rankbench.get(rankbench.Method, "erm"))
    assert is_ours(rankbench.get(rankbench.Loss, "ndcg"))

    class Own(ERM):
        """Of a script."""

    assert strangers(Own()) == {__name__.partition(".")[0]}
    for module in ("rankbench.methods.erm", "rankbench.nowhere"):
        lying = type("Lying", (ERM,), {"__module__": module})
        assert not is_ours(lying())
        registry = manager.plugins().registry
        monkeypatch.setitem(registry._origins, id(lying), Origin("other", "1", "other"))
        assert strangers(lying()) == {"other"}


class FitsLabels(Method):
    """Fit the labels of the design, where a learner of graded items would begin."""

    name: ClassVar[str] = "fits-labels"
    source: ClassVar[str] = "test"

    def fit(self, block: Block) -> Fitted:
        theta = np.linalg.lstsq(block.design.x, block.design.labels, rcond=None)[0]
        return Fitted(lambda queries: queries.x @ theta)


class ScoresByLabels(Method):
    """Score items by the labels that they are judged by."""

    name: ClassVar[str] = "scores-by-labels"
    source: ClassVar[str] = "test"

    def fit(self, block: Block) -> Fitted:
        return Fitted(lambda queries: np.array(queries.labels))


class SaysSo(ScoresByLabels):
    """The same, declared."""

    name: ClassVar[str] = "says-so"
    needs_truth: ClassVar[bool] = True


class FromTruth(ScoresByLabels):
    """The same, through a component that declares it."""

    name: ClassVar[str] = "from-truth"
    aggregator: Annotated[rankbench.Aggregator, rankbench.reference(rankbench.Aggregator)] = rankbench.get(
        rankbench.Aggregator, "limit-scores"
    )


class Blind(Method):
    """Do with queries all that needs no labels."""

    name: ClassVar[str] = "blind"
    source: ClassVar[str] = "test"

    def fit(self, block: Block) -> Fitted:
        some = replace(block.design.take(np.arange(2)), ids=["a", "b"])
        assert len(some) == 2
        assert "truth=None" in repr(some)
        return Fitted(lambda queries: queries.take(np.arange(len(queries))).x[:, 0].astype(np.float64))


PROTOCOLS = {
    "btl:design=8,heldout=8": ("web10k-like:queries=20", 400, "ndcg"),
    "table-1:partitions=1,validation=500,test=500": ("movielens-like:users=40,movies=60,ratings=1000", 300, ""),
    "repair:populations=3": ("", 50, ""),
}
"""All protocols in which methods are judged by labels, small."""


def judged(protocol: str) -> dict[str, CellResult]:
    dataset, n, loss = PROTOCOLS[protocol]
    found = rankbench.get(rankbench.Protocol, protocol)
    ready = found.prepare(rankbench.get(rankbench.Dataset, dataset) if dataset else None, 1)
    some = [FitsLabels(), ScoresByLabels(), SaysSo(), FromTruth(), Blind(), rankbench.get(Method, "random-scores")]
    return executed(ready, {one.name: one for one in some}, (loss,) if loss else (), n=n)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_labels_are_for_methods_that_declare_that_they_need_them(protocol: str) -> None:
    found = judged(protocol)
    for name in ("fits-labels", "scores-by-labels"):
        assert found[name].status == "error"
        assert "declare `needs_truth = True`" in found[name].reason
        assert found[name].losses == {}
    assert {found[name].status for name in ("says-so", "from-truth", "blind", "random-scores")} == {"done"}
    for values in found["says-so"].losses.values():
        # The labels are the best order of the design of `btl` and of `repair`, and of the test pairs of `table-1`.
        assert values == pytest.approx(np.zeros(len(values)), abs=1e-12)
    assert all(values.mean() > 0.01 for values in found["random-scores"].losses.values())


def test_hidden_labels_say_what_to_do() -> None:
    block = make_block([4, 5], 30)
    hidden = block.design.unlabelled()
    with pytest.raises(PluginError, match=r"learn from `block\.comparisons`, or declare `needs_truth = True`"):
        hidden.labels  # noqa: B018
    with pytest.raises(PluginError, match="needs_truth"):
        hidden.take(np.array([1])).labels  # noqa: B018
    np.testing.assert_array_equal(block.design.take(np.array([1])).labels, block.design.labels[4:])


def test_what_a_contender_is_made_of_may_see_the_truth() -> None:
    assert sees_truth(rankbench.get(Method, "erm:aggregator=limit-scores"))
    assert sees_truth(rankbench.get(Method, "oracle"))
    assert not sees_truth(rankbench.get(Method, "erm"))
