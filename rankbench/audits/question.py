"""A question is what `rankbench.audit` is asked: a value, whose fields are options of the command line."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from rankbench.core.question import Offered
from rankbench.core.runtime import LOG_SEED
from rankbench.logs.question import LogQuestion


class AuditQuestion(LogQuestion):
    """Options of an audit of the ranking of a log of votes, or of a score table; `rankbench.audit` explains them."""

    method: Annotated[str, Offered(metavar="NAME", names="aggregator")] = ""
    """Aggregator, NAME:param=...; default: as rankbench aggregate has it for votes, mean-score for scores."""

    seed: Annotated[int, Field(ge=0), Offered()] = LOG_SEED
    """Seed of simulations."""
