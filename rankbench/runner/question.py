"""A question is what `rankbench.run` is asked: a value, whose fields are options of the command line."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, model_validator

from rankbench.core.question import Offered, QuestionRecord
from rankbench.core.runtime import available_cores
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.suite import SuitePart
from rankbench.ranking.times import CalendarUnit
from rankbench.runner.executors import LIMIT
from rankbench.runner.prepare import dataset_of


def _several(given: Any) -> Any:
    """Return one data set as a sequence of one."""
    return (given,) if isinstance(given, str | Dataset) else given


DatasetNames: TypeAlias = Annotated[
    tuple[Any, ...],
    Offered(metavar="NAME", names="dataset"),
    BeforeValidator(_several),
    Field(
        description="Data set in place of the suite's, NAME or NAME:param=value,...; for every experiment that takes "
        "it."
    ),
]

Additions: TypeAlias = Annotated[
    tuple[str, ...],
    Offered(name="with", metavar="CONTENDER", names="method aggregator"),
    Field(
        description="Add a contender; or, as in surrogate=NAME, a component in the place of the built-in ones, "
        "wherever it fits."
    ),
]

OnlyThese: TypeAlias = Annotated[
    tuple[str, ...],
    Offered(metavar="EXPERIMENT[/CONTENDER]"),
    Field(description="Compute only this; repeatable; * stands for anything."),
]


class RunQuestion(QuestionRecord):
    """Options of a run of a suite; `rankbench.run` explains them further."""

    time_unit: Annotated[CalendarUnit | None, Offered()] = None
    """Unit of time whose votes a method predicts together; default: votes of one time."""

    dataset: DatasetNames = ()
    reps: Annotated[int | None, Field(ge=1), Offered()] = None
    """Limit the longest experiment to this many repetitions, others in proportion. Folds by time keep five."""

    extra: Additions = ()
    only: OnlyThese = ()
    n: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Offered()] = ()
    """Number of judgments as the suite writes it; repeatable; default: all."""

    parameters: Annotated[str, Offered(name="set", metavar="PARAM=VALUE,..")] = ""
    """Parameters of protocols, as design=50,heldout=200, in every experiment whose protocol has them."""

    workers: Annotated[int | None, Field(ge=1), Offered(location=True)] = None
    """Worker processes; default: one for each processor."""

    executor: Annotated[Literal["local", "dask"], Offered(location=True)] = "local"
    address: Annotated[str, Offered(location=True)] = ""
    """Address of a Dask scheduler, as tcp://10.0.0.1:8786."""

    timeout: Annotated[float | None, Field(gt=0), Offered()] = None
    """Seconds that a block may take."""

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        self.refuse_half_a_cluster()
        return self

    @cached_property
    def datasets(self) -> list[Dataset]:
        """Data sets in the place of the suite's."""
        return [dataset_of(each) if isinstance(each, str) else each for each in self.dataset]

    @property
    def part(self) -> SuitePart:
        """The part of the suite that is computed."""
        return SuitePart(self.only, self.n)

    @property
    def processes(self) -> int:
        """Number of worker processes."""
        return self.workers or available_cores()

    @property
    def limit(self) -> float:
        """Seconds that a block may take."""
        return LIMIT if self.timeout is None else self.timeout


DEFAULTS = RunQuestion()
"""The whole suite, by itself."""
