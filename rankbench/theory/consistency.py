"""Whether minimizing a surrogate ends in a ranking of least risk, [DMJ13]_ Definition 3."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np

from rankbench.kinds.loss import Loss
from rankbench.kinds.surrogate import Surrogate
from rankbench.theory.cones import least_risk_on_cone, representative
from rankbench.theory.risks import AggregationName, surrogate_risk
from rankbench.theory.settings import Setting

__all__ = ["TOLERANCE", "Consistency", "consistency_in"]

TOLERANCE = 1e-9
"""Differences of risks below this are called 0: double precision cannot tell them apart."""


@dataclass(frozen=True)
class Consistency:
    """What minimizing a surrogate does on one population.

    Attributes
    ----------
    gap : float
        Least surrogate risk of the orders that are not optimal, less that of the optimal
        ones. Above 0: structure-consistent here. Below 0: every minimizing sequence ends
        in an order that is not optimal. 0: some do. inf where all orders are optimal.
    excess : float
        Largest true risk, in excess of the least one, that scores can keep having while
        their surrogate risk goes to its infimum. 0 where the gap is above 0.
    """

    gap: float
    excess: float

    @property
    def verdict(self) -> float:
        """1: consistent on this population; -1: not; 0: at the boundary, which is not either."""
        return float(np.sign(self.gap))


def consistency_in(
    surrogate: Surrogate, setting: Setting, loss: Loss, aggregation: AggregationName = "none"
) -> Consistency:
    """Compare the surrogate's infima over the orders of least true risk and over the others.

    Only strict orders are looked at. That is enough for losses whose value at a tie lies
    between those of the orders that break it, as it does if ties are averaged over or
    charged in one direction (10): the closed cone of every order without least risk, ties
    or not, then lies in that of a strict one.

    Parameters
    ----------
    surrogate : Surrogate
    setting : Setting
        On few items: all m! orders are gone through.
    loss : Loss
    aggregation : {"none", "mean", "difference"}
        What the surrogate sees, see `surrogate_risk`.
    """
    risk = surrogate_risk(surrogate, setting, loss, aggregation)
    orders = list(permutations(range(setting.structures[0].shape[0])))
    smooth, shift = ("smooth" in surrogate.properties, "shift-invariant" in surrogate.properties)
    infima = np.array([least_risk_on_cone(risk, order, smooth, shift) for order in orders])
    law = np.array(setting.structures), np.array(setting.probabilities)
    risks = np.array([loss.expected(representative(order), *law) for order in orders])
    excess = risks - risks.min()
    excess[excess <= TOLERANCE] = 0.0
    optimal = excess == 0
    if optimal.all():
        return Consistency(np.inf, 0.0)
    gap = float(infima[~optimal].min() - infima[optimal].min())
    if abs(gap) <= TOLERANCE:
        gap = 0.0
    attained = infima <= infima.min() + TOLERANCE
    return Consistency(gap, float(excess[attained].max()))
