"""Recommendations in words: of each sentence the smallest evidence that prints it, and the largest that must not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from rankbench.reports.document import Bullets, Grid, markdown_of
from rankbench.reports.recommendation import recommend
from rankbench.reports.recommendation_facts import Case, Evaluation
from rankbench.reports.standings import Differences, Standing

LN2 = math.log(2)
COIN = {"disagreement": 0.5, "log-loss": LN2}
TINY = 1e-9
BETTER, WORSE = (-0.06, -TINY), (TINY, 0.06)
"""Intervals that just leave 0 out."""


def row(label: str, metric: str = "disagreement", mean: float = 0.299, **values: object) -> Standing:
    facts = {"mean": mean, "lower": mean - 0.01, "upper": mean + 0.01, "rank_low": 1, "rank_high": 9} | values
    return replace(Standing("e", "d", False, 9, label, label, metric, "minimize", "heldout"), **facts)  # type: ignore[arg-type]


Apart = Mapping[tuple[str, str, str] | tuple[str, str], tuple[float, float]]
"""By contender, whom it is compared with, and metric (else any): an interval; all others hold 0."""


def case(
    *rows: Standing, apart: Apart | None = None, others: Sequence[Evaluation] = (), runs: int = 50, **more: object
) -> Case:
    """Return the case of these rows; the baseline has one in every metric."""
    main = evaluation("methods", *rows, runs=runs, apart=apart, chance=more.pop("chance", {}))  # type: ignore[arg-type]
    return Case(**({"main": main, "baseline": "base", "others": tuple(others)} | more))  # type: ignore[arg-type]


def evaluation(
    name: str, *rows: Standing, runs: int = 50, apart: Apart | None = None, chance: Mapping[str, float] | None = None
) -> Evaluation:
    metrics = dict.fromkeys(one.metric for one in rows)
    given = {metric: [one for one in rows if one.metric == metric] for metric in metrics}
    whole = {m: g if any(one.contender == "base" for one in g) else [*g, row("base", m, 0.3)] for m, g in given.items()}
    found = {metric: differences(metric, g, apart or {}) for metric, g in whole.items()}
    return Evaluation(name, runs, whole, found, chance=chance or {})


def differences(metric: str, rows: Sequence[Standing], apart: Apart) -> Differences:
    labels = [one.contender for one in rows]
    lower, upper = np.full((len(labels),) * 2, -0.1), np.full((len(labels),) * 2, 0.1)
    for (one, other, *of), (low, high) in apart.items():
        if {one, other} <= set(labels) and (not of or of == [metric]):
            i, j = labels.index(one), labels.index(other)
            lower[i, j], upper[i, j], lower[j, i], upper[j, i] = low, high, -high, -low
    return Differences(tuple(labels), lower, upper, {one.contender: (one.lower, one.upper) for one in rows})


def answer(one: Case) -> str:
    return " ".join(recommend(one).answer)


def table(one: Case) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the rest of each row of the evidence by its experiment, metric and method."""
    (grid,) = [block for block in recommend(one).grounds if isinstance(block, Grid)]
    return {tuple(cell.strip("`") for cell in line[:3]): tuple(line[3:]) for line in grid.rows}


LEADS: Apart = {("a", "base"): BETTER}


def test_use_where_the_interval_leaves_out_0_and_not_where_it_reaches_it() -> None:
    text = answer(case(row("a", mean=0.25), apart=LEADS))
    assert text.startswith("Use **a** (`a`). It is shown to be better than **base** in `disagreement` (-0.0500, inter")
    assert "by 95% intervals of the differences between all methods in `disagreement` of `methods`" in text
    text = answer(case(row("a"), apart={("a", "base"): (-0.1, 0.0)}))
    assert "Use " not in text
    assert text.startswith("No method is shown to be better than **base**")
    # A difference may be shown because it is worse.
    assert "Use " not in answer(case(row("a"), apart={("a", "base"): WORSE}))


