"""Answers of the command line in this process."""

from __future__ import annotations

import csv
import io

import pytest


@pytest.fixture
def rows(rankbench):
    """Return the rows of the CSV that ``rankbench aggregate`` prints with these arguments."""
    return lambda *arguments: list(
        csv.DictReader(io.StringIO(rankbench("aggregate", *arguments, "--format", "csv").stdout))
    )
