"""A question is what `rankbench.aggregate` is asked: a value, which refuses options that do not go together."""

from __future__ import annotations

from typing import Any, Self, get_args

from pydantic import Field, ValidationError, model_validator

from rankbench.core.component import Record, first_problem
from rankbench.core.runtime import LOG_SEED
from rankbench.errors import OptionError, SpecError
from rankbench.interfaces.reading import with_told
from rankbench.logs.log_filter import Filter
from rankbench.ranking.interval_kinds import Intervals
from rankbench.ranking.load import WantedIntervals
from rankbench.ranking.pair_difference import check_pair
from rankbench.ranking.rank import RESAMPLES


class RankingQuestion(Record):
    """Options of a ranking of a log of votes, ballots or clicks; `rankbench.aggregate` has what the fields mean."""

    method: str = Field(default="", description="Aggregator; empty: what suits the kind of log.")
    by: str | None = Field(default=None, description="Column whose values have a ranking each.")
    control: str = Field(default="", description="Covariates whose effects are estimated.")
    pool: bool = Field(default=False, description="Pool the scores of categories partially.")
    between: tuple[str, ...] | None = Field(default=None, description="Two items whose difference is wanted.")
    intervals: WantedIntervals = Field(default=None, description="Kind of the 95% intervals.")
    columns: str = Field(default="", description="Meanings of columns and of words.")
    reader: str = Field(default="", description="Reader of a file.")
    replicates: int = Field(default=RESAMPLES, description="Resamples.")
    seed: int = Field(default=LOG_SEED, description="Seed of the resamples.")
    executor: str = Field(default="local", description="Where votes are counted.")
    address: str = Field(default="", description="Dask scheduler whose workers count the votes.")
    keep: Filter = Field(default=Filter(), description="Rows, items and judges to rank.")

    @classmethod
    def from_options(cls, **options: Any) -> Self:
        """Return the question that options ask.

        Raises
        ------
        SpecError
            An option that there is not, or options that do not go together.
        """
        known = get_args(Intervals)
        if options.get("intervals") not in (None, "auto", *known):
            raise SpecError(f"there are no intervals {options['intervals']!r}; there are {', '.join(('auto', *known))}")
        try:
            return cls(**options)
        except ValidationError as error:
            if isinstance(said := error.errors()[0].get("ctx", {}).get("error"), SpecError):
                raise said from None
            raise SpecError(": ".join(first_problem(error))) from error

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.replicates < 2 or self.seed < 0:
            raise SpecError("intervals need two replicates at least, and a seed that is not negative")
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
        """Intervals that are wanted: a difference has always some."""
        return self.intervals or ("auto" if self.between else None)

    @property
    def told(self) -> str:
        """Meanings of columns, with the covariates."""
        return with_told(self.columns, "control", self.control) if self.control else self.columns
