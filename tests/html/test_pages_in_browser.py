"""Pages in a real browser, without a network: figures, three widths, both themes, hostile names, paper."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile_run import HOSTILE
from in_browser import draw_all, lines_of, wait_for_count

from rankbench.html.charts import chart_content
from rankbench.html.content import Chart, Page
from rankbench.html.page import page_bytes
from rankbench.interfaces.figure import Dot, Drawing, Plot

WIDTHS = (320, 800, 1400)

NAMES = ("run", "aggregate", "rank", "compare", "history", "site", "audit")

pytestmark = pytest.mark.usefixtures("chromium")  # before pages are made, which need a while


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_pages_have_no_violations_at_any_width(
    pages: dict[str, Path], opened: Callable[..., Any], name: str, theme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    # Places follow from the width alone, colors from the theme alone.
    for width in WIDTHS if theme == "light" else WIDTHS[:1]:
        page = opened(pages[name], width, color_scheme=theme)
        draw_all(page)
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        hidden = page.locator(".stacked").evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth)")
        assert width > 640 or hidden == [], "cards need no scrolling sideways"
        found = axe.run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_a_link_unfolds_the_part_to_which_it_leads(opened: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(page_bytes(Page("Title", "[words](details.md)", details="## The data\n\ntext")))
    page = opened(path)
    for _ in range(2):
        page.locator("details").evaluate("one => { one.open = false; }")
        page.locator("main a").click()
        assert page.get_by_text("text", exact=True).is_visible()
    page.goto("about:blank")
    page.goto(f"{path.as_uri()}#details")
    assert page.get_by_text("text", exact=True).is_visible()


def test_figures_answer(page: Any, run: Path) -> None:
    draw_all(page)
    figure = page.locator("figure[data-chart]").first
    points = figure.locator(".plots > div").first.locator("[aria-roledescription=point]")
    bands = figure.locator(".plots > div").first.locator(".mark-area path")
    drawn = [row for row in lines_of(run, "figures/figure-3-in-short.csv") if (row["row"], row["column"]) == ("0", "0")]
    assert points.count() == sum(row["mark"] == "point" for row in drawn)
    assert bands.count() > 0
    first = next(row for row in drawn if row["mark"] == "point")
    points.first.hover(force=True)
    tip = page.locator("#tip").inner_text()
    assert float(re.findall(r"value: (\S+)", tip)[0]) == pytest.approx(float(first["value"]), rel=1e-4)
    assert float(re.findall(r"from: (\S+)", tip)[0]) == pytest.approx(float(first["lower"]), rel=1e-3)
    # Bands over units and repetitions are those of the standings.
    figure.get_by_label("bands over").select_option(label="queries and repetitions")
    points.first.hover(force=True)
    wide = [row for row in lines_of(run) if row["contender"] == "regression k=1" and row["n"] == "400000"]
    found = re.findall(r"(?:from|to): (\S+)", page.locator("#tip").inner_text())
    ends = [float(wide[0][name]) for name in ("lower_queries", "upper_queries")]
    assert [float(one) for one in found] == pytest.approx(ends, rel=1e-3)
    figure.get_by_label("bands", exact=True).uncheck()
    wait_for_count(figure.locator(".mark-area path"), 0)
    names = figure.locator(".legend label").all_inner_texts()
    figure.get_by_label(names[0].strip(), exact=True).uncheck()
    kept = sum(row["mark"] == "point" and row["name"] != names[0].strip() for row in drawn)
    wait_for_count(figure.locator(".plots > div").first.locator("[aria-roledescription=point]"), kept)


@pytest.mark.parametrize("name", ["run", "aggregate", "history"])
def test_figures_zoom_by_wheel_key_and_button(pages: dict[str, Path], opened: Callable[..., Any], name: str) -> None:
    page = opened(pages[name])
    draw_all(page)
    figure = page.locator("figure[data-chart]").first
    plot = figure.locator(".plots > div").first
    plot.scroll_into_view_if_needed()

    def places() -> list[str]:
        page.wait_for_timeout(100)
        return plot.locator(".role-axis-label text").evaluate_all(
            "all => all.map(one => one.textContent + one.getAttribute('transform')).sort()"
        )

    whole = places()
    box = plot.locator("svg .background").first.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.wheel(0, 1)
    assert places() == whole, "the wheel alone scrolls the page"
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    assert places() != whole
    page.mouse.dblclick(*middle)
    assert places() == whole
    plot.focus()
    for key in ("+", "-", "ArrowLeft", "ArrowRight"):
        page.keyboard.press(key)
        assert places() != whole
        page.keyboard.press("0")
        assert places() == whole
    figure.get_by_label("zoom in").click()
    assert places() != whole
    figure.get_by_label("show all").click()
    assert places() == whole


def test_keys_zoom_at_the_pointer_else_at_the_line_at_0(tmp_path: Path, opened: Callable[..., Any]) -> None:
    dots = (Dot("a", "a", -0.3, -0.4, -0.2), Dot("b", "b", 0.1, 0.0, 0.2))
    chart = chart_content(Drawing(((Plot(dots=dots, zero=True),),), ("a", "b")), {})
    page_of = Page("Title", "![Words](figures/f.svg)", charts=[Chart("f", "words", b"", chart)])
    (tmp_path / "page.html").write_bytes(page_bytes(page_of))
    page = opened(tmp_path / "page.html")
    draw_all(page)
    plot = page.locator(".plots > div")

    def zoomed() -> list[float]:
        """Return where the line at 0 and the first dot stand after two zooms, and then show all again."""
        plot.focus()
        page.keyboard.press("+")
        page.keyboard.press("+")
        page.wait_for_timeout(100)
        found = [
            plot.locator(one).first.bounding_box() for one in (".layer_2_marks line", "[aria-roledescription=point]")
        ]
        page.keyboard.press("0")
        page.wait_for_timeout(100)
        return [box["x"] + box["width"] / 2 for box in found]

    page.mouse.move(0, 0)
    line, dot = (
        plot.locator(one).first.bounding_box() for one in (".layer_2_marks line", "[aria-roledescription=point]")
    )
    places = [box["x"] + box["width"] / 2 for box in (line, dot)]
    # 0.8 times 0.8 of the width is shown: distances grow by 1 / 0.64.
    assert zoomed() == pytest.approx([places[0], places[0] + (places[1] - places[0]) / 0.64], abs=0.5)
    page.mouse.move(places[1], dot["y"] + dot["height"] / 2)
    assert zoomed() == pytest.approx([places[1] + (places[0] - places[1]) / 0.64, places[1]], abs=0.5)


def test_figures_of_dots_hide_rows_and_intervals(pages: dict[str, Path], opened: Callable[..., Any]) -> None:
    page = opened(pages["aggregate"])
    draw_all(page)
    figure = page.locator("figure[data-chart]").first
    points, bars = figure.locator("[aria-roledescription=point]"), figure.locator(".layer_0_marks line")
    assert (points.count(), bars.count()) == (5, 5)
    figure.get_by_label(HOSTILE[0], exact=True).uncheck()
    wait_for_count(page.locator("figure [aria-roledescription=point]"), 4)
    figure.get_by_label("bands", exact=True).uncheck()
    wait_for_count(page.locator("figure .layer_0_marks line"), 0)
    assert figure.get_by_label("bands over").count() == 0, "there is one band"


@pytest.mark.parametrize("name", ["run", "aggregate"])
def test_numbers_of_a_figure_open_by_keyboard(
    pages: dict[str, Path], opened: Callable[..., Any], run: Path, name: str
) -> None:
    page = opened(pages[name])
    draw_all(page)
    figure = page.locator("figure[data-chart]").first
    folded = figure.locator("details", has=page.get_by_text("Numbers", exact=True))
    folded.evaluate("one => { one.open = false; }")
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    for lengths in folded.locator(".dt-length select").all():
        lengths.select_option("-1")
    head = folded.locator("thead th").evaluate_all("all => all.map(one => one.textContent)")
    rows = folded.locator("table").evaluate(
        "table => [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent))"
    )
    if name == "aggregate":
        assert head == ["series", "value", "from", "to", "note"]
        assert [row[0] for row in rows] == figure.locator("[aria-roledescription=point]").evaluate_all(
            "all => all.map(one => one.getAttribute('aria-label').split(': ').slice(0, -1).join(': '))"
        )
        return
    marks = lines_of(run, "figures/figure-3-in-short.csv")
    shown = [[row[head.index(column)] for column in ("value", "from", "to")] for row in rows]
    ends = ("value", "lower", "upper")
    assert [[float(one or "nan") for one in row] for row in shown] == [
        pytest.approx([float(mark[end] or "nan") for end in ends], rel=1e-5, nan_ok=True) for mark in marks
    ]
    wide = next(row for row in lines_of(run) if row["contender"] == "regression k=1" and row["n"] == "400000")
    assert [float(rows[0][head.index(f"{end}, queries and repetitions")]) for end in ("from", "to")] == pytest.approx(
        [float(wide["lower_queries"]), float(wide["upper_queries"])], rel=1e-4
    )


@pytest.mark.parametrize("name", NAMES[:4])
def test_hostile_names_are_shown_and_do_nothing(pages: dict[str, Path], opened: Callable[..., Any], name: str) -> None:
    page = opened(pages[name])
    draw_all(page)
    assert page.locator("main script, main img:not([alt]), main b, body > img, a[href^=javascript]").count() == 0
    if name != "compare":  # nothing changed: no contender is named
        for one in HOSTILE[:4]:
            assert one in page.locator("main").inner_text()
    for button in page.locator("tbody button").all()[:20]:
        button.click()
        page.keyboard.press("Escape")


@pytest.mark.parametrize("paper", [False, True])
@pytest.mark.parametrize("name", ["run", "aggregate"])
def test_without_a_script_and_on_paper_there_are_pictures(
    pages: dict[str, Path], opened: Callable[..., Any], name: str, paper: bool
) -> None:
    page = opened(pages[name], java_script_enabled=paper)
    if paper:
        draw_all(page)
        page.emulate_media(media="print")
    assert page.locator("figure img").first.bounding_box()["width"] > 300
    assert page.locator("section table.data").first.is_visible()
    assert not page.locator(".plots svg").first.is_visible()
    assert not page.get_by_text("Copy as CSV").first.is_visible()


def test_the_site_leads_to_each_result_and_to_how_to_submit(pages: dict[str, Path], opened: Callable[..., Any]) -> None:
    page = opened(pages["site"])
    links = page.locator("main a:not(nav a)").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    files = {link.partition("#")[0] for link in links}
    assert files == {"run.html", "past.html", "submit.html"}
    for link in links:
        page.goto(f"{pages['site'].as_uri().removesuffix('index.html')}{link}")
        anchor = link.partition("#")[2]
        assert not anchor or page.locator(f"[id='{anchor}']").count() == 1
    page.goto(f"{pages['site'].as_uri().removesuffix('index.html')}submit.html")
    assert {"arena", "demo", "paper"} <= {*page.locator("h2#suites ~ ul code").all_inner_texts()}