@pytest.mark.parametrize("better", ["base", "b"])
def test_what_is_worse_in_one_metric_is_not_for_use(better: str) -> None:
    rows = [row(label, metric) for metric in ("disagreement", "log-loss") for label in "ab"]
    apart = {("a", "base", "disagreement"): BETTER, ("a", better, "log-loss"): WORSE}
    text = answer(case(*rows, apart=apart))
    assert text.startswith("No method leads in every metric.")
    assert "Better than **base** in one, but worse than some method in one: a (`disagreement`)" in text
    assert "Use " not in text
    assert "No method is shown to be better" not in text
    assert "Use **a**" in answer(case(*rows, apart=apart | {("a", better, "log-loss"): (0.0, 0.06)}))


def test_a_winner_whose_mean_is_worse_in_another_metric_is_not_confirmed() -> None:
    """That it is worse was not shown, nor that it is not: only a margin shows that."""
    rows = [row("a"), row("a", "log-loss", 0.35)]
    apart = {("a", "base", "disagreement"): BETTER, ("a", "base", "log-loss"): (-0.01, 0.11)}
    text = answer(case(*rows, apart=apart))
    assert "Use " not in text
    assert "not confirmed: its mean `log-loss` is worse than that of the baseline (+0.0500, interval [-0.01" in text
    assert "Use **a**" in answer(case(*rows, apart=apart, margins={"log-loss": 0.2}))
    assert "Use **a**" in answer(case(row("a"), row("a", "log-loss", 0.3), apart=apart))


def test_the_last_metric_chooses_among_winners() -> None:
    rows = [row("a", mean=0.2), row("b", mean=0.25), row("b", "log-loss", 0.1), row("a", "log-loss", 0.2)]
    both = LEADS | {("b", "base"): BETTER}
    assert "Use **b**" in answer(case(*rows, apart=both))
    # Unless it is the coin's equal, and another leader is not.
    poor = [replace(one, upper=0.8) if one.contender == "b" else one for one in rows]
    assert "Use **a**" in answer(case(*poor, apart=both, chance=COIN))


@pytest.mark.parametrize(
    ("there", "words"),
    [
        (evaluation("by-time", row("b")), "it was not run in `by-time`"),
        (evaluation("by-time", row("a"), apart={("base", "a"): BETTER}), "in `by-time` some method is shown to be"),
        (evaluation("by-time", row("a", mean=0.3)), "in `by-time` its mean `disagreement` is not better than that of"),
        (replace(evaluation("by-time", row("b")), failed={"a": "failed in 1 of 5 runs"}), "it failed in 1 of 5 runs"),
        (
            evaluation("by-time", row("a", upper=0.5), chance=COIN),
            "in `by-time` it is not shown to be better than a coin in `disagreement`",
        ),
    ],
)
def test_a_winner_that_another_evaluation_does_not_confirm_is_no_advice(there: Evaluation, words: str) -> None:
    """So PageRank in knockouts, by pair: who was compared again had won."""
    text = answer(case(row("a"), apart=LEADS, others=[there]))
    assert text.startswith("**a** (`a`) is better than **base** in `methods`, but that is not confirmed: " + words)
    assert "Use " not in text
    confirmed = evaluation("by-time", row("a", mean=0.3 - 1e-6, upper=0.5 - 1e-6), runs=5, chance=COIN)
    assert answer(case(row("a"), apart=LEADS, others=[confirmed])).startswith("Use **a**")


def test_other_evaluations_are_compared_with_the_baseline_of_this_one() -> None:
    """What another experiment calls its baseline is nobody's business here."""
    foreign = Evaluation(
        "by-time", 50, {"disagreement": [row("a", difference=-0.1, p_holm=0.0), row("z", difference=math.nan)]}
    )
    text = answer(case(row("a"), apart=LEADS, others=[foreign]))
    assert "not confirmed: **base** was not run in `by-time`" in text
    text = answer(case(row("a"), others=[foreign]))
    assert "In `by-time`" not in text


