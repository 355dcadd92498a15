"""What is tested for drift, against loops over votes in plain Python."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from numpy.typing import NDArray
from ranked_logs import two_items

from rankbench.ranking.drift import _Looked, _tested

M, JUDGES, MOMENTS = 7, 40, 3


def looked(n: int = 900) -> _Looked:
    """Return votes with any residuals, those of one judge together; the last judge has none."""
    rng = np.random.default_rng(20261123)
    winners, losers = two_items(rng, n, M)
    judges = np.sort(rng.integers(JUDGES - 1, size=n))
    return _Looked(
        winners.astype(np.int32),
        losers.astype(np.int32),
        rng.integers(MOMENTS + 1, size=n).astype(np.int32),
        rng.normal(size=n),
        rng.random(n),
        rng.random(n) + 0.5,
        np.where(rng.random(n) < 0.2, 0.5, 1.0),
        np.searchsorted(judges, np.arange(JUDGES + 1)).astype(np.int64),
    )


def sides(votes: _Looked, aside: NDArray[np.bool_]) -> list[tuple[int, int, float, int]]:
    """Return vote, item, its sign and its judge, of each item of the votes that count."""
    judge = np.repeat(np.arange(len(votes.starts) - 1), np.diff(votes.starts)) if votes.starts is not None else None
    found = []
    for vote, (winner, loser) in enumerate(zip(votes.winners.tolist(), votes.losers.tolist(), strict=True)):
        if not (aside[winner] or aside[loser]):
            who = vote if judge is None else int(judge[vote])
            found += [(vote, winner, 1.0, who), (vote, loser, -1.0, who)]
    return found


@pytest.fixture(params=[(), (2, 5)], ids=["all", "two aside"])
def aside(request: pytest.FixtureRequest) -> NDArray[np.bool_]:
    return np.isin(np.arange(M), request.param)


def squares_of(votes: _Looked, aside: NDArray[np.bool_], mean: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sums of squares and of fourth powers over what votes are grouped by, (2, moments, M)."""
    found = np.zeros((2, MOMENTS, M))
    for k in range(MOMENTS):
        sums: dict[tuple[int, int], float] = defaultdict(float)
        for vote, item, sign, who in sides(votes, aside):
            after = float(votes.quarter[vote] > k)
            sums[who, item] += sign * votes.residual[vote] * (after - mean[k, item])
        for (_, item), total in sums.items():
            found[:, k, item] += total**2, total**4
    return found


@pytest.mark.parametrize("judged", [False, True])
def test_an_item_is_tested_by_the_larger_of_the_sums_over_votes_and_over_judges(
    aside: NDArray[np.bool_], judged: bool
) -> None:
    """Student's t of each item and moment again, from its definition, item by item."""
    votes = looked()
    single = _Looked(*(getattr(votes, name) for name in list(votes.__dataclass_fields__)[:-1]), None)
    t, freedom, change, before, after = _tested(votes if judged else single, aside, MOMENTS)
    known = sides(votes, aside)
    for item in np.flatnonzero(~aside):
        own = [(vote, sign) for vote, it, sign, _ in known if it == item]
        rows = np.array([vote for vote, _ in own])
        residual = votes.residual[rows] * np.array([sign for _, sign in own])
        share = np.array([votes.won[vote] if sign > 0 else 1 - votes.won[vote] for vote, sign in own])
        w, weight = votes.information[rows], votes.weight[rows]
        for k in range(MOMENTS):
            late = votes.quarter[rows] > k
            mean = (w * late).sum() / w.sum()
            apart = late - mean
            score = residual * apart
            squares, fourths = (score**2).sum(), (score**4).sum()
            if judged:
                of_judges = squares_of(votes, aside, np.full((MOMENTS, M), mean))[:, k, item]
                if of_judges[0] > squares:
                    squares, fourths = of_judges
            assert t[k, item] == pytest.approx(abs(score.sum()) / squares**0.5, rel=1e-8)
            assert freedom[k, item] == pytest.approx(squares**2 / fourths - 1, rel=1e-8)
            assert change[k, item] == pytest.approx(score.sum() / (w * apart**2).sum(), rel=1e-8)
            assert before[k, item] == pytest.approx(np.average(share[~late], weights=weight[~late]))
            assert after[k, item] == pytest.approx(np.average(share[late], weights=weight[late]))
    assert np.isnan(t[:, aside]).all()
