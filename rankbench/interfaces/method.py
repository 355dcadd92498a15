"""Methods learn a ranking function; models, optimizers and penalties compose them."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import Component, Property
from rankbench.interfaces.cell import Curve
from rankbench.interfaces.queries import Comparisons, Queries
from rankbench.kernels import Kernel


class Model(Component):
    """A feature map psi; scores are ``alpha_i = <theta, psi(x_i)>``, linear in theta."""

    kind: ClassVar[str] = "model"

    @abstractmethod
    def features(self, x: NDArray[np.float32]) -> NDArray[np.float32]:
        """Map features, shape (N, d), to theta's coordinates, shape (N, d')."""


@dataclass(frozen=True)
class Block:
    """One matched draw, as contenders see it, without held-out data.

    Attributes
    ----------
    design : Queries
        The queries that were judged. Their labels are the truth: only contenders that declare
        `Method.needs_truth` get them, and all contenders where they learn from them (protocol `graded`).
    comparisons : Comparisons
        The n judgments of the block; none where contenders learn from labels.
    n : int
        Number of judgments.
    repetition : int
        Number of the draw, from 0.
    entropy : tuple of int
        Seeds every draw of the block, see `generator`.
    validation : Queries or None
        Labelled queries to stop early by, for contenders that learn from labels; None: the protocol has none.
    """

    design: Queries
    comparisons: Comparisons
    n: int
    repetition: int
    entropy: tuple[int, ...]
    validation: Queries | None = None

    def generator(self, contender: Component) -> np.random.Generator:
        """Return a random generator of the contender's own, the same for every run."""
        own = int.from_bytes(bytes.fromhex(contender.digest())[:8], "little")
        return np.random.default_rng(np.random.SeedSequence([*self.entropy, own]))

    def without_comparisons(self) -> Block:
        """Return the block for contenders that learn from labels."""
        none = np.zeros(0, np.int32)
        return replace(self, comparisons=Comparisons(np.zeros(len(self.design) + 1, np.int64), none, none, np.zeros(0)))

    @classmethod
    def from_labels(cls, design: Queries, repetition: int, entropy: tuple[int, ...]) -> Block:
        """Return a block with the labels as judgments, one judgment a query, so that all queries weigh the same.

        The comparison of a query is a best item before a worst one.

        Parameters
        ----------
        design : Queries
            With two different labels each.
        repetition : int
        entropy : tuple of int
        """
        spans = list(itertools.pairwise(design.offsets.tolist()))
        best, worst = (
            np.array([extreme(design.labels[low:high]) for low, high in spans], np.int32)
            for extreme in (np.argmax, np.argmin)
        )
        said = Comparisons(np.arange(len(design) + 1), best, worst, np.ones(len(design)))
        return cls(design, said, len(design), repetition, entropy)


UNFINISHED = 1e-6
"""Share of the gradient norm at the start: a fit that stops above it lacks a minimum, not digits."""


@dataclass(frozen=True)
class Fitted:
    """Result of a method's learning from a block.

    Attributes
    ----------
    score : callable
        Function from `Queries` to one score an item, shape (N,); higher is better. The queries have labels only if the
        method declares `Method.needs_truth`.
    model, theta : Model and ndarray of float64, shape (d',), optional
        Model and parameters of a linear contender: rankbench computes scores of such contenders together.
    optimality : float
        Distance of the fit from an optimum (gradient norm, duality gap); nan if the
        method optimizes nothing.
    converged : bool
        Whether the fit reached its own tolerance.
    info : dict of str to float
        Numbers for columns of the results, by name.
    curves : dict of str to Curve
        Records of the fit's course, by metric.
    """

    score: Callable[[Queries], NDArray[np.float64]]
    model: Model | None = None
    theta: NDArray[np.float64] | None = None
    optimality: float = float("nan")
    converged: bool = True
    info: dict[str, float] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)


class Method(Component):
    """A whole contender.

    Attributes
    ----------
    needs_truth : bool
        Whether it looks at the relevance labels that contenders are judged by. The labels are hidden from methods
        that do not declare it. A method that does is an oracle: a yardstick, no competitor. To learn from labels of
        other queries, under protocol `graded`, takes no declaration.
    """

    kind: ClassVar[str] = "method"
    needs_truth: ClassVar[bool] = False

    @abstractmethod
    def fit(self, block: Block) -> Fitted:
        """Learn from a block.

        Raises
        ------
        ContenderDiverged
            The optimization left the finite numbers; the cell becomes a row that says so.
        """


PenaltyName: TypeAlias = Literal["l2", "l1", "radius", "box"]
"""A part of a penalty, by the parameter that it is written with (l2: ``lambda``)."""


