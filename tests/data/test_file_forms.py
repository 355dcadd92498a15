"""Forms in which programs write tables: JSON of all kinds, CSV of spreadsheets; and the place of what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from amounts import part_of
from data_files import rejected, written

import rankbench
from rankbench.errors import InputError
from rankbench.logs.open import open_log

Vote = tuple[str, str, float]


def read(path: Path, columns: str = "") -> list[Vote]:
    """Return winner, loser and weight of each vote."""
    frame = open_log(path, columns=columns).frame.collect()
    weights = frame["weight"].to_list() if "weight" in frame.columns else [1.0] * frame.height
    return list(zip(frame["winner"], frame["loser"], weights, strict=True))


NESTED = [
    {
        "model_a": "gpt-4",
        "model_b": "claude, 2",
        "winner": "model_a",
        "conversation_a": [{"role": "user", "content": 'say "hi", [1]'}, {"role": "assistant", "content": "hi }]"}],
        "conversation_b": [],
        "language": "English",
        "conv_metadata": {"sum_user_tokens": 4, "bold_count_a": {"**": 0}},
    },
    {"model_a": "gpt-4", "model_b": "llama", "winner": "model_b", "language": None},
]
ARENA = [("gpt-4", "claude, 2", 1.0), ("llama", "gpt-4", 1.0)]
SIDES = "left=model_a,right=model_b,winner=winner"
TWO = [("a", "b", 1.0), ("b", "c", 1.0)]

FORMS: dict[str, tuple[str, bytes, str, list[Vote]]] = {
    "an array with records and lists": ("a.json", json.dumps(NESTED).encode(), SIDES, ARENA),
    "an array with indents": ("a.json", json.dumps(NESTED, indent=2).encode(), SIDES, ARENA),
    "by column, as pandas writes it": (
        "a.json",
        b'{"winner":{"0":"a","1":"b"},"loser":{"0":"b","1":"c"}}',
        "",
        TWO,
    ),
    "split, as pandas writes it": (
        "a.json",
        b'{"columns":["winner","loser"],"index":[0,1],"data":[["a","b"],["b","c"]]}',
        "",
        TWO,
    ),
    "rows inside": ("a.json", b'{"version": 2, "votes": [{"winner": "a", "loser": "b"}]}', "", TWO[:1]),
    "an object a line": ("a.json", b'{"winner": "a", "loser": "b"}\n{"winner": "b", "loser": "c"}\n', "", TWO),
    "semicolons and decimal commas": (
        "a.csv",
        b"winner;loser;weight\r\na;b;1,5\r\nb;c;2\r\n",
        'numbers="1.234,5"',
        [("a", "b", 1.5), ("b", "c", 2.0)],
    ),
    "Excel's CSV": (
        "a.csv",
        b'\xef\xbb\xbfsep=;\r\nwinner;loser;weight\r\n"a; the first";b;1.5\r\nb;c;2\r\n',
        "",
        [("a; the first", "b", 1.5), ("b", "c", 2.0)],
    ),
    "tabs": ("a.txt", b"winner\tloser\na, b\tc\n", "", [("a, b", "c", 1.0)]),
    "no header": (
        "a.csv",
        b"gpt,claude\nclaude,llama\n",
        "winner=2,loser=1",
        [("claude", "gpt", 1), ("llama", "claude", 1)],
    ),
}


@pytest.mark.parametrize("form", part_of(FORMS, 3))
def test_the_same_votes_are_read(tmp_path: Path, form: str) -> None:
    name, content, columns, votes = FORMS[form]
    path = written(tmp_path / name, content)
    assert read(path, columns) == votes
    ranked = rankbench.aggregate(path, columns=columns).table["item"].to_list()
    assert sorted(ranked) == sorted({item for vote in votes for item in vote[:2]})


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "sep=;\nwinner;loser\na;b\na;\n", ":4 [loser]: the cell is empty"),
        ("a.csv", 'winner;loser\na;b\na;"b\n', ":3: a quote is opened here"),
        ("a.json", '[{"winner": "a", "loser": "b"}, {"winner": "b", "los', ":1:49: not JSON"),
        ("a.json", '[{"winner": "a", "loser": "b"} {"winner": "b"}]', ":1:32: not JSON: Expecting ',' delimiter"),
        ("a.json", '[{"winner": "a", "loser": "b"}, 3]', ":2: a row must be a JSON object, not a number"),
        ("a.json", '[{"winner": "a", "loser": "b"}, {"winner": "b"}]', ":2 [loser]: the cell is empty"),
        ("a.json", '[{"winner": "a", "loser": "b", "winner": "b"}]', "the key 'winner' is there twice"),
        ("a.json", '[{"winner": "a", "loser": "b"}] 3', "not JSON"),
        ("a.json", '[{"winner": "a", "loser": "b", "weight": NaN}]', "NaN is not a finite number"),
        ("a.json", "[]", "the file has no rows"),
        ("a.json", '{"version": 2,\n"more": []}', "neither rows nor columns"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_place(tmp_path: Path, name: str, text: str, said: str) -> None:
    path = written(tmp_path / name, text)
    with pytest.raises(InputError) as caught:
        read(path)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("head", ["# made by x; 2024\n", "# one\n# two\n"])
def test_comments_before_the_header_are_named_and_not_read(tmp_path: Path, head: str) -> None:
    path = written(tmp_path / "votes.csv", f"{head}winner,loser\na,b\n#1,#2\n")
    assert read(path) == [("a", "b", 1.0), ("#1", "#2", 1.0)]
    assert f"row 1 is a comment, {head.splitlines()[0]!r}, and is not read" in open_log(path).notes
    path.write_text(f"{head}winner,loser\na,b\nb,b\n")
    with rejected(row=head.count("\n") + 3):
        read(path)
    # A header may begin with the sign, too.
    path.write_text("#winner,loser\n#1,#2\na,b\n")
    assert read(path, "winner=#winner,loser=loser") == [("#1", "#2", 1.0), ("a", "b", 1.0)]


def test_rows_of_a_dataset_server_are_those_inside(tmp_path: Path) -> None:
    path = tmp_path / "votes.json"
    rows = [{"row_idx": 0, "row": {"winner": "a", "loser": "b"}, "truncated_cells": []}]
    served = {"features": [{"name": "winner"}, {"name": "loser"}], "rows": rows, "num_rows_total": 1}
    for indent in (None, 1):
        path.write_text(json.dumps(served, indent=indent))
        assert read(path) == [("a", "b", 1.0)]
        assert len(open_log(path).notes) == 1
    path.write_text(json.dumps(served | {"num_rows_total": 3000}))
    assert "the file holds 1 row of a data set of 3,000" in open_log(path).notes


def test_lists_of_json_may_hold_names_and_ties_of_them(tmp_path: Path) -> None:
    path = written(tmp_path / "ballots.json", json.dumps([{"ranking": ["b", ["a", "c"]]}, {"ranking": ["a", "b"]}]))
    assert rankbench.scan(path).collect()["ranking"].to_list() == [[["b"], ["a", "c"]], [["a"], ["b"]]]
