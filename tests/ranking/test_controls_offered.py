"""What a log could be controlled for, as ``rankbench data describe`` offers it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from ranked_logs import two_items

from rankbench.cli import main


def votes(left_of_ten: int, **more: Sequence[object]) -> pl.DataFrame:
    """Return 200 votes between a and b, the left winning so many of ten, with further columns of ten values."""
    rows = range(200)
    frame = pl.DataFrame(
        {
            "left": ["ab"[k % 2] for k in rows],
            "right": ["ba"[k % 2] for k in rows],
            "winner": ["left" if k // 2 % 10 < left_of_ten else "right" for k in rows],
        }
    )
    return frame.with_columns(**{name: pl.Series([values[k % 10] for k in rows]) for name, values in more.items()})


def offered(frame: pl.DataFrame, path: Path) -> list[str]:
    frame.write_csv(path / "votes.csv")
    done = CliRunner().invoke(main, ["data", "describe", str(path / "votes.csv"), "--json"])
    assert done.exit_code == 0, done.output
    return list(json.loads(done.stdout).get("controls", []))


def test_side_is_offered_where_the_left_wins_more_or_less(tmp_path: Path) -> None:
    assert offered(votes(8), tmp_path) == ["side"]
    assert offered(votes(2), tmp_path) == ["side"]
    assert offered(votes(5), tmp_path) == []


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"words_left": [*range(10)], "words_right": [3] * 10}, ["words"]),
        ({"words_left": ["some text"] * 10, "words_right": ["other"] * 10}, []),
        ({"words_left": [4] * 10, "words_right": [4] * 10}, []),
        ({"words_left": [*range(9), None], "words_right": [3] * 10}, []),
        ({"words_left": [*range(10)]}, []),
        ({"left_score": [*range(10)], "right_score": [3] * 10}, []),
        (
            {
                "said_left": ["text"] * 10,
                "said_right": ["text"] * 10,
                "bold_left": [*range(10)],
                "bold_right": [1.5] * 10,
            },
            ["bold"],
        ),
    ],
)
def test_numbers_of_both_items_are_offered(more: dict[str, list[object]], expected: list[str], tmp_path: Path) -> None:
    assert offered(votes(5, **more), tmp_path) == expected


def test_what_control_refuses_is_not_offered(tmp_path: Path) -> None:
    """Ids and what else follows from the items, a value that is missing far down, and a covariate twice."""
    rng = np.random.default_rng(20261127)
    n = 1500
    a, b = two_items(rng, n, 4)
    length = rng.integers(10, 99, size=(2, n))
    frame = pl.DataFrame(
        {
            "model_a": [f"m{x}" for x in a],
            "model_b": [f"m{x}" for x in b],
            "winner": np.where(rng.random(n) < 0.7, "model_a", "model_b"),
            "id_a": a + 100,
            "id_b": b + 100,
            "price_a": (a + 1) ** 2 * 0.5,
            "price_b": (b + 1) ** 2 * 0.5,
            "length_a": length[0],
            "length_b": length[1],
            "words_a": 2 * length[0],
            "words_b": 2 * length[1],
            "late_a": [float(x) if k != 1200 else None for k, x in enumerate(length[1])],
            "late_b": length[0],
        }
    )
    terms = offered(frame, tmp_path)
    assert terms == ["side", "length"]
    done = CliRunner().invoke(main, ["aggregate", str(tmp_path / "votes.csv"), "--control", ", ".join(terms)])
    assert done.exit_code == 0, done.output
    for term in ("id", "price", "late", "length, words"):
        done = CliRunner().invoke(main, ["aggregate", str(tmp_path / "votes.csv"), "--control", term])
        assert done.exit_code == 2


def test_what_is_offered_is_what_can_be_said(tmp_path: Path) -> None:
    frame = votes(8, **{"odd, words_left": [1, 5, 2, 9, 4, 4, 3, 8, 7, 0], "odd, words_right": [3] * 10})
    frame.write_csv(tmp_path / "votes.csv")
    done = CliRunner().invoke(main, ["data", "describe", str(tmp_path / "votes.csv")])
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("could be controlled for")]
    assert "--control 'side, odd_words' (aggregate and run)" in line
    again = CliRunner().invoke(main, ["aggregate", str(tmp_path / "votes.csv"), "--control", "side, odd_words"])
    assert again.exit_code == 0, again.output
