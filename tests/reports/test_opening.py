"""How a leaderboard begins: every sentence is one that the intervals of its tables support."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from synthetic import Contender, Plan

from rankbench.core.text import mean_text
from rankbench.interfaces.cell import CellResult
from rankbench.plugin import manager
from rankbench.reports import claims_section
from rankbench.reports.claims_section import _interval
from rankbench.reports.leaders import Leaders, best_and_verdict, headline_section, leaders_of, said_of_leaders
from rankbench.reports.results import report
from rankbench.reports.standings import Standing, oracle_mark
from rankbench.reports.tables import difference_verdict
from rankbench.store.store import Store
from rankbench.suites.suite_files import read_suite


def row(label: str, mean: float, low: int, high: int) -> Standing:
    own = {"mean": mean, "rank_low": low, "rank_high": high}
    return Standing("e", "d", False, 10, label, label, "ndcg", "minimize", "design", **own)  # type: ignore[arg-type]


def found(*rows: Standing, few: frozenset[str] = frozenset()) -> Leaders:
    return Leaders(10, "design", "queries", rows, repetitions=2, unranked=few)


@pytest.mark.parametrize(
    ("leaders", "said"),
    [
        (
            found(row("a", 0.1, 1, 1), row("b", 0.2, 2, 2)),
            "**a** is the best of 2 contenders with 95% confidence",
        ),
        (
            found(row("a", 0.1, 1, 2), row("b", 0.2, 1, 2)),
            "**a** has the best mean; the two contenders do not differ significantly",
        ),
        (
            found(row("a", 0.1, 1, 2), row("b", 0.2, 1, 3), row("c", 0.3, 2, 3)),
            "**a** has the best mean; 2 of 3 contenders may be the best (a, b); 1 other is",
        ),
        (
            found(row("a", 0.1, 1, 1), row("b", 0.2, 2, 3), row("c", 0.3, 2, 3)),
            "**a** is the best of 3 contenders with 95% confidence",
        ),
        (
            found(row("a", 0.1, 1, 2), row("b", 0.1, 1, 2), row("c", 0.3, 3, 3)),
            "2 of 3 contenders have the same best mean (a, b); 1 other is significantly worse",
        ),
        (
            found(row("a", 0.1, 1, 3), row("b", 0.1, 1, 3), row("c", 0.1, 1, 3)),
            "all 3 contenders have the same mean; no two of the 3 contenders differ significantly",
        ),
        (
            found(row("a", 0.1, 1, 3), row("b", 0.1 + 1e-16, 1, 3), row("c", 0.3, 1, 3)),
            "2 of 3 contenders have the same best mean (a, b); no two of the 3 contenders differ significantly",
        ),
        (
            found(row("a", 0.1, 1, 3), row("b", 0.1, 1, 3), row("c", 0.2, 1, 3), row("d", 0.3, 4, 4)),
            "2 of 4 contenders have the same best mean (a, b); 3 of 4 contenders may be the best (a, b, c); 1 other is",
        ),
        (
            found(row("a", 0.1, 1, 2), row("b", 0.1, 1, 2), few=frozenset("ab")),
            "both contenders have the same mean; 2 repetitions are too few to rank the contenders",
        ),
        (
            found(row("a, b", 0.1, 1, 2), row("c", 0.2, 1, 3), row("d", 0.3, 2, 3)),
            "**a, b** has the best mean; 2 of 3 contenders may be the best (a, b; c)",
        ),
        (found(), "no contender is ranked: there are no intervals"),
        (
            Leaders(10, "design", "queries", (), only_oracles=True),
            "no contender is called the best: every contender is an oracle",
        ),
        (found(row("a", 0.1, 1, 1)), "**a** is alone"),
        (
            found(row("a", 0.1, 1, 2), row("b", 0.2, 1, 2), few=frozenset("ab")),
            "**a** has the best mean; 2 repetitions are too few to rank the contenders; at least 4 are needed",
        ),
        (
            found(row("a", 0.1, 1, 2), row("b", 0.2, 2, 3), row("c", 0.3, 1, 3), few=frozenset("c")),
            "**a** has the best mean; 2 of 3 contenders may be the best (a, c); 1 other is significantly worse than "
            "the best; 2 repetitions are too few to rank c; at least 4 are needed",
        ),
        (
            found(row("a", 0.1, 1, 2), row("b", 0.2, 1, 2), few=frozenset(["truth"])),
            "**a** has the best mean; the two contenders do not differ significantly",
        ),
        (found(few=frozenset("ab")), "2 repetitions are too few to rank the contenders; at least 4 are needed"),
    ],
)
def test_who_is_best_is_what_the_ranges_say(leaders: Leaders, said: str) -> None:
    assert said_of_leaders(leaders).startswith(said)
    assert leaders.sure is ("is the best of" in said)


def test_the_only_contender_that_may_be_the_best_is_no_tie() -> None:
    best, last = row("a", 0.1, 1, 1), row("c", 0.3, 2, 3)
    assert best_and_verdict(found(best, row("b", 0.2, 2, 3), last))[1] == "the best of 3"
    assert best_and_verdict(found(best, row("b", 0.2, 1, 3), last))[1] == "not significant: 2 of 3 may be the best"


@pytest.mark.parametrize(
    ("mean", "shown"), [(0.0, "0"), (1e-17, "0"), (2.84e-5, "2.8e-05"), (-3e-7, "-3.0e-07"), (6e-5, "0.0001")]
)
def test_a_mean_that_is_not_zero_does_not_look_like_it(mean: float, shown: str) -> None:
    assert mean_text(mean) == shown
    assert best_and_verdict(found(row("a", mean, 1, 1), row("b", 1.0, 2, 2)))[0] == f"**a** {shown}"


def leaders_in(folder: Path, contenders: list[Contender], repetitions: int = 8, **extra: object) -> list[Leaders]:
    plan = Plan("e", contenders, n=(200_000,), repetitions=repetitions, extra=dict(extra))
    return leaders_of(synthetic.analysis(synthetic.write(folder, [plan])).sections[0])


def test_who_knows_the_answer_is_not_called_the_best(tmp_path: Path) -> None:
    contenders = [Contender("truth", {}, 0.0, noise=0.0), Contender("good", {}, 0.1, noise=0.0),
                  Contender("bad", {}, 0.2, noise=0.0)]  # fmt: skip
    plain = leaders_in(tmp_path / "plain", contenders)
    known = leaders_in(tmp_path / "known", contenders, oracles=["tr*"])
    assert [one.rows[0].contender for one in plain] == ["truth"] * 2
    assert [one.rows[0].contender for one in known] == ["good"] * 2
    # Among contenders its place is the first: the oracle takes none.
    assert [(one.rows[0].rank_low, one.rows[0].rank_high, one.sure) for one in known] == [(1, 1, True)] * 2
    assert not any(one.only_oracles for one in known)
    (table,) = [row for row in report(tmp_path / "known").headline.rows if row.oracle and row.split == "design"]
    assert (table.contender, table.shown, table.rank_low) == ("truth", "truth (oracle)", None)
    board = pl.read_csv(tmp_path / "known" / "leaderboard.csv")
    assert board.filter(pl.col("oracle"))["contender"].unique().to_list() == ["truth"]
    text = synthetic.both_pages(tmp_path / "known")
    assert "| 1 | **good** |" in text
    assert "| — | truth (oracle) |" in text
    assert "**good** is the best of 2 contenders with 95% confidence." in text
    assert " An oracle knows the truth, and is no contender for the best." in text


def test_a_page_of_oracles_alone_says_so(tmp_path: Path) -> None:
    plan = [Plan("e", [Contender("truth", {}, 0.0), Contender("near", {}, 0.1)], n=(10,), extra={"oracles": ["*"]})]
    report(synthetic.write(tmp_path, plan))
    text = synthetic.both_pages(tmp_path)
    assert "no contender is called the best: every contender is an oracle" in text
    assert "no contender is ranked" not in text


@pytest.mark.parametrize("repetitions", [1, 8])
def test_one_draw_makes_nobody_the_best(tmp_path: Path, repetitions: int) -> None:
    contenders = [Contender("good", {}, 0.0, noise=0.001), Contender("bad", {}, 0.2, noise=0.001)]
    found = leaders_in(tmp_path, contenders, repetitions)
    assert [one.one_draw for one in found] == [repetitions == 1] * 2
    assert [one.ahead for one in found] == [True] * 2
    assert [one.sure for one in found] == [repetitions == 8] * 2
    other = " as trained in the one repetition; others may differ" * (repetitions == 1)
    said = f"**good** is the best of 2 contenders with 95% confidence{other}"
    assert {said_of_leaders(one) for one in found} == {said}
    report(tmp_path)
    text = synthetic.both_pages(tmp_path)
    assert ("not known for others" in text) is (repetitions == 1)


@pytest.mark.parametrize("one_draw", [True, False])
def test_who_is_behind_after_one_draw_is_so_as_trained_on_it(one_draw: bool) -> None:
    leaders = found(row("a", 0.1, 1, 2), row("b", 0.2, 1, 2), row("c", 0.9, 3, 3))
    said = said_of_leaders(leaders._replace(one_draw=one_draw))
    assert said.endswith(
        "; 1 other is significantly worse than the best" + " as trained in the one repetition" * one_draw
    )


def test_a_page_begins_with_what_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = synthetic.record
    more = {"asks": "Who ranks best?", "left_out": {"by-time": "the log does not say when"}}
    monkeypatch.setattr(synthetic, "record", lambda *given, **named: record(*given, **named) | more)
    page = synthetic.page(tmp_path, synthetic.small())
    lines = page.splitlines()
    assert lines[2] == "**SIMULATED.** Who ranks best?"
    assert re.match(r"On held-out queries \*\*.+ On design queries \*\*", lines[4])
    sizes = "40 design queries; 30 held-out queries; 200,000 to 400,000 judgments; 6 repetitions. [Assumptions]"
    assert f"- **SIMULATED**: `web10k-like` (Labels are nonlinear in the features); {sizes}" in page
    assert "`figure-3`, n = 400,000 judgments; `ndcg` loss, less is better; in brackets 95% intervals" in page
    # What is not there comes after what is, and what the words of a table mean is said.
    left = "- Rankbench leaves out by-time (the log does not say when)."
    assert page.index(left) > page.index("On held-out queries ")
    assert "- `ndcg` loss: `rankbench info ndcg` describes it. Chance level: none declared." in page
    assert "- *design queries*: with training judgments, as in the paper." in page


def test_the_data_say_what_scores_are_compared_with(tmp_path: Path) -> None:
    assumptions = ["100 queries.", "Losses compare scores with the limit scores (27), as ever. They differ."]
    data = synthetic.page(tmp_path, synthetic.small(), assumptions=assumptions).split("## Data in short")[1]
    assert "\n- Losses compare scores with the limit scores (27), as ever.\n" in data
    assert "They differ" not in data[: data.index("Verify: ")]


@pytest.mark.parametrize("name", sorted(manager.suites()))
def test_every_suite_says_what_it_asks(name: str) -> None:
    assert re.fullmatch(r"[A-Z].{20,}\?", read_suite(manager.suites()[name]).asks)


def test_the_headline_is_what_most_is_claimed_of(tmp_path: Path) -> None:
    second = synthetic.claimed()
    second.name = "other"
    headline = headline_section(synthetic.analysis(synthetic.write(tmp_path, [synthetic.small(), second])))
    assert headline.data.experiment.name == "other"


def test_a_comparison_of_oracles_is_no_headline(tmp_path: Path) -> None:
    second = synthetic.claimed()
    second.name = "other"
    second.extra = {**second.extra, "oracles": [one.label for one in second.contenders]}
    headline = headline_section(synthetic.analysis(synthetic.write(tmp_path, [synthetic.small(), second])))
    assert headline.data.experiment.name != "other"


@pytest.mark.full
def test_the_first_screen_names_experiments_that_do_not_confirm_the_best(tmp_path: Path) -> None:
    """The headline's best has the worst mean in one other experiment, and is the best in the next one."""
    plans = []
    for name, order in (("a", (0, 1, 2)), ("b", (1, 2, 0)), ("c", (0, 2, 1))):
        losses = {label: 0.1 * place for place, label in enumerate(order)}
        contenders = [Contender(f"c{i}", {"k": i + 1}, losses[i], noise=0.001) for i in range(3)]
        plans.append(Plan(name, contenders, repetitions=8, baseline="c1", extra=synthetic.drawn().extra))
    report(synthetic.write(tmp_path, plans, {"heldout": 30}))
    text = (tmp_path / "leaderboard.md").read_text()
    assert text.count("not confirmed") == 1
    assert "3 contenders with 95% confidence (not confirmed by `b`, see *Each experiment*)." in text


