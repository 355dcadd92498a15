"""What is asked of `rankbench.certify`: what does not go together is refused."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, get_args

from rankbench.certify.classes import decidable
from rankbench.certify.laws import Law, NoiseClass
from rankbench.certify.probe import Probed, probe
from rankbench.certify.search import draws
from rankbench.certify.seen import EXACT_AGGREGATORS, Aggregated, ExactRisk, exact_risk, seen_law
from rankbench.certify.truth import TrueLoss, true_loss
from rankbench.errors import PluginError, SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.loss import Loss
from rankbench.kinds.surrogate import PairwiseSurrogate, Surrogate

__all__ = ["Asked"]

PROBED = 3
"""Laws on which a surrogate is looked at before anything is proved of it."""


SOME_WEIGHTS = (Fraction(1, 3), Fraction(1), Fraction(2), Fraction(7))


@dataclass(frozen=True)
class Asked:
    """A question: whether a surrogate is consistent for a loss, in a class of noise.

    Attributes
    ----------
    surrogate : Surrogate
    loss : TrueLoss
    noise : {"low", "dag", "any"}
    items : int
        2 to 5.
    aggregated : Aggregated, optional
    seed : int
        Of the search.
    """

    surrogate: Surrogate
    loss: TrueLoss
    noise: NoiseClass
    items: int
    aggregated: Aggregated | None
    seed: int

    @classmethod
    def from_parts(
        cls,
        surrogate: Surrogate,
        loss: Loss,
        noise: NoiseClass,
        items: int,
        aggregator: Aggregator | None,
        k: float,
        law: Law | None,
        seed: int,
    ) -> Self:
        """Return the question that these ask; a law says how many items there are.

        Raises
        ------
        SpecError
            They are out of bounds, or do not go together.
        """
        if noise not in get_args(NoiseClass):
            raise SpecError(f"noise is low, dag or any, not {noise!r}")
        if isinstance(items, bool) or not isinstance(items, int) or not 2 <= items <= 5:
            raise SpecError(f"2 to 5 items can be certified, not {items}")
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise SpecError(f"a seed is a whole number, 0 or more, not {seed!r}")
        if noise != "any" and getattr(loss, "normalize", False):
            raise SpecError(
                f"{noise} noise is a condition on the mean of the graphs as they are, which {loss} weighs anew; take "
                "--noise any, or the loss without normalize"
            )
        aggregated = _aggregated(surrogate, aggregator, k)
        if law is not None:
            items = law.items
        truth = true_loss(loss, items)
        if aggregated is not None and not truth.graphs:
            raise SpecError("aggregation is of judgments that are graphs: take --loss pairwise")
        return cls(surrogate, truth, noise, items, aggregated, seed)

    @property
    def shift_invariant(self) -> bool:
        """Whether the surrogate declares that only differences of scores matter."""
        return "shift-invariant" in self.surrogate.properties

    def probe(self) -> Probed:
        """Refuse a surrogate that breaks its promises, see `rankbench.certify.probe.probe`."""
        some = draws(self.loss.graphs, self.noise, self.items, 12345)
        taken = [next(some) for _ in range(PROBED)]
        return probe(self.surrogate, [seen_law(law, self.aggregated) for law in taken], self.loss)

    def exact(self, seen: Law) -> ExactRisk | None:
        """Return the surrogate's risk in exact numbers, of what it sees; None if it does not state itself so."""
        if self.aggregated is not None and self.aggregated.aggregator.name not in EXACT_AGGREGATORS:
            return None
        return exact_risk(self.surrogate, seen, self.loss)

    def decidable(self) -> bool:
        """Return whether the whole class can be decided, see `rankbench.certify.classes`.

        Raises
        ------
        PluginError
            The surrogate's rule says that it is linear in the graph, and it is not.
        """
        if not (self.loss.graphs and isinstance(self.surrogate, PairwiseSurrogate)):
            return False
        name = "" if self.aggregated is None else self.aggregated.aggregator.name
        whole = self.aggregated is None or math.isinf(self.aggregated.k) or name == "average-adjacency"
        plain = not getattr(self.loss.loss, "normalize", False)
        rule = self.surrogate.exact_rule() or {}
        linear = self.surrogate.linear and rule.get("rule") == "weighted" and rule.get("power") == 1
        if linear and any(self.surrogate.exact_edge(weight) != (weight, Fraction(0)) for weight in SOME_WEIGHTS):
            raise PluginError(
                f"surrogate {self.surrogate} says by its rule that edges enter as they are, and makes others of them"
            )
        return whole and plain and decidable(self.surrogate.exact_phi(), linear, name, self.items)


def _aggregated(surrogate: Surrogate, aggregator: Aggregator | None, k: float) -> Aggregated | None:
    if aggregator is None:
        if k != math.inf:
            raise SpecError("k goes with an aggregator")
        return None
    if not (k == math.inf or (1 <= k <= 100 and k == int(k))):
        raise SpecError(f"k is a whole number from 1 to 100, or inf, not {k}")
    if aggregator.structure != surrogate.structure:
        raise SpecError(
            f"surrogate {surrogate} wants {surrogate.structure}, aggregator {aggregator} makes {aggregator.structure}"
        )
    return Aggregated(aggregator, k)
