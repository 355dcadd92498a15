"""Time from which changes are counted: dates, numbers or moments; rankbench rejects what is none."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from drawn_votes import named, two_items

from rankbench.errors import SpecError
from rankbench.ranking.over_time import scores_over_time
from rankbench.ranking.question import OverTimeQuestion

FEW = "dynamic-bradley-terry:drift=[0.01,0.03,0.1,0.3],variance=[0.5,1,2]"


def of_times(times: list[Any]) -> pl.DataFrame:
    """Return votes of which each time has some."""
    rng = np.random.default_rng(5)
    times = sorted(times * 6)
    return named(*two_items(rng, len(times), 3), time=times)


MONTHS = [date(2023 + k // 12, 1 + k % 12, 15) for k in range(20)]


@pytest.mark.parametrize(
    ("times", "options", "then"),
    [
        # As texts 2 comes after 10, and -8 after -3.
        (list(range(15)), {"since": "10"}, "10"),
        (list(range(15)), {"since": "9.5"}, "10"),
        (list(range(15)), {"since": "1e1"}, "10"),
        (list(range(-8, 7)), {"since": "-3"}, "-3"),
        ([0.5 * k for k in range(30)], {"since": "10"}, "10.0"),
        (MONTHS, {"since": "2023-04", "time_unit": "quarter"}, "2023-Q2"),
        (MONTHS, {"since": "2023-02", "time_unit": "quarter"}, "2023-Q2"),
        (MONTHS, {"since": "2023-Q3", "time_unit": "quarter"}, "2023-Q3"),
        (MONTHS, {"since": "2024", "time_unit": "quarter"}, "2024-Q1"),
        (MONTHS, {"since": "2024-03", "time_unit": "month"}, "2024-03"),
        (MONTHS, {"since": "2024-03-15T00:00", "time_unit": "day"}, "2024-03-15"),
        (MONTHS, {"since": "2024-03-15T00:01", "time_unit": "day"}, "2024-04-15"),
        (
            [datetime(2024, 1, d, 12, tzinfo=UTC) for d in range(1, 20)],
            {"since": "2024-01-05T13:00+01:00"},
            "2024-01-05T12:00:00+00:00",
        ),
    ],
)
def test_since_is_a_time_and_no_text(times: list[Any], options: dict[str, Any], then: str) -> None:
    question = OverTimeQuestion(method="dynamic-bradley-terry:drift=0.05", **options)
    assert scores_over_time(of_times(times), question).facts["then"] == then


@pytest.mark.parametrize(
    ("times", "since", "words"),
    [
        (list(range(15)), "May", 'since="May": the log\'s times are numbers, and this is none'),
        (list(range(15)), "nan", 'since="nan": the log\'s times are numbers, and this is none'),
        (list(range(15)), "14", "since=14: the log has no time from there on before its last one, 14"),
        (MONTHS, "15.05.2023", 'since="15.05.2023": write a time as 2024, 2024-Q2,'),
        (MONTHS, "2023-13", 'since="2023-13": write a time as'),
        (MONTHS, "2023-05-15T00:00Z", "have no zone"),
    ],
)
def test_what_is_no_time_of_the_log_is_refused(times: list[Any], since: str, words: str) -> None:
    with pytest.raises(SpecError, match=re.escape(words)):
        scores_over_time(of_times(times), OverTimeQuestion(method="dynamic-bradley-terry:drift=0.05", since=since))
