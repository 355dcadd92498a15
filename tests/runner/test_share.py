"""What worker processes are given: every array once, mapped read-only."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import ClassVar

import competing
import numpy as np
import polars as pl
import pytest
from small_suites import suite_text

import rankbench
from rankbench import api
from rankbench.data.simulators.cascade_clicks import CascadeClicks
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.cell import BlockKey
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask, Prepared, pack
from rankbench.runner.blocks import place_tasks
from rankbench.runner.prepare import open_shared, protocol_of, shared, spec_of
from rankbench.runner.question import RunQuestion


def test_what_sources_share_is_written_once() -> None:
    own_log, items = protocol_of("own-log"), protocol_of("items")
    votes = pack("votes", winners=np.arange(5), losers=np.arange(5))  # equal, but not the same
    more = votes | pack("more", x=np.ones(2))
    sources = [
        Prepared(own_log, None, "ab", {"heldout": ("all",)}, votes, 2.0),
        Prepared(items, None, "ab", {"design": ("a", "b")}, more),
    ]
    big = np.zeros(100_000)
    with shared([replace(one, arrays=one.arrays | {"big": big}) for one in sources]) as file:
        assert big.nbytes < file.stat().st_size < 2 * big.nbytes
    with shared(sources) as file:
        for place, mine in enumerate(sources):
            theirs = open_shared(file, place)
            assert (theirs.protocol, list(theirs.arrays)) == (mine.protocol, list(mine.arrays))
            assert not any(array.flags.writeable for array in theirs.arrays.values())


def test_the_copy_of_a_worker_is_whole() -> None:
    """Of fields that a later version adds, too: each has another value than its default here."""
    data = rankbench.get(rankbench.Dataset, "web10k-like:queries=2,features=9")
    made = Prepared(
        protocol=protocol_of("btl:design=3"),
        dataset=data,
        fingerprint="cd",
        units={"design": ("a", "b"), "heldout": ("c",)},
        arrays=pack("x", one=np.arange(3.0)),
        scale=2.5,
        notes=("Something.", "Something else."),
        splits={"design": "Those of the draw", "heldout": "The others"},
        test_share=0.125,
        metrics=(Metric("regret", low=0, chance=0.5, words={1.0: "one"}),),
        pool=70,
        fixed=np.int64(4),
        unused=("three clicks",),
        reduced=("half of the votes",),
    )
    plain = Prepared(made.protocol, None, "", {})
    with shared([made]) as file:
        copy = open_shared(file, 0)
    for field in fields(Prepared):
        mine, theirs = getattr(made, field.name), getattr(copy, field.name)
        if field.name == "arrays":
            assert list(mine) == list(theirs)
            assert all(np.array_equal(mine[name], theirs[name]) for name in mine)
            continue
        assert mine != getattr(plain, field.name) or field.name == "protocol", f"give {field.name} a value here"
        assert theirs == mine, field.name
        if isinstance(mine, tuple | str | float | Mapping):
            assert type(theirs) is type(mine), field.name


def test_arrays_come_back_as_they_were() -> None:
    arrays = {
        "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "rows": np.arange(6, dtype=np.int8).reshape(3, 2),
        "texts": np.array(["a", "é"]),
        "none": np.empty((0, 4), np.float32),
        "flags": np.array([True, False]),
        "one": np.array(2.5),
    }
    with shared([Prepared(protocol_of("btl"), None, "", {}, arrays)]) as file:
        copy = open_shared(file, 0).arrays
    for name, array in arrays.items():
        assert type(copy[name]) is np.ndarray
        assert (copy[name].dtype, copy[name].shape) == (array.dtype, array.shape)
        assert copy[name].tobytes() == array.tobytes()
        assert copy[name].flags.f_contiguous == array.flags.f_contiguous
        assert copy[name].ctypes.data % 64 == 0


class OwnClicks(CascadeClicks):
    """A population that no plugin registers."""

    name: ClassVar[str] = "own-clicks-object"


CLICKS = suite_text(
    'use = "click-through-rate"', name="clicks", protocol="selection", dataset="cascade-clicks:queries=4", repetitions=2
)


def test_a_population_that_is_an_object_is_asked_in_one_process_whatever_the_workers(tmp_path: Path) -> None:
    (tmp_path / "clicks.toml").write_text(CLICKS)
    own = OwnClicks(queries=4, items=6, shown=5)
    assert not spec_of(own)
    tables = []
    for workers in (1, 2):
        found = rankbench.run(str(tmp_path / "clicks.toml"), dataset=own, workers=workers, out=tmp_path / str(workers))
        assert not found.failures
        tables.append((tmp_path / str(workers) / "leaderboard.csv").read_bytes())
    assert tables[0] == tables[1]


def test_a_plugins_contender_cannot_ask_an_object_of_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankbench.runner import blocks

    own = OwnClicks(queries=4, items=6, shown=5)
    protocol = protocol_of("selection")
    task = BlockTask(BlockKey("selection", "", 1, 0, 0), 0, (), competing.cells(Aggregator, {"1": "borda", "2": "elo"}))
    monkeypatch.setattr(blocks, "third_party_distributions", lambda part: {"them"} if part.name == "borda" else set())
    here, in_workers, (result,) = place_tasks([task], [Prepared(protocol, own, "", {})])
    assert [list(part.cells) for part in here] == [["2"]]
    assert not in_workers
    assert [(cell.cell, cell.status) for cell in result.cells] == [("1", "error")]
    assert "Register it" in result.cells[0].reason


def test_while_blocks_run_this_process_holds_no_copy_of_what_is_shared() -> None:
    log = pack("votes", winners=np.arange(1000), losers=np.arange(1000))
    sources = [Prepared(protocol_of(name), None, "", {}, dict(log)) for name in ("own-log", "items")]
    held = [weakref.ref(array) for array in log.values()]
    del log
    with shared(sources):
        gc.collect()
        assert [one() for one in held] == [None, None]
        for one in sources:
            assert np.array_equal(one.arrays["votes.losers"], np.arange(1000))
            assert not one.arrays["votes.losers"].flags.writeable
            assert not one.arrays["votes.losers"].flags.owndata
    assert sources[1].arrays["votes.winners"].sum() == 499500


def test_what_was_loaded_is_not_kept_once_a_suite_is_prepared(tmp_path: Path) -> None:
    votes = pl.DataFrame({"winner": ["a", "b", "c", "a"] * 50, "loser": ["b", "c", "a", "c"] * 50})
    votes.with_columns(judge=pl.int_range(pl.len()) % 20).write_csv(tmp_path / "votes.csv")
    suite = tmp_path / "suite.toml"
    losses = 'losses = ["log-loss"]'
    suite.write_text(suite_text('use = "win-rate"', protocol="own-log", dataset="", n="[1]", more=losses))
    log = rankbench.log_file(tmp_path / "votes.csv")
    (source,) = api.planned(str(suite), RunQuestion(dataset=log)).sources
    held = weakref.ref(source.arrays["votes.winners"])
    del source
    gc.collect()
    assert held() is None
