"""Protocols fit contenders on a block and judge them here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.labels import LabelPairs
from rankbench.core.component import Component, StructureKind
from rankbench.core.text import returned_numbers
from rankbench.errors import ContenderDiverged
from rankbench.interfaces.cell import CellResult, ContenderFailed, Split, failed, guarded, reason, trace_of
from rankbench.interfaces.contender import Contender, sees_truth
from rankbench.interfaces.method import Block, Fitted, Method
from rankbench.interfaces.protocol import BlockTask
from rankbench.interfaces.queries import Queries
from rankbench.interfaces.surrogate import Loss
from rankbench.losses.evaluate import Structures, evaluate, evaluate_all
from rankbench.methods.baselines import feature_matrix
from rankbench.methods.erm import ERM
from rankbench.plugin.third_party import block_for_plugin, is_ours, plain_fitted, queries_for_plugin

C = TypeVar("C", bound=Component)
Drawn = TypeVar("Drawn")

_TILE = 16

COMPARISON = 16
"""Bytes of a comparison of `Comparisons`: winner, loser and weight."""


def label_truth(queries: Queries, structure: StructureKind) -> Structures:
    """Return the truth for losses, given labels: the labels, or the graph of `label-pairs`."""
    if structure == "scores":
        return queries.labels
    return lambda q: LabelPairs().from_labels(queries.labels[queries.offsets[q] : queries.offsets[q + 1]])


def fit(
    block: Block,
    methods: Mapping[str, Method],
    fitted: Callable[[str], None] = lambda cell: None,
    *,
    taught: bool = False,
) -> dict[str, Fitted | Exception]:
    """Fit composed contenders together and the others singly; only methods that declare it see labels.

    Parameters
    ----------
    block : Block
    methods : mapping of cell id to Method
    fitted : callable
        Is told each cell whose method has been fitted.
    taught : bool
        Whether the labels are there to learn from: all methods see them.

    Returns
    -------
    dict of cell id to Fitted or Exception
        An error of one contender does not touch the others.
    """
    # It imports numba, and protocols import this when they are merely looked up.
    from rankbench.methods.erm.fit import fit_composed

    composed = {cell: m for cell, m in methods.items() if isinstance(m, ERM)}
    outcomes: dict[str, Fitted | Exception] = {}
    together = guarded(lambda: fit_composed(block, composed, fitted))
    if isinstance(together, Exception):
        # Some component is at fault: alone, each contender answers for itself.
        for cell, contender in composed.items():
            alone = guarded(partial(fit_composed, block, {cell: contender}, fitted))
            outcomes[cell] = alone if isinstance(alone, Exception) else alone[cell]
    else:
        outcomes.update(together)
    hidden = replace(block, design=block.design.unlabelled(), validation=None)
    for cell, method in methods.items():
        if not isinstance(method, ERM):
            shown = block if taught or sees_truth(method) else hidden
            outcomes[cell] = guarded(partial(method.fit, block_for_plugin(shown)))
            fitted(cell)
    for cell, outcome in outcomes.items():
        plain = outcome if isinstance(outcome, Exception) else guarded(partial(plain_fitted, outcome))
        if isinstance(plain, Fitted) and not sees_truth(methods[cell]):
            plain = replace(plain, score=partial(_score_unlabelled, plain.score))
        outcomes[cell] = plain
    return outcomes


def _score_unlabelled(score: Callable[[Queries], NDArray[np.float64]], queries: Queries) -> NDArray[np.float64]:
    return score(queries.unlabelled())


def comparison_bytes(task: BlockTask) -> int:
    """Return the bytes of a comparison in a fit: items and weight, twice if a contender gets a copy."""
    composed = all(isinstance(found.component(Method), ERM) for found in task.cells.values())
    return COMPARISON if composed else 2 * COMPARISON


def _scores(outcomes: Mapping[str, Fitted | Exception], queries: Queries) -> dict[str, NDArray[np.float64] | Exception]:
    """Return scores of all items by cell; linear contenders in tiles of fixed width."""
    scores: dict[str, NDArray[np.float64] | Exception] = {}
    linear: dict[str, list[tuple[str, Fitted]]] = {}
    for cell, fitted in outcomes.items():
        if isinstance(fitted, Fitted):
            if fitted.model is not None:
                linear.setdefault(fitted.model.digest(), []).append((cell, fitted))
            else:
                scores[cell] = guarded(partial(own_scores, fitted, queries))
    for group in linear.values():
        model = group[0][1].model
        if model is None:
            continue
        x = guarded(partial(feature_matrix, queries, model))
        if isinstance(x, Exception):
            scores |= {cell: x for cell, _ in group}
            continue
        for first in range(0, len(group), _TILE):
            part = group[first : first + _TILE]
            theta = np.zeros((x.shape[1], _TILE))
            for column, (cell, fitted) in enumerate(part):
                if fitted.theta is not None and fitted.theta.shape == (x.shape[1],):
                    theta[:, column] = fitted.theta
                else:
                    scores[cell] = ContenderFailed(f"theta does not have shape ({x.shape[1]},)")
            alpha = x @ theta
            for column, (cell, _) in enumerate(part):
                scores.setdefault(cell, np.ascontiguousarray(alpha[:, column]))
    return scores


def own_scores(fitted: Fitted, queries: Queries) -> NDArray[np.float64]:
    """Return a fitted method's scores of all items, on a copy of the queries."""
    return np.array(returned_numbers(fitted.score(queries_for_plugin(queries)), "scores"), dtype=np.float64)


