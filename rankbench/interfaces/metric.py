"""Metrics judge contenders, and facts tell what else a protocol knows about its rows.

Their protocol declares them, a run's plan records them, and a report knows nothing else of its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rankbench.interfaces.cell import RANKING, Direction

_MOST_INITIALS = 4
"""Letters of a metric that is called by initials: NDCG, ERR."""


@dataclass(frozen=True)
class Metric:
    """Something that contenders are judged by.

    Attributes
    ----------
    name : str
        As rows have it: kebab-case, or the canonical spec of a loss.
    direction : {"minimize", "maximize"}
    sentence : str
        Description in a sentence.
    low, high : float or None
        Its range; None: it has no bound.
    chance : float or None
        Chance level, which a contender must pass to predict anything. None: there is no such level.
    unit : str
        Unit of its values: ``nats``, ``share of votes``; empty for bare numbers.
    words : dict of float to str
        Names of values that stand for words.
    caution : str
        Warning to a reader, in a sentence that begins with the metric's verb.
    jumps : bool
        It is a function of an order, or of a sign: where two numbers are all but equal, rounding decides, and
        another machine may get another value.
    tolerance : float
        Largest difference between two machines where nothing jumps, relative to the larger of the value and 1.
    quality : bool
        False for a size, such as a bound: neither less nor more is better, and contenders have no ranks.
    """

    name: str
    direction: Direction = "minimize"
    sentence: str = ""
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    unit: str = ""
    words: Mapping[float, str] = field(default_factory=dict, hash=False)
    caution: str = ""
    jumps: bool = False
    tolerance: float = 1e-6
    quality: bool = True

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Its range."""
        return self.low, self.high

    @property
    def better(self) -> str:
        """The better direction as text."""
        if not self.quality:
            return "a size, neither good nor bad"
        return "less is better" if self.direction == "minimize" else "more is better"

    def axis(self, *, before: str = "", after: str = "", lines: int = 1, what: str = "loss") -> str:
        """Return the label of an axis: mean NDCG loss (cutoff 10; less is better).

        Parameters
        ----------
        before, after : str
            Texts before and after the metric's name.
        lines : {1, 2}
            Of the text; a metric with parameters has two.
        what : {"loss", "risk"}
            Word after the metric's name, where less is better and the name lacks it.
        """
        name, _, parameters = self.name.partition(":")
        name = name.upper() if name.isalpha() and len(name) <= _MOST_INITIALS else name
        more = f"{parameters.replace('=', ' ').replace(',', ', ')}; " if parameters else ""
        apart = "\n" if parameters or lines > 1 else " "
        if self.quality and self.direction == "minimize" and what not in name:
            name = f"{name} {what}"
        return f"{before}{name}{after}{apart}({more}{self.better})"


@dataclass(frozen=True)
class Fact:
    """A named number beside a contender's losses, shown in a report under a table.

    Attributes
    ----------
    name : str
        As `rankbench.interfaces.cell.CellResult.info` has it.
    sentence : str
        Text of the fact. About a race: the words before the values, without colon. About a contender: the whole
        sentence, with ``{value}`` in it.
    about : {"race", "contender"}
        Told once for all contenders at one n, or under the table of each.
    summary : {"mean", "largest"}
        Of a contender's repetitions; of contenders that share a place the largest counts.
    above, below : float
        Only values between them are told; None: there is no bound.
    parameter : str
        Contenders with the same value of it share a place.
    said : str
        One value: ``{value}``, and ``{at}``, the parameter's value. Without the parameter: `said_without`, ``{label}``.
    same_as : str
        A contender whose fact is 1 in all repetitions equals the one whose `parameter` is this and all
        others are the same. Empty: the fact says nothing of that.
    because : str
        Why it equals that one.
    """

    name: str
    sentence: str
    about: Literal["race", "contender"] = "race"
    summary: Literal["mean", "largest"] = "mean"
    above: float = 0.0
    below: float | None = None
    parameter: str = ""
    said: str = "{value:.3g} at {at}"
    said_without: str = "{label} {value:.3g}"
    same_as: str = ""
    because: str = ""

    def tells(self, value: float) -> bool:
        """Return whether a value is worth showing; nan is not."""
        return value > self.above and (self.below is None or value < self.below)


@dataclass(frozen=True)
class Budget:
    """Budget of stochastic contenders.

    Attributes
    ----------
    name : str
        The fact that has it.
    sentence : str
        Description without its colon.
    unit : str
        Unit of the count.
    steps : tuple of str
        Facts that have the number of steps; the first that is known counts.
    """

    name: str
    sentence: str
    unit: str
    steps: tuple[str, ...] = ()


SHARE_COMPLETE = Fact(
    "share_complete",
    "Share of judgments in queries with no more than k of them, where order k means all of them",
    below=1.0,
    parameter="k",
    said="{value:.0%} at k = {at}",
    said_without="{value:.0%} at k = {label}",
    same_as="inf",
    because="no query has more judgments than k",
)
"""Share of judgments in queries that have at most k of them; 1: order k is the same as order infinity."""

MONTE_CARLO_ERROR = Fact(
    "mc_error",
    "Monte Carlo error of the solutions for 1 < k < n_q, relative, the largest of all repetitions at each order",
    summary="largest",
    parameter="k",
    said="k={at} {value:.1e}",
    said_without="{label} {value:.1e}",
)
"""Relative Monte Carlo error of a solution."""

RIDGE = Fact(
    "ridge",
    "intervals cover the shrunk scores (ridge {value:g}), not the true log-odds. They may miss the true log-odds in "
    "far more than 5% of logs, most often for items with few votes",
    about="contender",
)
"""Penalty on the scores that items are ranked by."""

ESTIMATED = Fact(
    "estimated",
    "shares of pairs in Firth's penalty are exact but for pairs of the {value:,.0f} items with most opponents. There "
    "they are estimated, to some 18% each, from random projections",
    about="contender",
)
"""Number of items whose pairs have estimates in Firth's penalty."""

COLUMN_FACTS = (MONTE_CARLO_ERROR, SHARE_COMPLETE)
"""Facts that are columns of ``leaderboard.csv``, in order."""

BUDGET = Budget("flops", "Budget of the stochastic contenders", "floating-point operations", ("steps", "iterations"))
"""Floating-point operations of contenders with a declared number of steps."""


RANKING_METRICS = tuple(Metric(name, "maximize", jumps=name.startswith("rank-")) for name in RANKING)
"""Metrics of every protocol whose contenders rank named items."""
