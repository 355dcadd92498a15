"""Reading what is asked, and writing down who the surrogate is."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.certify.certificate import Certificate
from rankbench.certify.check import Rejected, check
from rankbench.certify.laws import Law, law_from_json
from rankbench.certify.seen import ExactRisk
from rankbench.certify.truth import ItemOrder
from rankbench.digest import distribution_of
from rankbench.errors import InputError, PluginError, RankbenchError, SpecError
from rankbench.kinds.surrogate import Surrogate

__all__ = [
    "accepted_certificate",
    "descending_items",
    "linear_pieces",
    "read_law",
    "seconds_of",
    "source_hash",
    "written_surrogate",
]


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
