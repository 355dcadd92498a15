"""Measures of how well scores separate anomalies from nominal points."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankbench_rankad.margins import Floats
from rankbench_rankad.pairs import concordance

__all__ = ["PER_MILLE", "auc", "detected_at"]

PER_MILLE: NDArray[np.int64] = np.unique(
    np.concatenate([np.round(np.geomspace(1, 1000, 61)), np.arange(25, 1001, 25)]).astype(np.int64)
)
"""False alarms per 1000 nominal points at which a ROC curve is recorded."""


def auc(scores: Floats, anomalous: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve: the chance that a nominal point scores above an anomaly.

    Parameters
    ----------
    scores : ndarray of float64, shape (N,)
        Higher is denser; ties count half.
    anomalous : ndarray of bool, shape (N,)
        Both kinds must be there.
    """
    return concordance((~anomalous).astype(np.float64), scores)


def detected_at(scores: Floats, anomalous: NDArray[np.bool_], per_mille: NDArray[np.int64] = PER_MILLE) -> Floats:
    """Return the ROC curve: the share of anomalies found at rates of false alarms, shape (P,).

    Straight lines join what thresholds between different scores give, so ties are as good
    as their average over the orders that they could be broken in.
    """
    thresholds, of = np.unique(scores, return_inverse=True)
    alarms = np.bincount(of, ~anomalous, len(thresholds)).cumsum()
    found = np.bincount(of, anomalous, len(thresholds)).cumsum()
    zero = np.zeros(1)
    shares: Floats = np.interp(
        per_mille / 1000.0,
        np.concatenate([zero, alarms / alarms[-1]]),
        np.concatenate([zero, found / found[-1]]),
    )
    return shares