def test_contenders_are_the_same_elsewhere_by_their_specs_not_by_their_labels(tmp_path: Path) -> None:
    """The best of `a` is the best of `b` by another label; its label stands for the worst one of `b`."""
    plans = []
    for name, labels, k in (("a", ("x", "y", "z"), (1, 2, 3)), ("b", ("w", "y", "x"), (1, 2, 4))):
        losses = zip(labels, k, (0.0, 0.1, 0.2), strict=True)
        contenders = [Contender(label, {"k": value}, loss, noise=0.001) for label, value, loss in losses]
        plans.append(Plan(name, contenders, repetitions=8, baseline="y", extra=synthetic.drawn().extra))
    report(synthetic.write(tmp_path, plans, {"heldout": 30}))
    page, details = ((tmp_path / name).read_text() for name in ("leaderboard.md", "details.md"))
    assert "not confirmed" not in page
    assert "- **x** is `erm:label=0` in a, but `erm:label=2` in b.\n" in page
    assert "**y** is" not in page
    assert "- Each experiment labels its contenders: `erm:label=0` is **x** in a, but **w** in b.\n" in details


@pytest.mark.full
def test_the_best_by_one_loss_that_is_worse_by_another_is_said_to_be_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = synthetic._cell

    def turned(*given: Any) -> CellResult:
        cell = made(*given)
        return replace(cell, losses={at: 1 - one if at[0] == "err" else one for at, one in cell.losses.items()})

    monkeypatch.setattr(synthetic, "_cell", turned)
    contenders = [Contender(f"c{i}", {"k": i + 1}, 0.1 * i, noise=0.001) for i in range(3)]
    for losses, said in ((("ndcg", "err"), 1), (("ndcg",), 0)):
        plan = Plan("e", contenders, repetitions=8, baseline="c1", losses=losses, extra=synthetic.drawn().extra)
        report(synthetic.write(tmp_path / losses[-1], [plan], {"heldout": 30}))
        text = (tmp_path / losses[-1] / "leaderboard.md").read_text()
        worse = r"; in `err` loss it is significantly worse than \*\*c1\*\*: \+0\.\d{4}, \[\+.*?\]\."
        assert len(re.findall(worse, text)) == said


