"""Verification: whatever changes a result in a published folder is found, and named."""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
from collections.abc import Callable, Iterator
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from amounts import trials
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rankbench import api
from rankbench.cli.verify import verify
from rankbench.errors import RankbenchError
from rankbench.protocols.links import margin_disagreement
from rankbench.reports.rerun import rerun
from rankbench.reports.verify import verify_files
from rankbench.store.published import MANIFEST, Digests, read_digests, sha256


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a published folder of a small run of the demo, on narrow data: it is computed again and again."""
    place = tmp_path_factory.mktemp("verify")
    api.run("demo", dataset="web10k-like:queries=440,features=10", reps=2, out=place / "run")
    api.report(place / "run", place / "out")
    return place / "out"


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "copy"))


def signed(folder: Path) -> None:
    """Make all digests those of the files that are there, as whoever forges a folder would."""
    manifest = json.loads((folder / "rows" / MANIFEST).read_text())
    manifest["sha256"] = {name: sha256((folder / "rows" / name).read_bytes()) for name in manifest["sha256"]}
    (folder / "rows" / MANIFEST).write_text(json.dumps(manifest))
    digests = Digests.model_validate_json((folder / "digests.json").read_bytes())
    files = {name: sha256((folder / name).read_bytes()) for name in digests.files}
    made = Digests(rows=sha256((folder / "rows" / MANIFEST).read_bytes()), files=files)
    (folder / "digests.json").write_text(json.dumps(made.model_dump()))


def test_a_folder_that_is_what_its_rows_give(folder: Path) -> None:
    found = verify_files(folder)
    assert found.differences == ()
    made = found.shown[0].partition("compared to the byte: ")[2].removesuffix(".").split(", ")
    assert len(made) == 5
    assert all((folder / name).is_file() for name in made)
    result = CliRunner().invoke(verify, [str(folder)])
    assert result.exit_code == 0
    assert result.stdout.endswith("out: nothing differs\n")


def test_a_run_is_verified_against_its_journal(folder: Path) -> None:
    found = verify_files(folder.parent / "run")
    assert found.differences == ()
    assert "no digests.json" in found.shown[1]


def test_cells_and_lines_that_were_edited_are_named(copy: Path) -> None:
    table, page = copy / "leaderboard.csv", copy / "leaderboard.md"
    rows = list(csv.reader(io.StringIO(table.read_text())))
    rows[2][rows[0].index("mean")] = "0.123456"
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    table.write_text(text.getvalue())
    page.write_text(page.read_text().replace("simulated", "real"))
    signed(copy)
    found = [str(one) for one in verify_files(copy).differences]
    assert any(
        one.startswith("leaderboard.csv, row 3 (figure-3, ") and "column mean: '0.123456'" in one for one in found
    )
    assert any(one.startswith("leaderboard.md, line ") and "the rows give" in one for one in found)
    result = CliRunner().invoke(verify, [str(copy), "--json"])
    assert result.exit_code == 1
    differences = json.loads(result.stdout)["differences"]
    assert {one["file"] for one in differences} == {"leaderboard.csv", "leaderboard.md"}
    shown = CliRunner().invoke(verify, [str(copy)])
    assert shown.stdout.startswith(f"{copy}: {len(differences)} differences\n")


def test_facts_that_were_edited_are_named(copy: Path) -> None:
    facts = json.loads((copy / "run.json").read_text())
    facts["seed"] += 1
    facts["sources"][0]["dataset_sha256"] = "0" * 64
    (copy / "run.json").write_text(json.dumps(facts))
    signed(copy)
    found = [str(one) for one in verify_files(copy).differences]
    assert [one.split(":")[0] for one in found] == ["run.json, seed", "run.json, sources"]


@pytest.mark.parametrize("times", [trials(40), pytest.param(1000, marks=pytest.mark.long)])
def test_random_alterations_are_found(folder: Path, tmp_path: Path, times: int) -> None:
    """A byte that was changed, cut out or put in, a file that is gone or new, two that are exchanged: all are found.

    Digests are left as they were, or made again (of CSV and Markdown, which then speak for themselves). Blanks in their
    list count for nothing.
    """
    rng = random.Random(20130501)
    files = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    texts = [name for name in files if name.suffix in (".csv", ".md")]
    missed = []
    for number in range(times):
        copy = Path(shutil.copytree(folder, tmp_path / "altered"))
        what = rng.choice(["change", "cut", "put", "gone", "new", "exchange", "signed"])
        name = rng.choice(texts if what == "signed" else files)
        data = bytearray((copy / name).read_bytes())
        place = rng.randrange(len(data))
        if what in ("change", "signed"):
            data[place] ^= 1 << rng.randrange(8)
        elif what == "cut":
            del data[place : place + rng.randint(1, 9)]
        elif what == "put":
            data[place:place] = rng.randbytes(rng.randint(1, 9))
        if what == "gone":
            (copy / name).unlink()
        elif what == "new":
            (copy / f"new-{number}.md").write_text("A result.\n")
        elif what == "exchange":
            other = rng.choice([one for one in files if one != name])
            one, two = (copy / name).read_bytes(), (copy / other).read_bytes()
            (copy / name).write_bytes(two)
            (copy / other).write_bytes(one)
        else:
            (copy / name).write_bytes(data)
        if what == "signed":
            signed(copy)
        if not differs(copy) and not (name.name == "digests.json" and read_digests(copy) == read_digests(folder)):
            missed.append(f"{what} {name} at {place}")
        shutil.rmtree(copy)
    assert missed == []


def told(folder: Path) -> dict[str, bytes]:
    """Return what a published folder tells in words and numbers."""
    files = [path for path in folder.rglob("*") if path.suffix in (".csv", ".md")]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def reported(folder: Path, out: Path) -> dict[str, bytes] | None:
    """Return what a report makes of a folder's rows; None if it makes nothing of them."""
    shutil.rmtree(out, ignore_errors=True)
    try:
        api.report(folder, out)
    except Exception:
        return None
    return told(out)


