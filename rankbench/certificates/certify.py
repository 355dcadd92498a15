"""The subcommand `rankbench certify` writes certificates, and `--verify` checks them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from rankbench.certificates.answer import answer_question
from rankbench.certificates.certificate import Certificate, source_hash
from rankbench.certificates.check import check_file, described, printable
from rankbench.certificates.checking.numbers import Rejected, Uncheckable
from rankbench.certificates.laws import NoiseClass
from rankbench.certificates.question import Question, read_law
from rankbench.certificates.true_risk import Aggregated, true_loss
from rankbench.core.text import seconds_of
from rankbench.errors import InputError, RankbenchError, SpecError, option
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.surrogate import Loss, Surrogate
from rankbench.plugin.manager import component_class, get

SHORT_LOSSES = {"pairwise": "pairwise-disagreement", "ndcg": "ndcg", "err": "err", "precision": "precision:k=1"}
"""Losses by a short name: precision is that of the first item."""


def certify(
    surrogate: Surrogate | str,
    *,
    loss: Loss | str = "pairwise",
    noise: NoiseClass = "low",
    items: int = 3,
    aggregator: Aggregator | str | None = None,
    k: float = math.inf,
    budget: float | str = "10s",
    laws: int | None = None,
    mu: Path | str | Sequence[Mapping[str, Any]] | None = None,
    seed: int = 0,
) -> Certificate:
    """Search for a counterexample to consistency, or for a proof of consistency ([DMJ13]_ Definition 3).

    Parameters
    ----------
    surrogate : Surrogate or str
        Convex, with value and gradient. One that states itself in exact numbers
        (`rankbench.interfaces.exact`) is proved of; of others the verdict is numerical.
    loss : Loss or str
        ``pairwise`` (10), ``ndcg`` (14), ``err`` (16), ``precision`` of the first item, or a
        loss with its parameters.
    noise : {"low", "dag", "any", "independent"}
        Of the mean graph: Definition 4, no cycle, or no condition. Laws of scores are in all three; ``independent``
        is of scores, which items then have independently.
    items : int
        2 to 5.
    aggregator : Aggregator or str, optional
        The surrogate sees ``s(Y_1..Y_k)`` of it, instead of single graphs.
    k : float
        Order of the aggregation; inf: of all judgments, so that the surrogate sees the limit.
    budget : float or str
        Seconds, as in ``10``, ``"10s"`` or ``"2m"``, for the search.
    laws : int, optional
        Laws that are searched at most, so that the result does not depend on the clock; of
        graphs, the second half has leads of many sizes.
    mu : path or list, optional
        The law to decide, instead of a search; as certificates have it.
    seed : int
        Of the search.

    Returns
    -------
    Certificate
        Checked by `rankbench.certificates.check` already.

    Raises
    ------
    SpecError
        Names or parameters that are not, or do not go together.
    InputError
        A mu that is no distribution, or not in the noise class.
    PluginError
        The surrogate breaks a promise: see `rankbench.certificates.probe.probe`.

    Examples
    --------
    >>> import rankbench
    >>> rankbench.certify("pairwise-logistic").verdict
    'VIOLATION'
    """
    law = None if mu is None else read_law(mu, items)
    asked = question_of(surrogate, loss, noise, items if law is None else law.items, aggregator, k, seed)
    return answer_question(asked, seconds_of(budget), laws, law)


def question_of(
    surrogate: Surrogate | str,
    loss: Loss | str,
    noise: NoiseClass,
    items: int,
    aggregator: Aggregator | str | None,
    k: float,
    seed: int,
) -> Question:
    """Return a question about components, given as names or objects; see `certify`.

    Raises
    ------
    SpecError
        Names or parameters that are not, or do not go together.
    """
    surrogate = get(Surrogate, surrogate) if isinstance(surrogate, str) else surrogate
    loss = get(Loss, SHORT_LOSSES.get(loss, loss)) if isinstance(loss, str) else loss
    aggregator = get(Aggregator, aggregator) if isinstance(aggregator, str) else aggregator
    if noise not in get_args(NoiseClass):
        raise SpecError(f"noise is low, dag, any or independent, not {noise!r}")
    if not isinstance(items, int) or not 2 <= items <= 5:
        raise SpecError(f"certify takes 2 to 5 items, not {items}")
    if not isinstance(seed, int) or seed < 0:
        raise SpecError(f"a seed is a whole number, 0 or more, not {seed!r}")
    if not (k == math.inf or (1 <= k <= 100 and k == int(k))):
        raise SpecError(f"k is a whole number from 1 to 100, or inf, not {k}")
    if noise != "any" and getattr(loss, "normalize", False):
        raise SpecError(
            f"{noise} noise is a condition on the mean graph, but {loss} first normalizes each graph; take "
            f"{option('noise', 'any')}, or the loss without normalize"
        )
    truth = true_loss(loss, items)
    if noise == "independent" and truth.graphs:
        raise SpecError(f"noise independent is of scores: take {option('loss')} err, ndcg or precision")
    if aggregator is None and k != math.inf:
        raise SpecError("k goes with an aggregator")
    if aggregator is not None and aggregator.structure != surrogate.structure:
        raise SpecError(
            f"surrogate {surrogate} wants {surrogate.structure}, aggregator {aggregator} makes {aggregator.structure}"
        )
    if aggregator is not None and not truth.graphs:
        raise SpecError(f"aggregation is of judgments that are graphs: take {option('loss', 'pairwise')}")
    aggregated = None if aggregator is None else Aggregated(aggregator, k)
    return Question(surrogate, truth, noise, items, aggregated, seed)


def verify(path: Path | str) -> tuple[bool, tuple[str, ...]]:
    """Check a certificate, and compare the hash of its surrogate's source with the installed source.

    For a surrogate whose formula the checker knows, nothing rests on the source. For others, what is
    taken on trust is the source's: another one than that of the certificate is a reason to reject it.

    Returns
    -------
    accepted : bool
    lines : tuple of str
        Lines to print.

    Raises
    ------
    InputError
        It cannot be read or checked.
    """
    try:
        found = check_file(path)
    except Rejected as error:
        return False, (printable(f"{path}: rejected: {error}"),)
    except Uncheckable as error:
        raise InputError(f"{path} was not checked: {error}") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    name, source = printable(found.surrogate), found.source_sha256
    try:
        here = source_hash(component_class(Surrogate, found.surrogate))
    except RankbenchError:
        here = None
    hashes = f"sha256 {source[:12]}, not {str(here)[:12]}"
    if here is None:
        said = f"not compared, {name} is not installed here"
    elif "unknown" in (here, source):
        said = f"not compared, that of {name} is unknown"
    elif here == source:
        said = f"that of {name} as installed here"
    elif found.followed:
        said = f"another one of {name} than installed here ({hashes}); nothing rests on it"
    else:
        why = f"it is about another source of {name} than the one installed here ({hashes})"
        return False, (printable(f"{path}: rejected: {why}"),)
    return True, (*map(printable, described(str(path), found)), f"  source: {said}")
