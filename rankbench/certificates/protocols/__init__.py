"""Protocols measure what theorems say; the hook registers them.

The hook stands here, because the package `rankbench.certificates` imports nothing: its checker stands alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankbench.plugin.registry import hookimpl

if TYPE_CHECKING:
    from rankbench.interfaces.protocol import Protocol


@hookimpl
def rankbench_register() -> list[type[Protocol]]:
    """Return the protocols of theory."""
    from rankbench.certificates.protocols.theory import Repair, Theory
    from rankbench.certificates.protocols.u_statistics import UStatistics

    return [Repair, Theory, UStatistics]
