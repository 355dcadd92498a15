"""A plugin whose suite has a kind of claim and a kind of figure of its own, from installation to the leaderboard."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import synthetic
from forked import installed
from installed import install_plugin
from small_suites import suite_text

from rankbench.errors import SpecError
from rankbench.suites.suite_files import load_suite
from rankbench.testing.scaffold import write_plugin

CLAIM = """
[[experiments.claims]]
id = "{id}"
text = "{a} scores have less than {share} of the loss of {b} ones"
kind = "brought-claim"
share = {share}
contrasts = [{{ a = "{a}", b = "{b}", at = "last" }}]
"""
FIGURE = '[[experiments.figures]]\nfile = "distances"\nkind = "brought-figure"\nseries = ["*"]'
CLAIMS = (("C1", "aggregated", "random", 1.0), ("C2", "random", "aggregated", 0.1))
SUITE = suite_text(
    'label = "aggregated", use = "erm"', 'label = "random", use = "random-scores"', name="brought",
    dataset="web10k-like:queries=60,features=8", protocol="btl:design=30,heldout=30", n="[300, 3000]", repetitions=5,
    more="".join(CLAIM.format(id=name, a=a, b=b, share=share) for name, a, b, share in CLAIMS) + FIGURE,
)  # fmt: skip


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
    install_plugin(folder, "brought", "brought = brought")
    return folder


@pytest.fixture
def run(site: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    return installed(site, tmp_path)


@pytest.mark.full
def test_it_runs_from_plan_to_leaderboard(run: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    done = run("run", "--suite", "brought", "--workers", "1", "--out", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "C1" in done.stdout
    page = synthetic.both_pages(tmp_path / "out")
    assert "Ratios of mean losses, first to second; claimed: below 1." in page
    assert "Ratios of mean losses, first to second; claimed: below 0.1." in page
    verdicts = dict(re.findall(r"^\| \*\*(C\d)\*\* .* \| (\*\*[a-z ]+\*\*|could not tell)", page, flags=re.MULTILINE))
    assert verdicts == {"C1": "**held**", "C2": "**did not hold here**"}
    # The ratio on the page is that of the means.
    rows = pl.read_parquet(tmp_path / "out" / "results.parquet").filter(split="design", n=3000)
    mean = dict(rows.group_by("contender").agg(pl.col("value").mean()).iter_rows())
    (ratio,) = {
        float(found) for found in re.findall(r"aggregated vs random, n = 3,000 \| design queries \| ([\d.]+) \|", page)
    }
    assert ratio == pytest.approx(mean["aggregated"] / mean["random"], abs=0.006)
    drawn = (tmp_path / "out" / "figures" / "distances.svg").read_bytes()
    assert drawn.startswith(b"<?xml")
    assert "![A](figures/distances.svg)" in page


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ('"less"\nmargin = 0.1', r"claims\.0\.margin: unknown key of a claim of kind 'less'"),
        ('"equivalent"\nmargni = 0.1', r"claims\.0\.margni: unknown key .* did you mean 'margin'"),
        ('"equivalent"\nmargin = -1', r"claims\.0\.margin: "),
        ('"les"', r"claims\.0\.kind: unknown claim 'les'; did you mean 'less'"),
    ],
)
def test_a_table_holds_what_its_kind_declares(tmp_path: Path, kind: str, said: str) -> None:
    path = tmp_path / "brought.toml"
    path.write_text(SUITE.replace('"brought-claim"\nshare = 1.0', kind).replace("brought-figure", "growth"))
    with pytest.raises(SpecError, match=said):
        load_suite(str(path))
