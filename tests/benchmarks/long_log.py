"""A long log of votes whose judges have tastes of their own: what commands are measured on.

Vote t is of judge j on two different items drawn at random. Its outcome is Davidson's, an extension of
Bradley-Terry-Luce: chances are proportional to exp(d / 2), exp(-d / 2) and nu for win, loss and tie, with
d = (s_a - s_b) + (x_a - x_b) . y_j, where s are the items' scores, x their positions in a space of
`TASTES` dimensions and y_j what judge j cares for. Judges cast unequally many votes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

__all__ = ["long_log"]

TASTES = 2
NU = 0.25
CHUNK = 1_000_000


def long_log(votes: int, items: int = 1000, judges: int = 2000, seed: int = 0) -> Iterator[pl.DataFrame]:
    """Yield the votes of a log, a million at a time; the same arguments give the same votes.

    Parameters
    ----------
    votes, items, judges, seed : int
    """
    rng = np.random.default_rng([20261122, seed])
    score, place = rng.normal(size=items), rng.normal(size=(items, TASTES)) / 2
    taste = rng.normal(size=(judges, TASTES))
    share = rng.lognormal(sigma=0.5, size=judges)
    share /= share.sum()
    item_names = pl.Series([f"item-{i:04d}" for i in range(items)])
    judge_names = pl.Series([f"judge-{j:04d}" for j in range(judges)])
    for begin in range(0, votes, CHUNK):
        n = min(CHUNK, votes - begin)
        judge = rng.choice(judges, n, p=share)
        a = rng.integers(items, size=n)
        b = (a + rng.integers(1, items, size=n)) % items
        d = score[a] - score[b] + ((place[a] - place[b]) * taste[judge]).sum(axis=1)
        chances = np.stack([np.exp(d / 2), np.full(n, NU), np.exp(-d / 2)])
        u = rng.random(n) * chances.sum(axis=0)
        lost, tied = u > chances[0] + chances[1], (u > chances[0]) & (u <= chances[0] + chances[1])
        yield pl.DataFrame(
            {
                "winner": item_names.gather(np.where(lost, b, a)),
                "loser": item_names.gather(np.where(lost, a, b)),
                "tie": tied,
                "judge": judge_names.gather(judge),
                "time": np.arange(begin, begin + n),
            }
        )
