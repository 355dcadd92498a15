"""What run, plan, report and rank show of text from outside, in which formats, with which exit codes."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
import synthetic
from click.testing import CliRunner, Result

from rankbench import api
from rankbench.cli import main
from rankbench.cli.run import report
from rankbench.errors import StoreError
from rankbench.reports.headline import Headline, Notice
from rankbench.runner.estimate import Estimate
from rankbench.runner.plan import Planned


def results(*, failures=None, skipped=None, notices=(), headline=None):
    return SimpleNamespace(
        directory=Path("out"),
        claims=pl.DataFrame(),
        recommendation=[],
        failures=failures or {},
        skipped=skipped or {},
        notices=[Notice(kind, text) for kind, text in notices],
        headline=headline or Headline(()),
        verdicts=[],
    )


def test_reasons_of_failures_are_short_and_plain(rankbench, monkeypatch):
    reason = "\x1b[2J[/red] [bold]broken" + "x" * 10_000
    found = results(failures={reason: 3}, notices=[("failed", f"failed: mine (3 cells of demo): {reason}")])
    monkeypatch.setattr(api, "run_suite", lambda *args, **kwargs: found)
    done = rankbench("run", "--suite", "demo")
    assert done.exit_code == 1
    assert done.stderr.startswith("Next: --verbose\n")
    assert "\x1b[2J" not in done.output
    assert "failed: mine (3 cells of demo): \\x1b[2J[/red] [bold]broken" in done.stderr
    assert 300 < done.stderr.count("x") <= 600


ADVICE = "the package 'lightgbm' is not installed; pip install 'rankbench-peers[lightgbm]'"


@pytest.mark.parametrize(("strict", "code"), [((), 0), (("--strict",), 1)])
def test_what_was_skipped_is_said_as_it_is(rankbench, monkeypatch, strict, code):
    said = f"skipped: lightgbm (1,200 cells of figure-2, figure-3, figure-4, table-1, table-1-leaking): {ADVICE}"
    left = "left out of figure-2: [mine]: no curve of estimated-gap"
    found = results(skipped={ADVICE: 1200}, notices=[("skipped", said), ("left out", left)])
    monkeypatch.setattr(api, "run_suite", lambda *args, **kwargs: found)
    done = rankbench("run", "--suite", "demo", *strict)
    assert done.exit_code == code
    after = "Next: rankbench verify out | rankbench report out --out published"
    assert done.stderr.splitlines() == [after, said, left]  # nothing escaped, no line broken


def test_too_few_repetitions_are_to_be_more(rankbench, monkeypatch):
    found = results(headline=Headline((), repetitions={"done": 2, "needed": 4, "unranked": ["a"]}))
    monkeypatch.setattr(api, "run_suite", lambda *args, **kwargs: found)
    assert rankbench("run", "--suite", "demo").stderr.startswith("Next: --reps 4 | rankbench verify out | ")


def test_strict_alone_is_no_error(rankbench, monkeypatch):
    found = results(notices=[("diverged", "diverged: mine (1 cell of demo)")])
    monkeypatch.setattr(api, "run_suite", lambda *args, **kwargs: found)
    assert rankbench("run", "--suite", "demo", "--strict").exit_code == 0
    assert "--strict" in rankbench("run", "--help").stdout


def test_many_notices_are_cut(rankbench, monkeypatch):
    many = [("skipped", f"skipped: m{i}") for i in range(30)]
    monkeypatch.setattr(api, "run_suite", lambda *args, **kwargs: results(notices=[*many, ("failed", "failed: last")]))
    lines = rankbench("run", "--suite", "demo").stderr.splitlines()
    assert (lines[1], lines[2], lines[-1]) == (
        "failed: last",
        "skipped: m0",
        "and 11 more such lines: see leaderboard.md",
    )
    assert len(lines) == 22


def test_plan_shows_notes_and_labels_as_they_are(rankbench, monkeypatch):
    member = SimpleNamespace(experiment="one", n=5, label="[red]a[/b]\x1b[2J", spec="erm", cell="c")
    planned = SimpleNamespace(members=[member], tasks=[], suite=SimpleNamespace(name="s"), smaller=())
    source = SimpleNamespace(notes=("note [/x]\x1b[2J",), dataset="data\x1b[2J", protocol=None, units={}, arrays={})
    monkeypatch.setattr(
        api, "planned", lambda *args, **kwargs: Planned([source, source], {"one": 0, "two": 1}, {}, planned)
    )
    monkeypatch.setattr("rankbench.cli.run.estimate", lambda made, workers: Estimate(1, 1, 1, 0, 0, 0, workers, 0))
    done = rankbench("run", "--dry-run")
    assert done.exit_code == 0
    assert "\x1b" not in done.output
    for text in ("[red]a[/b]\\x1b[2J", "note [/x]\\x1b[2J", "\none: data\\x1b[2J"):
        assert text in done.output
    assert done.output.count("note [/x]") == 1  # of two sources


NO_TIMES = b"winner,loser\n" + b"a,b\nb,c\na,c\nc,d\nd,a\nb,d\nc,b\n" * 5


@pytest.mark.full
def test_plan_takes_a_log_as_run_does_and_says_what_is_left_out(rankbench, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_bytes(NO_TIMES)
    shown = rankbench("run", "--dry-run", "--log", str(path), "--reps", "1")
    assert shown.exit_code == 0, shown.output
    assert "votes.csv" in shown.stdout
    assert "rankbench leaves out by-time: the log does not say when" in shown.stdout
    assert "rankbench leaves out by-pair: " in shown.stdout
    facts = json.loads(rankbench("run", "--dry-run", "--log", str(path), "--json").stdout)
    assert (facts["suite"], set(facts["left_out"])) == ("own-log", {"next-votes", "by-time", "by-pair"})


@pytest.mark.full
def test_votes_of_one_unit_of_time_go_together_where_the_log_has_dates(rankbench, tmp_path):
    days = [f"2024-{1 + d // 28:02d}-{1 + d % 28:02d}" for d in range(300)]
    rows = [f"q,{'abc'[d % 3]},{'bca'[d % 3]},{day}" for d, day in enumerate(days)]
    dated, numbered = tmp_path / "dated.csv", tmp_path / "numbered.csv"
    dated.write_text("\n".join(["query_id,winner,loser,time", *rows]) + "\n")
    numbered.write_text(
        "\n".join(["query_id,winner,loser,time", *(f"q,a,b,{d}" for d in range(50)), "q,b,a,50"]) + "\n"
    )
    weekly = rankbench("run", "--dry-run", "--log", str(dated), "--reps", "1", "--time-unit", "week", "--json")
    source = next(s for s in json.loads(weekly.stdout)["sources"] if "next-votes" in s["experiments"])
    assert source["protocol"] == "one-step-ahead:unit=week"
    refused = rankbench("run", "--dry-run", "--log", str(numbered), "--time-unit", "day")
    assert refused.exit_code == 2
    assert "--time-unit day: the log's times are numbers" in refused.stderr


def test_predictions_compete_wherever_votes_are_predicted(rankbench, tmp_path, monkeypatch):
    monkeypatch.setattr("rankbench.cli.run.estimate", lambda made, workers: Estimate(1, 1, 1, 0, 0, 0, workers, 0))
    path, other = tmp_path / "games.csv", tmp_path / "votes.csv"
    teams = [f"{'abc'[d % 3]},{'bca'[d % 3]},.6,.3,{d % 2},{1 - d % 2},{d // 3}" for d in range(90)]
    path.write_text("\n".join(["left,right,elo_prob1,bet1,left_score,right_score,time", *teams]) + "\n")
    asked = ("--predictions", "elo_prob1:of=left", "--predictions", "bet1:of=right", "--reps", "1")
    shown = json.loads(rankbench("run", "--dry-run", "--log", str(path), *asked, "--json").stdout)
    for column in ("elo_prob1", "bet1"):
        there = {row["experiment"] for row in shown["contenders"] if row["spec"] == f"predictions:column={column}"}
        assert there == {row["experiment"] for row in shown["contenders"]} - {"items"}
    other.write_bytes(NO_TIMES)
    unknown = rankbench("run", "--dry-run", "--log", str(other), "--predictions", "loser:of=winner")
    assert (unknown.exit_code, "'b' is not a number" in unknown.stderr) == (2, True)
    assert "says how to read a log: say --log FILE" in rankbench("run", "--dry-run", "--predictions", "p").stderr


@pytest.mark.parametrize(("name", "suite"), [("llmfao", "own-log"), ("cascade-clicks:queries=5", "own-clicks")])
def test_a_log_may_be_a_data_set(rankbench, monkeypatch, name, suite):
    asked = []

    def run(suite, question, *_):
        asked.append((suite, [str(d) for d in question.datasets]))
        return results(failures={"x": 1})

    monkeypatch.setattr(api, "run_suite", run)
    assert rankbench("run", "--log", name).exit_code == 1
    assert asked == [(suite, [name])]


def test_report_names_what_it_wrote(tmp_path: Path) -> None:
    synthetic.write(tmp_path, [synthetic.small()])
    result = CliRunner().invoke(report, [str(tmp_path)])
    assert result.exit_code == 0
    written = result.output.split()
    names = ["leaderboard.md", "details.md", "leaderboard.csv", "results.parquet", "leaderboard.html"]
    assert [Path(path).name for path in written] == names
    assert all(Path(path).exists() for path in written)


def test_report_says_who_was_skipped(tmp_path: Path) -> None:
    made = synthetic.small()
    made.contenders[0].fails = {0: ("skipped", "pip install 'some[extra]'")}
    synthetic.write(tmp_path, [made])
    result = CliRunner().invoke(report, [str(tmp_path)])
    assert result.exit_code == 0
    assert result.stderr == "skipped: regression k=1 (2 cells of figure-3): pip install 'some[extra]'\n"


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    result = CliRunner().invoke(report, [str(tmp_path)])
    assert isinstance(result.exception, StoreError)
    with pytest.raises(StoreError, match="no results here"):
        raise result.exception


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    rows = [f"=m{s},{','.join(str(s * 3 + (7 * t + 5 * s) % 11) for t in range(40))}" for s in range(3)]
    path.write_text(
        "\n".join([f"system,{','.join(f't{t}' for t in range(39))},latency", *rows]) + "\n", encoding="utf-8"
    )
    return path


def ranked(*arguments: object, columns: str = "system=system,scores=*") -> Result:
    return CliRunner().invoke(main, ["rank", *map(str, arguments), "--columns", columns, "--replicates", "200"])


def test_the_terminal_has_methods_side_by_side(table: Path) -> None:
    found = ranked(table)
    assert found.exit_code == 0
    said, _, header, first, *_ = found.stdout.splitlines()
    assert said == "=m2 is first of 3 systems: 40 tasks leave no other open (95%)."
    assert header.split("  ")[0] == "rank"
    assert all(word in header for word in ("tier", "mean-score", "first in", "top 3 in", "mean-rank", "borda-count"))
    assert "=m2" in first
    assert "note: each cell has one score" in found.stderr
    assert "not probabilities of being the best" in found.stderr


def test_json_is_complete(table: Path) -> None:
    told = "system=system,scores=t*,losses=latency"
    said = json.loads(ranked(table, "--format", "json", "--top", 2, "--seed", 5, columns=told).stdout)
    assert said["schema_version"] == 1
    assert said["sha256"] == hashlib.sha256(table.read_bytes()).hexdigest()
    assert said["n"] == {"systems": 3, "tasks": 40, "seeds": 1}
    assert (said["seed"], said["replicates"], said["top_k"], said["lower_is_better"]) == (5, 200, 2, ["latency"])
    assert said["methods"]["mean-rank"] == {"unit": "rank, 1 is the best", "direction": "minimize"}
    assert said["intervals"]["level"] == 0.95
    assert len(said["systems"]) == 9
    assert set(said["systems"][0]) == {
        *("method", "system", "score", "lower", "upper"),
        *("rank_low", "rank_high", "may_be_first", "tier", "p_first", "p_top_k"),
    }
    assert said["notes"]


def test_files_have_the_same_rows(table: Path, tmp_path: Path) -> None:
    for ending in ("csv", "parquet", "md", "json"):
        assert ranked(table, "--method", "mean-rank", "--out", tmp_path / f"found.{ending}").exit_code == 0
    frame = pl.read_parquet(tmp_path / "found.parquet")
    text = pl.read_csv(io.BytesIO((tmp_path / "found.csv").read_bytes()))
    assert text.drop("system").equals(frame.drop("system").cast(dict(text.drop("system").schema)))
    # A spreadsheet must not take a name for a formula.
    assert text["system"].to_list() == [f"'{name}" for name in frame["system"]]
    assert (
        (tmp_path / "found.md")
        .read_text(encoding="utf-8")
        .splitlines()[2]
        .startswith("| rank | tier | system | mean-rank |")
    )
