"""``rankbench aggregate --control``: items before and after, effects in every format."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from rankbench.cli import main


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return votes of three items on which the left wins more."""
    path = tmp_path_factory.mktemp("control") / "votes.csv"
    rows = []
    for left, right, wins in (
        ("a", "b", 16),
        ("b", "a", 9),
        ("b", "c", 14),
        ("c", "b", 11),
        ("a", "c", 17),
        ("c", "a", 8),
    ):
        rows += [(left, right, "left" if k < wins else "right", k % 5, k % 3) for k in range(20)]
    pl.DataFrame(rows, schema=["left", "right", "winner", "words_left", "words_right"], orient="row").write_csv(path)
    return path


def invoke(log: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["aggregate", str(log), "--control", "side, words", *arguments])


def test_items_and_effects_are_two_tables(log: Path) -> None:
    result = invoke(log)
    assert result.exit_code == 0
    assert "unadjusted score" in result.stdout
    assert "between equals, the left wins" in result.stdout


def test_json_has_effects_beside_items(log: Path) -> None:
    record = json.loads(invoke(log, "--intervals", "--json").stdout)
    assert [effect["covariate"] for effect in record["effects"]] == ["side", "words"]
    assert set(record["effects"][0]) == {"covariate", "effect", "lower", "upper", "unit", "words"}
    assert {"unadjusted_score", "unadjusted_rank_low", "unadjusted_lower"} <= set(record["items"][0])
    assert record["intervals"]["kind"] == "sandwich"


def test_without_intervals_places_are_called_places(log: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(invoke(log, "--format", "csv").stdout)))
    assert {"place_low", "unadjusted_place_low"} <= set(rows[0])


def test_effects_in_every_format(log: Path, tmp_path: Path) -> None:
    record = json.loads(invoke(log, "--effects", "--json").stdout)
    rows = list(csv.DictReader(io.StringIO(invoke(log, "--effects", "--format", "csv").stdout)))
    assert [float(row["effect"]) for row in rows] == [effect["effect"] for effect in record["effects"]]
    assert invoke(log, "--effects", "--out", str(tmp_path / "effects.parquet")).exit_code == 0
    assert pl.read_parquet(tmp_path / "effects.parquet").to_dicts() == record["effects"]
    lines = invoke(log, "--effects", "--format", "md").stdout.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("| covariate | effect (log-odds) |")
    whole = invoke(log, "--format", "md").stdout
    assert "\n".join(lines) in whole
