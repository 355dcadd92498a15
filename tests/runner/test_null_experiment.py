"""Equal contenders through the whole program: how often it calls them different."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from amounts import trials
from small_suites import suite_text

import rankbench


@pytest.mark.full
def test_nobody_declares_equal_contenders_different(tmp_path: Path) -> None:
    """Two contenders of one law, under different names, through the whole program."""
    claim = '{ id = "N", text = "They differ.", kind = "less", contrasts = [{ a = "one", b = "two" }] }'
    both = ('label = "one", use = "random-scores:stream=1"', 'label = "two", use = "random-scores:stream=2"')
    data = "web10k-like:queries=64,features=8,seed={seed}"
    protocol = "btl:design=30,heldout=30"
    text = suite_text(*both, protocol=protocol, dataset=data, n="[60]", repetitions=4, more=f"claims = [{claim}]")
    seeds, declared, ranked = trials(200), 0, 0
    for seed in range(seeds):
        (tmp_path / "null.toml").write_text(f"seed = {seed}\n" + text.replace("{seed}", str(seed)))
        results = rankbench.run(str(tmp_path / "null.toml"), out=tmp_path / f"{seed}")
        held = results.claims.filter(split="heldout")
        declared += held["verdict"][0] != "could not tell"
        board = results.leaderboard.filter(split="heldout", metric="ndcg")
        # Equal ones have no order, so any may be the true one. A range that begins with 2 leaves out the best.
        place = {row["contender"]: (row["rank_low"], row["rank_high"]) for row in board.to_dicts()}
        ranked += place["one"][0] != 1 or place["two"][1] != 2
    # 5% and three binomial standard deviations.
    allowed = 0.05 * seeds + 3 * np.sqrt(seeds * 0.05 * 0.95)
    assert declared <= allowed
    assert ranked <= allowed
