"""Where the real data is, for the tests that use it."""

import os
from pathlib import Path

import pytest

REAL = Path(os.environ.get("RANKBENCH_DATA", "")) if os.environ.get("RANKBENCH_DATA") else None


def needs(*files: str) -> pytest.MarkDecorator:
    """Skip a test unless RANKBENCH_DATA has these files."""
    missing = [f for f in files if REAL is None or not (REAL / f).is_file()]
    reason = f"RANKBENCH_DATA is not set or lacks {', '.join(missing)}"
    return pytest.mark.skipif(bool(missing), reason=reason)


def real(file: str) -> Path:
    """Return a file of the real data."""
    assert REAL is not None
    return REAL / file
