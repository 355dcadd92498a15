"""Whatever components of a plugin return: results of what was returned, or failures in words."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from amounts import part_of
from any_values import SPOILT, anything
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from small_blocks import make_block

from rankbench.data.simulators.cascade_clicks import CascadeClicks
from rankbench.interfaces.aggregator import ComparisonAggregator
from rankbench.interfaces.cell import BlockKey, CellResult
from rankbench.interfaces.click_aggregator import SelectionAggregator
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.method import Block, Fit, Fitted, Method, Solver, StepOptimizer
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask, Prepared, Protocol
from rankbench.interfaces.sequential_aggregator import ScoreAggregator
from rankbench.interfaces.surrogate import Loss, ScoreSurrogate
from rankbench.logs.open import open_log
from rankbench.losses.positions import NDCG
from rankbench.methods.erm import ERM
from rankbench.protocols.aggregation import Selection
from rankbench.protocols.judging import fit, judge, losses_of
from rankbench.ranking.load import load_log
from rankbench.ranking.rank import rank
from rankbench.runner.blocks import run_block
from rankbench.systems.system_ranking import rank_systems

RETURNED: list[Any] = [None]
"""What the components below return: numbers of three items, three features or three systems, or anything else."""


def returning(*_: Any) -> Any:
    return RETURNED[0]


def made(base: type[Any], name: str, **more: Any) -> Any:
    """Return a component of a class that is made here."""
    return type(base.__name__, (base,), {"name": name, "source": "test", "__module__": __name__, **more})()


def half_square(self: Any, alpha: Any, target: Any) -> Any:
    return float((alpha - target) @ (alpha - target)) / 6, (alpha - target) / 3


def result_of(self: Any, prepared: Prepared, task: BlockTask) -> Any:
    return [CellResult("c", "done", losses={("m", "design"): RETURNED[0]})]


def surrogate(value_and_gradient: Any) -> Any:
    scores, convex = lambda self, scores: scores, frozenset({"convex"})
    more = {"target": scores, "value_and_gradient": value_and_gradient, "properties": convex}
    return made(ScoreSurrogate, "any-surrogate", **more)


def protocol(execute: Any) -> Any:
    more = {"table": None, "metrics": (Metric("m"),), "splits": {"design": "One"}, "execute": execute}
    prepare = lambda self, dataset, seed: Prepared(self, None, "", {"design": ("a", "b", "c")})  # noqa: E731
    return made(Protocol, "any-protocol", prepare=prepare, **more)


SCORED = made(Method, "scored", fit=lambda self, block: Fitted(returning))
LINEAR = made(
    Method, "linear", fit=lambda self, block: Fitted(lambda queries: queries.x[:, 0], ERM().model, RETURNED[0])
)
TARGET = made(
    ScoreSurrogate, "any-target", target=returning, value_and_gradient=half_square, properties=frozenset({"quadratic"})
)
GRADIENT = surrogate(lambda self, alpha, target: (1.0, RETURNED[0]))
VALUE = surrogate(lambda self, alpha, target: (RETURNED[0], alpha - target))
PAIR = surrogate(returning)
STEPS = made(StepOptimizer, "any-steps", step=returning)
LITTLE = made(StepOptimizer, "little-steps", step=lambda self, theta, gradient, *_: theta - 0.01 * gradient)
SOLVES = made(Solver, "any-point", solve=lambda self, problem: Fit(RETURNED[0], 0.0, 1, True))
JUDGED = made(Loss, "any-loss", range=(0.0, 1.0), value=returning)
CLICKED = made(SelectionAggregator, "any-clicks", estimate=lambda self, *_: (RETURNED[0], np.ones(3)))
VOTED = made(ComparisonAggregator, "any-votes", aggregate=returning)
SYSTEMS = made(ScoreAggregator, "any-systems", from_scores=returning)
CELLS = made(ScoreAggregator, "any-cells", cells=returning)


@cache
def block() -> Block:
    return make_block([3], 30, d=3)


def fitted(method: Method) -> Any:
    """Return a method's scores, or what went wrong."""
    design = block().design
    outcomes = fit(block(), {"c": method})
    rows = judge(outcomes, design, [NDCG()], lambda kind: design.labels)
    if isinstance(outcomes["c"], Exception):
        return outcomes["c"]
    theta = outcomes["c"].theta
    return rows["c"]["ndcg"] if theta is None else (rows["c"]["ndcg"], np.array(theta))


def loss() -> Any:
    return losses_of([JUDGED], np.zeros((1, 3)), lambda kind: np.arange(3.0), np.array([0, 3]))["any-loss"]


def block_of(protocol: Protocol, dataset: Any, contender: Any, loss: tuple[Loss, ...] = ()) -> Any:
    prepared = protocol.prepare(dataset, 1)
    cell = {"c": Contender.single(contender)}
    names = tuple(map(str, loss)) or protocol.metric_names()
    (found,) = run_block(prepared, BlockTask(BlockKey(protocol.name, "", 30, 0, 1), 0, names, cell, loss)).cells
    return found.losses if found.status == "done" else RuntimeError(found.reason)


def systems(aggregator: ScoreAggregator) -> Any:
    values = np.random.default_rng(1).normal(size=(1, 4, 3))
    try:
        return np.array(rank_systems(values, aggregator, k=1, replicates=2, seed=0).scores)
    except Exception as error:
        return error


