r"""Social-choice aggregators order items by majorities of their pairs: who beats whom, and by how much.

All of them read one matrix, :math:`L_{ij} = w_{ij} - w_{ji}`, the lead of item i over item j, with :math:`w_{ij}` the
total weight of the judgments that prefer i to j. A tie is half a win each way. A pair that was never compared has
lead 0. An item that leads against each other item, a Condorcet winner, is first alone by every class here.

References
----------
.. [BF12] M. Brill and F. Fischer. The price of neutrality for the ranked pairs method. 26th AAAI Conference on
   Artificial Intelligence, 2012.
.. [C51] A. H. Copeland. A reasonable social welfare function. Seminar on Mathematics in Social Sciences, University
   of Michigan, 1951.
.. [K77] G. H. Kramer. A dynamical model of political equilibrium. Journal of Economic Theory 16(2), 1977.
.. [S11] M. Schulze. A new monotonic, clone-independent, reversal symmetric, and Condorcet-consistent single-winner
   election method. Social Choice and Welfare 36(2), 2011.
.. [S69] P. B. Simpson. On defining areas of voter choice. Quarterly Journal of Economics 83(3), 1969.
.. [T87] T. N. Tideman. Independence of clones as a criterion for voting rules. Social Choice and Welfare 4(3), 1987.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankbench.core.component import Property
from rankbench.interfaces.aggregator import MOST_DENSE, CountAggregator
from rankbench.interfaces.pair_counts import PairCounts

LEVEL = 1e-12
"""Leads that differ by less than this share of the total weight are equal: sums differ by rounding."""


def lead_table(counts: PairCounts) -> NDArray[np.float64]:
    """Return the lead of each item over each other item, shape (m, m), antisymmetric; equal leads are equal numbers."""
    forward, backward = counts.wins()
    lead = forward - backward
    table = np.zeros((counts.m, counts.m))
    table[counts.low, counts.high] = np.sign(lead) * level_sums(np.abs(lead), float((forward + backward).sum()))
    return table - table.T


def level_sums(sums: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return sums of parts of a total, from 0, shape (n,), with rounding differences removed."""
    sizes, which = np.unique(sums, return_inverse=True)
    # A size starts a new group where it is clearly larger than the one before; the group's least size stands for it.
    starts = np.append(True, np.diff(sizes) > LEVEL * total)
    sizes = sizes[starts][np.cumsum(starts) - 1]
    sizes[sizes <= LEVEL * total] = 0.0
    return np.asarray(sizes[which])


def smith_set(lead: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the smallest set whose items lead against all others; one item: a Condorcet winner."""
    from scipy.sparse.csgraph import connected_components

    _, component = connected_components(lead >= 0, directed=True, connection="strong")
    # No outside item leads against, or is level with, a member: the members have the most pairs not lost.
    first = (lead >= 0).sum(axis=1).argmax()
    return np.flatnonzero(component == component[first])


def middle_places(above: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return half of the number of items below an item less the number above it, shape (m,).

    That is the middle of the places that complete orders of the relation give an item, above the middle of all places.
    The first item is one that none is above, and of these one that is above the most.

    Parameters
    ----------
    above : ndarray of bool, shape (m, m)
        A transitive relation without cycles: whether row i is above column j.
    """
    found: NDArray[np.float64] = (above.sum(axis=1) - above.sum(axis=0)) / 2.0
    return found


class MajorityRule(CountAggregator):
    """A rule that looks at the leads of pairs alone; see `lead_table`."""

    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "irregular"})
    most_items: ClassVar[int | None] = MOST_DENSE

    @abstractmethod
    def from_leads(self, lead: NDArray[np.float64]) -> NDArray[np.float64]:
        """Make scores of leads, shapes (m, m) to (m,)."""

    def from_counts(self, counts: PairCounts) -> NDArray[np.float64]:
        """Return the scores, shape (m,)."""
        self.check_size(counts.m)
        return self.from_leads(lead_table(counts))

    def winners(self, counts: PairCounts) -> NDArray[np.bool_]:
        """Return whether the rule elects each item, shape (m,); of items that were never compared, lead 0.

        Scores order the winners further where a rule makes an order of all items.
        """
        self.check_size(counts.m)
        return self.elected(lead_table(counts))

    def elected(self, lead: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether leads elect each item, shapes (m, m) to (m,): by default the highest scores."""
        scores = self.from_leads(lead)
        return np.asarray(scores == scores.max())


class Copeland(MajorityRule):
    r"""Copeland's score: the number of opponents that an item leads against, less the number that lead against it.

    .. math:: s(i) = \sum_j \operatorname{sign}(w_{ij} - w_{ji})

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j. A level pair, or one that was never
    compared, counts 0 for both. The scores are whole numbers that sum to zero, in [-(m - 1), m - 1].

    Prefer it where each pair shall count once, whatever its margin; many items are often tied.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: the number of items of lower relevance, less the number of
    items of higher relevance, if relevance labels are distinct. Multiplying all weights by a constant changes nothing.
    More clones of an item move the scores of others.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "bob", "ada"], "loser": ["bob", "bob", "ada", "cy", "cy"]}
    >>> rankbench.aggregate(votes, "copeland").table.select("item", "score").rows()
    [('ada', 2.0), ('bob', 0.0), ('cy', -2.0)]
    """

    name: ClassVar[str] = "copeland"
    unit: ClassVar[str] = "opponents beaten less lost to"
    source: ClassVar[str] = "[C51]_"

    def from_leads(self, lead: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the pairs led less the pairs trailed, shape (m,)."""
        return np.sign(lead) @ np.ones(len(lead))


