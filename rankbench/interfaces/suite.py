"""The schema of suite files validates TOML; unknown keys are errors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    PlainSerializer,
    PlainValidator,
    model_validator,
)

from rankbench.core.component import Record
from rankbench.core.spec import Spec, parse
from rankbench.errors import SpecError, nearest, option

# Names become names of folders and files: nothing in them may lead out of the output folder.
Name = Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=100)]
FileName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


def _distinct(values: tuple[int, ...]) -> tuple[int, ...]:
    twice = [value for value in values if values.count(value) > 1]
    if twice:
        raise ValueError(f"{twice[0]} is given twice")
    return values


# Below 2^40, so that products with a data set's sizes stay within 64 bits.
Count = Annotated[int, Field(strict=True, ge=1, lt=2**40)]
Counts = Annotated[tuple[Count, ...], Field(min_length=1), AfterValidator(_distinct)]
MarginSize = Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)]


def _read(value: object) -> object:
    if not isinstance(value, str | Spec):
        raise ValueError("must be a text in the contender grammar")
    try:
        return parse(value) if isinstance(value, str) else value
    except SpecError as error:
        raise ValueError(str(error)) from error


Written = Annotated[
    Spec, GetPydanticSchema(lambda _, schema: schema(Annotated[Any, PlainValidator(_read), PlainSerializer(str)]))
]
"""A text in the contender grammar: read where the suite's file, or a run's record of it, is."""


class ContenderEntry(Record):
    """One contender or, with list-valued parameters, a grid of them.

    Attributes
    ----------
    use : Spec
        Component that competes; in a file, a text in the contender grammar.
    label : str
        Name on the leaderboard; ``{k}``, ``{lambda}`` are replaced by the point's
        parameters. Empty: the canonical spec. At most 200 characters.
    n : tuple of int, optional
        Only at these n; all of the experiment's by default.
    tune : bool
        The grid is one contender: its point is chosen on validation data, by a protocol
        that does so.
    """

    use: Written
    label: str = Field(default="", max_length=200)
    n: Counts | None = None
    tune: bool = False


class Contrast(Record):
    """A difference of two contenders, by label: a minus b.

    Attributes
    ----------
    a, b : str
        Labels.
    at : {"each", "first", "last", "last-first"}
        At each n a contrast of its own; at the smallest or the largest n; or the
        difference between the contrast at the largest and at the smallest n.
    n_a, n_b : int, optional
        Instead of `at`: a at one n against b at another (numbers as the suite's file
        writes them, before any scaling).
    """

    a: str
    b: str
    at: Literal["each", "first", "last", "last-first"] = "each"
    n_a: Count | None = None
    n_b: Count | None = None


class _OfAKind(Record):
    """A table with a kind and the kind's parameters as its other keys, which the kind checks."""

    model_config = ConfigDict(extra="allow")

    kind: Name

    @property
    def options(self) -> dict[str, Any]:
        """The keys that belong to its kind, as written."""
        return dict(self.model_extra or {})


class Claim(_OfAKind):
    """A statement declared before the run that answers it.

    Attributes
    ----------
    id : str
        ``C1``, ...
    text : str
        The claim as a sentence, with the paper's page or figure.
    kind : str
        Name of a registered kind of claim, as ``less``: it says what is measured of the contrasts and where the
        intervals are claimed to lie, and which other keys the table may hold.
    contrasts : tuple of Contrast
        All of them must be as claimed.
    loss : str
        Loss that it is about, of the experiment's; by default the headline.
    origin : {"beforehand", "post hoc"}
        Whether it was written, and last changed, before anybody had seen such results:
        of this experiment, of another program for it, or of a trial of it.
    """

    id: str
    text: str
    contrasts: tuple[Contrast, ...] = Field(min_length=1)
    loss: str = ""
    origin: Literal["beforehand", "post hoc"] = "beforehand"


def matches(label: str, patterns: Sequence[str]) -> bool:
    """Return whether a label matches one of `patterns`; ``*`` matches any text."""
    return any(fnmatchcase(label, re.sub(r"([\[\]?])", r"[\1]", pattern)) for pattern in patterns)


def in_gate(gate: Sequence[str], experiment: str, label: str) -> bool:
    """Return whether a gate names a cell: by ``EXPERIMENT`` or ``EXPERIMENT/CONTENDER``; an empty one names all."""
    return not gate or any(
        matches(f"{experiment}/{label}" if "/" in pattern else experiment, [pattern]) for pattern in gate
    )


