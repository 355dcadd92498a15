"""The package as rankbench finds it: components, suites, and what happens where a peer is missing."""

import importlib
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import rankbench
from rankbench.errors import SpecError
from rankbench_peers import packages
from rankbench_peers.plugin import rankbench_register

ALL = [found for found in rankbench_register() if isinstance(found, type)]
MODULES = {
    "choix": "choix",
    "evalica": "evalica",
    "glicko2": "glicko2",
    "kickscore": "kickscore",
    "lightgbm": "lightgbm",
    "openskill": "openskill",
    "scikit-learn": "sklearn",
    "trueskillthroughtime": "trueskillthroughtime",
    "xgboost-cpu": "xgboost",
}


def take_away(monkeypatch, module):
    """Let the plugin import anything but one package."""

    def importing(name):
        if name.partition(".")[0] == module:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return importlib.import_module(name)

    monkeypatch.setattr(packages, "importlib", SimpleNamespace(import_module=importing))


def test_finding_and_describing_everything_imports_no_peer():
    program = (
        "import sys, rankbench\n"
        "from rankbench_peers.plugin import rankbench_register\n"
        "classes = [found for found in rankbench_register() if isinstance(found, type)]\n"
        "for cls in classes: rankbench.get(cls, cls.name).config()\n"
        f"print(sorted({{*{list(MODULES.values())}, 'pandas', 'numba'}} & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


@pytest.mark.parametrize("cls", ALL, ids=lambda cls: cls.name)
def test_every_component_names_its_package_and_is_skipped_by_that_name(cls, monkeypatch):
    (distribution,) = cls.packages
    take_away(monkeypatch, MODULES[distribution])
    component = rankbench.get(cls, cls.name)
    design = rankbench.Queries(["q"], np.array([0, 2]), np.eye(2, dtype=np.float32), np.arange(2.0))
    said = rankbench.Comparisons(np.array([0, 1]), np.array([0], np.int32), np.array([1], np.int32), np.ones(1))
    block = rankbench.Block(design, said, 1, 0, (1,))
    use = (lambda: component.from_comparisons(said, 2)) if cls.kind == "aggregator" else (lambda: component.fit(block))
    with pytest.raises(SpecError, match=rf"'{distribution}' is not installed; pip install .*\[{distribution}\]"):
        use()


def test_a_peer_that_misses_something_of_its_own_is_broken_and_not_missing(monkeypatch):
    def broken(name):
        raise ModuleNotFoundError("No module named 'pandas'", name="pandas")

    monkeypatch.setattr(packages, "importlib", SimpleNamespace(import_module=broken))
    with pytest.raises(ModuleNotFoundError, match="pandas"):
        packages.package("evalica", "evalica")


SUITE = """
name = "small"
title = "Small"
seed = 1
dataset = "llmfao"
protocol = "own-log"
[[experiments]]
name = "votes"
title = "Votes"
repetitions = 2
losses = ["disagreement"]
contenders = [{ use = "bradley-terry" }, { use = "choix-ilsr" }, { use = "evalica-counting" }]
[[experiments]]
name = "features"
title = "Features"
dataset = "web10k-like:queries=30,features=8"
protocol = "btl:design=15,heldout=15"
n = [500]
losses = ["ndcg"]
contenders = [{ use = "erm" }, { use = "sklearn-logistic" }, { use = "lightgbm:trees=3" }]
"""


@pytest.mark.parametrize("missing", ["", "evalica", "lightgbm"])
def test_a_run_has_versions_and_rows_for_all_of_them(tmp_path, monkeypatch, missing):
    for module in MODULES.values():
        pytest.importorskip(module)
    take_away(monkeypatch, missing)
    if missing:
        # Foreign contenders run in processes of their own, which search where this one does.
        (tmp_path / "hidden").mkdir()
        (tmp_path / "hidden" / f"{missing}.py").write_text(
            f"raise ModuleNotFoundError(\"No module named '{missing}'\", name='{missing}')\n"
        )
        monkeypatch.syspath_prepend(str(tmp_path / "hidden"))
    (tmp_path / "small.toml").write_text(SUITE)
    results = rankbench.run(str(tmp_path / "small.toml"), out=tmp_path / "out")
    assert results.failures == {}
    found = {row["contender"]: (row["status"], row["reason"]) for row in results.rows.iter_rows(named=True)}
    for label, (status, reason) in found.items():
        away = bool(missing) and missing in label
        assert (status, f"'{missing}' is not installed" in reason) == (("skipped", True) if away else ("done", False))
    text = (tmp_path / "out" / "leaderboard.md").read_text()
    made = text.partition("## Versions")[2]
    for name in ("choix", "evalica", "scikit-learn", "lightgbm"):
        assert f"\n- {name} `" in made
    if missing:
        assert f"'{missing}' is not installed" in (tmp_path / "out" / "details.md").read_text()
