"""Excel workbooks: several sheets, cells without a value, cells far away from the table."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
from data_files import rejected, written

import rankbench
from rankbench.errors import InputError

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SHEETS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def sheet(rows: list[list[str | float]]) -> str:
    """Return a sheet with these cells, as its standard has it."""
    cells = []
    for number, row in enumerate(rows, 1):
        places = [f"{'ABCDEFG'[at]}{number}" for at in range(len(row))]
        line = "".join(
            f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
            if isinstance(value, str)
            else f'<c r="{place}"><v>{value}</v></c>'
            for place, value in zip(places, row, strict=True)
        )
        cells.append(f'<row r="{number}">{line}</row>')
    return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(cells)}</sheetData></worksheet>'


def xlsx(sheets: dict[str, str]) -> bytes:
    """Return a workbook of sheets by name."""
    kinds, book, links = [], [], []
    for at, name in enumerate(sheets, 1):
        kinds.append(f'<Override PartName="/xl/worksheets/sheet{at}.xml" ContentType="{SHEETS}.worksheet+xml"/>')
        book.append(f'<sheet name="{name}" sheetId="{at}" r:id="rId{at}"/>')
        links.append(f'<Relationship Id="rId{at}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{at}.xml"/>')
    files = {
        "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
        f'ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="{SHEETS}.sheet.main+xml"/>'
        f"{''.join(kinds)}</Types>",
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships"><Relationship Id="rId1" '
        f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{"".join(book)}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
        f"{''.join(links)}</Relationships>",
        **{f"xl/worksheets/sheet{at}.xml": text for at, text in enumerate(sheets.values(), 1)},
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>{text}')
    return file.getvalue()


ROWS: list[list[str | float]] = [["winner", "loser", "weight"], ["a", "b", 1.5], ["b", "c", 2]]
VOTES, OTHERS = sheet(ROWS), sheet([*ROWS[:1], ["z", "b", 1.5], ["b", "c", 2]])


@pytest.fixture(autouse=True)
def _reader() -> None:
    pytest.importorskip("fastexcel")


def test_names_may_be_numbers_and_headers_in_capitals(tmp_path: Path) -> None:
    rows = sheet([["Winner", "Loser", "weight"], ["a", "b", 1.5], ["b", 3, 2]])
    frame = rankbench.scan(written(tmp_path / "votes.xlsx", xlsx({"Votes": rows}))).collect()
    assert frame.select("winner", "loser", "weight").rows() == [("a", "b", 1.5), ("b", "3", 2)]


def test_the_first_of_several_sheets_is_read_and_said(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.xlsx", xlsx({"Votes": VOTES, "More votes": OTHERS}))
    found = rankbench.aggregate(path)
    assert set(found.table["item"]) == {"a", "b", "c"}
    assert "the sheet 'Votes' is read, the first one; others: 'More votes' (reader=\"excel:sheet=NAME\")" in found.notes
    other = rankbench.aggregate(path, reader='excel:sheet="More votes"')
    assert set(other.table["item"]) == {"z", "b", "c"}
    assert not any("sheet" in note for note in other.notes)
    path.write_bytes(xlsx({"Votes": VOTES}))
    assert not any("sheet" in note for note in rankbench.aggregate(path).notes)


@pytest.mark.parametrize("cell", ['<c r="A3"/>', '<c r="A3"><f>A2</f></c>'])
def test_cells_of_a_merge_and_formulas_never_computed_are_empty(tmp_path: Path, cell: str) -> None:
    """As Excel leaves all but the first cell of a merge, and openpyxl every formula."""
    path, value = tmp_path / "votes.xlsx", '<c r="A3" t="inlineStr"><is><t>b</t></is></c>'
    path.write_bytes(xlsx({"Votes": VOTES.replace(value, cell)}))
    with rejected(path=path, row=3, column="winner"):
        rankbench.aggregate(path)


def test_a_stray_cell_far_away_is_named_and_no_memory_is_taken_for_it(tmp_path: Path) -> None:
    # The reader would ask for a rectangle of 412 GB, and end the process.
    reach = '<dimension ref="A1:XFD1048576"/><sheetData>'
    far = '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>x</t></is></c></row></sheetData>'
    path = tmp_path / "votes.xlsx"
    reaching = VOTES.replace("</sheetData>", far).replace("<sheetData>", reach)
    path.write_bytes(xlsx({"Votes": reaching}))
    with pytest.raises(InputError, match=r"reach to row 1,048,576 and column 16,384\. Such a table takes 412\.3 GB"):
        rankbench.aggregate(path)
    # Of two sheets, it is the reach of the one that is read.
    path.write_bytes(xlsx({"Votes": reaching, "More votes": OTHERS}))
    with pytest.raises(InputError, match="reach to row 1,048,576"):
        rankbench.aggregate(path, reader='excel:sheet="Votes"')


def test_an_empty_cell_in_reach_changes_nothing(tmp_path: Path) -> None:
    path, near = tmp_path / "votes.xlsx", '<row r="90"><c r="AB90"/></row></sheetData>'
    path.write_bytes(xlsx({"Votes": VOTES}))
    whole = rankbench.aggregate(path).table
    path.write_bytes(xlsx({"Votes": VOTES.replace("</sheetData>", near)}))
    assert rankbench.aggregate(path).table.equals(whole)


def test_a_stray_cell_is_found_where_the_file_does_not_say_its_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankbench.data.readers.excel.free_memory", lambda: 1_000_000_000)
    far = VOTES.replace("</sheetData>", '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>')
    assert "dimension" not in far
    path = written(tmp_path / "votes.xlsx", xlsx({"Votes": far}))
    with rejected("its cells reach to row 1,048,576 and column 16,384", path=path):
        rankbench.aggregate(path)


def test_a_workbook_that_unpacks_to_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankbench.data.readers.excel._MOST_UNPACKED", 1 << 20)
    path = written(
        tmp_path / "votes.xlsx", xlsx({"Votes": VOTES.replace("<sheetData>", " " * (2 << 20) + "<sheetData>")})
    )
    with rejected("its cells take more than 0 GB unpacked", path=path):
        rankbench.aggregate(path)
