"""The true risk of every order, exactly, and which orders are right."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from rankbench.certify.laws import Law
from rankbench.discounts import exact_discounts, exact_gains
from rankbench.errors import SpecError
from rankbench.kinds.exact import ExactScores
from rankbench.kinds.loss import Loss
from rankbench.losses.err import ERR
from rankbench.losses.ndcg import NDCG
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement
from rankbench.losses.precision import Precision
from rankbench.satisfaction import exact_satisfaction

__all__ = ["ItemOrder", "TrueLoss", "orders_of", "true_loss"]

ItemOrder: TypeAlias = tuple[int, ...]
"""Items from 0, the best first, without ties."""


@dataclass(frozen=True)
class TrueLoss:
    """A loss with its tables in rational numbers.

    Attributes
    ----------
    loss : Loss
    graphs : bool
        Whether it is of graphs.
    table : tuple of Fraction
        Discounts ``1/F(1), ..., 1/F(m)``; empty for graphs.
    """

    loss: Loss
    graphs: bool
    table: tuple[Fraction, ...] = ()

    def gains(self, scores: ExactScores) -> list[Fraction]:
        """Return G(s_j).

        Raises
        ------
        SpecError
            They are irrational.
        """
        if isinstance(self.loss, ERR):
            found = exact_satisfaction(self.loss.gain, scores, self.loss.top)
        elif isinstance(self.loss, NDCG):
            found = exact_gains(self.loss.gain, scores)
        else:
            found = list(scores)
        if found is None:
            raise SpecError(f"the gains of {self.loss} are irrational for these scores: take whole grades and exp2")
        return found

    def risk(self, law: Law, order: ItemOrder) -> Fraction:
        """Return the expected loss of an order, exactly."""
        if self.graphs and not getattr(self.loss, "normalize", False):
            return self._value(law.mean, order)
        return sum((weight * self._value(s, order) for weight, s in law.support), Fraction(0))

    def _value(self, structure: Any, order: ItemOrder) -> Fraction:
        if isinstance(structure, Mapping):
            place = {item: at for at, item in enumerate(order)}
            total = sum((w for (i, j), w in structure.items() if place[i] > place[j]), Fraction(0))
            if isinstance(self.loss, PairwiseDisagreement) and self.loss.normalize and structure:
                return total / sum(structure.values(), Fraction(0))
            return total
        gained = self.gains(structure)
        if isinstance(self.loss, ERR):
            earned, seen = Fraction(0), Fraction(1)
            for item, discount in zip(order, self.table, strict=True):
                earned += discount * seen * gained[item]
                seen *= 1 - gained[item]
            return 1 - earned
        best = sum((g * d for g, d in zip(sorted(gained, reverse=True), self.table, strict=True)), Fraction(0))
        if best <= 0 or not any(structure):
            return Fraction(0)
        return 1 - sum((gained[i] * d for i, d in zip(order, self.table, strict=True)), Fraction(0)) / best

    def to_json(self) -> dict[str, Any]:
        """Return the loss as a certificate has it."""
        if isinstance(self.loss, PairwiseDisagreement):
            return {"name": "pairwise", "normalize": self.loss.normalize}
        table = [str(d) for d in self.table]
        if isinstance(self.loss, ERR):
            return {"name": "err", "top": int(self.loss.top), "discounts": table}
        return {"name": "ndcg", "gain": getattr(self.loss, "gain", "identity"), "discounts": table}


def true_loss(loss: Loss, m: int) -> TrueLoss:
    """Return a loss in rational numbers.

    Raises
    ------
    SpecError
        A loss that has none, or that calls every order of so few items right.
    """
    if isinstance(loss, PairwiseDisagreement):
        return TrueLoss(loss, True)
    if isinstance(loss, Precision):
        if loss.k >= m:
            raise SpecError(f"{loss} calls every order of {m} items right: take precision:k=1")
        return TrueLoss(loss, False, tuple(Fraction(int(j < loss.k)) for j in range(m)))
    if isinstance(loss, NDCG) and loss.gain in ("exp2", "identity"):
        return TrueLoss(loss, False, tuple(exact_discounts(loss.discount, m, loss.cutoff)))
    if isinstance(loss, ERR) and loss.gain == "exp2" and loss.top == int(loss.top):
        return TrueLoss(loss, False, tuple(exact_discounts(loss.discount, m, loss.cutoff)))
    raise SpecError(f"loss {loss} cannot be written in rational numbers; take gain=exp2 or identity")


def orders_of(loss: TrueLoss, law: Law) -> tuple[list[ItemOrder], list[ItemOrder], dict[ItemOrder, Fraction]]:
    """Return the right orders, the wrong ones, and the risk of each.

    Orders without ties are enough: a tie's risk is that of one way to break it (10), or the mean
    over all, so that the closed cone of a weak order lies in that of an order of its own side.
    """
    risks = {order: loss.risk(law, order) for order in itertools.permutations(range(law.items))}
    least = min(risks.values())
    right = [order for order, risk in risks.items() if risk == least]
    return right, [order for order in risks if order not in right], risks
