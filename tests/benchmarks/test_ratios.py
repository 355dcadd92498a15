"""Ratios against a baseline: a slower one is found, a slower machine is none, and false alarms stay rare."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import ratios
from scipy import stats

from rankbench.errors import InputError

NAMES = [f"b{i}" for i in range(20)]


def job(path: Path, ours: dict[str, float], clock: float = 1.0, peer: bool = True) -> Path:
    rng = np.random.default_rng(0)
    rows = []
    for name, ratio in ours.items():
        load = clock * rng.lognormal(0, 0.2, 15)  # both of a round see the same load
        extra = {"peer": "numpy", "peer_rounds": load.tolist()} if peer else {}
        data = (ratio * load * rng.lognormal(0, 0.01, 15)).tolist()
        rows.append(
            {"fullname": f"tests/benchmarks/test_x.py::test_{name}", "stats": {"data": data}, "extra_info": extra}
        )
    path.write_text(json.dumps({"benchmarks": rows}))
    return path


def test_rounds_are_paired_and_the_clock_does_not_matter(tmp_path: Path) -> None:
    fast = ratios.ratios_of(job(tmp_path / "a.json", {"one": 0.5, "two": 3.0}))
    slow = ratios.ratios_of(job(tmp_path / "b.json", {"one": 0.5, "two": 3.0}, clock=7.0))
    assert [one.name for one in fast] == ["x: one", "x: two"]
    assert [math.exp(one.log) for one in fast] == pytest.approx([0.5, 3.0], rel=0.02)
    assert [one.log for one in slow] == pytest.approx([one.log for one in fast])
    assert all(one.se < 0.01 for one in fast)  # load alone would be .05


def made(rng: np.random.Generator, sds: np.ndarray, slower: float = 0.0) -> tuple[list[ratios.Ratio], list[dict]]:
    jobs = [dict(zip(NAMES, rng.normal(0, sds), strict=True)) for _ in range(5)]
    now = rng.normal(0, sds)
    now[0] += slower
    return [ratios.Ratio(name, "peer", float(x), 0.001) for name, x in zip(NAMES, now, strict=True)], jobs


@pytest.mark.full
@pytest.mark.parametrize("times", [400, pytest.param(20_000, marks=pytest.mark.long)])
def test_false_alarms_are_rare_and_regressions_found(times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs vary by 2%, some benchmarks three times as much as others; no margin."""
    monkeypatch.setattr(ratios, "MARGIN", 0.0)
    rng = np.random.default_rng(1)
    alarms = found = 0
    for _ in range(times):
        sds = 0.02 * rng.lognormal(0, 0.4, len(NAMES))
        alarms += any(one.word == "slower" for one in ratios.verdicts(*made(rng, sds)))
        found += ratios.verdicts(*made(rng, sds, 0.25))[0].word == "slower"
    print(f"false alarms {alarms} of {times}; a quarter more found in {found}")
    assert stats.binomtest(alarms, times, 0.01, alternative="greater").pvalue > 0.001
    assert found > 0.9 * times


def test_the_margin_must_be_exceeded() -> None:
    rng = np.random.default_rng(2)
    sds = np.full(len(NAMES), 1e-4)
    assert ratios.verdicts(*made(rng, sds, 0.04))[0].word == "not significant"
    assert ratios.verdicts(*made(rng, sds, 0.06))[0].word == "slower"
    assert ratios.verdicts(*made(rng, sds, -0.06))[0].word == "faster"


def test_nothing_is_significant_with_few_jobs() -> None:
    found, jobs = made(np.random.default_rng(3), np.full(len(NAMES), 0.01), 3.0)
    assert {one.word for one in ratios.verdicts(found, jobs[:2])} == {"too few jobs to compare with"}
    assert {one.word for one in ratios.verdicts(found, [])} == {"new"}


def test_written_and_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    out, baseline = tmp_path / "leaderboards", tmp_path / "baseline.json"
    out.mkdir()
    (out / "performance.md").write_text("# Performance\n\nLibraries.\n")

    def run(level: float, *more: str) -> int:
        path = job(tmp_path / "job.json", {"one": level, "two": 2.0})
        arguments = ["ratios.py", str(path), "--baseline", str(baseline), "--out", str(out), *more]
        monkeypatch.setattr("sys.argv", arguments)
        return ratios.main()

    for level in (0.50, 0.51, 0.49):
        assert run(level, "--rebase") == 0
    assert run(0.5) == 0
    page = (out / "performance.md").read_text()
    assert page.startswith("# Performance\n\nLibraries.\n\n## Benchmarks\n")
    assert re.search(r"^\| x: one \| numpy \| 0\.(5|4\d)", page, re.M)
    assert run(0.9) == 1
    assert "**slower**" in (out / "performance.md").read_text()
    assert (out / "performance.md").read_text().count("## Benchmarks") == 1
    assert len(list((out / "performance").glob("*.json"))) == 2
    read = json.loads((tmp_path / "github-action-benchmark.json").read_text())
    assert [(one["name"], one["unit"]) for one in read] == [
        ("x: one", "x the time of numpy"), ("x: two", "x the time of numpy"),
    ]  # fmt: skip
    assert read[0]["value"] == pytest.approx(0.9, rel=0.02)
    before = (out / "performance.md").read_bytes()
    job(tmp_path / "part.json", {"one": 0.5})
    monkeypatch.setattr("sys.argv", ["r", str(tmp_path / "part.json"), "--baseline", str(baseline), "--out", str(out)])
    assert ratios.main() == 0
    assert "not timed, so that no page is written: x: two" in capsys.readouterr().out
    assert (out / "performance.md").read_bytes() == before


@pytest.mark.parametrize("content", ["", "[]", '{"benchmarks": [{}]}', '{"benchmarks": []}'])
def test_files_that_are_none(content: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(InputError, match=r"x\.json"):
        ratios.ratios_of(tmp_path / "x.json")
    with pytest.raises(InputError, match="no benchmark timed a reference"):
        ratios.ratios_of(job(tmp_path / "y.json", {"one": 1.0}, peer=False))
    for wrong in ("", "[]", '{"schema_version": 2, "jobs": {}}', '{"schema_version": 1, "jobs": []}'):
        (tmp_path / "b.json").write_text(wrong)
        with pytest.raises(InputError, match="no baseline of ratios"):
            ratios.read_baseline(tmp_path / "b.json")
