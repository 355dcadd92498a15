"""Time a page in Chromium: first paint against an empty page, and sorting 5,000 rows; medians of ten, in turns.

``PYTHONPATH=build/browser .venv/bin/python scripts/page_speed.py runs/paper/leaderboard.html``
"""

from __future__ import annotations

import random
import shutil
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from rankbench.html.content import Page, SortedTable
from rankbench.html.page import page_bytes

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]

TIMES, ROWS, COLUMNS = 10, 5_000, 20

PAINTED = """() => new Promise(done => new PerformanceObserver(found => done(found.getEntries()[0].startTime))
    .observe({type: "paint", buffered: true}))"""

SORTED = """() => new Promise(done => {
    const head = document.querySelector("table.data thead th:nth-child(8)"), start = performance.now();
    const first = () => document.querySelector("table.data tbody tr").cells[7].textContent;
    const before = first();
    const look = () => first() === before ? requestAnimationFrame(look) : done(performance.now() - start);
    head.click();
    look();
})"""


def measured(browser: Any, path: Path, script: str) -> float:
    """Return milliseconds of a script in a new window."""
    context = browser.new_context(viewport={"width": 1200, "height": 900}, offline=True)
    page = context.new_page()
    page.goto(path.as_uri())
    found = float(page.evaluate(script))
    context.close()
    return found


def main() -> None:
    """Print the medians."""
    from playwright.sync_api import sync_playwright

    folder, rng = Path(tempfile.mkdtemp()), random.Random(7)
    empty, large, page = folder / "empty.html", folder / "large.html", Path(sys.argv[1]).resolve()
    empty.write_text("<!doctype html><title>Empty</title><p>Empty", encoding="utf-8")
    rows = [[f"name {i}", *(f"{rng.random():.6f}" for _ in range(COLUMNS - 1))] for i in range(ROWS)]
    table = SortedTable("a", "Rows", [f"c{i}" for i in range(COLUMNS)], rows, numeric=range(1, COLUMNS))
    large.write_bytes(page_bytes(Page("Large", "", [table])))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        times = [
            [measured(browser, *one) for one in ((empty, PAINTED), (page, PAINTED), (large, SORTED))]
            for _ in range(TIMES + 1)
        ][1:]
        browser.close()
    nothing, painted, sorting = (statistics.median(one) for one in zip(*times, strict=True))
    print(f"first paint: {painted:.0f} ms; of an empty page {nothing:.0f} ms; ratio {painted / nothing:.1f}")
    print(f"sorting {ROWS:,} rows of {COLUMNS} columns: {sorting:.0f} ms")


if __name__ == "__main__":
    main()
