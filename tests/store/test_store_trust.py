"""The journal: nothing lost, nothing trusted."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import synthetic
from amounts import part_of
from small_journals import KEY, begin, done, member

from rankbench.errors import StoreError
from rankbench.interfaces.cell import BlockResult, Curve
from rankbench.store.journal import FILE, Journal
from rankbench.store.store import LOCK, Store


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Return the folder of a journal with one block, whose cell has a curve."""
    curve = Curve(np.array([1, 10]), np.array([0.1, 0.2]))
    with Store(tmp_path) as store:
        begin(store, member("c"))
        store.commit(BlockResult(KEY, [done("c", curves={"gap": curve})], 1.0))
    return tmp_path


def change(folder: Path, *statements: str) -> None:
    """Change a journal as nobody should."""
    with closing(sqlite3.connect(folder / FILE)) as connection, connection:
        assert any([connection.execute(statement).rowcount for statement in statements])


def test_locked_for_others_in_this_process_and_in_another(tmp_path: Path) -> None:
    code = f"from rankbench.store.store import Store; Store({str(tmp_path)!r})"
    with Store(tmp_path):
        with pytest.raises(StoreError, match="another run"):
            Store(tmp_path)
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "another run is writing here" in other.stderr
    Store(tmp_path).close()
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_reader_does_not_need_the_lock(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        begin(store, member("c"))
        with Journal(tmp_path) as journal:
            store.commit(BlockResult(KEY, [done("c")], 1.0))
            assert journal.progress() == (0, 1)  # it is of the moment when it was opened
            assert journal.losses("c", "ndcg", "design") is None
        with Journal(tmp_path) as journal:
            assert journal.progress() == (1, 1)


def test_no_journal(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no journal"):
        Journal(tmp_path)
    assert not list(tmp_path.iterdir())
    with Store(tmp_path) as store, pytest.raises(StoreError, match="empty"):
        store.record()


def test_not_a_database(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"certainly no SQLite file\n" * 100)
    with pytest.raises(StoreError, match="move it away"):
        Store(tmp_path)
    assert (tmp_path / FILE).read_bytes().startswith(b"certainly")
    with pytest.raises(StoreError):  # the lock was released: the same error again
        Store(tmp_path)


def test_somebody_elses_database(tmp_path: Path) -> None:
    change(tmp_path, "CREATE TABLE theirs (x)")
    with pytest.raises(StoreError, match="not a journal of rankbench"):
        Store(tmp_path)


@pytest.mark.parametrize(
    ("named", "statement"),
    [
        ("blocks", "UPDATE losses SET data = zeroblob(length(data)) WHERE split = 'heldout'"),
        ("blocks", "UPDATE cells SET status = 'diverged'"),
        ("blocks", "DELETE FROM losses WHERE split = 'design'"),
        ("blocks", "UPDATE blocks SET repetition = 3"),
        ("suite", "UPDATE members SET spec = 'erm:draws=5100'"),
        ("suite", "DELETE FROM members"),
        ("suite", "UPDATE head SET plan = digest"),
        ("head", "UPDATE head SET digest = plan"),
        ("head", "UPDATE head SET blocks = 2"),
    ],
)
def test_whatever_changed_is_detected(kept: Path, named: str, statement: str) -> None:
    change(kept, statement)
    for opened in (Store, Journal):
        with pytest.raises(StoreError, match=rf"{FILE}: table {named}: .*digest differs.*run again"):
            opened(kept)


@pytest.mark.parametrize("lost", ["suite", "head"])
def test_a_lost_row_is_detected(tmp_path: Path, lost: str) -> None:
    synthetic.write(tmp_path, [synthetic.small()])
    change(tmp_path, f"DELETE FROM {lost}")
    for opened in (Store, Journal):
        with pytest.raises(StoreError, match=f"table {lost}: it has 0 rows, not one"):
            opened(tmp_path)


def test_the_last_blocks_are_missed(tmp_path: Path) -> None:
    """All rows of a block and the block itself are gone: what is left agrees with itself."""
    synthetic.write(tmp_path, [synthetic.small()])
    change(
        tmp_path,
        *(
            f"DELETE FROM {table} WHERE block = (SELECT max(block) FROM blocks)"
            for table in ("cells", "losses", "curves", "blocks")
        ),
    )
    with pytest.raises(StoreError, match="table head: it says that there are 12 blocks, and there are 11"):
        Journal(tmp_path)


def test_what_is_read_is_looked_at_again(kept: Path) -> None:
    with Journal(kept) as journal:
        change(kept, "UPDATE losses SET data = zeroblob(length(data)), metric = 'err'", "DELETE FROM curves")
        with pytest.raises(StoreError, match="table losses: row 1 is not what was stored: its digest differs"):
            journal.losses("c", "ndcg", "design")
        with pytest.raises(StoreError, match="table curves: row 1 is not what was stored"):
            journal.curves("c")


@pytest.mark.parametrize(
    "added",
    [
        "INSERT INTO cells VALUES (99, 'd', 'done', '', '', 0.0, '{}')",
        "INSERT INTO losses SELECT 99, cell, metric, split, zeroblob(length(data)) FROM losses",
        "INSERT INTO curves SELECT 99, cell, metric, steps, data FROM curves",
        "DELETE FROM blocks",
    ],
)
def test_rows_without_their_block_are_detected(kept: Path, added: str) -> None:
    change(kept, added)
    for opened in (Store, Journal):
        with pytest.raises(StoreError, match="and the block is not; the journal is damaged"):
            opened(kept)


def test_damage_outside_of_rows_is_an_error_that_says_to_run_again(tmp_path: Path) -> None:
    """All rows are whole; but where the file has room left it says what cannot be."""
    synthetic.write(tmp_path, [synthetic.small()])
    change(tmp_path, "CREATE TABLE more (x)", "INSERT INTO more VALUES (zeroblob(100000))", "DROP TABLE more")
    data = bytearray((tmp_path / FILE).read_bytes())
    data[36:40] = (1).to_bytes(4, "big")  # the number of free pages
    (tmp_path / FILE).write_bytes(bytes(data))
    for opened in (Store, Journal):
        with pytest.raises(StoreError, match=rf"{FILE}: outside of the tables' rows: .*move it away .* run again"):
            opened(tmp_path)
    assert (tmp_path / FILE).read_bytes() == data


WRITER = """
import sys
sys.path[:0] = {tests!r}
import test_store as t
from rankbench.interfaces.cell import BlockKey, BlockResult
from rankbench.store.store import LOCK, Store
with Store({folder!r}) as store:
    t.begin(store, *[t.member(f"{{i}}-{{j}}", f"{{i}}-{{j}}") for i in range(5000) for j in range(3)])
    for i in range(5000):
        cells = [t.done(f"{{i}}-{{j}}", i / 5000) for j in range(3)]
        store.commit(BlockResult(BlockKey("btl", "web10k-like", 100, i, 7), cells, 0.0))
        print(i, flush=True)
"""


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a POSIX thing")
@pytest.mark.parametrize("blocks", part_of([5, 60, 200]))
def test_kill_9_loses_at_most_the_block_in_flight(tmp_path: Path, blocks: int) -> None:
    code = WRITER.format(tests=[str(folder) for folder in Path(__file__).parents[:2]], folder=str(tmp_path))
    writer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    for _ in range(blocks):
        writer.stdout.readline()
    writer.send_signal(signal.SIGKILL)
    reported = [line for line in writer.stdout.read().split("\n") if line]
    writer.wait()
    last = int(reported[-1]) if reported else blocks - 1
    with Store(tmp_path) as store:  # the lock died with its holder; every digest holds
        cells = {int(cell.split("-")[0]) for cell in store.cells()}
        assert set(range(last + 1)) <= cells <= set(range(last + 2))
        assert len(store.cells()) == 3 * len(cells)
        store.commit(BlockResult(KEY, [done("new")], 0.0))


@pytest.mark.parametrize("name", ["leaderboard.md", "run.json", "figures/mine.png"])
def test_files_of_a_folder_that_was_no_run_s_are_not_written_over(tmp_path: Path, name: str) -> None:
    own = tmp_path / "out" / name
    own.parent.mkdir(parents=True)
    own.write_bytes(b"mine")
    (tmp_path / "out" / "notes.txt").write_bytes(b"mine too")
    with pytest.raises(StoreError, match=rf"no journal of a run.*{name}, which would be lost"):
        Store(tmp_path / "out")
    assert own.read_bytes() == b"mine"
    assert not (tmp_path / "out" / LOCK).exists()
    own.unlink()
    Store(tmp_path / "out").close()
    own.write_bytes(b"of the run")
    Store(tmp_path / "out").close()


def test_a_folder_that_is_removed_while_a_run_writes(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with Store(folder) as store:
        begin(store, member("c"))
        shutil.rmtree(folder)
        with pytest.raises(StoreError, match=r"it is gone: its folder was removed or moved") as said:
            store.commit(BlockResult(KEY, [done("c")], 1.0))
        assert "kept" not in str(said.value)


def test_a_disk_that_gets_full_is_told(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
        store.connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match=r"database or disk is full; check the disk .* run again .*is kept\)"):
            begin(store, member("c" * 1_000_000))
