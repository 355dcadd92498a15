"""Questions on the ranking of a log are values, which refuse options that do not go together."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from rankbench.core.question import Offered
from rankbench.core.runtime import LOG_SEED
from rankbench.errors import OptionError
from rankbench.logs.question import LogQuestion
from rankbench.ranking.load import WantedIntervals
from rankbench.ranking.rank import RESAMPLES
from rankbench.ranking.ranking_table import check_pair
from rankbench.ranking.times import CalendarUnit


class RankingQuestion(LogQuestion):
    """Options of a ranking of a log of votes, ballots or clicks; `rankbench.aggregate` explains the fields."""

    method: Annotated[str, Offered(metavar="NAME", names="aggregator")] = ""
    """Aggregator, NAME:param=...; default: bradley-terry:penalty=firth, of clicks coec:smoothing=1."""

    by: Annotated[str | None, Offered(metavar="query|COLUMN")] = None
    """A ranking for each query, or each value of a column."""

    pool: Annotated[bool, Offered()] = False
    """Pool scores of categories partially, and test whether the category matters."""

    control: Annotated[str, Offered(metavar="TERM,..")] = ""
    """Estimate effects of covariates, as 'side:unless=neutral, log(length), bold'."""

    between: Annotated[tuple[str, str] | None, Offered(metavar="ITEM ITEM")] = None
    """Difference of two items chosen beforehand: interval, p-value, and votes that tell them apart at 80% power."""

    intervals: Annotated[WantedIntervals, Offered(flag_value="auto")] = None
    """95% intervals and rank ranges; without a value, of the kind that suits the log."""

    replicates: Annotated[int, Field(ge=2, le=100_000), Offered()] = RESAMPLES
    """Resamples."""

    seed: Annotated[int, Field(ge=0), Offered()] = LOG_SEED
    """Seed of the resamples."""

    executor: Annotated[Literal["local", "dask"], Offered(location=True)] = "local"
    """Where votes are counted."""

    address: Annotated[str, Offered(location=True)] = ""
    """Dask scheduler whose workers count the votes, as tcp://10.0.0.1:8786."""

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        self.refuse_alone("pool", "is of categories", "by=COLUMN")
        self.refuse_together("pool", "shrinks scores without covariates", "control")
        if self.pool and self.intervals not in (None, "auto", "sandwich"):
            raise OptionError("pool", f"has intervals by formula, not by {self.intervals}", excludes="intervals")
        if self.between:
            check_pair(self.between)
        self.refuse_together("between", "tells of each category by itself", "pool")
        self.refuse_half_a_cluster()
        return self

    @property
    def wanted(self) -> WantedIntervals:
        """Intervals of the question: a difference always has some."""
        return self.intervals or ("auto" if self.between else None)


class OverTimeQuestion(LogQuestion):
    """Options of scores over time.

    The points of a grid are weighed by how likely they make the log: the product, over times, of the chances that
    were given to the votes of a time by those before it (prequential likelihood, by Laplace's method). Scores are means
    over them, and what is not known of the variances is in the bands. Without a method the grid is extended until the
    likeliest point is inside, and refined until points next to one another are nearly as likely.

    Attributes
    ----------
    method : str
        A sequential aggregator with a model of scores over time, or a grid of it.
    control : str
        Covariates whose effects, the same at all times, are estimated beside the scores: see
        `rankbench.data.tables.covariates`.
    seed : int
        Of the normal draws behind ranks and simultaneous intervals.
    time_unit : CalendarUnit, optional
        Votes of one such unit go together; by default the finest unit that makes at most 200.
    since : str
        The first time that begins here or later is *then*, as ``2024``, ``2024-Q2``, ``2024-03``, ``2024-03-31`` or
        ``2024-03-31T12:00``; a number where times are numbers. By default that of the median vote.
    """

    method: str = ""
    control: str = ""
    seed: Annotated[int, Field(ge=0)] = LOG_SEED
    time_unit: Annotated[CalendarUnit | None, Offered()] = None
    """With `over`: unit of time that groups votes; default: the finest unit with at most 200 times."""

    since: Annotated[str, Offered(metavar="TIME")] = ""
    """With `over`: start of changes; default: the median time."""
