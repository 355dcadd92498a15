"""The suite `consistency` as it is published: every certificate is checked, and the page says what they say."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from amounts import part_of

from rankbench.certificates.suite import consistency, entries, page_of
from rankbench.errors import InputError

FOLDER = Path(__file__).resolve().parents[2] / "leaderboards" / "consistency"


def published() -> list[dict[str, str]]:
    with (FOLDER / "leaderboard.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_question_has_an_answer():
    assert [Path(row["certificate"]).name for row in published()] == [entry.file for entry in entries()]
    assert sorted(p.name for p in (FOLDER / "certificates").iterdir()) == sorted(entry.file for entry in entries())


def test_the_stand_alone_checker_accepts_every_certificate_which_says_what_the_page_says():
    """In a process of its own, as who does not trust rankbench runs it."""
    assert len(published()) > 200
    page, rows = (FOLDER / "leaderboard.md").read_text(encoding="utf-8"), part_of(published())
    command = [sys.executable, "-m", "rankbench.certificates.check", *(row["certificate"] for row in rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=FOLDER)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line for line in done.stdout.splitlines() if not line.startswith("  ")]
    for line, row in zip(lines, rows, strict=True):
        assert line.startswith(f"{row['certificate']}: {row['verdict']}: ")
        claims = row["verdict"] not in ("NO_COUNTEREXAMPLE_FOUND", "INCONCLUSIVE")
        assert line.partition(": ")[2].partition(": ")[2].startswith("proved" if claims else "claims nothing")
        content = json.loads((FOLDER / row["certificate"]).read_bytes())
        assert content["verdict"] == row["verdict"]
        assert (content["noise"], str(content["items"])) == (row["noise"], row["items"])
        assert content["surrogate"]["name"] == row["surrogate"].partition(":")[0]
        assert f"]({row['certificate']})" in page


def test_the_page_is_made_from_the_table():
    rows = [tuple(row.values()) for row in published()]
    assert (FOLDER / "leaderboard.md").read_text(encoding="utf-8") == page_of(rows)
    assert page_of(rows).count("](certificates/") == len(rows)


def test_no_question_is_left_open():
    assert {row["verdict"] for row in published()} == {"VIOLATION", "VIOLATION_BOUNDARY", "CONSISTENT"}


def test_the_papers_theorems_are_in_it():
    """Theorems 2 and 3, (23), Corollary 1, Lemma 14 of 2010, and what needs an assumption that is not made."""
    of = {(r["surrogate"], r["aggregator"], r["loss"], r["noise"], r["items"]): r["verdict"] for r in published()}
    violations = ("VIOLATION", "VIOLATION_BOUNDARY")
    for phi in ("logistic", "exponential", "squared-hinge", "squared", "hinge"):
        for form in ("", ":form=margin"):
            for noise in ("low", "dag", "any"):
                for items in "34":
                    assert of[f"pairwise-{phi}{form}", "", "pairwise", noise, items] in violations
    for items in "34":
        for noise in ("low", "dag"):
            for phi in ("logistic", "exponential", "squared-hinge"):
                assert of[f"pairwise-{phi}", "difference-graph", "pairwise", noise, items] == "CONSISTENT"
            assert of["pairwise-hinge", "difference-graph", "pairwise", noise, items] == "CONSISTENT"
            squares = of["pairwise-squared", "difference-graph", "pairwise", noise, items]
            assert squares == ("CONSISTENT" if items == "3" else "VIOLATION")
        for name in ("linear", "linear-power"):
            assert of[name, "", "pairwise", "low", items] == "CONSISTENT"
            assert of[name, "", "pairwise", "dag", items] in violations
        for name in ("regression", "order-preserving", "cross-entropy"):
            assert of[name, "", "ndcg", "any", items] == "CONSISTENT"
        for name in ("regression:normalize=false", "listnet", "pairwise-logistic", "order-preserving-as-printed"):
            assert of[name, "", "ndcg", "any", items] in violations
        assert of["order-preserving-err", "", "err", "any", items] in violations


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="something else"):
        consistency(tmp_path, print)
