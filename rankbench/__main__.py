"""Lets ``python -m rankbench`` be the command ``rankbench``."""

from __future__ import annotations

import sys

from rankbench.cli import main

if __name__ == "__main__":
    sys.exit(main())
