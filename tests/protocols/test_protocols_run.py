"""Protocols of a plugin's own, through the whole program: what they declare is what is shown."""

from __future__ import annotations

import math
import re
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
import synthetic
from pydantic import Field
from scipy import stats

import rankbench
from rankbench import api
from rankbench.errors import SpecError
from rankbench.interfaces.cell import CellResult, Curve
from rankbench.interfaces.method import Method
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask, Prepared, Protocol, pack
from rankbench.plugin import manager
from rankbench.plugin.loading import Loader, load
from rankbench.plugin.registry import Origin
from rankbench.reports.standings import UNIT_COLUMNS
from rankbench.runner.blocks import run_block
from rankbench.runner.question import RunQuestion


class Toy(Method):
    """A number."""

    name = "toy"
    source = "test"
    shift: float = Field(default=0.0)

    def fit(self, block):
        raise NotImplementedError


class Splits(Protocol):
    """Repetitions that share training data: the loss is noise plus the contender's shift."""

    name = "splits"
    source = "test"
    table = None
    metrics: ClassVar = (Metric("regret"),)
    splits: ClassVar = {"heldout": "Test ratings (a fifth of all)"}
    counts = "training pairs"
    test_share = 0.25
    tunes = True
    bad: bool = False

    def prepare(self, dataset, seed):
        return Prepared(self, None, "", {"heldout": ("all",)}, pack("a", noise=np.arange(20.0)), 1.0, ("A note.",))

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        if self.bad:
            raise RuntimeError("broken protocol")
        noise = np.random.default_rng([task.key.seed, task.key.repetition]).normal()
        found = []
        for cell, contender in task.cells.items():
            own = np.random.default_rng([task.key.repetition, int(cell[:6], 16)]).normal()
            shift = min(point.shift for point in contender.grid(Toy))
            loss = np.array([prepared.arrays["a.noise"][3] + 0.1 * noise + shift + 0.01 * own])
            found.append(CellResult(cell, "done", "", math.nan, {("regret", "heldout"): loss}))
        return found[:-1] if len(found) > 2 else found


class Curved(Splits):
    """The same with two curves, one of which is declared."""

    name = "curved"
    curves: ClassVar = {"found": ("heldout", "maximize")}

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        curve = Curve(np.array([1, 10]), np.array([0.5, 1.0]))
        return [replace(cell, curves={"found": curve, "own": curve}) for cell in super().execute(prepared, task)]


class Exact(Protocol):
    """Numbers that are what they are."""

    name = "exact"
    source = "test"
    table = None
    metrics: ClassVar = (Metric("gap", "maximize"),)
    splits: ClassVar = {"design": "Settings"}
    counts = ""
    layout = "exact"

    def prepare(self, dataset, seed):
        return Prepared(self, None, "", {"design": ("Theorem 2", "Theorem 3")})

    def misfit(self, contender):
        return "its shift is negative" if contender.shift < 0 else ""

    def execute(self, prepared, task):
        return [
            CellResult(cell, "done", "", math.nan, {("gap", "design"): np.array([0.25, float(i)])})
            for i, cell in enumerate(task.cells)
        ]


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    loader = Loader([])
    registry = loader.registry
    for cls in (Splits, Curved, Exact, Toy):
        registry.add(cls, Origin("third", "1.0", "x"))
    loaded = load(manager.importlib.metadata.entry_points(group="rankbench"))
    for name in ("random-scores", "erm"):
        registry.add(loaded.registry.component_class("method", name), Origin("rankbench", "0", "x"))
    for kind in ("aggregator", "surrogate", "model", "optimizer", "loss", "dataset", "table"):
        for name in loaded.registry.names(kind):
            registry.add(loaded.registry.component_class(kind, name), Origin("rankbench", "0", "x"))
    btl = loaded.registry.component_class("protocol", "btl")
    registry.add(btl, Origin("rankbench", "0", "x"))
    monkeypatch.setattr(manager, "_loader", loader)

    def in_this_process(sources, tasks, workers, timeout):
        return (run_block(sources[task.source], task) for task in tasks)

    # No other process has these components.
    monkeypatch.setattr(api, "run_in_pool", in_this_process)


def suite(tmp_path: Path, *experiments: str) -> str:
    path = tmp_path / "own.toml"
    path.write_text('name = "own"\ntitle = "Own"\nseed = 1\n' + "\n".join(textwrap.dedent(e) for e in experiments))
    return str(path)


SPLIT = """
[[experiments]]
name = "table"
title = "A table"
protocol = "splits"
n = [20, 40]
repetitions = 15
losses = ["regret"]
baseline = "worse"
contenders = [
  { label = "better", use = "toy:shift=[0.1,0.2]", tune = true },
  { label = "worse", use = "toy:shift=0.5" },
]
"""
EXACT = """
[[experiments]]
name = "numbers"
title = "Numbers"
protocol = "exact"
losses = ["gap"]
contenders = [{ use = "toy" }, { use = "toy:shift=1" }]
"""


