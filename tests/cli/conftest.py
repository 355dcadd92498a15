"""The command line in this process, with the exit code that a shell would see."""

from __future__ import annotations

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
