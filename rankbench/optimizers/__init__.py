"""Optimizers advance in lockstep or solve whole blocks; the hook registers the built-in ones."""

from __future__ import annotations

from rankbench.interfaces.method import Optimizer
from rankbench.optimizers.composite import Composite, Proximal
from rankbench.optimizers.hinge_dual import HingeDual
from rankbench.optimizers.newton import LBFGS, Exact, Newton
from rankbench.plugin.registry import hookimpl


@hookimpl
def rankbench_register() -> list[type[Optimizer]]:
    """Register the built-in optimizers."""
    return [Composite, Exact, Newton, LBFGS, Proximal, HingeDual]
