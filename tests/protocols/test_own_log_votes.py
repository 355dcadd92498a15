"""How the votes of one's own log are loaded, kept and handed to workers."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
from competing import executed
from own_logs import Few, Log, suite

from rankbench import api
from rankbench.errors import InputError
from rankbench.interfaces.protocol import Prepared
from rankbench.protocols import cross_validation as own_log
from rankbench.protocols.cross_validation import OwnLog
from rankbench.protocols.items import Items
from rankbench.protocols.log_votes import pack_votes, unpack_votes, votes_of
from rankbench.ranking.votes import Votes


def test_no_votes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no votes"):
        OwnLog().prepare(Log(n=0), 1)


def test_votes_without_a_judge_are_counted(tmp_path: Path) -> None:
    notes = OwnLog().prepare(Few(nameless=12), 1).notes
    assert any("Of 900 votes the log does not say for 12 who judged" in note for note in notes)
    assert any("resampled votes" in note for note in Items().prepare(Few(nameless=12), 1).notes)


def test_names_of_any_length_and_ending_come_back() -> None:
    items = ["", "a", "a\0", "ä\U0001f600", "b" * 500_000]
    one = np.zeros(1, np.int32)
    votes = Votes(items, one, one + 1, np.zeros(1, np.bool_), np.ones(1), None, one, None)
    arrays = pack_votes(votes)
    prepared = Prepared(Items(), None, "", {}, arrays, 1.0)
    assert unpack_votes(prepared).items == items
    assert sum(array.nbytes for array in arrays.values()) < 501_000


def test_votes_are_loaded_once_for_all_protocols_and_counted_once_for_the_items(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scans = []
    scan = Log.scan
    monkeypatch.setattr(Log, "scan", lambda self: scans.append(self.n) or scan(self))
    sources = api.planned(suite(tmp_path), dataset=Log()).sources
    assert len(sources) > 1
    assert scans == [900, 900]
    for name, array in sources[0].arrays.items():
        sharing = [source.arrays[name] for source in sources if name in source.arrays]
        # By groups of its own each, by pairs those that group; the votes all of them.
        assert name.startswith("groups.") or all(other is array for other in sharing)
        assert not name.startswith("votes.") or len(sharing) == len(sources)


def test_votes_are_kept_while_their_data_set_lives_and_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    log, other = Log(n=50), Log(n=60)
    first = votes_of(log)
    assert votes_of(log) is first
    assert len(votes_of(other).votes) == 60  # of the same fingerprint
    again = votes_of(log)
    assert again is not first
    monkeypatch.setattr(Log, "fingerprint", lambda self: "cd" * 32)
    assert votes_of(log).fingerprint == "cd" * 32
    kept = weakref.ref(votes_of(log))
    del log, first, again
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize(("use", "times"), [("win-rate", 0), ("bradley-terry:ridge=[1,2]", 0), ("elo", 1)])
def test_votes_are_unpacked_for_those_alone_who_go_by_their_order(
    use: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked = []
    unpack = own_log.unpack_votes
    monkeypatch.setattr(own_log, "unpack_votes", lambda prepared: unpacked.append(1) or unpack(prepared))
    prepared = OwnLog().prepare(Log(), 1)
    (found,) = executed(prepared, [use], ("log-loss",), n=900).values()
    assert found.status == "done"
    assert len(unpacked) == times


def test_what_workers_map_grows_with_votes_by_bytes_not_by_texts() -> None:
    few, many = (OwnLog().prepare(Log(n=n), 1).arrays for n in (1000, 4000))
    grown = sum(array.nbytes for array in many.values()) - sum(array.nbytes for array in few.values())
    # Winner, loser, group, place in time: 4 bytes each; judge: 8; tie: 1. Groups: at most 5 a vote.
    assert grown <= 3000 * (4 * 4 + 8 + 1 + 5)
