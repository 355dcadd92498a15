"""A probe asks one question of a board, which is a log or score table with its ranking.

A probe is a function from a board to a `Probe`. `rankbench.audits.audit` lists the functions, in the order of the page.

References
----------
.. [BC91] J. Besag and P. Clifford. Sequential Monte Carlo p-values. Biometrika 78(2), 1991.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.sequential_aggregator import ScoreAggregator, TaskScores
from rankbench.logs.opened import OpenedLog
from rankbench.logs.votes import Votes
from rankbench.ranking.aggregation import Aggregation
from rankbench.ranking.rank import Ranking
from rankbench.ranking.ranked_log import RankedLog
from rankbench.systems.score_ranking import ScoreRanking

SIMULATED, ENOUGH = 999, 10
"""Most simulated boards, and how many of them as extreme as the log end a test."""

MOST_ITEMS = 1500
"""With more items the information takes too long to invert."""


@dataclass(frozen=True)
class Probe:
    """The answer to one question about a board.

    A probe that tests gives `p`, and the audit gives it its `level`: see `rankbench.audits.audit.with_levels`. A probe
    that cannot test this board, as one on judges of a log that names none, says why in `answer` and has no `p`.

    Attributes
    ----------
    name : str
        Kebab-case.
    question : str
        One sentence, which ends with a question mark.
    answer : str
        One sentence without the full stop, with the numbers that matter and their units.
    p : float or None
        Probability of a result at least so extreme on a clean board, which has none of the faults that the probe looks
        for; in (0, 1], adjusted for all comparisons of the probe. None: the probe describes, and tests nothing. See
        `simulated_p` for simulated ones.
    facts : dict of str to object
        Numbers and names for JSON, None where there is none.
    table : DataFrame, optional
        Rows for people and JSON: texts, numbers and truth values.
    level : float or None
        Level of the test; None where nothing is tested.
    finding : str or None
        The fault in a few words; empty where there is none, None of a probe that looks for none.
    acts : str
        Option of ``rankbench aggregate`` that acts on the fault.
    unknown : str
        Why nothing is known, in a few words.
    """

    name: str
    question: str
    answer: str
    p: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    table: pl.DataFrame | None = None
    level: float | None = None
    finding: str | None = None
    acts: str = ""
    unknown: str = ""

    @property
    def fires(self) -> bool | None:
        """True if the test rejects the board as not clean; None: the probe describes."""
        return None if self.p is None or self.level is None else self.p <= self.level


@dataclass(frozen=True, eq=False)
class VoteBoard:
    """Votes with the ranking that the page shows, computed once for all probes.

    Attributes
    ----------
    source : OpenedLog
        The opened log; ``source.frame`` has all its columns that were read.
    votes : Votes
        The votes one by one; their `items` are the ranking's.
    method : Aggregator
        Method of the page.
    loaded : RankedLog
        The votes as the method ranks them, with the independent units of its intervals.
    ranking : Ranking
        Scores, intervals and places of the items, as `rankbench aggregate --intervals` has them.
    seed : int
        Seed of everything random: ``np.random.default_rng([board.seed, NUMBER])``, each probe with a number of its own.
    categories : dict of str to (ndarray of int32, sequence of str)
        Columns that divide the votes into 2 to 30 categories: the one of queries, and those that are not read. They
        have the number of the category of each row, and names of the categories.
    controlled : Aggregation or None
        Ranking without the effects of covariates that the log has; None: it has none.
    """

    source: OpenedLog
    votes: Votes
    method: Aggregator
    loaded: RankedLog
    ranking: Ranking
    seed: int
    categories: Mapping[str, tuple[NDArray[np.int32], Sequence[str]]] = field(default_factory=dict)
    controlled: Aggregation | None = None

    @property
    def items(self) -> list[str]:
        """Names of the m items."""
        return self.votes.items

    @cached_property
    def counts(self) -> PairCounts:
        """The votes summed by pair."""
        return self.votes.counts()

    @cached_property
    def compared(self) -> NDArray[np.int64]:
        """Items of the largest scale, the first of them first: only their places are compared."""
        scales = self.ranking.scales
        numbers, first, sizes = np.unique(scales, return_index=True, return_counts=True)
        largest = np.flatnonzero(scales == numbers[np.lexsort((first, -sizes))[0]])
        # Of equal scores the later name is first, as in the ranking's table.
        return largest[np.lexsort((largest, self.ranking.scores[largest]))][::-1]

    @property
    def may_be_first(self) -> NDArray[np.int64]:
        """Those of them that the votes leave open for the first place at 95%; empty without intervals."""
        first = self.ranking.first
        return self.compared[:0] if first is None else self.compared[first[self.compared]]

    @property
    def first(self) -> int:
        """Number of the item in the first place."""
        return int(self.compared[0])


@dataclass(frozen=True, eq=False)
class ScoreBoard:
    """A score table with the ranking that the page shows, computed once for all probes.

    Attributes
    ----------
    scores : TaskScores
        As read: cells may be missing (nan).
    whole : TaskScores
        The part without missing cells, which the method ranks.
    method : ScoreAggregator
        Method of the page.
    ranking : ScoreRanking
        By `method` alone, as `rankbench rank` has it.
    seed : int
        See `VoteBoard`.
    """

    scores: TaskScores
    whole: TaskScores
    method: ScoreAggregator
    ranking: ScoreRanking
    seed: int

    @property
    def first(self) -> str:
        """Name of the system in the first place."""
        return str(self.ranking.table["system"][0])


def simulated_p(extreme: Sequence[bool] | NDArray[np.bool_]) -> float:
    """Return the p of a test by the boards that it simulated, in turn, and whether each was as extreme as the log.

    It is ``(1 + extreme) / (1 + simulated)``. A tenth extreme board ends the test: p is then 10 by the number of
    boards up to it, which is above any level below .01, and as likely to be below a level as the level says [BC91]_.
    """
    at = np.flatnonzero(extreme)
    return ENOUGH / (int(at[ENOUGH - 1]) + 1) if len(at) >= ENOUGH else (1 + len(at)) / (1 + len(extreme))


VoteProbe: TypeAlias = Callable[[VoteBoard], Probe]
ScoreProbe: TypeAlias = Callable[[ScoreBoard], Probe]
