"""The pass over several losses equals one pass for each of them."""

from __future__ import annotations

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.errors import InputError
from rankbench.interfaces.surrogate import Loss
from rankbench.losses.evaluate import evaluate, evaluate_all
from rankbench.plugin.manager import get

SPECS = [
    "ndcg:cutoff=10", "ndcg:cutoff=3,gain=identity,discount=reciprocal", "ndcg:cutoff=16,gain=exp",
    "precision:k=1", "precision:k=10", "err:cutoff=10", "err:cutoff=5,gain=logistic", "err:cutoff=16,discount=log2",
    "ndcg", "err", "precision:k=17",
]  # fmt: skip


def losses(specs: list[str]) -> list[Loss]:
    return [loss for spec in specs if isinstance(loss := get(Loss, spec), Loss)]


@examples(60)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 150), min_size=1, max_size=4), st.integers(1, 60))
def test_equals_one_pass_a_loss(seed: int, sizes: list[int], values: int) -> None:
    """Few values make many ties, at the cutoff too."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    alpha = rng.integers(0, values, (2, offsets[-1])).astype(float) * rng.choice([1.0, -0.37])
    scores = rng.choice([rng.integers(0, 5, offsets[-1]).astype(float), rng.normal(size=offsets[-1])])
    chosen = losses(SPECS)
    together = evaluate_all(chosen, alpha, scores, offsets)
    for loss, out in zip(chosen, together, strict=True):
        np.testing.assert_allclose(out, evaluate(loss, alpha, scores, offsets), rtol=1e-11, atol=1e-11)


def test_extremes() -> None:
    offsets = np.array([0, 4, 8, 9])
    alpha = np.array([[np.nan, 1, 2, 3, 3, -np.inf, np.inf, -np.inf, 0]])
    scores = np.array([0, 1.0, 2, 3, 0, 0, 0, 0, 900])
    chosen = losses(SPECS[:7])
    together = evaluate_all(chosen, alpha, scores, offsets)
    for loss, out in zip(chosen, together, strict=True):
        np.testing.assert_allclose(out, evaluate(loss, alpha, scores, offsets), rtol=1e-12)
    assert np.isnan(together[:, 0, 0]).all()


def test_shapes_are_checked() -> None:
    with pytest.raises(InputError, match="offsets"):
        evaluate_all(losses(["err"]), np.zeros((1, 3)), np.zeros(3), np.array([0, 2]))
