"""A part of a suite is computed alone, to the bytes of the whole."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner
from data_files import written

import rankbench
from rankbench import api
from rankbench.cli import main
from rankbench.errors import SpecError
from rankbench.runner.question import RunQuestion

SUITE = """
name = "two"
title = "Two"
dataset = "web10k-like:queries=24,features=8"
protocol = "btl:design=10,heldout=10"

[[experiments]]
name = "orders"
title = "Orders"
repetitions = 2
n = [100, 200]
baseline = "k=1"
contenders = [{ label = "k={k}", use = "erm:k=[1,5,inf],draws=200" }, { label = "random", use = "random-scores" }]

[[experiments.claims]]
id = "C1"
text = "More is better."
kind = "less"
contrasts = [{ a = "k=5", b = "k=1" }]

[[experiments]]
name = "populations"
title = "Populations"
protocol = "repair:populations=2"
losses = ["excess"]
n = [50]
contenders = [{ label = "random", use = "random-scores" }]
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, pl.DataFrame]:
    """Return a suite and all of its rows."""
    folder = tmp_path_factory.mktemp("whole")
    suite = str(written(folder / "two.toml", SUITE))
    return suite, rankbench.run(suite, out=folder / "out").rows


@pytest.mark.full
@pytest.mark.parametrize(
    ("only", "n", "taken"),
    [
        (["orders/k=5"], [], lambda experiment, label, n: label == "k=5"),
        (
            ["orders/k=*", "populations"],
            [],
            lambda experiment, label, n: experiment == "populations" or label != "random",
        ),
        (["*/random"], [200], lambda experiment, label, n: label == "random" and n == 200),
        ([], [50, 100], lambda experiment, label, n: n in (50, 100)),
        (["populations"], [], lambda experiment, label, n: experiment == "populations"),
    ],
)
def test_what_is_selected_has_the_bytes_of_the_whole(whole, only, n, taken, tmp_path: Path) -> None:
    suite, everything = whole
    found = rankbench.run(suite, only=only, n=n, out=tmp_path / "out")
    chosen = [taken(*place) for place in everything.select("experiment", "contender", "n").iter_rows()]
    assert 0 < sum(chosen) < everything.height
    assert found.rows.write_ndjson() == everything.filter(pl.Series(chosen)).write_ndjson()
    if found.claims.height:
        assert {*found.claims["verdict"]} == {"could not tell"} or "k=1" in {*found.leaderboard["contender"]}


def test_parts_of_a_suite_share_a_folder_with_the_whole(whole, tmp_path: Path) -> None:
    suite, everything = whole
    for only in (["populations"], ["orders/random"], []):
        found = rankbench.run(suite, only=only, out=tmp_path / "out")
    assert found.rows.write_ndjson() == everything.write_ndjson()
    computed = pl.read_json(tmp_path / "out" / "run.json")["blocks"].struct.unnest().row(0, named=True)
    assert computed["computed"] == 4  # the blocks of `orders`, without a contender


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--only", "order"], "--only order: suite 'two' has no such experiment; did you mean 'orders'?"),
        (["--only", "orders/k=6"], "--only orders/k=6: suite 'two' has no such contender; did you mean 'orders/k="),
        (["--n", "300"], "--n 300: no such n; suite 'two' has 50, 100, 200"),
        (["--only", "populations", "--n", "200"], "--n 200: no such n; suite 'two' has 50"),
        (["--suite", "graded", "--n", "300"], "--n 300: no such n; suite 'graded' takes all judgments; leave it out"),
        (
            ["--only", "orders/random", "--with", "random-scores:stream=3"],
            "--only leaves out all that --with adds; select it too: --only orders/random-scores:stream=3",
        ),
    ],
)
def test_what_is_not_there_cannot_be_selected(whole, options: list[str], said: str) -> None:
    shown = CliRunner().invoke(main, ["run", "--suite", whole[0], *options])
    assert shown.exit_code == 2
    assert re.sub(r"\s+", " ", said) in re.sub(r"\s+", " ", shown.output)


@pytest.mark.full
def test_data_of_other_experiments_are_not_prepared(tmp_path: Path) -> None:
    """Nor need they be there."""
    text = SUITE.replace('dataset = "web', 'dataset = "mq2008"\n#', 1)
    made = api.planned(str(written(tmp_path / "two.toml", text)), RunQuestion(only=["populations"]))
    assert [str(source.protocol) for source in made.sources] == ["repair:populations=2"]
    text = text.replace('"random-scores" }]', '"random-scores", n = [100] }]', 1)
    with pytest.raises(SpecError, match="no contender of suite 'two' that only= names has an n"):
        api.planned(
            str(written(tmp_path / "two.toml", text)),
            RunQuestion(only=["orders/random"], n=[200], dataset="web10k-like"),
        )
