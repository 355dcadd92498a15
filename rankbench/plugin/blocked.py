"""The block list: distributions whose plugins and commands are not even imported.

``RANKBENCH_BLOCK_PLUGINS=one-plugin,another`` is the way out when a plugin hangs or ends
the process while it is imported, where nothing can be recorded any more.
"""

from __future__ import annotations

import os

from rankbench.core.text import normalized

VARIABLE = "RANKBENCH_BLOCK_PLUGINS"


def is_blocked(distribution: str) -> bool:
    """Return whether the environment names a distribution; rankbench itself cannot be blocked.

    Parameters
    ----------
    distribution : str
        In any spelling that the package index takes for the same: ``Some_Plugin``.
    """
    names = {normalized(name) for name in os.environ.get(VARIABLE, "").split(",") if name.strip()}
    return normalized(distribution) in names - {"rankbench"}
