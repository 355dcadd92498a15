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
from rankbench.plugin import manager
from rankbench.protocols.items import Items
from rankbench.ranking import rank_ranges
from rankbench.ranking.log_dataset import log_file
from rankbench.ranking.votes import Votes, load_votes

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


@pytest.mark.parametrize("name", part_of(["win-rate", "elo", "mean-log-odds", *SPARSE]))
def test_others_rank_any_number(name: str) -> None:
    tied = chain(M).with_columns(tie=pl.int_range(pl.len()) % 3 == 0)
    assert rankbench.aggregate(tied, name).table.height == M


@pytest.mark.parametrize("name", ["win-rate", "elo", "bradley-terry"])
def test_intervals_of_votes_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="12,000 are too many"):
        rankbench.aggregate(chain(M), name, intervals="bootstrap", replicates=2)


def test_intervals_of_ballots_and_clicks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rank_ranges, "LARGEST", 2)
    ballots = pl.DataFrame({"query_id": ["q"] * 4, "ranking": [[["a"], ["b"], ["c"]]] * 4})
    clicks = pl.DataFrame(
        {"query_id": ["q"] * 4, "session_id": list("stuv"), "shown": [["a", "b", "c"]] * 4, "clicked": [[1]] * 4}
    )
    for log, method in ((ballots, "win-rate"), (clicks, "click-through-rate")):
        with pytest.raises(InputError, match="3 are too many"):
            rankbench.aggregate(log, method, intervals="bootstrap", replicates=2)


@pytest.mark.full
def test_a_run_skips_the_contender(votes: Votes, tmp_path: Path) -> None:
    path = stored(chain(M), tmp_path / "chain.parquet")
    with pytest.raises(InputError, match="too many"):
        rank_items(votes, aggregator("win-rate"), replicates=2)
    with pytest.raises(SpecError, match="set replicates=0"):
        Items(replicates=2)._ranking(Items(replicates=2).prepare(log_file(path), 1), aggregator("win-rate"), 0)
    plain = Items(replicates=0).prepare(log_file(path), 1)
    for name in ("win-rate", *SPARSE):
        found = Items(replicates=0)._ranking(plain, aggregator(name), 0)
        assert np.isfinite(found.scores).all()
