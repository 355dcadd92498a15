"""What an Excel workbook has beside values: several sheets, formulas that nobody computed, merged cells."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from votes_as_they_come import xlsx

import rankbench
from rankbench.errors import InputError

ROWS: list[list[str | float]] = [["winner", "loser", "weight"], ["a", "b", 1.5], ["b", "c", 2]]
SHEET = "xl/worksheets/sheet1.xml"


@pytest.fixture(autouse=True)
def _reader() -> None:
    pytest.importorskip("fastexcel")


def changed(book: bytes, edits: dict[str, Callable[[str], str]]) -> bytes:
    """Return a workbook with some of its files edited, and a copy of its sheet as another one."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(book)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            text = old.read(name).decode()
            new.writestr(name, edits.get(name, str)(text))
            if name == SHEET:
                new.writestr("xl/worksheets/sheet2.xml", text.replace(">a<", ">z<"))
    return file.getvalue()


def with_sheets(*names: str) -> dict[str, Callable[[str], str]]:
    """Return the edits that give a workbook a second sheet."""

    def of_workbook(text: str) -> str:
        first = f'<sheet name="{names[0]}" sheetId="1" r:id="rId1"/>'
        return text.replace('<sheet name="Votes" sheetId="1" r:id="rId1"/>',
                            f'{first}<sheet name="{names[1]}" sheetId="2" r:id="rId2"/>')  # fmt: skip

    def of_relations(text: str) -> str:
        begin, end = text.index("<Relationship "), text.index("</Relationships>")
        return (
            text[:end]
            + text[begin:end]
            .replace("rId1", "rId2")
            .replace("sheet1", "/xl/worksheets/sheet2")
            .replace("worksheets//xl", "/xl")
            + text[end:]
        )

    def of_types(text: str) -> str:
        begin = text.index('<Override PartName="/xl/worksheets')
        end = text.index("</Types>")
        return text[:end] + text[begin:end].replace("sheet1", "sheet2") + text[end:]

    return {"xl/workbook.xml": of_workbook, "xl/_rels/workbook.xml.rels": of_relations, "[Content_Types].xml": of_types}


def test_the_first_of_several_sheets_is_read_and_said(tmp_path: Path) -> None:
    path = tmp_path / "votes.xlsx"
    path.write_bytes(changed(xlsx(ROWS), with_sheets("Votes", "More votes")))
    found = rankbench.aggregate(path)
    assert set(found.table["item"]) == {"a", "b", "c"}
    assert "the sheet 'Votes' is read, the first one; others: 'More votes' (--reader 'excel:sheet=NAME')" in found.notes
    other = rankbench.aggregate(path, reader='excel:sheet="More votes"')
    assert set(other.table["item"]) == {"z", "b", "c"}
    assert not any("sheet" in note for note in other.notes)
    path.write_bytes(xlsx(ROWS))
    assert not any("sheet" in note for note in rankbench.aggregate(path).notes)


def test_a_formula_without_a_value_is_said_with_its_cell(tmp_path: Path) -> None:
    """As openpyxl and other writers leave them: only Excel and LibreOffice compute."""
    path = tmp_path / "votes.xlsx"
    book = xlsx([*ROWS, ["c", "a", 3], ["c", "b", 3]])
    cell = '<c r="C4"><v>3</v></c>'
    whole = cell.replace("<v>", "<f>C3+1</f><v>")
    edits = with_sheets("Votes", "More votes")
    path.write_bytes(changed(book, edits | {SHEET: lambda text: text.replace(cell, whole)}))
    assert rankbench.aggregate(path).table.height == 3
    bare = '<c r="C4"><f>C3+1</f></c>'
    path.write_bytes(changed(book, edits | {SHEET: lambda text: text.replace(cell, bare)}))
    # The other sheet has none.
    assert rankbench.aggregate(path, reader='excel:sheet="More votes"').table.height == 3
    with pytest.raises(InputError, match="C4 holds a formula that was never computed: open") as caught:
        rankbench.aggregate(path)
    assert (caught.value.path, caught.value.row, caught.value.column) == (path, 4, "C")


def test_merged_cells_are_said(tmp_path: Path) -> None:
    path = tmp_path / "votes.xlsx"
    merged = '</sheetData><mergeCells count="1"><mergeCell ref="A2:A3"/></mergeCells>'
    path.write_bytes(changed(xlsx(ROWS), {SHEET: lambda text: text.replace("</sheetData>", merged)}))
    with pytest.raises(InputError, match=r"cells A2:A3 are merged, so that all but the first are empty") as caught:
        rankbench.aggregate(path)
    assert (caught.value.row, caught.value.column) == (2, "A")


def test_a_stray_cell_far_away_is_named_and_no_memory_is_taken_for_it(tmp_path: Path) -> None:
    # The reader would ask for a rectangle of 412 GB, and end the process.
    far = '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>x</t></is></c></row></sheetData>'
    path = tmp_path / "votes.xlsx"
    path.write_bytes(changed(xlsx(ROWS), {SHEET: lambda text: text.replace("</sheetData>", far)}))
    with pytest.raises(InputError, match=r"reach to row 1,048,576 and column 16,384: such a table takes 412\.3 GB"):
        rankbench.aggregate(path)


def test_more_rows_than_a_sheet_of_excel_has_are_refused(tmp_path: Path) -> None:
    path, rows = tmp_path / "votes.xlsx", "<row></row>" * 1_048_576
    path.write_bytes(changed(xlsx(ROWS), {SHEET: lambda text: text.replace("</sheetData>", f"{rows}</sheetData>")}))
    with pytest.raises(InputError, match="more than 1,048,576 rows"):
        rankbench.aggregate(path)


def test_an_empty_cell_in_reach_changes_nothing(tmp_path: Path) -> None:
    path, near = tmp_path / "votes.xlsx", '<row r="90"><c r="AB90"/></row></sheetData>'
    path.write_bytes(xlsx(ROWS))
    whole = rankbench.aggregate(path).table
    path.write_bytes(changed(xlsx(ROWS), {SHEET: lambda text: text.replace("</sheetData>", near)}))
    assert rankbench.aggregate(path).table.equals(whole)
