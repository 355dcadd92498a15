"""Numbers as they are shown."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankbench.core.text import count_text, differing_parts, listed, markdown, numbered, shortened, significant


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (math.nan, "—"),
        (0.25, "0.250"),
        (1.0, "1.00"),
        (-1.0, "-1.00"),
        (0.0000123456, "1.23e-05"),
        (-0.00042, "-0.000420"),
        (12.345, "12.3"),
        (99.96, "100"),
        (1234.5, "1230"),
    ],
)
def test_three_significant_digits(value, shown):
    assert significant(value) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1. Elo", r"1\. Elo"),
        ("12) Elo", r"12\) Elo"),
        ("# Elo", r"\# Elo"),
        ("- Elo", r"\- Elo"),
        ("2 Elo", "2 Elo"),
        ("Elo 1. 2", "Elo 1. 2"),
    ],
)
def test_markdown_takes_no_text_for_a_list_or_heading(text, shown):
    # CommonMark: a backslash escapes punctuation alone; before a digit it is shown.
    assert markdown(text) == shown


@given(st.floats(-1e6, 1e6).filter(bool))
def test_only_zero_looks_like_zero(value):
    shown = float(significant(value))
    assert shown == pytest.approx(value, rel=5.001e-3)
    assert shown != 0


def test_names_come_in_the_order_of_their_numbers():
    ordered = ["A", "C1", "C1a", "C2", "C02b", "C10", "C10.2", "C10.10", "R1"]
    assert sorted(reversed(ordered), key=numbered) == ordered


@pytest.mark.parametrize(
    ("count", "words", "said"),
    [
        (1, ("query",), "1 query"),
        (0, ("query",), "0 queries"),
        (2000, ("row",), "2,000 rows"),
        (3, ("launch",), "3 launches"),
        (2.5, ("voter",), "2.5 voters"),
        (40.0, ("voter",), "40 voters"),
        (1, ("row", "without a game"), "1 row without a game"),
        (2, ("row", "without a game"), "2 rows without a game"),
    ],
)
def test_a_count_agrees_with_its_noun(count, words, said):
    assert count_text(count, *words) == said


ALIKE = st.text("ab=,.", max_size=30)
"""Names that often begin alike."""


@given(st.lists(ALIKE.map(lambda end: "erm:surrogate=regression," + end), unique=True, max_size=6), st.integers(5, 40))
def test_names_that_are_shortened_stay_different(names, longest):
    shown = shortened(names, longest)
    assert len({*shown.values()}) == len(names)
    for name, text in shown.items():
        assert text == name or (len(text) == longest and name.startswith(text[:-1]) and text.endswith("…"))
        others = [other[: longest - 1] for other in names if other != name and len(other) > longest]
        if len(name) > longest and name[: longest - 1] not in others:
            assert len(text) <= longest or any(other == f"{name[: longest - 1]}…" for other in names)


def test_lists_name_each_apart():
    names = [f"erm:aggregator=labels,surrogate=regression,lambda={i}" for i in range(3)]
    assert listed(names) == ", ".join(map(repr, names))
    assert listed(["short", "x" * 50]) == f"'short', '{'x' * 40}...'"


@given(st.text("ab", max_size=60), st.text("abc", max_size=60), st.text("abc", max_size=60))
def test_two_texts_that_differ_are_shown_where_they_do(same, one, other):
    a, b = differing_parts(same + one, same + other, 20)
    assert (a == b) == (one == other)
    assert max(len(a), len(b)) <= 22
    for part, whole in ((a, same + one), (b, same + other)):
        assert part.strip("…") in whole
