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
CHANCE = {"disagreement": 0.5, "log-loss": LN2}
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
    return {tuple(cell.replace(" loss", "").strip("`") for cell in line[:3]): tuple(line[3:]) for line in grid.rows}


LEADS: Apart = {("a", "base"): BETTER}


def test_use_where_the_interval_leaves_out_0_and_not_where_it_reaches_it() -> None:
    text = answer(case(row("a", mean=0.25), apart=LEADS))
    assert text == (
        "Use **a** (`a`). It is significantly better than **base** in `disagreement` loss (-0.0500, interval "
        "[-0.0600, 0.0000]); no method is significantly better than it."
    )
    text = answer(case(row("a"), apart={("a", "base"): (-0.1, 0.0)}))
    assert text == (
        "No method is significantly better than **base**, the baseline, in `disagreement` loss; this does not show "
        "that they are equal."
    )
    # A difference may be significant because it is worse.
    assert "Use " not in answer(case(row("a"), apart={("a", "base"): WORSE}))


@pytest.mark.parametrize("better", ["base", "b"])
def test_what_is_worse_in_one_metric_is_not_for_use(better: str) -> None:
    rows = [row(label, metric) for metric in ("disagreement", "log-loss") for label in "ab"]
    apart = {("a", "base", "disagreement"): BETTER, ("a", better, "log-loss"): WORSE}
    text = answer(case(*rows, apart=apart))
    assert text == (
        "No method leads in every metric. Some are significantly better than **base** in one metric, and worse than "
        "some method in another: a (`disagreement` loss)."
    )
    assert "Use **a**" in answer(case(*rows, apart=apart | {("a", better, "log-loss"): (0.0, 0.06)}))


def test_a_winner_whose_mean_is_worse_in_another_metric_is_not_confirmed() -> None:
    """Its mean is not significantly worse, and no margin shows that it is as good."""
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
    # Unless it does not beat chance, and another leader does.
    poor = [replace(one, upper=0.8) if one.contender == "b" else one for one in rows]
    assert "Use **a**" in answer(case(*poor, apart=both, chance=CHANCE))


@pytest.mark.parametrize(
    ("there", "words"),
    [
        (evaluation("by-time", row("b")), "`by-time` does not compare it with **base**"),
        (evaluation("by-time", row("a"), apart={("base", "a"): BETTER}), "some method is significantly better in"),
        (evaluation("by-time", row("a", mean=0.3)), "in `by-time` its mean is not better than that of the baseline"),
        (
            replace(evaluation("by-time", row("b")), failed={"a": "failed in 1 of 5 runs"}),
            "`by-time` does not compare it with **base**",
        ),
        (
            evaluation("by-time", row("a", upper=0.5), chance=CHANCE),
            "in `by-time` it is not significantly better than chance by `disagreement` loss",
        ),
    ],
)
def test_a_winner_that_another_evaluation_does_not_confirm_is_no_advice(there: Evaluation, words: str) -> None:
    """So PageRank in knockouts, by pair: who was compared again had won."""
    text = answer(case(row("a"), apart=LEADS, others=[there]))
    assert text.startswith("**a** (`a`) leads, but that is not confirmed: " + words)
    assert "Use " not in text
    confirmed = evaluation("by-time", row("a", mean=0.3 - 1e-6, upper=0.5 - 1e-6), runs=5, chance=CHANCE)
    assert answer(case(row("a"), apart=LEADS, others=[confirmed])).startswith("Use **a**")


def test_a_label_that_stands_for_another_contender_elsewhere_is_said_to() -> None:
    there = evaluation("by-time", row("a", mean=0.3, spec="a:b=1"))
    said = "in `by-time` (there `a:b=1`) its mean is not better than that of the baseline"
    for spec, count in (("a", 1), ("a:b=1", 0)):
        assert answer(case(row("a"), apart=LEADS, others=[there], specs={"a": spec})).count(said) == count


def test_other_evaluations_are_compared_with_the_baseline_of_this_one() -> None:
    """What another experiment calls its baseline is nobody's business here."""
    foreign = Evaluation(
        "by-time", 50, {"disagreement": [row("a", difference=-0.1, p_holm=0.0), row("z", difference=math.nan)]}
    )
    text = answer(case(row("a"), apart=LEADS, others=[foreign]))
    assert "not confirmed: `by-time` does not compare it with **base**" in text
    text = answer(case(row("a"), others=[foreign]))
    assert "In `by-time`" not in text
    assert table(case(row("a"), others=[foreign]))["by-time", "disagreement", "base"][-1] == "was not run"


