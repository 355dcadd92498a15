"""Tables of a page in a real browser: every control, cells of the files, what is copied, a phone's width."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile_run import HOSTILE
from in_browser import lines_of, wait_for_count

from rankbench.core.text import csv_cell, latex
from rankbench.html.content import Page, PageData, PairTable, Table
from rankbench.html.page import page_bytes
from rankbench.reports.web_page import TITLES

pytestmark = pytest.mark.usefixtures("chromium")  # before pages are made, which need a while


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


def halved(column: str, text: str) -> str:
    """Return a cell of a file as a page has it: a number of wins is whole or half."""
    return f"{float(text):g}" if column == "wins" and text else text


@pytest.mark.parametrize(("table", "file"), [("standings", "leaderboard.csv"), ("claims", "claims.csv")])
def test_cells_are_those_of_the_file(page: Any, run: Path, table: str, file: str) -> None:
    for list_of_lengths in page.locator(f"section:has(#{table}) .dt-length select").all():
        list_of_lengths.select_option("-1")
    names = [column_of(name) for name in head_of(page, table)]
    rows = [[halved(name, row[name]) for name in names] for row in lines_of(run, file)]
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
    assert rows == [[halved(name, row[column_of(name)]) for name in head] for row in expected]
    page.evaluate("() => { navigator.clipboard.writeText = async () => { throw new Error('denied'); }; }")
    section.get_by_text("Copy as LaTeX").click()
    text = section.locator("textarea").input_value()
    assert text.startswith(r"\begin{tabular}{llrlllrrrr")
    assert text.count(r"\\") == 5
    assert not re.search(r"(?<!\\)[_%#]", text)
    assert text.count(f" & {latex(csv_cell(HOSTILE[2]))} & ") == 4, "the page and rankbench write LaTeX alike"


def test_wide_tables_say_that_they_go_on(opened: Callable[..., Any], run: Path) -> None:
    page = opened(run / "leaderboard.html", 360)
    wide = page.locator("section:has(#standings) .wide")
    wait_for_count(page.locator("section:has(#standings) .wide.on"), 1)
    columns = page.locator("section:has(#standings) thead th:visible")
    before = columns.count()
    page.get_by_label("all columns").first.check()
    assert before == 12 < columns.count()
    wide.evaluate("one => one.scrollTo(one.scrollWidth, 0)")
    wait_for_count(page.locator("section:has(#standings) .wide.on"), 0)


def test_paper_leaves_out_a_table_that_is_wider(opened: Callable[..., Any], tmp_path: Path) -> None:
    lines = ["|".join(["", *(str(at) for at in range(width)), ""]) for width in (24, 25)]
    text = "\n\n".join(f"{line}\n{'|--' * (line.count('|') - 1)}|\n{line}" for line in lines)
    path = tmp_path / "page.html"
    path.write_bytes(page_bytes(Page("Title", text)))
    page = opened(path)
    page.emulate_media(media="print")
    assert page.locator("table").evaluate_all("all => all.map(one => one.offsetWidth > 0)") == [True, False]


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


def test_panels_and_two_against_each_other_say_where_there_is_no_interval(
    opened: Callable[..., Any], tmp_path: Path
) -> None:
    """Without intervals no test was made: "better than 0 of 2" would say that one was. Names may hold commas."""
    names, none = ["a", "b", "c, K = 2", "d"], [None] * 4
    common = {"dataset": "", "n": "9", "split": "held-out votes", "units": "queries", "better": "less", "names": 0}
    below = [-2, -3, -1, -3, -1]
    values = {"nothing": [-2, *none] * 6, "part": [*below, *below, 1, *none, *([-2, *none] * 3)]}
    tables = [PairTable(experiment=name, metric="loss", values=values[name], **common) for name in values]
    rows = Table(["contender"], [[name] for name in names], (0,), "All standings", name="standings", opens=0)
    path = tmp_path / "page.html"
    path.write_bytes(page_bytes(Page("Title", "words", [rows], data=PageData(pairs=tables, lists=[names]))))
    page = opened(path)
    assert page.locator("#pairs output").inner_text() == "a minus b: -0.000002; no interval (less is better)."
    page.locator("tbody button").first.click()
    said = page.locator("#panel dd").all_inner_texts()
    assert said == [
        "no intervals: nothing says which contenders differ significantly",
        "significantly better than 2 of 3: b; c, K = 2\nsignificantly worse than 0 of 3\n"
        "no interval against 1 of 3: d\n(each pair alone, 95% over repetitions)",
    ]


@pytest.mark.parametrize(("rows", "cards"), [(25, True), (26, False)])
def test_a_phone_shows_the_rows_of_a_table_without_pages_as_cards(
    opened: Callable[..., Any], tmp_path: Path, rows: int, cards: bool
) -> None:
    """As the tests of an audit; the column of its marks has no title."""
    columns = ["", "probe", "finding", "option"]
    cells = ["x", "without-judge", "judge 15 votes unlike the others " * 4, "--without-judge 15 --without 'PaLM 2'"]
    path = tmp_path / "page.html"
    path.write_bytes(
        page_bytes(Page("Title", "", [Table(columns, [cells] * rows, range(len(columns)), "Tests", name="a")]))
    )
    table = opened(path, 390).locator("table.data")
    titles = table.locator("tbody tr").first.locator("td").evaluate_all("all => all.map(one => one.dataset.title)")
    assert titles == (columns if cards else [None] * 4)
    assert table.evaluate("one => one.parentElement.scrollWidth <= one.parentElement.clientWidth") is cards


def test_a_card_is_as_wide_as_the_phone(opened: Callable[..., Any], tmp_path: Path) -> None:
    """Emphasis and code are words of their sentence, not columns of their own; hidden titles widen no page."""
    lines = ["|".join(["", *cells, ""]) for cells in (["title of a column"] * 30, ["--"] * 30, ["**a** has `b` "] * 30)]
    path = tmp_path / "page.html"
    path.write_bytes(page_bytes(Page("Title", "\n".join([*lines, f"| 1 | 2 | {'**Kemeny** has `log-loss` ' * 20} |"]))))
    page = opened(path, 390)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.locator("main .wide").evaluate("one => one.scrollWidth <= one.clientWidth")


def test_numbers_are_copied_as_numbers(opened: Callable[..., Any], tmp_path: Path) -> None:
    cells = [["1,234,567", "< 1e-6", "not determined", "1,2"], *[["-0.5", "0.25", "", "b"]] * 14]
    table = Table(["n", "p", "upper", "name"], cells, (3,), "Rows", name="a")
    path = tmp_path / "page.html"
    path.write_bytes(page_bytes(Page("Title", "", [table])))
    page = opened(path)
    page.evaluate("() => { navigator.clipboard.writeText = async text => { window.copied = text; }; }")
    page.get_by_text("Copy as CSV").click()
    page.get_by_text("15 rows copied").wait_for()
    assert page.evaluate("window.copied") == 'n,p,upper,name\n1234567,0.000000,,"1,2"\n' + "-0.5,0.25,,b\n" * 14


@pytest.mark.parametrize(("width", "stacked"), [(360, True), (800, False)])
def test_a_phone_shows_the_verdict_below_its_contender(
    opened: Callable[..., Any], run: Path, width: int, stacked: bool
) -> None:
    page = opened(run / "leaderboard.html", width)
    table = page.get_by_role("table").first
    said = "one => getComputedStyle(one, '::before').content"
    row = table.get_by_role("row").filter(has_text=re.compile("better|worse|no significant difference")).first
    cells = row.get_by_role("cell").all()
    titles = [cell.evaluate(said) for cell in cells]
    tops = {cell.bounding_box()["y"] for cell in cells}
    if not stacked:
        assert (titles, len(tops)) == (["none"] * 5, 1)
        return
    shown = ["contender", "held-out queries", "minus logistic", "design queries", "minus logistic"]
    assert titles == [f'"{one}"' for one in shown]
    assert len(tops) == 5
    ends = [cell.bounding_box()["x"] + cell.bounding_box()["width"] for cell in cells]
    assert max(ends) <= width
    assert table.evaluate("one => one.parentElement.scrollWidth <= one.parentElement.clientWidth")
