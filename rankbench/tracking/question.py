"""Questions about changes are values, whose fields are options of the command line."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field, WithJsonSchema, field_validator

from rankbench.core.question import Offered, QuestionRecord
from rankbench.core.text import seconds_of
from rankbench.errors import SpecError, option
from rankbench.runner.question import Additions, DatasetNames, OnlyThese
from rankbench.tracking import turns
from rankbench.tracking.comparison import Margin

ALPHA = 0.01
"""Chance of a false alarm of a whole comparison."""

BUDGET = 600.0
"""Seconds, unless the caller says otherwise."""


class ChangeQuestion(QuestionRecord):
    """Which changes are reported.

    Attributes
    ----------
    margin : Margin, optional
        Size that a practical difference must exceed; by default 0 for qualities, 5% for speeds, and 1% for speeds that
        were measured in turns. Memory has one of its own, see `rankbench.tracking.speed_changes.memory_margin`.
    alpha : float, in (0, .5)
    """

    margin: Annotated[
        Margin | None, Offered(name="worse-by", metavar="X|X%"), WithJsonSchema({"type": ["string", "null"]})
    ] = None
    """A smaller change is not worse; default: 0, of speeds 5%, of speeds timed in turns 1%. For memory it is always 10%
    and 16 MiB."""

    alpha: Annotated[float, Field(gt=0, lt=0.5), Offered(name="false-alarms")] = ALPHA
    """Chance of a false alarm where nothing changed."""

    @field_validator("margin", mode="before")
    @classmethod
    def _is_size(cls, margin: Margin | str | None) -> Margin | None:
        """Return a margin; a text is a number, or a share as 5%."""
        if isinstance(margin, str):
            try:
                size = float(margin.removesuffix("%"))
            except ValueError:
                raise SpecError(f"{option('margin', margin)}: it is no number, nor a share as 5%") from None
            margin = Margin(size / 100, relative=True) if margin.endswith("%") else Margin(size)
        if margin is not None and not 0 <= margin.size < math.inf:
            raise SpecError(f"a margin is a number, 0 or more, not {margin.size:g}")
        return margin


class CompareQuestion(ChangeQuestion):
    """Options of a comparison of two results.

    Attributes
    ----------
    gate : tuple of str
        Patterns of tested rows, see `rankbench.tracking.comparison.Family`; empty: everything.
    declared : str
        Why results were meant to change; without it a change of results on the same judgments fails.
    method, columns : str
        Of logs: who ranks them, and what their columns mean; see
        `rankbench.tracking.ranking_changes.ranking_changes`.
    """

    gate: Annotated[tuple[str, ...], Offered(metavar="EXPERIMENT[/CONTENDER]")] = ()
    """Test only this (of logs: an item); * stands for anything."""

    declared: Annotated[str, Offered(metavar="TEXT", may_be_empty=True)] = ""
    """Why results were meant to change; without it any change on the same judgments fails."""

    method: Annotated[str, Offered(metavar="NAME", names="aggregator")] = ""
    """Aggregator of two logs of votes; default: as rankbench aggregate."""

    columns: Annotated[str, Offered(metavar="ROLE=NAME,..")] = ""
    """Roles of columns of two logs, as left=model_x."""


class TimeQuestion(ChangeQuestion):
    """Options of timing a suite's contenders in turns: one version, or two of them.

    Attributes
    ----------
    against : str
        The other version, see `rankbench.tracking.other_version.other_version`; it is the base.
    rounds : int, optional
        At most so many.
    budget : str, optional
        A time as `rankbench.core.text.seconds_of` reads it; `BUDGET` where `rounds` are not given either.
    precision : float
        Relative half width of intervals that is narrow enough.
    dataset, extra, only, n, seed
        See `rankbench.tracking.timed_versions.Launcher`.
    """

    against: Annotated[str, Offered(metavar="PYTHON|VERSION|GIT-REF")] = ""
    """Other version of rankbench to time."""

    rounds: Annotated[int | None, Field(ge=1), Offered()] = None
    """Maximum number of rounds; every three are in new processes."""

    budget: Annotated[str | None, Offered(metavar="10m")] = None
    """Maximum time, as 90s or 1h; default: 10m, or no limit with `rounds`."""

    precision: Annotated[float, Field(gt=0), Offered()] = 0.02
    """Stop once the half width of every interval is at most this share of its ratio."""

    dataset: DatasetNames = ()
    extra: Additions = ()
    only: OnlyThese = ()
    n: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Offered()] = ()
    """Number of judgments as the suite writes it; repeatable; default: the smallest."""

    seed: Annotated[int | None, Field(ge=0), Offered()] = None
    """Seed of the order of turns; default: a new one, kept."""

    @property
    def limit(self) -> float:
        """Seconds of the whole job."""
        return seconds_of(self.budget) if self.budget else BUDGET if self.rounds is None else math.inf

    @property
    def launches(self) -> int:
        """Number of launches, at most."""
        return turns.LAUNCHES if self.rounds is None else max(1, -(-self.rounds // turns.ROUNDS))
