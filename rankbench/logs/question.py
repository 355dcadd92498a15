"""Every question on a log says how the log is read, and which of its rows, items and judges count."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

from rankbench.core.question import QuestionRecord
from rankbench.data.readings.find import told
from rankbench.logs.log_filter import Filter


class LogQuestion(QuestionRecord):
    """Options of a question on a log that concern the log itself; `rankbench.aggregate` explains them."""

    columns: str = ""
    """Meanings of columns and of words."""

    reader: str = ""
    """Reader of a file."""

    keep: Filter = Filter()
    """Rows, items and judges to keep."""

    @classmethod
    def from_options(cls, **options: Any) -> Self:
        """Return the question that options ask: ``words`` and ``reading`` add to `columns`, filters make `keep`.

        Raises
        ------
        InputError
            There is no such reading.
        SpecError
            See `QuestionRecord.from_options`.
        """
        more = {name: options.pop(name) for name in ("words", "reading") if name in options}
        if any(more.values()):
            options["columns"] = told(options.get("columns", ""), **more)
        if kept := {one.name: options.pop(one.name) for one in fields(Filter) if one.name in options}:
            options["keep"] = Filter.from_options(**kept)
        return super().from_options(**options)
