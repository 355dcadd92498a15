"""A question names surrogate, loss, items and noise; rankbench reads and rejects it here."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray

from rankbench.certify.certificate import Certificate
from rankbench.certify.check import check
from rankbench.certify.checking.numbers import Rejected
from rankbench.certify.classes import decidable
from rankbench.certify.laws import Law, NoiseClass, law_from_json
from rankbench.certify.probe import Probed, probe
from rankbench.certify.search import draws
from rankbench.certify.true_risk import (
    EXACT_AGGREGATORS,
    Aggregated,
    ExactRisk,
    ItemOrder,
    TrueLoss,
    exact_risk,
    seen_law,
    true_loss,
)
from rankbench.core.code_digest import distribution_of
from rankbench.errors import InputError, PluginError, RankbenchError, SpecError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.surrogate import Loss, PairwiseSurrogate, Surrogate

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


def seconds_of(budget: float | str) -> float:
    """Return seconds of ``10``, ``"10s"``, ``"500ms"`` or ``"2m"``.

    Raises
    ------
    SpecError
        Something else, or not above 0.
    """
    text = str(budget).strip()
    units = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
    unit = text[len(text.rstrip("smh")) :]
    try:
        seconds = float(text[: len(text) - len(unit)]) * units[unit]
    except (ValueError, KeyError):
        seconds = math.nan
    if not 0 < seconds < 1e7:
        raise SpecError(f"a budget is a number of seconds above 0, as in 10s, 500ms or 2m, not {text!r}")
    return seconds


def descending_items(alpha: NDArray[np.float64]) -> ItemOrder:
    """Return the items by descending scores, ties by number."""
    return tuple(sorted(range(len(alpha)), key=lambda i: -alpha[i]))


def linear_pieces(exact: ExactRisk) -> bool:
    """Return whether a risk is piecewise linear, by exact pieces."""
    return bool(exact.risk.terms) and all(term.phi.piecewise_linear for term in exact.risk.terms)


def read_law(mu: object, items: int) -> Law:
    """Read a law from a file or plain values; `items` is how many, where graphs do not tell."""
    if isinstance(mu, str | Path):
        file = Path(mu)
        try:
            with file.open("rb") as opened:
                content = opened.read(1_000_001)
            if len(content) > 1_000_000:
                raise InputError(f"{file} has more than 1,000,000 bytes, which is the most of a mu")
            written = json.loads(content.decode("utf-8"))
        except OSError as error:
            raise InputError(f"{file}: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"{file} is no JSON text: {str(error)[:100]}") from None
        return law_from_json(written, None if isinstance(written, dict) else _known(written, items))
    return law_from_json(mu, _known(mu, items))


def _known(written: object, items: int) -> int | None:
    """Return the number of items of a law of graphs, which need not name all of them; scores say it themselves."""
    graphs = isinstance(written, list | tuple) and any(
        isinstance(entry, Mapping) and isinstance(entry.get("structure"), Mapping) for entry in written
    )
    return items if graphs else None


def accepted_certificate(certificate: Certificate) -> Certificate:
    """Return a certificate that the checker accepts: the search does not vouch for itself.

    Raises
    ------
    PluginError
        It does not, and the surrogate is a plugin's, which may state itself otherwise than it computes.
    RankbenchError
        It does not, and the surrogate is rankbench's own.
    """
    try:
        check(certificate.to_bytes())
    except Rejected as error:
        surrogate = certificate.content["surrogate"]
        if not surrogate["distribution"].startswith("rankbench "):
            raise PluginError(
                f"the checker rejects what surrogate {surrogate['name']} says of itself in exact numbers: {error}"
            ) from None
        raise RankbenchError(
            f"the checker rejects a certificate that was just made, please report it: {error}"
        ) from None
    return certificate


def written_surrogate(surrogate: Surrogate, exact: bool) -> dict[str, Any]:
    """Return who the surrogate is: name, parameters, distribution, the hash of its source, and its rule if exact."""
    from importlib.metadata import PackageNotFoundError, version

    name = distribution_of(type(surrogate).__module__)
    try:
        distribution = f"{name} {version(name)}" if name else "unknown"
    except PackageNotFoundError:
        distribution = "unknown"
    rule = surrogate.exact_rule() if exact and hasattr(surrogate, "exact_rule") else None
    parameters = {key: _plain(value) for key, value in surrogate.config().items() if key != "name"}
    return {
        "name": surrogate.name,
        "parameters": parameters,
        "distribution": distribution,
        "source_sha256": source_hash(type(surrogate)),
        "rule": None if rule is None else {key: _plain(value) for key, value in rule.items()},
    }


def source_hash(defined: type) -> str:
    """Return the SHA-256 of the file that defines a class, or ``unknown``."""
    try:
        return hashlib.sha256(Path(inspect.getfile(defined)).read_bytes()).hexdigest()
    except (OSError, TypeError):
        return "unknown"


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf"
    return str(Fraction(value)) if isinstance(value, float) else str(value)
