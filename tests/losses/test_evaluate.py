"""Losses of many queries: one at a time, and several in one pass."""

from __future__ import annotations

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.errors import InputError
from rankbench.interfaces.surrogate import Loss
from rankbench.losses.evaluate import evaluate, evaluate_all
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement
from rankbench.losses.positions import ERR, NDCG, Precision
from rankbench.plugin.manager import get

OFFSETS = np.array([0, 4, 5, 30, 130])


class InterpretedDisagreement(PairwiseDisagreement):
    def kernel(self):
        return None


@pytest.fixture
def drawn():
    rng = np.random.default_rng(5)
    return np.round(rng.normal(size=(3, 130)), 1), rng.normal(size=130)


@pytest.mark.parametrize("loss", [NDCG(), Precision(k=3), ERR()], ids=repr)
def test_scores_of_all_queries_at_once(loss, drawn):
    alpha, s = drawn
    out = evaluate(loss, alpha, s, OFFSETS)
    assert out.shape == (3, 4)
    for c in range(3):
        for q in range(4):
            part = slice(OFFSETS[q], OFFSETS[q + 1])
            assert out[c, q] == pytest.approx(loss.value(alpha[c, part], s[part]), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("loss", [PairwiseDisagreement(), InterpretedDisagreement(normalize=True)], ids=repr)
def test_matrices_are_asked_for_once_a_query(loss, drawn):
    alpha, _ = drawn
    matrices = [np.random.default_rng(q).random((m, m)) for q, m in enumerate(np.diff(OFFSETS))]
    asked = []

    def adjacency(q):
        asked.append(q)
        return matrices[q]

    out = evaluate(loss, alpha, adjacency, OFFSETS)
    assert asked == [0, 1, 2, 3]
    for c in range(3):
        for q in range(4):
            expected = loss.value(alpha[c, OFFSETS[q] : OFFSETS[q + 1]], matrices[q])
            assert out[c, q] == pytest.approx(expected, rel=1e-12)


def test_a_contender_does_not_depend_on_its_neighbours(drawn):
    alpha, s = drawn
    together = evaluate(NDCG(), alpha, s, OFFSETS)
    for c in range(3):
        assert evaluate(NDCG(), alpha[c : c + 1], s, OFFSETS).tobytes() == together[c : c + 1].tobytes()


class Both(NDCG):
    """It brings its own compiled form, which therefore stands."""

    name = "both"

    def value(self, alpha, structure):
        return 42.0

    def kernel(self):
        return ERR().kernel()

    def ranked_kernel(self):
        return None


class Interpreted(NDCG):
    """It says that it has no compiled form."""

    name = "interpreted"

    def value(self, alpha, structure):
        return 42.0

    def kernel(self):
        return None

    def ranked_kernel(self):
        return None


def test_a_loss_that_says_that_it_has_no_kernel_is_interpreted(drawn):
    alpha, s = drawn
    assert (evaluate(Interpreted(), alpha, s, OFFSETS) == 42).all()
    assert (evaluate_all([Interpreted(), NDCG(cutoff=3)], alpha, s, OFFSETS)[0] == 42).all()


def test_an_overridden_formula_with_its_own_kernel_is_compiled(drawn):
    alpha, s = drawn
    np.testing.assert_array_equal(evaluate(Both(), alpha, s, OFFSETS), evaluate(ERR(), alpha, s, OFFSETS))


class Overwriting(Interpreted):
    """Writes what the next contender would be judged by."""

    name = "overwriting"
    which: int = 0
    kernel, ranked_kernel = Interpreted.kernel, Interpreted.ranked_kernel

    def value(self, alpha, structure):
        (alpha, structure)[self.which][:] = 9
        return 0.0


class OverwritingMatrix(InterpretedDisagreement):
    name = "overwriting-matrix"
    kernel, value = InterpretedDisagreement.kernel, Overwriting.value
    which: int = 1


@pytest.mark.parametrize("loss", [Overwriting(which=0), Overwriting(which=1), OverwritingMatrix()], ids=repr)
def test_interpreted_losses_cannot_write_to_scores_or_truth(loss, drawn):
    alpha, s = drawn
    truth = (lambda q: np.ones((np.diff(OFFSETS)[q],) * 2)) if isinstance(loss, OverwritingMatrix) else s
    with pytest.raises(ValueError, match="read-only"):
        evaluate(loss, alpha, truth, OFFSETS)
    assert alpha.flags.writeable
    assert s.flags.writeable


@pytest.mark.parametrize(
    ("alpha", "structures", "offsets", "words"),
    [
        (np.zeros(4), np.zeros(4), [0, 4], "shape"),
        (np.zeros((1, 4)), np.zeros(3), [0, 4], "structures"),
        (np.zeros((1, 4)), np.zeros(4), [0, 5], "offsets"),
        (np.zeros((1, 4)), np.zeros(4), [0, 2, 2, 4], "one item"),
        (np.zeros((1, 4)), lambda q: np.zeros((4, 4)), [0, 4], "one array"),
    ],
)
def test_shapes_that_do_not_fit(alpha, structures, offsets, words):
    with pytest.raises(InputError, match=words):
        evaluate(NDCG(), alpha, structures, np.array(offsets))


def test_a_matrix_of_the_wrong_size():
    with pytest.raises(InputError, match="adjacency matrix"):
        evaluate(PairwiseDisagreement(), np.zeros((1, 4)), lambda q: np.zeros((3, 3)), np.array([0, 4]))


SPECS = [
    "ndcg:cutoff=10", "ndcg:cutoff=3,gain=identity,discount=reciprocal", "ndcg:cutoff=16,gain=exp",
    "precision:k=1", "precision:k=10", "err:cutoff=10", "err:cutoff=5,gain=logistic", "err:cutoff=16,discount=log2",
    "ndcg", "err", "precision:k=17",
]  # fmt: skip


@examples(60)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 150), min_size=1, max_size=4), st.integers(1, 60))
def test_equals_one_pass_a_loss(seed: int, sizes: list[int], values: int) -> None:
    """Few values make many ties, at the cutoff too."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    alpha = rng.integers(0, values, (2, offsets[-1])).astype(float) * rng.choice([1.0, -0.37])
    scores = rng.choice([rng.integers(0, 5, offsets[-1]).astype(float), rng.normal(size=offsets[-1])])
    chosen = [get(Loss, spec) for spec in SPECS]
    together = evaluate_all(chosen, alpha, scores, offsets)
    for loss, out in zip(chosen, together, strict=True):
        np.testing.assert_allclose(out, evaluate(loss, alpha, scores, offsets), rtol=1e-11, atol=1e-11)


def test_extremes() -> None:
    offsets = np.array([0, 4, 8, 9])
    alpha = np.array([[np.nan, 1, 2, 3, 3, -np.inf, np.inf, -np.inf, 0]])
    scores = np.array([0, 1.0, 2, 3, 0, 0, 0, 0, 900])
    chosen = [get(Loss, spec) for spec in SPECS[:7]]
    together = evaluate_all(chosen, alpha, scores, offsets)
    for loss, out in zip(chosen, together, strict=True):
        np.testing.assert_allclose(out, evaluate(loss, alpha, scores, offsets), rtol=1e-12)
    assert np.isnan(together[:, 0, 0]).all()