def test_the_first_screen_has_the_answer_the_verdicts_and_links(tmp_path: Path) -> None:
    """Question, answer, claims, at most seven contenders, figure and links within 24 lines."""
    contenders = [Contender(f"c{i:02}", {"k": i + 1}, 0.01 * i, noise=0.0) for i in range(12)]
    claims = [{"id": "C1", "text": "It helps.", "kind": "less", "contrasts": [{"a": "c00", "b": "c09"}]}]
    extra = synthetic.drawn().extra | {"claims": claims}
    plan = Plan("e", contenders, repetitions=8, baseline="c09", extra=extra)
    report(synthetic.write(tmp_path, [plan], {"design": 40, "heldout": 30}))
    lines = (tmp_path / "leaderboard.md").read_text().split("\n## ")[0].splitlines()
    assert len(lines) <= 24
    text = "\n".join(lines)
    assert "**SIMULATED.**" in text
    assert "**Do the claims hold?** 1 claim" in text
    assert "| contender | held-out queries | minus c09 | design queries | minus c09 |" in text
    better = r"0\.\d{4} \[[^|]*\] \| -0\.\d{4} \[[^|]*\] better \|"
    assert re.search(rf"\| c00 \| {better} {better}", text)
    assert re.search(r"\| c09 \| 0\.\d{4} \[[^|]*\] \| baseline \| 0\.\d{4} \[[^|]*\] \| baseline \|", text)
    assert "`ndcg` loss, less is better" in text
    assert "5 more contenders: [details](details.md)." in text
    assert "(figures/figure-3-in-short.svg)" in text
    assert lines[-1].endswith("[Verify](#verify-and-cite) | [Cite](#verify-and-cite)")


