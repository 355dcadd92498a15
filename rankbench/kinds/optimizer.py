"""The interfaces of optimizers: steps that advance in lockstep, solvers of whole blocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from rankbench.component import Component, Property
from rankbench.returned import Promise

if TYPE_CHECKING:
    from rankbench.kernels.signatures import Kernel
    from rankbench.kinds.penalty import Penalty, PenaltyName

__all__ = ["Fit", "Optimizer", "Problem", "Solver", "StepOptimizer"]


@dataclass(frozen=True)
class Fit:
    """Where an optimizer stopped.

    Attributes
    ----------
    theta : ndarray of float64, shape (d,)
    optimality : float
        Euclidean norm of the gradient of the regularized objective at theta; with more than
        the l2 penalty, `Penalty.optimality`. Of a solver of risks that are not smooth, the
        duality gap.
    iterations : int
    converged : bool
        Whether the optimizer reached its own tolerance.
    """

    theta: NDArray[np.float64]
    optimality: float
    iterations: int
    converged: bool


class Problem(Protocol):
    """A regularized empirical risk (24): convex, differentiable, in theta of shape (d,)."""

    @property
    def dimension(self) -> int:
        """Number of parameters d."""

    @property
    def quadratic(self) -> bool:
        """Whether `minimizer` exists: the objective is a quadratic form."""

    def value_and_gradient(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the objective and its gradient, shape (d,)."""

    def hessian(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the second derivatives, shape (d, d)."""

    def minimizer(self) -> NDArray[np.float64]:
        """Return the closed-form minimizer of a quadratic objective, shape (d,)."""


class Optimizer(Component):
    """Base of steps and solvers.

    Attributes
    ----------
    penalties : frozenset of PenaltyName
        Parts of a penalty that it can deal with.
    """

    kind: ClassVar[str] = "optimizer"
    penalties: ClassVar[frozenset[PenaltyName]] = frozenset({"l2"})


class StepOptimizer(Optimizer):
    """An optimizer that sees one stochastic gradient at a time."""

    compiled_forms: ClassVar[Mapping[str, tuple[str, ...]]] = {"kernel": ("step",)}
    promises: ClassVar[Mapping[str, Promise]] = {"step": "array"}

    @abstractmethod
    def step(
        self,
        theta: NDArray[np.float64],
        gradient: NDArray[np.float64],
        t: int,
        penalty: Penalty,
        state: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return theta after step t = 1, 2, ... from a gradient of the *unregularized* risk.

        `state`, shape (`state_size`,), is the contender's own memory, zeros at t = 1,
        changed in place.
        """

    def state_size(self, dimension: int) -> int:
        """Return how many floats of state a contender needs."""
        return 0

    def unaveraged(self, steps: int) -> int:
        """Return how many of the first of `steps` iterates are left out of the average, the answer."""
        return 0

    def kernel(self, penalty: Penalty) -> Kernel | None:
        """Return the compiled step (`STEP`) for this penalty, or None: interpreted."""
        return None


class Solver(Optimizer):
    """An optimizer that gets the whole problem of a block.

    Attributes
    ----------
    needs : frozenset of Property
        What a surrogate must declare for the solver to work on it.
    budget : str or None
        The parameter that bounds `Fit.iterations`; None: it needs no bound.
    """

    needs: ClassVar[frozenset[Property]] = frozenset()
    budget: ClassVar[str | None] = None

    @abstractmethod
    def solve(self, problem: Problem) -> Fit:
        """Minimize, from theta = 0, to the solver's own tolerance."""
