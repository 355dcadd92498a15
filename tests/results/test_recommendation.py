"""Recommendations in words: nothing is called equal that was not told apart."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic
from synthetic import Contender, Plan

from rankbench.results.analysis import analyze
from rankbench.results.journal import Journal
from rankbench.results.recommendation import recommendations


def said(folder: Path, contenders: list[Contender], *others: Plan, **extra: object) -> str:
    """Return the recommendation from ten overlapping runs on one unit; less is better."""
    plan = Plan(
        "methods", contenders, n=(200_000,), repetitions=10, baseline="base", extra={"recommend": True, **extra}
    )
    synthetic.write(folder, [plan, *others], {"heldout": 1}, test_share=0.2)
    with Journal(folder) as journal:
        return "\n".join(recommendations(analyze(journal)))


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


def test_where_the_choice_was_not_run_nothing_was_checked(tmp_path: Path) -> None:
    other = Plan("by-pair", [quiet("base", 0, 0.01)], n=(200_000,), repetitions=10, baseline="base")
    text = said(tmp_path, [quiet("base", 0.2, 0.001), quiet("best", 0, 0.001)], other)
    assert "In `by-pair`: not checked there." in text
