import numpy as np
import pytest

from rankbench.interfaces.queries import Comparisons


@pytest.fixture
def judged():
    """Features, item offsets and comparisons of four queries, one of them never judged."""
    rng = np.random.default_rng(11)
    offsets = np.array([0, 6, 8, 20, 29])
    x = rng.normal(size=(29, 4))
    winners, losers, weights, ends = [], [], [], [0]
    for q, count in enumerate((40, 5, 0, 80)):
        m = offsets[q + 1] - offsets[q]
        for _ in range(count):
            i, j = rng.choice(m, size=2, replace=False)
            winners.append(i)
            losers.append(j)
            weights.append(rng.choice([1.0, 0.5, 2.0]))
        ends.append(len(winners))
    comparisons = Comparisons(
        np.array(ends), np.array(winners, np.int32), np.array(losers, np.int32), np.array(weights)
    )
    return x, offsets, comparisons
