"""The items of a run are what `aggregate` says of the log: the same numbers, to the last bit."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import part_of
from competing import executed

import rankbench
from rankbench.interfaces.cell import RANKING
from rankbench.protocols.items import Items
from rankbench.ranking.log_dataset import log_file

KINDS_OF_VOTES = ("votes", "judges", "weights", "judges, weights and times", "times", "talkative judges, weights")
METHODS = (
    "bradley-terry:penalty=firth",
    "davidson:penalty=firth",
    "bradley-terry",
    "davidson",
    "thurstone-mosteller",
    "win-rate",
    "rank-centrality:scale=log",
    "elo:factor=8",
)


def votes(kind: str, seed: int = 3) -> pl.DataFrame:
    """Draw 600 votes on 7 items, with what `kind` names besides."""
    rng = np.random.default_rng(seed)
    n, m = 600, 7
    a = rng.integers(0, m, n)
    b = (a + rng.integers(1, m, n)) % m
    skill = np.linspace(0, 2, m)
    won = rng.random(n) < 1 / (1 + np.exp(skill[b] - skill[a]))
    frame = pl.DataFrame(
        {
            "query_id": ["q"] * n,
            "winner": [f"item {i}" for i in np.where(won, a, b)],
            "loser": [f"item {i}" for i in np.where(won, b, a)],
            "tie": rng.random(n) < 0.2,
        }
    )
    if "talkative" in kind:
        frame = frame.with_columns(judge=pl.Series([f"judge {j}" for j in rng.integers(0, 12, n)]))
    elif "judges" in kind:
        frame = frame.with_columns(judge=pl.Series([f"judge {j}" for j in rng.integers(0, 40, n)]))
    if "weights" in kind:
        frame = frame.with_columns(weight=pl.Series(rng.random(n) + 0.5))
    if "times" in kind:
        frame = frame.with_columns(time=pl.Series(rng.permutation(n)))
    return frame


def of_items(path: Path, method: str, seed: int) -> pl.DataFrame:
    """Return what the protocol says, in the columns of `aggregate`."""
    prepared = Items(replicates=60).prepare(log_file(path), seed)
    (result,) = executed(prepared, [method], RANKING, seed=seed).values()
    assert result.status == "done", result.reason
    values = [result.losses[metric, "design"] for metric in RANKING]
    names = ["score", "lower", "upper", "rank_low", "rank_high"]
    return pl.DataFrame({"item": prepared.units["design"], **dict(zip(names, values, strict=True))}).sort("item")


@pytest.mark.parametrize(("kind", "method"), part_of(itertools.product(KINDS_OF_VOTES, METHODS), 5))
def test_the_same_numbers_as_aggregate(tmp_path: Path, kind: str, method: str) -> None:
    path = tmp_path / "log.csv"
    votes(kind).write_csv(path)
    expected = rankbench.aggregate(path, method, intervals="auto", replicates=60, seed=5).table.sort("item")
    found = of_items(path, method, 5)
    for column in ("score", "lower", "upper", "rank_low", "rank_high"):
        np.testing.assert_array_equal(found[column].to_numpy(), expected[column].fill_null(np.nan).to_numpy())
    assert np.isfinite(found["lower"].to_numpy()).all()


@pytest.mark.parametrize("method", ["bradley-terry", "borda"])
def test_ballots_too(tmp_path: Path, method: str) -> None:
    rng = np.random.default_rng(0)
    rankings = [[[f"item {i}"] for i in np.argsort(-np.arange(5) - rng.gumbel(size=5))] for _ in range(80)]
    path = tmp_path / "ballots.parquet"
    pl.DataFrame({"query_id": ["q"] * 80, "ranking": rankings}).write_parquet(path)
    expected = rankbench.aggregate(path, method, intervals="auto", replicates=60, seed=5).table.sort("item")
    found = of_items(path, method, 5)
    for column in ("score", "lower", "upper", "rank_low", "rank_high"):
        np.testing.assert_array_equal(found[column].to_numpy(), expected[column].to_numpy())


def test_what_a_log_says_decides_its_resamples_and_not_its_file(tmp_path: Path) -> None:
    """Rows in another order, another format, other names of judges in the same order: the same numbers."""
    log = votes("judges")
    log.write_csv(tmp_path / "log.csv")
    log.sample(fraction=1, shuffle=True, seed=1).write_parquet(tmp_path / "log.parquet")
    log.with_columns(judge="x" + pl.col("judge")).write_ndjson(tmp_path / "log.ndjson")
    tables = [
        rankbench.aggregate(tmp_path / f"log.{ending}", intervals=intervals, replicates=60).table
        for intervals in ("judges", "auto")
        for ending in ("csv", "parquet", "ndjson")
    ]
    for first in (0, 3):
        assert tables[first].equals(tables[first + 1])
        assert tables[first].equals(tables[first + 2])
    log.write_csv(tmp_path / "log.csv")
    other = rankbench.aggregate(tmp_path / "log.csv", intervals="judges", replicates=60, seed=4).table
    assert not other["lower"].equals(tables[0]["lower"])
    assert other["score"].equals(tables[0]["score"])
