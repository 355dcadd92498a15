"""Random Fourier features, against the kernel that they approximate."""

from __future__ import annotations

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from rankbench.losses.positions import NDCG
from rankbench.methods.baselines import RandomFeatures


def drawn(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


@pytest.mark.parametrize(("d", "scale"), [(1, 0.5), (20, 1.0), (136, 2.0)])
def test_their_products_are_the_gaussian_kernel(d: int, scale: float) -> None:
    x = drawn(30, d)
    count = 20_000
    psi = RandomFeatures(count=count, scale=scale).features(x).astype(float)
    kernel = np.exp(-cdist(x, x, "sqeuclidean") / (2 * scale**2 * d))
    # Each product is a mean of D terms in [-2, 2]; five standard errors.
    assert np.abs(psi @ psi.T - kernel).max() < 5 * np.sqrt(2 / count)


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 50), st.integers(0, 9))
@examples(40)
def test_items_are_mapped_by_themselves(n: int, d: int, count: int, seed: int) -> None:
    model, x = RandomFeatures(count=count, seed=seed), drawn(n, d, seed)
    whole = model.features(x)
    assert whole.shape == (n, count)
    assert whole.dtype == np.float32
    alone = np.concatenate([model.features(row[None]) for row in x])
    np.testing.assert_allclose(whole, alone, atol=1e-6)


def test_chunks_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    x = drawn(50, 4)
    whole = RandomFeatures(count=7).features(x)
    monkeypatch.setattr("rankbench.methods.baselines._CHUNK", 40)
    np.testing.assert_allclose(RandomFeatures(count=7).features(x), whole, atol=1e-6)


def test_the_seed_decides_them() -> None:
    x = drawn(5, 3)
    assert (RandomFeatures(seed=1).features(x) == RandomFeatures(seed=1).features(x)).all()
    assert (RandomFeatures(seed=1).features(x) != RandomFeatures(seed=2).features(x)).any()


def test_with_as_many_features_as_items_any_scores_are_attained() -> None:
    """The paper's remark: enough dimensions give a risk of zero, for any limit scores, ties among them too."""
    m = 60
    scores = np.random.default_rng(1).integers(0, 3, m).astype(float)
    risks = []
    for count in (4, 16, 120):
        psi = RandomFeatures(count=count).features(drawn(m, 10)).astype(float)
        theta = np.linalg.lstsq(psi, scores, rcond=None)[0]
        risks.append(NDCG().value(psi @ theta, scores))
    assert risks[0] > risks[1] > risks[2]
    assert risks[2] < 1e-6
