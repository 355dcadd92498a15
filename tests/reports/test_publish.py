"""Publishing: a folder that holds its report, the rows that it is made from, and the digest of every file."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import published
import pytest
import synthetic

from rankbench.errors import RankbenchError, SpecError, StoreError
from rankbench.interfaces.figure import Dot, Drawing, Level, Line, Plot
from rankbench.reports import results as publishing
from rankbench.reports.figures import FIGURE_COLUMNS, figure_csv
from rankbench.reports.render import pages_of
from rankbench.reports.results import report
from rankbench.reports.verify import verify_files
from rankbench.store.journal import Journal
from rankbench.store.published import PublishedRows, published_rows, read_digests, sha256
from rankbench.tracking.compare import compare_results

FACTS = '{"suite": "paper"}\n'
DOCS = Path(__file__).parents[2] / "docs" / "reference" / "leaderboard-columns.md"


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def ended(folder: Path, plan: synthetic.Plan | None = None) -> Path:
    """Return a run's folder, whose run has ended."""
    synthetic.write(folder, [plan or synthetic.small()])
    (folder / "run.json").write_text(FACTS)
    return folder


@pytest.mark.full
@pytest.mark.parametrize("suite", ["paper", "arena", "u-statistics"])
def test_pages_from_rows_are_those_from_the_journal(tmp_path: Path, suite: str) -> None:
    with Journal(published.write(tmp_path / "run", suite)) as journal:
        rows = published_rows(journal)
        made = pages_of(journal).files
    (tmp_path / "rows").mkdir()
    for name, data in rows.items():
        (tmp_path / "rows" / name).write_bytes(data)
    assert pages_of(PublishedRows(tmp_path / "rows")).files == made
    assert any(name.startswith("figures/") for name in made)


@pytest.mark.full
def test_a_report_from_rows_is_that_from_the_journal(tmp_path: Path) -> None:
    out, again = tmp_path / "out", tmp_path / "again"
    run = ended(tmp_path / "run", synthetic.drawn("risk"))
    report(run)
    report(run, out)
    report(out, again)
    journal, rows = contents(run), contents(out)
    for name in ("journal.sqlite", "journal.lock", "results.parquet", "leaderboard.html"):
        journal.pop(name, None)
    assert journal == {name: data for name, data in rows.items() if name != "digests.json" and "rows/" not in name}
    assert {name for name in rows if name.startswith("figures/")} == {
        f"figures/{figure}.{e}" for figure in ("risk", "risk-in-short") for e in ("csv", "png", "svg")
    }
    assert contents(again) == rows
    report(out)  # published again where it stands
    assert contents(out) == rows


def test_a_published_page_has_a_title_of_its_own(tmp_path: Path) -> None:
    """It is stored with the rows, so that pages that are made again have it; the journal stays."""
    run, out = ended(tmp_path / "run"), tmp_path / "out"
    stored = (run / "journal.sqlite").read_bytes()
    report(run, out, title="My <board>")
    assert (out / "leaderboard.md").read_text().startswith("# My &lt;board&gt;\n")
    assert {one.file for one in verify_files(out).differences} == {"run.json"}  # a stub here
    report(out)
    assert (out / "leaderboard.md").read_text().startswith("# My &lt;board&gt;\n")
    with pytest.raises(SpecError, match="title= is stored with published rows: give out= too"):
        report(run, title="My board")
    assert (run / "journal.sqlite").read_bytes() == stored


def test_digests_are_those_of_the_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    paths = report(ended(tmp_path / "run"), out).paths
    files = contents(out)
    assert {path.relative_to(out).as_posix() for path in paths} == set(files)
    digests = read_digests(out)
    assert digests.rows == sha256(files["rows/rows.json"])
    named = {name for name in files if name != "digests.json" and not name.startswith("rows/")}
    assert digests.files == {name: sha256(files[name]) for name in named}
    listed = json.loads(files["rows/rows.json"])["sha256"]
    assert listed == {name.removeprefix("rows/"): sha256(data) for name, data in files.items() if ".parquet" in name}


