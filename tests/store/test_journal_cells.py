"""Any value in any cell of a run's journal: the report that was, or an error that names the journal and its table."""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import synthetic
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from test_damage import FOREIGN, NAMED, contents

from rankbench.errors import StoreError
from rankbench.reports.results import report
from rankbench.store.journal import FILE
from rankbench.store.records import TABLES


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run that was reported, whose tables all have rows."""
    folder = tmp_path_factory.mktemp("whole")
    contenders = [synthetic.Contender("curved", {"k": 1}, 0.06, curves=True), synthetic.Contender("logistic", {})]
    synthetic.write(folder, [synthetic.Plan("e", contenders, n=(200,), repetitions=2)], {"design": 3, "heldout": 2})
    report(folder)
    return folder


values = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-2, 2),
    st.floats(),
    st.text(max_size=20),
    st.binary(max_size=40),
    st.sampled_from(["{}", "[]", "null", "design", "done", "error", "0", "e", b"\0" * 24]),
)


def changed(path: Path, table: str, row: int, column: int, value: object) -> bool:
    """Put a value in a cell; return whether SQLite takes it and holds another one now."""
    with closing(sqlite3.connect(path, isolation_level=None)) as file:
        names = [found[1] for found in file.execute(f"PRAGMA table_info({table})")]
        rows = [found[0] for found in file.execute(f"SELECT rowid FROM {table}")]
        name, place = names[column % len(names)], rows[row % len(rows)]
        before = file.execute(f"SELECT {name}, typeof({name}) FROM {table} WHERE rowid = ?", (place,)).fetchone()
        try:
            file.execute(f"UPDATE {table} SET {name} = ? WHERE rowid = ?", (value, place))
        except sqlite3.IntegrityError:  # null where none may be, or the number of another block
            return False
        after = file.execute(f"SELECT {name}, typeof({name}) FROM {table} LIMIT 1 OFFSET ?", (rows.index(place),))
        return after.fetchone() != before


def campaign(whole: Path, scratch: Path, examples: int, part: int = 0) -> Counter[str]:
    came, expected = Counter[str](), contents(whole)

    @seed(20130501 + part)
    @settings(max_examples=examples, deadline=20_000, database=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(sorted(TABLES)), st.integers(0, 40), st.integers(0, 12), values)
    def cases(table: str, row: int, column: int, value: object) -> None:
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(whole, scratch)
        (scratch / "leaderboard.csv").unlink()
        if not changed(scratch / FILE, table, row, column, value):
            came["no other value"] += 1
            return
        try:
            report(scratch)
        except StoreError as error:
            assert NAMED.search(str(error)) or FOREIGN.search(str(error)), str(error)  # noqa: PT017
            came["refused"] += 1
            return
        assert contents(scratch) == expected, (table, row, column, value)
        came["the same report"] += 1

    cases()
    print({"cells of a journal": examples, "part": part} | came, flush=True)
    return came


@pytest.mark.full
@pytest.mark.parametrize(("examples", "parts"), [(60, 1), pytest.param(500, 10, marks=pytest.mark.long)])
def test_a_value_in_a_cell(
    whole: Path, tmp_path: Path, examples: int, parts: int, cases: Callable[[int], range]
) -> None:
    """In the long form ten parts of 500, each with a seed of its own."""
    for part in cases(parts):
        assert campaign(whole, tmp_path / "scratch", examples, part)["refused"] > examples // 3
