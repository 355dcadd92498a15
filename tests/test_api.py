"""Whole runs of small suites: same bytes however they come about, nothing lost, nothing hidden."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import synthetic
from amounts import part_of
from data_files import written
from small_suites import suite_text

import rankbench
from rankbench import api
from rankbench.aggregators.rates import WinRate
from rankbench.errors import SpecError
from rankbench.interfaces.cell import Curve
from rankbench.interfaces.method import Block, Fitted
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Queries
from rankbench.methods.baselines import RandomScores
from rankbench.runner.question import RunQuestion

LOSSES = 'losses = ["ndcg", "precision:k=5", "pairwise-disagreement"]\n'
CLAIM = """baseline = "logistic"
claims = [{ id = "A", text = "k = inf is better.", kind = "less", contrasts = [{ a = "k=inf", b = "random" }] }]
"""
FIGURE = 'figures = [{ file = "f", kind = "risk", parameter = "k", series = ["k=*"], references = ["logistic"] }]\n'
AGAIN = f"""[[experiments]]
name = "again"
title = "The same cells shown twice"
n = [1200]
repetitions = 2
contenders = [{{ label = "everything", use = "erm:k=inf,draws=400" }}]
{LOSSES}"""
SUITE = "seed = 7\n" + suite_text(
    'label = "k={k}", use = "erm:k=[1,10,inf],draws=400"',
    'label = "logistic", use = "erm:aggregator=average-adjacency,k=1,surrogate=pairwise-logistic,optimizer=newton"',
    'label = "sgd k={k}", use = "erm:k=[1,10],optimizer=composite(c=0.01),draws=400,curve=9"',
    'label = "random", use = "random-scores"',
    name="small", dataset="web10k-like:queries=44,features=12", n="[400, 1200]", repetitions=3,
    protocol="btl:design=20,heldout=20,transforms=signed-log1p+zscore-within-query",
    more=LOSSES + CLAIM + FIGURE + AGAIN,
)  # fmt: skip

REPORTS = ("leaderboard.md", "leaderboard.csv", "results.parquet", "figures/f.svg", "figures/f.png")


@pytest.fixture
def suite(tmp_path: Path) -> str:
    return str(written(tmp_path / "small.toml", SUITE))


@pytest.fixture
def plain(tmp_path: Path) -> str:
    """The suite without its figure, for tests of rows: drawing one takes longer than the run."""
    return str(written(tmp_path / "plain.toml", SUITE.replace(FIGURE, "")))


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in REPORTS}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    (folder / "small.toml").write_text(SUITE)
    rankbench.run(str(folder / "small.toml"), out=folder / "out")
    return folder / "out"


def test_a_run_ends_in_leaderboard_rows_and_facts(reference: Path) -> None:
    facts = json.loads((reference / "run.json").read_text())
    assert facts["blocks"] == {"computed": 6, "reused": 0}
    (source,) = facts["sources"]
    assert source["simulated"] is True
    assert source["units"] == {"design": 20, "heldout": 20}
    rows = pl.read_parquet(reference / "results.parquet")
    assert set(rows["status"]) == {"done"}
    text = synthetic.both_pages(reference)
    assert "SIMULATED" in "".join(text.splitlines()[:4])
    board = pl.read_csv(reference / "leaderboard.csv")
    ndcg = board.filter(experiment="a", n=1200, metric="ndcg", split="design")
    means = dict(zip(ndcg["contender"], ndcg["mean"], strict=True))
    assert means["k=inf"] < means["random"]


@pytest.mark.full
def test_resuming_changes_no_byte(suite: str, tmp_path: Path, reference: Path) -> None:
    rankbench.run(suite, out=tmp_path / "out", reps=1)
    assert contents(tmp_path / "out") != contents(reference)
    rankbench.run(suite, out=tmp_path / "out")
    facts = json.loads((tmp_path / "out" / "run.json").read_text())
    assert facts["blocks"] == {"computed": 4, "reused": 2}
    assert contents(tmp_path / "out") == contents(reference)
    rankbench.run(suite, out=tmp_path / "out")
    assert json.loads((tmp_path / "out" / "run.json").read_text())["blocks"]["computed"] == 0
    assert contents(tmp_path / "out") == contents(reference)


@pytest.mark.full
def test_an_added_contender_changes_nobody_else(plain: str, tmp_path: Path, reference: Path) -> None:
    results = rankbench.run(plain, out=tmp_path / "out", extra=["erm:k=3,draws=400", "erm:aggregator=borda,draws=400"])
    rows = results.rows.filter(~pl.col("spec").is_in(["erm:k=3,draws=400", "erm:aggregator=borda,draws=400"]))
    assert results.rows.height > rows.height
    before = pl.read_parquet(reference / "results.parquet")
    assert rows.sort(rows.columns).equals(before.sort(before.columns))


@pytest.mark.full
def test_a_failing_contender_becomes_a_row_and_is_tried_again(
    suite: str, tmp_path: Path, reference: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(self: RandomScores, block: Block) -> Fitted:
        raise RuntimeError(f"no luck today\x1b[31m in repetition {block.repetition}")

    with monkeypatch.context() as patched:
        patched.setattr(RandomScores, "fit", failing)
        results = rankbench.run(suite, out=tmp_path / "out")
    assert sum(results.failures.values()) == 6
    assert all("RuntimeError: no luck today" in reason for reason in results.failures)
    others = results.rows.filter(pl.col("contender") != "random")
    before = pl.read_parquet(reference / "results.parquet").filter(pl.col("contender") != "random")
    assert others.equals(before)
    assert rankbench.run(suite, out=tmp_path / "out").failures == {}
    assert contents(tmp_path / "out") == contents(reference)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise SystemExit(4)


def raising(error: BaseException) -> object:
    def fit(self: RandomScores, block: Block) -> Fitted:
        raise error

    return fit


def spoiling(self: RandomScores, block: Block) -> Fitted:
    block.design.offsets[:] = 0
    block.comparisons.winners[:] = 0
    block.comparisons.weights[:] = 7
    with contextlib.suppress(ValueError):
        block.design.x[:] = 0

    def score(queries: Queries) -> np.ndarray:
        items = int(queries.offsets[-1])
        queries.offsets[:] = 0
        return np.zeros(items)

    return Fitted(score)


def answering(fitted: object) -> object:
    return lambda self, block: fitted


def zeros(queries: Queries) -> np.ndarray:
    return np.zeros(len(queries.x))


@pytest.mark.parametrize(
    ("fit", "status"),
    part_of(
        [
            (spoiling, "done"),
            (answering(Fitted(lambda q: np.full(len(q.x), np.nan))), "diverged"),
            (answering(Fitted(lambda q: np.zeros(len(q.x) + 1))), "error"),
            (raising(SystemExit(0)), "error"),
            (raising(GeneratorExit()), "error"),
            (raising(Unprintable()), "error"),
            (raising(ValueError("\udc80")), "error"),
            (answering(None), "error"),
            (answering(Fitted(zeros, info=7)), "error"),  # type: ignore[arg-type]
            (answering(Fitted(zeros, info={"a": "b"})), "error"),  # type: ignore[dict-item]
            (answering(Fitted(zeros, optimality="x")), "error"),  # type: ignore[arg-type]
            (answering(Fitted(zeros, curves={"c": Curve(np.arange(3), np.zeros(4))})), "error"),
            (answering(Fitted(lambda q: ["a"] * len(q.x))), "error"),  # type: ignore[arg-type, return-value]
            (answering(Fitted(zeros, curves={"c": Curve(np.array([3, 1]), np.zeros(2))})), "error"),
            (answering(Fitted(7)), "error"),  # type: ignore[arg-type]
        ],
        3,
    ),
)
def test_whatever_a_contender_does_the_others_are_the_same_bytes(
    plain: str, tmp_path: Path, reference: Path, monkeypatch: pytest.MonkeyPatch, fit: object, status: str
) -> None:
    monkeypatch.setattr(RandomScores, "fit", fit)
    rows = rankbench.run(plain, out=tmp_path / "out", reps=1).rows
    assert set(rows.filter(contender="random")["status"]) == {status}
    before = pl.read_parquet(reference / "results.parquet").filter(repetition=0)
    others = pl.col("contender") != "random"
    assert rows.filter(others).equals(before.filter(others))
    assert len(rows.filter(others)) > 0


def failing(self: WinRate, counts: PairCounts) -> np.ndarray:
    counts.forward[:] = 3
    raise RuntimeError("no")


@pytest.mark.parametrize(
    ("from_counts", "status"), [(failing, "error"), (lambda self, counts: np.full(counts.m, np.nan), "diverged")]
)
def test_an_aggregator_at_fault_takes_nobody_with_it(
    plain: str, tmp_path: Path, reference: Path, monkeypatch: pytest.MonkeyPatch, from_counts: object, status: str
) -> None:
    monkeypatch.setattr(WinRate, "kernel", lambda self: None)
    monkeypatch.setattr(WinRate, "from_counts", from_counts)
    rows = rankbench.run(plain, out=tmp_path / "out", extra=["erm:aggregator=win-rate,k=3,draws=50"]).rows
    theirs = pl.col("contender").str.contains("win-rate")
    assert set(rows.filter(theirs)["status"]) == {status}
    before = pl.read_parquet(reference / "results.parquet")
    others = rows.filter(~theirs)
    assert others.sort(others.columns).equals(before.sort(before.columns))


def test_includes_come_behind_and_cannot_go_round(suite: str, tmp_path: Path) -> None:
    head = SUITE.split("[[experiments]]")[0]
    outer = written(tmp_path / "outer.toml", head.replace('"small"', '"outer"') + f'include = ["{suite}"]\n')
    plan = api.planned(str(outer)).plan
    assert [e.name for e in plan.suite.experiments] == ["a", "again"]
    Path(suite).write_text(f'include = ["{outer}"]\n' + SUITE)
    with pytest.raises(SpecError, match="include each other"):
        api.planned(str(outer))


def test_every_cell_is_planned_once(suite: str) -> None:
    plan = api.planned(suite).plan
    cells = [cell for task in plan.tasks for cell in task.cells]
    assert len(cells) == len(set(cells)) == 7 * 2 * 3
    shown = [m.cell for m in plan.members if m.experiment == "again"]
    assert set(shown) <= set(cells)
    assert [task.key.repetition for task in plan.tasks] == sorted(task.key.repetition for task in plan.tasks)


@pytest.mark.parametrize("parameter", ["reps", "workers", "timeout"])
def test_what_is_no_number_of_anything_is_refused(suite: str, tmp_path: Path, parameter: str) -> None:
    chosen: dict[str, Any] = {parameter: 0}
    with pytest.raises(SpecError, match=rf"{parameter} .*, not 0"):
        rankbench.run(suite, out=tmp_path / "out", **chosen)
    assert not (tmp_path / "out").exists()


def test_a_smaller_data_set_scales_n_and_says_so(suite: str) -> None:
    made = api.planned(suite, RunQuestion(dataset="web10k-like:queries=20,features=12"))
    (prepared,), plan = made.sources, made.plan
    sizes = {split: len(units) for split, units in prepared.units.items()}
    assert sizes["design"] == (sizes["design"] + sizes["heldout"] + 1) // 2
    assert {m.n for m in plan.members} == {round(n * sizes["design"] / 20) for n in (400, 1200)}
    assert {m.n_declared for m in plan.members} == {400, 1200}
    assert any("scaled" in note for note in prepared.notes)
