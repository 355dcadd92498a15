"""The command line in this process, with the exit code that a shell would see."""

from __future__ import annotations

import csv
import io

import pytest
from click.testing import CliRunner

from rankbench.cli import main


@pytest.fixture
def rankbench():
    """Run ``rankbench`` with these arguments."""
    runner = CliRunner()

    def run(*arguments: str, **environment: str):
        return runner.invoke(main, list(arguments), env=environment, prog_name="rankbench")

    return run


@pytest.fixture
def rows(rankbench):
    """Return the rows of the CSV that ``rankbench aggregate`` prints with these arguments."""
    return lambda *arguments: list(
        csv.DictReader(io.StringIO(rankbench("aggregate", *arguments, "--format", "csv").stdout))
    )
