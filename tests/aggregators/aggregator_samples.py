"""What the tests of all aggregators share: samples of judgments and calls of kernels."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def samples(draw, max_items=9, max_judgments=30, weighted=None):
    """Draw (winners, losers, weights, m): k >= 1 judgments over m >= 2 items, with repeats."""
    m = draw(st.integers(2, max_items))
    k = draw(st.integers(1, max_judgments))
    # One number a judgment: the winner, and how far on the loser is.
    pairs = np.array(draw(st.lists(st.integers(0, m * (m - 1) - 1), min_size=k, max_size=k)))
    winners = (pairs // (m - 1)).astype(np.int32)
    losers = ((winners + 1 + pairs % (m - 1)) % m).astype(np.int32)
    if weighted is None:
        weighted = draw(st.booleans())
    if weighted:
        # Whole, fractional and very large weights (beyond any table of small counts).
        weight = st.sampled_from([1.0, 2.0, 0.25, 300.0, 1e5]) | st.floats(0.01, 10.0)
        weights = np.array(draw(st.lists(weight, min_size=k, max_size=k)))
    else:
        weights = np.ones(k)
    return winners, losers, weights, m


def compiled(aggregator, winners, losers, weights, m):
    """Call the kernel as the runner does; the structure, as `aggregate` returns it.

    Also checks the contract: scratch memory is given back zeroed, whatever was in `out`.
    """
    kernel = aggregator.kernel()
    work = np.zeros(kernel.work(m))
    if aggregator.structure == "scores":
        out = np.full(m, np.nan)
        kernel.function(winners, losers, weights, m, kernel.params, work, out)
        assert not work.any()
        return out
    k = len(winners)
    tails, heads = np.full(k, -1, dtype=np.int32), np.full(k, -1, dtype=np.int32)
    edge_weights = np.full(k, np.nan)
    count = kernel.function(winners, losers, weights, m, kernel.params, work, tails, heads, edge_weights)
    assert not work.any()
    assert 0 <= count <= k
    assert np.all(edge_weights[:count] > 0)
    edges = list(zip(tails[:count].tolist(), heads[:count].tolist(), strict=True))
    assert len(set(edges)) == count, "an edge is there twice"
    adjacency = np.zeros((m, m))
    for (tail, head), weight in zip(edges, edge_weights[:count], strict=True):
        adjacency[tail, head] = weight
    return adjacency


def btl_sample(labels, k, seed):
    """Draw k unit-weight judgments under (26) with NumPy alone, uniform pairs."""
    rng = np.random.default_rng(seed)
    m = len(labels)
    i = rng.integers(m, size=k)
    j = (i + rng.integers(1, m, size=k)) % m
    first = rng.random(k) < 1 / (1 + np.exp(labels[j] - labels[i]))
    winners, losers = np.where(first, i, j), np.where(first, j, i)
    return winners.astype(np.int32), losers.astype(np.int32), np.ones(k), m


def matrix(winners, losers, weights, m):
    """Return the weights w_ij by brute force, shape (m, m)."""
    w = np.zeros((m, m))
    for i, j, weight in zip(winners, losers, weights, strict=True):
        w[i, j] += weight
    return w
