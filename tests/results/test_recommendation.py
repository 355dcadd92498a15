"""Recommendations in words: of each sentence the smallest evidence that prints it, and the largest that must not."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import synthetic
from synthetic import Contender, Plan

from rankbench.results.analysis import analyze
from rankbench.results.cases import Case, Evaluation, _without_intervals
from rankbench.results.journal import Journal
from rankbench.results.recommendation import markdown_section, recommendations, said
from rankbench.results.standings import Standing

BELOW, ABOVE = math.nextafter(0.05, 0), math.nextafter(0.05, 1)
LN2 = math.log(2)


def row(label: str, metric: str = "disagreement", mean: float = 0.3, **values: object) -> Standing:
    """Return a row that is shown to be nothing: not told apart from the baseline, of any rank."""
    facts: dict[str, object] = {
        "mean": mean,
        "lower": mean - 0.01,
        "upper": mean + 0.01,
        "rank_low": 1,
        "rank_high": 9,
        "difference": -0.001,
        "difference_lower": -0.1,
        "difference_upper": 0.1,
        "p_holm": 1.0,
    }
    if label == "base":
        facts |= dict.fromkeys(("difference", "difference_lower", "difference_upper", "p_holm"), math.nan)
    return replace(Standing("e", "d", False, 9, label, label, metric, "minimize", "heldout"), **(facts | values))  # type: ignore[arg-type]


def case(*rows: Standing, others: Sequence[Evaluation] = (), runs: int = 50, **more: object) -> Case:
    """Return the case of these rows; the baseline has one in every metric."""
    return Case(
        **({"main": evaluation("methods", *rows, runs=runs), "baseline": "base", "others": tuple(others)} | more)
    )  # type: ignore[arg-type]


def evaluation(name: str, *rows: Standing, runs: int = 50) -> Evaluation:
    metrics = dict.fromkeys(one.metric for one in rows)
    given = {metric: [one for one in rows if one.metric == metric] for metric in metrics}
    whole = {m: g if any(one.contender == "base" for one in g) else [*g, row("base", m)] for m, g in given.items()}
    return Evaluation(name, runs, runs, whole)


def answer(one: Case) -> str:
    return " ".join(said(one).answer)


BETTER = {"difference": -0.05, "difference_lower": -0.06, "difference_upper": -0.04, "p_holm": BELOW}


def test_use_at_five_percent_and_not_above() -> None:
    assert answer(case(row("a", **BETTER))).startswith(
        "Use **a** (`a`). It is shown to be better than **base** in `dis"
    )
    text = answer(case(row("a", **BETTER | {"p_holm": ABOVE})))
    assert "Use " not in text
    assert text.startswith("No method is shown to be better than **base**")
    # The difference may be significant because it is worse.
    assert "Use " not in answer(case(row("a", **BETTER | {"difference": 0.05})))


def test_tests_are_adjusted_for_every_table_of_the_page() -> None:
    """Two metrics are two chances to call something better wrongly, and so is another evaluation."""
    small = BETTER | {"p_holm": BELOW / 2}
    two = [row("a", **small), row("a", "log-loss")]
    assert "Use **a**" in answer(case(*two))
    assert "Use **a**" not in answer(case(row("a", **BETTER), row("a", "log-loss")))
    other = evaluation("by-pair", row("a"))
    assert "Use **a**" not in answer(case(*two, others=[other]))
    assert "Use **a**" in answer(case(row("a", **BETTER | {"p_holm": 0.0166}), row("a", "log-loss"), others=[other]))
    # Runs that are too few to call anything better are no chance to do so.
    assert "Use **a**" in answer(case(row("a", **small), others=[evaluation("by-time", row("a"), runs=3)]))


@pytest.mark.parametrize(
    "against",
    [
        row("a", "log-loss", 0.6, rank_low=2),
        row("a", "log-loss", 0.6, difference=0.01, difference_lower=1e-9, difference_upper=0.02),
    ],
)
def test_what_is_worse_in_one_metric_is_not_for_use(against: Standing) -> None:
    text = answer(case(row("a", **BETTER | {"p_holm": 0.0}), against))
    assert text.startswith("No method leads in every metric.")
    assert "Better than **base** in one, but worse than some method in one: a (`disagreement`)" in text
    assert "Use " not in text
    assert "No method is shown to be better" not in text
    reaching = replace(against, rank_low=1, difference_lower=0.0)
    assert "Use **a**" in answer(case(row("a", **BETTER | {"p_holm": 0.0}), reaching))


def test_the_last_metric_chooses_among_winners() -> None:
    rows = [row("a", mean=0.2, **BETTER), row("b", mean=0.25, **BETTER)]
    logs = [row("b", "log-loss", 0.5, **BETTER), row("a", "log-loss", 0.55, **BETTER)]
    assert "Use **b**" in answer(case(*(replace(one, p_holm=0.001) for one in rows + logs)))


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ([row("b")], "it was not run in `by-time`"),
        ([row("a", rank_low=2)], "in `by-time` some method is shown to be better than it"),
        ([row("a", difference=0.0)], "in `by-time` its mean is not better than that of the baseline"),
    ],
)
def test_a_winner_that_another_evaluation_does_not_confirm_is_no_advice(there: list[Standing], words: str) -> None:
    """So PageRank in knockouts, by pair: who was compared again had won."""
    winning = row("a", **BETTER | {"p_holm": 0.001})
    text = answer(case(winning, others=[evaluation("by-time", *there, runs=5)]))
    assert text.startswith("**a** (`a`) is better than **base** in `methods`, but that is not confirmed: " + words)
    assert "Use " not in text
    confirmed = evaluation("by-time", row("a", difference=-1e-6), runs=5)
    assert answer(case(winning, others=[confirmed])).startswith("Use **a**")


def test_who_wins_elsewhere_alone_is_said_beside_it() -> None:
    other = evaluation("by-time", row("b", **BETTER | {"p_holm": 0.0}), runs=5)
    text = answer(case(row("a"), row("b"), others=[other]))
    assert "No method is shown to be better than **base**" in text
    assert "In `by-time` **b** is shown to be better than **base** in `disagreement` (-0.0500, 95% interval" in text
    assert "In `by-time`" not in answer(case(row("b"), others=[evaluation("by-time", row("b"), runs=5)]))
    assert "In `by-time` **b**" not in answer(case(row("b"), others=[replace(other, runs=3)]))


MARGINS = {"disagreement": 0.01, "log-loss": 0.005}


def alike(**intervals: tuple[float, float]) -> Case:
    against = {(metric.replace("_", "-"), "a"): found for metric, found in intervals.items()}
    return case(row("a"), row("a", "log-loss", 0.6), margins=MARGINS, against=against)


def test_as_good_is_within_the_margin_in_every_metric() -> None:
    inside = {"disagreement": (-0.00999, 0.00999), "log_loss": (-0.00499, 0.00499)}
    text = answer(alike(**inside))
    assert "As good as **base**: a." in text
    assert "lie within 0.01 in `disagreement` and 0.005 in `log-loss`" in text
    for metric, margin in (("disagreement", 0.01), ("log_loss", 0.005)):
        for outside in ((-margin, 0.0), (0.0, margin), (math.nan, math.nan)):
            text = answer(alike(**inside | {metric: outside}))
            assert "As good" not in text
            assert "no method is shown to be as good either" in text
    # A metric without a margin has no equals: nobody said what would not matter.
    assert "As good" not in answer(replace(alike(**inside), margins={"disagreement": 0.01}))


def test_who_is_as_good_but_worse_elsewhere_is_said_to_be_both() -> None:
    inside = alike(disagreement=(-0.001, 0.001), log_loss=(-0.001, 0.001))
    text = answer(replace(inside, others=(evaluation("by-time", row("a", rank_low=2), runs=5),)))
    assert "As good as **base**: " not in text
    assert "but worse than some method elsewhere: a (`by-time`)" in text
    text = answer(replace(inside, others=(evaluation("by-time", row("a"), runs=5),)))
    assert "As good as **base**: a." in text


@pytest.mark.parametrize(("metric", "coin"), [("disagreement", 0.5), ("log-loss", LN2)])
def test_no_better_than_a_coin_is_said_of_intervals_alone(metric: str, coin: float) -> None:
    def of(lower: float, upper: float) -> str:
        rows = [row(label, metric, (lower + upper) / 2, lower=lower, upper=upper) for label in ("a", "base")]
        return answer(case(*rows))

    assert of(coin, coin + 0.1).startswith("No method predicts these votes better than a coin: of each, the 95%")
    open_ = of(coin - 1e-6, coin + 0.1)
    assert open_.startswith("No method is shown to predict these votes better than a coin")
    assert of(coin - 0.1, coin).startswith("No method is shown to predict")
    assert "a coin" not in of(coin - 0.1, coin - 1e-6)
    for text in (of(coin, coin + 0.1), open_):
        assert "Nothing can be recommended." in text
    rows = [row("a", metric, coin - 0.01), row("base", metric, coin)]
    grounds = " ".join(said(case(*(replace(one, lower=0.0, upper=1.0) for one in rows))).grounds)
    assert "of **base**, " in grounds
    assert "best mean" not in grounds


def test_one_method_above_a_coin_is_enough_for_advice_and_one_below_it_is_none() -> None:
    good = row("a", upper=0.49, **BETTER | {"p_holm": 0.001})
    poor = row("base", lower=0.45, upper=0.55)
    assert "Use **a**" in answer(case(good, poor))
    text = answer(case(replace(good, upper=0.5), replace(poor, upper=0.49)))
    assert text.startswith("**a** (`a`) is not shown to predict these votes better than a coin")
    assert "Use " not in text


@pytest.mark.parametrize("runs", [2, 3])
def test_few_runs_say_nothing_about_coins_or_winners(runs: int) -> None:
    """Means of two or three runs have no intervals: that is no evidence for or against anything."""
    rows = [row(label, mean=0.2, lower=math.nan, upper=math.nan, **BETTER | {"p_holm": 0.0}) for label in "ab"]
    assert said(case(*rows, runs=runs)).answer == (
        f"{runs} runs are too few to tell methods apart by: nothing can be recommended.",
    )
    assert "Use " in answer(case(*(replace(one, lower=0.1, upper=0.3) for one in rows), runs=4))


def test_what_cannot_be_compared() -> None:
    empty = Case(Evaluation("methods", 0, 5, {"disagreement": []}), "base")
    assert said(empty).answer == ("There are no intervals to tell methods apart by: nothing can be recommended.",)
    none = replace(empty, finished=False)
    assert said(none).answer == ("No method finished: nothing can be recommended.",)
    alone = Case(Evaluation("methods", 50, 50, {"disagreement": [row("a", **BETTER)]}), "base")
    assert answer(alone).startswith("**base**, the baseline, has no intervals to compare with: nothing can be")


def test_the_purpose_and_missing_intervals_stand_beside_the_advice() -> None:
    text = answer(case(row("a", **BETTER), purpose="predict clicks", no_intervals=frozenset({"a"})))
    assert text.startswith("To predict clicks, use **a** (`a`) (its ranking of the items has no intervals). ")


def test_who_leads_elsewhere_is_named_with_the_ranks() -> None:
    other = evaluation("by-time", row("b", mean=0.2), row("base", mean=0.3, rank_low=2, rank_high=2), runs=5)
    grounds = said(case(row("a"), others=[other])).grounds
    line = (
        "In `by-time` (5 runs), `disagreement`: the best mean is that of **b**, 0.2000 (rank 1 ... 9); base has 0.3000 "
    )
    assert f"{line}(rank 2)." in grounds
    few = said(case(row("a"), others=[replace(other, runs=2)])).grounds
    assert "In `by-time` (2 runs): too few to tell methods apart by." in few
    assert not any("best mean is" in one for one in few)


def test_not_told_apart_is_not_called_equal() -> None:
    against = {("disagreement", label): found for label, found in
               {"a": (-0.1, 0.1), "b": (1e-9, 0.2), "c": (-0.2, -1e-9), "d": (0.0, 0.1)}.items()}  # fmt: skip
    lines = said(case(*(row(label) for label in "abcd"), against=against)).grounds
    (line,) = [one for one in lines if one.startswith("Against **base** in `disagreement`")]
    assert line.endswith("hold for all together: worse: b; better: c; not told apart, which is not equal: a and d.")


def test_worse_than_some_method_is_what_ranks_say() -> None:
    lines = said(case(row("a"), row("b", rank_low=3))).grounds
    assert "Worse than some method in `disagreement`, by the ranges of ranks: b (3 ... 9)." in lines


# From a journal to sentences.


def of_journal(folder: Path, contenders: list[Contender], *others: Plan, **extra: object) -> str:
    """Return the recommendation from ten overlapping runs on one unit; less is better."""
    plan = Plan(
        "methods", contenders, n=(200_000,), repetitions=10, baseline="base", extra={"recommend": True, **extra}
    )
    synthetic.write(folder, [plan, *others], {"heldout": 1}, test_share=0.2)
    with Journal(folder) as journal:
        return "\n".join(markdown_section(recommendations(analyze(journal))))


def quiet(label: str, effect: float, spread: float = 0.001) -> Contender:
    return Contender(label, {}, effect=effect, noise=0.0, sd_draws=spread)


def test_from_a_journal_the_clear_the_close_and_the_rough(tmp_path: Path) -> None:
    contenders = [quiet("base", 0.2), quiet("best", 0), quiet("close", 0.001), quiet("rough", 0.05, 0.05)]
    text = of_journal(tmp_path / "1", contenders, margin=0.01)
    assert text.startswith("## Recommendation\n- Use **best**")
    assert "As good as **best**: close. The 95% intervals" in text
    assert "within 0.01: close; not told apart, which is not equal: rough" in text
    assert "Worse than some method in `ndcg`, by the ranges of ranks: base (" in text
    assert "best mean of 4 contenders" in text
    # The margin is the suite's.
    assert "As good" not in of_journal(tmp_path / "2", contenders, margin=0.0001)
    assert "As good" not in of_journal(tmp_path / "3", contenders)


def test_where_the_choice_was_not_run_nothing_was_checked(tmp_path: Path) -> None:
    other = Plan("by-pair", [quiet("base", 0), quiet("other", 0)], n=(200_000,), repetitions=10, baseline="base")
    text = of_journal(tmp_path, [quiet("base", 0.2), quiet("best", 0)], other)
    assert (
        "**best** (`erm:label=1`) is better than **base** in `methods`, but that is not confirmed: it was not run"
        in text
    )
    assert "best was not run there." in text


def test_caveats_are_the_suite_s(tmp_path: Path) -> None:
    text = of_journal(tmp_path, [quiet("base", 0.2), quiet("best", 0)], caveats=["Not the order"], purpose="predict")
    assert "- Bear in mind: Not the order." in text
    assert "To predict, use **best**" in text


@pytest.mark.long
@pytest.mark.parametrize("uneven", [0.0, 0.02])
def test_where_no_method_differs_hardly_a_page_names_a_winner(tmp_path: Path, uneven: float) -> None:
    """Of 200 pages with six equal methods, two metrics and two evaluations, at most one in twenty."""
    losses = ("disagreement", "log-loss")
    claimed = 0
    for page in range(200):
        contenders = [Contender("base", {}, noise=0.0, sd_draws=0.01)]
        contenders += [Contender(f"m{i}-{page}", {}, noise=0.0, sd_draws=0.01 + i * uneven) for i in range(5)]
        # Labels seed the noise: every page is its own, the baseline's is that of the page too.
        contenders[0].cell_of = f"base-{page}"
        extra = {"recommend": True, "margin": {"log-loss": 0.01}}
        plans = [
            Plan("methods", contenders, (200_000,), 10, "base", losses, extra),
            Plan("by-pair", contenders, (400_000,), 10, "base", losses),
        ]
        folder = synthetic.write(tmp_path / str(page), plans, {"heldout": 1}, test_share=0.2)
        with Journal(folder) as journal:
            analysis = analyze(journal)
        text = " ".join(recommendations(analysis)[0].answer)
        claimed += "is shown to be better than" in text.replace("No method is shown to be better than", "")
    assert claimed <= 16  # a binomial of 200 and 5% is above 16 in 2% of cases


def test_a_ranking_without_intervals_is_known() -> None:
    def ranking(label: str, lower: list[float]) -> SimpleNamespace:
        arm = SimpleNamespace(done=frozenset({0}), member=SimpleNamespace(label=label))
        source = SimpleNamespace(layout="ranking", shown_splits=lambda: ("design",))
        sampler = SimpleNamespace(
            source=source, races=[SimpleNamespace(arms=[arm])], values=lambda arm, metric, split: np.array(lower)
        )
        return SimpleNamespace(sections=[SimpleNamespace(sampler=sampler)])

    assert _without_intervals(ranking("a", [math.nan, math.nan])) == {"a"}
    assert _without_intervals(ranking("a", [math.nan, 0.1])) == frozenset()


def test_numbers_of_the_page_stand_beside_its_sentences(tmp_path: Path) -> None:
    text = of_journal(tmp_path, [quiet("base", 0.2), quiet("best", 0)])
    assert re.search(
        r"`ndcg` on judgments that were held out: the best mean, of \*\*best\*\*, 0\.\d{4} \(95% interval", text
    )
