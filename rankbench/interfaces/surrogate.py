"""Surrogates are convex functions to minimize; losses judge rankings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import Component, StructureKind
from rankbench.core.spec import Spec, Value
from rankbench.errors import SpecError
from rankbench.interfaces.exact import (
    BayesRisk,
    ConvexPhi,
    ExactGraph,
    ExactScores,
    ExactSurrogate,
    enumerated,
    pairwise_terms,
    weights_of,
)
from rankbench.kernels import Kernel


class Surrogate(Component):
    """A convex stand-in for a loss; smaller is better."""

    kind: ClassVar[str] = "surrogate"
    structure: ClassVar[StructureKind]


class ScoreSurrogate(Surrogate):
    """A surrogate of score structures, in two steps: structure to target, target to value.

    The first step does not depend on alpha and is shared by all contenders that use it.
    A surrogate that declares ``quadratic`` promises
    ``value = |alpha - target|^2 / (2 m)``, which the exact solver relies on. A surrogate that
    declares ``target-linear`` promises a gradient that is affine in the target: solvers then
    use mean targets. At ``k=inf`` solvers do not need this promise.
    """

    derived_forms: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "target_kernel": ("target",),
        "gradient_kernel": ("value_and_gradient",),
        "exact": ("target", "value_and_gradient"),
    }
    structure: ClassVar[StructureKind] = "scores"

    @abstractmethod
    def target(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the vector that alpha is fitted to, shape (m,), from a score structure, shape (m,)."""

    @abstractmethod
    def value_and_gradient(
        self, alpha: NDArray[np.float64], target: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the value and its gradient in alpha, shape (m,)."""

    def hessian(self, alpha: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the second derivatives in alpha, shape (m, m).

        Asked for only if ``smooth`` is declared. Unless overridden, central differences of
        the gradient: 2m evaluations, accurate to about 1e-9 of the gradient's scale.
        """
        steps = np.cbrt(np.finfo(np.float64).eps) * np.maximum(np.abs(alpha), 1.0)
        columns = []
        for i, step in enumerate(steps):
            move = np.zeros_like(alpha)
            move[i] = step
            up, down = self.value_and_gradient(alpha + move, target), self.value_and_gradient(alpha - move, target)
            columns.append((up[1] - down[1]) / (2 * step))
        turned = np.stack(columns)
        return np.asarray(0.5 * (turned + turned.T), np.float64)

    def exact(self, scores: ExactScores) -> ExactSurrogate | None:
        """Return phi(., s) of one score structure in rational numbers, or None: certificates are numerical.

        Up to a number that does not depend on alpha it must be what `value_and_gradient`
        computes; `rankbench certify` compares the two.

        .. versionadded:: 0.1
        """
        return None

    def exact_rule(self) -> Mapping[str, object] | None:
        """Return the rule of docs/reference/certificate-format.md by which `exact` makes terms of a structure, or None.

        A checker follows a rule by itself; without one it takes the terms on trust.

        .. versionadded:: 0.1
        """
        return None

    def target_kernel(self) -> Kernel | None:
        """Return the compiled `target` (signature `TARGET`), or None: interpreted."""
        return None

    def gradient_kernel(self) -> Kernel | None:
        """Return the compiled `value_and_gradient` (`GRADIENT`), or None: interpreted."""
        return None


class PairwiseSurrogate(Surrogate):
    """A surrogate of edge structures: ``sum_ij s_ij phi(alpha_i - alpha_j)``.

    Only the scalar phi is needed; `phi`, `dphi` and `ddphi` are elementwise NumPy
    functions of the margins. `ddphi` is asked for only if ``smooth`` is declared.

    Where the weights enter in another way, `edges` turns the weight of an edge into a
    factor and an offset: ``sum_ij w'_ij phi(alpha_i - alpha_j - o_ij)``.
    """

    derived_forms: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "phi_kernels": ("phi", "dphi", "ddphi"),
        "edges_kernel": ("edges",),
        "exact_phi": ("phi", "dphi"),
        "exact_edge": ("edges",),
    }
    structure: ClassVar[StructureKind] = "edges"

    @abstractmethod
    def phi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return phi at each margin ``alpha_winner - alpha_loser``."""

    @abstractmethod
    def dphi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the derivative (a subgradient at kinks) at each margin."""

    def ddphi(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the second derivative at each margin."""
        promised = ", which its property 'smooth' promises" if "smooth" in self.properties else ""
        raise TypeError(f"surrogate {self.name!r} is not twice differentiable: it has no ddphi{promised}")

    def edges(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the factor and the offset of each edge from its positive weight: by default the weight, and 0."""
        return weights, np.zeros_like(weights)

    @property
    def linear(self) -> bool:
        """True if `edges` changes nothing: the surrogate is linear in the structure."""
        return type(self).edges is PairwiseSurrogate.edges

    def exact_phi(self) -> ConvexPhi | None:
        """Return phi in exact rational pieces or as an expression, or None: certificates are numerical.

        .. versionadded:: 0.1
        """
        return None

    def exact_edge(self, weight: Fraction) -> tuple[Fraction, Fraction] | None:
        """Return factor and offset of an edge with this weight > 0, as `edges` does, or None if they are irrational.

        .. versionadded:: 0.1
        """
        return (weight, Fraction(0)) if self.linear else None

    def exact_rule(self) -> Mapping[str, object] | None:
        """Return the rule of docs/reference/certificate-format.md for factors and offsets of weights, or None.

        A checker follows a rule by itself; without one it takes the terms on trust.

        .. versionadded:: 0.1
        """
        return {"rule": "weighted", "power": 1} if self.linear else None

    def exact(self, m: int, graph: ExactGraph) -> ExactSurrogate | None:
        """Return phi(., Y) of one graph over m items in rational numbers, made of `exact_phi` and `exact_edge`."""
        phi = self.exact_phi()
        edges = {pair: self.exact_edge(weight) for pair, weight in graph.items() if weight}
        if phi is None or None in edges.values():
            return None
        return pairwise_terms(m, {pair: edge for pair, edge in edges.items() if edge is not None}, phi)

    def edges_kernel(self) -> Kernel | None:
        """Return the compiled `edges` (`WEIGH`), or None: interpreted. Not called if `linear`."""
        return None

    def phi_kernels(self) -> tuple[Kernel, Kernel, Kernel | None] | None:
        """Return compiled phi, dphi and ddphi (`PHI`; ddphi None unless smooth), or None."""
        return None


class Loss(Component):
    """A loss of scores alpha against one query's structure.

    Ties in alpha are averaged over unless the loss's source says otherwise.

    Attributes
    ----------
    structure : StructureKind
        Structure that it is judged against: ``scores``, shape (m,), or ``edges``, an adjacency
        matrix of shape (m, m).
    direction : {"minimize", "maximize"}
        Whether less or more of it is better.
    range : tuple of float
        Smallest and largest possible value whatever the parameters, ``inf`` where
        unbounded; `bounds` narrows it for one set of parameters.
    grades : bool
        Whether it counts items from a grade on, so that it needs grades, not scores on any scale.
    truncates : bool
        Whether nothing counts but items before the cutoff and the number of relevant ones. The end of a run is then
        a cutoff.
    at : dict of str to Value
        Parameters of ``name@k`` beside the cutoff k.
    """

    kind: ClassVar[str] = "loss"
    grades: ClassVar[bool] = False
    truncates: ClassVar[bool] = False
    at: ClassVar[Mapping[str, Value]] = {}
    derived_forms: ClassVar[Mapping[str, tuple[str, ...]]] = {"kernel": ("value",), "ranked_kernel": ("value",)}
    structure: ClassVar[StructureKind] = "scores"
    direction: ClassVar[Literal["minimize", "maximize"]] = "minimize"
    range: ClassVar[tuple[float, float]]

    @classmethod
    def from_spec(cls, spec: Spec) -> Self:
        """Validate `spec`'s parameters into a loss; ``name@k`` is ``name:cutoff=k`` with the parameters in `at`.

        Raises
        ------
        SpecError
            As of `Component.from_spec`; or a loss without a cutoff is written with one.
        """
        if "at" not in spec.params:
            return super().from_spec(spec)
        given = {key: value for key, value in spec.params.items() if key != "at"}
        if "cutoff" not in cls.parameters() or "cutoff" in given:
            why = "has a cutoff already" if "cutoff" in given else "has no parameter cutoff"
            raise SpecError(f"loss {cls.name!r} {why}, so do not write {cls.name}@{spec.params['at']}")
        return super().from_spec(Spec(spec.name, {**cls.at, "cutoff": spec.params["at"], **given}))

    @abstractmethod
    def value(self, alpha: NDArray[np.float64], structure: NDArray[np.float64]) -> float:
        """Return the loss of one query's scores alpha, shape (m,); both arrays may be read-only."""

    def bounds(self) -> tuple[float, float]:
        """Return the smallest and largest possible value with these parameters."""
        return self.range

    def expected(
        self, alpha: NDArray[np.float64], structures: NDArray[np.float64], probabilities: NDArray[np.float64]
    ) -> float:
        """Return the mean loss of alpha over S structures, with probabilities of shape (S,): [DMJ13]_ (2)."""
        values = [self.value(alpha, structure) for structure in structures]
        return float(np.dot(probabilities, values))

    def bayes_risk(
        self, structures: NDArray[np.float64], probabilities: NDArray[np.float64] | None = None
    ) -> BayesRisk:
        """Return the least expected loss of one query over all alpha, where the law of s is known.

        The excess risk of a contender is its loss beyond that. Unless a loss knows better, all
        orders are tried, of at most 8 items; where ties are averaged over, none of them is
        better than every order.

        Parameters
        ----------
        structures : ndarray of float64, shape (S, m) or (S, m, m)
            The values that s takes; of a single one ``structure[None]``.
        probabilities : ndarray of float64, shape (S,), optional
            Of these values; equal ones unless given.

        Raises
        ------
        InputError
            Shapes that do not fit, no finite numbers, no probabilities; or too many items.
        """
        weights = weights_of(structures, probabilities, 1 if self.structure == "scores" else 2)
        sign = 1.0 if self.direction == "minimize" else -1.0
        found = enumerated(lambda alpha: sign * self.expected(alpha, structures, weights), structures.shape[1])
        return BayesRisk(sign * found.lower, sign * found.upper, found.alpha)

    def kernel(self) -> Kernel | None:
        """Return the compiled form (`LOSS` or `MATRIX_LOSS`), or None: interpreted."""
        return None

    def ranked_kernel(self) -> tuple[Kernel, int] | None:
        """Return a compiled form (`RANKED`) and its cutoff, if the loss depends on the top 16 at most, or None.

        `rankbench.losses.evaluate.evaluate_all` computes several of them with one sort.
        """
        return None
