"""Every question on a log says how the log is read, and which of its rows, items and judges count."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from rankbench.core.question import DifferentNames, Offered, QuestionRecord
from rankbench.data.readings.find import told
from rankbench.interfaces.reading import told_text
from rankbench.logs.log_filter import Filter


class ReadingQuestion(QuestionRecord):
    """Options on the meanings of columns; `rankbench.aggregate` explains them."""

    columns: Annotated[str, Offered(metavar="ROLE=NAME,..")] = ""
    """Roles of columns, as left=home,right=visitor."""

    words: Annotated[str, Offered(metavar="MEANING=WORD,..")] = ""
    """Words, as home=H,visitor=A,tie=D,missing=NA."""

    reading: Annotated[Any, Offered(name="file-format", metavar="NAME", names="format")] = None
    """Known format of the file: rankbench list formats."""

    reader: Annotated[str, Offered(names="reader")] = ""
    """Reader, as csv or letor:zero-based=true; default: by the file's ending."""

    @cached_property
    def told(self) -> str:
        """All meanings as one text: see `rankbench.interfaces.reading.Reading.text`.

        Raises
        ------
        InputError
            A text is not in its grammar, or there is no such reading.
        """
        reading = self.reading or ""
        if isinstance(reading, str) and not (Path(reading).suffix or Path(reading).is_file()):
            return told_text(self.columns, self.words, reading)
        return told(self.columns, self.words, reading)


class RowsQuestion(ReadingQuestion):
    """Options on the rows of a table."""

    where: Annotated[str, Offered(metavar="CONDITION")] = ""
    """Keep rows that fulfil an SQL condition, as "lang == 'en' and turn > 1". Its names are columns of the file; if the
    file lacks one, all are columns of the schema, as query_id, winner, loser and judge."""


class LogQuestion(RowsQuestion):
    """Options of a question on a log that concern the log itself; `rankbench.aggregate` explains them."""

    without: Annotated[DifferentNames, Offered(metavar="ITEM")] = ()
    """An item to leave out; repeatable."""

    without_judge: Annotated[DifferentNames, Offered(metavar="NAME")] = ()
    """A judge to leave out; repeatable."""

    min_votes: Annotated[int, Field(ge=0), Offered(metavar="N")] = 0
    """Take out items with fewer votes, again and again, until no item has fewer."""

    @property
    def keep(self) -> Filter:
        """Rows, items and judges to keep."""
        return Filter(self.where, self.without, self.without_judge, self.min_votes)
