"""Simulators draw Bradley-Terry-Luce comparisons, and populations for aggregators.

The experiments of [DMJ13]_ section 6.2 know the law that their judgments come from: a
query is drawn uniformly, then an unordered pair of its items uniformly, and item i is
preferred to item j with probability (26) of their relevance labels. As judgments
accumulate, the mean log-odds of an item converge to the limit score (27).

References
----------
.. [DMJ13] J. C. Duchi, L. Mackey and M. I. Jordan. The asymptotics of ranking
   algorithms. Annals of Statistics 41(5), 2013.

References
----------
.. [JLYY11] X. Jiang, L.-H. Lim, Y. Yao and Y. Ye. Statistical ranking and combinatorial Hodge
   theory. Mathematical Programming 127(1), 2011.
.. [T27] L. L. Thurstone. A law of comparative judgment. Psychological Review 34(4), 1927.
.. [RA14] A. Rajkumar and S. Agarwal. A statistical convergence perspective of algorithms for rank aggregation from
   pairwise data. ICML 2014, PMLR 32(1).
.. [SLH24] A. Siththaranjan, C. Laidlaw and D. Hadfield-Menell. Distributional preference learning: understanding and
   accounting for hidden context in RLHF. ICLR 2024.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import SpecError
from rankbench.interfaces.queries import Comparisons, Queries


def draw_comparisons(queries: Queries, n: int, entropy: Sequence[int]) -> Comparisons:
    """Draw `n` independent judgments: query uniform, pair uniform, winner by (26).

    They are grouped by query, and within one in the order in which they were drawn. The result depends on `queries`,
    `n` and `entropy` alone, and a shorter draw is a prefix of a longer one.

    Parameters
    ----------
    queries : Queries
        One at least, each with two items or more and finite labels, as `rankbench.data.tables.items.usable` finds them;
        only sizes and labels are used.
    n : int
        At least 0.
    entropy : sequence of int
        Non-negative integers that name the random stream.
    """
    from rankbench.data.simulators.kernels import draw_judgments, group_judgments
    from rankbench.kernels.random import seed_state

    query, winner, loser, winners, losers = (np.empty(n, dtype=np.int32) for _ in range(5))
    offsets, labels = queries.offsets.astype(np.int64), queries.labels.astype(np.float64)
    draw_judgments(offsets, labels, seed_state(entropy), query, winner, loser)
    starts = np.zeros(len(queries) + 1, dtype=np.int64)
    group_judgments(query, winner, loser, starts, winners, losers)
    return Comparisons(starts, winners, losers, np.ones(n))


def limit_scores(queries: Queries) -> NDArray[np.float64]:
    r"""Return the limit (27) of the mean log-odds of every item, shape (N,).

    .. math:: s(i) = \frac{1}{m-1} \sum_{j \ne i}
       [\log(1 + e^{r_i - r_j}) - \log(1 + e^{r_j - r_i})]
       = \frac{1}{m-1} \sum_{j \ne i} (r_i - r_j) = \frac{m r_i - \sum_j r_j}{m - 1}

    since :math:`\log(1 + e^x) - \log(1 + e^{-x}) = x`. The scores of a query sum to zero. Queries are as
    `draw_comparisons` takes them.
    """
    sizes = queries.sizes
    starts = queries.offsets[:-1]
    # Above the least label: any equal labels make zeros.
    above = queries.labels - np.repeat(np.minimum.reduceat(queries.labels, starts), sizes)
    m = np.repeat(sizes, sizes).astype(np.float64)
    return np.asarray((m * above - np.repeat(np.add.reduceat(above, starts), sizes)) / (m - 1.0))


def preference_matrix(labels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return p_ij = P(i preferred to j) of (26), shape (m, m), for labels of shape (m,).

    The diagonal is zero: no item is compared with itself.
    """
    from scipy.special import expit

    p: NDArray[np.float64] = expit(labels[:, None] - labels[None, :])
    np.fill_diagonal(p, 0.0)
    return p


LawName: TypeAlias = Literal[
    "btl",
    "thurstone",
    "heteroscedastic",
    "intransitive",
    "plackett-luce",
    "low-noise",
    "generalized-low-noise",
    "hidden-context",
]
"""Law of simulated judgments; see `make_populations`."""

Judges: TypeAlias = Literal["all", "doubling", "zeroing"]
"""Judges of ``hidden-context``: all, or one group; see `make_populations`."""

_SCORES, _NOISE, _ANGLES, _EXPOSURE, _LEADS = range(5)

_TRIED = 500
"""Matrices of leads that are drawn for a population, to take the first that fits."""

