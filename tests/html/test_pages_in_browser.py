"""Pages in a real browser, without a network: every control, three widths, both themes, hostile names."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile_run import HOSTILE

from rankbench.core.text import csv_cell, latex
from rankbench.html.content import Page, PageData, PairTable
from rankbench.html.page import page_bytes
from rankbench.reports.web_page import TITLES

WIDTHS = (360, 800, 1400)


@pytest.fixture
def page(opened: Callable[..., Any], run: Path) -> Any:
    return opened(run / "leaderboard.html")


def lines_of(run: Path, file: str = "leaderboard.csv") -> list[dict[str, str]]:
    with open(run / file, encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def draw_all(page: Any) -> None:
    """Open the folded part and scroll through the page until every figure is drawn."""
    page.locator("summary").evaluate_all("all => all.forEach(one => { one.parentElement.open = true; })")
    for figure in page.locator("figure[data-chart]").all():
        figure.scroll_into_view_if_needed()
        figure.locator(".plots svg").first.wait_for()


NAMES = ("run", "aggregate", "rank", "compare", "history", "site")


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
        found = axe.run(page).response["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def shown_rows(page: Any, table: str = "standings") -> list[list[str]]:
    grid = page.locator(f"section:has(#{table}) table.data")
    return grid.evaluate("table => [...table.tBodies[0].rows].map(row => [...row.cells].map(cell => cell.textContent))")


def choose(section: Any, column: str, value: str) -> None:
    label = section.locator(".filters label", has_text=re.compile(f"^{column} "))
    label.locator("select").select_option(label=value)


def head_of(page: Any, table: str = "standings") -> list[str]:
    return page.locator(f"section:has(#{table}) thead th").evaluate_all("all => all.map(one => one.textContent)")


def column_of(title: str) -> str:
    """Return the column of a file that has this title on a page."""
    return {shown: name for name, shown in TITLES.items()}.get(title, title.replace(" ", "_"))


@pytest.mark.parametrize(("table", "file"), [("standings", "leaderboard.csv"), ("claims", "claims.csv")])
def test_cells_are_those_of_the_file(page: Any, run: Path, table: str, file: str) -> None:
    for list_of_lengths in page.locator(f"section:has(#{table}) .dt-length select").all():
        list_of_lengths.select_option("-1")
    names = [column_of(name) for name in head_of(page, table)]
    rows = [[row[name] for name in names] for row in lines_of(run, file)]
    least = names.index("p_holm") if "p_holm" in names else -1
    for row in rows:
        row[least] = "< 1e-6" if row[least] == "0.000000" else row[least]
    assert shown_rows(page, table) == rows


def test_paper_has_all_rows(page: Any, run: Path) -> None:
    assert len(shown_rows(page)) == 25 < len(lines_of(run))
    page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    assert len(shown_rows(page)) == len(lines_of(run))
    page.evaluate("() => window.dispatchEvent(new Event('afterprint'))")
    assert len(shown_rows(page)) == 25


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


def test_one_interval_is_said_once(opened: Callable[..., Any], tmp_path: Path) -> None:
    common = {
        "dataset": "",
        "n": "9",
        "metric": "loss",
        "split": "votes",
        "units": "votes",
        "better": "less",
        "names": 0,
    }
    ends = {"alike": [1, 3, 1, 3], "unlike": [1, 3, 0, 4], "one": [1, 3, None, None]}
    tables = [PairTable(experiment=name, values=[2, *four], **common) for name, four in ends.items()]
    path = tmp_path / "page.html"
    path.write_bytes(page_bytes(Page("Title", "words", data=PageData(pairs=tables, lists=[["a", "b"]]))))
    page, micro = opened(path), "[+0.000001, +0.000003]"
    for name, said in {
        "alike": f"95% over repetitions {micro}: ",
        "unlike": f"95% over votes and repetitions {micro}, over repetitions [0.000000, +0.000004]: ",
        "one": f"95% over votes {micro}: ",
    }.items():
        page.locator("#pairs form select").first.select_option(label=name)
        assert said in page.locator("#pairs output").inner_text()


@pytest.mark.parametrize("by", ["mouse", "Enter", "Space"])
def test_columns_sort_with_empty_cells_last(page: Any, run: Path, by: str) -> None:
    page.locator("section:has(#standings) .dt-length select").select_option("-1")
    at = head_of(page).index("difference")
    head = page.locator("section:has(#standings) thead th").nth(at)
    values = [row["difference"] for row in lines_of(run)]
    assert "" in values
    for order, sign in (("ascending", 1), ("descending", -1)):
        if by == "mouse":
            head.click()
        else:
            head.locator(".dt-column-order").focus()
            page.keyboard.press(by)
        page.locator(f"section:has(#standings) th[aria-sort={order}]").wait_for()
        expected = sorted((float(one) for one in values if one), key=lambda value: sign * value)
        shown = [row[at] for row in shown_rows(page)]
        assert [float(one) for one in shown if one] == expected
        assert shown[len(expected) :] == [""] * values.count("")


def test_filters_and_search_leave_the_rows_that_fit(page: Any, run: Path) -> None:
    section = page.locator("section:has(#standings)")
    section.locator(".dt-length select").select_option("-1")
    choose(section, "split", "heldout")
    numbers = section.locator(".filters label", has_text=re.compile("^n ")).locator("option").all_text_contents()
    assert numbers[1:] == [f"{n:,}" for n in sorted({int(row["n"]) for row in lines_of(run)})]
    choose(section, "n", "400,000")
    expected = [row for row in lines_of(run) if (row["split"], row["n"]) == ("heldout", "400000")]
    assert len(shown_rows(page)) == len(expected) == 9
    choose(section, "contender", csv_cell(HOSTILE[4]))
    assert [row[head_of(page).index("contender")] for row in shown_rows(page)] == [csv_cell(HOSTILE[4])]
    for name in ("split", "n", "contender"):
        choose(section, name, "all")
    section.get_by_label("Search").fill("logistic")
    assert len(shown_rows(page)) == sum(row["contender"] == "logistic" for row in lines_of(run))


def test_tables_of_a_comparison_sort_and_filter(opened: Callable[..., Any], tmp_path: Path) -> None:
    rows = [("worse", "a", 1.5), ("equal", "b", -20), ("worse", "c", 3), ("equal", "d", 0)]
    lines = ["| verdict | where | change |", "|:--|:--|--:|", *(f"| {v} | {w} | {x:+g} |" for v, w, x in rows)]
    path = tmp_path / "page.html"
    path.write_bytes(page_bytes(Page("Compared", "\n".join(lines), sorts=True)))
    page = opened(path)
    page.locator("thead th").nth(2).click()
    cells = "all => all.map(row => row.cells[1].textContent)"
    assert page.locator("tbody tr").evaluate_all(cells) == ["b", "d", "a", "c"]
    choose(page.locator("main"), "verdict", "equal")
    assert page.locator("tbody tr").evaluate_all(cells) == ["b", "d"]
    assert page.locator(".filters label").count() == 1, "every row is another place"


def test_rows_are_copied_as_csv_and_latex(page: Any, run: Path) -> None:
    section = page.locator("section:has(#standings)")
    choose(section, "contender", csv_cell(HOSTILE[2]))
    page.evaluate("() => { navigator.clipboard.writeText = async text => { window.copied = text; }; }")
    section.get_by_text("Copy as CSV").click()
    section.get_by_text("4 rows copied").wait_for()
    head, *rows = csv.reader(io.StringIO(page.evaluate("window.copied")))
    expected = [row for row in lines_of(run) if row["contender"] == csv_cell(HOSTILE[2])]
    assert rows == [[row[column_of(name)] for name in head] for row in expected]
    page.evaluate("() => { navigator.clipboard.writeText = async () => { throw new Error('denied'); }; }")
    section.get_by_text("Copy as LaTeX").click()
    text = section.locator("textarea").input_value()
    assert text.startswith(r"\begin{tabular}{llrlllrrrr")
    assert text.count(r"\\") == 5
    assert not re.search(r"(?<!\\)[_%#]", text)
    assert text.count(f" & {latex(csv_cell(HOSTILE[2]))} & ") == 4, "the page and rankbench write LaTeX alike"


def test_the_panel_of_a_contender(page: Any, run: Path) -> None:
    page.locator("tbody button", has_text="regression k=1").first.click()
    panel = page.locator("#panel")
    said = panel.inner_text()
    assert "erm:label=0" in said
    assert "Minimize a surrogate's U-statistic risk" in said
    assert "[DMJ13]\nJ. C. Duchi" in said
    assert "]_" not in said
    assert panel.locator("math").count() == 1
    assert "\\" not in said
    rows = panel.locator("tbody tr")
    assert rows.count() == sum(row["contender"] == "regression k=1" for row in lines_of(run))
    assert re.search(r"figure-3, n = 400,000, ndcg, held-out queries\nsignificantly better than 0 of 8\n"
                     r"significantly worse than \d of 8: .*regression k=inf", said)  # fmt: skip
    page.keyboard.press("Escape")
    assert not panel.is_visible()


def test_two_against_each_other_have_the_intervals_of_the_file(page: Any, run: Path) -> None:
    form, told = page.locator("#pairs form"), page.locator("#pairs output")
    lists = {name: form.locator("label", has_text=re.compile(f"^{name} ")).locator("select") for name in ("n", "split")}
    lists["split"].select_option(label="held-out queries")
    names = ("difference", "difference_lower", "difference_upper", "difference_lower_draws", "difference_upper_draws")
    for row in lines_of(run):
        if row["split"] != "heldout" or not row["difference"]:
            continue
        lists["n"].select_option(label=f"{int(row['n']):,}")
        value, low, high, low_draws, high_draws = (float(row[name]) for name in names)
        for labels, sign in (((row["contender"], "logistic"), 1), (("logistic", row["contender"]), -1)):
            form.get_by_label("Contender").select_option(label=labels[0])
            form.get_by_label("minus").select_option(label=labels[1])
            shown = [float(one) for one in re.findall(r"[-+]?\d+\.\d{4}", told.inner_text().partition(": ")[2])]
            ends = [sorted((sign * low, sign * high)), sorted((sign * low_draws, sign * high_draws))]
            assert shown == pytest.approx([sign * value, *ends[0], *ends[1]], abs=6e-5)
            clear = "better" if ends[0][1] < 0 else "worse" if ends[0][0] > 0 else ""
            assert (f"significantly {clear}" if clear else "no significant difference") in told.inner_text()
    form.get_by_label("minus").select_option(label=labels[0])
    assert told.inner_text() == "Choose two different contenders."


def test_figures_answer(page: Any, run: Path) -> None:
    draw_all(page)
    figure = page.locator("figure[data-chart]").first
    points = figure.locator(".plots > div").first.locator("[aria-roledescription=point]")
    bands = figure.locator(".plots > div").first.locator(".mark-area path")
    drawn = [row for row in lines_of(run, "figures/figure-3.csv") if (row["row"], row["column"]) == ("0", "0")]
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
    wide = [row for row in lines_of(run) if row["contender"] == "regression k=1" and row["n"] == "200000"]
    found = re.findall(r"(?:from|to): (\S+)", page.locator("#tip").inner_text())
    ends = [float(wide[0][name]) for name in ("lower_queries", "upper_queries")]
    assert [float(one) for one in found] == pytest.approx(ends, rel=1e-3)
    figure.get_by_label("bands", exact=True).uncheck()
    page.wait_for_function("!document.querySelector('figure .mark-area path')")
    names = figure.locator(".legend label").all_inner_texts()
    figure.get_by_label(names[0].strip(), exact=True).uncheck()
    kept = sum(row["mark"] == "point" and row["name"] != names[0].strip() for row in drawn)
    page.wait_for_function(f"document.querySelectorAll('figure .plots > div:first-child [aria-roledescription=point]')"
                           f".length === {kept}")  # fmt: skip


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


def test_figures_of_dots_hide_rows_and_intervals(pages: dict[str, Path], opened: Callable[..., Any]) -> None:
    page = opened(pages["aggregate"])
    draw_all(page)
    figure = page.locator("figure[data-chart]").first
    points, bars = figure.locator("[aria-roledescription=point]"), figure.locator(".layer_0_marks line")
    assert (points.count(), bars.count()) == (5, 5)
    figure.get_by_label(HOSTILE[0], exact=True).uncheck()
    page.wait_for_function("document.querySelectorAll('figure [aria-roledescription=point]').length === 4")
    figure.get_by_label("bands", exact=True).uncheck()
    page.wait_for_function("!document.querySelector('figure .layer_0_marks line')")
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
    marks = lines_of(run, "figures/figure-3.csv")
    shown = [[row[head.index(column)] for column in ("value", "from", "to")] for row in rows]
    ends = ("value", "lower", "upper")
    assert [[float(one or "nan") for one in row] for row in shown] == [
        pytest.approx([float(mark[end] or "nan") for end in ends], rel=1e-5, nan_ok=True) for mark in marks
    ]
    wide = next(row for row in lines_of(run) if row["contender"] == "regression k=1" and row["n"] == "200000")
    assert [float(rows[0][head.index(f"{end}, queries and repetitions")]) for end in ("from", "to")] == pytest.approx(
        [float(wide["lower_queries"]), float(wide["upper_queries"])], rel=1e-4
    )


def test_wide_tables_say_that_they_go_on(opened: Callable[..., Any], run: Path) -> None:
    page = opened(run / "leaderboard.html", 360)
    wide = page.locator("section:has(#standings) .wide")
    page.wait_for_function("document.querySelector('section:has(#standings) .wide.on')")
    columns = page.locator("section:has(#standings) thead th:visible")
    before = columns.count()
    page.get_by_label("all columns").first.check()
    assert before == 12 < columns.count()
    wide.evaluate("one => one.scrollTo(one.scrollWidth, 0)")
    page.wait_for_function("!document.querySelector('section:has(#standings) .wide.on')")


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


def test_paper_leaves_out_a_table_that_is_wider(opened: Callable[..., Any], tmp_path: Path) -> None:
    lines = ["|".join(["", *(str(at) for at in range(width)), ""]) for width in (24, 25)]
    text = "\n\n".join(f"{line}\n{'|--' * (line.count('|') - 1)}|\n{line}" for line in lines)
    path = tmp_path / "page.html"
    path.write_bytes(page_bytes(Page("Title", text)))
    page = opened(path)
    page.emulate_media(media="print")
    assert page.locator("table").evaluate_all("all => all.map(one => one.offsetWidth > 0)") == [True, False]


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
