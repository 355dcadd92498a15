"""Tables as Excel workbooks: the first sheet, or the one that is named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from rankbench.errors import InputError
from rankbench.kinds.reader import Reader, existing

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ExcelReader"]


class ExcelReader(Reader):
    """A sheet of an Excel workbook, with a header; needs ``rankbench[xlsx]``.

    Cells of formulas are what Excel computed last; one that was never computed is refused, and so are merged cells. A
    workbook is held in memory, as its format is compressed as a whole. Rows in errors are those of the sheet.
    """

    name: ClassVar[str] = "excel"
    source: ClassVar[str] = "ECMA-376"
    extensions: ClassVar[tuple[str, ...]] = (".xlsx", ".xlsm")

    columns: str = Field(default="", description="What columns of votes mean, as left=model_x,right=model_y.")
    sheet: str = Field(default="", description="Name of the sheet; empty: the first.")

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return the table; see `Reader.scan`."""
        from rankbench.data.readers.csv import distinct_header
        from rankbench.data.readers.workbook_cells import check_extent, sheet_defect
        from rankbench.data.tables.checks import checked
        from rankbench.data.tables.remarks import remark
        from rankbench.text import listed

        existing(path)
        try:
            import fastexcel
        except ImportError as error:
            raise InputError(
                "Excel files are read by the extra xlsx: pip install 'rankbench[xlsx]', or save the sheet as CSV UTF-8",
                path=path,
            ) from error
        try:
            book = fastexcel.read_excel(path)
            if self.sheet and self.sheet not in book.sheet_names:
                raise InputError(f"there is no sheet {self.sheet!r} among {', '.join(book.sheet_names)}", path=path)
            if book.sheet_names:
                check_extent(path, self.sheet or book.sheet_names[0])
            # As texts, as in CSV: the checks convert them and know the row.
            sheet = book.load_sheet(self.sheet or 0, header_row=None, dtypes="string")
            cells = sheet.to_polars()
        except fastexcel.FastExcelError as error:
            raise InputError(f"it cannot be read: {str(error).splitlines()[0][:200]}", path=path) from error
        if not cells.height:
            raise InputError("the sheet has no rows", path=path)
        name = self.sheet or book.sheet_names[0]
        if not self.sheet and len(book.sheet_names) > 1:
            others = listed(book.sheet_names[1:])
            remark(f"the sheet {name!r} is read, the first one; others: {others} (--reader 'excel:sheet=NAME')")
        defect = sheet_defect(path, name)
        if defect is not None:
            raise InputError(defect.message, path=path, row=defect.row, column=defect.column)
        names = [name or "" for name in cells.row(0)]
        distinct_header(names, path)
        kept = [at for at, name in enumerate(names) if name]
        rows = cells.slice(1).select(cells.to_series(at).slice(1).alias(names[at]) for at in kept)
        return checked(rows.lazy(), path=path, header=1, columns=self.columns)
