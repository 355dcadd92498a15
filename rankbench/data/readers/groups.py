"""Group files: the number of lines of each query, one a line, beside a file without ``qid``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rankbench.data.readers.text_lines import numbered_lines, unpacked_name
from rankbench.errors import InputError
from rankbench.text import short_repr

__all__ = ["Groups", "find_groups", "single_item_error"]

_DIGITS = 12


@dataclass(frozen=True)
class Groups:
    """The sizes of a file's queries, in order, and the file they come from."""

    path: Path
    sizes: list[int]


def find_groups(path: Path, allow_single: bool = False) -> Groups | None:
    """Read the group file of a data file, or return None if there is none.

    Looks for ``FILE.group`` and ``FILE.query``, for ``FILE.gz`` and the like without the ``.gz`` too.

    Parameters
    ----------
    path : Path
        The data file.
    allow_single : bool
        Whether a query may have one line.

    Raises
    ------
    InputError
        A line that is not a positive whole number, or a query of one item.
    """
    stems = dict.fromkeys((path.name, unpacked_name(path)))
    for stem in stems:
        for ending in (".group", ".query"):
            candidate = path.with_name(stem + ending)
            if candidate.is_file():
                return Groups(candidate, _sizes(candidate, allow_single))
    return None


def single_item_error(query: str, path: Path, row: int) -> InputError:
    """Return an error about a query, as it is to be shown, of one line."""
    return InputError(
        f"query {query} has one item, which cannot be ranked; remove it, or read the file as "
        "letor:allow-single=true to leave such queries out later",
        path=path,
        row=row,
    )


def _sizes(path: Path, allow_single: bool) -> list[int]:
    sizes: list[int] = []
    for row, line in numbered_lines(path):
        text = line.strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit()) or len(text) > _DIGITS or int(text) == 0:
            raise InputError(
                f"{short_repr(text)} is not the size of a query: a positive whole number", path=path, row=row
            )
        if int(text) == 1 and not allow_single:
            raise single_item_error(str(len(sizes) + 1), path, row)
        sizes.append(int(text))
    if not sizes:
        raise InputError("the file has no sizes", path=path)
    return sizes
