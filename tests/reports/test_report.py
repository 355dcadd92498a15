"""The report: from the journal alone, the same bytes every time, safe to look at."""

from __future__ import annotations

import csv
import io
import math
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from synthetic import Contender, Plan

from rankbench.core.text import code, csv_cell, interval_text, markdown, natural, number, one_line
from rankbench.data.cards import cards
from rankbench.drawing.canvas import picture_bytes
from rankbench.errors import SpecError, StoreError
from rankbench.interfaces.protocol import NOBODY
from rankbench.interfaces.suite import Figure
from rankbench.reports.experiment_data import experiment_data_of
from rankbench.reports.figures import SampledResults
from rankbench.reports.footnotes import Group, data_lines, data_remarks
from rankbench.reports.results import Results, report
from rankbench.reports.standings import COLUMNS
from rankbench.store.published import open_results
from rankbench.store.records import SourceRecord
from rankbench.suites.figure_curves import Dots

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "leaderboard-columns.md"


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in report(folder).paths}


@pytest.mark.full
def test_the_same_bytes_whatever_the_order_of_blocks(tmp_path: Path) -> None:
    plan = synthetic.drawn()
    order = np.random.default_rng(0).permutation(12).tolist()
    one = everything(synthetic.write(tmp_path / "one", [plan]))
    two = everything(synthetic.write(tmp_path / "two", [plan], order=order))
    assert set(one) == {
        "leaderboard.html", "leaderboard.md", "details.md", "leaderboard.csv", "results.parquet",
        *(f"figures/figure-3{part}.{ending}" for part in ("", "-in-short") for ending in ("svg", "png", "csv")),
    }  # fmt: skip
    assert one == two == everything(tmp_path / "one")
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]


@pytest.mark.full
def test_resuming_gives_the_same_bytes(tmp_path: Path) -> None:
    plan = synthetic.drawn()
    whole = everything(synthetic.write(tmp_path / "whole", [plan]))
    synthetic.write(tmp_path / "resumed", [plan], order=[3, 1, 8])
    partial_run = everything(tmp_path / "resumed")
    assert b"partial: 2 of 6 repetitions" in partial_run["details.md"]
    assert b"**Partial:** 12 of 48 cells" in partial_run["leaderboard.md"]
    assert everything(synthetic.write(tmp_path / "resumed", [plan])) == whole


def test_parquet_rows(tmp_path: Path) -> None:
    plan = synthetic.claimed()
    plan.contenders.append(Contender("broken", {"k": 1}, fails=dict.fromkeys(range(6), ("diverged", "nan"))))
    plan.contenders.append(Contender("curved", {"k": 2}, curves=True))
    report(synthetic.write(tmp_path, [plan]))
    frame = pl.read_parquet(tmp_path / "results.parquet")
    keys = ["experiment", "n", "contender", "repetition", "metric", "split", "step"]
    assert frame.equals(frame.sort(keys, nulls_last=False))
    assert frame.select(keys).is_duplicated().sum() == 0
    headline = frame.filter(pl.col("metric") == "ndcg")
    assert headline.height == 6 * 2 * 6 * 2
    broken = headline.filter(pl.col("contender") == "broken")
    assert broken["value"].null_count() == broken.height == 24
    assert set(broken["reason"]) == {"nan"}
    curve = frame.filter(metric="exact-gap-last", n=200_000, repetition=0)
    assert curve["step"].to_list() == synthetic.STEPS.tolist()
    np.testing.assert_array_equal(curve["value"].to_numpy(), synthetic.curve_values(2.0, 200_000, 0))
    _, blocks = synthetic.blocks_of(plan, {"design": 40, "heldout": 30})
    found = headline.filter(n=200_000, repetition=0, contender="logistic", split="design")["value"].item()
    assert found == blocks[0].cells[3].losses["ndcg", "design"].mean()
    assert curve["values"].null_count() == curve.height
    by_query = headline.filter(n=200_000, repetition=0, contender="logistic").explode("units", "values")
    for split, count in (("design", 40), ("heldout", 30)):
        of_split = by_query.filter(split=split)
        assert of_split["values"].to_list() == blocks[0].cells[3].losses["ndcg", split].tolist()
        assert of_split["units"].n_unique() == of_split.height == count
    assert broken["units"].null_count() == broken["values"].null_count() == 24