class Panel(Record):
    """One panel of a figure of curves: a line for each contender of `series` at each of `n`.

    Attributes
    ----------
    title : str
        Title above it.
    series : tuple of str
        Labels of contenders; ``*`` stands for any characters.
    n : tuple of int
        Numbers of judgments as the suite's file writes them, before any scaling.
    """

    title: str = ""
    series: tuple[str, ...] = Field(min_length=1)
    n: Counts


class Figure(_OfAKind):
    """Figure of an experiment.

    It shows contenders that ``--with`` adds too, as its kind has a place for them.

    Attributes
    ----------
    file : str
        A file name without its ending, at most 100 of ``A-Z a-z 0-9 . _ -``.
    kind : str
        Name of a registered kind of figure, as ``growth``: it says what is drawn, and which other keys the table
        may hold.
    title : str
        That of the experiment, if it is empty.
    level : float
        That of bands.
    """

    file: FileName
    title: str = ""
    level: float = Field(default=0.95, gt=0, lt=1)


class LogPlace(Record):
    """The place of a log among others.

    Attributes
    ----------
    kind : str
        As "sports and games".
    family : str
        Logs of one family are one observation of the logs that there are; by default a log is a family of its own.
    protocol : str
        Of the experiment on it, in the contender grammar; by default the experiment's.
    """

    kind: str
    family: str = ""
    protocol: str = ""


