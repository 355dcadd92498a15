"""`rankbench certify --calibration` prints tables, writes figures and pages, and names what it cannot read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from amounts import part_of
from click.testing import CliRunner

from rankbench.cli import main

HINGE = ["certify", "pairwise-hinge", "--calibration", "--items", "2", "--eps", "0.5"]


def answered(*arguments: str) -> str:
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_table_has_fractions_where_h_is_exact():
    lines = answered(*HINGE).splitlines()
    assert lines[2:4] == ["eps  H(eps)  H**(eps)", "1/2  1/2     0.5"]
    assert lines[0].endswith("H(eps) > 0 for all eps > 0: pointwise consistent.")


def test_json_has_null_beyond_the_largest_excess():
    found = json.loads(answered(*HINGE, "--eps", "2", "--json"))
    assert found["rows"] == [
        {"eps": 0.5, "lower": 0.5, "upper": 0.5, "biconjugate": 0.5},
        {"eps": 2.0, "lower": None, "upper": None, "biconjugate": None},
    ]
    assert (found["exact"], found["consistent"], found["zero"], found["largest"]) == (True, True, 0.0, 1.0)


@pytest.mark.parametrize(
    ("ending", "start"), part_of([("svg", b"<?xml"), ("csv", b"eps,"), ("md", b"# pairwise-hinge"), ("html", b"<!")])
)
def test_files_have_the_form_of_their_ending(tmp_path: Path, ending, start):
    file = tmp_path / f"calibration.{ending}"
    answered(*HINGE, "--out", str(file))
    assert file.read_bytes().lower().startswith(start.lower())


def test_one_law_is_read_from_a_file(tmp_path: Path):
    """Two of three votes say 1 over 2: true excess 1/3, hinge excess 1/3 at a tie."""
    law = tmp_path / "law.json"
    votes = [{"weight": "2/3", "structure": {"1>2": 1}}, {"weight": "1/3", "structure": {"2>1": 1}}]
    law.write_text(json.dumps(votes), encoding="utf-8")
    found = json.loads(
        answered("certify", "pairwise-hinge", "--calibration", "--items", "2", "--mu", str(law), "--json")
    )
    assert found["largest"] == pytest.approx(1 / 3)
    assert [row["lower"] for row in found["rows"]] == pytest.approx([1 / 3] * 10)
