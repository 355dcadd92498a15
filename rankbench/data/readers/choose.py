"""How a file finds the reader that fits it: by its ending, else by its first bytes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rankbench.data.readers.parts import PartsReader, is_pattern
from rankbench.data.readers.registered import registered_readers
from rankbench.data.readers.text_lines import head, unpacked_name
from rankbench.errors import InputError, SpecError
from rankbench.kinds.column_readings import columns_text, said_columns
from rankbench.kinds.reader import Reader, existing

__all__ = ["choose_reader", "with_meanings"]

_HEAD = 65_536

_SHARED = (".txt", ".dat", ".csv")
"""Endings that files of many formats have: the first bytes count more."""


def choose_reader(path: Path, readers: Iterable[type[Reader]] | None = None) -> Reader:
    """Return the reader for a file: by its ending, else by its first bytes.

    Parameters
    ----------
    path : Path
        A file, a folder made by ``rankbench data convert``, a folder of parts, or a pattern.
    readers : iterable of Reader classes, optional
        All that are registered by default.

    Raises
    ------
    InputError
        The file is missing, or no reader knows it.
    """
    classes = list(registered_readers() if readers is None else readers)
    if is_pattern(path):
        return PartsReader()
    existing(path)
    if path.is_dir():
        by_content = [cls for cls in classes if cls.sniff(path, b"")]
    else:
        name = unpacked_name(path).lower()
        by_name = [cls for cls in classes if name.endswith(cls.extensions)]
        if by_name and not name.endswith(_SHARED):
            return by_name[0]()
        first = head(path, _HEAD)
        by_content = [cls for cls in classes if cls.sniff(path, first)]
        # Nothing without a colon is LETOR, whose errors would name a wrong cause.
        usual = by_name and (name.endswith(".csv") or b":" in first)
        if by_name and (by_name[0] in by_content or (usual and not by_content)):
            return by_name[0]()
    if by_content:
        return by_content[0]()
    known = ", ".join(sorted(cls.name for cls in classes))
    if path.is_dir():
        raise InputError(f"no reader knows this folder; readers: {known}", path=path)
    raise InputError(
        f"no reader knows this format; readers: {known}; --reader csv reads a table with commas, semicolons, tabs or "
        "bars between its columns, and none with spaces (in R: write.csv(x, FILE, row.names = FALSE)); of Markdown "
        "take out the line of dashes, and the bars at both ends of lines",
        path=path,
    )


def with_meanings(reader: Reader, columns: str) -> Reader:
    """Return a reader that is told what some columns mean, beside what it was told before.

    Raises
    ------
    SpecError
        The columns of its files have fixed names.
    """
    if "columns" not in reader.parameters():
        raise SpecError(f"the columns of this file ({reader.name}) have fixed names; leave --columns out")
    own = str(reader.config()["columns"] or "")
    said = dict(said_columns(own)) if own else {}
    return reader.model_copy(update={"columns": columns_text({**said, **dict(said_columns(columns))})})