def differs(folder: Path) -> bool:
    try:
        return bool(verify_files(folder).differences)
    except RankbenchError:
        return True


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value within a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, within in inner:
        yield (key,)
        yield from ((key, *path) for path in places(within))


GONE = object()
OTHERS = st.one_of(
    st.just(GONE), st.none(), st.booleans(), st.integers(-1, 9), st.floats(0, 1), st.text(max_size=6),
    st.sampled_from(["minimize", "maximize", "design", [], {}]),
)  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("number", [trials(12), pytest.param(1000, marks=pytest.mark.long)])
def test_another_record_of_the_suite_is_found(folder: Path, tmp_path: Path, number: int) -> None:
    """It is JSON still. With the digests of before: always. With digests made again: where a report tells otherwise."""
    expected, text = told(folder), (folder / "rows" / MANIFEST).read_text()

    @settings(max_examples=number, deadline=None, database=None)
    @given(st.sampled_from(list(places(json.loads(text)["suite"]))), OTHERS)
    def cases(path: tuple[Any, ...], value: object) -> None:
        manifest = json.loads(text)
        *above, key = path
        holder = reduce(getitem, above, manifest["suite"])
        if value is GONE:
            del holder[key]
        else:
            holder[key] = value
        assume(manifest != json.loads(text))
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        copy = Path(shutil.copytree(folder, tmp_path / "copy"))
        (copy / "rows" / MANIFEST).write_text(json.dumps(manifest))
        assert differs(copy)
        signed(copy)
        assert reported(copy, tmp_path / "made") == expected or differs(copy)

    cases()