def test_rows_that_are_too_many_stand_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, out = ended(tmp_path / "run"), tmp_path / "out"
    report(run, out)
    inside = {name.removeprefix("rows/"): data for name, data in contents(out).items() if name.startswith("rows/")}
    monkeypatch.setattr(publishing, "LARGEST", 1000)
    report(run, out)
    assert not (out / "rows").exists()
    assert contents(tmp_path / "out-rows") == inside
    before = contents(out)
    report(out)
    assert contents(out) == before
    assert contents(tmp_path / "out-rows") == inside
    (tmp_path / "out-rows").rename(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match=r"its rows are not here: put them beside it, as out-rows"):
        report(out)
    (tmp_path / "elsewhere").rename(tmp_path / "out-rows")
    monkeypatch.undo()
    report(run, out)
    assert not (tmp_path / "out-rows").exists()


@pytest.mark.full
def test_what_was_published_before_is_replaced(tmp_path: Path) -> None:
    run, out = ended(tmp_path / "run"), tmp_path / "out"
    with_figure = ended(tmp_path / "other", synthetic.drawn("risk"))
    report(with_figure, out)
    drawn = {f"{name}.{end}" for name in ("risk", "risk-in-short") for end in ("csv", "svg", "png")}
    assert drawn == {path.name for path in (out / "figures").iterdir()}
    report(run, out)
    assert not [path for path in (out / "figures").iterdir()]


def test_refused(tmp_path: Path) -> None:
    run = synthetic.write(tmp_path / "run", [synthetic.small()])
    with pytest.raises(StoreError, match=r"it has no run\.json"):
        report(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (run / "run.json").write_text(FACTS)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"holds what nobody published \(letter\.txt\)"):
        report(run, tmp_path / "full")
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["letter.txt"]
    (tmp_path / "list").mkdir()
    (tmp_path / "list" / "digests.json").write_text("no")
    with pytest.raises(StoreError, match="no list of published files"):
        report(run, tmp_path / "list")


def test_the_numbers_behind_a_figure() -> None:
    nan = math.nan
    line = Line("a, b", np.array([1.0, math.inf]), np.array([0.123456789, 2e-9]), np.array([0.1, nan]),
                np.array([0.2, nan]), hollow=np.array([False, True]))  # fmt: skip
    drawing = Drawing(
        ((Plot("t", "x", "y", (line,), (Level("c", 1.0, nan, nan),)), Plot(dots=(Dot("d", "=1", -0.0, -1.0, 1.0),))),)
    )
    rows = list(csv.reader(io.StringIO(figure_csv(drawing))))
    assert rows == [
        list(FIGURE_COLUMNS),
        ["0", "0", "t", "x", "y", "point", "a, b", "", "1", "0.123457", "0.1", "0.2", "false"],
        ["0", "0", "t", "x", "y", "point", "a, b", "", "inf", "2e-09", "", "", "true"],
        ["0", "0", "t", "x", "y", "level", "c", "", "", "1", "", "", ""],
        ["0", "1", "", "", "", "dot", "d", "'=1", "", "0", "-1", "1", ""],
    ]


def test_columns_are_described() -> None:
    text = DOCS.read_text()
    assert all(f"`{name}`" in text for name in FIGURE_COLUMNS)


def test_rows_that_are_not_those_that_were_published_are_refused(tmp_path: Path) -> None:
    """By whoever reads them, as long as the list of digests is there; only `verify` tells what differs."""
    out = tmp_path / "out"
    report(ended(tmp_path / "run"), out)
    path = out / "rows" / "rows.json"
    manifest = json.loads(path.read_bytes())
    manifest["suite"]["title"] += ", altered"
    path.write_text(json.dumps(manifest))
    said = r"rows\.json: these are not the rows that were published: .*digests\.json has another sha256\."
    for read in (report, lambda folder: compare_results(folder, folder)):
        with pytest.raises(RankbenchError, match=said):
            read(out)
    (out / "digests.json").unlink()
    assert report(out, tmp_path / "again")