@pytest.mark.full
def test_overlapping_splits_get_the_corrected_interval(tmp_path: Path) -> None:
    results = rankbench.run(suite(tmp_path, SPLIT), out=tmp_path / "out")
    row = results.leaderboard.filter(contender="better", n=20).row(0, named=True)
    rows = results.rows.filter(n=20).sort("repetition")
    better, worse = (rows.filter(contender=c)["value"].to_numpy() for c in ("better", "worse"))
    difference = better - worse
    se = np.sqrt((1 / 15 + 1 / 3) * difference.var(ddof=1))
    half = stats.t.ppf(0.975, 14) * se
    expected = (difference.mean(), difference.mean() - half, difference.mean() + half)
    assert (row["difference"], row["difference_lower"], row["difference_upper"]) == pytest.approx(expected)
    assert (row["difference_lower_draws"], row["difference_upper_draws"]) == pytest.approx(expected[1:])
    assert row["sd"] == pytest.approx(better.std(ddof=1))
    assert row["se"] == pytest.approx(np.sqrt((1 / 15 + 1 / 3) * better.var(ddof=1)))
    assert (row["wins"], row["rank_low"], row["rank_high"]) == (15, 1, 1)
    text = synthetic.both_pages(tmp_path / "out")
    assert "table: n = 40, 15 runs; **Test ratings (a fifth of all)**" in text
    assert "| 15 of 15 |" in text
    assert "corrected resampled t" in text
    assert "training pairs n = 20; 40." in text


@pytest.mark.full
def test_exact_results_have_no_intervals_and_a_table_of_their_own(tmp_path: Path) -> None:
    path = suite(tmp_path, SPLIT, EXACT)
    rankbench.run(path, out=tmp_path / "one")
    text = synthetic.both_pages(tmp_path / "one")
    section = text.split("## Numbers")[1]
    assert "| contender | Theorem 2 | Theorem 3 |" in section
    assert "| toy:shift=1 | 0.250 | 1.00 |" in section
    assert "repetition" not in section
    units = pl.read_csv(tmp_path / "one" / "units.csv")
    assert tuple(units.columns) == UNIT_COLUMNS
    assert units.select("contender", "unit", "value").rows() == [
        ("toy", "Theorem 2", 0.25),
        ("toy", "Theorem 3", 0.0),
        ("toy:shift=1", "Theorem 2", 0.25),
        ("toy:shift=1", "Theorem 3", 1.0),
    ]
    board = pl.read_csv(tmp_path / "one" / "leaderboard.csv")
    assert set(board["experiment"]) == {"table"}


def test_an_answer_that_is_missing_is_a_failure_that_says_so(tmp_path: Path) -> None:
    text = SPLIT.replace("contenders = [", 'contenders = [\n  { use = "toy:shift=0.7" },')
    results = rankbench.run(suite(tmp_path, text), out=tmp_path / "out")
    assert sum(results.failures.values()) == 30
    assert "gave no result" in next(iter(results.failures))


def test_a_protocol_that_raises_is_a_failure_of_its_cells_alone(tmp_path: Path) -> None:
    path = suite(tmp_path, SPLIT.replace('"splits"', '"splits:bad=true"'), EXACT)
    results = rankbench.run(path, out=tmp_path / "out")
    (said, cells), *others = results.failures.items()
    assert (re.sub(r"\d+$", "LINE", said), cells) == ("RuntimeError: broken protocol at test_protocols_run.py:LINE", 60)
    assert not others
    assert set(results.rows.filter(experiment="numbers")["status"]) == {"done"}


