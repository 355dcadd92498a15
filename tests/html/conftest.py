"""Pages of a made-up run, and a browser for them: the system's Chromium, driven by playwright."""

from __future__ import annotations

import csv
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hostile_run import HOSTILE, reported

from rankbench.cli import main

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with its report."""
    return reported(tmp_path_factory.mktemp("html") / "run")


@pytest.fixture(scope="session")
def pages(run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a page of each command, by name."""
    folder = tmp_path_factory.mktemp("pages")
    log, scores = folder / "votes<b>.csv", folder / "scores.csv"
    votes = [(a, b) for i, a in enumerate(HOSTILE) for b in HOSTILE if a != b for _ in range(2 + i)]
    cells = [(name, f"task {t}", i + math.sin(t * (i + 1))) for i, name in enumerate(HOSTILE) for t in range(1, 9)]
    for path, rows in ((log, [("winner", "loser"), *votes]), (scores, [("system", "task", "score"), *cells])):
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)
    found = {name: folder / f"{name}.html" for name in ("aggregate", "rank", "compare", "history", "audit")}
    commands = [
        ["aggregate", log, "--intervals", "--out", found["aggregate"]],
        ["rank", scores, "--out", found["rank"]],
        ["audit", log, "--out", found["audit"]],
        ["compare", run, run, "--out", found["compare"]],
        *(["history", "add", run, "--to", folder / "past", "--commit", f"abcd{day}", "--date", f"2026-01-0{day}T00:00Z"]
          for day in (1, 2)),
        ["history", "show", folder / "past", "--out", found["history"]],
        ["site", run, folder / "past", "--out", folder / "site"],
    ]  # fmt: skip
    for command in commands:
        done = CliRunner().invoke(main, [*map(str, command)], prog_name="rankbench")
        assert done.exit_code == 0, done.output
    return found | {"run": run / "leaderboard.html", "site": folder / "site" / "index.html"}


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="browser tests: make browser installs playwright")
    if CHROMIUM is None:
        pytest.skip("browser tests: there is no chromium on this machine")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Open files without a network; nothing may be said on the console, and nobody may be hurt."""
    contexts, said = [], []

    def open_file(path: Path, width: int = 1100, **options: Any) -> Any:
        context = chromium.new_context(viewport={"width": width, "height": 900}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(5000)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path.as_uri())
        return page

    yield open_file
    hurt = [page.evaluate("window.hurt ?? 0") for context in contexts for page in context.pages]
    for context in contexts:
        context.close()
    assert said == []
    assert not any(hurt)


@pytest.fixture
def page(opened: Callable[..., Any], run: Path) -> Any:
    return opened(run / "leaderboard.html")
