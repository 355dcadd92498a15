"""The history: nothing that is there changes, machines are never mixed, and changes are told with their commits."""

from __future__ import annotations

import json
import math
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
import synthetic
from click.testing import CliRunner

from rankbench.drawing.canvas import picture_bytes
from rankbench.errors import InputError, SpecError
from rankbench.reports.analysis import analyze
from rankbench.store.published import open_results
from rankbench.tracking.change_points import ChangePoint
from rankbench.tracking.history import (
    HistoryEntry,
    HistoryValue,
    Series,
    add_entry,
    entry_of,
    history_figure,
    read_history,
)
from rankbench.tracking.history_commands import history
from rankbench.tracking.timings import TimedCell, TimingFacts, Timings, write_timings

START = datetime(2026, 1, 1, tzinfo=UTC)


def filled(folder: Path, values: dict[str, list[float]], machine: str = "x", first: int = 0) -> Path:
    for i in range(len(next(iter(values.values())))):
        own = tuple(HistoryValue(name=name, value=series[i]) for name, series in values.items())
        add_entry(
            folder,
            HistoryEntry(
                commit=f"c{first + i:05d}", date=START + timedelta(hours=first + i), machine=machine, values=own
            ),
        )
    return folder


def test_qualities_of_a_run_are_kept(tmp_path: Path) -> None:
    run = synthetic.write(tmp_path / "run", [synthetic.small()])
    entry = entry_of(run, "abcdef12", START)
    path = add_entry(tmp_path / "history", entry)
    assert path.name.startswith("20260101T000000-abcdef12-")
    assert HistoryEntry.model_validate_json(path.read_bytes()) == entry
    assert entry.machine == "x86-64-v3"
    names = [value.name for value in entry.values]
    assert len(set(names)) == len(names)
    assert "paper@abababab/figure-3/n=200000/logistic/ndcg/design" in names
    before = path.read_bytes()
    assert add_entry(tmp_path / "history", entry) == path
    assert path.read_bytes() == before
    assert len(list((tmp_path / "history").iterdir())) == 1


def test_means_are_those_of_the_leaderboard_without_its_bootstrap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = synthetic.small()
    plan.contenders.append(synthetic.Contender("broken", {"k": 1}, fails={0: ("diverged", "nan")}))
    run = synthetic.write(tmp_path / "run", [plan])
    with open_results(run) as results:
        rows = [row for section in analyze(results).sections for row in section.rows]
    expected = {
        f"paper@abababab/{row.experiment}/n={row.n}/{row.contender}/{row.metric}/{row.split}": row.mean
        for row in rows
        if not math.isnan(row.mean)
    }
    assert any("broken" in name for name in expected)

    def never(*_: object) -> None:
        raise AssertionError("a bootstrap")

    monkeypatch.setattr("rankbench.reports.experiment_data.crossed", never)
    entry = entry_of(run, "abcdef12", START)
    assert {value.name: value.value for value in entry.values} == pytest.approx(expected, rel=1e-12)


def test_timings_are_kept_as_ratios_to_the_reference_of_their_job(tmp_path: Path) -> None:
    cell = TimedCell("e", "a", 10)
    facts = TimingFacts(job="j", suite="s", version="1", machine="m", reference="1, NumPy 2", declared=2, last=True,
                        precision=0.02, seed=1)  # fmt: skip
    times, once = np.full((2, 2), 0.3), np.ones(2)
    write_timings(tmp_path, Timings(facts, {cell: times}, np.full_like(times, 0.1), {cell: once}, {cell: once}))
    entry = entry_of(tmp_path, "abcd", datetime(2026, 1, 1, tzinfo=UTC))
    assert entry.machine == "m"
    assert [value.name for value in entry.values] == ["s/e/n=10/a/time / reference 1, NumPy 2"]
    assert entry.values[0].value == pytest.approx(3)


def test_commits_are_shortened_as_far_as_they_differ() -> None:
    change, dates = ChangePoint(2, 1, 3, 1.0, 2.0), [START] * 4
    for commits, said in (
        ([f"{i}{'a' * 39}" for i in range(4)], "at 2aaaaaaaaaaa, after 0aaaaaaaaaaa and not after 3aaaaaaaaaaa"),
        ([f"{i:040d}" for i in range(4)], f"at {2:040d}, after {0:040d} and not after {3:040d}"),
    ):
        one = Series("x", "m", "minimize", commits, dates, [1.0, 1.0, 2.0, 2.0], [change])
        assert one.told(change) == f"worse {said} (95%): 1 became 2 (+100.0%)"


