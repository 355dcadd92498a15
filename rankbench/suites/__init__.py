"""Built-in suites: one TOML file each, beside the code that reads them."""

from __future__ import annotations

from pathlib import Path

from rankbench.plugin.hookspecs import hookimpl

__all__ = ["rankbench_register"]


@hookimpl
def rankbench_register() -> list[Path]:
    """Return the built-in suites."""
    return sorted(Path(__file__).parent.glob("*.toml"))