def recorded(copy: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the record of the suite, and make the digests again."""
    manifest = json.loads((copy / "rows" / MANIFEST).read_text())
    change(manifest["suite"])
    (copy / "rows" / MANIFEST).write_text(json.dumps(manifest))
    signed(copy)


@pytest.mark.full
def test_a_metric_turned_around_is_found_in_cells_of_one_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The published arena, as on another processor: every repetition has one share of votes ranked wrongly."""
    arena = Path(__file__).parents[2] / "leaderboards" / "arena"
    copy = Path(shutil.copytree(arena, tmp_path / "arena"))
    recorded(copy, lambda suite: suite.update(cpu="another"))
    assert rerun(copy, 2, 1).differences == ()
    monkeypatch.setattr("rankbench.protocols.trial.margin_disagreement", lambda held: 1 - margin_disagreement(held))
    found = [str(one) for one in rerun(copy, 2, 1).differences]
    assert len(found) > 0
    assert all("disagreement (heldout): 0." in one for one in found)


@pytest.mark.parametrize("key", ["cpu", "blas", "code_digest", "versions"])
def test_a_record_that_does_not_say_what_it_was_computed_by(copy: Path, key: str) -> None:
    recorded(copy, lambda suite: suite.pop(key))
    assert ("run.json", key) in {(one.file, one.where) for one in verify_files(copy).differences}


def test_blocks_come_out_again(folder: Path) -> None:
    found = rerun(folder, 1, 3)
    assert found.differences == ()
    assert "1 of 4 blocks, drawn by seed 3" in found.shown[0]
    assert "6 of 6 cells are equal to the byte" in found.shown[0]


@pytest.mark.full
def test_forged_rows_are_found_by_computing_them_again(copy: Path) -> None:
    """Rows, report and digests that all agree with each other: only a second computation tells that they are forged."""
    losses = pl.read_parquet(copy / "rows" / "losses.parquet")
    members = pl.read_parquet(copy / "rows" / "members.parquet")
    mine = members.filter(pl.col("label").str.contains("k=1$"))["cell"].to_list()
    better = losses.with_columns(
        pl.when(pl.col("cell").is_in(mine))
        .then(pl.col("data").list.eval(pl.element() * 0.9))
        .otherwise(pl.col("data"))
        .alias("data")
    )
    better.write_parquet(copy / "rows" / "losses.parquet")
    signed(copy)
    api.report(copy)
    assert verify_files(copy).differences == ()
    found = rerun(copy, None, 0)
    assert len(found.differences) > 0
    assert all("k=1'" in one.where for one in found.differences)
    result = CliRunner().invoke(verify, [str(copy), "--rerun", "all"])
    assert result.exit_code == 1
    assert "computed again" in result.stdout


def altered(copy: Path, cpu: str, shift: float, units: int) -> None:
    """Add `shift` to so many units of every loss, as another processor might; as the same where `cpu` is empty."""
    recorded(copy, lambda suite: suite.update(cpu=cpu or suite["cpu"]))
    losses = pl.read_parquet(copy / "rows" / "losses.parquet")
    values = [np.array(row) for row in losses["data"].to_list()]
    for row in values:
        row[:units] += shift
    data = pl.Series("data", values).cast(pl.List(pl.Float64))
    losses.with_columns(data).write_parquet(copy / "rows" / "losses.parquet")
    signed(copy)


@pytest.mark.parametrize("data", [pl.lit([0.5, 0.25], pl.Array(pl.Float64, 2)), pl.lit("x")], ids=["array", "text"])
def test_rows_with_columns_of_another_type_are_refused_by_name(copy: Path, data: pl.Expr) -> None:
    losses = pl.read_parquet(copy / "rows" / "losses.parquet")
    losses.with_columns(data.alias("data")).write_parquet(copy / "rows" / "losses.parquet")
    signed(copy)
    result = CliRunner().invoke(verify, [str(copy)])
    assert result.exit_code == 1  # it differs: 3 means that there are no rows
    assert "losses.parquet: its columns are not the columns of published rows (" in result.stdout


def test_tolerances_that_the_rows_bring_do_not_count(copy: Path) -> None:
    altered(copy, "another", 0.05, 500)
    recorded(copy, lambda suite: [metric.update(tolerance=10.0) for metric in suite["sources"][0]["metrics"]])
    assert len(rerun(copy, 1, 0).differences) > 0


def test_what_the_protocol_says_is_not_taken_from_the_rows(copy: Path) -> None:
    recorded(copy, lambda suite: [metric.update(sentence="Best.") for metric in suite["sources"][0]["metrics"]])
    assert [str(one) for one in rerun(copy, 1, 0).differences] == [
        "rows, experiment figure-3: metrics is not what the protocol and the data give"
    ]


@pytest.mark.parametrize(("column", "said"), [("label", "the suite has no such cells"), ("spec", "the suite has 'erm")])
def test_contenders_of_another_name_are_found_by_computing_them_again(copy: Path, column: str, said: str) -> None:
    members = pl.read_parquet(copy / "rows" / "members.parquet")
    mine = pl.col("label") == members["label"][0]
    other = pl.when(mine).then(pl.lit("best")).otherwise(pl.col(column)).alias(column)
    members.with_columns(other).write_parquet(copy / "rows" / "members.parquet")
    signed(copy)
    found = [str(one) for one in rerun(copy, 1, 0).differences]
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(
    ("cpu", "shift", "units", "differs", "flips"),
    [
        ("", 1e-12, 1, True, False),
        ("another", 1e-12, 500, False, False),
        ("another", 0.01, 1, False, True),
        ("another", 0.01, 50, True, False),
    ],
)
def test_another_machine_may_differ_a_little_and_this_one_in_nothing(
    copy: Path, cpu: str, shift: float, units: int, differs: bool, flips: bool
) -> None:
    altered(copy, cpu, shift, units)
    found = rerun(copy, 1, 0)
    assert bool(found.differences) is differs
    assert ("flipped within tolerance" in " ".join(found.shown)) is flips


def test_other_data_are_not_compared(copy: Path) -> None:
    recorded(copy, lambda suite: suite["sources"][0].update(fingerprint="0" * 64))
    found = rerun(copy, 1, 0)
    assert "made of data with the sha256 0000" in str(found.differences[0])
    assert found.shown == ()


@pytest.mark.parametrize("given", ["0", "-1", "x", "1.5"])
def test_a_number_of_blocks_that_is_none(folder: Path, given: str) -> None:
    result = CliRunner().invoke(verify, [str(folder), "--rerun", given])
    assert result.exit_code == 2
    assert "no whole number above 0, nor all" in result.output