def test_changes_are_told_with_their_commits(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    slow = rng.normal(1, 0.01, 60)
    slow[40:] *= 1.2
    folder = filled(tmp_path, {"slow": slow.tolist(), "flat": rng.normal(1, 0.01, 60).tolist()})
    found = read_history(folder)
    assert [one.name for one in found.series if one.changes] == ["slow"]
    one = next(one for one in found.series if one.changes)
    change = one.changes[0]
    assert one.worse(change)
    assert one.told(change).startswith("worse at c00040: ")
    assert "(+19.8%)" in one.told(change)
    assert [s.name for s in read_history(folder, ["fl*"]).series] == ["flat"]
    result = CliRunner().invoke(history, ["show", str(folder)])
    assert result.exit_code == 0
    assert "worse at c00040" in result.output
    assert "1 of 2 series changed (60 runs" in result.output
    told = json.loads(CliRunner().invoke(history, ["show", str(folder), "--json"]).output)
    assert [s["changes"][0]["commit"] for s in told["series"] if s["changes"]] == ["c00040"]
    picture = tmp_path / "h.png"
    assert CliRunner().invoke(history, ["show", str(folder), "--out", str(picture)]).exit_code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_two_machines_are_never_one_series(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    folder = filled(tmp_path, {"a": rng.normal(1, 0.01, 20).tolist()}, "old")
    filled(folder, {"a": rng.normal(2, 0.01, 20).tolist()}, "new", 20)
    found = read_history(folder)
    assert [(one.machine, len(one.values), one.changes) for one in found.series] == [("new", 20, []), ("old", 20, [])]


def test_the_chance_of_a_false_change_is_of_all_series(tmp_path: Path) -> None:
    """A step that is found in a series alone must pass a stricter threshold among a hundred."""
    rng = np.random.default_rng(3)
    weak = rng.normal(0, 1, 30)
    weak[15:] += np.linspace(2.05, 2.05, 15)
    alone = read_history(filled(tmp_path / "one", {"weak": weak.tolist()}), alpha=0.2)
    many = {"weak": weak.tolist()} | {f"s{i}": rng.normal(0, 1, 30).tolist() for i in range(400)}
    together = read_history(filled(tmp_path / "many", many), alpha=0.2)
    assert [bool(one.changes) for one in alone.series] == [True]
    assert not next(one for one in together.series if one.name == "weak").changes


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"schema_version": 2}', '{"commit": "abcd"}'])
def test_files_that_are_no_entries(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(InputError, match=r"x\.json: it is no entry of a history"):
        read_history(tmp_path)


def test_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the history is empty"):
        read_history(tmp_path)
    run = synthetic.write(tmp_path / "run", [synthetic.small()])
    with pytest.raises(SpecError, match="date: Input should have timezone info"):
        entry_of(run, "abcdef12", datetime(2026, 1, 1))
    with pytest.raises(SpecError, match="commit: String should match pattern"):
        entry_of(run, "../../x", START)
    result = CliRunner().invoke(
        history, ["add", str(run), "--to", str(tmp_path / "h"), "--commit", "abcd", "--date", "x"]
    )
    assert result.exit_code == 2
    assert "Invalid value for '--date'" in result.output


def test_commit_and_date_are_those_of_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = synthetic.write(tmp_path / "run", [synthetic.small()])
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(history, ["add", str(run), "--to", "h"])
    assert result.exit_code == 2
    assert "git knows no commit here" in result.output
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "init", "-q"], check=True)
    date = "2026-02-03T04:05:06+01:00"
    environment = {"PATH": "/usr/bin:/bin", "GIT_COMMITTER_DATE": date}
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x", "--date", date], check=True, env=environment)
    result = CliRunner().invoke(history, ["add", str(run), "--to", "h"])
    assert result.exit_code == 0, result.output
    entry = HistoryEntry.model_validate_json(next((tmp_path / "h").iterdir()).read_bytes())
    assert entry.date.isoformat() == "2026-02-03T04:05:06+01:00"
    assert len(entry.commit) == 40


@pytest.mark.full
def test_many_series_fit_a_picture() -> None:
    from rankbench.tracking.history import Series

    values = [1.0, 2.0] * 6
    dates = [START] * 12
    series = [Series(f"s{i}", "x", "minimize", ["abcd"] * 12, dates, values, []) for i in range(40)]
    figure = history_figure(series)
    figure.canvas().draw_without_rendering()
    assert len(figure.drawing.plots) == 24
    one, again = (picture_bytes(history_figure(series[:1]).canvas()) for _ in range(2))
    assert set(one) == {"svg", "png"}
    assert one["svg"] == again["svg"]
