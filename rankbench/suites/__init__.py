"""Built-in suites are TOML files; the hook registers them and the kinds of claims and figures that they use."""

from __future__ import annotations

from pathlib import Path

from rankbench.core.component import Component
from rankbench.plugin.registry import hookimpl

__all__ = ["rankbench_register"]


@hookimpl
def rankbench_register() -> list[type[Component] | Path]:
    """Return the built-in suites, and the kinds of claims and figures that come with them."""
    from rankbench.suites.claim_kinds import Bounded, Coincide, Equivalent, Flat, Less, Rate, Wider, Wins
    from rankbench.suites.figure_curves import Curves, Dots, Growth
    from rankbench.suites.figure_risk import Risk

    claims: list[type[Component]] = [Less, Wider, Equivalent, Flat, Wins, Bounded, Coincide, Rate]
    figures: list[type[Component]] = [Risk, Curves, Growth, Dots]
    return [*sorted(Path(__file__).parent.glob("*.toml")), *claims, *figures]
