"""Scores of a mixture of categories, as of a half of the English and a half of the German votes."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankbench.core.text import first_of, short_repr
from rankbench.errors import SpecError, closest
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.ranking.categories import CategorySample
from rankbench.ranking.rank import ItemRanking, with_covariance
from rankbench.ranking.ranked_log import ItemTallies, tallies_of_counts
from rankbench.ranking.sampling_units import Units, too_thin

_NAMED = 5


def mixture_of(text: str | Mapping[str, float], names: list[str]) -> tuple[dict[str, float], list[str]]:
    """Return the shares of categories, which sum to 1, and what must be known of them.

    Parameters
    ----------
    text : str or mapping of str to float
        ``en=.5,de=.5``; a name with a comma stands between double quotes, as in CSV: ``"US, UK=.5",de=.5``.
    names : list of str
        Of the categories that there are.

    Raises
    ------
    SpecError
        A category that is not there, or twice; a share that is no number above 0.
    """
    said = list(text.items()) if isinstance(text, Mapping) else [_share(part) for part in _parts(text)]
    shares: dict[str, float] = {}
    for name, share in said:
        if name not in names:
            known = closest(name, names) or f"; there are {first_of([short_repr(one) for one in names], _NAMED)}"
            raise SpecError(f"--mix: there is no category {short_repr(name)}{known}")
        if name in shares:
            raise SpecError(f"--mix: category {name!r} has two shares")
        if not 0 < share < math.inf:
            raise SpecError(f"--mix: the share of {name!r} is {share:g}; shares are numbers above 0")
        shares[name] = float(share)
    if not shares:
        raise SpecError("--mix names no category; say --mix NAME=SHARE,...")
    total = math.fsum(shares.values())
    notes = []
    if abs(total - 1) > 1e-9:
        notes.append(f"--mix: shares sum to {total:g}, and were divided by it")
    return {name: share / total for name, share in shares.items()}, notes


def _parts(text: str) -> list[str]:
    return [part for part in next(csv.reader(io.StringIO(text), skipinitialspace=True), []) if part.strip()]


def _share(part: str) -> tuple[str, float]:
    name, equals, share = part.rpartition("=")
    try:
        if equals:
            return name.strip(), float(share)
    except ValueError:
        pass
    raise SpecError(f"--mix: {part!r} is not NAME=SHARE, as en=.5")


def centered_on(
    scores: NDArray[np.float64], covariance: NDArray[np.float64], scales: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return scores that sum to zero on every scale, (k,), and the covariance of these, (k, k)."""
    same = (scales[:, None] == scales).astype(np.float64)
    project = np.eye(len(scales)) - same / same.sum(axis=1)
    return project @ scores, project @ covariance @ project


def mixed_tallies(counts: list[PairCounts], items: list[NDArray[np.int64]], kept: NDArray[np.int64]) -> ItemTallies:
    """Return the votes and wins of some items, summed up over categories.

    Parameters
    ----------
    counts : list of PairCounts
        Of the categories.
    items : list of ndarray
        Which items these are of.
    kept : ndarray of int
        The items, sorted.
    """
    judged, won, judgments = np.zeros(len(kept)), np.zeros(len(kept)), 0
    for one, own in zip(counts, items, strict=True):
        tallies = tallies_of_counts(one)
        there = np.isin(own, kept)
        place = np.searchsorted(kept, own[there])
        judged[place] += tallies.judged[there]
        won[place] += tallies.won[there]
        judgments += one.judgments
    return ItemTallies(judged, won, "votes", "wins", judgments)


def separate_mixture(
    sample: CategorySample, shares: Mapping[int, float], names: list[str], seed: int
) -> tuple[ItemRanking, list[str]]:
    """Return the ranking by a mixture of scores that categories have by themselves.

    Items that a category of the mixture lacks are left out: its score of them is not known. Items are on one scale that
    are so in every category.

    Parameters
    ----------
    sample : CategorySample
    shares : mapping of int to float
        Of categories, by number.
    names : list of str
        Of all items.
    seed : int
    """
    chosen = [sample.categories[c] for c in shares]
    kept = chosen[0].items
    for one in chosen[1:]:
        kept = np.intersect1d(kept, one.items)
    every = np.unique(np.concatenate([one.items for one in chosen]))
    notes = []
    if len(kept) < len(every):
        absent = [short_repr(names[i]) for i in np.setdiff1d(every, kept)]
        notes.append(
            f"{len(absent)} of {len(every)} items have no votes in some category of the mixture, and are left out: "
            f"{first_of(absent, _NAMED)} (--pool ranks them too)"
        )
    if len(kept) < 2:
        raise SpecError("--mix: no two items are in every category of the mixture; --pool ranks them all the same")
    places = {c: np.searchsorted(sample.categories[c].items, kept) for c in shares}
    labels = np.stack([sample.categories[c].scales[places[c]] for c in shares], axis=1)
    scales = np.unique(labels, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    starts = np.cumsum([0, *(len(one.items) for one in sample.categories)])
    scores, covariance = np.zeros(len(kept)), np.zeros((len(kept), len(kept)))
    parts = np.zeros((2, len(kept)))
    for c, share in shares.items():
        scores += share * sample.categories[c].scores[places[c]]
        own = np.diag(sample.errors[c])[places[c]] * share**2
        freedom = np.maximum(sample.units[c].of_variance[places[c]] - 1, 1.0)
        parts += own, own**2 / freedom
        for d, other in shares.items():
            if c == d:
                block = sample.errors[c]
            elif sample.joint is None:
                continue
            else:
                block = sample.joint[starts[c] : starts[c + 1], starts[d] : starts[d + 1]]
            covariance += share * other * block[np.ix_(places[c], places[d])]
    scores, covariance = centered_on(scores, covariance, scales)
    freedom = np.divide(parts[0] ** 2, parts[1], out=np.ones(len(kept)), where=parts[1] > 0)
    units = Units(
        min(sample.units[c].count for c in shares),
        min(sample.units[c].effective for c in shares),
        np.minimum.reduce([sample.units[c].items[places[c]] for c in shares]),
        np.minimum.reduce([sample.units[c].votes[places[c]] for c in shares]),
        freedom + 1,
    )
    ranking = with_covariance([names[i] for i in kept], scores, scales, covariance, units, seed)
    some = [sample.counts[c] for c in shares], [sample.categories[c].items for c in shares]
    return replace(ranking, tallies=mixed_tallies(*some, kept)), [*notes, *too_thin(units)]
