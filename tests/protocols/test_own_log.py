"""The suite of one's own log, through the whole program, on logs whose truth is known."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import synthetic
from amounts import part_of
from competing import executed
from drawn_votes import named, two_items
from own_logs import SUITE, Log, rows_of, suite

import rankbench
from rankbench import api
from rankbench.errors import SpecError
from rankbench.interfaces.cell import MAY_BE_FIRST, RANKING
from rankbench.logs.open import log_file
from rankbench.protocols.items import Items
from rankbench.runner.question import RunQuestion
from rankbench.stats.contender_ranks import ranges_from_first
from rankbench.store.journal import Journal

ELO = 'use = "elo:factor=400"'


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> rankbench.Results:
    folder = tmp_path_factory.mktemp("own")
    return rankbench.run(suite(folder), dataset=Log(), out=folder / "out")


@pytest.mark.full
def test_held_out_losses_are_those_of_the_truth_nearly(results: rankbench.Results) -> None:
    board = results.leaderboard.filter(experiment="methods")
    means = {(row["contender"], row["metric"]): row["mean"] for row in board.iter_rows(named=True)}
    truth = np.linspace(-1, 1, 7)
    d = np.abs(truth[:, None] - truth)[np.triu_indices(7, 1)]
    p = 1 / (1 + np.exp(-d))
    bayes, entropy = (1 - p).mean(), -(p * np.log(p) + (1 - p) * np.log(1 - p)).mean()
    assert means["Bradley-Terry", "disagreement"] == pytest.approx(bayes, abs=0.03)
    assert means["Bradley-Terry", "log-loss"] == pytest.approx(entropy, abs=0.03)
    assert means["Bradley-Terry", "calibration"] < 0.1
    assert means["Elo", "log-loss"] > means["Bradley-Terry", "log-loss"] + 0.02
    # No ties: the third outcome costs next to nothing.
    assert means["Bradley-Terry", "three-outcome-loss"] == pytest.approx(means["Bradley-Terry", "log-loss"], abs=0.03)


def test_the_recommendation_names_its_evidence(results: rankbench.Results) -> None:
    text = synthetic.both_pages(results.directory)
    section = text.split("## Recommendation")[1]
    assert "No method is significantly better than **win rate**, the baseline, in `disagreement` loss" in section
    number, interval = r"0\.\d{4}", r"\[0\.\d{4}, 0\.\d{4}\]"
    assert re.search(
        rf"\| `methods` \| `disagreement` loss \| win rate \| {number} \| {interval} \| baseline ", section
    )
    assert "Elo" in section
    assert "best mean of 3 contenders" in section
    assert re.search(rf"\| `later` \| `disagreement` loss \| win-rate \| {number} \| {interval} ", section)
    assert "votes of such judges" in section


def test_items_are_ranked_and_drawn(results: rankbench.Results) -> None:
    units = pl.read_csv(results.directory / "units.csv").filter(contender="bradley-terry")
    scores = dict(units.filter(metric="score").select("unit", "value").iter_rows())
    assert sorted(scores, key=scores.__getitem__, reverse=True)[0] == "i6"
    low = dict(units.filter(metric="rank-low").select("unit", "value").iter_rows())
    high = dict(units.filter(metric="rank-high").select("unit", "value").iter_rows())
    assert low["i6"] <= 1 <= high["i6"]
    assert low["i0"] <= 7 <= high["i0"]
    assert (results.directory / "figures" / "items.png").stat().st_size > 5000
    section = synthetic.both_pages(results.directory).split("\nitems: n = ")[1]
    assert "| item | score | 95% interval | rank, 95% range |" in section


@pytest.mark.full
def test_scores_of_another_unit_do_not_change_a_contender(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, Log(), 5, (ELO, 'use = "bradley-terry:ridge=[0.1,1,10]", tune = true'))
    by_label = {c: rows.filter(experiment="methods", contender=c)["value"].to_list() for c in ("Bradley-Terry", "Elo")}
    assert by_label["Bradley-Terry"] == by_label["Elo"]


@pytest.mark.full
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_scores_that_hardly_differ_are_equal(tmp_path: Path) -> None:
    found = rows_of(tmp_path, Log(), 5, (ELO, 'use = "elo:factor=1e-309"'))
    rows = found.filter(experiment="methods", contender="Elo")
    assert set(rows["status"]) == {"done"}
    assert set(rows.filter(metric="disagreement")["value"]) == {0.5}


@pytest.mark.full
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_scores_too_far_apart_have_diverged(tmp_path: Path) -> None:
    far = 'use = "elo:factor=1e308"'
    found = rows_of(tmp_path, Log(), 5, (ELO, far), ('use = "bradley-terry" }]', f'{far}, label = "far" }}]'))
    for experiment, label in (("methods", "Elo"), ("items", "far")):
        rows = found.filter(experiment=experiment, contender=label)
        assert set(rows["status"]) == {"diverged"}
        assert all("too far apart" in reason for reason in rows["reason"])


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("difference-graph", "a ranking needs scores"),
        ("limit-scores", "needs the truth"),
        ("cascade", "aggregates selections"),
        ("plackett-luce", "aggregates orders"),
    ],
)
def test_who_cannot_compete(tmp_path: Path, use: str, said: str) -> None:
    path = tmp_path / "own.toml"
    path.write_text(SUITE.format(folds="").replace('use = "win-rate" }},'.replace("}}", "}"), f'use = "{use}" }},', 1))
    with pytest.raises(SpecError, match=said):
        api.planned(str(path), RunQuestion(dataset=Log()))


def test_a_coin_is_declared_by_metric_and_stays_with_the_results(results: rankbench.Results) -> None:
    """It is wrong about half of the votes, and loses ln 2 on each."""
    coin = {"disagreement": 0.5, "log-loss": pytest.approx(-math.log(1 / 2))}
    with Journal(results.directory) as journal:
        sources = journal.record().sources
    levels = {
        source.protocol.partition(":")[0]: {m.name: m.chance for m in source.metrics if m.chance is not None}
        for source in sources
    }
    assert levels == {"own-log": coin, "items": {}}


@pytest.mark.full
def test_an_item_of_three_votes_has_no_interval(tmp_path: Path) -> None:
    class New(Log):
        name = "test-new"

        def scan(self) -> pl.LazyFrame:
            frame = super().scan()
            new = pl.lit("new").alias("winner")
            return pl.concat([frame, frame.head(3).with_columns(new)], how="vertical")

    results = rankbench.run(suite(tmp_path), dataset=New(), reps=2, out=tmp_path / "out")
    units = pl.read_csv(results.directory / "units.csv").filter(unit="new")
    values = dict(units.select("metric", "value").iter_rows())
    assert values["lower"] is None
    assert values["upper"] is None
    assert (values["rank-low"], values["rank-high"]) == (1, 8)
    text = synthetic.both_pages(results.directory)
    assert "1 of 8 items get no interval, and may hold any place: 1 with fewer than 10 votes" in text
    assert re.search(r"\| new \| [^|]+ \| — \| 1 to 8( \\\*| \*)? \|", text)


@pytest.mark.full
def test_scores_on_more_scales_than_the_votes_have_diverged(tmp_path: Path) -> None:
    """An item that always wins is infinitely far above the others without a ridge: no margin says how far."""

    class Winner(Log):
        name = "test-winner"

        def scan(self) -> pl.LazyFrame:
            return pl.concat([super().scan(), super().scan().with_columns(winner=pl.lit("new"))], how="vertical")

    rows = rows_of(tmp_path, Winner(), 2, (ELO, 'use = "bradley-terry:ridge=0"'))
    plain = rows.filter(experiment="methods", contender="Elo")
    assert set(plain["status"]) == {"diverged"}
    assert all("2 scales of the training votes, more than its connected" in reason for reason in plain["reason"])
    assert set(rows.filter(experiment="methods", contender="Bradley-Terry")["status"]) == {"done"}


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


def seven_items(kind: str, seed: int = 3) -> pl.DataFrame:
    """Draw 600 votes on 7 items, with what `kind` names besides."""
    rng = np.random.default_rng(seed)
    n, m = 600, 7
    a, b = two_items(rng, n, m)
    skill = np.linspace(0, 2, m)
    won = rng.random(n) < 1 / (1 + np.exp(skill[b] - skill[a]))
    frame = named(a, b, won, tie=rng.random(n) < 0.2)
    if "talkative" in kind:
        frame = frame.with_columns(judge=pl.Series([f"judge {j}" for j in rng.integers(0, 12, n)]))
    elif "judges" in kind:
        frame = frame.with_columns(judge=pl.Series([f"judge {j}" for j in rng.integers(0, 40, n)]))
    if "weights" in kind:
        frame = frame.with_columns(weight=pl.Series(rng.random(n) + 0.5))
    if "times" in kind:
        frame = frame.with_columns(time=pl.Series(rng.permutation(n)))
    return frame


def as_aggregate(path: Path, method: str, columns: str = "") -> pl.DataFrame:
    """Return the ranking of `aggregate`; the protocol must have the same, but its ranges are not cut by the first."""
    prepared = Items(replicates=60).prepare(log_file(path, columns=columns), 5)
    (result,) = executed(prepared, [method], (*RANKING, MAY_BE_FIRST), seed=5).values()
    assert result.status == "done", result.reason
    expected = rankbench.aggregate(path, method, columns=columns, intervals="auto", replicates=60, seed=5).table
    expected = expected.sort("item")
    order = np.argsort(prepared.units["design"])
    values = {metric: result.losses[metric, "design"][order] for metric in (*RANKING, MAY_BE_FIRST)}
    ends = values["rank-low"], values["rank-high"], values[MAY_BE_FIRST] == 1
    values["rank-low"], values["rank-high"] = ranges_from_first(*ends)
    for metric, found in values.items():
        np.testing.assert_array_equal(found, expected[metric.replace("-", "_")].fill_null(np.nan).to_numpy())
    return expected


@pytest.mark.parametrize(("kind", "method"), part_of(itertools.product(KINDS_OF_VOTES, METHODS), 5))
def test_the_same_numbers_as_aggregate(tmp_path: Path, kind: str, method: str) -> None:
    path = tmp_path / "log.csv"
    seven_items(kind).write_csv(path)
    in_order = "time=" if method.startswith("elo") and "times" not in kind else ""
    assert np.isfinite(as_aggregate(path, method, in_order)["lower"].to_numpy()).all()


@pytest.mark.parametrize("method", ["bradley-terry", "borda"])
def test_ballots_too(tmp_path: Path, method: str) -> None:
    rng = np.random.default_rng(0)
    rankings = [[[f"item {i}"] for i in np.argsort(-np.arange(5) - rng.gumbel(size=5))] for _ in range(80)]
    path = tmp_path / "ballots.parquet"
    pl.DataFrame({"query_id": ["q"] * 80, "ranking": rankings}).write_parquet(path)
    as_aggregate(path, method)


@pytest.mark.full
def test_what_a_log_says_decides_its_resamples_and_not_its_file(tmp_path: Path) -> None:
    """Rows in another order, another format, other names of judges in the same order: the same numbers."""
    log = seven_items("judges")
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