@pytest.mark.full
def test_the_first_figure_has_two_plots_of_the_largest_n(tmp_path: Path) -> None:
    report(synthetic.write(tmp_path, [synthetic.drawn()]))
    drawn = pl.read_csv(tmp_path / "figures" / "figure-3-in-short.csv")
    assert drawn["column"].unique().sort().to_list() == [0, 1]
    assert drawn["row"].unique().to_list() == [0]
    assert drawn["title"].unique().to_list() == ["n = 400,000"]
    assert drawn["y_label"].n_unique() == 2


@pytest.mark.parametrize(
    ("lower", "upper", "margin", "said"),
    [
        (-0.2, -0.1, 0.0, "better"),
        (0.1, 0.2, 0.0, "worse"),
        (-0.1, 0.1, 0.0, "no significant difference"),
        (-0.1, 0.1, 0.2, "equivalent within 0.2"),
        (-0.1, -0.05, 0.2, "better, but equivalent within 0.2"),
        (float("nan"), float("nan"), 0.2, "no interval"),
    ],
)
def test_a_verdict_is_what_the_interval_says(lower: float, upper: float, margin: float, said: str) -> None:
    assert difference_verdict(lower, upper, margin) == said


@pytest.mark.parametrize(("repetitions", "verdict"), [(2, "could not tell"), (4, "held")])
def test_few_draws_hold_no_claim(tmp_path: Path, repetitions: int, verdict: str) -> None:
    """Two repetitions do not show how repetitions differ: what they would hold stands beside intervals that hold 0."""
    contenders = [Contender("good", {}, 0.0, noise=0.0), Contender("bad", {}, 0.3, noise=0.0)]
    extra = synthetic.claimed({"contrasts": [{"a": "good", "b": "bad"}]}).extra
    found = report(synthetic.write(tmp_path, [Plan("e", contenders, repetitions=repetitions, extra=extra)]))
    assert set(found.claims["verdict"]) == {verdict}
    page = synthetic.both_pages(tmp_path)
    assert ("2 repetitions are too few to judge a claim; at least 4 are needed" in page) is (repetitions == 2)