def test_a_ranking_of_items_is_said_first(tmp_path: Path) -> None:
    """Read from the journal, which is closed when the report is made."""
    plan = synthetic.small()
    plan.losses, plan.n, plan.repetitions = ("score", "lower", "upper", "rank-low", "rank-high"), (100,), 1
    found = report(synthetic.write(tmp_path, [plan], {"design": 5}, layout="ranking"))
    assert found.headline.sentences[0].startswith("By regression k=1, **")
    assert f"\n{found.headline.sentences[0]}" in synthetic.both_pages(tmp_path)


@pytest.mark.parametrize(
    ("least", "said"),
    [
        (10, "**b** has the highest score of 3 items with at least 10 judgments; 2 of them may be first"),
        (30, "**c** has the highest score of 2 items with at least 30 judgments, and alone of them may be first"),
        (0, "**a** has the highest score of 4 items; 3 of them may be first"),
        (1000, "**a** has the highest score of 4 items; 3 of them may be first"),
    ],
)
def test_only_items_with_enough_judgments_may_be_first(tmp_path: Path, least: int, said: str) -> None:
    """Item a was judged once and may hold any place; where none has enough judgments, all count."""
    found = four_items(tmp_path, least)
    assert found.headline.sentences == (f"By one, {said} (95%, all places at once).",)
    units = pl.read_csv(tmp_path / "units.csv")
    assert units["unit"].unique(maintain_order=True).to_list() == list("abcd")


def test_items_of_one_score_are_first_together(tmp_path: Path) -> None:
    found = four_items(tmp_path, 0, (1, 1, 1, 0), (3, 3, 3, 0))
    said = "By one, **a** and 2 others have the highest score of 4 items; 3 of them may be first"
    assert found.headline.sentences[0].startswith(said)


MARKED = r"(marked \* in the tables; comparisons with the best, 95%)"


def four_items(
    tmp_path: Path, least: int, first: tuple[float, ...] = (), scores: tuple[float, ...] = (3, 2, 1, 0)
) -> Results:
    """Report a ranking of four items, with or without the metric of those that may be first."""
    losses = ("score", "lower", "upper", "rank-low", "rank-high", "votes", *["may-be-first"] * bool(first))
    plan = Plan("items", [Contender("one", {})], (100,), 1, "", losses, {"least_judgments": least})
    members, (block,) = synthetic.blocks_of(plan, {"design": 4})
    columns = [[*scores], [math.nan, 1, 0, -1], [math.nan, 3, 2, 1], [1, 1, 1, 4], [4, 2, 3, 4], [1, 20, 30, 40]]
    columns += [[*first]] * bool(first)
    values = {(name, "design"): np.array(column, float) for name, column in zip(losses, columns, strict=True)}
    block.cells[0].losses.update(values)
    record = synthetic.record([plan], {"design": 4}, layout="ranking", units={"design": list("abcd")})
    with synthetic.Store(tmp_path) as store:
        store.begin(record, members)
        store.commit(block)
    return report(tmp_path)


@pytest.mark.parametrize(
    ("first", "said", "low", "high"),
    [
        (
            (1, 1, 0, 0),
            f"has the highest score of 4 items; 2 of them may be first {MARKED}",
            [1, 1, 2, 4],
            [4, 2, 3, 4],
        ),
        ((1, 0, 0, 0), f"is first of 4 items {MARKED}", [1, 2, 2, 4], [1, 2, 3, 4]),
        ((math.nan,) * 4, "has the highest score of 4 items", [1, 1, 1, 4], [4, 2, 3, 4]),
    ],
)
def test_ranges_begin_with_1_for_items_that_may_be_first(
    tmp_path: Path, first: tuple[float, ...], said: str, low: list[int], high: list[int]
) -> None:
    """Comparisons with the best decide, and nothing is said without intervals. Stored ranges stay."""
    found = four_items(tmp_path, 0, first)
    assert found.headline.sentences == (f"By one, **a** {said}.",)
    page = (tmp_path / "leaderboard.md").read_text()
    marked = [item for item, one in zip("abcd", first, strict=True) if one == 1]
    assert re.findall(r"^\| (\w) \| [^|]+ \| [^|]+ \| 1(?: to \d)? \* \|", page, re.M) == marked
    units = pl.read_csv(tmp_path / "units.csv")
    assert [units.filter(metric=f"rank-{end}")["value"].to_list() for end in ("low", "high")] == [low, high]
    stored = pl.read_parquet(tmp_path / "results.parquet").filter(metric="rank-low")
    assert stored["values"].item().to_list() == [1, 1, 1, 4]
    with open_results(tmp_path) as results:
        drawing = Dots().drawing(Figure(kind="dots", file="items"), SampledResults(*experiment_data_of(results)))
    assert [dot.row for dot in drawing.plots[0][0].dots if " *," in dot.note] == marked
    assert drawing.bands.endswith("*: may be first")


