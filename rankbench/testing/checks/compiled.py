"""Compiled = NumPy form, and the compiled one keeps to its memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankbench.kinds.penalty import Penalty, PenaltyName
from rankbench.kinds.surrogate import PairwiseSurrogate, ScoreSurrogate
from rankbench.plugin.component_description import has_compiled_form
from rankbench.testing import kernelcalls, samples
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed, CheckSkipped
from rankbench.testing.close import relative_difference
from rankbench.testing.subjects import Subject

TOLERANCE = 1e-7
"""Of a difference, relative to the largest value: sums may be taken in another order."""

LOST = 10 * np.finfo(np.float64).eps
"""Times the largest weight, what rounding may move scores: weights w beside a prior of weight 1 have condition w."""


def _kernel(subject: Subject, made: Any) -> Any:
    """Return the kernel that a component offers.

    Raises
    ------
    CheckSkipped
        It offers none: it is interpreted.
    """
    if made is None:
        raise CheckSkipped(f"this {subject.kind} is interpreted: it offers no compiled form")
    return made


def _agree(label: str, found: Any, expected: Any, tolerance: float = TOLERANCE) -> None:
    if (difference := relative_difference(np.asarray(found), np.asarray(expected))) > tolerance:
        raise CheckFailed(f"{label}: the compiled form differs from the NumPy form by {difference:.3g}")


@conformance_check("aggregator")
def compiled_aggregator_equals_numpy(subject: Subject) -> None:
    """The kernel makes the structures that `aggregate` makes, within the memory that it asked for."""
    it = subject.it
    kernel = _kernel(subject, it.kernel())
    ordinary = {f"{k} of {m}": samples.votes(m, k, 71, weighted=k % 2 == 0) for m, k in ((2, 1), (5, 7), (9, 120))}
    for label, sample in (ordinary | samples.edge_comparisons()).items():
        if "1e-6 to" in label:
            continue  # twelve orders of magnitude: two orders of summation may differ by more than rounding
        found, expected = kernelcalls.call_aggregate(it, kernel, *sample), it.aggregate(*sample)
        _agree(label, found, expected, max(TOLERANCE, LOST * float(sample[2].max())))


@conformance_check("surrogate")
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
    _kernel(subject, targets or gradients)
    rng = np.random.default_rng(72)
    for label, scores in (samples.edge_scores() | {"7 items": rng.normal(size=7)}).items():
        alpha, target = rng.normal(size=len(scores)), it.target(scores.copy())
        if targets is not None:
            _agree(f"target of {label}", kernelcalls.call_target(targets, scores), target)
        if gradients is not None:
            value, gradient = it.value_and_gradient(alpha, target)
            found, slopes = kernelcalls.call_gradient(gradients, alpha, target)
            _agree(f"value of {label}", found, value)
            _agree(f"gradient of {label}", slopes, gradient)


def _pairwise_surrogate(subject: Subject, it: PairwiseSurrogate) -> None:
    phi, dphi, ddphi = _kernel(subject, it.phi_kernels())
    margins = np.linspace(-20.3, 20.1, 81)
    _agree("phi", kernelcalls.call_phi(phi, margins), it.phi(margins))
    _agree("dphi", kernelcalls.call_phi(dphi, margins), it.dphi(margins))
    if ddphi is not None:
        _agree("ddphi", kernelcalls.call_phi(ddphi, margins), it.ddphi(margins))
    elif subject.declares("smooth"):
        raise CheckFailed("it declares smooth, but offers no compiled ddphi")
    if (weigh := it.edges_kernel()) is not None:
        weights = np.array([1e-6, 0.3, 1.0, 2.5, 1e6])
        for what, found, expected in zip(
            ("factors", "offsets"), kernelcalls.call_weigh(weigh, weights), it.edges(weights), strict=True
        ):
            _agree(what, found, expected)


@conformance_check("loss")
def compiled_loss_equals_numpy(subject: Subject) -> None:
    """The kernel gives the values that `value` gives, ties and dirty scratch memory included."""
    it = subject.it
    kernel = _kernel(subject, it.kernel())
    rng = np.random.default_rng(73)
    for m in (1, 2, 5, 12, 40):
        for alpha in (rng.normal(size=m), rng.integers(0, 3, m).astype(np.float64), np.zeros(m)):
            structure = samples.random_structure(it.structure, m, rng)
            _agree(f"{m} items", kernelcalls.call_loss(it, kernel, alpha, structure), it.value(alpha, structure))


@conformance_check("optimizer")
def compiled_step_equals_numpy(subject: Subject) -> None:
    """The kernel moves every row as `step` does, and rows do not touch one another."""
    it = subject.it
    if not hasattr(it, "step"):
        raise CheckSkipped("it is a solver: there is no compiled form")
    parts: list[tuple[PenaltyName, float]] = [("l2", 0.1), ("l1", 0.1), ("radius", 0.5), ("box", 0.2)]
    for penalty in [Penalty(), *(Penalty(**{name: size}) for name, size in parts if name in it.penalties)]:
        kernel = _kernel(subject, it.kernel(penalty))
        rng = np.random.default_rng(74)
        theta, size = rng.normal(size=(3, 5)), it.state_size(5)
        state = np.zeros((3, size))
        rows, states = theta.copy(), np.zeros((3, size))
        for t in range(1, 12):
            gradient = rng.normal(size=(3, 5))
            theta = kernelcalls.call_step(kernel, theta, gradient, t, state)
            rows = np.stack([it.step(rows[c], gradient[c], t, penalty, states[c]) for c in range(3)])
            _agree(f"step {t}, {penalty}", theta, rows)


@conformance_check("aggregator", "surrogate", "loss", "optimizer")
def listed_form_is_the_real_one(subject: Subject) -> None:
    """A class that is listed as *compiled* has kernels that are numba functions."""
    if not has_compiled_form(type(subject.it)):
        raise CheckSkipped("it is interpreted")
    it = subject.it
    asked = {
        "target_kernel": (),
        "gradient_kernel": (),
        "phi_kernels": (),
        "kernel": (Penalty(0.1),) if subject.kind == "optimizer" else (),
    }
    for method, arguments in asked.items():
        if not hasattr(it, method):
            continue
        made = getattr(it, method)(*arguments)
        for kernel in made if isinstance(made, tuple) else (made,):
            if kernel is not None and not getattr(kernel.function, "nopython_signatures", None):
                raise CheckFailed(f"{method}() is no function compiled with an explicit signature")