@dataclass(frozen=True)
class Penalty:
    r"""The regularizer of [DMJ13]_ eq. (24) and (25), in the parts that have a closed form.

    .. math:: R(\theta) = \frac{\lambda}{2} |\theta|_2^2 + \kappa |\theta|_1
              \quad\text{where}\quad |\theta|_2 \le r, \ \max_j |\theta_j| \le b

    lambda with kappa is the elastic net.

    Parameters
    ----------
    l2, l1 : float
        lambda and kappa, at least 0 and finite.
    radius, box : float
        r and b, above 0; ``inf`` for none. Not both: a ball cut by a box has no closed form.
    """

    l2: float = 0.0
    l1: float = 0.0
    radius: float = math.inf
    box: float = math.inf

    @property
    def parts(self) -> frozenset[PenaltyName]:
        """Names of the parts that have an effect."""
        doing: dict[PenaltyName, bool] = {
            "l2": self.l2 > 0,
            "l1": self.l1 > 0,
            "radius": math.isfinite(self.radius),
            "box": math.isfinite(self.box),
        }
        return frozenset(name for name, does in doing.items() if does)

    @property
    def smooth(self) -> bool:
        """True for the l2 penalty alone (or none)."""
        return self.parts <= {"l2"}

    @property
    def rest(self) -> Penalty:
        """The penalty without its l2 part, which problems include."""
        return replace(self, l2=0.0)

    @property
    def params(self) -> NDArray[np.float64]:
        """lambda, kappa, r and b, as compiled steps take them, shape (4,)."""
        return np.array([self.l2, self.l1, self.radius, self.box])

    def value(self, theta: NDArray[np.float64]) -> float:
        """Return R at a theta, shape (d,), within radius and box."""
        return 0.5 * self.l2 * float(theta @ theta) + self.l1 * float(np.abs(theta).sum())

    def prox(self, point: NDArray[np.float64], size: float) -> NDArray[np.float64]:
        r"""Return :math:`\operatorname{argmin}_\theta R(\theta) + |\theta - v|^2 / (2 \eta)`.

        Soft thresholding at :math:`\eta \kappa`, shrinking by :math:`1 / (1 + \eta \lambda)`,
        and the projection onto box or ball, in this order: for each coordinate, and for a
        length, the constrained minimizer of a convex function is the nearest point to the
        unconstrained one.

        Parameters
        ----------
        point : ndarray of float64, shape (..., d)
            v; the last axis holds one parameter vector.
        size : float
            eta > 0.
        """
        if self.l1 > 0:
            point = np.sign(point) * np.maximum(np.abs(point) - size * self.l1, 0.0)
        shrunk = point * (1.0 / (1.0 + size * self.l2))
        return self._projected(shrunk)

    def _projected(self, point: NDArray[np.float64]) -> NDArray[np.float64]:
        if math.isfinite(self.box):
            return np.clip(point, -self.box, self.box)
        if math.isfinite(self.radius):
            # Divided by the largest entry first: squares of large numbers would overflow.
            top = np.abs(point).max(axis=-1, keepdims=True, initial=0.0)
            unit = point / np.where(top > 0, top, 1.0)
            length = top * np.sqrt(np.square(unit).sum(axis=-1, keepdims=True))
            return point * np.where(length > self.radius, self.radius / np.maximum(length, self.radius), 1.0)
        return point

    def optimality(self, theta: NDArray[np.float64], gradient: NDArray[np.float64]) -> float:
        r"""Return the distance of theta from minimizing risk plus penalty.

        The length of :math:`\theta - \operatorname{prox}(\theta - g)`, the step of a proximal
        gradient method with eta = 1: 0 exactly at minimizers, and the length of the
        gradient where there is no more than the l2 penalty.

        Parameters
        ----------
        theta : ndarray of float64, shape (d,)
        gradient : ndarray of float64, shape (d,)
            g, of the risk with the l2 penalty in it.
        """
        if self.smooth:
            return float(np.linalg.norm(gradient))
        return float(np.linalg.norm(theta - self.rest.prox(theta - gradient, 1.0)))


@dataclass(frozen=True)
class Fit:
    """Parameters that an optimizer found, with their distance from an optimum.

    Attributes
    ----------
    theta : ndarray of float64, shape (d,)
        Parameters.
    optimality : float
        Euclidean norm of the gradient of the regularized objective at theta; with more than
        the l2 penalty, `Penalty.optimality`. Of a solver of risks that are not smooth, the
        duality gap.
    iterations : int
        Number of iterations.
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

    def value_and_gradient(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the objective and its gradient, shape (d,)."""

    def hessian(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the second derivatives, shape (d, d)."""


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

    derived_forms: ClassVar[Mapping[str, tuple[str, ...]]] = {"kernel": ("step",)}

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
        """Return the number of floats of state that a contender needs."""
        return 0

    def unaveraged(self, steps: int) -> int:
        """Return the number of first iterates, of `steps`, that the average leaves out."""
        return 0

    def kernel(self, penalty: Penalty) -> Kernel | None:
        """Return the compiled step (`STEP`) for this penalty, or None: interpreted."""
        return None


class Solver(Optimizer):
    """An optimizer that gets the whole problem of a block.

    Attributes
    ----------
    needs : frozenset of Property
        Declarations of a surrogate that the solver needs.
    budget : str or None
        The parameter that bounds `Fit.iterations`; None: it needs no bound.
    """

    needs: ClassVar[frozenset[Property]] = frozenset()
    budget: ClassVar[str | None] = None

    @abstractmethod
    def solve(self, problem: Problem) -> Fit:
        """Minimize, from theta = 0, to the solver's own tolerance."""
