"""Who is not in a figure is said under it, and what an added contender needs to be in one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import synthetic

from rankbench.interfaces.figure import Drawing
from rankbench.reports.experiment_data import ExperimentData
from rankbench.reports.figures import drawn_figures
from rankbench.reports.headline import Notice
from rankbench.reports.results import report

ADVICE = "the package 'lightgbm' is not installed; pip install 'rankbench-peers[lightgbm]'"


def figure(folder: Path) -> Drawing:
    return drawn_figures(synthetic.experiments(folder)[0])[0].drawing


def plan(table: dict[str, Any], *added: synthetic.Contender) -> synthetic.Plan:
    made = synthetic.small()
    made.contenders += added
    made.extra = {"figures": [{"file": "f", **table}]}
    return made


def write(folder: Path, made: synthetic.Plan, *added: str) -> Path:
    return synthetic.write(folder, [made], {"design": 5}, added={made.name: added})


RISK = {"kind": "risk", "parameter": "k", "series": ["regression k=*"], "references": ["logistic"]}


TREES = synthetic.Contender("trees", {"leaves": 31})
OTHER = synthetic.Contender("erm:aggregator=borda,k=10", {"k": 10, "lambda": 0.001, "aggregator": {"name": "borda"}})
SAME = synthetic.Contender("erm:k=30", {"k": 30, "lambda": 0.001, "aggregator": {"name": "mean-log-odds"}})
CHOICE = [("regression k=10", "choice"), ("regression k=inf", "choice")]


@pytest.mark.parametrize(
    ("table", "added", "names", "colored", "left_out"),
    [
        (RISK, (TREES,), ("regression", "logistic", "trees"), {"trees"}, []),  # a horizontal line
        (RISK, (OTHER, SAME), ("regression", "erm:aggregator=borda", "logistic"), {"erm:aggregator=borda"}, []),
        (
            {"kind": "growth", "series": ["regression k=1"], "references": ["logistic"]},
            (TREES,), ("regression k=1", "trees", "logistic"), {"trees"}, CHOICE,
        ),
        (
            {"kind": "dots", "series": ["logistic"]},
            (TREES,), ("logistic", "trees"), {"trees"}, [("regression k=1", "choice"), *CHOICE],
        ),
    ],
)  # fmt: skip
def test_an_added_contender_has_a_place_in_a_figure(
    tmp_path: Path,
    table: dict[str, Any],
    added: tuple[synthetic.Contender, ...],
    names: tuple[str, ...],
    colored: set[str],
    left_out: list[tuple[str, str]],
) -> None:
    found = figure(write(tmp_path, plan(table, *added), *(one.label for one in added)))
    assert (found.names, found.added) == (names, colored)
    assert [(one.label, one.cause) for one in found.left_out] == left_out


def test_lines_of_one_name_are_told_apart(tmp_path: Path) -> None:
    made = plan(RISK | {"references": []})
    made.contenders[1].config = {"k": 10, "lambda": 5.0}
    assert figure(write(tmp_path, made)).names == ("regression k=1 ... regression k=inf", "regression k=10")


@pytest.mark.full
def test_an_added_contender_needs_curves(tmp_path: Path) -> None:
    curves = {
        "kind": "curves",
        "metrics": ["exact-gap-last"],
        "panels": [{"series": ["regression k=1"], "n": [200_000]}],
    }
    with_curves = synthetic.Contender("mine", {"k": 3}, curves=True)
    made = plan(curves, with_curves, synthetic.Contender("trees", {"leaves": 31}))
    made.contenders[0].curves = True
    folder = write(tmp_path, made, "mine", "trees")
    found = figure(folder)
    assert found.names == ("regression k=1", "mine")
    assert [(o.label, o.why, o.cause) for o in found.left_out[-1:]] == [
        ("trees", "no curve of exact-gap-last", "misfit")
    ]
    text = "left out of f: trees: no curve of exact-gap-last"
    assert report(folder).notices == [Notice("left out", text)]
    page = synthetic.both_pages(folder)
    line = "(not chosen by the suite); `trees` (no curve of exact-gap-last)."
    assert "\n- Not in the figure: `regression k=10`, `regression k=inf`, `logistic` " + line in page


def test_an_added_contender_among_panels_of_several_n(tmp_path: Path) -> None:
    curves = {"kind": "curves", "metrics": ["exact-gap-last"],
              "panels": [{"series": ["regression k=1"], "n": [200_000, 400_000]}]}  # fmt: skip
    made = plan(curves, synthetic.Contender("mine", {"k": 3}, curves=True))
    made.contenders[0].curves = True
    found = figure(write(tmp_path, made, "mine"))
    assert found.names == ("regression k=1", "regression k=1, n = 400,000")
    assert ("mine", "each panel has several n", "misfit", "") in found.left_out


def test_the_items_of_an_added_contender_are_not_drawn(tmp_path: Path) -> None:
    made = plan({"kind": "dots", "series": ["logistic"]}, synthetic.Contender("trees", {"leaves": 31}))
    made.losses = ("score", "lower", "upper", "rank-low", "rank-high")
    folder = synthetic.write(tmp_path, [made], {"design": 5}, added={made.name: ["trees"]}, layout="ranking")
    assert figure(folder).names == ("logistic",)
    assert ("trees", "the figure has the items of one contender, logistic", "misfit", "") in figure(folder).left_out


@pytest.mark.full
def test_a_solver_that_gave_up_is_named_on_both_pages_and_on_the_terminal(tmp_path: Path) -> None:
    folder = write(tmp_path, plan(RISK, synthetic.Contender("early", {"k": 3}, info={"unfinished": 0.1})))
    (notice,) = report(folder).notices
    assert notice.kind == "stopped"
    assert notice.text.startswith("stopped: early (12 cells of figure-3): the solver stopped before the minimum")
    for page in ("leaderboard.md", "details.md"):
        assert "**early**: the solver stopped before the minimum" in (folder / page).read_text()


def test_who_was_skipped_is_said_once_and_literally(tmp_path: Path) -> None:
    made = plan(RISK, synthetic.Contender("trees", {"leaves": 31}, fails=dict.fromkeys(range(6), ("skipped", ADVICE))))
    made.contenders[1].fails = {2: ("diverged", "[bold]no[/bold] numbers")}
    made.contenders[3].fails = {1: ("error", "")}
    folder = write(tmp_path, made, "trees")
    found = report(folder).notices
    assert found == [
        Notice("diverged", "diverged: regression k=10 (2 cells of figure-3): [bold]no[/bold] numbers"),
        Notice("failed", "failed: logistic (2 cells of figure-3)"),
        Notice("skipped", f"skipped: trees (12 cells of figure-3): {ADVICE}"),
    ]
    page = synthetic.both_pages(folder)
    assert f"trees is not ranked: **skipped**, 6 of 6 repetitions: `{ADVICE}`\n" in page
    # In the order of the suite, the reason at length in the table's notes.
    assert "Not in the figure: `regression k=10` (diverged); `logistic` (failed); `trees` (skipped)." in page


def test_who_is_missing_at_some_n_only(tmp_path: Path) -> None:
    made = plan({"kind": "growth", "series": ["*"]})
    everything, _ = synthetic.blocks_of(made, {"design": 5})
    (data,) = synthetic.experiments(write(tmp_path, made))
    journal, cells = data.results, data.results.cells()
    gone = next(m.cell for m in everything if m.label == "logistic" and m.n == 400_000)
    cells[gone] = replace(cells[gone], status="timeout")
    record = journal.record()
    found = drawn_figures(ExperimentData(journal, record, record.experiments[0], journal.members(), cells))[0].drawing
    assert "logistic" in found.names
    assert found.left_out == (("logistic", "gave no answer in time", "status", "n = 400,000"),)


def test_what_is_not_computed_yet(tmp_path: Path) -> None:
    made = plan({"kind": "growth", "series": ["*"]})
    folder = synthetic.write(tmp_path, [made], {"design": 5}, order=[])
    assert {o.why for o in figure(folder).left_out} == {"not computed yet"}
    assert report(folder).notices == []
