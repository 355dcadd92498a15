"""The hooks that a plugin may implement. All are optional; all are called once a process.

A plugin is a module (or any object) that an entry point of the group ``rankbench`` names.
It implements hooks as functions decorated with `hookimpl`::

    import rankbench

    @rankbench.hookimpl
    def rankbench_register_surrogates():
        return [MySurrogate]

Hooks take no arguments, have no side effects, and return a list. rankbench's own
components are registered in the same way.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from rankbench.kinds.aggregator import Aggregator
    from rankbench.kinds.dataset import Dataset
    from rankbench.kinds.loss import Loss
    from rankbench.kinds.method import Method
    from rankbench.kinds.model import Model
    from rankbench.kinds.optimizer import Optimizer
    from rankbench.kinds.protocol import Protocol
    from rankbench.kinds.reader import Reader
    from rankbench.kinds.surrogate import Surrogate

__all__ = [
    "GROUP",
    "hookimpl",
    "rankbench_register_aggregators",
    "rankbench_register_datasets",
    "rankbench_register_losses",
    "rankbench_register_methods",
    "rankbench_register_models",
    "rankbench_register_optimizers",
    "rankbench_register_protocols",
    "rankbench_register_readers",
    "rankbench_register_suites",
    "rankbench_register_surrogates",
]

GROUP = "rankbench"
"""Entry-point group of plugins, and the project name that pluggy knows."""

hookspec = pluggy.HookspecMarker(GROUP)

hookimpl = pluggy.HookimplMarker(GROUP)
"""Decorator that marks a plugin's function as the implementation of a hook."""


@hookspec
def rankbench_register_aggregators() -> list[type[Aggregator]]:
    """Return structure functions, which turn k judgments into scores or edges.

    Returns
    -------
    list of type[Aggregator]
        Classes, not instances.

    Notes
    -----
    .. versionadded:: 0.1
    """
    return []


@hookspec
def rankbench_register_surrogates() -> list[type[Surrogate]]:
    """Return convex surrogates of losses, for scores or for edges.

    Returns
    -------
    list of type[Surrogate]
        Subclasses of `ScoreSurrogate` or `PairwiseSurrogate`.

    Notes
    -----
    .. versionadded:: 0.1
    """
    return []


@hookspec
def rankbench_register_losses() -> list[type[Loss]]:
    """Return losses, which contenders are judged by.

    Returns
    -------
    list of type[Loss]
        Classes that declare their range and direction.

    Notes
    -----
    .. versionadded:: 0.1
    """
    return []


@hookspec
def rankbench_register_optimizers() -> list[type[Optimizer]]:
    """Return optimizers: steps that advance in lockstep, solvers of whole blocks.

    Returns
    -------
    list of type[Optimizer]
        Subclasses of `StepOptimizer` or `Solver`.

    Notes
    -----
    .. versionadded:: 0.1
    """
    return []


@hookspec
def rankbench_register_models() -> list[type[Model]]:
    """Return feature maps, from an item's features to what scores are linear in.

    Returns
    -------
    list of type[Model]
        Classes, not instances.

    Notes
    -----
    .. versionadded:: 0.1
    """
    return []


@hookspec
def rankbench_register_methods() -> list[type[Method]]:
    """Return whole contenders: peers, baselines, compositions.

    Returns
    -------
    list of type[Method]
        Classes, not instances.

    Notes
    -----
    .. versionadded:: 0.1
    """
    return []


@hookspec
def rankbench_register_protocols() -> list[type[Protocol]]:
    """Return protocols: how an experiment is done.

    Returns
    -------
    list of type[Protocol]
        Classes, not instances.

    Notes
    -----
    .. versionadded:: 0.1
    """
    return []


@hookspec
def rankbench_register_readers() -> list[type[Reader]]:
    """Return readers of file formats.

    Returns
    -------
    list of type[Reader]
        One class a format.

    Notes
    -----
    .. versionadded:: 0.1
    """
    return []


@hookspec
def rankbench_register_datasets() -> list[type[Dataset]]:
    """Return data sets and simulators.

    Returns
    -------
    list of type[Dataset]
        Classes, not instances; nothing is read or downloaded before it is asked for.

    Notes
    -----
    .. versionadded:: 0.1
    """
    return []


@hookspec
def rankbench_register_suites() -> list[Path]:
    """Return suites of experiments.

    Returns
    -------
    list of pathlib.Path
        TOML files; a suite's name is its file's name without ``.toml``.

    Notes
    -----
    .. versionadded:: 0.1
    """
    return []
