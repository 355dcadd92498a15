"""A question names surrogate, loss, items and noise, and decides single laws."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rankbench.certificates.certificate import law_from_json
from rankbench.certificates.floats import float_risk, on_cone, somewhere
from rankbench.certificates.laws import Law, NoiseClass
from rankbench.certificates.numerical import decide_numerically, lowest
from rankbench.certificates.pointwise import PointFinding, decide_at
from rankbench.certificates.probe import probe, risk_of
from rankbench.certificates.search import draws
from rankbench.certificates.true_risk import (
    EXACT_AGGREGATORS,
    Aggregated,
    ExactRisk,
    ItemOrder,
    TrueLoss,
    exact_risk,
    law_after_aggregation,
    orders_of,
)
from rankbench.errors import InputError
from rankbench.interfaces.surrogate import Surrogate

EDGE = 1e-9
"""Gap that stands for an equality, which is a violation too."""

SEEN = 1e-7
"""Least margin that the search looks for: smaller ones may be rounding."""

MOST_BYTES = 1_000_000
"""Of a file with a law."""

PROBED = 3
"""Laws on which a surrogate is looked at before anything is proved of it."""


@dataclass(frozen=True)
class Question:
    """Question whether a surrogate is consistent for a loss, in a class of noise.

    Attributes
    ----------
    surrogate : Surrogate
    loss : TrueLoss
    noise : {"low", "dag", "any", "independent"}
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

    def exact(self, law: Law) -> ExactRisk | None:
        """Return the surrogate's risk under a law in exact numbers; None if it does not state itself so."""
        if self.aggregated is not None and self.aggregated.aggregator.name not in EXACT_AGGREGATORS:
            return None
        return exact_risk(self.surrogate, law_after_aggregation(law, self.aggregated), self.loss)

    def decide(self, law: Law) -> tuple[PointFinding, ExactRisk | None]:
        """Decide one law, with a proof: in exact numbers or intervals if the surrogate states itself so."""
        right, wrong = orders_of(self.loss, law)
        exact = self.exact(law)
        if exact is not None:
            return decide_at(exact.risk, right, wrong), exact
        risk = risk_of(self.surrogate, law_after_aggregation(law, self.aggregated), self.loss)
        return decide_numerically(risk, self.items, self._shift_invariant, right, wrong), None

    def judge(self, law: Law) -> float:
        """Return the margin of wrong orders under a law, in double precision; 0 or less: they lose."""
        right, wrong = orders_of(self.loss, law)
        if not wrong:
            return -1.0
        exact = self.exact(law)
        if exact is None or exact.linear_pieces:
            finding, _ = self.decide(law)
            if finding.verdict == "VIOLATION_BOUNDARY":
                return EDGE
            return finding.margin if finding.verdict == "VIOLATION" else -1.0
        risk = float_risk(exact.risk)
        alpha = somewhere(risk, self.items)
        if descending_items(alpha) in right:
            return -1.0
        least, margin = risk(alpha)[0], math.inf
        for order in right:
            margin = min(margin, risk(on_cone(risk, order))[0] - least)
            if margin < SEEN:
                return -1.0
        return margin

    def suspects(self, law: Law) -> bool:
        """Return whether the least point anywhere may be in a wrong order: cheap, in double precision."""
        right, wrong = orders_of(self.loss, law)
        if not wrong:
            return False
        exact = self.exact(law)
        if exact is None:
            risk = risk_of(self.surrogate, law_after_aggregation(law, self.aggregated), self.loss)
            return descending_items(lowest(risk, self.items, self._shift_invariant)) not in right
        return exact.linear_pieces or descending_items(somewhere(float_risk(exact.risk), self.items)) not in right

    @property
    def _shift_invariant(self) -> bool:
        return "shift-invariant" in self.surrogate.properties


def descending_items(alpha: NDArray[np.float64]) -> ItemOrder:
    """Return the items by descending scores, ties by number."""
    return tuple(sorted(range(len(alpha)), key=lambda i: -alpha[i]))


def read_law(mu: object, items: int) -> Law:
    """Read a law from a file or plain values; the number of items is a certificate's, else `items`."""
    if isinstance(mu, str | Path):
        try:
            with Path(mu).open("rb") as file:
                content = file.read(MOST_BYTES + 1)
            if len(content) > MOST_BYTES:
                raise InputError(f"{mu} has more than {MOST_BYTES:,} bytes, which is the most of a mu")
            mu = json.loads(content.decode("utf-8"))
        except OSError as error:
            raise InputError(f"{mu}: {error.strerror}") from None
        except InputError:
            raise
        except (ValueError, RecursionError) as error:
            raise InputError(f"{mu} is no JSON text: {str(error)[:100]}") from None
    if isinstance(mu, Mapping):
        return law_from_json(mu.get("mu"), mu.get("items", items))
    return law_from_json(mu, items)


def probe_surrogate(asked: Question) -> None:
    """Reject a surrogate that breaks a promise on some laws: see `rankbench.certificates.probe.probe`."""
    some = itertools.islice(draws(asked.loss.graphs, asked.noise, asked.items, 12345), PROBED)
    probe(asked.surrogate, [law_after_aggregation(one, asked.aggregated) for one in some], asked.loss)
