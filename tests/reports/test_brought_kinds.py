"""A plugin whose suite has a kind of claim and a kind of figure of its own, from installation to the leaderboard."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from rankbench.errors import SpecError
from rankbench.scaffold import write_plugin
from rankbench.suites.suite_files import load_suite

SUITE = """
name = "brought"
title = "Brought"
dataset = "web10k-like:queries=60,features=8"
protocol = "btl:design=30,heldout=30"

[[experiments]]
name = "one"
title = "One"
n = [300, 3000]
repetitions = 5
losses = ["ndcg"]

[[experiments.contenders]]
label = "aggregated"
use = "erm:aggregator=mean-log-odds,k=inf,surrogate=regression,optimizer=exact"

[[experiments.contenders]]
label = "random"
use = "random-scores"

[[experiments.claims]]
id = "C1"
text = "Aggregated scores have less than the loss of random ones"
kind = "brought-claim"
share = 1.0
contrasts = [{ a = "aggregated", b = "random", at = "last" }]

[[experiments.claims]]
id = "C2"
text = "Random scores have less than a tenth of the loss of aggregated ones"
kind = "brought-claim"
share = 0.1
contrasts = [{ a = "random", b = "aggregated", at = "last" }]

[[experiments.figures]]
file = "distances"
kind = "brought-figure"
series = ["*"]
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install a distribution with both kinds and the suite, made of the two templates."""
    made, folder = tmp_path_factory.mktemp("made"), tmp_path_factory.mktemp("site")
    package = folder / "brought"
    package.mkdir()
    for kind in ("claim", "figure"):
        written = write_plugin(f"brought-{kind}", kind, made) / f"brought_{kind}" / f"{kind}.py"
        (package / f"{kind}.py").write_text(written.read_text(encoding="utf-8"), encoding="utf-8")
    (package / "brought.toml").write_text(SUITE, encoding="utf-8")
    (package / "__init__.py").write_text(
        "from pathlib import Path\nimport rankbench\nfrom brought.claim import BroughtClaim\n"
        "from brought.figure import BroughtFigure\n\n\n@rankbench.hookimpl\ndef rankbench_register():\n"
        '    return [BroughtClaim, BroughtFigure, Path(__file__).with_name("brought.toml")]\n'
    )
    info = folder / "brought-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[rankbench]\nbrought = brought\n")
    return folder


PROGRAM = """
import json, sys
from click.testing import CliRunner
from rankbench.cli import main
for arguments in json.loads(sys.argv[1]):
    done = CliRunner().invoke(main, arguments, catch_exceptions=False)
    print(json.dumps([done.exit_code, done.stdout, done.stderr]))
"""


def rankbench(site: Path, *commands: list[str], cwd: Path | None = None) -> list[tuple[int, str, str]]:
    """Return the exit code, output and errors of commands, all of them in one process that has the distribution."""
    shown = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)], cwd=cwd, env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stdout + shown.stderr
    return [tuple(json.loads(line)) for line in shown.stdout.splitlines()]


def test_it_is_listed_and_described(site: Path) -> None:
    listed, claim, figure, check = rankbench(
        site, ["list", "claims", "--json"], ["info", "brought-claim"], ["info", "brought-figure"], ["check", "brought"]
    )
    assert [one["name"] for one in json.loads(listed[1])["claim"]] == [
        *("brought-claim", "coincide", "equivalent", "less", "wider")
    ]
    assert "share" in claim[1]
    assert "distances from the best" in figure[1].lower()
    assert [found[0] for found in (listed, claim, figure, check)] == [0] * 4, check


def test_it_runs_from_plan_to_leaderboard(site: Path, tmp_path: Path) -> None:
    arguments = ["run", "--suite", "brought", "--workers", "1", "--out", "out"]
    ((code, shown, said),) = rankbench(site, arguments, cwd=tmp_path)
    assert code == 0, shown + said
    assert "C1" in shown
    page = (tmp_path / "out" / "leaderboard.md").read_text(encoding="utf-8")
    assert "Ratios of mean losses, first to second; claimed: below 1." in page
    assert "Ratios of mean losses, first to second; claimed: below 0.1." in page
    verdicts = dict(re.findall(r"^\| \*\*(C\d)\*\* .*? \| (\*\*[a-z ]+\*\*|could not tell)", page, flags=re.MULTILINE))
    assert verdicts == {"C1": "**held**", "C2": "**did not hold**"}
    # The ratio on the page is that of the means.
    rows = pl.read_parquet(tmp_path / "out" / "results.parquet").filter(split="design", n=3000)
    mean = dict(rows.group_by("contender").agg(pl.col("value").mean()).iter_rows())
    (ratio,) = {
        float(found) for found in re.findall(r"aggregated vs random, n = 3,000 \| design queries \| ([\d.]+) \|", page)
    }
    assert ratio == pytest.approx(mean["aggregated"] / mean["random"], abs=0.006)
    drawn = (tmp_path / "out" / "figures" / "distances.svg").read_bytes()
    assert drawn.startswith(b"<?xml")
    assert "![One](figures/distances.svg)" in page


MISTAKES = [
    ("share = 1.0", "shore = 1.0", r"experiments\.0\.claims\.0\.shore: unknown key .* did you mean 'share'"),
    ("share = 1.0", "share = -1.0", r"experiments\.0\.claims\.0\.share: "),
    ('kind = "brought-claim"', 'kind = "les"', r"claims\.0\.kind: unknown claim 'les'; did you mean 'less'"),
    ('series = ["*"]', "level = 0.9\nserie = []", r"figures\.0\.serie: unknown key .* did you mean 'series'"),
]


def test_a_table_holds_what_its_kind_declares(site: Path, tmp_path: Path) -> None:
    paths = [tmp_path / f"brought-{i}.toml" for i in range(len(MISTAKES))]
    for path, (old, new, _) in zip(paths, MISTAKES, strict=True):
        path.write_text(SUITE.replace(old, new), encoding="utf-8")
    shown = rankbench(site, *(["plan", "--suite", str(path)] for path in paths))
    for (code, _, said), (*_, complaint) in zip(shown, MISTAKES, strict=True):
        assert code == 2
        assert re.search(complaint, " ".join(said.split()))


def test_keys_of_another_kind_are_refused(tmp_path: Path) -> None:
    suite = SUITE.replace('"brought-claim"\nshare = 1.0', '"less"\nmargin = 0.1').replace("brought-figure", "growth")
    path = tmp_path / "brought.toml"
    path.write_text(suite, encoding="utf-8")
    with pytest.raises(SpecError, match=r"claims\.0\.margin: unknown key of a claim of kind 'less'"):
        load_suite(str(path))
