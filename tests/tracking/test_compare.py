"""Comparing two results: paired where both saw the same, never real where nothing shows it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
from amounts import part_of, trials
from click.testing import CliRunner
from made_results import MadeResults
from numpy.typing import NDArray
from scipy import stats

from rankbench.cli import main
from rankbench.cli.shown import encoded
from rankbench.errors import InputError, SpecError
from rankbench.reports.results import report
from rankbench.store.records import StoredCell
from rankbench.tracking.commands import compare, comparison_annotations, comparison_answer
from rankbench.tracking.compare import compare_results
from rankbench.tracking.comparison import Change, ChangeSubject, Comparison, Family, Margin, untested
from rankbench.tracking.comparison_page import cells_of, columns_of, comparison_json, how_to_read
from rankbench.tracking.quality_changes import quality_changes
from rankbench.tracking.question import ALPHA, CompareQuestion

TIMES = [trials(150), pytest.param(2000, marks=pytest.mark.long)]
"""Simulated comparisons."""

NOISE = [(0.1, 0.0, 0.01), (0.0, 0.1, 0.01), (0.0, 0.0, 0.1), (0.03, 0.03, 0.1)]
"""Standard deviations by draw, by unit, and by cell."""

NONE = Margin()


def page_of(found: Comparison) -> str:
    """Return the page of a comparison in Markdown."""
    return encoded(comparison_answer(found), "md").decode()


def crossed(rng: np.random.Generator, draws: int, units: int, sds: tuple[float, float, float]) -> NDArray[np.float64]:
    by_draw, by_unit, by_cell = sds
    return (
        rng.normal(0, by_draw, (draws, 1)) + rng.normal(0, by_unit, (1, units)) + rng.normal(0, by_cell, (draws, units))
    )


def only(base: MadeResults, head: MadeResults, margin: Margin = NONE, alpha: float = ALPHA) -> Change:
    changes, _ = quality_changes(base, head, Family(margin, (), alpha))
    assert len(changes) == 1
    return changes[0]


@pytest.mark.parametrize(("draws", "units", "verdict"), [(2, 1, "changed"), (1, 3, "changed"), (12, 1, "worse")])
def test_few_losses_may_change_alike_by_chance(draws: int, units: int, verdict: str) -> None:
    base = np.full((draws, units), 0.3)
    found = only(MadeResults({"a": base}), MadeResults({"a": base + 0.05}))
    assert found.verdict == verdict
    assert found.p == pytest.approx(2.0 ** (1 - max(draws, units)))
    assert found.lower is None or math.isnan(found.lower)


def test_one_unit_is_the_paired_t_test() -> None:
    rng = np.random.default_rng(1)
    base, head = rng.normal(0.5, 0.1, (12, 1)), rng.normal(0.55, 0.1, (12, 1))
    found = only(MadeResults({"a": base}), MadeResults({"a": head}))
    told = stats.ttest_rel(head[:, 0], base[:, 0], alternative="greater")
    interval = stats.ttest_rel(head[:, 0], base[:, 0]).confidence_interval()
    assert found.p == pytest.approx(told.pvalue, rel=1e-6)
    assert (found.lower, found.upper) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert found.change == pytest.approx(float((head - base).mean()))


@pytest.mark.parametrize("margin", [NONE, Margin(0.01)])
def test_what_is_better_has_the_p_value_of_being_better(margin: Margin) -> None:
    rng = np.random.default_rng(1)
    base, head = rng.normal(0.5, 0.1, (12, 1)), rng.normal(0.3, 0.1, (12, 1))
    found = only(MadeResults({"a": base}), MadeResults({"a": head}), margin)
    told = stats.ttest_1samp((base - head)[:, 0], margin.size, alternative="greater")
    assert found.verdict == "better"
    assert found.p == pytest.approx(told.pvalue, rel=1e-6)


def test_another_seed_with_one_unit_is_welch() -> None:
    rng = np.random.default_rng(2)
    base, head = rng.normal(0.5, 0.1, (8, 1)), rng.normal(0.5, 0.3, (15, 1))
    found = only(MadeResults({"a": base}), MadeResults({"a": head}, seed=8))
    told = stats.ttest_ind(head[:, 0], base[:, 0], equal_var=False, alternative="greater")
    assert found.p == pytest.approx(told.pvalue, rel=1e-6)
    assert "independent repetitions" in found.rests


@pytest.mark.full
def test_stretches_that_are_like_their_neighbors_are_no_evidence_each() -> None:
    """25 stretches whose differences are an autoregression of .5: of equal ones a twentieth may differ (2 x .025)."""
    rng = np.random.default_rng(11)
    wrong = {"queries": 0, "stretches of time": 0}
    times = trials(600)
    for _ in range(times):
        noise = rng.normal(0, 0.1, 60)
        for t in range(1, 60):
            noise[t] += 0.5 * noise[t - 1]
        base = rng.normal(0.5, 0.1, (1, 25))
        head = base + noise[-25:]
        for judged_on in wrong:
            held = [MadeResults({"a": losses}, judged_on=judged_on) for losses in (base, head)]
            wrong[judged_on] += only(*held, alpha=0.025).verdict in ("worse", "better")
    print(wrong, times)
    assert wrong["queries"] > 0.18 * times
    assert wrong["stretches of time"] < 0.5 * wrong["queries"]


@pytest.mark.full
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize(("sds", "seed"), part_of(product(NOISE, [7, 8]), 3))
def test_no_false_alarms(sds: tuple[float, float, float], seed: int, times: int) -> None:
    """A whole leaderboard of twelve contenders where nothing changed: at most ALPHA are called worse."""
    rng = np.random.default_rng([20130501, seed])
    alarms = 0
    for _ in range(times):
        draws, units = int(rng.integers(2, 12)), int(rng.integers(2, 25))
        names = [f"c{i}" for i in range(12)]
        base = {name: 0.5 + crossed(rng, draws, units, (0.05, 0.1, 0.02)) for name in names}
        if seed == 7:
            head = {name: losses + crossed(rng, draws, units, sds) for name, losses in base.items()}
        else:
            own = {name: losses.mean(axis=0, keepdims=True) for name, losses in base.items()}
            head = {name: unit + crossed(rng, draws, units, (0.05, 0.0, 0.02)) for name, unit in own.items()}
        changes, notes = quality_changes(MadeResults(base), MadeResults(head, seed=seed), Family(Margin(), (), ALPHA))
        alarms += Comparison("", "", tuple(changes), "0", ALPHA, tuple(notes), declared="noise").exit_code == 1
    upper = stats.beta.ppf(0.95, alarms + 1, times - alarms)
    print(f"false alarms {alarms} of {times}, at most {upper:.4f}")
    assert stats.binomtest(alarms, times, ALPHA, alternative="greater").pvalue > 0.001


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("sds", [(0.1, 0.0, 0.0), (0.01, 0.0, 0.3)])
def test_four_standard_errors_are_found(sds: tuple[float, float, float], times: int) -> None:
    """In a gate of three cells and 30 blocks."""
    rng = np.random.default_rng(5)
    draws, units = 30, 20
    se = math.sqrt(sds[0] ** 2 / draws + sds[2] ** 2 / (draws * units))
    found = 0
    for _ in range(times):
        base = {name: 0.5 + crossed(rng, draws, units, (0.2, 0.2, 0.1)) for name in "abcdef"}
        head = {name: losses + crossed(rng, draws, units, sds) for name, losses in base.items()}
        head["a"] = head["a"] + 4 * se
        changes, _ = quality_changes(
            MadeResults(base), MadeResults(head), Family(Margin(), ("e/a", "e/b", "e/c"), ALPHA)
        )
        assert [one.what for one in changes] == ["a", "b", "c"]
        found += changes[0].verdict == "worse"
    print(f"found {found} of {times}")
    # Student's t with 29 degrees of freedom at .01 / 3 finds 4 standard errors in .85.
    assert stats.binomtest(found, times, 0.85, alternative="less").pvalue > 0.001


def test_margins_directions_and_the_byte() -> None:
    rng = np.random.default_rng(7)
    base, noise = rng.normal(0.5, 0.1, (20, 30)), rng.normal(0, 0.001, (20, 30))
    worse = MadeResults({"a": base + 0.02 + noise})
    assert only(MadeResults({"a": base}), worse).verdict == "worse"
    assert only(MadeResults({"a": base}), worse, Margin(0.03)).verdict == "changed"
    assert only(MadeResults({"a": base}), worse, Margin(0.02, relative=True)).verdict == "worse"
    assert only(MadeResults({"a": base}), worse, Margin(0.06, relative=True)).verdict == "changed"
    assert only(worse, MadeResults({"a": base})).verdict == "better"
    more = {"metrics": [{"name": "ndcg", "direction": "maximize"}]}
    assert only(MadeResults({"a": base}, **more), MadeResults({"a": base + 0.02 + noise}, **more)).verdict == "better"
    assert only(MadeResults({"a": base}), MadeResults({"a": base.copy()})).verdict == "equal"
    shifted = only(MadeResults({"a": base}), MadeResults({"a": base + 0.5}))  # no spread at all
    assert shifted.verdict == "worse"
    assert shifted.p == pytest.approx(2.0**-29)  # of 30 units


def test_what_cannot_be_compared_is_named() -> None:
    base = np.random.default_rng(8).normal(0.5, 0.1, (5, 6))
    one = MadeResults({"a": base, "gone": base})
    changes, notes = quality_changes(one, MadeResults({"a": base + 1, "new": base}), Family(Margin(), (), ALPHA))
    # What is gone is a row: whoever gates on it must not be told that all is well.
    assert [(change.what, change.verdict) for change in changes] == [("gone", "not tested"), ("a", "changed")]
    assert changes[0].where == "e, n = 100: it is gone"
    assert notes == ["new: e, n = 100, new"]
    for change, why in (
        ({"fingerprint": "cd" * 32}, "e: the data were web10k-like (sha256 abababababab), are"),
        ({"protocol": "btl:graph=star"}, "e: the protocol was btl, is btl:graph=star"),
        ({"units": {"design": [*"abcdef"]}}, "e: it is judged on other units"),
    ):
        changes, _ = quality_changes(one, MadeResults({"a": base}, **change), Family(Margin(), (), ALPHA))
        assert [change.verdict for change in changes] == ["not tested"]
        assert changes[0].where.startswith(why)
        assert Comparison("b", "h", tuple(changes), "0", ALPHA).exit_code == 3
    _, notes = quality_changes(
        one, MadeResults({"a": base}, versions={"rankbench": "9"}, cpu="new"), Family(Margin(), (), 0.1)
    )
    assert "changed: rankbench was 0.1.0, is 9" in notes
    assert "changed: the class of processor was x86-64-v3, is new" in notes


def test_rounding_is_no_change_and_the_smallest_change_is() -> None:
    """On the same judgments; with another seed nothing says which of two numbers code has changed."""
    losses = np.random.default_rng(4).normal(0.5, 0.1, (5, 6))
    base = MadeResults({"a": losses})
    nudged = losses.copy()
    nudged[2, 3] *= 1 + 1e-7
    for now, verdict, code in ((losses * (1 + 1e-11), "rounding", 0), (nudged, "changed", 1)):
        changes, _ = quality_changes(base, MadeResults({"a": now}), Family(NONE, (), ALPHA))
        assert [one.verdict for one in changes] == [verdict]
        assert Comparison("b", "h", tuple(changes), "0", ALPHA).exit_code == code
        assert Comparison("b", "h", tuple(changes), "0", ALPHA, declared="why").exit_code == 0
    assert only(base, MadeResults({"a": nudged}, cpu="another")).verdict == "rounding"  # the metric's own tolerance
    other = only(base, MadeResults({"a": losses + 0.01}, seed=8))
    assert (other.verdict, other.matched) == ("not significant", False)


def test_what_is_not_tested_is_counted_by_what_it_is() -> None:
    """A run with ``--only`` lacks contenders, each of which has several rows in base."""
    losses = np.random.default_rng(6).normal(0.5, 0.1, (5, 6))
    base, part = MadeResults({name: losses for name in "abc"}), MadeResults({"a": losses})
    changes, _ = quality_changes(base, part, Family(NONE, (), ALPHA))
    said = "The row is equal to the byte. Of base 2 contenders were not tested."
    assert Comparison("b", "h", tuple(changes), "0", ALPHA).sentence() == said
    whole, _ = quality_changes(base, MadeResults({"a": losses}, fingerprint="cd" * 32), Family(NONE, (), ALPHA))
    said = "Nothing could be compared. Of base 1 experiment was not tested."
    assert Comparison("b", "h", tuple(whole), "0", ALPHA).sentence() == said
    fewer, _ = quality_changes(part, MadeResults({"a": losses[:2]}), Family(NONE, (), ALPHA))
    said = "The row is equal to the byte. Of base 1 contender was tested in part."
    assert Comparison("b", "h", tuple(fewer), "0", ALPHA).sentence() == said
    pattern = untested("gate b: nothing that both have fits it", "")
    assert Comparison("b", "h", (pattern,), "0", ALPHA).sentence().endswith("Of base 1 gate pattern was not tested.")


def test_repetitions_that_are_gone_are_not_tested() -> None:
    """What both have is equal; with another seed repetitions are no pairs, and fewer of them are no loss."""
    losses = np.random.default_rng(6).normal(0.5, 0.1, (5, 6))
    base, fewer = MadeResults({"a": losses}), MadeResults({"a": losses[:2]})
    changes, _ = quality_changes(base, fewer, Family(NONE, (), ALPHA))
    assert [one.verdict for one in changes] == ["not tested", "equal"]
    assert changes[0].where == "e, n = 100: 3 of 5 repetitions are gone"
    assert Comparison("b", "h", tuple(changes), "0", ALPHA).exit_code == 3
    changes, notes = quality_changes(fewer, base, Family(NONE, (), ALPHA))
    assert [one.verdict for one in changes] == ["equal"]
    assert notes == ["new: e, n = 100, 3 of 5 repetitions"]
    assert only(base, MadeResults({"a": losses[:2]}, seed=8)).verdict == "not significant"


def test_a_metric_that_is_turned_is_suspected() -> None:
    """Every contender is better by far more than contenders differ; one that is better alone is no reason for it."""
    rng = np.random.default_rng(5)
    means = {name: rng.normal(0.7 + 0.01 * i, 0.02, (5, 8)) for i, name in enumerate("abcd")}
    base = MadeResults(means)
    turned, _ = quality_changes(
        base, MadeResults({name: 1 - one for name, one in means.items()}), Family(NONE, (), ALPHA)
    )
    said = Comparison("b", "h", tuple(turned), "0", ALPHA).sentence()
    assert said.startswith(
        "4 of 4 rows differ on the same judgments: 4 better, 0 worse, 0 too small to test (margin 0;"
    )
    assert "(e, n = 100, ndcg, design): a metric or the data may have changed." in said
    better, _ = quality_changes(base, MadeResults(means | {"a": means["a"] - 0.3}), Family(NONE, (), ALPHA))
    assert "may have changed" not in Comparison("b", "h", tuple(better), "0", ALPHA).sentence()


RANKED: dict[str, Any] = {
    "layout": "ranking",
    "metrics": [{"name": "ndcg", "direction": "maximize"}, {"name": "rank-low", "direction": "maximize"}],
}


def test_numbers_of_items_that_differ_are_listed() -> None:
    """By item, with the sign that has + be a fall: of a score less, of a place more; rounding is no change."""
    base = np.array([[1.0, 2.0, 3.0, np.nan, np.nan]])
    head = np.array([[1.0 + 1e-12, 2.5, 2.0, np.nan, 4.0]])
    units = {"units": {"design": [*"pqrst"]}}
    found, _ = quality_changes(
        MadeResults({"a": base, "b": base}, **RANKED, **units), MadeResults({"a": head, "b": base}, **RANKED, **units),
        Family(Margin(), (), ALPHA),
    )  # fmt: skip
    told = {one.where.rpartition(", ")[2]: one for one in found if one.verdict == "changed"}
    assert sorted(told) == ["q", "r", "t"]
    assert (told["q"].base, told["q"].head, told["q"].change) == (2.0, 2.5, -0.5)
    assert (told["r"].change, told["r"].about) == (1.0, "ranking")
    assert [one.what for one in found if one.verdict == "equal"] == ["b"]
    sentence = Comparison("b", "h", tuple(found), "0", ALPHA).sentence()
    assert sentence.startswith("3 of 4 rows differ on the same judgments: 0 better, 0 worse, 3 too small to test")


def test_who_finished_and_does_not_any_more_is_worse() -> None:
    losses = np.random.default_rng(8).normal(0.5, 0.1, (5, 6))
    base, head = (MadeResults({"a": losses, "b": losses}) for _ in range(2))
    for status, verdict in (("diverged", "worse"), ("error", "worse"), ("skipped", "worse")):
        lost = {"b|3": StoredCell(status, "why", math.nan, {})}  # type: ignore[arg-type]
        cells = head.cells() | lost
        head.cells = lambda held=cells: held  # type: ignore[method-assign, misc]
        changes, _ = quality_changes(base, head, Family(Margin(), (), ALPHA))
        told = {one.what: one for one in changes}
        assert (told["a"].verdict, told["b"].verdict) == ("equal", verdict)
        assert told["b"].where == f"e, n = 100: {status} (was done): 1 of 5 repetitions: why"
        assert "nan" not in page_of(Comparison("b", "h", tuple(changes), "0", ALPHA))
        back, notes = quality_changes(head, base, Family(Margin(), (), ALPHA))
        assert [one.what for one in back] == ["a"]
        assert notes == [f"done (was {status}): e, n = 100, b"]
    pending = {name: cell for name, cell in base.cells().items() if not name.startswith("b")}
    head.cells = lambda: pending  # type: ignore[method-assign]
    changes, _ = quality_changes(base, head, Family(Margin(), (), ALPHA))
    assert [(one.what, one.verdict) for one in changes] == [("b", "not tested"), ("a", "equal")]


def test_the_smallest_change_that_is_found_is_said_in_percent() -> None:
    """By Student's quantiles: margin and standard error give what 9 of 10 such comparisons find, as a share of base."""
    rng = np.random.default_rng(3)
    base, head = rng.normal(0.5, 0.01, (12, 1)), rng.normal(0.5, 0.01, (12, 1))
    found, _ = quality_changes(MadeResults({"a": base}), MadeResults({"a": head}), Family(Margin(), (), ALPHA))
    se = float((head - base).std(ddof=1)) / math.sqrt(12)
    least = se * (stats.t.ppf(1 - ALPHA, 11) + stats.norm.ppf(0.9))
    assert found[0].detectable_percent == pytest.approx(100 * least / base.mean(), rel=1e-6)
    fine = Comparison("b", "h", tuple(found), "0", ALPHA, declared="noise")
    assert fine.finds() == (
        f"The comparison detects a change of {found[0].detectable_percent:.2g}% of base or more with probability 0.9."
    )
    assert comparison_annotations(fine)[-1].startswith("::notice ")
    assert comparison_annotations(fine)[-1].replace("%25", "%").endswith(fine.finds())
    assert fine.finds() in page_of(fine)
    assert comparison_json(fine)["finds"] == fine.finds()
    coarse = replace(fine, changes=(replace(found[0], base=found[0].base / 20),))
    assert coarse.exit_code == 0
    assert comparison_annotations(coarse)[-1].startswith("::warning ")
    slow = Change("w", "c", 1.0, 1.0, 0.0, "not significant", "r", detectable=math.log(1.17), about="speed")
    assert slow.detectable_percent == pytest.approx(17)
    blind = replace(slow, detectable=math.log(2.13))
    assert Comparison("b", "h", (slow, blind), "0", ALPHA).finds() == (
        "The comparison detects a change of 17% of base or more with probability 0.9 in its most sensitive row; its "
        "least sensitive row needs 110%."
    )
    described = replace(found[0], verdict="described", detectable=math.nan, matched=False)
    nothing = Comparison("b", "h", (described,), "0", ALPHA)
    assert (nothing.exit_code, nothing.finds()) == (3, "")
    assert comparison_annotations(nothing)[-1].startswith("::warning title=rankbench compare - not tested::")


