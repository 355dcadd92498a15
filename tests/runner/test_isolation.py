"""What foreign code gets: copies of all that was said, ties included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from runner_blocks import make_block

from rankbench.runner.isolation import lent_block


def test_a_lent_block_is_a_copy_with_its_ties() -> None:
    block = make_block([4, 5], 30)
    ties = np.arange(30) % 3 == 0
    block = replace(block, comparisons=replace(block.comparisons, ties=ties))
    lent = lent_block(block).comparisons
    assert lent.ties is not None
    for name in ("offsets", "winners", "losers", "weights", "ties"):
        mine, theirs = getattr(block.comparisons, name), getattr(lent, name)
        assert np.array_equal(mine, theirs)
        assert not np.shares_memory(mine, theirs)
    assert lent_block(make_block([4], 5)).comparisons.ties is None
