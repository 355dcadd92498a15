"""Indexes lead to every page and every decision, and a shell completes what the page of commands says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")


def test_the_index_has_every_page_once() -> None:
    linked = re.findall(r"\]\(([\w-]+\.md)\)", INDEX)
    assert sorted(linked) == sorted(path.name for path in DOCS.glob("*.md") if path.name != "index.md")


def test_the_index_of_decisions_has_every_one_by_its_title() -> None:
    folder = DOCS / "decisions"
    linked = dict(re.findall(r"^- \[(.*)\]\(([\w-]+\.md)\)$", (folder / "README.md").read_text(encoding="utf-8"), re.M))
    pages = [path for path in folder.glob("*.md") if path.name != "README.md"]
    titles = {path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# "): path.name for path in pages}
    assert linked == titles


def test_a_table_of_the_index_has_words_for_each_page() -> None:
    rows = [line for line in INDEX.splitlines() if re.search(r"\]\([\w-]+\.md\)", line)]
    assert all(re.fullmatch(r"\| [^|]{8,} \| \[[^\]]+\]\([\w-]+\.md\) \|", row) for row in rows), rows


@pytest.mark.parametrize(
    ("words", "count", "found"),
    [("rankbench ag", 1, "aggregate"), ("rankbench run --su", 2, "--suite")],
)
def test_a_shell_completes_verbs_and_options(words: str, count: int, found: str) -> None:
    page = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert "_RANKBENCH_COMPLETE=bash_source rankbench" in page
    given = {"_RANKBENCH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(count)}
    program = Path(sys.executable).with_name("rankbench")
    done = subprocess.run([program], env=os.environ | given, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"plain,{found}"]