def usable_scores(scores: NDArray[np.float64], items: int) -> NDArray[np.float64]:
    """Return scores, checked to be finite, one an item; raise `ContenderFailed` or `ContenderDiverged` otherwise."""
    if np.shape(scores) != (items,):
        raise ContenderFailed(f"scores have shape {np.shape(scores)}, not ({items},)")
    if not np.isfinite(scores).all():
        raise ContenderDiverged("scores are not finite")
    return np.array(scores, dtype=np.float64)


def judge(
    outcomes: dict[str, Fitted | Exception],
    queries: Queries,
    losses: Sequence[Loss],
    truth: Callable[[StructureKind], Structures],
    kept: dict[str, NDArray[np.float64]] | None = None,
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Return per-query losses by cell and metric.

    Parameters
    ----------
    outcomes : dict of cell id to Fitted or Exception
        Changed: scores that are unusable, or that a loss cannot judge, become failures.
    queries : Queries
    losses : sequence of Loss
    truth : callable
        See `losses_of`.
    kept : dict of cell id to ndarray, optional
        Gets the scores of all items.
    """
    scores: dict[str, NDArray[np.float64]] = {} if kept is None else kept
    for cell, alpha in _scores(outcomes, queries).items():
        if isinstance(alpha, Exception):
            outcomes[cell] = alpha
            continue
        try:
            scores[cell] = usable_scores(alpha, int(queries.offsets[-1]))
        except (ContenderFailed, ContenderDiverged) as error:
            outcomes[cell] = error
    rows: dict[str, dict[str, NDArray[np.float64]]] = {cell: {} for cell in scores}
    if not scores:
        return rows
    for metric, values in losses_of(losses, np.stack(list(scores.values())), truth, queries.offsets).items():
        if isinstance(values, Exception):
            outcomes.update(dict.fromkeys(scores, values))
            continue
        for row, cell in enumerate(scores):
            rows[cell][metric] = values[row]
    return rows


def losses_of(
    losses: Sequence[Loss],
    alphas: NDArray[np.float64],
    truth: Callable[[StructureKind], Structures],
    offsets: NDArray[np.int64],
) -> dict[str, NDArray[np.float64] | Exception]:
    """Return each loss of C contenders on Q queries, shape (C, Q), or its error.

    Built-in losses of scores are computed in one pass; if that fails, one by one, so that the
    one at fault is named. Third-party losses are always by themselves, and come last, on scores
    that they cannot write to (kernels get a copy), so that none affects another.

    Parameters
    ----------
    losses : sequence of Loss
    alphas : ndarray of float64, shape (C, N)
    truth : callable
        The structures of a kind that losses are judged against, see `evaluate`; made anew
        for every call.
    offsets : ndarray of int64, shape (Q + 1,)
    """

    def values_of(loss: Loss, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return evaluate(loss, scores, truth(loss.structure), offsets)

    found: dict[str, NDArray[np.float64] | Exception] = {}
    theirs = [not is_ours(loss) for loss in losses]
    together = [loss for loss, plugin in zip(losses, theirs, strict=True) if loss.structure == "scores" and not plugin]
    if together:
        rows = guarded(lambda: evaluate_all(together, alphas, truth("scores"), offsets))
        if not isinstance(rows, Exception):
            found = {str(loss): values for loss, values in zip(together, rows, strict=True)}
    shared = alphas.view()
    shared.flags.writeable = False
    for at in sorted(range(len(losses)), key=theirs.__getitem__):
        if str(losses[at]) not in found:
            lent = shared if theirs[at] else alphas
            found[str(losses[at])] = guarded(partial(values_of, losses[at], lent))
    for metric, values in found.items():
        if isinstance(values, Exception):
            found[metric] = ContenderFailed(f"loss {metric}: {reason(values)}", trace_of(values))
        elif not np.isfinite(values).all():
            found[metric] = ContenderFailed(f"loss {metric}: not a finite number")
    return {str(loss): found[str(loss)] for loss in losses}


def answer(
    cell: str, outcome: Fitted | Exception, judged: Mapping[Split, Mapping[str, NDArray[np.float64]]]
) -> CellResult:
    """Return a contender's result: its losses by split and metric, or its error."""
    if isinstance(outcome, Exception):
        return failed(cell, outcome)
    losses = {(metric, split): values for split, rows in judged.items() for metric, values in rows.items()}
    info = outcome.info | {"converged": float(outcome.converged)}
    finite = {name: value for name, value in info.items() if math.isfinite(value)}
    return CellResult(cell, "done", "", outcome.optimality, losses, outcome.curves, finite)


def each_cell(task: BlockTask, judged: Callable[[str, Contender], CellResult]) -> list[CellResult]:
    """Return each contender's result; an exception becomes a failed result."""
    outcomes: dict[str, CellResult | Exception] = {}
    for cell, contender in task.cells.items():
        outcomes[cell] = guarded(partial(judged, cell, contender))
        task.advance(cell, 1.0)
    return [failed(cell, one) if isinstance(one, Exception) else one for cell, one in outcomes.items()]


def each_unit(
    task: BlockTask,
    base: Callable[..., C],
    units: int,
    draw: Callable[[int], Drawn],
    measure: Callable[[C, Drawn], Mapping[str, float]],
) -> list[CellResult]:
    """Return each contender's metrics on every unit of a protocol's own populations.

    An error of a contender on one unit is its result, and ends its work.

    Parameters
    ----------
    task : BlockTask
    base : type
        Kind of the contenders, as of `rankbench.get`.
    units : int
    draw : callable
        Judgments of a unit, drawn once for all contenders.
    measure : callable
        A contender's metrics on these.
    """
    contenders = {cell: found.component(base) for cell, found in task.cells.items()}
    values: dict[str, list[Mapping[str, float]]] = {cell: [] for cell in contenders}
    wrong: dict[str, CellResult] = {}
    for unit in range(units):
        drawn = draw(unit)
        for cell, contender in contenders.items():
            if cell in wrong:
                continue
            outcome = guarded(partial(measure, contender, drawn))
            if isinstance(outcome, Exception):
                wrong[cell] = failed(cell, outcome)
            else:
                values[cell].append(outcome)
                task.advance(cell, 1 / units)
    done = {
        cell: {(metric, _DESIGN): np.array([one[metric] for one in of_units]) for metric in task.metrics}
        for cell, of_units in values.items()
        if cell not in wrong
    }
    return [wrong.get(cell) or CellResult(cell, "done", losses=done[cell]) for cell in task.cells]


_DESIGN: Split = "design"
