"""Calls try every method of a component on samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.aggregator import (
    Aggregator,
    ComparisonAggregator,
    CountAggregator,
    LabelAggregator,
    OrderAggregator,
)
from rankbench.interfaces.cell import guarded
from rankbench.interfaces.click_aggregator import SelectionAggregator, longest_list
from rankbench.interfaces.contender import sees_truth
from rankbench.interfaces.method import Block, Method, Model, Penalty, Problem, Solver, StepOptimizer
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Comparisons, HiddenLabelsError, Queries
from rankbench.interfaces.sequential_aggregator import ScoreAggregator, SequentialAggregator
from rankbench.interfaces.surrogate import Loss, PairwiseSurrogate, ScoreSurrogate
from rankbench.optimizers.problems import Gram, PairwiseProblem, QuadraticProblem
from rankbench.plugin import manager
from rankbench.plugin.third_party import plain_fitted
from rankbench.testing import samples
from rankbench.testing.check import CheckSkipped, Subject

L2 = 0.1


def quadratic(d: int = 5) -> QuadraticProblem:
    """Return a quadratic problem with eigenvalues of about 1."""
    rng = np.random.default_rng([d])
    a = rng.normal(size=(4 * d, d))
    return QuadraticProblem(Gram(a.T @ a / len(a)), rng.normal(size=d), L2, 1.0)


def problems(solver: Solver) -> dict[str, Problem]:
    """Return the problems allowed by a solver's `needs`, by description.

    Raises
    ------
    CheckSkipped
        It needs what none of them has.
    """
    found: dict[str, Problem] = {}
    if solver.needs <= {"convex", "smooth", "quadratic", "equivariant"}:
        found["a quadratic"] = quadratic()
    design = samples.queries(4, (5, 6, 4), 4)
    for name in ("pairwise-logistic", "pairwise-hinge"):
        surrogate = manager.get(PairwiseSurrogate, name)
        if solver.needs <= surrogate.properties:
            said = samples.random_comparisons(design, 30, 4)
            found[f"{name} risk"] = PairwiseProblem(design.x, design.offsets, said, surrogate, L2)
            break
    if not found:
        raise CheckSkipped(f"no problem of the checks has what it needs: {', '.join(sorted(solver.needs))}")
    return found


CALLED = ("aggregator", "surrogate", "loss", "optimizer", "model", "method")
"""Kinds whose components compute arrays from arrays."""

Outputs = tuple[NDArray[Any], ...]


@dataclass(frozen=True)
class Call:
    """One call of a component.

    Attributes
    ----------
    label : str
        For messages.
    make : callable
        Returns fresh arguments, equal every time.
    run : callable
        Takes them; returns the arrays that came out.
    shapes : tuple of shapes
        Of those arrays; -1 stands for any length.
    """

    label: str
    make: Callable[[], tuple[Any, ...]]
    run: Callable[..., Outputs]
    shapes: tuple[tuple[int, ...], ...] = field(default=())


def outputs(call: Call) -> Outputs:
    """Return the outputs of a call on fresh arguments."""
    return call.run(*call.make())


def same(first: Outputs, second: Outputs) -> bool:
    """Return whether all arrays hold the same bytes (nan equal to nan)."""
    return len(first) == len(second) and all(
        np.shape(a) == np.shape(b) and np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f")
        for a, b in zip(first, second, strict=True)
    )


def calls(subject: Subject, *, edges: bool = False) -> list[Call]:
    """Return calls on ordinary arguments, or on arguments at the edges of the contract; at least one.

    Raises
    ------
    CheckSkipped
        There is nothing that can be called without data of its own.
    """
    found = list(_calls(subject.it, edges=edges))
    if not found:
        raise CheckSkipped(f"this form of {subject.kind} has no call that the checks know")
    return found


def _call(label: str, run: Callable[..., Outputs], shapes: tuple[tuple[int, ...], ...], *arguments: Any) -> Call:
    return Call(label, lambda: deepcopy(arguments), run, shapes)


def _calls(it: object, *, edges: bool) -> Iterator[Call]:
    """Yield calls on ordinary arguments, or on arguments at the edges of the contract."""
    if isinstance(it, Aggregator):
        yield from _aggregator_calls(it, edges=edges)
    elif isinstance(it, ScoreSurrogate):
        rng = np.random.default_rng(5)
        drawn = {f"{m} items": (rng.normal(size=m), rng.normal(size=m)) for m in (2, 7)}
        extreme = {label: (np.zeros(len(scores)), scores) for label, scores in samples.edge_scores().items()}
        for label, (alpha, scores) in (extreme if edges else drawn).items():
            yield from _score_surrogate(it, label, alpha, scores)
    elif isinstance(it, PairwiseSurrogate) and edges:
        yield from _pairwise_surrogate(it, "no edge", np.zeros(0), np.zeros(0))
        margins = np.array([-100.0, -1.0, 0.0, 1.0, 100.0])
        yield from _pairwise_surrogate(it, "large margins", margins, np.array([1e-9, 1e-3, 1.0, 1e3, 1e9]))
    elif isinstance(it, PairwiseSurrogate):
        yield from _pairwise_surrogate(it, "21 margins", np.linspace(-3.1, 3.2, 21), np.linspace(0.1, 2.5, 21))
    elif isinstance(it, Loss):
        yield from _losses(it, edges=edges)
    elif isinstance(it, StepOptimizer):
        rng = np.random.default_rng(7)
        steps = [(f"step {t}", rng.normal(size=5), rng.normal(size=5), t, Penalty(0.1)) for t in (1, 9)]
        if edges:
            sizes = (0.0, 1e-12, 1e12)
            steps = [(f"a gradient of {size:g}", np.ones(3), np.full(3, size), 1, Penalty()) for size in sizes]
        for label, theta, *arguments in steps:
            state = np.zeros(it.state_size(len(theta)))
            yield _call(label, lambda *a: (it.step(*a),), (theta.shape,), theta, *arguments, state)
    elif isinstance(it, Solver) and not edges:
        for label, problem in problems(it).items():
            yield _call(f"solve {label}", lambda p: (it.solve(p).theta,), ((problem.dimension,),), problem)
    elif isinstance(it, Model):
        tables = {"12 items": np.random.default_rng(8).normal(size=(12, 4))}
        if edges:
            tables = {"0 items": np.ones((0, 4)), "1 items": np.ones((1, 4)), "items all alike": np.zeros((5, 4))}
        for label, x in tables.items():
            yield _call(label, lambda x: (it.features(x),), ((len(x), -1),), x.astype(np.float32))
    elif isinstance(it, Method):
        design, two = samples.queries(9), samples.queries(9, (2,))
        if learns_from_labels(it):
            two = replace(two, truth=np.array([1.0, 0.0]))
            yield _method(it, "labels of one query of two items" if edges else "labels", two if edges else design, None)
        elif not edges:
            yield _method(it, "240 judgments", design, samples.random_comparisons(design, 40, 9))
        else:
            some = samples.random_comparisons(design, 40, 9, silent=(0, 3))
            yield _method(it, "queries without judgments", design, some)
            yield _method(it, "one judgment a query", design, samples.random_comparisons(design, 1, 9))
            yield _method(it, "one query of two items", two, samples.random_comparisons(two, 10, 9))


def _losses(it: Loss, *, edges: bool) -> Iterator[Call]:
    if not edges:
        rng = np.random.default_rng(6)
        for m in (2, 9):
            yield _loss(it, f"{m} items", rng.normal(size=m), samples.random_structure(it.structure, m, rng))
        return
    for label, scores in samples.edge_scores().items():
        m = len(scores)
        structure = scores if it.structure == "scores" else samples.random_graph(m, m)
        yield _loss(it, f"{label}, scores tied", np.zeros(m), structure)
        yield _loss(it, label, np.linspace(-1e6, 1e6, m), structure)
    if it.structure == "edges":
        yield _loss(it, "no preferences", np.arange(4.0), np.zeros((4, 4)))


SIZES = ((4, 3), (6, 60), (9, 200))
"""Items and judgments of ordinary calls."""


def _aggregator_calls(it: Aggregator, *, edges: bool) -> Iterator[Call]:
    def call(label: str, method: Callable[..., Any], m: int, *arguments: Any) -> Call:
        shape = (m,) if it.structure == "scores" else (m, m)
        return _call(label, lambda *a: (method(*a),), (shape,), *arguments)

    if isinstance(it, ScoreAggregator):
        ordinary = {f"{m} systems on {k} tasks": samples.score_table(m, k, 1 + (k == 60)) for m, k in SIZES}
        for label, values in (samples.edge_score_tables() if edges else ordinary).items():
            seeds, tasks, systems = values.shape
            if it.has_cells():
                yield _call(f"cells of {label}", lambda values: (it.cells(values),), (values.shape,), values)
            yield call(label, it.from_scores, systems, values, np.ones((seeds, tasks)))
            weights = np.outer(np.ones(seeds), np.arange(tasks))
            yield call(f"{label}, resampled", it.from_scores, systems, values, weights)
    elif isinstance(it, LabelAggregator):
        drawn = [np.random.default_rng([m, k]).integers(0, 5, m).astype(np.float64) for m, k in SIZES]
        for labels in [np.array([1.0, 0.0]), np.full(4, 2.0)] if edges else drawn:
            yield call(f"labels {labels}", it.from_labels, len(labels), labels)
    elif isinstance(it, ComparisonAggregator):
        votes = {f"{k} comparisons of {m} items": samples.votes(m, k, 1, weighted=k == 60) for m, k in SIZES}
        for label, sample in (samples.edge_comparisons() if edges else votes).items():
            yield call(label, it.aggregate, sample[3], *sample)
            if isinstance(it, CountAggregator):
                counts = PairCounts.from_comparisons(samples.comparisons_of(sample), sample[3]).observed()
                yield call(f"counts of {label}", it.from_counts, sample[3], counts)
        tied = [samples.tied_sample(samples.votes(m, k, 2)) for m, k in SIZES]
        ties = [samples.tied_sample(samples.votes(3, 9, 2), all_of_them=True)] if edges else tied
        for comparisons, m in zip(ties, [3] if edges else [m for m, _ in SIZES], strict=True):
            yield call(f"{len(comparisons)} comparisons with ties", it.from_comparisons, m, comparisons, m)
        if isinstance(it, SequentialAggregator) and not edges:
            yield from _states(it)
        if type(it).from_orders is not ComparisonAggregator.from_orders:
            yield from _ballots(it, edges=edges)
    elif isinstance(it, SelectionAggregator):
        clicks = {f"{k} selections of {m} items": (samples.clicks(m, k, 1), m) for m, k in SIZES}
        for label, (selections, m) in (samples.edge_clicks() if edges else clicks).items():
            yield call(label, it.from_selections, m, selections, m)
            longest = longest_list(selections)
            yield _call(f"estimate of {label}", it.estimate, ((m,), (longest,)), selections, np.array([0, m]))
    elif isinstance(it, OrderAggregator):
        yield from _ballots(it, edges=edges)


def _states(it: SequentialAggregator) -> Iterator[Call]:
    """Yield calls of methods on a state, which only `learn` changes."""
    state = it.start(4)
    it.learn(state, samples.tied_sample(samples.votes(4, 9, 2)), 0)
    yield _call("ratings of a state", lambda state: (np.array(it.ratings(state)),), ((4,),), state)
    pairs = np.array([0, 1, 2], np.int32), np.array([3, 2, 1], np.int32)
    yield _call("margins by a state", lambda *a: (np.array(it.margins(*a)),), ((3,),), state, *pairs, 1)


def _ballots(it: OrderAggregator | ComparisonAggregator, *, edges: bool) -> Iterator[Call]:
    ballots = {f"{k} ballots on {m} items": (samples.ballots(m, k, 1), m) for m, k in SIZES}
    for label, (orders, m) in (samples.edge_ballots() if edges else ballots).items():
        shape = (m,) if it.structure == "scores" else (m, m)
        yield _call(label, lambda *a: (it.from_orders(*a),), (shape,), orders, m)


def _loss(it: Loss, label: str, alpha: NDArray[np.float64], structure: NDArray[np.float64]) -> Call:
    return _call(label, lambda *a: (np.asarray(it.value(*a)),), ((),), alpha, structure)


def _score_surrogate(
    it: ScoreSurrogate, label: str, alpha: NDArray[np.float64], scores: NDArray[np.float64]
) -> Iterator[Call]:
    m = len(scores)
    yield _call(f"target of {label}", lambda scores: (it.target(scores),), ((m,),), scores)

    def run(alpha: NDArray[np.float64], target: NDArray[np.float64]) -> Outputs:
        value, gradient = it.value_and_gradient(alpha, target)
        return np.asarray(value), gradient

    # The target is made anew each time: a target that cannot be had is this call's trouble.
    yield Call(
        f"value and gradient of {label}", lambda: (alpha.copy(), np.array(it.target(scores.copy()))), run, ((), (m,))
    )


def _pairwise_surrogate(
    it: PairwiseSurrogate, label: str, margins: NDArray[np.float64], weights: NDArray[np.float64]
) -> Iterator[Call]:
    shape = (margins.shape,)
    yield _call(f"phi at {label}", lambda margin: (it.phi(margin),), shape, margins)
    yield _call(f"dphi at {label}", lambda margin: (it.dphi(margin),), shape, margins)
    if "smooth" in it.properties:
        yield _call(f"ddphi at {label}", lambda margin: (it.ddphi(margin),), shape, margins)
    yield _call(f"edges at {label}", lambda weights: tuple(it.edges(weights)), shape * 2, weights)


def learns_from_labels(it: Method) -> bool:
    """Return whether a method refuses to learn from comparisons with hidden labels."""
    design = samples.queries(9)
    said = samples.random_comparisons(design, 40, 9)
    found = guarded(lambda: it.fit(Block(design.unlabelled(), said, len(said), 0, (1, 2, 3))))
    return isinstance(found, HiddenLabelsError)


def _method(it: Method, label: str, design: Queries, comparisons: Comparisons | None) -> Call:
    """Return a call on comparisons; None: on labels, as protocol `graded` shows them."""
    held = samples.queries(10)
    if not sees_truth(it):
        held = held.unlabelled()
    if comparisons is None:
        block = samples.taught_block(design)
    else:
        shown = design if sees_truth(it) else design.unlabelled()
        block = Block(shown, comparisons, len(comparisons), 0, (1, 2, 3))

    def run(block: Block, held: Queries) -> Outputs:
        fitted = it.fit(block)
        return fitted_scores(fitted, block.design), fitted_scores(fitted, held)

    return _call(label, run, ((len(design.x),), (len(held.x),)), block, held)


def fitted_scores(fitted: Any, queries: Queries) -> NDArray[np.float64]:
    """Return a method's scores of items, shape (N,), by either of its interfaces."""
    fitted = plain_fitted(fitted)
    if fitted.model is not None:
        return np.asarray(fitted.model.features(queries.x).astype(np.float64) @ fitted.theta)
    return np.asarray(fitted.score(queries))


Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Objective:
    """The value and the gradient of a surrogate on one structure.

    Attributes
    ----------
    label : str
    m : int
    value, gradient : callable
        Of alpha, shape (m,).
    """

    label: str
    m: int
    value: Callable[[Vector], float]
    gradient: Callable[[Vector], Vector]


