"""A reading file is written: of a reading that was applied, or as a draft in which columns move to their roles."""

from __future__ import annotations

import json
from pathlib import Path

from rankbench.data.readings.find import ENDING, IN_FOLDER
from rankbench.data.tables.column_texts import first_cells, looks
from rankbench.errors import InputError
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.table_check import RawTable

_ROLES = """\
# Roles of votes: winner and loser; or left and right, with winner, points, margin, or left_score and right_score.
# Roles of ballots: ranking; or ranks; or query, item and place (points: more is better).
# Roles of clicks: session, position, doc and clicked.
# Roles of scores: system and scores (losses: less is better); or system, task and score (or loss).
# Beside them: query, judge, time, weight (of one vote), count (of votes that a row is).
# Move each column to the line of its role; what is not read stays in `ignore`.
[columns]
# ROLE = "COLUMN"
"""

_WORDS = """\

# What words mean, where a column says who won: the column of the item, tie, or missing.
# [words]
# COLUMN = "WORD"
# tie = "WORD"
# missing = ["", "NA"]
"""


def reading_path(path: Path) -> Path:
    """Return the path of the reading of a file, or of a folder."""
    return path / IN_FOLDER if path.is_dir() else path.with_name(path.name + ENDING)


def kept_reading(reading: Reading, names: list[str]) -> str:
    """Return the text of the reading file of a reading that was applied; columns that are not read are listed."""
    # A task or a system in a row each may be ignored, too.
    ignored = [name for name in names if name.strip() and name not in reading.read()]
    ignored += [name for name in reading.all("ignore") if name not in names]
    plain = reading.without("control", "predictions", "by", "ignore")
    whole = plain.with_({"ignore": tuple(ignored)}, format="") if ignored else plain.with_(format="")
    return whole.to_toml()


def draft(raw: RawTable) -> str:
    """Return a draft of a reading file: every column on a line, with examples of its cells.

    It is no reading before columns have moved to roles.
    """
    names = raw.schema.names()
    cells = first_cells(raw, names)
    wide = max((len(json.dumps(name, ensure_ascii=False)) for name in names), default=0)
    lines = [
        f"  {json.dumps(name, ensure_ascii=False) + ',':<{min(wide, 40) + 1}}  # {_line(cells.get(name))}"
        for name in names
    ]
    return "\n".join([_ROLES + "ignore = [", *lines, "]", _WORDS])


def _line(cells: list[str] | None) -> str:
    return "nested" if cells is None else " ".join(looks(cells).split())


def write_reading(path: Path, text: str) -> Path:
    """Write the reading file of a file, which must not be there yet, and return its path.

    Raises
    ------
    InputError
        It is there already, or cannot be written.
    """
    file = reading_path(path)
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(f"# {file.name}\n{text}")
    except FileExistsError as error:
        raise InputError("it is there already; remove it, or edit it", path=file) from error
    except OSError as error:
        raise InputError(f"it cannot be written ({error.strerror})", path=file) from error
    return file
