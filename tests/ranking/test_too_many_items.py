"""More items than a matrix of all pairs has room for: one line, and no such matrix."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import part_of
from data_files import stored
from ranked_logs import rank_items

import rankbench
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.aggregator import MOST_DENSE, Aggregator
from rankbench.logs.open import log_file
from rankbench.logs.votes import Votes, load_votes
from rankbench.plugin import manager
from rankbench.protocols.items import Items

M = 12_000
DENSE = (
    "rank-centrality",
    "kemeny",
    "schulze",
    "pagerank",
    "eigenvector",
    "average-adjacency",
    "difference-graph",
    "identity",
)

SPARSE = ("davidson", "bradley-terry", "thurstone-mosteller")
"""Fitted to the pairs that occur."""


def chain(m: int) -> pl.DataFrame:
    names = [f"i{i}" for i in range(m)]
    return pl.DataFrame({"query_id": ["q"] * (m - 1), "winner": names[:-1], "loser": names[1:]})


@pytest.fixture(scope="module")
def votes() -> Votes:
    return load_votes(chain(M).lazy())


@pytest.fixture(autouse=True)
def small():
    """Fail where anything near a matrix of all pairs was made."""
    tracemalloc.start()
    yield
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < M * M


def aggregator(spec: str) -> Aggregator:
    found = manager.get(Aggregator, spec)
    assert isinstance(found, Aggregator)
    return found


@pytest.mark.parametrize("name", DENSE)
def test_who_needs_a_matrix_says_so(name: str, votes: Votes) -> None:
    assert aggregator(name).most_items == MOST_DENSE
    aggregator(name).check_size(MOST_DENSE)
    with pytest.raises(SpecError, match="m x m matrix, and m = 12,000 items are too many"):
        aggregator(name).check_size(M)
    if aggregator(name).structure == "scores":
        with pytest.raises(SpecError, match="m x m matrix"):
            aggregator(name).from_comparisons(votes.comparisons(), M)


@pytest.mark.parametrize("name", part_of(["win-rate", "elo", "mean-log-odds", *SPARSE], 9))
def test_others_rank_any_number(name: str) -> None:
    tied = chain(M).with_columns(tie=pl.int_range(pl.len()) % 3 == 0)
    assert rankbench.aggregate(tied, name, columns="time=").table.height == M


@pytest.mark.parametrize("name", part_of(["bradley-terry:penalty=firth", "win-rate", "elo", "bradley-terry"]))
def test_intervals_of_votes_take_no_matrix(name: str) -> None:
    """A chain: nobody has the ten votes that an interval takes, and every item is on one scale."""
    found = rankbench.aggregate(chain(M), name, columns="time=", intervals="auto", replicates=2)
    assert found.table["scale"].unique().to_list() == [1]
    assert found.table["lower"].null_count() == M
    assert found.table.select("rank_low", "rank_high").unique().rows() == [(1, M)]


def tournament(m: int, seed: int = 1) -> pl.DataFrame:
    """Return forty votes of each item with near ones."""
    rng = np.random.default_rng(seed)
    a = rng.permutation(np.repeat(np.arange(m), 20))
    b = (a + rng.integers(1, 7, size=len(a))) % m
    won = rng.random(len(a)) < 1 / (1 + np.exp(0.3 * (a - b)))
    return pl.DataFrame({"winner": np.where(won, a, b), "loser": np.where(won, b, a)}).cast(pl.String)


@pytest.mark.parametrize("intervals", part_of(["sandwich", "bootstrap", "judges"]))
def test_many_items_have_the_intervals_of_few(intervals: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the method changes, standard errors are the same but for the draws, and ranges a little wider."""
    log = tournament(30).with_columns(judge=pl.int_range(pl.len()).mod(60).cast(pl.String))
    whole = rankbench.aggregate(log, intervals=intervals).table
    for module in ("ranking.rank", "interfaces.aggregator"):
        monkeypatch.setattr(f"rankbench.{module}.{'LARGEST' if module == 'ranking.rank' else 'MOST_DENSE'}", 20)
    many = rankbench.aggregate(log, intervals=intervals)
    assert many.table["item"].to_list() == whole["item"].to_list()
    np.testing.assert_array_equal(many.table["score"], whole["score"])
    widths = [(table["upper"] - table["lower"]).to_numpy() for table in (many.table, whole)]
    np.testing.assert_allclose(widths[0], widths[1], rtol=0.3)
    assert 0.9 < widths[0].mean() / widths[1].mean() < 1.1
    places = [(table["rank_high"] - table["rank_low"]).to_numpy() for table in (many.table, whole)]
    assert 0.95 < places[0].mean() / places[1].mean() < 1.4
    assert many.table["may_be_first"][0]
    assert 0 < many.table["may_be_first"].sum() < 15
    assert any("by simultaneous intervals of scores" in note for note in many.notes)


def test_an_item_of_a_dozen_votes_widens_no_interval_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """It lost them all: its error is some ten times that of the others, which a mean of all would share."""
    for module in ("ranking.rank.LARGEST", "interfaces.aggregator.MOST_DENSE"):
        monkeypatch.setattr(f"rankbench.{module}", 4)
    log = tournament(8, seed=3)
    log = pl.concat([log] * 20)
    rare = pl.DataFrame({"winner": [str(i % 8) for i in range(12)], "loser": ["8"] * 12})
    found = [rankbench.aggregate(each, intervals="sandwich") for each in (log, pl.concat([log, rare]))]
    before, after = (one.table.filter(pl.col("item") != "8").sort("item") for one in found)
    widths = [(table["upper"] - table["lower"]).to_numpy() for table in (before, after)]
    np.testing.assert_allclose(widths[1], widths[0], rtol=0.25)  # draws
    assert widths[1].mean() < 1.05 * widths[0].mean()
    np.testing.assert_allclose(after["score"], before["score"], atol=0.05)
    assert any("the mean score, which is 0, leaves out 1 of 9 items" in note for note in found[1].notes)


def test_intervals_that_take_a_matrix_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankbench.ranking.rank.LARGEST", 20)
    tied = tournament(30).with_columns(tie=pl.int_range(pl.len()) % 3 == 0)
    with pytest.raises(InputError, match="no formula for intervals of 30 items"):
        rankbench.aggregate(tied, "davidson:penalty=firth", intervals="auto")


@pytest.mark.full
def test_a_run_ranks_them(votes: Votes, tmp_path: Path) -> None:
    path = stored(chain(M), tmp_path / "chain.parquet")
    assert rank_items(votes, aggregator("win-rate"), replicates=2).high.tolist() == [M] * M
    plain = Items(replicates=0).prepare(log_file(path), 1)
    for name in ("win-rate", *SPARSE):
        found = Items(replicates=0)._ranking(plain, aggregator(name), 0)
        assert np.isfinite(found.scores).all()