_LEAST_LEAD, _LARGEST_LEAD, _LEAST_GAP = 0.2, 0.96, 0.03
"""Bounds of leads, and the least difference of two neighbors' mean shares under ``low-noise``."""

_RISKY = 0.8
"""Utility from which on judges disagree under ``hidden-context``."""


@dataclass(frozen=True, eq=False)
class Populations:
    """Populations of m items each.

    Attributes
    ----------
    scores : ndarray of float64, shape (P, m)
        True scores theta, or expected utilities under ``hidden-context``.
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
    law: LawName,
    populations: int,
    items: int,
    seed: int,
    *,
    cycle: float = 1.0,
    exposure: float = 0.0,
    judges: Judges = "all",
) -> Populations:
    r"""Make populations; scores are standard normal, and the same under every law but ``hidden-context``.

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
    ``low-noise``, ``generalized-low-noise``
        Of two items, the one with the higher score wins with probability (1 + lead) / 2; leads are independent of
        the scores, .2 to .96, and most are near one of both ends. ``low-noise``: in the order of the scores each item's
        mean share of wins is above the next one's, by .03 at least. Then pairs lean as mean shares do ([RA14]_,
        low noise). ``generalized-low-noise``: some item's mean share is below the next one's, by .03 at least;
        pairs still lean as some linear combination of shares does. Leads are drawn until that is so.
    ``hidden-context``
        Items have utility u, evenly spaced on [0, 1] in the order of theta, and a judge prefers the item of larger
        utility. But items with u of .8 or more have utility 2 u for a random half of the judges and 0 for the others,
        for each such item another half. Expected utility is u [SLH24]_.

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
    judges : Judges
        Of ``hidden-context`` only: all, or judges who see 2 u, or 0, in every item with u of .8 or more.
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
    elif law in ("low-noise", "generalized-low-noise"):
        leads = np.array([_leads(seed, p, items, low_noise=law == "low-noise") for p in range(populations)])
        place = np.argsort(np.argsort(-theta, axis=1), axis=1)
        wins = np.take_along_axis(np.take_along_axis(leads, place[:, :, None], 1), place[:, None, :], 2) / 2 + 0.5
    elif law == "hidden-context":
        theta = (np.argsort(np.argsort(theta, axis=1), axis=1) + 0.5) / items
        wins = _preferred(theta, judges)
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


def _leads(seed: int, population: int, items: int, *, low_noise: bool) -> NDArray[np.float64]:
    """Return the lead of each item over each other in the share of wins, best item first, shape (m, m), skew-symmetric.

    Raises
    ------
    SpecError
        No drawn matrix fits.
    """
    first, second = np.triu_indices(items, 1)
    words = np.random.SeedSequence([seed, _LEADS, population]).generate_state(_TRIED * len(first), np.uint64)
    bent = np.sin(np.pi / 2 * _fractions(words).reshape(_TRIED, -1)) ** 2  # the arcsine law: most are near 0 or 1
    leads = np.zeros((_TRIED, items, items))
    leads[:, first, second] = _LEAST_LEAD + (_LARGEST_LEAD - _LEAST_LEAD) * bent
    leads -= leads.transpose(0, 2, 1)
    gaps = (-np.diff(leads.sum(axis=2) / 2 / (items - 1), axis=1)).min(axis=1, initial=np.inf)
    fits = np.flatnonzero(gaps >= _LEAST_GAP if low_noise else gaps <= -_LEAST_GAP)
    if not len(fits):
        raise SpecError(f"no population of {items} items fits among {_TRIED} that were drawn; take 4 to 8 items")
    return np.asarray(leads[fits[0]])


def _preferred(utility: NDArray[np.float64], judges: Judges) -> NDArray[np.float64]:
    """Return the chance that a judge of ``hidden-context`` prefers i to j, ties half, shape (P, m, m)."""
    risky = utility >= _RISKY
    chances = {"all": (0.5, 0.5), "doubling": (1.0, 0.0), "zeroing": (0.0, 1.0)}[judges]
    seen = (np.where(risky, 2 * utility, utility), np.where(risky, 0.0, utility))
    wins = np.zeros((*utility.shape, utility.shape[1]))
    for (first, p), (second, q) in product(zip(seen, chances, strict=True), repeat=2):
        wins += p * q * (1 + np.sign(first[:, :, None] - second[:, None, :])) / 2
    return wins


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
    return _fractions(words)


def _fractions(words: NDArray[np.unsignedinteger]) -> NDArray[np.float64]:
    """Return 64 random bits as numbers in (0, 1)."""
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
