"""How often intervals of scores cover: `make long ARGS="FILE -s"` prints a table."""

from __future__ import annotations

import numpy as np
import pytest
from amounts import part_of, trials
from scipy import stats
from settings_of_logs import Setting, normal_skills

LOGS = 2000


SETTINGS = (
    Setting("8 items a gap of 1 apart, 600 votes", np.arange(8.0), 600),
    Setting("8 items a gap of 2 apart, 400 votes", np.arange(8.0) * 2, 400),
    Setting(
        "10 items at the deciles of t with 2 degrees of freedom, 500 votes",
        stats.t(2).ppf(np.arange(0.05, 1, 0.1)),
        500,
    ),
    Setting("100 items of normal skills, 3,000 votes", normal_skills(100, 1), 3000),
    Setting("8 items, 30 judges with tastes, 600 votes", np.linspace(-1, 1, 8), 600, 30, 0.7),
    Setting("8 items, 30 equal judges with tastes, 600 votes", np.linspace(-1, 1, 8), 600, 30, 0.7, 0.0),
    Setting("8 items a gap of 1/2 apart, ties, 600 votes", np.arange(8.0) / 2, 600, ties=0.7),
    Setting("8 items, ties, 30 judges with tastes, 600 votes", np.linspace(-1, 1, 8), 600, 30, 0.7, ties=0.7),
)

CHOSEN_ON = (
    Setting("6 items a gap of 1/2 apart, 100 votes", np.arange(6.0) / 2, 100),
    Setting("12 items a gap of 3/2 apart, 600 votes", np.arange(12.0) * 1.5, 600),
    Setting("5 items a gap of 3 apart, 200 votes", np.arange(5.0) * 3, 200),
    Setting("20 items of normal skills, 400 votes", normal_skills(20, 2), 400),
    Setting("6 items, 12 equal judges with tastes, 300 votes", np.linspace(-0.7, 0.7, 6), 300, 12, 0.7, 0.0),
    Setting("6 items, 20 judges with tastes, 800 votes", np.linspace(-0.7, 0.7, 6), 800, 20, 0.7),
    Setting("8 items, 60 judges with tastes, 1,500 votes", np.linspace(-1, 1, 8), 1500, 60, 0.7),
)
"""Where the corrections of the sandwich and the degrees of freedom were chosen, before `SETTINGS` were looked at."""


def check(setting: Setting, logs: int, slack: float = 0.0) -> None:
    covered, missing = setting.coverage(logs)
    print(f"\n| {setting.says} | {covered.mean():.3f} | {covered.min():.3f} | {missing:.1%} |")
    assert covered.mean() >= 0.93 - slack
    assert covered.min() >= 0.90 - slack
    assert missing <= 0.02


@pytest.mark.long
@pytest.mark.parametrize("setting", [*SETTINGS, *CHOSEN_ON], ids=lambda one: one.says)
def test_scores_are_covered(setting: Setting) -> None:
    check(setting, LOGS)


@pytest.mark.parametrize("setting", part_of([SETTINGS[1], SETTINGS[4], SETTINGS[7]]), ids=lambda one: one.says)
def test_scores_are_covered_in_a_few_logs(setting: Setting) -> None:
    """Of 100 logs a share of 95% has a standard deviation of 2.2% for one item."""
    check(setting, trials(400), slack=0.05)
