"""`rankbench env`."""

from __future__ import annotations

import json

from rankbench.core import code_digest as digest


def test_json_and_table_say_the_same(rankbench, tmp_path):
    folders = {"RANKBENCH_DATA": str(tmp_path / "data"), "RANKBENCH_CACHE": str(tmp_path / "cache")}
    found = json.loads(rankbench("env", "--json", **folders).stdout)
    assert found["cpu_class"] == digest.cpu_class()
    assert found["data"] == folders["RANKBENCH_DATA"]
    assert found["cache"] == folders["RANKBENCH_CACHE"]
    table = rankbench("env", **folders).stdout
    for value in (found["rankbench"], found["python"], found["cpu_class"], found["code_digest"], found["data"]):
        assert value in table
    rows = [line.split() for line in table.splitlines()]
    for library, version in found["libraries"].items():
        assert [library, version] in rows


def test_a_variable_that_is_not_set_is_said(rankbench):
    shown = rankbench("env", RANKBENCH_DATA="").stdout
    assert "not set" in shown
