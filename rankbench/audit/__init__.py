"""An audit asks of one ranking what its readers ask: how few votes change it, how many more are needed.

The package can be called: ``rankbench.audit("votes.csv")`` calls `rankbench.audit.audit.audit`.
"""

from __future__ import annotations

from rankbench.core.callable_package import make_callable

make_callable(__name__)