class Experiment(Record):
    """Data x blocks x contenders x losses, with the figure it draws and what it claims.

    Attributes
    ----------
    name : str
        Kebab-case, at most 100 characters.
    title : str
        Its heading on the leaderboard.
    n : tuple of int
        Distinct numbers of judgments (of what the protocol counts), in [1, 2^40).
    repetitions : int
        Number of new draws of judgments.
    losses : tuple of str
        In the contender grammar, or names of the protocol's own metrics; the first one is
        the headline.
    baseline : str
        Label that paired differences are taken against.
    oracles : tuple of str
        Labels of contenders that know what the others have to learn, ``*`` for anything: nobody is measured by them,
        and they are not called the best. A plan adds the contenders that declare `Method.needs_truth`.
    chance : str
        Label of the contender that guesses: over several logs it is not called the best.
    protocol, dataset : str
        In the contender grammar; the suite's own unless given.
    datasets : dict of str to LogPlace
        Logs, instead of `dataset`: the experiment is one on each of them, called NAME-DATASET. Its claims are about the
        mean over the families of logs.
    over : str
        Of an experiment on one of several logs: the name of that on all of them, which the suite's file has.
    optional : bool
        Left out, with a note, where the data do not allow it.
    recommend : bool
        A recommendation in words is drawn from its standings, against the baseline. Of experiments on the same data
        that ask for one, the first has it; the others are other views of the same question.
    margin : dict of str to float
        By metric, a difference that would not matter to the reader of the recommendation, in (0, 10]. The
        recommendation goes by the headline and by these metrics; methods are called alike
        only if each of them has a margin. A number is that of the headline.
    purpose : str
        Purpose of the recommendation, as ``predict clicks``, which the metrics judge.
    caveats : tuple of str
        Warnings to its reader.
    confirmed_by : tuple of str, optional
        Experiments on the same data that must not contradict what is recommended; by default all.
    views : str
        Reason for which other experiments on the same data answer another question, in sentences.
    least_judgments : int
        Least number of judgments of an item that may be called first in a ranking of items; by default 10, below which
        scores have no interval. ``units.csv`` keeps all items.
    contenders : tuple of ContenderEntry
        At least one.
    figures : tuple of Figure
        Figures of it.
    claims : tuple of Claim
        Claims that are stated before it is run.
    """

    name: Name
    title: str
    protocol: str = ""
    dataset: str = ""
    datasets: dict[str, LogPlace] = Field(default_factory=dict)
    over: str = ""
    optional: bool = False
    recommend: bool = False
    margin: dict[str, MarginSize] = Field(default_factory=dict)
    purpose: str = ""
    caveats: tuple[str, ...] = ()
    confirmed_by: tuple[Name, ...] | None = None
    views: str = ""
    least_judgments: int = Field(default=10, ge=0)
    n: Counts = (1,)
    repetitions: int = Field(default=1, ge=1, le=1_000_000)
    losses: tuple[str, ...] = Field(default=("ndcg",), min_length=1)
    baseline: str = ""
    oracles: tuple[str, ...] = ()
    chance: str = ""
    contenders: tuple[ContenderEntry, ...] = Field(min_length=1)
    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _of_the_headline(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or not isinstance(data.get("margin"), int | float):
            return data
        losses = data.get("losses") or cls.model_fields["losses"].default
        return {**data, "margin": {losses[0]: data["margin"]}}

    @model_validator(mode="after")
    def _has_what_it_recommends_by(self) -> Self:
        if self.recommend and not self.baseline:
            raise ValueError("a recommendation compares with a baseline: name one, or leave recommend out")
        unknown = [metric for metric in self.margin if metric not in self.losses]
        if unknown:
            raise ValueError(f"margin: {unknown[0]!r} is not among the losses")
        if unknown := [claim.loss for claim in self.claims if claim.loss and claim.loss not in self.losses]:
            raise ValueError(f"claims: {unknown[0]!r} is not among the losses")
        return self


class Suite(Record):
    """Named experiments, or other suites included.

    Attributes
    ----------
    name : str
        Kebab-case, at most 100 characters: the default output folder has it.
    title : str
        The heading of its leaderboard.
    seed : int
        In [0, 2^63).
    asks : str
        Question of the suite, in a sentence of plain words: the first of a leaderboard.
    protocol : str
        Protocol of experiments that name none, in the contender grammar.
    dataset : str
        The data of its experiments, unless they say otherwise, in the contender grammar;
        ``--dataset`` replaces it. Empty for protocols that take none.
    include : tuple of str
        Other suites whose experiments follow its own.
    timed_votes : int
        Votes of a simulated log that ``rankbench time`` counts and ranks beside the contenders: no protocol counts
        votes within a block. 0: none.
    experiments : tuple of Experiment
        Its own.
    """

    name: Name
    title: str
    asks: str = Field(default="", max_length=400)
    seed: int = Field(default=20130501, strict=True, ge=0, lt=2**63)
    protocol: str = "btl"
    dataset: str = ""
    include: tuple[str, ...] = ()
    timed_votes: int = Field(default=0, strict=True, ge=0, le=100_000_000)
    experiments: tuple[Experiment, ...] = ()


class SuitePart(NamedTuple):
    """The part of a suite that a run computes.

    Attributes
    ----------
    only : tuple of str
        Patterns of contenders, ``EXPERIMENT`` or ``EXPERIMENT/CONTENDER``; ``*`` stands for anything. Empty: all.
    n : tuple of int
        Numbers of judgments as the suite's file writes them; empty: those of the default.
    """

    only: tuple[str, ...] = ()
    n: tuple[int, ...] = ()

    def takes(self, experiment: str, label: str, n: int, *, default: bool = True) -> bool:
        """Return whether a contender at an n is selected; `default` decides if no n was selected."""
        return (n in self.n if self.n else default) and in_gate(self.only, experiment, label)

    def of_suite(self, suite: Suite) -> Suite:
        """Return a suite with the experiments that may have selected contenders.

        Raises
        ------
        SpecError
            A pattern or an n that no experiment fits.
        """
        names = {pattern: pattern.partition("/")[0] for pattern in self.only}
        for pattern, name in names.items():
            known = [one.name for one in suite.experiments]
            if not any(matches(one, [name]) for one in known):
                raise SpecError(
                    f"{option('only', pattern)}: suite {suite.name!r} has no such experiment{nearest(name, known)}"
                )
        chosen = [one for one in suite.experiments if not names or matches(one.name, [*names.values()])]
        for n in self.n:
            there = sorted({each for one in chosen for each in one.n})
            if n not in there:
                # n = 1 stands for all judgments of the data.
                has = f"has {', '.join(map(str, there))}" if there != [1] else "takes all judgments; leave it out"
                raise SpecError(f"{option('n', n)}: no such n; suite {suite.name!r} {has}")
        kept = tuple(one for one in chosen if not self.n or {*one.n} & {*self.n})
        return suite.model_copy(update={"experiments": kept})


EVERYTHING = SuitePart()
"""All of a suite."""
