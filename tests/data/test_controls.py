"""What votes were cast under: how it is written, which columns it is made of, what is refused."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from data_files import rejected

import rankbench
from rankbench.data.tables.covariates import ControlTerm, parse_control
from rankbench.errors import InputError, Unread
from rankbench.interfaces.reading import with_told
from rankbench.logs.open import scan
from rankbench.logs.votes import load_votes

VOTES = pl.DataFrame(
    {
        "model_a": ["x", "y", "z", "x"],
        "model_b": ["y", "z", "x", "z"],
        "winner": ["model_a", "model_b", "tie", "model_b"],
        "length_a": [100, 200, 50, 10],
        "length_b": [50, 100, 100, 10],
        "neutral": [False, True, False, False],
        "turns": [1, 2, 3, 4],
    }
)


TOLD = "left=model_a,right=model_b,winner=winner"


def loaded(frame: pl.DataFrame, control: str) -> list[list[float]]:
    """Return the covariates of the winner less the loser, divided by nothing."""
    votes = load_votes(scan(frame, columns=with_told(TOLD if "model_a" in frame.columns else "", "control", control)))
    assert votes.covariates is not None
    return [[float(x) for x in row] for row in votes.covariates.values * votes.covariates.scales]


def test_terms_are_taken_apart() -> None:
    assert parse_control('side:unless=neutral, log(length), raw(sqrt(abs(bold))) ,"a, b (c)"') == (
        ControlTerm("", unless="neutral"),
        ControlTerm("length", transforms=("log",)),
        ControlTerm("bold", transforms=("abs", "sqrt"), raw=True),
        ControlTerm("a, b (c)"),
    )


@pytest.mark.parametrize(
    "text", ["side", "side:unless=neutral", "log(length)", "raw(bold)", '"side"', 'log("a, ""b""")']
)
def test_a_term_is_written_as_it_is_read(text: str) -> None:
    (term,) = parse_control(text)
    assert str(term) == text
    assert parse_control(str(term)) == (term,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a term is empty"),
        ("side,,bold", "a term is empty"),
        ("lg(length)", "no transform 'lg'.*log"),
        ("log(length", "not closed"),
        ('"length', "not closed"),
        ("a:b", "no column"),
        ("bold, bold", "said twice"),
        ("side, side:unless=neutral", "said twice"),
        ("log(raw(x))", "no transform 'raw'"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse_control(text)


def test_side_is_of_the_left_and_nowhere_on_neutral_ground() -> None:
    # Winners stood on the left, right, left (a tie), right.
    assert loaded(VOTES, "side") == [[1], [-1], [1], [-1]]
    neutral = VOTES.with_columns(neutral=pl.col("neutral").cast(pl.Float64))  # as 1.0 and 0.0
    assert loaded(VOTES, "side:unless=neutral") == loaded(neutral, "side:unless=neutral") == [[1], [0], [1], [-1]]


def test_columns_of_both_are_differenced_and_those_of_the_vote_are_of_the_left() -> None:
    first, second = zip(*loaded(VOTES, "length, turns"), strict=True)
    assert first == pytest.approx([50, -100, -50, 0])
    assert second == pytest.approx([1, -2, 3, -4])


def test_transforms_are_of_each_before_the_difference() -> None:
    found = [row[0] for row in loaded(VOTES, "log(length)")]
    assert found == pytest.approx([0.6931471805599453, -0.6931471805599453, -0.6931471805599453, 0.0])


@pytest.mark.parametrize(
    ("names", "control"),
    [
        (("length_left", "length_right"), "length"),
        (("left_length", "right_length"), "length"),
        (("model_a_length", "model_b_length"), "length"),
        (("Length A", "Length B"), "Length"),
    ],
)
def test_sides_are_called_as_people_call_them(names: tuple[str, str], control: str) -> None:
    frame = VOTES.rename({"length_a": names[0], "length_b": names[1]})
    assert [row[0] for row in loaded(frame, control)] == pytest.approx([50, -100, -50, 0])


@pytest.mark.parametrize(
    "names", [("home_length", "away_length"), ("length_1", "length_2"), ("long_x_is", "long_y_is")]
)
def test_sides_that_are_called_otherwise_are_asked_about(names: tuple[str, str]) -> None:
    frame = VOTES.rename({"length_a": names[0], "length_b": names[1]})
    with rejected(f"has a twin, '{names[1]}'", column=names[0]):
        loaded(frame, names[0])
    with rejected("which of .* is of which item is not said: call them as model_a and model_b"):
        loaded(frame, "long_is" if "long" in names[0] else "length")
    loaded(frame, ",".join(names))


def test_words_of_a_name_may_stand_within() -> None:
    frame = VOTES.rename({"length_a": "conv_a_tokens", "length_b": "conv_b_tokens"})
    assert [row[0] for row in loaded(frame, "conv_tokens")] == pytest.approx([50, -100, -50, 0])
    with rejected("control=.conv_tokens. takes their difference", column="conv_a_tokens"):
        loaded(frame, "conv_a_tokens")


def test_winners_and_losers_have_columns_of_their_own() -> None:
    frame = pl.DataFrame({"winner": ["x", "y"], "loser": ["y", "z"], "words_winner": [3, 1], "words_loser": [1, 4]})
    assert [row[0] for row in loaded(frame, "words")] == pytest.approx([2, -3])
    # Who stood first says nothing of which column is the winner's.
    assert [row[0] for row in loaded(frame.with_columns(first=False), "words")] == pytest.approx([2, -3])


def test_a_typical_difference_is_the_unit() -> None:
    votes = load_votes(scan(VOTES, columns=with_told(TOLD, "control", "length, raw(length), side")))
    assert votes.covariates is not None
    assert votes.covariates.scales == pytest.approx(((50**2 + 100**2 + 50**2) ** 0.5 / 2, 1.0, 1.0))


def test_covariates_go_with_their_votes_in_the_order_of_time() -> None:
    frame = VOTES.with_columns(time=pl.Series([4, 3, 2, 1]))
    votes = load_votes(scan(frame, columns=with_told(TOLD, "control", "raw(length)")))
    assert votes.covariates is not None
    assert votes.covariates.values[:, 0].tolist() == [0, -50, -100, 50]


@pytest.mark.parametrize(
    ("control", "changed", "words"),
    [
        ("lenght", {}, "no column 'lenght'.*length"),
        ("side:unless=neutrl", {}, "no column 'neutrl'.*neutral"),
        ("log(length)", {"length_a": [100, 0, 50, 10]}, "row 2.*length_a.*has no log, which takes a number above 0"),
        ("sqrt(length)", {"length_b": [1, 1, 1, -4]}, "row 4.*length_b.*not negative"),
        ("length", {"length_a": ["100", "many", "50", "10"]}, "row 2.*length_a.*'many' is not a number"),
        ("length", {"length_a": [1.0, 2.0, float("inf"), 4.0]}, "row 3.*length_a.*not a finite number"),
        ("length", {"length_a": [1.0, 2.0, float("nan"), 4.0]}, "row 3.*length_a.*not a finite number"),
        ("length", {"length_a": [1, None, None, 4]}, "'length'.*missing in 2 of 4 votes"),
        ("side:unless=neutral", {"neutral": [None, True, False, False]}, "missing in 1 of 4 votes"),
        ("side:unless=neutral", {"neutral": ["no", "perhaps", "no", "no"]}, "row 2.*neutral.*not a truth value"),
        ("side:unless=neutral", {"neutral": [True] * 4}, "0 in every vote"),
        ("length", {"length_a": [7] * 4, "length_b": [7] * 4}, "'length'.*0 in every vote"),
        ("turns", {"turns": [2] * 4}, "'turns'.*2 in every vote.*'side'"),
    ],
)
def test_what_is_no_covariate_is_refused_by_name(control: str, changed: dict[str, list[object]], words: str) -> None:
    frame = VOTES.with_columns(**{name: pl.Series(values) for name, values in changed.items()})
    with pytest.raises(InputError, match=words):
        loaded(frame, control)


@pytest.mark.parametrize("control", ["side", "turns", "side:unless=turns"])
def test_a_log_without_sides_has_no_side(control: str) -> None:
    frame = pl.DataFrame({"winner": ["x", "y"], "loser": ["y", "z"], "turns": [1, 0]})
    with pytest.raises(InputError, match="the log has no sides"):
        scan(frame, columns=with_told("", "control", control))


def test_who_stood_first_is_a_side() -> None:
    frame = pl.DataFrame({"winner": ["x", "y"], "loser": ["y", "z"], "first": [True, False]})
    assert loaded(frame, "side") == [[1], [-1]]


def test_parquet_and_csv_have_the_same_covariates(tmp_path: Path) -> None:
    VOTES.write_parquet(tmp_path / "votes.parquet")
    VOTES.write_csv(tmp_path / "votes.csv")
    columns = with_told(TOLD, "control", "side:unless=neutral, log(length)")
    one, other = (scan(tmp_path / name, columns=columns).collect() for name in ("votes.parquet", "votes.csv"))
    assert one.equals(other)
    assert one.columns[-2:] == ["control: side:unless=neutral", "control: log(length)"]


def test_a_column_of_one_item_is_refused_without_that_of_the_other() -> None:
    with rejected("control=.length. takes their difference", column="length_a"):
        rankbench.aggregate(VOTES, columns=TOLD, control="length_a")
    with rejected("the file lacks that of the other", column="length_a"):
        rankbench.aggregate(VOTES.drop("length_b"), columns=TOLD, control="length_a")
    for control in ("length", "turns", "length_a,length_b"):
        rankbench.aggregate(VOTES, columns=TOLD, control=control)


def test_columns_of_covariates_are_read() -> None:
    votes = VOTES.drop("neutral", "turns")
    notes = rankbench.aggregate(votes, control="length").notes
    assert "length" not in notes[0]
    with pytest.raises(Unread, match="which no role reads"):
        rankbench.aggregate(votes)
    with pytest.raises(Unread, match="which no role reads"):
        rankbench.aggregate(VOTES.drop("turns"), control="length")