class Minimax(MajorityRule):
    r"""Minimax: an item's lead over the opponent against whom it does worst.

    .. math:: s(i) = \min_{j \ne i} (w_{ij} - w_{ji})

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j. A Condorcet winner alone scores above 0.
    The first place loses no pair by more than any other item's worst loss (Simpson and Kramer's rule). An item that
    was not compared with someone scores at most 0, and an item without judgments 0.

    Prefer it where one bad defeat shall count more than many narrow ones. Leads are in votes: where some pairs have
    many more votes than others, their leads decide.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: s / k approaches
    :math:`\frac{2}{m(m-1)} \min_{j \ne i} (2 p_{ij} - 1)`, which orders items below the first as their relevance
    does. Multiplying all weights by a constant multiplies the scores by it. The rule depends on clones, and an item
    that loses all its pairs may be first.

    Examples
    --------
    >>> import rankbench
    >>> votes = {"winner": ["ada", "ada", "bob", "bob", "ada"], "loser": ["bob", "bob", "ada", "cy", "cy"]}
    >>> rankbench.aggregate(votes, "minimax").table.select("item", "score").rows()
    [('ada', 1.0), ('bob', -1.0), ('cy', -1.0)]
    """

    name: ClassVar[str] = "minimax"
    unit: ClassVar[str] = "votes ahead in the worst pair"
    source: ClassVar[str] = "[S69]_; [K77]_"

    def from_leads(self, lead: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the worst lead of each item, shape (m,)."""
        return np.asarray((lead + np.diag(np.full(len(lead), np.inf))).min(axis=1))


class RankedPairs(MajorityRule):
    r"""Tideman's ranked pairs: the largest leads first, each locked unless it closes a cycle.

    .. math:: s(i) = \tfrac12 \left(|\{j : i \to j\}| - |\{j : j \to i\}|\right)

    with :math:`i \to j` if a chain of locked pairs leads from i to j. If the leads of all pairs differ and none is 0,
    the locked pairs make one complete order, and s(i) is the place of item i above the middle place.

    *Equal leads* are judged together, which is a variant of Tideman's rule. Pairs that go against a locked chain stay
    out. Of the rest, a pair stays out if it lies on a cycle of locked pairs and pairs of its own lead. Tideman breaks
    such ties by an order of the pairs, and an item wins if some order lets it win, which is NP-complete to decide
    [BF12]_. Judged together, the result needs no order and no names, and takes polynomial time. Clones of an item leave
    the chains between all others as they are, ties included. The variant is Tideman's rule where no two leads of a
    cycle are equal. Of three items, those that no chain leads to are Tideman's winners. Of 3,000 random tables of four
    items with leads of at most 2 or 3 votes, the first place was not among Tideman's winners in 5. The winners are the
    items that no chain leads to: of 1,500 such tables of at most 3 votes, they were Tideman's in 1,441, some of these
    in 49, and others beside them in 10.

    Prefer it to `kemeny` where items have near copies: clones turn no pair of others that the rule orders. Its places
    jump with the votes, so rankings by it have no intervals.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: the centered ranks of the relevance labels, if these are
    distinct. Multiplying all weights by a constant changes nothing. Reversing all judgments reverses the order.

    Examples
    --------
    The smallest lead of a cycle is left out:

    >>> import rankbench
    >>> won = [("ada", "bob", 8), ("bob", "cy", 6), ("cy", "ada", 3)]
    >>> votes = [{"winner": winner, "loser": loser, "count": count} for winner, loser, count in won]
    >>> rankbench.aggregate(votes, "ranked-pairs").table.select("item", "score").rows()
    [('ada', 1.0), ('bob', 0.0), ('cy', -1.0)]
    """

    name: ClassVar[str] = "ranked-pairs"
    unit: ClassVar[str] = "places above the middle"
    source: ClassVar[str] = "[T87]_; equal leads: own rule"

    def from_leads(self, lead: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the places, shape (m,)."""
        return middle_places(locked_chains(lead))

    def elected(self, lead: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return the items that no chain of locked pairs leads to, shape (m,)."""
        return np.asarray(~locked_chains(lead).any(axis=0))


def _levels(lead: NDArray[np.float64]) -> Iterator[list[tuple[int, int]]]:
    """Yield the pairs (leader, trailer) of each lead above 0, largest lead first."""
    first, second = np.nonzero(lead > 0)
    sizes = lead[first, second]
    order = np.argsort(-sizes, kind="stable")
    ends = np.flatnonzero(np.diff(sizes[order])) + 1
    for rows in np.split(order, ends) if len(order) else ():
        yield list(zip(first[rows].tolist(), second[rows].tolist(), strict=True))


def locked_chains(lead: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether a chain of locked pairs of `RankedPairs` leads from row to column, shape (m, m)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    m = len(lead)
    # Sets of items as bits of a number: those that an item reaches, and those that reach it.
    below, above, bit = [0] * m, [0] * m, [1 << i for i in range(m)]
    locked: list[tuple[int, int]] = []
    for level in _levels(lead):
        new = [(i, j) for i, j in level if not (below[i] | above[i]) & bit[j]]
        if len(new) > 1:
            tails, heads = np.array([*locked, *(pair for pair in level if not above[pair[0]] & bit[pair[1]])]).T
            graph = coo_array((np.ones(len(tails)), (tails, heads)), shape=(m, m))
            circle = connected_components(graph, directed=True, connection="strong")[1]
            new = [(i, j) for i, j in new if circle[i] != circle[j]]
        for i, j in new:
            if not below[i] & bit[j]:
                locked.append((i, j))
                upper, lower = above[i] | bit[i], below[j] | bit[j]
                gaining, gained = upper & ~above[j], lower & ~below[i]
                for item in _items(gaining):
                    below[item] |= lower
                for item in _items(gained):
                    above[item] |= upper
    chains = np.zeros((m, m), dtype=bool)
    for i, reached in enumerate(below):
        chains[i, list(_items(reached))] = True
    return chains


def _items(bits: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set."""
    while bits:
        last = bits & -bits
        yield last.bit_length() - 1
        bits ^= last


class Schulze(MajorityRule):
    r"""Schulze's beatpaths: item i is above j if its strongest path to j is stronger than each path back.

    .. math:: s(i) = \tfrac12 \left(|\{j : P_{ij} > P_{ji}\}| - |\{j : P_{ji} > P_{ij}\}|\right), \quad
       P_{ij} = \max_{i = c_0, \dots, c_n = j} \min_t (w_{c_t c_{t+1}} - w_{c_{t+1} c_t})

    with :math:`w_{ij}` the total weight of the judgments that prefer i to j, and paths over pairs of positive lead: the
    strength of a path is its smallest lead, and P is 0 without a path. "Above" is transitive [S11]_. An item's score is
    the middle of the places that it may have, above the middle of all places. The winners are the items that none is
    above; of several, one that is above more items has a higher score.

    Prefer it to `kemeny` where items have near copies: clones turn no pair of others that the rule orders. Its places
    jump with the votes, so rankings by it have no intervals.

    Notes
    -----
    Limit under BTL (26), uniform pairs, k to infinity: the centered ranks of the relevance labels, if these are
    distinct. Multiplying all weights by a constant changes nothing. Reversing all judgments reverses the order.

    Examples
    --------
    The path from ada to cy is 6 strong, the way back 3:

    >>> import rankbench
    >>> won = [("ada", "bob", 8), ("bob", "cy", 6), ("cy", "ada", 3)]
    >>> votes = [{"winner": winner, "loser": loser, "count": count} for winner, loser, count in won]
    >>> rankbench.aggregate(votes, "schulze").table.select("item", "score").rows()
    [('ada', 1.0), ('bob', 0.0), ('cy', -1.0)]
    """

    name: ClassVar[str] = "schulze"
    unit: ClassVar[str] = "places above the middle"
    source: ClassVar[str] = "[S11]_"

    def from_leads(self, lead: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the places, shape (m,)."""
        strength = beatpaths(lead)
        return middle_places(strength > strength.T)

    def elected(self, lead: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return the items that no item is above, shape (m,)."""
        strength = beatpaths(lead)
        return np.asarray(~(strength > strength.T).any(axis=0))


def beatpaths(lead: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the strength of the strongest path from row to column, shape (m, m); 0 without a path.

    The algorithm of Floyd and Warshall takes O(m^3).
    """
    strength = np.maximum(lead, 0.0)
    weakest = np.empty_like(strength)
    for via in range(len(strength)):
        np.minimum(strength[:, via, None], strength[None, via], out=weakest)
        np.maximum(strength, weakest, out=strength)
    np.fill_diagonal(strength, 0.0)
    return strength
