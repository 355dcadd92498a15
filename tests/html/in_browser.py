"""What tests in a browser read: rows of a file, and figures once they are drawn."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any


def lines_of(run: Path, file: str = "leaderboard.csv") -> list[dict[str, str]]:
    with open(run / file, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def draw_all(page: Any) -> None:
    """Open the folded part and scroll through the page until every figure is drawn."""
    page.locator("summary").evaluate_all("all => all.forEach(one => { one.parentElement.open = true; })")
    for figure in page.locator("figure[data-chart]").all():
        figure.scroll_into_view_if_needed()
        figure.locator(".plots svg").first.wait_for()


def wait_for_count(found: Any, count: int) -> None:
    """Wait until so many elements match: a script that the page would run itself breaks its security policy."""
    from playwright.sync_api import expect

    expect(found).to_have_count(count)
