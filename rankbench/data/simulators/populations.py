"""Populations of items whose law of judgments is known, right and wrong for the models that aggregators assume.

References
----------
.. [JLYY11] X. Jiang, L.-H. Lim, Y. Yao and Y. Ye. Statistical ranking and combinatorial Hodge
   theory. Mathematical Programming 127(1), 2011.
.. [T27] L. L. Thurstone. A law of comparative judgment. Psychological Review 34(4), 1927.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["LawName", "Populations", "best_orders", "make_populations"]

LawName: TypeAlias = Literal["btl", "thurstone", "heteroscedastic", "intransitive", "plackett-luce"]
"""How judgments come about; see `make_populations`."""

_SCORES, _NOISE, _ANGLES, _EXPOSURE = range(4)


@dataclass(frozen=True, eq=False)
class Populations:
    """Populations of m items each.

    Attributes
    ----------
    scores : ndarray of float64, shape (P, m)
        True scores theta.
    wins : ndarray of float64, shape (P, m, m)
        ``wins[p, i, j]``: probability that i is preferred to j, given that one of them is; zero on
        the diagonal.
    shares : ndarray of float64, shape (P, m)
        Share of attention of each item: a pair is compared with probability proportional to the
        product of its items' shares.
    """

    scores: NDArray[np.float64]
    wins: NDArray[np.float64]
    shares: NDArray[np.float64]


def make_populations(
    law: LawName, populations: int, items: int, seed: int, *, cycle: float = 1.0, exposure: float = 0.0
) -> Populations:
    r"""Make populations; scores are standard normal and the same under every law.

    ``btl``, ``plackett-luce``
        :math:`P(i \succ j) = 1 / (1 + e^{\theta_j - \theta_i})`, (26), which under Plackett
        and Luce's model of ballots is the law of every pair on one.
    ``thurstone``
        :math:`P(i \succ j) = \Phi(\theta_i - \theta_j)`, Case V [T27]_.
    ``heteroscedastic``
        :math:`P(i \succ j) = \Phi((\theta_i - \theta_j) / \sqrt{\sigma_i^2 + \sigma_j^2})`,
        :math:`\log_4 \sigma_i` uniform on [-1, 1]: Case III [T27]_. Every pair leans
        the right way, but no score per item explains by how much.
    ``intransitive``
        :math:`\log (P(i \succ j) / P(i \prec j)) = \theta_i - \theta_j + c \, C_{ij}`. The
        cyclic part C is :math:`\sin(a_i - a_j)` for uniform angles, less its own row means: its rows
        sum to zero, so that theta is the potential of the log-odds in the sense of [JLYY11]_, which is
        also their least-squares fit (22).

    Parameters
    ----------
    law : LawName
    populations, items : int
        P and m.
    seed : int
    cycle : float
        c, of ``intransitive`` only.
    exposure : float
        a: the item that comes at place r of a random order gets attention in proportion to
        r^-a; 0: all alike.
    """
    from scipy.special import expit, ndtr, ndtri

    theta = ndtri(_uniform(seed, _SCORES, populations, items))
    differences = theta[:, :, None] - theta[:, None, :]
    if law in ("btl", "plackett-luce"):
        wins = expit(differences)
    elif law == "thurstone":
        wins = ndtr(differences)
    elif law == "heteroscedastic":
        deviation = 4.0 ** (2 * _uniform(seed, _NOISE, populations, items) - 1)
        wins = ndtr(differences / np.hypot(deviation[:, :, None], deviation[:, None, :]))
    else:
        angles = 2 * np.pi * _uniform(seed, _ANGLES, populations, items)
        turn = np.sin(angles[:, :, None] - angles[:, None, :])
        potential = turn.mean(axis=2)
        turn -= potential[:, :, None] - potential[:, None, :]
        wins = expit(differences + cycle * turn)
    wins[:, range(items), range(items)] = 0.0
    place = np.argsort(np.argsort(_uniform(seed, _EXPOSURE, populations, items), axis=1), axis=1)
    shares = (1.0 + place) ** -exposure
    return Populations(theta, wins, shares / shares.sum(axis=1, keepdims=True))


def best_orders(wins: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the order of least expected pairwise disagreement, (10), best item first, shape (P, m).

    Exact, see `rankbench.kernels.best_order.best_order`; where several orders are equally good, one of them.

    Parameters
    ----------
    wins : ndarray of float64, shape (P, m, m)
        With m of at most 14.
    """
    from rankbench.kernels.best_order import best_order

    return np.array([best_order(p)[0] for p in wins], dtype=np.int64)


def _uniform(seed: int, stream: int, rows: int, columns: int) -> NDArray[np.float64]:
    """Return numbers in (0, 1) from NumPy's seed sequences, whose output never changes."""
    words = np.array(
        [np.random.SeedSequence([seed, stream, row]).generate_state(columns, np.uint64) for row in range(rows)]
    )
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