def test_who_wins_elsewhere_alone_is_said_beside_it() -> None:
    other = evaluation("by-time", row("b", mean=0.25), runs=5, apart={("b", "base"): BETTER})
    text = answer(case(row("a"), row("b"), others=[other]))
    assert "No method is shown to be better than **base**" in text
    assert "In `by-time` **b** is shown to be better than **base** in `disagreement` (-0.0500, interval" in text
    for silent in (evaluation("by-time", row("b"), runs=5), replace(other, runs=3)):
        assert "In `by-time`" not in answer(case(row("b"), others=[silent]))
    coin = replace(other, chance={"disagreement": 0.2})
    assert "), but not better than a coin in `disagreement`, by the same" in answer(case(row("b"), others=[coin]))


MARGINS = {"disagreement": 0.01, "log-loss": 0.005}


def alike(disagreement: tuple[float, float], log_loss: tuple[float, float], **more: object) -> Case:
    apart = {("a", "base", "disagreement"): disagreement, ("a", "base", "log-loss"): log_loss}
    return case(row("a"), row("a", "log-loss"), margins=MARGINS, apart=apart, **more)  # type: ignore[arg-type]


INSIDE = (-0.00999, 0.00999), (-0.00499, 0.00499)


def test_as_good_is_within_the_margin_in_every_metric() -> None:
    text = answer(alike(*INSIDE))
    assert "As good as **base**: a." in text
    assert "lie within 0.01 in `disagreement` and 0.005 in `log-loss`" in text
    for i, margin in enumerate((0.01, 0.005)):
        for outside in ((-margin, 0.0), (0.0, margin), (math.nan, math.nan)):
            text = answer(alike(*(outside if i == at else inside for at, inside in enumerate(INSIDE))))  # type: ignore[arg-type]
            assert "As good" not in text
            assert "no method is shown to be as good either" in text
    # A metric without a margin has no equals: nobody said what would not matter.
    assert "As good" not in answer(replace(alike(*INSIDE), margins={"disagreement": 0.01}))


def test_who_is_as_good_but_worse_elsewhere_is_said_to_be_both() -> None:
    text = answer(alike(*INSIDE, others=[evaluation("by-time", row("a"), runs=5, apart={("a", "base"): WORSE})]))
    assert "As good as **base**: " not in text
    assert "but worse than some method elsewhere: a (`by-time`)" in text
    text = answer(alike(*INSIDE, others=[evaluation("by-time", row("a"), runs=5)]))
    assert "As good as **base**: a." in text


def test_who_is_worse_within_the_margin_is_not_called_as_good() -> None:
    one = alike((1e-4, 0.009), INSIDE[1])
    text = answer(one)
    assert "As good" not in text
    assert "Told apart from **base**, but within 0.01 in `disagreement` and 0.005 in `log-loss` of it: a." in text
    assert "That does not make them equal" not in text
    assert table(one)["methods", "disagreement", "a"][-1] == "worse, but equivalent within 0.01"
    assert table(one)["methods", "log-loss", "a"][-1] == "equivalent within 0.005"


# Coins.


@pytest.mark.parametrize(("metric", "coin"), [("disagreement", 0.5), ("log-loss", LN2)])
def test_no_better_than_a_coin_is_said_of_intervals_alone(metric: str, coin: float) -> None:
    def of(lower: float, upper: float) -> str:
        rows = [row(label, metric, (lower + upper) / 2, lower=lower, upper=upper) for label in ("a", "base")]
        return answer(case(*rows, chance=COIN))

    for text in (of(coin, coin + 0.1), of(coin - 1e-6, coin + 0.1), of(coin - 0.1, coin)):
        assert text.startswith("No method is shown to predict these votes better than a coin")
        assert text.endswith("nothing can be recommended.")
    assert "a coin" not in of(coin - 0.1, coin - 1e-6)
    rows = [row("a", metric, coin - 0.01), row("base", metric, coin)]
    found = table(case(*(replace(one, lower=0.0, upper=1.0) for one in rows), chance=COIN))
    assert found["methods", metric, "base"][2] == "reference"
    assert {verdict for *_, verdict in found.values()} >= {
        f"no significant difference; not significantly better than the chance level {coin:.4g}"
    }
    # A journal that does not say what a coin gets has none, whatever its metrics are called.
    assert "a coin" not in answer(case(*rows))


