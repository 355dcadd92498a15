"""One pass fits all composed contenders of a block, each as if it were alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.runtime import STREAM
from rankbench.core.system import check_memory
from rankbench.core.text import returned_numbers
from rankbench.errors import ContenderDiverged, InputError, SpecError
from rankbench.interfaces.aggregator import MOST_DENSE
from rankbench.interfaces.cell import Curve
from rankbench.interfaces.method import UNFINISHED, Block, Fit, Fitted, Problem, Solver, StepOptimizer
from rankbench.interfaces.row_weights import check_weights
from rankbench.interfaces.surrogate import PairwiseSurrogate, ScoreSurrogate
from rankbench.kernels.random import seed_state
from rankbench.methods.baselines import feature_matrix
from rankbench.methods.erm.composition import Composition
from rankbench.methods.erm.contender_arrays import TargetPlan
from rankbench.methods.erm.interpreted import Interpreted, is_compiled
from rankbench.methods.erm.kernels.sampling import WINDOW, ContenderPath
from rankbench.methods.erm.lockstep import Lockstep, record_steps
from rankbench.methods.erm.risk import (
    MeanTarget,
    complete_graphs,
    complete_share,
    gram_matrix,
    mean_target,
    row_weights,
    single_target,
    tiled_product,
    won_and_lost,
)
from rankbench.optimizers.problems import Gram, PairwiseProblem, QuadraticProblem
from rankbench.optimizers.score_problem import PenalizedProblem, ScoreProblem

Outcome: TypeAlias = "Fitted | Exception"


def fit_composed(
    block: Block, contenders: Mapping[str, Composition], fitted: Callable[[str], None] = lambda label: None
) -> dict[str, Outcome]:
    """Fit composed contenders to one block.

    A contender's result is a function of contender and block alone: the same bytes
    beside any others. A tie is half a win each way: two judgments of half the weight.

    Parameters
    ----------
    block : Block
    contenders : mapping of label to Composition
    fitted : callable
        Is told each label whose contender has been fitted.

    Returns
    -------
    dict of label to Fitted or Exception
        An exception where a contender diverged or cannot be fitted as asked, or, of all of
        them, where sums of the weights would be wrong.
    """
    try:
        check_weights(block.comparisons.weights[block.comparisons.weights != 0])
    except InputError as error:
        return dict.fromkeys(contenders, error)
    outcomes = _without_order(block, contenders) | _without_room(block, contenders)
    if block.comparisons.ties is not None:
        block = replace(block, comparisons=block.comparisons.without_ties())
    groups: dict[tuple[str, int, bool], dict[str, Composition]] = defaultdict(dict)
    for label, contender in contenders.items():
        if label not in outcomes:
            groups[contender.model.digest(), contender.draws, is_compiled(contender)][label] = contender
    for (_, draws, compiled), group in groups.items():
        outcomes.update(_Fits(block, group, draws, compiled).outcomes(fitted))
    return {label: outcomes[label] for label in contenders}


def _without_order(block: Block, contenders: Mapping[str, Composition]) -> dict[str, Outcome]:
    """Raise for contenders that depend on an order of the judgments, which the halves of ties do not have."""
    said = block.comparisons
    if said.ties is None or not said.ties.any():
        return {}
    query = block.design.ids[int(np.searchsorted(said.offsets, int(np.argmax(said.ties)), "right")) - 1]
    return {
        label: SpecError(
            f"aggregator {contender.aggregator.name!r} depends on the order of the judgments, and the two halves of a "
            f"tie (the first is in query {query!r}) have none. Leave ties out of the data, write k=1, or take an "
            "aggregator that is not sequential, such as bradley-terry"
        )
        for label, contender in contenders.items()
        if "sequential" in contender.aggregator.properties and contender.k != 1
    }


def _without_room(block: Block, contenders: Mapping[str, Composition]) -> dict[str, Outcome]:
    """Fail contenders whose aggregator's compiled form needs more memory for the largest query than available."""
    m, outcomes = int(block.design.sizes.max(initial=0)), dict[str, Outcome]()
    for label, contender in contenders.items() if m > MOST_DENSE else ():
        kernel = contender.aggregator.kernel()
        needed = np.float64().itemsize * kernel.work(m) if kernel else 0
        try:
            check_memory(needed, f"{contender.aggregator.name!r} of {m:,} items", "win-rate or borda")
        except SpecError as error:
            outcomes[label] = error
    return outcomes