def test_who_wins_elsewhere_alone_is_said_beside_it() -> None:
    other = evaluation("by-time", row("b", mean=0.25), runs=5, apart={("b", "base"): BETTER})
    text = answer(case(row("a"), row("b"), others=[other]))
    assert text.startswith("No method is significantly better than **base**")
    assert text.endswith(" In `by-time` **b** leads, significantly better than **base**.")
    for silent in (evaluation("by-time", row("b"), runs=5), replace(other, runs=3)):
        assert "In `by-time`" not in answer(case(row("b"), others=[silent]))


MARGINS = {"disagreement": 0.01, "log-loss": 0.005}


def alike(disagreement: tuple[float, float], log_loss: tuple[float, float], **more: object) -> Case:
    apart = {("a", "base", "disagreement"): disagreement, ("a", "base", "log-loss"): log_loss}
    return case(row("a"), row("a", "log-loss"), margins=MARGINS, apart=apart, **more)  # type: ignore[arg-type]


INSIDE = (-0.00999, 0.00999), (-0.00499, 0.00499)
EQUIVALENT = "Equivalent to **base**, within 0.01 in `disagreement` loss and 0.005 in `log-loss`: a"


def test_equivalent_is_within_the_margin_in_every_metric() -> None:
    text = answer(alike(*INSIDE))
    assert text.endswith(f"{EQUIVALENT}.")
    assert "equal" not in text
    for i, margin in enumerate((0.01, 0.005)):
        for outside in ((-margin, 0.0), (0.0, margin), (math.nan, math.nan)):
            text = answer(alike(*(outside if i == at else inside for at, inside in enumerate(INSIDE))))  # type: ignore[arg-type]
            assert "Equivalent" not in text
            assert "this does not show that they are equal" in text
    # A metric without a margin has no equals: nobody said what would not matter.
    assert "Equivalent" not in answer(replace(alike(*INSIDE), margins={"disagreement": 0.01}))


def test_who_is_equivalent_but_worse_elsewhere_is_said_to_be_both() -> None:
    text = answer(alike(*INSIDE, others=[evaluation("by-time", row("a"), runs=5, apart={("a", "base"): WORSE})]))
    assert f"{EQUIVALENT} (worse than some method in `by-time`)." in text
    text = answer(alike(*INSIDE, others=[evaluation("by-time", row("a"), runs=5)]))
    assert f"{EQUIVALENT}." in text


def test_who_is_worse_within_the_margin_is_said_to_be_both() -> None:
    one = alike((1e-4, 0.009), INSIDE[1])
    assert answer(one).endswith(f"{EQUIVALENT} (significantly different).")
    assert table(one)["methods", "disagreement", "a"][-1] == "worse, but equivalent within 0.01"
    assert table(one)["methods", "log-loss", "a"][-1] == "equivalent within 0.005"


# Chance levels.


@pytest.mark.parametrize(("metric", "level"), [("disagreement", 0.5), ("log-loss", LN2)])
def test_no_better_than_chance_is_said_of_intervals_alone(metric: str, level: float) -> None:
    def of(lower: float, upper: float) -> str:
        rows = [row(label, metric, (lower + upper) / 2, lower=lower, upper=upper) for label in ("a", "base")]
        return answer(case(*rows, chance=CHANCE))

    for text in (of(level, level + 0.1), of(level - 1e-6, level + 0.1), of(level - 0.1, level)):
        assert text.startswith(f"No method is significantly better than the chance level, {level:.4g} in `{metric}`")
        assert text.endswith("nothing can be recommended.")
    assert "chance" not in of(level - 0.1, level - 1e-6)
    rows = [row("a", metric, level - 0.01), row("base", metric, level)]
    found = table(case(*(replace(one, lower=0.0, upper=1.0) for one in rows), chance=CHANCE))
    assert found["methods", metric, "base"][2] == "baseline"
    assert {verdict for *_, verdict in found.values()} >= {
        "no significant difference; not significantly better than chance (95% interval [0, 1.0000] with all "
        f"others of the page at once, chance level {level:.4g})"
    }
    # A journal without chance levels has none, whatever its metrics are called.
    assert "chance" not in answer(case(*rows))


def test_tables_of_means_against_chance_are_of_the_family_of_a_page() -> None:
    """Two tables of differences and one of means, as the other metric has no chance level: 5% by three."""
    rows = [row("a"), row("a", "log-loss")]
    one = case(*rows, chance={"disagreement": 0.5}, others=[evaluation("by-time", row("a"), runs=3, chance=CHANCE)])
    assert one.level == pytest.approx(1 - 0.05 / 3)
    assert case(*rows).level == pytest.approx(1 - 0.05 / 2)
    assert case(row("a"), chance=CHANCE, others=[evaluation("by-time", row("a"), chance=CHANCE)]).level == 1 - 0.05 / 4