def test_tables_of_means_against_a_coin_are_of_the_family_of_a_page() -> None:
    """Two tables of differences and one of means, as nobody said what a coin gets in the other: 5% by three."""
    rows = [row("a"), row("a", "log-loss")]
    one = case(*rows, chance={"disagreement": 0.5}, others=[evaluation("by-time", row("a"), runs=3, chance=COIN)])
    assert one.level == pytest.approx(1 - 0.05 / 3)
    assert case(*rows).level == pytest.approx(1 - 0.05 / 2)
    assert case(row("a"), chance=COIN, others=[evaluation("by-time", row("a"), chance=COIN)]).level == 1 - 0.05 / 4


def test_metrics_that_disagree_about_a_coin_are_said_one_by_one() -> None:
    """All are better than it in one metric, and none is shown to be in the other."""
    good = [row(label, mean=0.4) for label in ("a", "base")]
    poor = [row(label, "log-loss", 0.72, lower=0.69, upper=0.74) for label in ("a", "base")]
    one = case(*good, *poor, chance=COIN)
    assert "In `disagreement` better than a coin's 0.5: a and base." in answer(one)
    assert "In `log-loss` no method is shown to be better than a coin's 0.6931" in answer(one)
    assert "No method is shown to predict these" not in answer(one)
    found = table(one)
    assert found["methods", "disagreement", "a"][-1] == "no significant difference"
    assert found["methods", "log-loss", "a"][-1].endswith("; not significantly better than the chance level 0.6931")
    # There is no best mean elsewhere, where nothing is above a coin.
    found = table(case(*good, others=[evaluation("by-time", *good, *poor, chance=COIN)]))
    assert found["by-time", "disagreement", "a"][0] == "0.4000"
    assert ("by-time", "log-loss", "a") not in found
    assert found["by-time", "log-loss", "base"][0] == "0.7200"


def test_one_method_above_a_coin_is_enough_for_advice_and_one_below_it_is_none() -> None:
    good = row("a", upper=0.49)
    poor = row("base", lower=0.45, upper=0.55)
    assert "Use **a**" in answer(case(good, poor, apart=LEADS, chance=COIN))
    text = answer(case(replace(good, upper=0.5), replace(poor, upper=0.49), apart=LEADS, chance=COIN))
    assert text.startswith("**a** (`a`) is not shown to predict these votes better than a coin")
    assert "Use " not in text


# Who is not judged.


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_few_runs_say_nothing_about_coins_or_winners(runs: int) -> None:
    """Means of so few runs have no intervals: that is no evidence for or against anything."""
    rows = [row(label, mean=0.2, lower=math.nan, upper=math.nan) for label in "ab"]
    verb = "runs are" if runs > 1 else "run is"
    assert recommend(case(*rows, runs=runs, apart=LEADS, chance=COIN)).answer == (
        f"{runs} {verb} too few to tell methods apart by: nothing can be recommended.",
    )
    full = [replace(one, lower=0.1, upper=0.3) for one in rows]
    assert "Use " in answer(case(*full, runs=4, apart=LEADS))


def test_a_single_run_that_is_all_there_is_has_its_intervals_over_queries() -> None:
    rows = [row("a", lower=math.nan, upper=math.nan, lower_queries=0.28, upper_queries=0.32)]
    one = case(*rows, apart=LEADS)
    one = replace(one, main=replace(one.main, runs=1, split=False, whole=True))
    assert answer(one).startswith("Use **a**")
    assert answer(replace(one, main=replace(one.main, runs=2))).startswith("2 runs are too few")


def test_what_cannot_be_compared() -> None:
    empty = Case(Evaluation("methods", 0, {"disagreement": []}), "base")
    assert recommend(empty).answer == ("There are no intervals to tell methods apart by: nothing can be recommended.",)
    none = replace(empty, finished=False)
    assert recommend(none).answer == ("No method finished: nothing can be recommended.",)
    alone = Case(Evaluation("methods", 50, {"disagreement": [row("a")]}), "base")
    assert answer(alone).startswith("**base**, the baseline, has no intervals to compare with: nothing can be")


