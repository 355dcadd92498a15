"""`rankbench report DIR`."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic
from click.testing import CliRunner

from rankbench.cli.report import report
from rankbench.errors import StoreError


def test_report_names_what_it_wrote(tmp_path: Path) -> None:
    synthetic.write(tmp_path, [synthetic.small()])
    result = CliRunner().invoke(report, [str(tmp_path)])
    assert result.exit_code == 0
    written = result.output.split()
    assert [Path(path).name for path in written] == ["leaderboard.md", "leaderboard.csv", "results.parquet"]
    assert all(Path(path).exists() for path in written)


def test_report_says_who_was_skipped(tmp_path: Path) -> None:
    made = synthetic.small()
    made.contenders[0].fails = {0: ("skipped", "pip install 'some[extra]'")}
    synthetic.write(tmp_path, [made])
    result = CliRunner().invoke(report, [str(tmp_path)])
    assert result.exit_code == 0
    assert result.stderr == "skipped: regression k=1 (2 cells of figure-3): pip install 'some[extra]'\n"


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    result = CliRunner().invoke(report, [str(tmp_path)])
    assert isinstance(result.exception, StoreError)
    with pytest.raises(StoreError, match="no results here"):
        raise result.exception