@pytest.mark.parametrize(
    ("experiment", "said"),
    [
        (EXACT.replace('use = "toy" }', 'use = "toy:shift=[1,2]", tune = true }'), "chooses no parameters"),
        (EXACT.replace("shift=1", "shift=-1"), "its shift is negative"),
        (EXACT.replace('["gap"]', '["gab"]'), "did you mean 'gap'"),
        (EXACT.replace('"exact"', '"exakt"'), "did you mean 'exact'"),
        (
            '[[experiments]]\nname = "one"\ntitle = "One"\ncontenders = [{ use = "random-scores" }]\n',
            "needs a data set of items",
        ),
    ],
)
def test_what_does_not_fit_is_said_at_planning(tmp_path: Path, experiment: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        api.planned(suite(tmp_path, experiment))


ITEMS = """
[[experiments]]
name = "items"
title = "Items"
protocol = "btl:design=10,heldout=10"
dataset = "web10k-like:queries=24,features=8"
n = [50]
repetitions = 1
contenders = [
  { use = "erm:k=[1,inf],draws=50" },
  { use = "erm:aggregator=average-adjacency,k=1,surrogate=pairwise-logistic,optimizer=newton" },
]
"""


def test_a_data_set_replaces_that_of_experiments_that_take_it(tmp_path: Path) -> None:
    other = "web10k-like:queries=30,features=8"
    made = api.planned(suite(tmp_path, ITEMS, EXACT), RunQuestion(dataset=other))
    assert [str(source.dataset) for source in made.sources] == [other, "None"]
    with pytest.raises(SpecError, match=r"no experiment.*takes"):
        api.planned(suite(tmp_path, EXACT), RunQuestion(dataset=other))


def test_with_puts_a_component_wherever_it_fits(tmp_path: Path) -> None:
    path = suite(tmp_path, ITEMS, EXACT)
    specs = {m.spec for m in api.planned(path, RunQuestion(extra=["aggregator=borda"])).plan.members}
    assert {"erm:aggregator=borda,k=1,draws=50", "erm:aggregator=borda,draws=50"} <= specs
    assert not any("borda" in s and "pairwise" in s for s in specs)  # scores do not go with edges
    specs = {m.spec for m in api.planned(path, RunQuestion(extra=["surrogate=pairwise-squared-hinge"])).plan.members}
    assert sum("squared-hinge" in s for s in specs) == 1
    # What stands in the place of regression keeps its aggregator, and gets an optimizer that can.
    specs = {m.spec for m in api.planned(path, RunQuestion(extra=["surrogate=listnet"])).plan.members}
    assert {s for s in specs if "listnet" in s and "exact" in s} == set()
    assert any("listnet" in s for s in specs)
    losses = {name for task in api.planned(path, RunQuestion(extra=["loss=err"])).plan.tasks for name in task.metrics}
    assert losses == {"ndcg", "err", "gap"}
    made = api.planned(path, RunQuestion(extra=["toy:shift=3"]))
    assert {m.experiment for m in made.plan.members if m.spec == "toy:shift=3"} == {"items", "numbers"}


LABELLED = (
    ITEMS[: ITEMS.index("contenders")]
    + """
contenders = [
  { use = "erm:k=[1,inf],draws=50", label = "regression k={k}" },
  { use = "erm:aggregator=limit-scores", label = "full" },
  { use = "erm:aggregator=win-rate,k=1,draws=50", label = "win rate" },
  { use = "erm:aggregator=average-adjacency,k=1,surrogate=pairwise-logistic,optimizer=newton", label = "logistic" },
]
"""
)


@pytest.mark.parametrize(
    ("extra", "labels"),
    [
        # Not beside the full information too: that would be the second one but for its draws, which it has no use for.
        ("aggregator=borda", ["aggregator=borda, regression k=1", "aggregator=borda, regression k=inf"]),
        ("aggregator=win-rate", ["aggregator=win-rate, regression k=inf"]),
        ("surrogate=pairwise-squared-hinge", ["surrogate=pairwise-squared-hinge, logistic"]),
        (
            "surrogate=listnet",
            [
                "surrogate=listnet, optimizer=newton, regression k=1",
                "surrogate=listnet, optimizer=newton, regression k=inf",
                "surrogate=listnet, optimizer=newton, full",
                "surrogate=listnet, optimizer=newton, win rate",
            ],
        ),
    ],
)
def test_what_is_added_is_there_once_and_labelled_by_what_differs(
    tmp_path: Path, extra: str, labels: list[str]
) -> None:
    plan = api.planned(suite(tmp_path, LABELLED), RunQuestion(extra=[extra])).plan
    assert list(plan.added["items"]) == labels
    assert len({member.cell for member in plan.members}) == len(plan.members)


@pytest.mark.parametrize(
    ("extra", "said"),
    [("surrogate=listnett", "did you mean 'listnet'"), ("loss=ndcg", "fits no experiment"), ("nothing", "nothing")],
)
def test_what_fits_nowhere_is_an_error(tmp_path: Path, extra: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        api.planned(suite(tmp_path, ITEMS), RunQuestion(extra=[extra]))


@pytest.mark.full
def test_curves_have_the_split_and_direction_that_the_protocol_declares(tmp_path: Path) -> None:
    rows = rankbench.run(suite(tmp_path, SPLIT.replace('"splits"', '"curved"')), out=tmp_path / "out").rows
    curves = rows.filter(pl.col("step").is_not_null())
    assert set(curves.select("metric", "split", "direction").unique().rows()) == {
        ("found", "heldout", "maximize"),
        ("own", "design", "minimize"),
    }
    assert set(rows.filter(pl.col("step").is_null())["direction"]) == {"minimize"}


def test_rows_name_the_protocol_and_the_data(tmp_path: Path) -> None:
    results = rankbench.run(suite(tmp_path, ITEMS, EXACT), out=tmp_path / "out")
    made = results.rows.select("experiment", "protocol", "dataset").unique().sort("experiment")
    assert made.rows() == [
        ("items", "btl:design=10,heldout=10", "web10k-like:queries=24,features=8"),
        ("numbers", "exact", ""),
    ]
    assert results.rows.filter(pl.col("status") != "done").height == 0
