"""Checks compare compiled forms with NumPy forms, and guard their memory."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.click_aggregator import SelectionAggregator
from rankbench.interfaces.method import Penalty, PenaltyName, StepOptimizer
from rankbench.interfaces.queries import Comparisons
from rankbench.interfaces.sequential_aggregator import SequentialAggregator
from rankbench.interfaces.surrogate import PairwiseSurrogate, ScoreSurrogate
from rankbench.kernels import Kernel
from rankbench.losses.evaluate import evaluate_all
from rankbench.testing import samples
from rankbench.testing.check import CheckFailed, CheckSkipped, Subject, conformance_check, must_agree

GUARD = 64
"""Elements before and after an array that must keep their value."""

CANARY = -7777


class Guarded:
    """Arrays for one call, each between two guards.

    Reading beyond an array is not noticed, writing is.
    """

    def __init__(self) -> None:
        self._whole: list[tuple[str, NDArray[Any], int]] = []

    def array(self, what: str, length: int, fill: float | NDArray[Any], dtype: type = np.float64) -> NDArray[Any]:
        """Return an array of `length`, filled, between guards."""
        whole: NDArray[Any] = np.full(length + 2 * GUARD, CANARY, dtype=dtype)
        self._whole.append((what, whole, length))
        inner = whole[GUARD : GUARD + length]
        inner[:] = fill
        return inner

    def work(self, kernel: Kernel, m: int, *, dirty: bool = False) -> NDArray[np.float64]:
        """Return a kernel's scratch memory; zeros unless `dirty`."""
        return self.array("work", kernel.work(m), np.nan if dirty else 0.0)

    def check(self, label: str) -> None:
        """Raise if any write was out of the arrays' bounds.

        Raises
        ------
        CheckFailed
            With the array.
        """
        for what, whole, length in self._whole:
            if (whole[:GUARD] != CANARY).any() or (whole[GUARD + length :] != CANARY).any():
                raise CheckFailed(f"{label}: the kernel writes beyond {what}, which has {length} elements")


def _cleared(work: NDArray[np.float64], label: str) -> None:
    if work.any():
        raise CheckFailed(f"{label}: the kernel leaves its scratch memory dirty; it must hold zeros again on return")


def call_aggregate(
    it: Aggregator,
    kernel: Kernel,
    winners: NDArray[np.int32],
    losers: NDArray[np.int32],
    weights: NDArray[np.float64],
    m: int,
) -> NDArray[np.float64]:
    """Return the structure by an `AGGREGATE` or `EDGES` kernel, in the form of `aggregate`."""
    guarded, k = Guarded(), len(winners)
    label = f"{k} comparisons of {m} items"
    work = guarded.work(kernel, m)
    if it.structure == "scores":
        out = guarded.array("out", m, np.nan)
        kernel.function(winners, losers, weights, m, kernel.params, work, out)
    else:
        tails, heads = guarded.array("tails", k, -1, np.int32), guarded.array("heads", k, -1, np.int32)
        edges = guarded.array("edge_weights", k, np.nan)
        count = kernel.function(winners, losers, weights, m, kernel.params, work, tails, heads, edges)
        if not 0 <= count <= k:
            raise CheckFailed(f"{label}: the kernel says that it made {count} edges, out of {k}")
        out = np.zeros((m, m))
        pairs = list(zip(tails[:count].tolist(), heads[:count].tolist(), strict=True))
        if len(set(pairs)) != count:
            raise CheckFailed(f"{label}: the kernel gives an edge twice")
        if any(not (0 <= i < m and 0 <= j < m) for i, j in pairs):
            raise CheckFailed(f"{label}: the kernel gives an edge to an item that is not there")
        for (i, j), weight in zip(pairs, edges[:count], strict=True):
            out[i, j] = weight
    guarded.check(label)
    _cleared(work, label)
    return out.copy()


