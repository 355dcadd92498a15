"""`rankbench audit` prints probes for people and programs, and ends with 0 whatever fires."""

from __future__ import annotations

import hashlib
import io
import json
import re
from dataclasses import replace

import polars as pl
import pytest

from rankbench.audits.audit import Audit, audit
from rankbench.audits.commands import audit_answer
from rankbench.audits.probe import Probe
from rankbench.cli.shown import encoded


@pytest.fixture
def log(tmp_path):
    rows = [("a", "b"), ("b", "c"), ("a", "c"), ("c|d", "a")] * 9
    path = tmp_path / "votes.csv"
    pl.DataFrame(rows, schema=["winner", "loser"], orient="row").write_csv(path)
    return path


def printed(rankbench, *arguments: str) -> str:
    done = rankbench(*arguments)
    assert done.exit_code == 0
    return done.stdout


def test_its_table_has_a_row_for_each_probe(rankbench, log) -> None:
    found = audit(log, "win-rate")
    shown = printed(rankbench, "audit", str(log), "--method", "win-rate")
    assert "win-rate, 36 votes, 4 items: c|d is first" in shown
    for probe in found.probes:
        assert f"{probe.name} " in shown


def test_no_p_is_printed_as_0(rankbench, tmp_path) -> None:
    """A binomial p of 2 ** -1,999 is less than a float can be."""
    path = tmp_path / "left.csv"
    path.write_text("left,right,winner\n" + "a,b,left\nb,a,left\n" * 1000)
    assert re.search(r"^sides +fires +<1e-300 ", printed(rankbench, "audit", str(path)), re.MULTILINE)


def test_json_has_facts_and_rows(rankbench, log) -> None:
    found = json.loads(printed(rankbench, "audit", str(log), "--method", "borda", "--json"))
    (probe,) = (probe for probe in found["probes"] if probe["name"] == "fewest-votes")
    assert (probe["fires"], probe["level"], probe["p"]) == (None, None, None)
    assert probe["facts"]["removed"] == sum(row["removed"] for row in probe["rows"])
    assert found["data"]["votes"] == 36


def test_a_page_tells_what_fires_and_keeps_names_from_being_markup(rankbench, log, tmp_path) -> None:
    table = pl.DataFrame({"item": ["c|d"] * 13, "share": [0.5] * 13, "more": [None] * 13})
    probes = (Probe("one", "Is it <b>?", "it is", 0.001, table=table, level=0.05), Probe("two", "Why?", "so"))
    found = Audit("borda", "c|d", [], {"votes": 1}, 1, probes)
    page = encoded(audit_answer(found, "votes.csv"), "md").decode()
    assert "Of 2 probes 1 tests; one fires." in page
    assert "\\|" in page
    assert "<b>" not in page
    assert "The JSON has 1 more row." in page
    assert "and 1 more row: --format json" in [*audit_answer(found, "votes.csv").parts]
    whole = replace(found, probes=(replace(probes[0], name="rules"),))
    assert len([*audit_answer(whole, "votes.csv").parts][-1].rows) == 13
    assert "more row" not in encoded(audit_answer(whole, "votes.csv"), "md").decode()
    rows = pl.read_csv(io.BytesIO(encoded(audit_answer(found, "votes.csv"), "csv")))
    assert rows["fires"].to_list() == [True, None]
    printed(rankbench, "audit", str(log), "--method", "win-rate", "--out", str(tmp_path / "page.html"))
    web = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "How few votes change the first place?" in web
    assert hashlib.sha256(log.read_bytes()).hexdigest() in web  # `Make it again` names the input
