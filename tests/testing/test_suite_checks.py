"""Suites that load, but that a plan would refuse."""

from __future__ import annotations

import pytest

from rankbench import api
from rankbench.errors import SpecError
from rankbench.testing.check import check_component

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


def figure(said: str) -> tuple[str, str]:
    """Return what is replaced in the suite, and by what, so that it has a figure."""
    return "[100]", f'[100]\nfigures = [{{ file = "drawn", {said} }}]'


def claim(said: str) -> tuple[str, str]:
    """Return what is replaced in the suite, and by what, so that it has a claim."""
    return "[100]", f'[100]\nclaims = [{{ id = "A", text = "a", kind = "less", contrasts = [{{ {said} }}] }}]'


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
        # What results are shown as: these passed, or were refused when all was computed.
        ("[100]", '[100]\nbaseline = "nobody"', "no contender is labelled 'nobody'"),
        ("[100]", '[100]\noracles = ["nob*"]', "no contender is labelled 'nob*'"),
        ("[100]", '[100]\nlosses = ["ndcg:cutoff=10", "ndcg:cutoff=10"]', "'ndcg:cutoff=10' is named twice"),
        ("[100]", '[100]\nconfirmed_by = ["two"]', "experiment 'one': confirmed_by: there is no experiment 'two'"),
        ('"random-scores"', '"random-scores", n = [200]', "a contender asks for n = 200"),
        ('{ use = "random-scores" }', '{ use = "erm" }, { use = "erm" }', "two contenders are labelled 'erm'"),
        (*figure('kind = "growth", series = ["nobody"]'), "no contender is labelled 'nobody'"),
        (*figure('kind = "growth", series = ["*"], metrics = ["err"]'), "the experiment does not compute 'err'"),
        (*figure('kind = "dots", metrics = ["err"]'), "figure 'drawn': the experiment does not compute 'err'"),
        (*figure('kind = "dots", against = "nobody"'), "no contender is labelled 'nobody'"),
        (*figure('kind = "risk", parameter = "lambda"'), "no contender has a number as parameter 'lambda'"),
        (
            *figure('kind = "curves", metrics = ["gap"], panels = [{ series = ["*"], n = [200] }]'),
            "a panel is of n = 200, which is not one of the experiment's n",
        ),
        (*claim('a = "nobody", b = "random-scores"'), "no contender is labelled 'nobody'"),
        (*claim('a = "random-scores", b = "random-scores", n_a = 100, n_b = 200'), "claim 'A' is about n = 200"),
        (*claim('a = "random-scores", b = "random-scores"'), "claim 'A' compares 'random-scores' with itself"),
    ],
)
def test_what_a_plan_would_refuse_fails(old, new, said, tmp_path):
    """The check, the plan and so the run say one thing, before data are read."""
    assert old in SUITE
    path = tmp_path / "some-suite.toml"
    path.write_text(SUITE)
    assert all(result.ok for result in check_component(path))
    path.write_text(SUITE.replace(old, new))
    failed = {result.check: result.reason for result in check_component(path) if not result.ok}
    assert "names-what-is-there" in failed
    assert said in failed["names-what-is-there"]
    with pytest.raises(SpecError) as caught:
        api.planned(str(path))
    assert said in str(caught.value)
