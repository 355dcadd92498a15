"""Comparing speeds of pytest-benchmark: jobs are independent, and rounds of one job are not."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from amounts import trials
from scipy import stats

from rankbench.errors import InputError, SpecError
from rankbench.tracking.commands import comparison_annotations
from rankbench.tracking.compare import compare_results
from rankbench.tracking.comparison import Change
from rankbench.tracking.comparison_page import cells_of
from rankbench.tracking.question import CompareQuestion


def benchmarks(path: Path, times: dict[str, list[float]], cpu: str = "x") -> Path:
    rows = [{"fullname": name, "stats": {"median": float(np.median(t)), "data": t}} for name, t in times.items()]
    path.write_text(json.dumps({"benchmarks": rows, "machine_info": {"machine": "m", "cpu": {"brand_raw": cpu}}}))
    return path


def jobs(
    folder: Path, number: int, slower: dict[str, float], *, spread: float = 0.02, seed: int = 9, cpu: str = "x"
) -> Path:
    """Write so many jobs of three benchmarks: each has its own clock, and ratios that differ by `spread`."""
    folder.mkdir()
    rng = np.random.default_rng([seed, number])
    for job in range(number):
        clock = rng.uniform(0.7, 1.4)
        times = {
            f"t.py::{name}": (
                clock * size * slower.get(name, 1) * rng.normal(1, spread) * rng.normal(1, 0.01, 60)
            ).tolist()
            for name, size in (("test_ref", 1), ("test_fit[old]", 5), ("test_read", 2))
        }
        benchmarks(folder / f"{job}.json", {name: t for name, t in times.items() if slower.get(name[6:], 1)}, cpu)
    return folder


def test_speeds_of_jobs_are_welch_of_log_ratios(tmp_path: Path) -> None:
    base = jobs(tmp_path / "base", 6, {})
    slow = jobs(tmp_path / "slow", 5, {"test_fit[old]": 1.2}, seed=10)
    found = compare_results(base, slow, CompareQuestion(reference="t.py::test_ref"))

    def ratios(folder: Path, name: str) -> list[float]:
        every = [json.loads(path.read_bytes())["benchmarks"] for path in sorted(folder.iterdir())]
        medians = [{one["fullname"]: one["stats"]["median"] for one in job} for job in every]
        return [math.log(job[f"t.py::{name}"] / job["t.py::test_ref"]) for job in medians]

    before, after = (np.array(ratios(folder, "test_fit[old]")) for folder in (base, slow))
    told = stats.ttest_ind(after - math.log(1.05), before, equal_var=False, alternative="greater")
    interval = stats.ttest_ind(after, before, equal_var=False).confidence_interval()
    one = next(change for change in found.changes if change.what == "t.py::test_fit[old]")
    assert one.verdict == "worse"
    assert one.p == pytest.approx(2 * told.pvalue, rel=1e-6)  # Holm over two benchmarks
    assert (one.lower, one.upper) == pytest.approx((interval.low, interval.high), rel=1e-6)
    assert one.head == pytest.approx(one.base * math.exp(one.change))
    assert found.exit_code == 1
    assert (
        compare_results(slow, base, CompareQuestion(reference="test_ref")).by_verdict("better")[0].what
        == "t.py::test_fit[old]"
    )
    seconds = compare_results(base, slow)
    assert seconds.exit_code == 3
    add = "add reference=NAME, one of 'test_fit[old]', 'test_read', 'test_ref'"
    assert seconds.notes == (f"seconds of two jobs are not compared: {add}",)
    other = jobs(tmp_path / "other", 6, {}, cpu="y")
    assert compare_results(base, other, CompareQuestion(reference="test_ref")).exit_code == 3


def test_one_job_a_side_is_described(tmp_path: Path) -> None:
    """Whatever its rounds show: they are not independent of one another."""
    base, slow = jobs(tmp_path / "base", 1, {}), jobs(tmp_path / "slow", 1, {"test_fit[old]": 10}, seed=10)
    for sides in ((base, slow), (base / "0.json", slow / "0.json")):
        found = compare_results(*sides, CompareQuestion(reference="test_ref"))
        assert {one.verdict for one in found.changes} == {"described"}
        assert math.exp(found.changes[0].change) == pytest.approx(10, rel=0.2)
        assert found.exit_code == 3
        (note,) = found.notes
        assert "with 4 jobs or more on each side, not with 1" in note
        assert comparison_annotations(found)[-1].endswith(note)


@pytest.mark.parametrize("times", [trials(150), pytest.param(2000, marks=pytest.mark.long)])
def test_jobs_raise_no_false_alarms(tmp_path: Path, times: int) -> None:
    """Jobs differ by 10% in their ratios, and rounds of one by 1%: what tests that rounds call real is none."""
    alarms = 0
    for number in range(times):
        sides = [jobs(tmp_path / f"{number}-{side}", 5, {}, spread=0.1, seed=2 * number + side) for side in (0, 1)]
        alarms += compare_results(*sides, CompareQuestion(reference="test_ref", alpha=0.05)).exit_code == 1
    print(f"{alarms} false alarms of {times}")
    assert stats.binomtest(alarms, times, 0.05, alternative="greater").pvalue > 0.001


def test_gates_and_references_of_benchmarks(tmp_path: Path) -> None:
    base = jobs(tmp_path / "base", 6, {})
    slow = jobs(tmp_path / "slow", 6, {"test_fit[old]": 10}, seed=10)
    gone = jobs(tmp_path / "gone", 6, {"test_fit[old]": 0}, seed=11)

    def code(head: Path, *gate: str) -> int:
        return compare_results(base, head, CompareQuestion(reference="test_ref", gate=gate)).exit_code

    assert code(slow) == 1
    assert code(slow, "test_fit[old]") == 1
    assert code(slow, "t.py::test_f*") == 1
    assert code(slow, "*test_read*") == 0
    assert code(gone, "test_fit[old]") == 3
    assert code(gone, "test_fit[old]", "test_read") == 3
    assert code(gone) == 3  # a benchmark of another name that is ten times slower would be new
    assert code(gone, "test_read") == 0
    with pytest.raises(SpecError, match=r"fits the gate 'test_x'; there are 'test_fit\[old\]', 'test_read'"):
        code(slow, "test_read", "test_x")
    with pytest.raises(InputError, match=r"named 'nothing'; it has 'test_fit\[old\]', 'test_read', 'test_ref'"):
        compare_results(base, slow, CompareQuestion(reference="nothing"))


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"benchmarks": 3}', b'{"benchmarks": [{"stats": {}}]}', b"\xff"]
)
def test_json_that_is_no_benchmark(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(InputError, match=r"no JSON of pytest-benchmark"):
        compare_results(tmp_path / "x.json", tmp_path / "x.json")


def test_times_are_shares_and_metrics_differences() -> None:
    metric = Change("e, n = 5", "a", 1.0, 1.25, 0.25, "worse", "5 launches", 0.15, 0.35, 0.001)
    size = math.log(1.25)
    slower = replace(metric, change=size, lower=size - 0.1, upper=size + 0.1, about="speed")
    assert cells_of(slower)[5] == "+25%"
    assert cells_of(slower)[6] == "[+13.1%, +38.1%]"  # 1.25 exp(-.1) and 1.25 exp(.1)
    larger = replace(metric, base=3e6, head=2.003e9, change=2e9, lower=1.9e9, upper=2.1e9, about="memory")
    assert cells_of(larger)[3:7] == ("3.0 MB", "2,003.0 MB", "+2,000.0 MB", "[+1,900.0 MB, +2,100.0 MB]")
    assert cells_of(metric)[5:7] == ("+0.25", "[+0.15, +0.35]")