def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Return two runs, of which the second is worse."""
    plan = synthetic.small()
    base = synthetic.write(tmp_path / "base", [plan])
    worse = synthetic.small()
    for contender in worse.contenders:
        contender.effect += 0.05
    head = synthetic.write(tmp_path / "head", [worse])
    for folder in (base, head):
        (folder / "run.json").write_text("{}")
        report(folder)
    return base, head


def test_folders_and_published_ones(tmp_path: Path) -> None:
    base, head = folders(tmp_path)
    found = compare_results(base, head)
    assert found.exit_code == 1
    assert len(found.by_verdict("worse")) == len(found.changes)
    assert compare_results(head, base).exit_code == 1
    assert compare_results(head, base, CompareQuestion(declared="a better step")).exit_code == 0
    assert compare_results(base, head, CompareQuestion(declared="a better step")).exit_code == 1
    assert compare_results(base, base).by_verdict("equal") == list(compare_results(base, base).changes)
    report(base, tmp_path / "published")
    again = compare_results(tmp_path / "published", head)
    assert again.changes == found.changes


def test_refused(tmp_path: Path) -> None:
    base, head = folders(tmp_path)
    (tmp_path / "votes.csv").write_text("winner,loser\na,b\n")
    with pytest.raises(InputError, match="rankbench cannot compare these"):
        compare_results(base, tmp_path / "votes.csv")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no folder of a run"):
        compare_results(tmp_path / "empty", head)
    with pytest.raises(InputError, match=r"leaderboard\.csv: it is no folder of a run"):
        compare_results(base / "leaderboard.csv", head / "leaderboard.csv")  # means without their units
    with pytest.raises(SpecError, match="fits the gate nothing"):
        compare_results(base, head, CompareQuestion(gate=("nothing",)))
    (head / "journal.sqlite").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    with pytest.raises(InputError, match=r"journal\.sqlite"):
        compare_results(base, head)


@pytest.mark.full
def test_written_for_people_programs_and_runners(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base, head = folders(tmp_path)
    found = compare_results(base, head)
    page = page_of(found)
    assert "worse" in page
    assert "| verdict | where | contender |" in page
    assert json.loads(json.dumps(comparison_json(found), allow_nan=False))["exit_code"] == 1
    lines = comparison_annotations(found)
    assert lines[0].startswith("::error title=")
    rows = len(found.changes)
    assert lines[-1].startswith(f"::notice title=rankbench compare::{rows} of {rows} rows differ on the same judgments")
    tricky = Change("a\nb", "x::y,z%", 1.0, 2.0, 1.0, "worse", "r", p=0.001)
    line = comparison_annotations(Comparison("b", "h", (tricky,), "0", 0.01))[0]
    assert line == "::error title=x%3A%3Ay%2Cz%25 is worse::a%0Ab: 1 became 2 (p = 0.001)"
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    run = CliRunner().invoke(compare, [str(base), str(head), "--format", "github", "--out", str(tmp_path / "c.md")])
    assert run.exit_code == 1
    assert run.stdout.startswith("::error")
    written = (tmp_path / "c.md").read_text()
    assert summary.read_text() == written
    assert "".join(line for line in written.splitlines(keepends=True) if not line.startswith("- Next: ")) == page
    written = CliRunner().invoke(compare, [str(base), str(head), "--out", str(tmp_path / "c.html")]).stdout
    lines = CliRunner().invoke(compare, [str(base), str(head)]).stdout.splitlines()
    assert written.splitlines() == lines
    assert lines[0] == found.sentence()
    assert "change (+ worse)" in lines[2]
    same = CliRunner().invoke(compare, [str(base), str(base)])
    assert (same.exit_code, same.stdout) == (0, f"All {rows} rows are equal to the byte.\n")
    assert f"Next: rankbench history add {base} --to history" in same.stderr
    assert "Next: --declared WHY | --out comparison.html" in CliRunner().invoke(compare, [str(head), str(base)]).stderr
    undeclared = CliRunner().invoke(compare, [str(head), str(base), "--format", "github"])
    assert undeclared.exit_code == 1
    assert undeclared.stdout.startswith("::error title=A change of results that nobody declared::")
    # The workflow gives the lines that a pull request adds: none, as a rule.
    nothing = CliRunner().invoke(compare, [str(head), str(base), "--declared", "", "--format", "github"])
    assert (nothing.exit_code, nothing.stdout) == (1, undeclared.stdout)
    assert CliRunner().invoke(compare, [str(head), str(base), "--declared", "a better step"]).exit_code == 0
    margin = [str(base), str(head), "--declared", "a better step", "--worse-by"]
    assert CliRunner().invoke(compare, [*margin, "50%"]).exit_code == 0
    assert CliRunner().invoke(main, ["compare", *margin, "x"]).exit_code == 2


def test_columns_that_are_empty_for_all_rows_are_left_out() -> None:
    rows = [untested("e, n = 5: 2 of 4 repetitions are gone", name) for name in "ab"]
    for changes, columns in ((rows, 3), ([*rows, changed("quality")], 8)):
        answer = comparison_answer(Comparison("b", "h", tuple(changes), "0", 0.01))
        (table,) = answer.tables
        assert [len(table.columns), *map(len, table.rows)] == [columns] * (1 + len(changes))
        assert any("positive difference" in line for line in answer.footnotes) == (columns == 8)


def changed(about: ChangeSubject) -> Change:
    return Change("e, n = 5", "a", 1.0, 1.25, 0.25, "worse", "5 launches", 0.15, 0.35, 0.001, about=about)


@pytest.mark.parametrize(
    ("about", "head", "clause"),
    [
        (("quality",), "change (+ worse)", "A positive difference of a loss (ndcg: 1 - NDCG) is worse."),
        (("speed",), "change (+ slower)", "A positive share of a base time is slower."),
        (("memory",), "change (+ larger)", "A positive difference of peak memory is larger."),
        (("ranking",), "change (+ fell)", "A positive change of an item is a fall of its score."),
        (("speed", "quality"), "change (+ worse or slower)", "; a positive share of a base time is slower."),
    ],
)
def test_the_head_says_which_way(about: tuple[ChangeSubject, ...], head: str, clause: str) -> None:
    changes = [changed(one) for one in about]
    assert columns_of(changes)[5] == head
    assert len(columns_of(changes)) == len(cells_of(changes[0]))
    assert clause in how_to_read(changes)
    page = page_of(Comparison("b", "h", tuple(changes), "0", 0.01))
    assert page.index(clause) > page.index(f"| {head} |".replace("[", "\\[").replace("_", "\\_")) > 0
