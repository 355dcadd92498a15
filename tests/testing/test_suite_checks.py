"""Suites that load, but that a plan would refuse."""

from __future__ import annotations

import pytest

from rankbench.testing import check_component

SUITE = """
name = "some-suite"
title = "Some suite"
dataset = "web10k-like:queries=30"
[[experiments]]
name = "one"
title = "One"
n = [100]
contenders = [{ use = "random-scores" }]
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("random-scores", "random-scors", "experiment 'one': unknown method 'random-scors'; did you mean"),
        ("[100]", '[100]\nlosses = ["ndgc"]', "experiment 'one': unknown loss 'ndgc'; did you mean 'ndcg'"),
        ("[100]", '[100]\nprotocol = "no-such"', "experiment 'one': unknown protocol 'no-such'"),
        ("web10k-like:queries=30", "web11k", "unknown dataset 'web11k'"),
        # What exists, but does not fit: these passed once.
        ("[100]", '[100]\nprotocol = "own-log"', "experiment 'one': protocol 'own-log' takes "),
        ('"random-scores"', '"random-scores:stream=[1,2]", tune = true', "protocol 'btl' chooses no parameters"),
        (
            '[100]\ncontenders = [{ use = "random-scores" }]',
            '[100]\nprotocol = "aggregation"\nlosses = ["ndcg"]\ncontenders = [{ use = "win-rate" }]',
            "experiment 'one': protocol 'aggregation' has no metric 'ndcg'",
        ),
    ],
)
def test_what_a_plan_would_refuse_fails(old, new, said, tmp_path):
    assert old in SUITE
    path = tmp_path / "some-suite.toml"
    path.write_text(SUITE)
    assert all(result.ok for result in check_component(path))
    path.write_text(SUITE.replace(old, new))
    failed = {result.check: result.reason for result in check_component(path) if not result.ok}
    assert list(failed) == ["names-what-is-there"]
    assert said in failed["names-what-is-there"]