def objectives(subject: Subject) -> list[Objective]:
    """Return a surrogate on several structures.

    Raises
    ------
    CheckSkipped
        It is neither a surrogate of scores nor of edges.
    """
    it = subject.it
    rng = np.random.default_rng(31)
    if isinstance(it, ScoreSurrogate):
        structures = [rng.normal(size=2), rng.normal(size=6), rng.integers(0, 5, 5).astype(np.float64)]
        return [_of_scores(it, scores) for scores in structures]
    if isinstance(it, PairwiseSurrogate):
        return [_of_edges(it, samples.random_graph(m, m)) for m in (2, 5)]
    raise CheckSkipped("it is neither a surrogate of scores nor of pairs")


def _of_scores(it: ScoreSurrogate, scores: Vector) -> Objective:
    target = np.array(it.target(scores.copy()))

    def both(alpha: Vector) -> tuple[float, Vector]:
        return it.value_and_gradient(alpha.copy(), target.copy())

    m = len(scores)
    return Objective(f"{m} items", m, lambda alpha: float(both(alpha)[0]), lambda alpha: np.asarray(both(alpha)[1]))


def _of_edges(it: PairwiseSurrogate, adjacency: Vector) -> Objective:
    m = len(adjacency)
    adjacency = adjacency if adjacency.any() else np.array([[0.0, 0.7], [0.2, 0.0]])
    i, j = np.nonzero(adjacency)
    weights, offsets = it.edges(adjacency[i, j])

    def gradient(alpha: Vector) -> Vector:
        slopes = weights * it.dphi(alpha[i] - alpha[j] - offsets)
        return np.asarray(np.bincount(i, slopes, m) - np.bincount(j, slopes, m))

    return Objective(
        f"{m} items, {len(i)} edges", m, lambda alpha: float(weights @ it.phi(alpha[i] - alpha[j] - offsets)), gradient
    )
