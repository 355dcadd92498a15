"""`rankbench verify` makes every published file again and compares bytes.

This shows that a folder is consistent, not that it is honest: the pages of invented rows would be consistent. That
the rows are true is shown by computing blocks again, see `rankbench.reports.rerun`.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rankbench.core.system import FACTS
from rankbench.core.text import count_text, differing_parts
from rankbench.errors import RankbenchError, StoreError
from rankbench.html.page import WEB_PAGE, without_pictures
from rankbench.reports.references import not_installed
from rankbench.reports.render import PICTURES, pages_of
from rankbench.reports.web_page import PAGE_DATA, leaderboard_html, page_data
from rankbench.store.journal import FILE, StoredResults
from rankbench.store.published import (
    DIGESTS,
    ROWS,
    Digests,
    PublishedRows,
    open_results,
    read_digests,
    rows_apart,
    sha256,
)


class Difference(NamedTuple):
    """Difference between a published value and the rows, or a second computation.

    Attributes
    ----------
    file : str
        As in ``leaderboard.csv``; of a block that was computed again: ``rows``.
    where : str
        Row, line, or contender with its block; empty: the whole file.
    what : str
        Present value, and the right one.
    """

    file: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.file}{', ' if self.where else ''}{self.where}: {self.what}"


@dataclass(frozen=True)
class Verification:
    """Result of a verification.

    Attributes
    ----------
    differences : tuple of Difference
        None: all is as it should be.
    shown : tuple of str
        Comparisons, a sentence each.
    """

    differences: tuple[Difference, ...]
    shown: tuple[str, ...]


def verify_files(directory: Path) -> Verification:
    """Make a folder's CSV, Markdown and the numbers behind its figures again, and compare them to the byte.

    Parameters
    ----------
    directory : Path
        A published folder, or that of a run.

    Raises
    ------
    StoreError
        There are no rows. Published ones that are damaged are a difference.
    """
    try:
        digests, listed = read_digests(directory), None
    except StoreError as error:
        digests, listed = None, Difference(DIGESTS, "", str(error))
    found = [listed] if listed else []
    found += _by_digests(directory, digests) if digests else []
    folders = [] if (directory / FILE).exists() else [directory / ROWS, rows_apart(directory)]
    published = next((one for one in folders if one.is_dir()), None)
    if published is None:
        with open_results(directory, listed=False) as results:
            return _verified(directory, results, digests, found)
    try:
        kept = PublishedRows(published)
    except StoreError as error:
        return Verification((*found, Difference(ROWS, "", str(error))), ())
    if digests and kept.digest != digests.rows:
        found.append(Difference(ROWS, "", "these are not the rows that the folder was made from (sha256)"))
    if not digests and not listed:
        found.append(Difference(DIGESTS, "", "it is gone: nothing says what was published"))
    return _verified(directory, kept, digests, found)


def _verified(
    directory: Path, results: StoredResults, digests: Digests | None, found: list[Difference]
) -> Verification:
    """Return the result of making a folder again from its rows, added to earlier differences."""
    try:
        pages = pages_of(results)
        made = dict(pages.files)
        if (directory / FILE).exists():
            made[WEB_PAGE] = leaderboard_html({**pages.files, PAGE_DATA: page_data(pages)})
        elif digests and PAGE_DATA in digests.files:
            made[PAGE_DATA] = page_data(pages)
        missing = not_installed(results.record())
        undescribed = {WEB_PAGE, PAGE_DATA} & made.keys() if missing else set()
        made = {name: data for name, data in made.items() if name not in undescribed}
        found += _facts(directory, results)
    except StoreError as error:
        return Verification((*found, Difference(ROWS, "", str(error))), ())
    except Exception as error:  # published rows may have any contents, by their author or by damage
        if isinstance(error, RankbenchError) or not isinstance(results, PublishedRows):
            raise
        what = f"no report can be made from them ({type(error).__name__}: {error})"
        return Verification((*found, Difference(ROWS, "", _cut(what))), ())
    for name, data in made.items():
        found += _compared(directory, name, data)
    drawn = {path.name for path in (directory / "figures").glob("*.csv")}
    more = sorted(drawn - {Path(name).name for name in made})
    found += [Difference(f"figures/{name}", "", "the rows give no such figure") for name in more]
    shown = [f"Made again from the rows, and compared to the byte: {', '.join(made)}."]
    if digests:
        pictures = sum(name.endswith(PICTURES) for name in digests.files)
        compared = FACTS if not pictures else f"{FACTS} and {count_text(pictures, 'picture')}"
        shown.append(f"Compared with the sha256 in {DIGESTS}: {compared}.")
    else:
        shown.append(
            f"There is no {DIGESTS}: pictures, and times in {FACTS}, were compared with nothing. "
            f"To publish this folder: rankbench report {directory} --out FOLDER."
        )
    for name in undescribed:
        what = "it describes components of plugins that are not installed in the versions of the run"
        shown.append(f"{name} was compared with nothing: {what}: {', '.join(missing)}.")
    if WEB_PAGE in made:
        shown.append(f"Static pictures in {WEB_PAGE} were compared with nothing: they depend on fonts and matplotlib.")
    return Verification(tuple(found), tuple(shown))


def _by_digests(directory: Path, digests: Digests) -> Iterator[Difference]:
    for name, expected in digests.files.items():
        path = directory / name
        if not path.resolve().is_relative_to(directory.resolve()):
            yield Difference(DIGESTS, name, "it lies outside of the folder")
        elif not path.is_file():
            yield Difference(name, "", "it is gone")
        elif sha256(path.read_bytes()) != expected:
            yield Difference(name, "", f"it is not what was published: its sha256 is not that in {DIGESTS}")
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        if path.is_file() and name not in digests.files and name != DIGESTS and not name.startswith(f"{ROWS}/"):
            yield Difference(name, "", f"nobody published it: {DIGESTS} does not name it")


def _compared(directory: Path, name: str, data: bytes) -> list[Difference]:
    path = directory / name
    if not path.is_file():
        return [Difference(name, "", "it is gone")]
    there = without_pictures(path.read_bytes()) if name == WEB_PAGE else path.read_bytes()
    if there == data:
        return []
    try:
        parts = _rows if name.endswith(".csv") else _lines
        return list(parts(name, there.decode(), data.decode())) or [Difference(name, "", "its line ends differ")]
    except (UnicodeDecodeError, csv.Error) as error:
        return [Difference(name, "", f"it cannot be read ({error})")]


def _rows(name: str, there: str, made: str) -> Iterator[Difference]:
    """Yield the rows of a CSV file that differ, each with its first cell that does."""
    old, new = (list(csv.reader(io.StringIO(text))) for text in (there, made))
    for number, (cells, made_again) in enumerate(zip(old, new, strict=False), 1):
        place = next((i for i, pair in enumerate(zip(cells, made_again, strict=False)) if pair[0] != pair[1]), None)
        if place is not None and number > 1:
            where = f"row {number} ({_named(new[0], made_again)}), column {new[0][place]}"
            yield Difference(name, where, _differing(cells[place], made_again[place]))
        elif cells != made_again:
            yield Difference(name, f"row {number}", _differing(",".join(cells), ",".join(made_again)))
    if len(old) != len(new):
        yield Difference(name, "", f"{len(old):,} rows; there should be {len(new):,}")


def _named(header: Sequence[str], row: Sequence[str]) -> str:
    shown = ("experiment", "dataset", "n", "contender", "metric", "split", "unit", "name", "label")
    return ", ".join(_cut(cell) for name, cell in zip(header, row, strict=True) if name in shown and cell)


def _lines(name: str, there: str, made: str) -> Iterator[Difference]:
    old, new = there.splitlines(), made.splitlines()
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Difference(name, f"line {a + 1}", _differing(" / ".join(old[a:b]), " / ".join(new[c:d])))


def _cut(text: str, length: int = 160) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _differing(there: str, made: str) -> str:
    before, now = differing_parts(there, made, 160)
    return f"{before!r}; the rows give {now!r}"


def _facts(directory: Path, results: StoredResults) -> list[Difference]:
    """Compare suite, data and code in ``run.json`` with the rows."""
    record, made, members = results.record(), json.loads(results.contents.suite), results.members()
    keys = ("versions", "cpu", "blas", "code_digest", "plugins", "seed")
    expected = {
        "suite": record.name,
        **{key: made.get(key) for key in keys},
        "n": {e.name: sorted({m.n for m in members if m.experiment == e.name}) for e in record.experiments},
        "sources": [source.fingerprint for source in record.sources],
    }
    try:
        there = json.loads((directory / FACTS).read_bytes())
        held = {key: there.get(key) for key in ("suite", *keys)}
        held["n"] = {name: sorted(counts) for name, counts in there["n"].items()}
        held["sources"] = [one["dataset_sha256"] for one in there["sources"]]
    except (OSError, ValueError, RecursionError, TypeError, AttributeError, KeyError) as error:
        return [Difference(FACTS, "", f"it cannot be read ({type(error).__name__}: {error})")]
    return [
        Difference(FACTS, key, "{}; the rows give {}".format(*differing_parts(repr(held[key]), repr(value), 160)))
        for key, value in expected.items()
        if held[key] != value
    ]
