"""What worker processes are given: every array once, mapped read-only."""

from __future__ import annotations

import numpy as np

from rankbench.protocols.base import Prepared, pack
from rankbench.runner.prepare import protocol_of
from rankbench.runner.share import open_shared, shared


def test_what_sources_share_is_one_file() -> None:
    own_log, items = protocol_of("own-log"), protocol_of("items")
    votes = pack("votes", winners=np.arange(5), losers=np.arange(5))  # equal, but not the same
    more = votes | pack("more", x=np.ones(2))
    sources = [
        Prepared(own_log, None, "ab", {"heldout": ("all",)}, votes, 2.0),
        Prepared(items, None, "ab", {"design": ("a", "b")}, more),
    ]
    with shared(sources) as folder:
        assert len(list(folder.glob("*.npy"))) == 3
        opened = [open_shared(folder, source) for source in range(2)]
        for mine, theirs in zip(sources, opened, strict=True):
            assert (theirs.protocol, theirs.fingerprint, theirs.units) == (mine.protocol, "ab", mine.units)
            assert theirs.scale == mine.scale
            assert list(theirs.arrays) == list(mine.arrays)
            for name, array in mine.arrays.items():
                assert np.array_equal(theirs.arrays[name], array)
                assert not theirs.arrays[name].flags.writeable
