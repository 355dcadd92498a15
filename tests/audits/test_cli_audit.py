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
    assert shown.startswith("Is c|d really first? The votes do not say: ")
    for probe in found.probes:
        assert (f" {probe.name} " in shown) == (probe.level is not None or bool(probe.finding or probe.unknown))
    assert (
        f"Clean: {', '.join(probe.name for probe in found.probes if probe.finding == '' and not probe.unknown)}."
        in shown
    )
    whole = printed(rankbench, "audit", str(log), "--method", "win-rate", "--all")
    assert all(f"\n{probe.name} " in whole for probe in found.probes)


def test_no_p_is_printed_as_0(rankbench, tmp_path) -> None:
    """A binomial p of 2 ** -1,999 is less than a float can be."""
    path = tmp_path / "left.csv"
    path.write_text("left,right,winner\n" + "a,b,left\nb,a,left\n" * 1000)
    assert re.search(
        r"^x +sides .*\(p <1e-300\) +--control side$", printed(rankbench, "audit", str(path)), re.MULTILINE
    )


def test_json_has_facts_and_rows(rankbench, log) -> None:
    found = json.loads(printed(rankbench, "audit", str(log), "--method", "borda", "--json"))
    (probe,) = (probe for probe in found["probes"] if probe["name"] == "fewest-votes")
    assert (probe["fires"], probe["level"], probe["p"]) == (None, None, None)
    assert probe["facts"]["removed"] == sum(row["removed"] for row in probe["rows"])
    assert found["data"]["votes"] == 36


def test_an_audit_without_tests_has_no_table_of_them(rankbench, tmp_path) -> None:
    scores = tmp_path / "scores.csv"
    cells = [
        f"{system},task {t},{0.1 * place + (t * (place + 3) % 7) / 10:.2f}"
        for t in range(12)
        for place, system in enumerate(("ada", "bob", "cleo"))
    ]
    scores.write_text("\n".join(["system,task,score", *cells]))
    shown = printed(rankbench, "audit", str(scores))
    assert "really first?" in shown
    assert "0 of 0 tests" not in shown


@pytest.mark.full
def test_a_page_tells_what_fires_and_keeps_names_from_being_markup(rankbench, log, tmp_path) -> None:
    table = pl.DataFrame({"item": ["c|d"] * 13, "share": [0.5] * 13, "more": [None] * 13})
    probes = (Probe("one", "Is it <b>?", "it is", 0.001, table=table, level=0.05), Probe("two", "Why?", "so"))
    found = Audit("borda", "c|d", [], {"votes": 1, "items": 3}, 1, probes)
    page = encoded(audit_answer(found, "votes.csv"), "md").decode()
    assert "1 of 1 test finds a fault" in page
    assert "\\|" in page
    assert "<b>" not in page
    assert "the JSON has 1 more row" in page
    whole = replace(found, probes=(replace(probes[0], name="rules"),))
    assert len(audit_answer(whole, "votes.csv").details[-1].rows) == 13
    assert "more row" not in encoded(audit_answer(whole, "votes.csv"), "md").decode()
    rows = pl.read_csv(io.BytesIO(encoded(audit_answer(found, "votes.csv"), "csv")))
    assert rows["fires"].to_list() == [True, None]
    printed(rankbench, "audit", str(log), "--method", "win-rate", "--out", str(tmp_path / "page.html"))
    web = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Does the rule decide the first place?" in web
    # On a phone the page's script makes cards of the tests, with the titles of their columns.
    tests = re.search(r'<table class="data"><thead>(.*?)</table>', web, re.DOTALL)[1]
    assert re.findall('<th scope="col">(.*?)</th>', tests) == ["probe", "finding", "option"]
    assert {row.count("<td") for row in tests.split("<tr>")[2:]} == {4}
    phone = web.split("(max-width: 40rem)")[1].split("@page")[0]
    assert re.search(r"\.stacked td::before \{\s+content: attr\(data-title\)", phone)
    assert hashlib.sha256(log.read_bytes()).hexdigest() in web  # `Make it again` names the input