def test_the_purpose_and_missing_intervals_stand_beside_the_advice() -> None:
    text = answer(case(row("a"), apart=LEADS, purpose="predict clicks", no_intervals=frozenset({"a"})))
    assert text.startswith("To predict clicks, use **a** (`a`) (its ranking of the items has no intervals). ")


# Grounds.


def test_who_leads_elsewhere_is_named_with_the_places() -> None:
    other = evaluation("by-time", row("b", mean=0.2), row("base", mean=0.3), runs=5, apart={("b", "base"): BETTER})
    one = case(row("a"), others=[other])
    assert "Runs: 50 in `methods` and 5 in `by-time`." in markdown_of(recommend(one).grounds)
    found = table(one)
    assert found["by-time", "disagreement", "b"][0] == "0.2000"
    assert found["by-time", "disagreement", "b"][2:] == ("-0.1000", "[-0.0600, 0.0000]", "1", "better")
    assert found["by-time", "disagreement", "base"][4] == "2"
    few = table(replace(one, others=(replace(other, runs=2),)))
    assert few["by-time", "", ""][-1] == "too few runs to tell methods apart by"
    assert ("by-time", "disagreement", "b") not in few


def test_not_told_apart_is_not_called_equal() -> None:
    apart = {("a", "base"): (-0.1, 0.1), ("b", "base"): WORSE, ("c", "base"): BETTER, ("d", "base"): (0.0, 0.1)}
    one = case(*(row(label) for label in "abd"), apart=apart)
    verdicts = {label: line[-1] for (_, _, label), line in table(one).items()}
    same = "no significant difference"
    assert verdicts == {"a": same, "b": "worse", "d": same, "base": ""}
    assert "*No significant difference* does not mean equal." in markdown_of(recommend(one).grounds)
    found = table(case(row("c"), row("c", "log-loss"), apart=apart | {("c", "base", "log-loss"): WORSE}))
    assert found["methods", "disagreement", "c"][-1] == "better"


def test_places_are_what_the_same_intervals_say() -> None:
    one = case(row("a", rank_low=2), row("b", rank_low=3), apart={("a", "base"): WORSE})
    places = {label: line[4] for (_, _, label), line in table(one).items()}
    assert places == {"a": "2 to 3", "b": "1 to 3", "base": "1 to 2"}
    assert not [block for block in recommend(one).grounds if isinstance(block, Bullets)]


WHY = "forgetting gains nothing there"


def test_only_the_evaluations_that_are_named_must_confirm() -> None:
    """A view that answers another question does not take a winner back; one that must confirm does."""
    against = evaluation("by-pair", row("a"), apart={("base", "a"): BETTER})
    whole = case(row("a", mean=0.25), apart=LEADS, others=[against])
    assert "not confirmed: in `by-pair` some method is shown to be better than it" in answer(whole)
    assert answer(replace(whole, confirmed_by=("by-time",))).startswith("Use **a**")
    assert "not confirmed" in answer(replace(whole, confirmed_by=("by-time", "by-pair")))


def test_who_has_the_best_mean_in_each_view_is_said_with_why() -> None:
    same = evaluation("by-time", row("a", mean=0.26), row("b", mean=0.28))
    other = evaluation("by-pair", row("b", mean=0.2), row("a", mean=0.3))
    own = case(row("a", mean=0.25), apart=LEADS, others=[other, same], confirmed_by=("by-time",), views=WHY)
    text = answer(own)
    assert "The best mean `disagreement`: that of **a** in `methods` and `by-time`; that of **b** in `by-pair`." in text
    assert f"{WHY[:1].upper()}{WHY[1:]}." in text or f"{WHY}." in text
    assert "that of **a** in `methods` and `by-time`. " in answer(replace(own, others=(same,)))
    assert WHY not in answer(replace(own, others=()))
    assert WHY not in answer(replace(own, views=""))
