"""Optimizers: steps that advance in lockstep, solvers of whole blocks; one a file."""

from __future__ import annotations

from rankbench.kinds.optimizer import Optimizer
from rankbench.optimizers.composite import Composite
from rankbench.optimizers.exact import Exact
from rankbench.optimizers.hinge_dual import HingeDual
from rankbench.optimizers.lbfgs import LBFGS
from rankbench.optimizers.newton import Newton
from rankbench.optimizers.proximal import Proximal
from rankbench.plugin.hookspecs import hookimpl

__all__ = ["LBFGS", "Composite", "Exact", "HingeDual", "Newton", "Proximal"]


@hookimpl
def rankbench_register() -> list[type[Optimizer]]:
    """Register the built-in optimizers."""
    return [Composite, Exact, Newton, LBFGS, Proximal, HingeDual]
