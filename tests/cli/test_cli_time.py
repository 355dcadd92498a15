"""``rankbench time``: one version beside the reference, and what cannot be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rankbench.store.timings import read_timings

SUITE = """
name = "tiny"
title = "A suite of milliseconds"
seed = 1
dataset = "web10k-like:queries=60"
protocol = "btl:design=20,heldout=20"

[[experiments]]
name = "e"
title = "Small"
n = [200, 400]
repetitions = 3
losses = ["ndcg"]

[[experiments.contenders]]
label = "k={k}"
use = "erm:aggregator=mean-log-odds,k=[1,inf],surrogate=regression,optimizer=exact,lambda=1e-3,draws=100"

[[experiments.contenders]]
label = "diverges"
use = "erm:aggregator=mean-log-odds,k=1,surrogate=regression,optimizer=composite(c=1e300),draws=100"
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("suite") / "tiny.toml"
    path.write_text(SUITE)
    return path


def test_one_version_is_shown_beside_the_reference(suite: Path, rankbench, tmp_path: Path) -> None:
    arguments = ("time", str(suite), "--rounds", "2", "--only", "e/k=1", "--n", "400", "--out", str(tmp_path))
    shown = rankbench(*arguments, "--format", "json")
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    assert [row["contender"] for row in found["times"]] == ["k=1"]
    row = found["times"][0]
    assert row["where"] == "e, n = 400"
    assert 0 < row["seconds"] < row["first"]
    assert row["ratio"] > 0
    assert row["lower"] is None  # one launch shows no interval
    assert [cell.n for cell in read_timings(tmp_path).seconds] == [400]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("demo", "--budget", "soon"), "no time"),
        (("demo", "--precision", "0"), "precision"),
        (("demo", "--against", "no-such-ref-anywhere"), "no Python that can be run"),
        (("demo", "--against", "/bin/false"), "ended with exit code 1"),
    ],
)
def test_what_cannot_be_used_is_2(arguments: tuple[str, ...], said: str, rankbench) -> None:
    shown = rankbench("time", *arguments)
    assert shown.exit_code == 2
    assert said in shown.stderr