def call_phi(kernel: Kernel, margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a `PHI` kernel's values of margins."""
    guarded = Guarded()
    out = guarded.array("out", len(margins), np.nan)
    kernel.function(margins, kernel.params, out)
    guarded.check(f"{len(margins)} margins")
    return out.copy()


TOLERANCE = 1e-7
"""Of a difference, relative to the largest value: sums may be taken in another order."""

LOST = 10 * np.finfo(np.float64).eps
"""Times the largest weight, what rounding may move scores: weights w beside a prior of weight 1 have condition w."""


def _kernel(subject: Subject, made: Any) -> Any:
    """Return the kernel, or kernels, that a component offers: functions that numba compiled.

    Raises
    ------
    CheckSkipped
        It offers none: it is interpreted.
    """
    if made is None:
        raise CheckSkipped(f"this {subject.kind} is interpreted: it offers no compiled form")
    for kernel in made if isinstance(made, tuple) else (made,):
        if kernel is not None and not getattr(kernel.function, "nopython_signatures", None):
            raise CheckFailed(f"{kernel.function!r} is no function compiled with an explicit signature")
    return made


def _agree(label: str, found: Any, expected: Any, tolerance: float = TOLERANCE) -> None:
    must_agree(found, expected, tolerance, f"{label}: the compiled form differs from the NumPy form")


@conformance_check("aggregator", of_values=True)
def compiled_aggregator_equals_numpy(subject: Subject) -> None:
    """The kernel makes the structures that `aggregate` makes, within the memory that it asked for."""
    it = subject.it
    kernel = _kernel(subject, it.kernel())
    ordinary = {
        f"{k} of {m}": samples.votes(m, k, 71, weighted=k % 2 == 0) for m, k in ((2, 1), (5, 7), (9, 120), (30, 250))
    }
    # With other parameters, as a small penalty, weights of 1e9 leave no digits to compare.
    edges = samples.edge_comparisons() if subject.by_default else {}
    for label, sample in (ordinary | edges).items():
        if "1e-6 to" in label:
            continue  # twelve orders of magnitude: two orders of summation may differ by more than rounding
        found, expected = call_aggregate(it, kernel, *sample), it.aggregate(*sample)
        _agree(label, found, expected, max(TOLERANCE, LOST * float(sample[2].max())))


@conformance_check("aggregator", of_values=True, base=SequentialAggregator)
def compiled_walk_equals_numpy(subject: Subject) -> None:
    """The kernel gives the margins of `margins`, and the ratings of `learn`, time after time."""
    it, m, n = subject.it, 5, 40
    kernel = _kernel(subject, it.walk_kernel())
    winners, losers, weights, _ = samples.votes(m, n, 76, weighted=True)
    outcome, starts = np.where(np.arange(n) % 3 == 0, 0, 1).astype(np.int8), np.arange(0, n + 1, 4)
    state, plain, guarded = np.ascontiguousarray(it.start(m), np.float64), it.start(m), Guarded()
    margins, work = guarded.array("margins", n, np.nan), guarded.work(kernel, m)
    votes = (winners.copy(), losers.copy(), outcome, weights.copy())
    kernel.function(*votes, starts, state, kernel.params, work, margins)
    guarded.check(f"{n} votes")
    for time, (low, high) in enumerate(pairwise(starts.tolist())):
        first, second, said = winners[low:high], losers[low:high], outcome[low:high] == 0
        _agree(f"margins of time {time}", margins[low:high], it.margins(plain, first, second, time))
        it.learn(plain, Comparisons(np.array([0, high - low]), first, second, weights[low:high], said), time)
    _agree("ratings", it.ratings(state), it.ratings(plain))


@conformance_check("aggregator", of_values=True, base=SelectionAggregator)
def compiled_clicks_equal_numpy(subject: Subject) -> None:
    """The kernel gives the scores and examinations of `estimate`, for one query and for several."""
    it = subject.it
    _kernel(subject, it.selection_kernel())
    for label, (shown, m) in {"7 sessions": (samples.clicks(4, 7, 77), 4), **samples.edge_clicks()}.items():
        offsets = np.array([0, m])
        model, (scores, examination) = it.fit(shown, offsets), it.estimate(shown, offsets)
        _agree(f"scores of {label}", model.scores, scores)
        _agree(f"examination of {label}", model.examination, examination)


@conformance_check("loss", of_values=True)
def ranked_loss_equals_numpy(subject: Subject) -> None:
    """The kernel that gets ranked items gives the values that `value` gives, of queries with ties too."""
    it = subject.it
    if it.ranked_kernel() is None or it.structure != "scores":
        raise CheckSkipped("it offers no compiled form of ranked items")
    rng, sizes = np.random.default_rng(78), (1, 2, 5, 12, 40)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    structure = rng.integers(0, 5, offsets[-1]).astype(np.float64)
    for alpha in (rng.normal(size=offsets[-1]), rng.integers(0, 3, offsets[-1]).astype(np.float64)):
        found = evaluate_all([it], alpha[None], structure, offsets)[0, 0]
        spans = [slice(*pair) for pair in pairwise(offsets.tolist())]
        _agree(
            "ranked items", found, np.array([it.value(alpha[span].copy(), structure[span].copy()) for span in spans])
        )


@conformance_check("surrogate", of_values=True)
def compiled_surrogate_equals_numpy(subject: Subject) -> None:
    """The kernels give the values that the NumPy form gives, within the memory that they asked for."""
    it = subject.it
    if isinstance(it, ScoreSurrogate):
        _score_surrogate(subject, it)
    elif isinstance(it, PairwiseSurrogate):
        _pairwise_surrogate(subject, it)
    else:
        raise CheckSkipped("it is neither a surrogate of scores nor of pairs")


def _score_surrogate(subject: Subject, it: ScoreSurrogate) -> None:
    targets, gradients = it.target_kernel(), it.gradient_kernel()
    _kernel(subject, (targets, gradients) if targets or gradients else None)
    rng = np.random.default_rng(72)
    for label, scores in (samples.edge_scores() | {"7 items": rng.normal(size=7)}).items():
        alpha, target = rng.normal(size=len(scores)), it.target(scores.copy())
        if targets is not None:
            guarded = Guarded()
            work, out = guarded.work(targets, len(scores)), guarded.array("target", len(scores), np.nan)
            targets.function(scores, targets.params, work, out)
            guarded.check(f"target of {label}")
            _cleared(work, f"target of {label}")
            _agree(f"target of {label}", out, target)
        if gradients is not None:
            guarded, (value, gradient) = Guarded(), it.value_and_gradient(alpha, target)
            out = guarded.array("gradient", len(alpha), np.nan)
            found = gradients.function(alpha, target, gradients.params, out)
            guarded.check(f"gradient of {label}")
            _agree(f"value of {label}", found, value)
            _agree(f"gradient of {label}", out, gradient)


def _pairwise_surrogate(subject: Subject, it: PairwiseSurrogate) -> None:
    phi, dphi, ddphi = _kernel(subject, it.phi_kernels())
    margins = np.linspace(-20.3, 20.1, 81)
    _agree("phi", call_phi(phi, margins), it.phi(margins))
    _agree("dphi", call_phi(dphi, margins), it.dphi(margins))
    if ddphi is not None:
        _agree("ddphi", call_phi(ddphi, margins), it.ddphi(margins))
    elif subject.declares("smooth"):
        raise CheckFailed("it declares smooth, but offers no compiled ddphi")
    if (weigh := it.edges_kernel()) is not None:
        weights, guarded = np.array([1e-6, 0.3, 1.0, 2.5, 1e6]), Guarded()
        factors = guarded.array("weights", len(weights), weights)
        offsets = guarded.array("offsets", len(weights), np.nan)
        weigh.function(factors, weigh.params, offsets)
        guarded.check(f"{len(weights)} weights")
        expected = it.edges(weights)
        _agree("factors", factors, expected[0])
        _agree("offsets", offsets, expected[1])


@conformance_check("loss", of_values=True)
def compiled_loss_equals_numpy(subject: Subject) -> None:
    """The kernel gives the values that `value` gives, ties and dirty scratch memory included."""
    it = subject.it
    kernel = _kernel(subject, it.kernel())
    rng = np.random.default_rng(73)
    for m in (1, 2, 5, 12, 40):
        for alpha in (rng.normal(size=m), rng.integers(0, 3, m).astype(np.float64), np.zeros(m)):
            structure, guarded = samples.random_structure(it.structure, m, rng), Guarded()
            work = guarded.work(kernel, m, dirty=True)
            found = kernel.function(alpha, np.ascontiguousarray(structure), kernel.params, work)
            guarded.check(f"{m} items")
            _agree(f"{m} items", found, it.value(alpha, structure))


@conformance_check("optimizer", base=StepOptimizer, of_values=True)
def compiled_step_equals_numpy(subject: Subject) -> None:
    """The kernel moves every row as `step` does, and rows do not touch one another."""
    it = subject.it
    parts: list[tuple[PenaltyName, float]] = [("l2", 0.1), ("l1", 0.1), ("radius", 0.5), ("box", 0.2)]
    for penalty in [Penalty(), *(Penalty(**{name: size}) for name, size in parts if name in it.penalties)]:
        kernel = _kernel(subject, it.kernel(penalty))
        rng = np.random.default_rng(74)
        rows, states, guarded = rng.normal(size=(3, 5)), np.zeros((3, it.state_size(5))), Guarded()
        theta = guarded.array("theta", rows.size, rows.ravel()).reshape(rows.shape)
        state = guarded.array("state", states.size, 0.0).reshape(states.shape)
        params = np.ascontiguousarray(np.tile(kernel.params, (3, 1)))
        for t in range(1, 12):
            gradient = rng.normal(size=(3, 5))
            kernel.function(theta, gradient, t, params, state)
            guarded.check(f"step {t}")
            rows = np.stack([it.step(rows[c], gradient[c], t, penalty, states[c]) for c in range(3)])
            _agree(f"step {t}, {penalty}", theta, rows)
