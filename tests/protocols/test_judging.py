"""What becomes of contenders' scores, and of what goes wrong: losses in one pass, troubles by their names."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
import pytest
from competing import executed, task_of
from numba import njit
from small_blocks import make_block, make_queries

import rankbench
from rankbench.data.simulators.btl import preference_matrix
from rankbench.errors import ContenderDiverged, InputError, PluginError, SpecError
from rankbench.interfaces.cell import CellResult, ContenderFailed, failed
from rankbench.interfaces.contender import sees_truth
from rankbench.interfaces.method import Block, Fitted, Method
from rankbench.interfaces.surrogate import Loss
from rankbench.kernels.signatures import LOSS, Kernel
from rankbench.losses.evaluate import evaluate
from rankbench.losses.positions import NDCG
from rankbench.methods.erm import ERM
from rankbench.plugin import manager
from rankbench.plugin.registry import Origin
from rankbench.plugin.third_party import block_for_plugin, is_ours, third_party_distributions
from rankbench.protocols.judging import judge, losses_of

QUERIES = make_queries([4, 30, 3, 12, 5])
SPECS = ("ndcg", "ndcg:cutoff=5", "err", "precision:k=5", "ndcg:cutoff=40", "pairwise-disagreement")


def truth(structure: str):
    if structure == "scores":
        return QUERIES.labels.copy()
    return lambda q: preference_matrix(QUERIES.labels[QUERIES.offsets[q] : QUERIES.offsets[q + 1]])


def losses(*specs: str) -> list[Loss]:
    return [manager.get(Loss, spec) for spec in specs]


@pytest.fixture
def alphas() -> np.ndarray:
    drawn = np.random.default_rng(3).normal(size=(3, int(QUERIES.offsets[-1])))
    drawn[2] = np.round(drawn[2])  # ties
    return drawn


class Foreign(Loss):
    """Says a number, or fails."""

    name: ClassVar[str] = "foreign"
    source: ClassVar[str] = "test"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    says: float = 0.5

    def value(self, alpha: np.ndarray, structure: np.ndarray) -> float:
        if self.says < 0:
            raise RuntimeError("no luck")
        return self.says


class Total(Foreign):
    """Depends on all that it is given."""

    name: ClassVar[str] = "total"

    def value(self, alpha: np.ndarray, structure: np.ndarray) -> float:
        return float(alpha.sum() + structure.sum())


class Spoiling(Foreign):
    """Overwrites the scores."""

    name: ClassVar[str] = "spoiling"

    def value(self, alpha: np.ndarray, structure: np.ndarray) -> float:
        alpha[:] = 0
        return 0.5


class SpoilingTruth(Foreign):
    """Overwrites what the next contender is judged against."""

    name: ClassVar[str] = "spoiling-truth"

    def value(self, alpha: np.ndarray, structure: np.ndarray) -> float:
        structure[:] = 0
        return 0.5


class SpoilingEdges(SpoilingTruth):
    """Overwrites a matrix."""

    name: ClassVar[str] = "spoiling-edges"
    structure: ClassVar[str] = "edges"


class SpoilingInMachineCode(Foreign):
    """Overwrites the scores in its compiled form."""

    name: ClassVar[str] = "spoiling-in-machine-code"

    def kernel(self) -> Kernel:
        return Kernel(_spoil)


@njit(LOSS)
def _spoil(alpha, structure, params, work):
    alpha[:] = 0
    return 0.5


def unplaced(error: object) -> str:
    """Return what is said of an error without the line of this file that raised it."""
    return str(error).partition(f" at {Path(__file__).name}:")[0]


def test_losses_are_those_of_one_by_one(alphas: np.ndarray) -> None:
    chosen = losses(*SPECS)
    found = losses_of(chosen, alphas, truth, QUERIES.offsets)
    assert list(found) == [str(loss) for loss in chosen]
    for loss in chosen:
        alone = evaluate(loss, alphas, truth(loss.structure), QUERIES.offsets)
        np.testing.assert_allclose(found[str(loss)], alone, rtol=0, atol=1e-14)


def test_a_loss_is_the_same_bytes_whatever_others_there_are(alphas: np.ndarray) -> None:
    together = losses_of(losses(*SPECS), alphas, truth, QUERIES.offsets)
    for loss in losses(*SPECS):
        assert np.array_equal(losses_of([loss], alphas, truth, QUERIES.offsets)[str(loss)], together[str(loss)])


@pytest.mark.parametrize("spoiling", [Spoiling, SpoilingTruth, SpoilingEdges, SpoilingInMachineCode])
def test_a_foreign_loss_spoils_nobody(alphas: np.ndarray, spoiling: type[Loss]) -> None:
    kept, others = alphas.copy(), [*losses(*SPECS), Total()]
    expected = losses_of(others, kept, truth, QUERIES.offsets)
    found = losses_of([spoiling(), *others], alphas, truth, QUERIES.offsets)
    assert next(iter(found)) == spoiling.name
    own = found.pop(spoiling.name)
    if spoiling is SpoilingInMachineCode:
        assert (own == 0.5).all()
    else:
        assert isinstance(own, ContenderFailed)
        assert unplaced(own) == f"loss {spoiling.name}: ValueError: assignment destination is read-only"
    assert np.array_equal(alphas, kept)
    for metric, values in expected.items():
        assert np.array_equal(found[metric], values)


@pytest.mark.parametrize(("says", "words"), [(-1.0, "RuntimeError: no luck"), (np.inf, "not a finite number")])
def test_the_foreign_loss_at_fault_is_named(alphas: np.ndarray, says: float, words: str) -> None:
    bad = Foreign(says=says)
    found = losses_of([*losses("ndcg"), bad], alphas, truth, QUERIES.offsets)
    assert isinstance(found[str(bad)], ContenderFailed)
    assert unplaced(found[str(bad)]) == f"loss {bad!s}: {words}"
    assert isinstance(found["ndcg"], np.ndarray)


def test_the_built_in_loss_at_fault_is_named(alphas: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: NDCG) -> None:
        raise InputError("no kernel today")

    expected = losses_of(losses("err"), alphas, truth, QUERIES.offsets)["err"]
    monkeypatch.setattr(NDCG, "ranked_kernel", failing)
    monkeypatch.setattr(NDCG, "kernel", failing)
    found = losses_of(losses("ndcg", "err", "pairwise-disagreement"), alphas, truth, QUERIES.offsets)
    assert unplaced(found["ndcg"]) == "loss ndcg: InputError: no kernel today"
    np.testing.assert_allclose(found["err"], expected, rtol=0, atol=1e-14)
    assert isinstance(found["pairwise-disagreement"], np.ndarray)


def test_scores_that_a_loss_cannot_judge_fail_the_contender() -> None:
    outcomes = {"a": manager.get(Method, "random-scores").fit(make_block([4, 30, 3, 12, 5], 50))}
    rows = judge(outcomes, QUERIES, [*losses("ndcg"), Foreign(says=-1.0)], truth)
    assert unplaced(outcomes["a"]) == "loss foreign:says=-1: RuntimeError: no luck"
    assert list(rows["a"]) == ["ndcg"]


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (ContenderDiverged("too far"), "diverged", "too far"),
        (SpecError("does not fit"), "skipped", "does not fit"),
        (ContenderFailed("its own words"), "error", "its own words"),
        (ValueError("what"), "error", "ValueError: what"),
    ],
)
def test_what_went_wrong_is_called_by_its_name(error: Exception, status: str, reason: str) -> None:
    result = failed("cell", error)
    assert (result.cell, result.status, result.reason) == ("cell", status, reason)


def test_a_lent_block_is_a_copy_with_its_ties() -> None:
    block = make_block([4, 5], 30)
    ties = np.arange(30) % 3 == 0
    block = replace(block, comparisons=replace(block.comparisons, ties=ties))
    lent = block_for_plugin(block).comparisons
    assert lent.ties is not None
    for name in ("offsets", "winners", "losers", "weights", "ties"):
        mine, theirs = getattr(block.comparisons, name), getattr(lent, name)
        assert np.array_equal(mine, theirs)
        assert not np.shares_memory(mine, theirs)
    assert block_for_plugin(make_block([4], 5)).comparisons.ties is None


def test_ours_is_what_our_distribution_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_ours(rankbench.get(rankbench.Method, "erm"))
    assert is_ours(rankbench.get(rankbench.Loss, "ndcg"))

    class Own(ERM):
        """Of a script."""

    assert third_party_distributions(Own()) == {__name__.partition(".")[0]}
    lying = type("Lying", (ERM,), {"__module__": "rankbench.methods.erm"})
    monkeypatch.setitem(manager.plugins().registry._origins, id(lying), Origin("other", "1", "other"))
    assert third_party_distributions(lying()) == {"other"}


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
    "repair:populations=3": ("", 50, "excess"),
}
"""All protocols in which methods are judged by labels, small."""


def judged_by_labels(protocol: str) -> dict[str, CellResult]:
    dataset, n, loss = PROTOCOLS[protocol]
    found = rankbench.get(rankbench.Protocol, protocol)
    ready = found.prepare(rankbench.get(rankbench.Dataset, dataset) if dataset else None, 1)
    some = [FitsLabels(), ScoresByLabels(), SaysSo(), FromTruth(), Blind(), rankbench.get(Method, "random-scores")]
    return executed(ready, {one.name: one for one in some}, (loss,) if loss else (), n=n)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_labels_are_for_methods_that_declare_that_they_need_them(protocol: str) -> None:
    found = judged_by_labels(protocol)
    for name in ("fits-labels", "scores-by-labels"):
        assert found[name].status == "error"
        assert "with `needs_truth = True`" in found[name].reason
        assert found[name].losses == {}
    assert {found[name].status for name in ("says-so", "from-truth", "blind", "random-scores")} == {"done"}
    for values in found["says-so"].losses.values():
        # The labels are the best order of the design of `btl` and of `repair`, and of the test pairs of `table-1`.
        assert values == pytest.approx(np.zeros(len(values)), abs=1e-12)
    assert all(values.mean() > 0.01 for values in found["random-scores"].losses.values())


def test_hidden_labels_say_what_to_do() -> None:
    block = make_block([4, 5], 30)
    hidden = block.design.unlabelled()
    with pytest.raises(PluginError, match=r"Learn from `block\.comparisons`; or compete under protocol 'graded'"):
        hidden.labels  # noqa: B018
    with pytest.raises(PluginError, match="needs_truth"):
        hidden.take(np.array([1])).labels  # noqa: B018
    np.testing.assert_array_equal(block.design.take(np.array([1])).labels, block.design.labels[4:])


def test_what_a_contender_is_made_of_may_see_the_truth() -> None:
    assert sees_truth(rankbench.get(Method, "erm:aggregator=limit-scores"))
    assert sees_truth(rankbench.get(Method, "oracle"))
    assert not sees_truth(rankbench.get(Method, "erm"))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_contender_whose_work_ends_moves_the_progress(protocol: str) -> None:
    dataset, n, loss = PROTOCOLS[protocol]
    ready = rankbench.get(rankbench.Protocol, protocol).prepare(
        rankbench.get(rankbench.Dataset, dataset) if dataset else None, 1
    )
    specs = ["random-scores", "erm:k=1,draws=50", "erm:optimizer=composite(c=0.01),draws=50,k=2", "erm:k=2,draws=50"]
    done = Counter[str]()
    task = task_of(ready, specs, (loss,) if loss else (), n=n)
    ready.protocol.execute(ready, replace(task, advance=lambda cell, share: done.update({cell: share})))
    assert done == dict.fromkeys(task.cells, 1.0)
