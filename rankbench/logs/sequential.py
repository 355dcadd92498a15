"""Ratings that depend on the order of the judgments, from logs of any length."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankbench.aggregators.elo import POINTS
from rankbench.errors import InputError
from rankbench.logs.codes import Codes
from rankbench.logs.count import row_error
from rankbench.logs.scan import Log, open_log
from rankbench.logs.stream import LogStream, streamed

__all__ = ["elo_log"]


def elo_log(
    log: Log, *, factor: float = 32.0, items: Sequence[str] | None = None
) -> tuple[list[str], NDArray[np.float64]]:
    """Return Elo ratings after the last judgment of a log, which is taken in its order.

    As the aggregator `elo`, on the scale of log-odds (173.7 Elo points each) and from 0;
    here a tie moves both towards each other: its outcome is 1/2. Memory does not grow with the log.

    Parameters
    ----------
    log, items
        As in `rankbench.logs.scan.count_log`.
    factor : float
        K, the most Elo points that a judgment of weight 1 moves.

    Returns
    -------
    items : list of str, length m
    scores : ndarray of float64, shape (m,)
        They sum to zero.

    Raises
    ------
    InputError
        As `count_log`; a factor that is not positive and finite.
    """
    if not 0 < factor < math.inf:
        raise InputError(f"the factor must be positive and finite, not {factor}")
    frame = open_log(log)
    return streamed(frame, items, lambda codes: _rate(LogStream(frame, codes), codes, factor / POINTS))


def _rate(stream: LogStream, codes: Codes, factor: float) -> tuple[list[str], NDArray[np.float64]]:
    from rankbench.logs.kernels.elo import rate

    scores, seen = np.zeros(1024), np.zeros(1024, np.bool_)
    row = 0
    for chunk in stream.chunks():
        if codes.size > len(scores):
            more = max(codes.size, 2 * len(scores)) - len(scores)
            scores, seen = np.append(scores, np.zeros(more)), np.append(seen, np.zeros(more, np.bool_))
        for piece, _ in chunk:
            bad = rate(piece.winners, piece.losers, piece.ties, piece.weights, factor, scores)
            if bad >= 0:
                raise row_error([piece], bad, row + bad + 1, codes.names())
            seen[piece.winners] = seen[piece.losers] = True
            row += len(piece)
    order, names = codes.order(seen[: codes.size]), codes.names()
    return [names[i] for i in order], scores[order]
