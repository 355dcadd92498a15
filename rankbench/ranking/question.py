"""A question is what `rankbench.aggregate` is asked: a value, which refuses options that do not go together."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from rankbench.core.component import Offered, QuestionRecord
from rankbench.core.runtime import LOG_SEED
from rankbench.errors import OptionError, SpecError
from rankbench.interfaces.reading import with_told
from rankbench.logs.log_filter import Filter
from rankbench.ranking.load import WantedIntervals
from rankbench.ranking.pair_difference import check_pair
from rankbench.ranking.rank import RESAMPLES


class RankingQuestion(QuestionRecord):
    """Options of a ranking of a log of votes, ballots or clicks; `rankbench.aggregate` explains the fields."""

    method: Annotated[str, Offered(metavar="NAME", names="aggregator")] = Field(
        default="",
        description="Aggregator, NAME:param=...; default: bradley-terry:penalty=firth, of clicks coec:smoothing=1.",
    )
    by: Annotated[str | None, Offered(metavar="query|COLUMN")] = Field(
        default=None, description="A ranking for each query, or each value of a column."
    )
    pool: Annotated[bool, Offered()] = Field(
        default=False, description="Pool scores of categories partially, and test whether the category matters."
    )
    control: Annotated[str, Offered(metavar="TERM,..")] = Field(
        default="", description="Estimate effects of covariates, as 'side:unless=neutral, log(length), bold'."
    )
    between: Annotated[tuple[str, str] | None, Offered(metavar="ITEM ITEM")] = Field(
        default=None,
        description="Difference of two items chosen beforehand: interval, p-value, and votes that tell them apart at "
        "80% power.",
    )
    intervals: Annotated[WantedIntervals, Offered(flag_value="auto")] = Field(
        default=None,
        description="95% intervals and rank ranges; without a value, of the kind that suits the log.",
    )
    replicates: Annotated[int, Offered()] = Field(default=RESAMPLES, ge=2, le=100_000, description="Resamples.")
    seed: Annotated[int, Offered()] = Field(default=LOG_SEED, ge=0, description="Seed of the resamples.")
    executor: Annotated[Literal["local", "dask"], Offered()] = Field(
        default="local", description="Where votes are counted."
    )
    address: Annotated[str, Offered()] = Field(
        default="", description="Dask scheduler whose workers count the votes, as tcp://10.0.0.1:8786."
    )
    columns: str = Field(default="", description="Meanings of columns and of words.")
    reader: str = Field(default="", description="Reader of a file.")
    keep: Filter = Field(default=Filter(), description="Rows, items and judges to rank.")

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.pool and self.by is None:
            raise OptionError("pool", "is of categories", needs="by=COLUMN")
        if self.pool and self.control:
            raise OptionError("pool", "shrinks scores without covariates", excludes="control")
        if self.pool and self.intervals not in (None, "auto", "sandwich"):
            raise OptionError("pool", f"has intervals by formula, not by {self.intervals}", excludes="intervals")
        if self.between:
            check_pair(self.between)
        if self.between and self.pool:
            raise OptionError("between", "tells of each category by itself", excludes="pool")
        if (self.executor == "dask") != bool(self.address):
            raise SpecError("the executor dask and the address of its scheduler go together")
        return self

    @property
    def wanted(self) -> WantedIntervals:
        """Intervals of the question: a difference always has some."""
        return self.intervals or ("auto" if self.between else None)

    @property
    def told(self) -> str:
        """Meanings of columns, with the covariates."""
        return with_told(self.columns, "control", self.control) if self.control else self.columns