def test_what_held_stands_beside_the_interval_that_it_rests_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims_section, "MOST_CONTRASTS", 100)
    labels = [one.label for one in synthetic.small().contenders]
    claims = [{"contrasts": [{"a": a, "b": b} for b in labels if b != a]} for a in labels]
    verdicts = report(synthetic.write(tmp_path, [synthetic.claimed(*claims)])).claims
    text = synthetic.both_pages(tmp_path).split("## The contrasts of the claims")[1].split("## The data")[0]
    rows = re.findall(r"^\| .* vs .*? \| ([^|]*) \| [^|]* \| \[([^,]*), ([^]]*)\] \| \[([^,]*), ([^]]*)\]", text, re.M)
    assert len(rows) == verdicts.height
    shown = verdicts.select("claim", "about", "verdict").with_columns(
        own_high=pl.Series([float(row[2]) for row in rows]), low=pl.Series([float(row[3]) for row in rows])
    )
    for (_, _, verdict), own in shown.group_by("claim", "about", "verdict"):
        if verdict == "held":
            assert (own["own_high"] < 0).all()
        if verdict == "did not hold":
            assert (own["low"] > 0).any()
    assert {"held", "did not hold"} <= set(verdicts["verdict"])


@given(st.floats(-0.5, 0.5).filter(lambda end: end == 0 or abs(end) > 1e-7), st.floats(0, 0.5))
def test_an_end_that_is_not_zero_is_not_printed_as_zero(lower: float, width: float) -> None:
    low, high = map(float, _interval(lower, lower + width, ratio=False).strip("[]").split(","))
    assert (low > 0, low < 0) == (lower > 0, lower < 0)
    if abs(lower + width) > 1e-7:
        assert np.sign(high) == np.sign(lower + width)


