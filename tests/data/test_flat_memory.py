"""Memory of scanning, partitioning and counting a log does not grow with its rows: from a million to a hundred million.

Each step runs in a fresh process, which looks at its own anonymous memory every 10 ms; pages of mapped files are the
system's cache, and are not counted. The longer logs are the short one over and over: as many items and queries, more
rows.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROWS = 1_000_000
ITEMS, QUERIES, JUDGES = 300, 20_000, 500
NEEDED = 12 << 30
"""Bytes on disk for a hundred million rows: the log, its pieces on their way to shards, and the shards."""

MOST = 1000.0
"""MB at most, of any number of rows, as `convert` promises. A million rows do not fill the buffers, and take less."""

A_BYTE_A_ROW = 90.0
"""MB that a hundred million rows may take more than ten million: whatever is kept of each of them takes more."""

OPENED = 5
"""Million rows of a log that is opened, and not read."""

STEPS = {
    "open": """
import rankbench
assert rankbench.scan(log).collect_schema().names()[0] == "query_id"
""",
    "scan": """
import polars, rankbench
found = rankbench.scan(log).filter(polars.col("winner") != "x").select(polars.len())
assert found.collect(engine="streaming").item() == rows
""",
    "aggregate": """
import rankbench
found = rankbench.aggregate(log, "win-rate")
assert len(found.table) == items
""",
    "partition": """
from rankbench.data.convert import convert
made = convert(pathlib.Path(log), pathlib.Path(out), shards=rows // 1_000_000)
assert made.rows == rows
""",
    "shards": """
import rankbench
found = rankbench.aggregate(out, "win-rate")
assert len(found.table) == items
""",
}

WATCHED = """
import pathlib, re, threading, time

log, out, rows, items = {log!r}, {out!r}, {rows}, {items}
status, peak, ended = pathlib.Path("/proc/self/status"), [0], threading.Event()

def own():
    return int(re.search(r"RssAnon:\\s+(\\d+) kB", status.read_text())[1])

def watch():
    while not ended.wait(0.01):
        peak[0] = max(peak[0], own())

import numpy, polars, scipy.sparse, rankbench.data.convert, rankbench.ranking.aggregate
polars.select(polars.int_range(1000)).lazy().sort("literal").collect(engine="streaming")
before = own()
watching = threading.Thread(target=watch)
watching.start()
{step}
ended.set()
watching.join()
print((max(peak[0], own()) - before) / 1000)
"""


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("flat")
    rng = np.random.default_rng(7)
    a = rng.integers(0, ITEMS, ROWS)
    b = (a + rng.integers(1, ITEMS, ROWS)) % ITEMS
    item = pl.Series([f"item-{i:04d}" for i in range(ITEMS)])
    pl.DataFrame(
        {
            "query_id": pl.Series([f"query-{q}" for q in range(QUERIES)]).gather(rng.integers(0, QUERIES, ROWS)),
            "winner": item.gather(a),
            "loser": item.gather(b),
            "judge": pl.Series([f"judge-{j}" for j in range(JUDGES)]).gather(rng.integers(0, JUDGES, ROWS)),
        }
    ).write_parquet(folder / "log.parquet")
    yield folder / "log.parquet"
    shutil.rmtree(folder)


def taken(step: str, log: Path, rows: int) -> float:
    """Return the MB that a step took beyond what the libraries take, in a process of its own."""
    code = WATCHED.format(
        log=str(log), out=str(log.with_name(f"shards-{rows}")), rows=rows, items=ITEMS, step=STEPS[step]
    )
    # Polars' allocator keeps what is free for ten seconds: what is held is asked for, not how fast it came and went.
    kept = {"_RJEM_MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | kept)
    assert done.returncode == 0, done.stderr
    return float(done.stdout.split()[-1])


def repeated(short: Path, times: int) -> Path:
    """Write the log some times over."""
    log = short.with_name(f"log-{times}.parquet")
    pl.concat([pl.scan_parquet(short)] * times).sink_parquet(log, row_group_size=250_000)
    return log


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory is read from /proc")
def test_opening_a_log_holds_no_column_of_it(short: Path) -> None:
    """A column of texts takes 16 bytes a row."""
    log = repeated(short, OPENED)
    assert taken("open", log, OPENED * ROWS) < 8 * OPENED
    log.unlink()


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="memory is read from /proc")
def test_memory_is_flat_from_a_million_rows_to_a_hundred_million(short: Path) -> None:
    room = shutil.disk_usage(short.parent).free
    times = [1, 10, 100] if room > NEEDED else [1, 10]
    peaks: dict[str, list[float]] = {step: [] for step in STEPS}
    for k in times:
        log = repeated(short, k)
        for step, found in peaks.items():
            found.append(taken(step, log, k * ROWS))
            print(f"{k * ROWS:,} rows, {step}: {found[-1]:.0f} MB", flush=True)
        log.unlink()
        shutil.rmtree(log.with_name(f"shards-{k * ROWS}"))
    assert len(times) == 3, f"only {room >> 30} GB of disk: a hundred million rows were not looked at"
    for step, (_, ten, hundred) in peaks.items():
        assert max(peaks[step]) < MOST, (step, peaks[step])
        assert hundred - ten < A_BYTE_A_ROW, (step, peaks[step])