def _any_order(contender: Composition) -> bool:
    """Return whether the mean target over k-subsets is that of all judgments, for every k."""
    return "additive" in contender.aggregator.properties and "score-linear" in contender.surrogate.properties


class _Fits:
    """Contenders that share model, number of draws and way of execution."""

    def __init__(self, block: Block, group: dict[str, Composition], draws: int, compiled: bool) -> None:
        self.block, self.group, self.draws = block, group, draws
        model = next(iter(group.values())).model
        self.x = feature_matrix(block.design, model)
        self.weights = row_weights(block)
        self.gram = Gram(gram_matrix(self.x, self.weights))
        self.errors: dict[str, float] = {}
        self.targets: dict[str, MeanTarget] = {}
        self.singles = {label: self._single(c) for label, c in group.items()}
        seed = seed_state([*block.entropy, STREAM])
        self.steppers = {label: c for label, c in group.items() if isinstance(c.optimizer, StepOptimizer)}
        wanted = [
            (c.aggregator, c.k, c.surrogate)
            for label, c in group.items()
            if isinstance(c.surrogate, ScoreSurrogate) and (label in self.steppers or self.singles[label] is None)
        ]
        self.plan = TargetPlan(wanted)
        stream: type[Lockstep | Interpreted] = Lockstep if compiled else Interpreted
        self.stream = stream(self.x, block, self.plan, list(self.steppers.values()), seed)
        self.complete = self.stream.complete

    @cached_property
    def _won_and_lost(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return won_and_lost(self.block)

    @cached_property
    def _enumerated(self) -> NDArray[np.float64]:
        """Mean targets over single judgments, for the rows of order 1, shape (P, N)."""
        return self.stream.singles()

    def _single(self, contender: Composition) -> MeanTarget | None:
        surrogate, aggregator = contender.surrogate, contender.aggregator
        if contender.k != 1 or aggregator.needs_truth or _any_order(contender):
            return None
        return single_target(self.block, aggregator, surrogate) if isinstance(surrogate, ScoreSurrogate) else None

    def outcomes(self, fitted: Callable[[str], None]) -> dict[str, Outcome]:
        """Run the stream if any contender needs it, then finish every contender."""
        sampled = any(
            isinstance(c.surrogate, ScoreSurrogate) and self._known(label, c, c.surrogate) is None
            for label, c in self.group.items()
        )
        path = None
        if self.steppers or sampled:
            recorded = [record_steps(self.draws, c.curve) for c in self.steppers.values()]
            path = self.stream.run(self.draws, np.unique(np.concatenate([np.zeros(0, np.int64), *recorded])))
        problems = self._problems()
        outcomes: dict[str, Outcome] = {}
        for label, contender in self.group.items():
            try:
                if isinstance(contender.optimizer, Solver):
                    outcomes[label] = self._solved(label, contender, contender.optimizer, problems[label])
            except (ContenderDiverged, SpecError) as error:
                outcomes[label] = error
            if label not in self.steppers:
                fitted(label)
        if path is not None and self.steppers:
            outcomes.update(self._stepped(path, problems))
        for label in self.steppers:
            fitted(label)
        return outcomes

    def _problems(self) -> dict[str, Problem | SpecError]:
        """Make every contender's problem; right-hand sides in one tiled product."""
        problems: dict[str, Problem | SpecError] = {}
        targets: dict[object, MeanTarget] = {}
        of: dict[str, object] = {}
        for label, contender in self.group.items():
            surrogate = contender.surrogate
            if isinstance(surrogate, PairwiseSurrogate):
                problems[label] = self._pairwise(contender, surrogate)
            elif isinstance(surrogate, ScoreSurrogate) and "quadratic" in surrogate.properties:
                # Contenders that differ only in lambda or optimizer share their target.
                k = math.inf if contender.aggregator.needs_truth else contender.k
                of[label] = (contender.aggregator.digest(), k, surrogate.digest())
                if of[label] not in targets:
                    targets[of[label]] = self._target(label, contender, surrogate)
            elif isinstance(surrogate, ScoreSurrogate):
                problems[label] = self._scored(label, contender, surrogate)
        vectors = [t.mean * self.weights for t in targets.values()]
        errors = [t.error * self.weights if t.error is not None else np.zeros(len(self.x)) for t in targets.values()]
        sides = dict(zip(targets, tiled_product(self.x, vectors), strict=True))
        spreads = dict(zip(targets, tiled_product(self.x, errors), strict=True))
        for label, key in of.items():
            l2 = self.group[label].l2
            self.errors[label] = self._relative(sides[key], spreads[key], l2)
            problems[label] = QuadraticProblem(self.gram, sides[key], l2=l2)
        return problems

    def _relative(self, side: NDArray[np.float64], error: NDArray[np.float64], l2: float) -> float:
        """Return the Monte Carlo error of the minimizer relative to it, in the norm of the risk."""
        size = float(side @ self.gram.solve(side, l2))
        return math.sqrt(max(float(error @ self.gram.solve(error, l2)), 0.0) / size) if size > 0 else 0.0

    def _known(self, label: str, contender: Composition, surrogate: ScoreSurrogate) -> MeanTarget | None:
        """Return a contender's mean target if it is known without sampling."""
        single, aggregator = self.singles[label], contender.aggregator
        if single is not None:
            return single
        row = self.plan.row(aggregator, contender.k, surrogate)
        if _any_order(contender):
            return MeanTarget(self.complete[row], None)
        if contender.k == 1 and not aggregator.needs_truth:
            return MeanTarget(self._enumerated[row], None)
        whole = aggregator.needs_truth or complete_share(self.block.comparisons, contender.k) == 1
        return MeanTarget(self.complete[row], None) if whole else None

    def _target(self, label: str, contender: Composition, surrogate: ScoreSurrogate) -> MeanTarget:
        known = self._known(label, contender, surrogate)
        if known is not None:
            return known
        row = self.plan.row(contender.aggregator, contender.k, surrogate)
        controlled = "quadratic" in surrogate.properties
        return mean_target(
            self.block, contender.k, self.complete[row], self.stream.sums, row, self._won_and_lost, controlled
        )

    def _scored(self, label: str, contender: Composition, surrogate: ScoreSurrogate) -> Problem | SpecError:
        said = self.block.comparisons
        complete = contender.aggregator.needs_truth or complete_share(said, contender.k) == 1
        if not complete and "target-linear" not in surrogate.properties:
            return SpecError("the risk (19) has no solver")  # `Composition` rejects solvers here
        target = self._target(label, contender, surrogate)
        self.targets[label] = target
        shares = said.counts / max(len(said), 1)
        return ScoreProblem(self.x, self.block.design.offsets, target.mean, shares, surrogate, contender.l2)

    def _pairwise(self, contender: Composition, surrogate: PairwiseSurrogate) -> Problem | SpecError:
        aggregator, items, said = contender.aggregator, self.block.design.offsets, self.block.comparisons
        if "additive" in aggregator.properties and (surrogate.linear or contender.k == 1):
            return PairwiseProblem(self.x, items, said, surrogate, l2=contender.l2)
        complete = aggregator.needs_truth or complete_share(said, contender.k) == 1
        if "sequential" not in aggregator.properties and complete:
            graphs, shares = complete_graphs(self.block, aggregator)
            if len(graphs) == 0:
                return SpecError(f"the judgments cancel in every query: aggregator {aggregator.name!r} makes no edges")
            return PairwiseProblem(self.x, items, graphs, surrogate, l2=contender.l2, shares=shares)
        return SpecError(
            f"the risk (19) of aggregator {aggregator.name!r} and surrogate {str(surrogate)!r} has no solver at "
            f"k={contender.k}; use a stochastic optimizer such as composite"
            + ("" if "sequential" in aggregator.properties else ", or k=inf")
        )

    def _info(self, label: str, contender: Composition) -> dict[str, float]:
        info = {"mc_error": self.errors.get(label, 0.0)}
        if not contender.aggregator.needs_truth and "additive" not in contender.aggregator.properties:
            info["share_complete"] = complete_share(self.block.comparisons, contender.k)
        return info

    def _solved(self, label: str, contender: Composition, optimizer: Solver, problem: Problem | SpecError) -> Outcome:
        if isinstance(problem, SpecError):
            return problem
        penalty = contender.penalty
        fit = optimizer.solve(problem if penalty.smooth else PenalizedProblem(problem, penalty.rest))
        if isinstance(problem, ScoreProblem) and "smooth" in contender.surrogate.properties:
            error = self.targets[label].error
            self.errors[label] = 0.0 if error is None else problem.relative_error(fit.theta, error)
        info = self._info(label, contender)
        smooth = penalty.smooth and "smooth" in contender.surrogate.properties
        if smooth and not fit.converged and "quadratic" not in optimizer.needs:  # rounding alone ends a closed form
            start = float(np.linalg.norm(problem.value_and_gradient(np.zeros_like(fit.theta))[1]))
            info |= {"unfinished": fit.optimality / start} if fit.optimality > UNFINISHED * start else {}
        return self._fitted(contender, fit, info)

    def _fitted(
        self, contender: Composition, fit: Fit, info: dict[str, float], curves: dict[str, Curve] | None = None
    ) -> Fitted:
        theta = returned_numbers(fit.theta, f"optimizer {contender.optimizer.name!r}, theta")
        if not np.isfinite(theta).all():
            raise ContenderDiverged("parameters are not finite")
        return Fitted(
            lambda queries: contender.model.features(queries.x) @ theta,
            contender.model,
            theta,
            fit.optimality,
            fit.converged,
            info | {"iterations": float(fit.iterations)},
            curves or {},
        )

    def _stepped(self, path: ContenderPath, problems: dict[str, Problem | SpecError]) -> dict[str, Outcome]:
        """Finish the stochastic contenders: their result is the averaged iterate."""
        rows = self.stream.rows
        averaged = path.total[rows] / (self.draws - path.unaveraged[rows])[:, None]
        curved = any(c.curve for c in self.steppers.values())
        with np.errstate(invalid="ignore", over="ignore"):
            fresh = self.stream.fresh_values(averaged, self.draws) if curved else None
        outcomes: dict[str, Outcome] = {}
        for index, (label, contender) in enumerate(self.steppers.items()):
            theta = averaged[index]
            if not np.isfinite(theta).all():
                outcomes[label] = ContenderDiverged(
                    f"parameters left the finite numbers within {self.draws} steps; use a smaller step constant c"
                )
                continue
            problem = problems[label]
            if isinstance(problem, SpecError):
                optimality = math.nan
            else:
                optimality = contender.penalty.optimality(theta, problem.value_and_gradient(theta)[1])
            curves: dict[str, Curve] = {}
            if contender.curve and fresh is not None:
                infimum = float(fresh[index]) + contender.penalty.value(theta)
                curves = self._curves(path, rows[index], infimum, contender, problem)
            fit = Fit(theta, optimality, self.draws, True)
            info = self._info(label, contender) | {"steps": float(self.draws), "flops": self._flops(contender)}
            outcomes[label] = self._fitted(contender, fit, info, curves)
        return outcomes

    def _flops(self, contender: Composition) -> float:
        """Return the floating-point operations of a contender's scores and gradients in all steps.

        Two a multiply-add, in both directions, for every item of the drawn query; for a
        pairwise surrogate for the two items of each edge.
        """
        counts = self.block.comparisons.counts
        touched = self.block.design.sizes.astype(np.float64)
        if isinstance(contender.surrogate, PairwiseSurrogate):
            touched = 2.0 * np.minimum(contender.k, counts)
        mean = float((touched * counts).sum()) / max(len(self.block.comparisons), 1)
        return float(4.0 * mean * self.x.shape[1] * self.draws)

    def _curves(
        self, path: ContenderPath, row: int, infimum: float, contender: Composition, problem: Problem | SpecError
    ) -> dict[str, Curve]:
        steps = record_steps(self.draws, contender.curve)
        at = np.searchsorted(path.record, steps)
        # Before that the moving average is one of fewer losses.
        full = steps >= WINDOW
        curves = {"estimated-gap": Curve(steps[full], path.estimates[row, at[full]] - infimum)}
        if isinstance(problem, QuadraticProblem) and contender.penalty.smooth:
            best = problem.minimizer()
            for name, iterates in (("last", path.last), ("average", path.averaged)):
                off = iterates[at, row] - best
                gaps = 0.5 * np.einsum("pi,pi->p", off, off @ self.gram.matrix + contender.l2 * off)
                curves[f"exact-gap-{name}"] = Curve(steps, gaps)
        return curves
