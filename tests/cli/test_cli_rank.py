"""``rankbench rank``: formats, notes on the standard error, and exit codes."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shlex
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result

from rankbench.cli import main


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    rows = [f"=m{s},{','.join(str(s * 3 + (7 * t + 5 * s) % 11) for t in range(40))}" for s in range(3)]
    path.write_text(
        "\n".join([f"model,{','.join(f't{t}' for t in range(39))},latency", *rows]) + "\n", encoding="utf-8"
    )
    return path


def ranked(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["rank", *map(str, arguments), "--replicates", "200"])


def test_the_terminal_has_methods_side_by_side(table: Path) -> None:
    found = ranked(table)
    assert found.exit_code == 0
    header, first, *_ = found.stdout.splitlines()
    assert header.split("  ")[0] == "rank"
    assert all(word in header for word in ("tier", "mean-score", "P(first)", "P(top 3)", "mean-rank", "borda-count"))
    assert "=m2" in first
    assert "note: there is one score a cell" in found.stderr
    assert "no chances that a system is the best one" in found.stderr


def test_json_is_complete(table: Path) -> None:
    said = json.loads(ranked(table, "--format", "json", "--lower", "latency", "--top", 2, "--seed", 5).stdout)
    assert said["schema_version"] == 1
    assert said["sha256"] == hashlib.sha256(table.read_bytes()).hexdigest()
    assert said["n"] == {"systems": 3, "tasks": 40, "seeds": 1}
    assert (said["seed"], said["replicates"], said["top_k"], said["lower_is_better"]) == (5, 200, 2, ["latency"])
    assert said["methods"]["mean-rank"] == {"unit": "rank, 1 is the best", "direction": "minimize"}
    assert said["intervals"]["level"] == 0.95
    assert len(said["systems"]) == 9
    assert set(said["systems"][0]) == {
        *("method", "system", "score", "lower", "upper"),
        *("rank_low", "rank_high", "tier", "p_first", "p_top_k"),
    }
    assert said["notes"]


def test_files_have_the_same_rows(table: Path, tmp_path: Path) -> None:
    for ending in ("csv", "parquet", "md", "json"):
        assert ranked(table, "--method", "mean-rank", "--out", tmp_path / f"found.{ending}").exit_code == 0
    frame = pl.read_parquet(tmp_path / "found.parquet")
    text = pl.read_csv(io.BytesIO((tmp_path / "found.csv").read_bytes()))
    assert text.drop("system").equals(frame.drop("system").cast(dict(text.drop("system").schema)))
    # A spreadsheet must not take a name for a formula.
    assert text["system"].to_list() == [f"'{name}" for name in frame["system"]]
    assert (tmp_path / "found.md").read_text(encoding="utf-8").startswith("| rank | tier | system | mean-rank |")


def test_results_of_one_model_say_what_to_write(rankbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("results.json")
    path.write_text(json.dumps({"results": {"piqa": {"acc,none": 0.78}}, "model_name": "ash"}, indent=1))
    done = rankbench("rank", str(path))
    assert done.exit_code == 2
    assert "with columns model, task and score" in done.output
    Path("scores.csv").write_text("model,task,score\nash,x,.9\nash,y,.8\nelm,x,.7\nelm,y,.6\n")
    command = done.output.strip().rpartition("rank it: ")[2]
    ranked = rankbench(*shlex.split(command)[1:])
    assert ranked.exit_code == 0
    assert re.search(r"(?m)^1 .*ash", ranked.output)