@cache
def log() -> Any:
    votes = pl.DataFrame({"query_id": ["q"] * 3, "winner": ["a", "a", "b"], "loser": ["b", "c", "c"]})
    return load_log(open_log(votes).judged(), VOTED, None, pooled=True)


def ranked() -> Any:
    """Return the scores of a log, which are what was returned."""
    loaded, chosen = log()
    try:
        scores = rank(loaded, VOTED, intervals=chosen, resamples=2, seed=0).scores
    except Exception as error:
        return error
    assert np.isfinite(scores).all()
    assert scores.tolist() == [float(number) for number in np.asarray(RETURNED[0])]
    return scores


WAYS: dict[str, Callable[[], Any]] = {
    "a method's scores": lambda: fitted(SCORED),
    "a method's theta": lambda: fitted(LINEAR),
    "a surrogate's target": lambda: fitted(ERM(surrogate=TARGET, draws=5)),
    "a surrogate's gradient": lambda: fitted(ERM(surrogate=GRADIENT, draws=5, optimizer=LITTLE)),
    "a surrogate's value": lambda: fitted(ERM(surrogate=VALUE, draws=5, optimizer=LITTLE)),
    "a surrogate's value and gradient": lambda: fitted(ERM(surrogate=PAIR, draws=5, optimizer=LITTLE)),
    "an optimizer's step": lambda: fitted(ERM(draws=5, optimizer=STEPS)),
    "an optimizer's point": lambda: fitted(ERM(draws=5, optimizer=SOLVES)),
    "a loss's value": loss,
    "an aggregator of comparisons' scores": ranked,
    "an aggregator of selections' scores": lambda: block_of(
        Selection(), CascadeClicks(queries=1, items=3, shown=3), CLICKED, (NDCG(),)
    ),
    "an aggregator of score tables' scores": lambda: systems(SYSTEMS),
    "an aggregator of score tables' cells": lambda: systems(CELLS),
    "a protocol's losses": lambda: block_of(protocol(result_of), None, ERM()),
    "a protocol's answer": lambda: block_of(protocol(returning), None, ERM()),
}


def plain(value: Any) -> Any:
    """Return the same numbers as floats: of what comes out of a component they are all that may count."""
    return tuple(map(plain, value)) if isinstance(value, tuple) else np.array(value, np.float64)[()]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(np.array_equal(np.asarray(one, float), np.asarray(other, float), equal_nan=True))


def tried(way: Callable[[], Any], value: Any) -> str:
    """Return what came of a value; of one that is taken the same must come as of its numbers."""
    RETURNED[0] = value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns where numbers overflow
        found = way()
        if isinstance(found, Exception):
            assert str(found).strip()
            return "refused"
        RETURNED[0] = plain(value)
        assert same(found, way()), value
    return "taken"


numbers = st.one_of(st.floats(-9, 9), st.integers(-9, 9))


def campaign(what: str, examples: int) -> dict[str, int]:
    came: dict[str, int] = {"refused": 0, "taken": 0}
    fine = st.lists(numbers, min_size=3, max_size=3)
    some = {
        "a loss's value": numbers,
        "a surrogate's value": numbers,
        "a surrogate's value and gradient": st.one_of(
            st.tuples(numbers, fine), st.tuples(st.one_of(numbers, anything), st.one_of(fine, anything))
        ),
        "an aggregator of score tables' cells": st.tuples(st.tuples(fine, fine, fine, fine)),
        "a protocol's answer": st.lists(st.builds(CellResult, st.just("c"), st.just("done")), max_size=2),
    }.get(what, fine)

    no_arrays = ("a protocol's answer", "a surrogate's value and gradient")
    as_array = some.map(lambda value: value if what in no_arrays else np.array(value))

    @seed(20130501)
    @settings(max_examples=examples, deadline=20_000, database=None, suppress_health_check=list(HealthCheck))
    @given(st.one_of(some, as_array, anything))
    def cases(value: object) -> None:
        came[tried(WAYS[what], value)] += 1

    cases()
    return came


@pytest.mark.parametrize("what", part_of(WAYS))
@pytest.mark.parametrize("examples", [12, pytest.param(2000, marks=pytest.mark.long)])
def test_what_components_return(what: str, examples: int) -> None:
    came = campaign(what, examples)
    print({"what": what} | came)
    assert came["refused"] > examples // 10
    assert came["taken"] > 20 or examples == 12 or what == "a protocol's answer"


OF_THREE = ["a method's scores", "a method's theta", "a surrogate's target", "a surrogate's gradient",
            "an optimizer's step", "an optimizer's point"]  # fmt: skip


@pytest.mark.parametrize("kind", SPOILT)
@pytest.mark.parametrize("what", [*OF_THREE, "a loss's value"])
def test_no_real_numbers_are_refused_in_our_words(what: str, kind: str) -> None:
    RETURNED[0] = SPOILT[kind][0](np.ones(() if what == "a loss's value" else 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy warns where it drops an imaginary part
        found = WAYS[what]()
    assert isinstance(found, Exception)
    assert not isinstance(found, TypeError), "NumPy's own words, by luck"
