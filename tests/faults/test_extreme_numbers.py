"""Numbers far from the usual: right to a stated tolerance, or refused in words."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import part_of
from small_blocks import make_block

import rankbench
from rankbench.errors import InputError, SpecError
from rankbench.losses.evaluate import evaluate
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement
from rankbench.losses.positions import NDCG, Precision
from rankbench.methods.erm import ERM
from rankbench.methods.erm.fit import fit_composed
from rankbench.plugin.manager import get

OF_RATIOS = ("win-rate", "borda", "kemeny", "pagerank", "budgeted", "bradley-terry:ridge=0", "maximal-lotteries")
"""Aggregators for which the ratios of weights alone matter."""


def votes(n: int, m: int, seed: int = 0) -> pl.DataFrame:
    """Draw votes among m items, the first the best, with weights 1 to 3."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, m, n)
    second = (first + rng.integers(1, m, n)) % m
    better = rng.random(n) < 1 / (1 + np.exp(np.linspace(1, -1, m)[second] - np.linspace(1, -1, m)[first]))
    winner, loser = np.where(better, first, second), np.where(better, second, first)
    names = np.array([f"i{i:05d}" for i in range(m)])
    return pl.DataFrame(
        {"query_id": ["q"] * n, "winner": names[winner], "loser": names[loser], "weight": rng.integers(1, 4, n) * 1.0}
    )


def scores(log: pl.DataFrame, method: str) -> np.ndarray:
    return rankbench.aggregate(log, method).table.sort("item")["score"].to_numpy()


@pytest.mark.parametrize("method", part_of(OF_RATIOS))
def test_a_unit_of_weights_changes_nothing(method: str) -> None:
    """To 1e-8, from 1e-90 to 1e90; and exactly where the unit is a power of two."""
    log = votes(300, 8)
    expected = scores(log, method)
    for unit in (1e-90, 1e-30, 1e30, 1e90):
        assert scores(log.with_columns(pl.col("weight") * unit), method) == pytest.approx(expected, rel=1e-8, abs=1e-12)
    for power in (-280, 280):
        found = scores(log.with_columns(pl.col("weight") * 2.0**power), method)
        assert found == pytest.approx(expected, rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("method", part_of([*OF_RATIOS, "bradley-terry", "elo", "eigenvector", "net-weights"]))
@pytest.mark.parametrize("unit", [[1e-300], [1e300], [1e-300, 1.0], [1e300, 1.0]], ids=str)
def test_weights_whose_sums_would_be_wrong_are_refused(method: str, unit: list[float]) -> None:
    log = votes(300, 8)
    with pytest.raises(InputError, match=r"weights"):
        # 1e300 beside 1 may be a code.
        rankbench.aggregate(
            log.with_columns(weight=pl.Series(np.resize(unit, len(log)))), method, columns="time=", words="missing="
        )


@pytest.mark.full
def test_thousands_of_queries_of_two() -> None:
    """The win rate is that of the formula in every query; each ranking is that of the query alone."""
    queries, rng = 1100, np.random.default_rng(0)
    said = rng.integers(0, 2, 3 * queries)
    of = np.char.add("q", np.char.zfill(np.repeat(np.arange(queries), 3).astype(str), 5))
    log = pl.DataFrame({"query_id": of, "winner": np.array(["a", "b"])[said], "loser": np.array(["b", "a"])[said]})
    table = rankbench.aggregate(log, "win-rate", by="query").table
    share = 1 - said.reshape(-1, 3).mean(axis=1) - 0.5
    found = table.filter(item="a")
    assert found["query"].to_list() == sorted(set(of.tolist()))
    assert found["score"].to_numpy() == pytest.approx(share, abs=1e-15)
    # Rows of a query are by scale, score and item.
    assert table.equals(table.sort("query", "scale", "score", "item", descending=[False, False, True, False]))
    some = log[: 3 * 120]
    likely = rankbench.aggregate(some, by="query").table
    for query in ("q00000", "q00099", "q00100", "q00119"):
        alone = rankbench.aggregate(some.filter(query_id=query)).table
        assert likely.filter(query=query).drop("query").equals(alone)


def test_what_needs_all_pairs_of_many_items_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loss of edges, and aggregators with a matrix of pairs; what needs none is computed."""
    block = make_block([4200, 4], 9000)
    alpha = block.design.labels[None]
    monkeypatch.setattr("rankbench.core.system.free_memory", lambda: 10_000_000)
    with pytest.raises(
        SpecError, match=r"preferences among the 4,200 items of a query takes 0\.3 GB .* 0\.0 GB are free"
    ):
        evaluate(PairwiseDisagreement(), alpha, lambda q: np.zeros((1, 1)), block.design.offsets)
    specs = ["erm", "erm:aggregator=win-rate", "erm:aggregator=borda"]
    outcomes = fit_composed(block, {spec: get(ERM, spec) for spec in specs})
    assert isinstance(outcomes["erm"], SpecError)
    assert "'mean-log-odds' of 4,200 items takes 0.1 GB of memory or more" in str(outcomes["erm"])
    assert not any(isinstance(outcomes[spec], Exception) for spec in specs[1:])


def test_equal_relevance_costs_nothing() -> None:
    """Where all items are equally good there is nothing to gain, whatever is predicted: to 1e-12."""
    rng = np.random.default_rng(0)
    alpha, offsets = rng.normal(size=(3, 60)), np.array([0, 2, 9, 60])
    for level in (0.0, 0.1, 3.0, 1e300, -2.0):
        for loss in (NDCG(), NDCG(gain="identity"), NDCG(gain="exp"), Precision(k=5), Precision(k=100)):
            assert evaluate(loss, alpha, np.full(60, level), offsets) == pytest.approx(np.zeros((3, 3)), abs=1e-12)


@pytest.mark.long
def test_a_million_queries_of_two() -> None:
    """Minimizers and losses by formula, see `queries_of_two`, in the memory of a process of their own."""
    script = Path(__file__).with_name("queries_of_two.py")
    paths = os.pathsep.join([str(script.parent), str(script.parents[1])])
    ended = subprocess.run(
        [sys.executable, str(script), "1000000"],
        env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    print(ended.stdout, flush=True)
    assert json.loads(ended.stdout)["bytes"] < 3 << 29


@pytest.mark.long
def test_fifty_thousand_items() -> None:
    """Win rates by formula, Bradley-Terry by the gradient of its likelihood, matrices of all pairs refused."""
    log = votes(500_000, 50_000)
    items = sorted({*log["winner"], *log["loser"]})
    number = {item: at for at, item in enumerate(items)}
    winner, loser = (log[side].replace_strict(number).to_numpy() for side in ("winner", "loser"))
    weight, m = log["weight"].to_numpy(), len(items)
    won, all_of = np.bincount(winner, weight, m), np.bincount(winner, weight, m) + np.bincount(loser, weight, m)
    assert scores(log, "win-rate") == pytest.approx(won / all_of - 0.5, abs=1e-12)
    ridge = 0.1
    found = scores(log, f"bradley-terry:ridge={ridge}")
    surprise = weight / (1 + np.exp(found[winner] - found[loser]))
    slope = np.bincount(winner, surprise, m) - np.bincount(loser, surprise, m)
    print({"items": m, "largest slope": float(np.abs(slope - ridge * found).max())})
    assert slope == pytest.approx(ridge * found, abs=1e-6)
    for method in ("pagerank", "eigenvector", "rank-centrality", "kemeny"):
        with pytest.raises(SpecError, match="items are too many"):
            rankbench.aggregate(log, method)
