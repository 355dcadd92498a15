"""The package as rankbench finds it: the hook, command, suite."""

import csv
import io
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import rankbench
from rankbench.cli import main
from rankbench_rankad.adbench import TABLES, Smtp
from rankbench_rankad.items import from_items
from rankbench_rankad.simulator import KnownDensity


@pytest.fixture
def run():
    runner = CliRunner()
    return lambda *arguments: runner.invoke(main, [str(a) for a in arguments], prog_name="rankbench")


@pytest.fixture
def tables(tmp_path):
    x, labels = from_items(KnownDensity(nominal=300, anomalies=20).scan())
    rows = [[*point, int(label)] for point, label in zip(x.tolist(), labels.tolist(), strict=True)]
    paths = {}
    for name, chosen in (("all", rows), ("nominal", [row for row in rows if not row[-1]])):
        paths[name] = tmp_path / f"{name}.csv"
        with paths[name].open("w", newline="") as file:
            csv.writer(file).writerows([["a", "b", "y"], *chosen])
    return paths


@pytest.mark.parametrize(
    ("base", "names"),
    [
        (rankbench.Method, ["rank-ad", "knn-distance", "one-class-svm", "isolation-forest", "local-outlier-factor"]),
        (rankbench.Reader, ["npz-points", "csv-points", "parquet-points"]),
        (rankbench.Dataset, ["known-density", "adbench-smtp"]),
        (rankbench.Protocol, ["anomaly"]),
    ],
)
def test_rankbench_has_every_component(base, names):
    for name in names:
        component = rankbench.get(base, name)
        assert (str(component), bool(component.source), bool(component.summary())) == (name, True, True)


@pytest.mark.full
def test_the_suite_can_be_planned(run):
    shown = run("run", "--dry-run", "--suite", "rank-ad")
    assert shown.exit_code == 0, shown.output
    assert "rank-AD anchored, 3 levels" in shown.output
    assert "known-density" in shown.output


def test_detect_writes_a_row_for_every_point(run, tables):
    shown = run("detect", tables["all"], "--nominal", tables["nominal"], "--method", "knn-distance")
    assert shown.exit_code == 0, shown.output
    rows = list(csv.DictReader(io.StringIO(shown.stdout)))
    assert [int(row["row"]) for row in rows] == list(range(1, 321))
    for row in rows:
        assert (row["anomaly"] == "true") == (float(row["p_value"]) <= 0.05)
    flagged = np.array([row["anomaly"] == "true" for row in rows])
    assert flagged[300:].mean() > 0.5
    assert flagged[:300].mean() < 0.1


def test_detect_as_json_with_calibration_into_a_file(run, tables, tmp_path):
    out = tmp_path / "found.json"
    shown = run(
        "detect", tables["all"], "--calibration", 0.25, "--format", "json", "--out", out, "--method",
        "rank-ad:anchored=true,sigma=0.5,lambda=0.001", "--alpha", 0.1,
    )  # fmt: skip
    assert (shown.exit_code, shown.stdout) == (0, "")
    found = json.loads(out.read_text())
    assert found["schema_version"] == 1
    assert found["method"] == "rank-ad:calibration=0.25,anchored=true,sigma=0.5,lambda=0.001"
    assert found["anomalies"] == sum(point["anomaly"] for point in found["points"])
    p = np.array([point["p_value"] for point in found["points"]])
    own, others = np.isclose(p * 80 % 1, 0) | np.isclose(p * 80 % 1, 1), np.isclose(p * 81, np.round(p * 81))
    assert (own | others).all(), "shares of 80 calibration points, and of 81 with a new one"
    assert np.sum(own & ~others) >= 70


def test_json_is_a_format(run, tables):
    arguments = ("detect", tables["all"], "--method", "knn-distance")
    assert run(*arguments, "--json").stdout == run(*arguments, "--format", "json").stdout
    assert run(*arguments, "--json", "--format", "csv").exit_code == 2


def test_detect_is_the_same_every_time_and_its_seed_matters(run, tables):
    arguments = ("detect", tables["all"], "--method", "isolation-forest")
    assert run(*arguments).stdout == run(*arguments).stdout
    assert run(*arguments).stdout != run(*arguments, "--seed", 1).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv"], "error: nowhere.csv: there is no such file"),
        (["{all}", "--method", "rank-add"], "did you mean 'rank-ad'?"),
        (
            ["{all}", "--method", "random-scores"],
            "is not a Detector; these are: isolation-forest",
        ),
        (["{all}", "--nominal", "{nominal}", "--ignore", "c"], "no column 'c' to ignore"),
        (["{all}", "--alpha", "1"], "--alpha"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_with_exit_code_2(run, tables, arguments, message):
    shown = run("detect", *(a.format(**tables) for a in arguments))
    assert shown.exit_code == 2
    assert message in shown.stderr
    assert "Traceback" not in shown.output


def test_tables_of_other_features_are_refused(run, tables, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("a,c\n" + "1,2\n" * 30)
    shown = run("detect", tables["all"], "--nominal", other)
    assert shown.exit_code == 2
    assert "its features (a, c) differ from the features of" in shown.stderr


@pytest.mark.full
def test_the_readmes_example_does_what_it_says():
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    names = {}
    exec(text.partition("```python\n")[2].partition("```")[0], names)
    assert names["found"].anomalies.tolist() == [False, True]


def test_an_npz_is_described_like_any_table(run, tmp_path):
    np.savez(tmp_path / "t.npz", X=np.eye(3), y=np.array([0, 0, 1]))
    shown = run("data", "describe", tmp_path / "t.npz", "--json")
    assert shown.exit_code == 0, shown.output


def test_every_card_is_of_a_table_and_says_how_to_get_it(monkeypatch):
    import rankbench_rankad

    cards = tomllib.loads((Path(rankbench_rankad.__file__).parent / "cards" / "adbench.toml").read_text())["tables"]
    assert [f"adbench-{card['name']}" for card in cards] == [table.name for table in TABLES]
    monkeypatch.delenv("RANKBENCH_DATA", raising=False)
    for table in TABLES:
        with pytest.raises(rankbench.errors.InputError, match=r"github\.com/Minqi824/ADBench"):
            table().scan()


def test_a_file_with_another_sum_is_refused(monkeypatch, tmp_path):
    (tmp_path / "adbench").mkdir()
    (tmp_path / "adbench" / "34_smtp.npz").write_bytes(b"something else")
    monkeypatch.setenv("RANKBENCH_DATA", str(tmp_path))
    with pytest.raises(rankbench.errors.ChecksumError, match="get it again"):
        Smtp().scan()
