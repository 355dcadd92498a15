"""Recommendations in words: nothing is called equal that was not told apart."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import synthetic
from synthetic import Contender, Plan

from rankbench.results.analysis import analyze
from rankbench.results.journal import Journal
from rankbench.results.recommendation import (
    _no_better_than_a_coin,
    _without_intervals,
    markdown_section,
    recommendations,
)
from rankbench.results.standings import Standing


def said(folder: Path, contenders: list[Contender], *others: Plan, **extra: object) -> str:
    """Return the recommendation from ten overlapping runs on one unit; less is better."""
    plan = Plan(
        "methods", contenders, n=(200_000,), repetitions=10, baseline="base", extra={"recommend": True, **extra}
    )
    synthetic.write(folder, [plan, *others], {"heldout": 1}, test_share=0.2)
    with Journal(folder) as journal:
        return "\n".join(markdown_section(recommendations(analyze(journal))))


def of_votes(folder: Path, metrics: tuple[str, ...], effects: dict[str, float], repetitions: int = 10) -> str:
    """Return the recommendation where losses of the first metric are about .45 and these effects."""
    contenders = [quiet(label, effect, 0.001) for label, effect in effects.items()]
    plan = Plan(
        "m",
        contenders,
        n=(200_000,),
        repetitions=repetitions,
        baseline="base",
        losses=metrics,
        extra={"recommend": True},
    )
    synthetic.write(folder, [plan], {"heldout": 1}, test_share=0.2)
    with Journal(folder) as journal:
        return "\n".join(markdown_section(recommendations(analyze(journal))))


@pytest.mark.parametrize(("metric", "coin"), [("disagreement", 0.5), ("log-loss", math.log(2))])
def test_what_predicts_no_better_than_a_coin_is_said_first(tmp_path: Path, metric: str, coin: float) -> None:
    at = {"base": 0.0}
    zero = float(re.findall(r"is (0\.\d+)", of_votes(tmp_path / "zero", (metric,), at))[0])
    for number, (best, worst) in enumerate(((0.02, 0.1), (-0.1, 0.1), (-0.1, -0.05))):
        effects = {"base": coin - zero + worst, "best": coin - zero + best}
        text = of_votes(tmp_path / str(number), (metric,), effects)
        first = text.splitlines()[1]
        assert ("better than a coin" in text) == (best > 0)
        assert first.startswith("- No method predicts these" if best > 0 else "- Use **best**")


def test_a_choice_that_is_a_coin_among_others_that_are_not(tmp_path: Path) -> None:
    rows = {
        "disagreement": [_standing("a", "disagreement", 0.4, 0.6), _standing("b", "disagreement", 0.45, 0.49)],
        "log-loss": [_standing("a", "log-loss", 0.6, 0.6), _standing("b", "log-loss", 0.65, 0.65)],
    }
    section = SimpleNamespace(sampler=SimpleNamespace(source=SimpleNamespace(test_share=0.2, counts="votes")))
    assert _no_better_than_a_coin("b", "**b**", rows, section) == []
    found = _no_better_than_a_coin("a", "**a**", rows, section)
    assert found == ["**a** is not shown to predict these votes better than a coin."]
    rows["log-loss"][1] = _standing("b", "log-loss", math.log(2), math.log(2))
    found = _no_better_than_a_coin("a", "**a**", rows, section)
    assert found == ["No method predicts these votes better than a coin."]


@pytest.mark.parametrize("upper", [0.6, math.nan])
def test_means_on_the_right_side_are_no_coins_but_may_not_be_shown_to_be_none(upper: float) -> None:
    rows = {"disagreement": [replace(_standing(label, "disagreement", 0.1, 0.3), upper=upper) for label in "ab"]}
    section = SimpleNamespace(sampler=SimpleNamespace(source=SimpleNamespace(test_share=0.2, counts="votes")))
    found = _no_better_than_a_coin("a", "**a**", rows, section)
    assert found == ["No method is shown to predict these votes better than a coin."]


def test_two_runs_have_no_intervals_of_means(tmp_path: Path) -> None:
    text = of_votes(tmp_path, ("disagreement",), {"base": -0.1, "best": -0.2}, repetitions=2)
    assert text.splitlines()[1] == "- No method is shown to predict these judgments better than a coin."
    assert re.search(r"- \*\*best\*\*: its `disagreement` on .* is 0\.\d{4}, -0\.1\d{3} against base\.\n", text)
    assert "[" not in text
    assert "will do" not in text
    assert "will both do" not in text


def _standing(label: str, metric: str, lower: float, upper: float) -> Standing:
    mean = (lower + upper) / 2
    return Standing("e", "d", False, 9, label, label, metric, "minimize", "heldout", mean, lower=lower, upper=upper)


def quiet(label: str, effect: float, spread: float) -> Contender:
    return Contender(label, {}, effect=effect, noise=0.0, sd_draws=spread)


def test_what_was_not_told_apart_is_not_called_equal(tmp_path: Path) -> None:
    text = said(
        tmp_path,
        [
            quiet("base", 0.2, 0.001),
            quiet("best", 0, 0.001),
            quiet("close", 0.001, 0.001),
            quiet("rough", 0.05, 0.05),
        ],
    )
    assert text.startswith("## Recommendation\n- Use **best**")
    assert "10 runs were not enough to tell it from rough in `ndcg`." in text
    assert "Within 0.01 of it in `ndcg`, by the 95% interval of the difference: close. Who uses it already" in text
    assert "cannot tell" not in text
    assert text.count("no reason to change") == 1
    assert "best of 4 contenders" in text
    assert "Significantly worse than some other method: base." in text


def test_the_margin_is_the_suite_s(tmp_path: Path) -> None:
    contenders = [quiet("base", 0.2, 0.001), quiet("best", 0, 0.001), quiet("close", 0.0005, 0.001)]
    assert "no reason to change" not in said(tmp_path, contenders, margin=0.0001)


def test_a_rival_whose_own_interval_excludes_zero_is_no_tie(tmp_path: Path) -> None:
    """Among six contenders a difference may be significant alone, and not with all the others."""
    contenders = [quiet("best", 0, 0.01), quiet("rival", 0.03, 0.01)]
    contenders += [quiet(f"other {i}", 0.3, 0.01) for i in range(4)] + [quiet("base", 0.4, 0.01)]
    for step in range(1, 40):
        contenders[1].effect = 0.002 * step
        text = said(tmp_path / str(step), contenders)
        if "Worse than it" in text:
            assert "by the 95% interval of that difference alone, but not beyond doubt" in text
            assert "comparisons: rival." in text
            assert "not enough to tell it from rival" not in text
            return
    pytest.fail("no step between a tie and significance")


def test_no_method_is_better_than_the_baseline(tmp_path: Path) -> None:
    text = said(tmp_path, [quiet("base", 0, 0.05), quiet("other", -0.004, 0.05)])
    assert text.startswith("## Recommendation\n- No method is shown to be better than **base**.\n")
    assert "Use **" not in text
    both = "base and other will both do, as far as these 10 runs show: with nothing to choose by, take the baseline"
    assert f"- {both}, **base**.\n" in text


def test_any_of_those_that_are_not_told_apart_in_either_metric_will_do(tmp_path: Path) -> None:
    contenders = [quiet("base", 0, 0.05), quiet("other", -0.004, 0.05), quiet("third", 0.001, 0.05)]
    text = said(tmp_path / "1", [*contenders, quiet("worse", 0.4, 0.05)])
    (line,) = re.findall(r"- Any of (.*) will do, as far as", text)
    assert sorted(re.split(", | and ", line)) == ["base", "other", "third"]
    # Where the choice is better than the baseline there is something to choose by.
    assert " do, as far as" not in said(tmp_path / "2", [quiet("base", 0.2, 0.001), quiet("best", 0, 0.001)])


def test_a_choice_whose_scores_have_no_intervals_says_so() -> None:
    def ranking(label: str, lower: list[float]) -> SimpleNamespace:
        arm = SimpleNamespace(done=frozenset({0}), member=SimpleNamespace(label=label))
        source = SimpleNamespace(layout="ranking", shown_splits=lambda: ("design",))
        sampler = SimpleNamespace(
            source=source, races=[SimpleNamespace(arms=[arm])], values=lambda arm, metric, split: np.array(lower)
        )
        return SimpleNamespace(sections=[SimpleNamespace(sampler=sampler)])

    assert "no intervals" in _without_intervals("a", ranking("a", [math.nan, math.nan]))
    assert _without_intervals("a", ranking("a", [math.nan, 0.1])) == ""
    assert _without_intervals("b", ranking("a", [math.nan, math.nan])) == ""


def test_where_the_choice_was_not_run_nothing_was_checked(tmp_path: Path) -> None:
    other = Plan("by-pair", [quiet("base", 0, 0.01)], n=(200_000,), repetitions=10, baseline="base")
    text = said(tmp_path, [quiet("base", 0.2, 0.001), quiet("best", 0, 0.001)], other)
    assert "In `by-pair`: not checked there." in text