def test_every_column_is_documented_in_order() -> None:
    table = DOCS.read_text().split("## Columns of `leaderboard.csv`")[1].split("\n## ")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \| \S", table, re.MULTILINE)) == COLUMNS


def test_csv(tmp_path: Path) -> None:
    plan = synthetic.claimed()
    plan.contenders[1].label = '=cmd|"/c calc"!A1, and\x1b[31m more'
    report(synthetic.write(tmp_path, [plan]))
    text = (tmp_path / "leaderboard.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 16
    assert tuple(rows[0]) == COLUMNS
    assert rows[1]["contender"] == '\'=cmd|"/c calc"!A1, and[31m more'
    assert "\x1b" not in text
    assert "-0.000000" not in text
    assert "nan" not in text
    assert re.fullmatch(r"0\.\d{6}", rows[0]["mean"])
    assert rows[0]["simulated"] == "true"
    assert rows[0]["optimality"] == "6.00e-09"


@pytest.mark.full
def test_markdown_says_what_matters_first(tmp_path: Path) -> None:
    plan = synthetic.drawn()
    plan.extra |= synthetic.claimed().extra
    plan.contenders[0].share_complete = 0.3
    text = synthetic.page(tmp_path, plan, notes=["n was scaled by 1/2"])
    lines = text.split("\n")
    assert lines[0].startswith("# ")
    assert lines[2] == "**SIMULATED.**"
    places = [text.index(words) for words in (
        "On held-out queries ", " On design queries ",
        "**Do the claims hold?** 1 claim, judged on several kinds of data: on held-out queries held 1; on design ",
        "| contender | held-out queries |", "figures/figure-3-in-short.svg", "[How to read]",
        "## Each experiment", "**C1** Small k is worse. | **held** | **held** |",
        "Verify: `rankbench verify", ": details\n", "## Words of the tables", "n = 400,000, 6 repetitions",
        "Also in [leaderboard.csv](leaderboard.csv)", "n = 200,000, 6 repetitions", "## The contrasts of the claims",
        "ab" * 32, "- Labels are nonlinear", "n was scaled by 1/2.",
    )]  # fmt: skip
    assert places == sorted(places)
    assert "30% at k = 1" in text
    assert "at each order: k=1 3.0e-03, k=10 3.0e-03, k=inf 3.0e-03, logistic 3.0e-03." in text
    assert "Budget" not in text
    assert "6.0e-09" in text
    assert re.search(r"\| 1 to 2 \| \*\*regression k=inf\*\* \| 0\.\d{4} \| \[0\.\d{4}, 0\.\d{4}\] ", text)
    assert "| baseline |  |" in text
    assert "nan" not in text
    real = synthetic.page(tmp_path / "real", synthetic.claimed(), simulated=False, assumptions=[])
    assert "simulated" not in real.lower()


def test_the_budget_of_stochastic_contenders(tmp_path: Path) -> None:
    plan = synthetic.claimed()
    for contender in plan.contenders[:2]:
        contender.info = {"flops": 5.4e9, "steps": 100_000.0, "mc_error": 0.0}
    plan.contenders[3].info = {"flops": 5.4e7, "iterations": 100_000.0}
    text = synthetic.page(tmp_path, plan)
    budget = "100,000 steps, 5.4e+09 floating-point operations each (logistic: 5.4e+07)."
    assert text.count(f"Budget of the stochastic contenders: {budget}") == 1
    assert "at each order: k=inf 3.0e-03, logistic 3.0e-03." in text


COINCIDE = {"kind": "coincide", "text": "They coincide", "margin": 0.5, "metric": "exact-gap-last", "steps": [1000],
            "contrasts": [{"a": "SGD k=1", "b": "SGD k=10"}]}  # fmt: skip


def curved(*claims: dict[str, Any]) -> Plan:
    plan = synthetic.claimed(*claims)
    plan.contenders += [Contender(f"SGD k={k}", {"k": k}, curves=True) for k in (1, 10)]
    return plan


def test_claims_about_curves_are_about_the_design_queries(tmp_path: Path) -> None:
    text = synthetic.page(tmp_path, curved(COINCIDE, {"contrasts": [{"a": "regression k=1", "b": "logistic"}]}))
    assert "**C1** They coincide. | — | **held** (over repetitions) |" in text
    refuted = r"\*\*did not hold here\*\* \(regression k=1 vs logistic, n = \d00,000; and 1 more\)"
    assert re.search(rf"\*\*C2\*\* Small k is worse. \| {refuted} \| {refuted} \|", text)
    assert text.index("does not refute the paper") < text.index("**C1** They coincide. |")


def test_curves_have_the_split_and_direction_that_the_protocol_declares(tmp_path: Path) -> None:
    declared = {"exact-gap-last": ("heldout", "maximize")}
    text = synthetic.page(tmp_path, curved(COINCIDE), queries={"heldout": 30}, curves=declared)
    rows = pl.read_parquet(tmp_path / "results.parquet").filter(pl.col("step").is_not_null())
    found = {metric: place for metric, *place in rows.select("metric", "split", "direction").unique().rows()}
    assert found.pop("exact-gap-last") == ["heldout", "maximize"]
    assert list(found.values()) == [["design", "minimize"]] * 2
    assert "| claim | held-out queries |" in text
    assert "**C1** They coincide. | **held** (over repetitions) |" in text


def test_a_line_for_each_data_set_says_what_is_real_and_how_much_there_is() -> None:
    """Cards and simulators say how much they have; of a log that is no card's, its number of votes is said."""
    sizes, card = {"design": 2, "heldout": 2}, cards()["mq2008"]
    nobody = [f"{NOBODY}: every judgment is simulated", "Losses compare scores with labels."]
    real = {"dataset": card.name, "fingerprint": card.fingerprint, "simulated": False, "assumptions": nobody}
    votes = {"dataset": "v.csv", "simulated": False, "assumptions": ["a is read as left"], "counts": "votes"}
    real, own = synthetic.source(sizes, **real), synthetic.source({"heldout": 1}, **votes)
    items = synthetic.source({"design": 5}, layout="ranking", splits={"design": "Items"}, **votes)
    made = synthetic.source({"design": 50}, dataset="", assumptions=["50 populations of 10 items; a law"])
    sources = {"figure-3": (real, (10, 20), (5,)), "methods": (own, (300,), (1, 25)), "btl": (made, (10,), (1,))}
    groups = [Group((SourceRecord.model_validate(one),), (name,), *more) for name, (one, *more) in sources.items()]
    groups.insert(2, Group((SourceRecord.model_validate(items),), ("items",), (300,), ()))
    assert data_lines(groups) == [
        "**REAL features and labels, SIMULATED judgments** (figure-3): `mq2008` ("
        f"{card.title}); 2 design queries; 2 held-out queries; 10 to 20 judgments; 5 repetitions. "
        "[Assumptions](details.md#the-data).",
        "**REAL** (methods, items): `v.csv`; 5 items; 300 votes; 1 to 25 repetitions.",
        "**SIMULATED** (btl): 50 populations of 10 items; 10 judgments; 1 repetition. "
        "[Assumptions](details.md#the-data).",
    ]
    assert data_remarks(groups) == ["a is read as left."]
    assert data_lines(groups[3:])[0].startswith("**SIMULATED**: 50 populations")


def test_trouble_is_a_footnote(tmp_path: Path) -> None:
    plan = synthetic.claimed()
    plan.contenders.append(Contender("a|b", {"k": 9}, fails={0: ("diverged", "left <b>the</b>\nnumbers | at 5")}))
    plan.contenders.append(Contender("k=99", {"k": 99, "lambda": 0.001, "aggregator": {"name": "mean-log-odds"}},
                                     share_complete=1.0, cell_of="regression k=inf"))  # fmt: skip
    plan.contenders[2].share_complete = 1.0
    text = synthetic.page(tmp_path, plan)
    assert r"a\|b is not ranked: **diverged**, 1 of 6 repetitions: `left <b>the</b> numbers | at 5`" in text
    assert r"| diverged | a\|b |" in text
    assert "† k=99: no query has more judgments than k" in text
    assert "k=99 †" in text


@pytest.mark.parametrize(
    ("repetitions", "said"),
    [
        (1, "One repetition: intervals and ranks are over queries alone"),
        (2, "With fewer than 4 repetitions, which may agree by chance, means and differences have no intervals"),
    ],
)
def test_few_repetitions_tell_little(tmp_path: Path, repetitions: int, said: str) -> None:
    plan = synthetic.claimed()
    plan.repetitions = repetitions
    text = synthetic.page(tmp_path, plan)
    assert text.count(said) == 2  # on the first screen and in the details
    assert "95% interval —" not in text
    assert "could not tell | could not tell" in text
    # No difference is significant after two, so no contender is bold.
    assert bool(re.search(r"\| regression k=inf \| 0\.\d{4} \| — \| — \|", text)) is (repetitions == 2)


@pytest.mark.full
def test_a_plan_without_results(tmp_path: Path) -> None:
    text = synthetic.page(tmp_path, synthetic.drawn(), *synthetic.paper()[:1], order=[])
    assert "**Partial:** 0 of" in text
    assert "| pending | logistic |" in text


@pytest.mark.full
def test_a_figure_of_results_is_that_of_the_folder(tmp_path: Path) -> None:
    """Without a name it is the one that the leaderboard begins with: most is claimed of it."""
    plan, same_as = synthetic.drawn("first"), synthetic.drawn("second")
    same_as.name, same_as.extra = "twin", same_as.extra | synthetic.claimed().extra
    found = report(synthetic.write(tmp_path, [plan, same_as]))
    for asked, file in (("", "second"), ("first", "first")):
        for end, data in picture_bytes(found.plot(asked)).items():
            assert data == (tmp_path / "figures" / f"{file}.{end}").read_bytes()
    with pytest.raises(SpecError, match="no figure 'third'; figures: first, second"):
        found.plot("third")


@pytest.mark.full
def test_figures_that_the_plan_does_not_draw_are_deleted_but_not_through_a_link(tmp_path: Path) -> None:
    run, elsewhere = synthetic.write(tmp_path / "run", [synthetic.drawn()]), tmp_path / "elsewhere"
    figures = run / "figures"
    for place in (figures, elsewhere):
        place.mkdir()
        for name in ("old.svg", "old.png", "notes.txt"):
            (place / name).write_text("x")
    (run / "mine.svg").write_text("x")
    report(run)
    drawn = [f"{name}.{end}" for name in ("figure-3-in-short", "figure-3") for end in ("csv", "png", "svg")]
    assert sorted(path.name for path in figures.iterdir()) == [*drawn, "notes.txt"]
    report(synthetic.write(run, [synthetic.small()]))
    assert [path.name for path in figures.iterdir()] == ["notes.txt"]
    assert (run / "mine.svg").exists()
    shutil.rmtree(figures)
    figures.symlink_to(elsewhere)
    report(run)
    assert len(list(elsewhere.iterdir())) == 3


def test_no_journal_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no results here"):
        report(tmp_path)
    assert not list(tmp_path.iterdir())
    (tmp_path / "leaderboard.json").write_text('{"probes": []}', encoding="utf-8")
    with pytest.raises(StoreError, match="rankbench audit LOG --out"):
        report(tmp_path)


@given(st.text())
def test_text_from_outside_stays_on_one_line_without_control_characters(text: str) -> None:
    for safe in (one_line(text), markdown(text), code(text), csv_cell(text)):
        assert safe.isprintable() or not safe or " " in safe
        assert "\n" not in safe
        assert "\x1b" not in safe
        assert "\u202e" not in safe
    assert csv_cell(text)[:1] not in ("=", "+", "-", "@")
    assert not re.search(r"(?<!\\)\|", markdown(text).replace("\\\\", ""))
    assert "<" not in markdown(text)


def test_numbers() -> None:
    assert [number(v) for v in (0.12345, -1e-9, float("nan"), -0.5)] == ["0.1235", "0.0000", "—", "-0.5000"]
    assert [number(v, sign=True) for v in (0.0, -0.0, 1e-17)] == ["0"] * 3
    assert number(0.5, sign=True) == "+0.5000"
    assert [number(v) for v in (-1e15, 12345678e90, 999e12)] == ["-1.0000e+15", "1.2346e+97", "999000000000000.0000"]
    assert number(2e15, 2, sign=True) == "+2.00e+15"
    assert interval_text(-0.1, 0.2, 2, sign=True) == "[-0.10, +0.20]"
    assert interval_text(float("nan"), 0.2) == "—"


def test_labels_sort_by_their_numbers() -> None:
    labels = ["k=1 l=1e-06", "k=1 l=0.001", "k=1 l=1", "k=3", "k=10", "k=1000", "k=inf", "z"]
    assert sorted(reversed(labels), key=natural) == labels
    assert len({natural(label) for label in ("k=1", "k=1.5", "k1", "information", "")}) == 5
