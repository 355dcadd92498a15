"""Metrics that protocols declare, and contenders that other people's packages compute."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
import synthetic
from competing import executed
from drifting_votes import Drifting
from own_logs import Log

import rankbench
from rankbench import api
from rankbench.aggregators.rates import WinRate
from rankbench.aggregators.sequential import Elo
from rankbench.certificates.protocols import rankbench_register as of_theory
from rankbench.core.code_digest import version
from rankbench.core.component import Component
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.interfaces.click_aggregator import SelectionAggregator
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.method import Block, Fitted, Method
from rankbench.interfaces.metric import Fact
from rankbench.interfaces.protocol import Prepared, Protocol
from rankbench.interfaces.queries import Queries
from rankbench.plugin import manager
from rankbench.protocols import rankbench_register
from rankbench.protocols.paper import BTL
from rankbench.protocols.table_1 import FOLDS, Table1


@pytest.mark.parametrize("name", manager.names("protocol"))
def test_a_chance_level_lies_in_the_range(name: str) -> None:
    for metric in manager.component_class(Protocol, name).metrics:
        low = -math.inf if metric.low is None else metric.low
        high = math.inf if metric.high is None else metric.high
        assert low < high
        assert metric.chance is None or low <= metric.chance <= high
        assert not metric.sentence or metric.sentence.endswith(".")


def test_units_of_one_title_are_explained_alike() -> None:
    """One page may have experiments of several protocols: its legend explains each title once."""
    explained: dict[str, set[str]] = {}
    for name in manager.names("protocol"):
        for title in manager.component_class(Protocol, name).splits.values():
            explained.setdefault(title.partition(" (")[0], set()).add(title)
    assert {title: found for title, found in explained.items() if len(found) > 1} == {}


@pytest.mark.parametrize(
    ("value", "told"), [(-1.0, False), (0.0, False), (0.5, True), (1.0, False), (math.nan, False), (2.0, False)]
)
def test_a_fact_is_told_between_its_bounds(value: float, told: bool) -> None:
    assert Fact("share", "A share", below=1.0).tells(value) is told


class Coin(rankbench.ComparisonAggregator):
    """All items level: what a coin decides."""

    name: ClassVar[str] = "coin"
    source: ClassVar[str] = "test"

    def aggregate(self, winners: np.ndarray, losers: np.ndarray, weights: np.ndarray, m: int) -> np.ndarray:
        return np.zeros(m)


class Random(Coin):
    """Scores that know nothing."""

    name: ClassVar[str] = "random"
    stream: int = 0

    def aggregate(self, winners: np.ndarray, losers: np.ndarray, weights: np.ndarray, m: int) -> np.ndarray:
        return np.random.default_rng([self.stream, *winners[:9]]).normal(size=m)


class Worst(Coin):
    """More losses are better."""

    name: ClassVar[str] = "worst"

    def aggregate(self, winners: np.ndarray, losers: np.ndarray, weights: np.ndarray, m: int) -> np.ndarray:
        return np.bincount(losers, weights, m) - np.bincount(winners, weights, m)


class Cycles(Coin):
    """A graph with the direction of most votes, cycles and all."""

    name: ClassVar[str] = "cycles"
    structure: ClassVar[Any] = "edges"

    def aggregate(self, winners: np.ndarray, losers: np.ndarray, weights: np.ndarray, m: int) -> np.ndarray:
        graph = np.zeros((m, m))
        np.add.at(graph, (winners, losers), weights)
        return np.maximum(graph - graph.T, 0.0)


class Sure(SelectionAggregator):
    """Sure that the top of every list is clicked."""

    name: ClassVar[str] = "sure"
    source: ClassVar[str] = "test"

    def estimate(self, selections: Any, item_offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.ones(int(item_offsets[-1])), np.array([1.0, 0.0])


class Level(Method):
    """All items level."""

    name: ClassVar[str] = "level"
    source: ClassVar[str] = "test"

    def fit(self, block: Block) -> Fitted:
        return Fitted(lambda queries: np.zeros(len(queries.x)))


class Backwards(Method):
    """The truth upside down."""

    name: ClassVar[str] = "backwards"
    source: ClassVar[str] = "test"
    needs_truth: ClassVar[bool] = True

    def fit(self, block: Block) -> Fitted:
        return Fitted(_backwards)


def _backwards(queries: Queries) -> np.ndarray:
    return -queries.labels


class Trial(NamedTuple):
    """A protocol made small: a contender for each part; `coin` is level everywhere."""

    protocol: str
    dataset: Callable[[], Dataset | None]
    n: int
    contenders: dict[str, Component | str]
    repetitions: int = 1


STREAMS = range(20)
AGGREGATORS: dict[str, Component | str] = {
    "coin": Coin(), "worst": Worst(), **{f"random {i}": Random(stream=i) for i in STREAMS}
}  # fmt: skip
METHODS: dict[str, Component | str] = {
    "coin": Level(), "worst": Backwards(), **{f"random {i}": f"random-scores:stream={i}" for i in STREAMS}
}  # fmt: skip


def named(spec: str) -> Callable[[], Dataset]:
    return lambda: rankbench.get(Dataset, spec)


TRIALS = {
    "aggregation": Trial(
        "aggregation:law=intransitive,cycle=3,populations=60", lambda: None, 2000,
        AGGREGATORS | {"cycles": Cycles()},
    ),
    "best-of-clones": Trial(
        "best-of-clones:populations=20,votes=50", lambda: None, 4,
        {"a": "bradley-terry:ridge=0.01", "b": "davidson"}, 3,
    ),
    "click-prediction": Trial(
        "click-prediction", named("cascade-clicks"), 300, {"worst": Sure(), "good": "cascade"}
    ),
    "held-out-ballots": Trial("held-out-ballots", named("f1"), 1, AGGREGATORS, 5),
    "one-step-ahead": Trial("one-step-ahead", Drifting, 1, AGGREGATORS),
    "own-log": Trial("own-log", Log, 1, AGGREGATORS, 5),
    "repair": Trial("repair:populations=20", lambda: None, 50, METHODS),
    "score-tables": Trial(
        "score-tables:tables=3,replicates=20", lambda: None, 12, {"a": "mean-score", "b": "mean-rank"}
    ),
    "table-1": Trial(
        "table-1:partitions=1,validation=500,test=4000", named("movielens-like:users=80,movies=120,ratings=4000"), 300,
        METHODS, FOLDS,
    ),
    "theory": Trial("theory", lambda: None, 1, {"a": "pairwise-hinge", "b": "pairwise-logistic"}),
    "u-statistics": Trial(
        "u-statistics:queries=50,worlds=4,draws=4", lambda: None, 300,
        {"a": "u-statistic", "b": "disjoint-batches:exponent=0"},
    ),
}  # fmt: skip


UNFIT = {("cycles", "rmse"), ("b", "sampling-bias"), ("b", "sampling-bound"), ("b", "deviation-bound")}
"""Contenders, and what they cannot be judged by."""


def values_of(trial: Trial) -> tuple[Prepared, dict[tuple[str, str], np.ndarray]]:
    """Return a protocol's metrics as they are told of these data, and each contender's mean in every repetition."""
    protocol, dataset = rankbench.get(Protocol, trial.protocol), trial.dataset()
    ready = protocol.prepare(dataset, 1)
    found: dict[tuple[str, str], list[float]] = {}
    for repetition, metric in itertools.product(range(trial.repetitions), protocol.metric_names()):
        results = executed(ready, trial.contenders, (metric,), n=ready.scaled(trial.n), repetition=repetition)
        for result in results.values():
            if (result.cell, metric) in UNFIT:
                assert result.status == "skipped"
                continue
            assert result.status == "done", result.reason
            ((values,)) = result.losses.values()
            found.setdefault((result.cell, metric), []).append(float(values.mean()))
    return ready, {key: np.array(values) for key, values in found.items()}


def test_every_metric_with_a_range_or_a_chance_level_is_tried() -> None:
    declared = {
        name
        for name in manager.names("protocol")
        if any(
            (metric.low, metric.high, metric.chance) != (None, None, None)
            for metric in manager.component_class(Protocol, name).metrics
        )
    }
    # Plugins' own tests try theirs, and test_periods.py the level that swapped sides mirror.
    assert declared - {"anomaly", "pair-risk", "left-advantage"} == set(TRIALS)


@pytest.mark.full
@pytest.mark.parametrize("name", TRIALS)
def test_ranges_hold_and_a_coin_gets_the_chance_level(name: str) -> None:
    ready, found = values_of(TRIALS[name])
    for metric in ready.metrics:
        told = {cell: values for (cell, of), values in found.items() if of == metric.name}
        for values in told.values():
            assert metric.low is None or values.min() >= metric.low - 1e-12
            assert metric.high is None or values.max() <= metric.high + 1e-12
        if metric.chance is None:
            continue
        assert told["coin"].mean() == pytest.approx(metric.chance, abs=1e-12)
        at_random = np.array([values.mean() for cell, values in told.items() if cell.startswith("random")])
        assert len(at_random) == len(STREAMS)
        assert at_random.mean() == pytest.approx(metric.chance, abs=4 * at_random.std(ddof=1) / math.sqrt(len(STREAMS)))
        sign = 1 if metric.direction == "minimize" else -1
        assert sign * told["worst"].mean() >= sign * metric.chance - 1e-12
    bounded = {metric.name for metric in ready.metrics if metric.chance is not None}
    own = {"aggregation": {"misordered"}, "table-1": {"disagreement"}, "held-out-ballots": {"kendall-tau"}}
    assert bounded == own.get(name, {"disagreement", "log-loss"} if name in ("own-log", "one-step-ahead") else set())


def test_table_1_weighs_pairs_by_their_ratings() -> None:
    trial = TRIALS["table-1"]
    ready, found = values_of(trial)
    (metric,) = ready.metrics
    mean_weights = found["worst", "disagreement"]  # labels upside down: every test pair is misordered
    assert (mean_weights > 1).all()
    assert metric.chance == pytest.approx(mean_weights.mean() / 2)
    assert metric.high == 4.0
    assert Table1.metrics[0].chance is None


SUITE = """
name = "borrowed"
title = "Borrowed"
seed = 3
protocol = "own-log"
dataset = "llmfao"
[[experiments]]
name = "methods"
title = "Methods"
losses = ["disagreement"]
contenders = [{ use = "win-rate" }, { use = "elo" }, { use = "borda" }]
[[experiments]]
name = "items"
title = "Items"
protocol = "items:replicates=0"
losses = ["score", "lower", "upper", "rank-low", "rank-high"]
contenders = [{ use = "win-rate" }, { use = "elo" }, { use = "borda" }]
"""


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> rankbench.Results:
    def missing(*_: object) -> None:
        raise SpecError("the package 'nowhere' is not installed")

    def diverging(*_: object) -> None:
        raise ContenderDiverged("no maximum")

    monkeypatch.setattr(WinRate, "packages", ("nowhere", "numpy", "click"))
    monkeypatch.setattr(WinRate, "from_counts", missing)
    monkeypatch.setattr(Elo, "from_comparisons", diverging)
    (tmp_path / "borrowed.toml").write_text(SUITE)
    return rankbench.run(str(tmp_path / "borrowed.toml"), out=tmp_path / "out")


def test_they_are_rows_with_a_status_and_not_failures(results: rankbench.Results) -> None:
    assert results.failures == {}
    found = {(r["experiment"], r["contender"]): (r["status"], r["reason"]) for r in results.rows.iter_rows(named=True)}
    for experiment in ("methods", "items"):
        assert found[experiment, "win-rate"] == ("skipped", "the package 'nowhere' is not installed")
        assert found[experiment, "elo"] == ("diverged", "no maximum")
        assert found[experiment, "borda"] == ("done", "")


def test_the_leaderboard_has_the_versions_of_packages_and_says_what_was_missing(results: rankbench.Results) -> None:
    text = synthetic.both_pages(results.directory)
    made = text.partition("## Verify and cite")[2]
    assert f"- click `{version('click')}`" in made
    assert "- nowhere `missing`" in made
    assert made.count("- numpy ") == 1
    assert "the package 'nowhere' is not installed" in text


PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "a-suite-of-your-own.md"


def test_the_page_lists_the_built_in_protocols_with_their_data() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]+) \| (\w+)s \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    found = {(cls.name, cls.table is None, cls.contender) for cls in (*rankbench_register(), *of_theory())}
    assert {(name, data == "populations of its own", kind) for name, data, kind in rows} == found


def test_btl_judges_scores_against_limit_scores_and_says_so() -> None:
    page = PAGE.read_text(encoding="utf-8")
    (assumption,) = [text for text in BTL().assumptions() if "limit scores" in text]
    assert "an item's limit score is its label minus the mean label of the query's other items" in assumption
    assert "limit scores (27)" in page
    data, loss = rankbench.get(rankbench.Dataset, "web10k-like:queries=12"), rankbench.get(rankbench.Loss, "ndcg")
    ready = BTL(design=5, heldout=5).prepare(data, 1)
    (found,) = executed(ready, ["feature:index=3"], ("ndcg",), n=40).values()
    for split in ("design", "heldout"):
        offsets, x, labels = (ready.arrays[f"{split}.{name}"] for name in ("offsets", "x", "labels"))
        for q, value in enumerate(found.losses["ndcg", split]):
            own = slice(offsets[q], offsets[q + 1])
            r, alpha = labels[own], x[own, 3].astype(np.float64)
            limit = [r[i] - np.delete(r, i).mean() for i in range(len(r))]
            assert value == pytest.approx(loss.value(alpha, np.array(limit)), abs=1e-9)


def test_btl_judges_by_labels_where_it_is_told_to_and_says_so() -> None:
    data = rankbench.get(rankbench.Dataset, "web10k-like:queries=12")
    ready = BTL(design=5, heldout=5, judge="labels").prepare(data, 1)
    assert any(text.startswith("Losses compare scores with the labels") for text in ready.assumptions())
    (found,) = executed(ready, ["feature:index=3"], ("map", "pairwise-disagreement"), n=40).values()
    offsets, x, labels = (ready.arrays[f"heldout.{name}"] for name in ("offsets", "x", "labels"))
    for q, value in enumerate(found.losses["map", "heldout"]):
        own = slice(offsets[q], offsets[q + 1])
        assert value == rankbench.get(rankbench.Loss, "map").value(x[own, 3].astype(np.float64), labels[own])
        above, below = np.nonzero(labels[own][:, None] > labels[own])
        scores = x[own, 3]
        # The file's order decides ties: the later item wins.
        wrong = (scores[above] < scores[below]) | ((scores[above] == scores[below]) & (above < below))
        assert found.losses["pairwise-disagreement", "heldout"][q] == pytest.approx(wrong.mean(), rel=1e-12)


@pytest.mark.parametrize("loss", ["map", "mrr@10", "p@10", "recall@5"])
def test_losses_that_count_grades_need_labels(tmp_path: Path, loss: str) -> None:
    suite = tmp_path / "own.toml"
    text = (
        'name = "own"\ntitle = "Own"\nprotocol = "PROTOCOL"\ndataset = "web10k-like:queries=12"\n[[experiments]]\n'
        f'name = "one"\ntitle = "One"\nn = [50]\nrepetitions = 1\nlosses = ["{loss}", "ndcg@10"]\n'
        '[[experiments.contenders]]\nuse = "random-scores"\n'
    )
    suite.write_text(text.replace("PROTOCOL", "btl:judge=labels"))
    (experiment,) = api.planned(str(suite)).plan.suite.experiments
    assert experiment.losses == (str(rankbench.get(rankbench.Loss, loss)), "ndcg:gain=identity,cutoff=10")
    suite.write_text(text.replace("PROTOCOL", "btl"))
    with pytest.raises(SpecError, match="write btl:judge=labels"):
        api.planned(str(suite))
