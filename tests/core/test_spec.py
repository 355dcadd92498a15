"""The contender grammar: one way to write, read back to the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankbench.core.spec import Spec, expand, parse
from rankbench.errors import SpecError

words = st.from_regex(r"[a-z][a-z0-9]{0,6}(-[a-z0-9]{1,4})?", fullmatch=True).filter(
    lambda w: w not in ("inf", "true", "false", "null")
)
texts = st.one_of(
    words,
    st.text(max_size=12),
    st.text(alphabet=st.characters(), max_size=12),  # lone surrogates too: paths may have them
    st.text(alphabet="a1 ,:=()[]\"'\\\n/é", max_size=12),
    st.sampled_from(["true", "false", "inf", "null", "nan", "-1", "1e5", "", "left=a b,right=c", "/my logs/a:b.csv"]),
)
numbers = st.one_of(
    st.booleans(), st.integers(-(10**12), 10**12), st.floats(allow_nan=False, width=64), st.just(math.inf)
)


def specs(depth: int = 2) -> st.SearchStrategy[Spec]:
    scalars: st.SearchStrategy[Any] = st.one_of(numbers, texts, st.none())
    if depth:
        nested = specs(depth - 1).filter(lambda s: bool(s.params))
        scalars = st.one_of(scalars, nested, st.lists(st.one_of(numbers, texts, nested), min_size=1, max_size=3))
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


@settings(deadline=None)
@given(st.text(alphabet='ab1 =:,()[]"\\u0', max_size=24))
def test_what_is_read_is_written_once(text: str) -> None:
    try:
        spec = parse(text)
    except SpecError:
        return
    assert parse(str(spec)) == spec
    assert str(parse(str(spec))) == str(spec)


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
        ('erm:k="a', 7, "not closed"),
        (r'erm:k="\n"', 7, "no character in a quoted text"),
        (r'erm:k="\U00110000"', 7, "no character in a quoted text"),
        ('erm:"k"=1', 5, "parameter name"),
        ('erm:k="a"(b=1)', 10, "unexpected"),
        ("erm:k=-nan", 7, "component name"),
    ],
)
def test_errors_name_the_column(text: str, column: int, said: str) -> None:
    with pytest.raises(SpecError, match=f"column {column}") as caught:
        parse(text)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("left=model_x,right=model_y", '"left=model_x,right=model_y"'),
        ("model-x.v2", "model-x.v2"),
        ("/data/my votes:2.csv", '"/data/my votes:2.csv"'),
        ("Größe 日本", '"Größe 日本"'),
        ('say "a\\b"', r'"say \"a\\b\""'),
        ("two\nlines", r'"two\u000alines"'),
        ("a  b", r'"a \u0020b"'),
        ("\u202ehidden\U000e0001\udcff", r'"\u202ehidden\U000e0001\udcff"'),
        ("true", '"true"'),
        ("12", '"12"'),
        ("", '""'),
        (None, "null"),
        (np.float64(0.1), "0.1"),
    ],
)
def test_how_values_are_written(value: Any, written: str) -> None:
    assert str(Spec("csv", {"columns": value})) == f"csv:columns={written}"
    assert parse(f"csv:columns={written}") == Spec("csv", {"columns": value})


def test_a_name_may_be_quoted_at_the_top() -> None:
    spec = Spec("my votes.csv", {"reader": Spec("csv", {"columns": "left=a"})})
    assert str(spec) == '"my votes.csv":reader=csv(columns="left=a")'
    assert parse(str(spec)) == spec


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


def test_words_and_numbers_have_an_end() -> None:
    assert parse("erm:a=" + "1" * 40) == Spec("erm", {"a": int("1" * 40)})
    assert parse("erm:a=" + "w" * 200) == Spec("erm", {"a": "w" * 200})
    for text in ("erm:a=" + "1" * 41, "erm:a=-" + "1" * 5000, "erm:a=1e" + "9" * 50):
        with pytest.raises(SpecError, match="number of more than 40 characters at column 7"):
            parse(text)
    assert parse('erm:a="' + "é" * 10_000 + '"') == Spec("erm", {"a": "é" * 10_000})
    with pytest.raises(SpecError, match="quoted text of more than 10,000 characters at column 7"):
        parse('erm:a="' + "w" * 10_001 + '"')
    for text in ("w" * 201, "w" * 10**6):
        with pytest.raises(SpecError, match="word of more than 200 characters at column 1;"):
            parse(text)
