"""A question is what `rankbench.rank` is asked: a value, whose fields are options of the command line."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from rankbench.core.question import DifferentNames, Offered
from rankbench.core.runtime import LOG_SEED
from rankbench.data.readers.run_measures import Ties
from rankbench.data.readers.trec_tables import in_memory
from rankbench.errors import OptionError, SpecError
from rankbench.logs.question import RowsQuestion
from rankbench.ranking.ranking_table import check_pair
from rankbench.systems.score_sample import Kept

RESAMPLES_OF_SCORES = 10_000
"""Resamples of tasks and seeds."""

Missing: TypeAlias = Literal[Kept, "zero"]
"""Ways to treat missing cells: as `Kept`, or they are 0 where runs lack judged topics."""


class SystemsQuestion(RowsQuestion):
    """Options of a ranking of systems by their scores on tasks; `rankbench.rank` explains them further."""

    methods: Annotated[DifferentNames, Offered(name="method", metavar="NAME", names="aggregator")] = ()
    """Aggregator of score tables, NAME:param=...; repeatable. Default: mean-score, mean-rank and borda-count."""

    without: Annotated[DifferentNames, Offered(metavar="NAME")] = ()
    """A task or system to leave out; repeatable."""

    between: Annotated[tuple[str, str] | None, Offered(metavar="SYSTEM SYSTEM")] = None
    """Difference of two systems chosen beforehand: interval, p-value, and tasks that tell them apart at 80% power."""

    top: Annotated[int, Field(ge=1), Offered()] = 3
    """k of the column 'top k in'."""

    replicates: Annotated[int, Field(ge=2, le=100_000), Offered()] = RESAMPLES_OF_SCORES
    """Resamples."""

    seed: Annotated[int, Field(ge=0), Offered()] = LOG_SEED
    """Seed of the resamples."""

    qrels: Annotated[Any, Offered(metavar="FILE")] = ""
    """Relevance judgments (qrels); the arguments are TREC runs."""

    loss: Annotated[str, Offered(metavar="NAME", names="loss")] = ""
    """Metric of runs: nDCG@10 (the default), AP, RR, P@10, R@100, Rprec, Success@5, RBP, Judged@10, ERR@20, or a loss
    with parameters."""

    ties: Annotated[Ties, Offered()] = "shared"
    """Places of documents of equal scores in a run: the mean of their places, or trec_eval's order."""

    missing: Annotated[Missing | None, Offered()] = None
    """Part to leave out where cells are missing: tasks that not all systems have (the default), or systems without all
    tasks. zero, the default of runs: a topic that a run lacks scores 0, as in trec_eval -c."""

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.between:
            check_pair(self.between)
        if self.judged and (read := self.given(*RowsQuestion.model_fields)):
            raise OptionError("qrels", "judges TREC runs, which have a format of their own", excludes=read)
        for name in self.given("loss", "ties") if not self.judged else []:
            raise OptionError(name, "is of TREC runs", needs="qrels=FILE")
        if not self.judged and self.missing == "zero":
            raise SpecError("missing must be 'tasks' or 'systems', or 'zero' with qrels, not 'zero'")
        return self

    @property
    def judged(self) -> bool:
        """Whether the scores are of judged runs."""
        return in_memory(self.qrels) or bool(self.qrels)
