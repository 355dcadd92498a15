"""What can be said about a registered suite without planning it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rankbench.errors import SpecError, nearest
from rankbench.plugin import manager
from rankbench.plugin.kinds import SUITE
from rankbench.spec import expand
from rankbench.suites.suite_files import read_suite

__all__ = ["ExperimentDescription", "SuiteDescription", "describe_suite"]


@dataclass(frozen=True)
class ExperimentDescription:
    """An experiment of a suite, as its file writes it.

    Attributes
    ----------
    name, title : str
    n : tuple of int
        Numbers of judgments.
    repetitions : int
    contenders : int
        Grids multiplied out.
    losses : tuple of str
    claims : int
    """

    name: str
    title: str
    n: tuple[int, ...]
    repetitions: int
    contenders: int
    losses: tuple[str, ...]
    claims: int


@dataclass(frozen=True)
class SuiteDescription:
    """A suite, as its file writes it.

    Attributes
    ----------
    name, title : str
    path : Path
    dataset : str
        The default data set; empty if the suite only includes others.
    seed : int
    includes : tuple of str
        Other suites, whose experiments come first.
    experiments : tuple of ExperimentDescription
    distribution, version : str
    """

    name: str
    title: str
    path: Path
    protocol: str
    dataset: str
    seed: int
    includes: tuple[str, ...]
    experiments: tuple[ExperimentDescription, ...]
    distribution: str
    version: str


def describe_suite(name: str) -> SuiteDescription:
    """Describe a registered suite.

    Raises
    ------
    SpecError
        There is no such suite, or its file says something that a suite cannot say.
    InputError
        The file is not TOML.
    """
    files = manager.suites()
    if name not in files:
        raise SpecError(f"unknown suite {name!r}{nearest(name, files)}{manager.maybe_theirs(name)}")
    suite = read_suite(files[name])
    origin = manager.origin(SUITE, name)
    return SuiteDescription(
        name=name,
        title=suite.title,
        path=files[name],
        protocol=suite.protocol,
        dataset=suite.dataset,
        seed=suite.seed,
        includes=suite.include,
        experiments=tuple(
            ExperimentDescription(
                name=experiment.name,
                title=experiment.title,
                n=experiment.n,
                repetitions=experiment.repetitions,
                contenders=sum(1 if entry.tune else len(expand(entry.use)) for entry in experiment.contenders),
                losses=experiment.losses,
                claims=len(experiment.claims),
            )
            for experiment in suite.experiments
        ),
        distribution=origin.distribution,
        version=origin.version,
    )
