"""The contender grammar: one way to write, read back to the same."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankbench.errors import SpecError
from rankbench.spec import Spec, expand, parse

words = st.from_regex(r"[a-z][a-z0-9]{0,6}(-[a-z0-9]{1,4})?", fullmatch=True).filter(
    lambda w: w not in ("inf", "true", "false")
)
numbers = st.one_of(
    st.booleans(), st.integers(-(10**12), 10**12), st.floats(allow_nan=False, width=64), st.just(math.inf)
)


def specs(depth: int = 2) -> st.SearchStrategy[Spec]:
    scalars: st.SearchStrategy[Any] = st.one_of(numbers, words)
    if depth:
        nested = specs(depth - 1).filter(lambda s: bool(s.params))
        scalars = st.one_of(scalars, nested, st.lists(st.one_of(numbers, words, nested), min_size=1, max_size=3))
    return st.builds(Spec, words, st.dictionaries(words, scalars, max_size=3))


@settings(deadline=None)
@given(specs())
def test_what_is_written_is_read_back(spec: Spec) -> None:
    text = str(spec)
    assert parse(text) == spec
    assert str(parse(text)) == text


@settings(deadline=None)
@given(specs())
def test_a_grid_expands_to_all_its_points(spec: Spec) -> None:
    def points(value: object) -> int:
        if isinstance(value, list):
            return sum(points(v) for v in value)
        return math.prod(points(v) for v in value.params.values()) if isinstance(value, Spec) else 1

    grid = expand(spec)
    assert len(grid) == points(spec)
    assert all(len(expand(point)) == 1 for point in grid)


def test_the_last_parameter_runs_fastest() -> None:
    assert [str(s) for s in expand(parse("erm:k=[1,inf],lambda=[0.1,1]"))] == [
        "erm:k=1,lambda=0.1",
        "erm:k=1,lambda=1",
        "erm:k=inf,lambda=0.1",
        "erm:k=inf,lambda=1",
    ]


def test_nested_components_and_spaces() -> None:
    spec = parse(" erm : aggregator = mean-log-odds( smoothing = 5e-1 ) , k = inf ")
    assert spec == Spec("erm", {"aggregator": Spec("mean-log-odds", {"smoothing": 0.5}), "k": math.inf})
    assert str(spec) == "erm:aggregator=mean-log-odds(smoothing=0.5),k=inf"


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        ("", 1, "component name"),
        ("erm:", 5, "parameter name"),
        ("erm:k", 6, "'='"),
        ("erm:k=", 7, "component name"),
        ("erm:k=1,k=2", 10, "twice"),
        ("erm:k=[1,2", 11, "']'"),
        ("erm:a=b(c=1", 12, "')'"),
        ("erm:k=1 2", 9, "unexpected"),
        ("erm:k=$", 7, "'$'"),
        ("9erm", 1, "component name"),
        ("erm:k=1)", 8, "unexpected"),
    ],
)
def test_errors_name_the_column(text: str, column: int, said: str) -> None:
    with pytest.raises(SpecError, match=f"column {column}") as caught:
        parse(text)
    assert said in str(caught.value)


def grid(points: int) -> str:
    return "[" + ",".join(str(i) for i in range(points)) + "]"


def test_large_grids_are_refused_before_they_are_built() -> None:
    assert len(expand(parse(f"erm:a={grid(100)},b={grid(100)}"))) == 10_000
    with pytest.raises(SpecError, match="10,100 points"):
        expand(parse(f"erm:a={grid(100)},b={grid(101)}"))
    with pytest.raises(SpecError, match=r"1,000,000,000 points"):
        expand(parse("erm:" + ",".join(f"p{i}=x(a={grid(10)})" for i in range(9))))
    with pytest.raises(SpecError, match=r"more than 10\^15 points"):
        expand(parse("erm:" + ",".join(f"p{i}={grid(10)}" for i in range(5000))))


def nested(depth: int) -> str:
    return "erm:a=" + "x(a=" * (depth - 1) + "1" + ")" * (depth - 1)


def test_nesting_has_an_end() -> None:
    assert str(parse(nested(20))) == nested(20)
    for text in (nested(21), nested(100_000), "erm:a=" + "[" * 21, "erm:a=" + "[" * 100_000):
        with pytest.raises(SpecError, match="nested more than 20 deep") as caught:
            parse(text)
        assert len(str(caught.value)) < 500


def test_depth_is_not_length() -> None:
    assert len(parse("erm:" + ",".join(f"p{i}=x(a=[1,2])" for i in range(50))).params) == 50


def test_words_and_numbers_have_an_end() -> None:
    assert parse("erm:a=" + "1" * 40) == Spec("erm", {"a": int("1" * 40)})
    assert parse("erm:a=" + "w" * 200) == Spec("erm", {"a": "w" * 200})
    for text in ("erm:a=" + "1" * 41, "erm:a=-" + "1" * 5000, "erm:a=1e" + "9" * 50):
        with pytest.raises(SpecError, match="number of more than 40 characters at column 7"):
            parse(text)
    for text in ("w" * 201, "w" * 10**6):
        with pytest.raises(SpecError, match="word of more than 200 characters at column 1;"):
            parse(text)