def test_a_metric_in_which_no_method_beats_chance_is_named() -> None:
    """All beat chance in one metric, and none does in the other."""
    good = [row(label, mean=0.4) for label in ("a", "base")]
    poor = [row(label, "log-loss", 0.72, lower=0.69, upper=0.74) for label in ("a", "base")]
    one = case(*good, *poor, chance=CHANCE)
    assert answer(one).endswith("In `log-loss` no method is significantly better than the chance level 0.6931.")
    assert "nothing can be recommended" not in answer(one)
    found = table(one)
    assert found["methods", "disagreement", "a"][-1] == "no significant difference"
    assert "; not significantly better than chance (95% interval [0.6900, " in found["methods", "log-loss", "a"][-1]


def test_one_method_above_chance_is_enough_for_advice_and_one_below_it_is_none() -> None:
    good = row("a", upper=0.49)
    poor = row("base", mean=0.3, lower=0.45, upper=0.55)
    assert "Use **a**" in answer(case(good, poor, apart=LEADS, chance=CHANCE))
    text = answer(case(replace(good, upper=0.5), replace(poor, upper=0.49), apart=LEADS, chance=CHANCE))
    assert text.startswith(
        "**a** (`a`) leads, but that is not confirmed: in `methods` it is not significantly better than chance by "
        "`disagreement` loss (95% interval [0.2890, 0.5000] with all others of the page at once, chance level 0.5). "
    )
    assert "Use " not in text


# Who is not judged.


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_few_runs_say_nothing_about_chance_or_winners(runs: int) -> None:
    """Means of so few runs have no intervals: that is no evidence for or against anything."""
    rows = [row(label, mean=0.2, lower=math.nan, upper=math.nan) for label in "ab"]
    few = "1 finished run gives" if runs == 1 else f"{runs} finished runs give"
    assert recommend(case(*rows, runs=runs, apart=LEADS, chance=CHANCE)).answer == (
        f"{few} no intervals, and at least 4 are needed: nothing can be recommended.",
    )
    full = [replace(one, lower=0.1, upper=0.3) for one in rows]
    assert "Use " in answer(case(*full, runs=4, apart=LEADS))


def test_a_single_run_that_is_all_there_is_has_its_intervals_over_queries() -> None:
    rows = [row("a", lower=math.nan, upper=math.nan, lower_queries=0.28, upper_queries=0.32)]
    one = case(*rows, apart=LEADS)
    one = replace(one, main=replace(one.main, runs=1, split=False, whole=True))
    assert answer(one).startswith("Use **a**")
    assert answer(replace(one, main=replace(one.main, runs=2))).startswith("2 finished runs give no intervals")


def test_what_cannot_be_compared() -> None:
    empty = Case(Evaluation("methods", 0, {"disagreement": []}), "base")
    assert recommend(empty).answer == (
        "0 finished runs give no intervals, and at least 4 are needed: nothing can be recommended.",
    )
    alone = Case(Evaluation("methods", 50, {"disagreement": [row("a")]}), "base")
    assert answer(alone).startswith("**base**, the baseline, has no intervals: nothing can be")


def test_the_purpose_stands_beside_the_advice() -> None:
    text = answer(case(row("a"), apart=LEADS, purpose="predict clicks"))
    assert text.startswith("To predict clicks, use **a** (`a`). ")


# Grounds.


def test_who_leads_elsewhere_is_named_with_the_places() -> None:
    other = evaluation("by-time", row("b", mean=0.2), row("base", mean=0.3), runs=5, apart={("b", "base"): BETTER})
    one = case(row("a"), others=[other])
    said = markdown_of(recommend(one).grounds)
    assert "Runs: 50 in `methods` and 5 in `by-time`." in said
    assert "intervals of all differences between methods in `disagreement` loss of `methods` and `by-time`" in said
    found = table(one)
    assert found["by-time", "disagreement", "b"][0] == "0.2000"
    assert found["by-time", "disagreement", "b"][2:] == ("-0.1000", "[-0.0600, 0.0000]", "1", "better")
    assert found["by-time", "disagreement", "base"][4] == "2"
    few = table(replace(one, others=(replace(other, runs=2),)))
    assert few["by-time", "", ""][-1] == "too few runs for intervals"
    assert ("by-time", "disagreement", "b") not in few


def test_no_significant_difference_is_not_called_equal() -> None:
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
    assert "not confirmed: some method is significantly better in `by-pair`" in answer(whole)
    assert answer(replace(whole, confirmed_by=("by-time",))).startswith("Use **a**")
    assert "not confirmed" in answer(replace(whole, confirmed_by=("by-time", "by-pair")))


def test_the_suite_says_why_other_views_differ() -> None:
    other = evaluation("by-pair", row("b", mean=0.2), row("a", mean=0.3))
    own = case(row("a", mean=0.25), apart=LEADS, others=[other], confirmed_by=("by-time",), views=WHY)
    assert answer(own).endswith(f" {WHY}.")
    assert WHY not in answer(replace(own, others=()))
    assert WHY not in answer(replace(own, views=""))
