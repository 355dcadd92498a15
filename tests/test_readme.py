"""What the README, the indexes of pages and decisions, and their neighbors promise is there."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from workflow_steps import missing_subcommand

pytestmark = pytest.mark.lint

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))


def test_it_opens_with_the_two_commands() -> None:
    opening = README.splitlines()[:8]
    assert [line.split()[1] for line in opening if line.startswith("    make ")] == ["paper", "test"]


@pytest.mark.parametrize("document", [p for p in DOCUMENTS if p.name != "CHANGELOG.md"], ids=lambda p: p.name)
def test_make_targets_that_are_named_exist(document: Path) -> None:
    """A changelog names targets that are gone."""
    named = re.findall(r"(?:`|^ {4})make ([a-z-]+)", document.read_text(encoding="utf-8"), re.M)
    assert set(named) <= make_targets()


@pytest.mark.parametrize("target", sorted(make_targets()))
def test_make_can_plan_every_target(target: str) -> None:
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    done = subprocess.run(["make", "-n", target], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: p.name)
def test_links_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8"))
    local = [target.partition("#")[0] for target in targets if "://" not in target]
    missing = [target for target in local if not (document.parent / target).exists()]
    assert not missing


def shown_commands() -> list[tuple[str, str]]:
    """Return (document, arguments) of every `rankbench` command in a block of code or in backticks."""
    found = []
    for document in PAGES:
        text = document.read_text(encoding="utf-8")
        blocks_of = re.findall(r"^```(\S*)\n(.*?)^```$", text, re.M | re.S)
        fenced = "\n".join(body for language, body in blocks_of if language in ("", "console", "sh"))
        indented = "\n".join(line[4:] for line in text.splitlines() if line.startswith("    "))
        lines = re.findall(r"^(?:\$ )?(?:\S*/)?rankbench (.*?)(?: {2,}.*)?$", f"{fenced}\n{indented}", re.M)
        inline = re.findall(r"`(?:\S*/)?rankbench ([^`]+)`", re.sub(r"```.*?```", "", text, flags=re.S))
        names = document.relative_to(ROOT).as_posix()
        found += [(names, " ".join(words.split())) for words in dict.fromkeys([*lines, *inline])]
    return found


@pytest.mark.parametrize(("document", "line"), shown_commands())
def test_commands_and_options_exist(document: str, line: str) -> None:
    assert missing_subcommand(re.sub(r"[\[\]]", " ", line).split()) == ""


def test_commands_are_found_in_every_page_that_shows_some() -> None:
    pages = {document for document, _ in shown_commands()}
    names = "a-suite-of-your-own", "log-formats", "real-data", "writing-plugins"
    guides = {f"docs/how-to/{name}.md" for name in names}
    assert {"README.md"} | guides <= pages
    assert ("docs/how-to/real-data.md", "data convert queries.txt shards --shards 2") in shown_commands()


def shown_contenders() -> list[tuple[str, str]]:
    """Return (document, spec) of every contender; those of a plugin that a page installs are executed there."""
    found = []
    for document in (page for page in PAGES if page.name != "a-first-plugin.md"):
        text = document.read_text(encoding="utf-8")
        specs = [*re.findall(r"^    (erm:\S*)", text, re.M), *re.findall(r"`(erm:[^`]*)`", text)]
        specs += re.findall(r'"(erm:[^"]*)"', text)
        found += [(document.relative_to(ROOT).as_posix(), spec) for spec in dict.fromkeys(specs)]
    return found


@pytest.mark.parametrize(("document", "spec"), shown_contenders())
def test_contenders_that_are_shown_can_be_made(document: str, spec: str) -> None:
    from rankbench.core.component import build
    from rankbench.core.spec import parse
    from rankbench.methods.erm import ERM

    assert build(ERM, parse(spec))


def test_the_example_plugin_has_twenty_lines() -> None:
    source = (ROOT / "plugins" / "rankbench-example" / "rankbench_example.py").read_text(encoding="utf-8")
    assert len([line for line in source.splitlines() if line.strip()]) <= 20


def test_the_readme_fits_a_look() -> None:
    assert len(README.splitlines()) <= 120


BUDGETS = {"reference/glossary": 500, "reference/files-and-columns": 1_800, "reference/certificate-format": 1_600}
BUDGETS |= {"explanation/reliability": 700, "explanation/consistency": 900, "reference/json": 250}


def test_pages_keep_to_their_words() -> None:
    words_of = runpy.run_path(str(ROOT / "scripts" / "size.py"))["words_of"]
    counts = {page.relative_to(DOCS).with_suffix("").as_posix(): words_of(page) for page in DOCS.rglob("*.md")}
    most = BUDGETS | {name: 120 for name in counts if name.startswith("decisions/")}
    assert {name: counts[name] for name in most if counts[name] > most[name]} == {}
    assert sum(counts.values()) <= 25_000


def test_ci_runs_the_test_command_of_the_readme_and_lint() -> None:
    script = ROOT / ".ci" / "run"
    if not script.exists():
        pytest.skip("a source archive has no .ci")
    assert os.access(script, os.X_OK)
    text = script.read_text(encoding="utf-8")
    assert "\nmake test" in text
    assert "for target in lint docs verify;" in text


DOCS = Path(__file__).resolve().parent.parent / "docs"
INDEX = (DOCS / "index.md").read_text(encoding="utf-8")


def test_the_index_has_every_page_once() -> None:
    linked = re.findall(r"\]\(([\w-]+\.md)\)", INDEX)
    assert sorted(linked) == sorted(path.name for path in DOCS.glob("*.md") if path.name != "index.md")


@pytest.mark.parametrize("folder", ["tutorials", "how-to", "reference", "explanation"])
def test_the_index_of_a_folder_has_every_page_once_with_words(folder: str) -> None:
    text = (DOCS / folder / "index.md").read_text(encoding="utf-8")
    linked = re.findall(r"^- \[[^\]]+\]\(([\w-]+\.md)\): .{8,}\.$", text, re.M)
    assert sorted(linked) == sorted(path.name for path in (DOCS / folder).glob("*.md") if path.name != "index.md")


def test_the_index_of_decisions_has_every_one_by_its_title() -> None:
    folder = DOCS / "decisions"
    linked = dict(re.findall(r"^- \[(.*)\]\(([\w-]+\.md)\)$", (folder / "README.md").read_text(encoding="utf-8"), re.M))
    pages = [path for path in folder.glob("*.md") if path.name != "README.md"]
    titles = {path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# "): path.name for path in pages}
    assert linked == titles


def test_a_table_of_the_index_has_words_for_each_page() -> None:
    rows = [line for line in INDEX.splitlines() if re.search(r"\]\([\w-]+\.md\)", line)]
    assert all(re.fullmatch(r"\| [^|]{8,} \| \[[^\]]+\]\([\w-]+\.md\) \|", row) for row in rows), rows