def test_ends_beyond_all_that_a_ratio_tells_are_not_determined() -> None:
    assert _interval(0.02, 1.4e24, ratio=True) == "[0.02, not determined]"
    assert _interval(-1e7, 0.5, ratio=False) == "[not determined, +0.5000]"
    assert _interval(0.02, 900_000.0, ratio=True) == "[0.02, 900000.00]"


@pytest.mark.parametrize(
    ("label", "oracle", "mark"), [("truth", True, " (oracle)"), ("Oracle", True, ""), ("good", False, "")]
)
def test_an_oracle_is_marked_once(label: str, oracle: bool, mark: str) -> None:
    assert oracle_mark(label, oracle) == mark


@pytest.mark.parametrize("repetitions", [2, 3, 4])
def test_the_page_and_the_headline_agree_on_what_repetitions_can_rank(tmp_path: Path, repetitions: int) -> None:
    """Repetitions of contenders a, b and c are copies; those of d, which is far worse, are not."""
    contenders = [
        Contender(name, {}, effect, noise=0.0, sd_draws=0.0) for name, effect in {"a": 0, "b": 0, "c": 0.2}.items()
    ]
    plan = Plan("e", [*contenders, Contender("d", {}, 0.4, noise=0.001)], (200_000,), repetitions, "a")
    blocks = synthetic.blocks_of(plan, {"design": 40})
    for block in blocks[1]:
        for cell, first in zip(block.cells[:3], blocks[1][0].cells[:3], strict=True):
            cell.losses.update(first.losses)
    with Store(tmp_path) as store:
        store.begin(synthetic.record([plan], {"design": 40}), blocks[0])
        for block in blocks[1]:
            store.commit(block)
    headline = report(tmp_path).headline
    page = (tmp_path / "leaderboard.md").read_text()
    ranks = {row.contender: (row.rank_low, row.rank_high) for row in headline.rows}
    few = repetitions < 4
    assert ranks["c"][0] == 3
    said = f"{repetitions} repetitions are too few to rank d; at least 4 are needed"
    assert [said in text for text in (page, headline.sentences[0])] == [few] * 2
    assert headline.as_dict()["too_few_repetitions"] == (
        {"done": repetitions, "needed": 4, "unranked": ["d"]} if few else None
    )
    difference = r"(?:0|[+-][\d.]+)(?: \[[^]]*\])?"
    rows = page.split("| minus a |")[1]
    verdicts = dict(re.findall(rf"^\| ([bcd]) \| [^|]* \| {difference} ?([^|\]]*) \|$", rows, re.M))
    assert verdicts == {"b": "", "c": "worse", "d": "too few repetitions" if few else "worse"}
