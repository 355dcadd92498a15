"""Which code is foreign, and what it gets: copies of all that was said, ties included."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_blocks import make_block

import rankbench
from rankbench.methods.erm.erm import ERM
from rankbench.plugin import manager
from rankbench.plugin.registry import Origin
from rankbench.protocols.isolation import disposable_block, is_ours, strangers


def test_a_lent_block_is_a_copy_with_its_ties() -> None:
    block = make_block([4, 5], 30)
    ties = np.arange(30) % 3 == 0
    block = replace(block, comparisons=replace(block.comparisons, ties=ties))
    lent = disposable_block(block).comparisons
    assert lent.ties is not None
    for name in ("offsets", "winners", "losers", "weights", "ties"):
        mine, theirs = getattr(block.comparisons, name), getattr(lent, name)
        assert np.array_equal(mine, theirs)
        assert not np.shares_memory(mine, theirs)
    assert disposable_block(make_block([4], 5)).comparisons.ties is None


def test_ours_is_what_our_distribution_registered_whatever_a_class_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_ours(rankbench.get(rankbench.Method, "erm"))
    assert is_ours(rankbench.get(rankbench.Loss, "ndcg"))

    class Own(ERM):
        """Of a script."""

    assert strangers(Own()) == {__name__.partition(".")[0]}
    for module in ("rankbench.methods.erm.erm", "rankbench.nowhere"):
        lying = type("Lying", (ERM,), {"__module__": module})
        assert not is_ours(lying())
        registry = manager.plugins().registry
        monkeypatch.setitem(registry._origins, id(lying), Origin("other", "1", "other"))
        assert strangers(lying()) == {"other"}
