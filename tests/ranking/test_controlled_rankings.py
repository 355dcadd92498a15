"""Rankings with covariates: planted effects come back, what they did to the items does not, and what is offered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from amounts import part_of
from click.testing import CliRunner
from drawn_votes import two_items
from polars.testing import assert_frame_equal
from ranked_logs import sided_votes
from scipy.special import expit

import rankbench
from rankbench.cli import main
from rankbench.cli.rankings import effects_answer
from rankbench.cli.shown import Table
from rankbench.errors import InputError, SpecError
from rankbench.ranking.rankings_across import point_scale_of, rescaled

SCORES = np.array([0.9, 0.3, 0.0, -0.3, -0.9])


def planted(n: int, seed: int, *, side: float = 0.25, length: float = 0.0, strong_left: float = 0.5) -> pl.DataFrame:
    """Return votes of items i0 (the best) to i4; the stronger of two stands left with a chance of `strong_left`."""
    rng = np.random.default_rng(seed)
    return sided_votes(rng, SCORES, n, side=side, length=length, strong_left=strong_left)


def controlled(votes: pl.DataFrame, method: str = "", **options: Any) -> rankbench.Aggregation:
    """Rank votes of which it is said that other numbers than covariates say nothing of the result."""
    return rankbench.aggregate(votes, method, columns="ignore=neutral|length_*", **options)


def by_item(table: pl.DataFrame, name: str) -> np.ndarray:
    return table.sort("item")[name].to_numpy()


def test_a_planted_effect_is_covered_and_items_are_rid_of_it() -> None:
    votes = planted(20_000, 1, strong_left=1.0)
    found = controlled(votes, control="side:unless=neutral", intervals="auto")
    assert found.effects is not None
    (effect,) = found.effects.iter_rows(named=True)
    assert effect["lower"] <= 0.25 <= effect["upper"]
    assert effect["upper"] - effect["lower"] < 0.2
    assert (by_item(found.table, "lower") <= SCORES).all()
    assert (by_item(found.table, "upper") >= SCORES).all()
    # Whoever is stronger always stood left: the plain scores take the side's share for strength.
    biased = by_item(found.table, "unadjusted_score")
    assert biased[0] - SCORES[0] > 0.08
    assert (by_item(found.table, "unadjusted_lower")[0]) > SCORES[0]


def test_effects_of_several_covariates_at_once() -> None:
    votes = planted(20_000, 2, length=0.3)
    found = controlled(votes, "davidson:penalty=firth", control="side:unless=neutral, raw(log(length))")
    assert found.effects is not None
    for truth, row in zip((0.25, 0.3), found.effects.iter_rows(named=True), strict=True):
        # Four standard errors.
        assert abs(row["effect"] - truth) < row["upper"] - row["lower"]
    assert found.effects["unit"].to_list() == [1, 1]
    assert found.facts["control"] == ["side:unless=neutral", "raw(log(length))"]


def test_an_effect_is_of_a_typical_difference_and_said_so() -> None:
    votes = planted(4_000, 3, length=0.3)
    plain = controlled(votes, control="raw(log(length))").effects
    found = controlled(votes, control="log(length)")
    assert plain is not None
    assert found.effects is not None
    difference = np.log(votes["length_left"].to_numpy()) - np.log(votes["length_right"].to_numpy())
    unit = np.sqrt(np.mean(difference**2))
    assert found.effects["unit"][0] == pytest.approx(unit)
    assert found.effects["effect"][0] == pytest.approx(plain["effect"][0] * unit, rel=1e-8)
    assert any("covariates by their root mean square" in note and "log(length) by 1.4" in note for note in found.notes)


def test_an_effect_is_said_in_words() -> None:
    votes = planted(4_000, 4)
    effects = controlled(votes, control="side").effects
    assert effects is not None
    share = expit(effects["effect"][0])
    assert f"between equals, the left wins {share:.1%} of votes; 95% interval" in effects["words"][0]


def test_intervals_are_by_judge_where_the_log_names_judges() -> None:
    # Every judge votes fifty times alike: a fiftieth of the votes is what is independent.
    votes = planted(200, 5)
    many = pl.concat([votes.with_columns(judge=pl.int_range(pl.len()).cast(pl.String))] * 50)
    one = controlled(votes, "bradley-terry:penalty=none", control="side").effects
    by_judge = controlled(many, "bradley-terry:penalty=none", control="side").effects
    assert one is not None
    assert by_judge is not None
    width = [(table["upper"] - table["lower"])[0] for table in (one, by_judge)]
    assert width[1] == pytest.approx(width[0], rel=0.05)


def test_a_ridge_leaves_a_planted_effect() -> None:
    # Beside the mean over votes, a penalty of 1 makes .25 of it .046.
    votes = planted(20_000, 6)
    effects = controlled(votes, "bradley-terry:ridge=1", control="side:unless=neutral").effects
    assert effects is not None
    assert effects["effect"][0] == pytest.approx(0.25, abs=0.06)


def test_a_separating_covariate_is_named() -> None:
    votes = planted(300, 7).with_columns(apart=pl.when(pl.col("winner") == "left").then(1.0).otherwise(-1.0))
    found = controlled(votes, control="raw(apart)")
    assert any("'raw(apart)' separates the votes" in note and "won every one" in note for note in found.notes)


def test_what_never_changes_of_an_item_is_refused() -> None:
    votes = planted(300, 8)
    of = {f"i{i}": float(i * i) for i in range(5)}
    votes = votes.with_columns(
        size_left=pl.col("left").replace_strict(of), size_right=pl.col("right").replace_strict(of)
    )
    with pytest.raises(InputError, match=r"'size'.*follows from the items alone"):
        controlled(votes, control="size")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "elo"}, "'elo' estimates no effects.*bradley-terry and davidson"),
        ({"by": "neutral", "pool": True}, "leave control= out"),
        ({"intervals": "bootstrap"}, "by formula"),
        ({"intervals": "judges+queries"}, "by formula"),
    ],
)
def test_what_cannot_be_controlled_is_refused(options: dict[str, str], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        controlled(planted(50, 9), control="side", **options)


def test_ballots_and_a_method_without_covariates_are_refused() -> None:
    with pytest.raises(SpecError, match="name them with control="):
        controlled(planted(50, 9), "bradley-terry:control=true")


def test_each_category_has_effects_of_its_own() -> None:
    """Scores, effects and unadjusted scores are those of each category alone; one that shows no effect is left out."""
    votes = planted(600, 11).with_columns(lang=pl.Series(["de", "en", "de"] * 200))
    bold = pl.Series(np.random.default_rng(1).normal(size=600))
    few = votes.head(1).with_columns(lang=pl.lit("fr"), bold=pl.lit(0.0))
    found = controlled(
        pl.concat([votes.with_columns(bold=bold), few]), control="side, bold", by="lang", intervals="auto"
    )
    assert found.effects is not None
    assert found.effects["query"].unique(maintain_order=True).to_list() == ["de", "en"]
    assert any("leaves out lang 'fr'" in note for note in found.notes)
    assert [part.columns[0] for part in effects_answer(found).tables if isinstance(part, Table)] == ["lang"]
    for lang in ("de", "en"):
        own = votes.with_columns(bold=bold).filter(lang=lang).drop("lang")
        alone = controlled(own, control="side, bold", intervals="auto")
        assert alone.effects is not None
        assert_frame_equal(found.table.filter(query=lang).drop("query"), alone.table)
        assert_frame_equal(found.effects.filter(query=lang).drop("query"), alone.effects)


def test_points_are_of_both_rankings() -> None:
    found = controlled(planted(500, 10), control="side")
    points = rescaled(found, point_scale_of("elo:anchor=i2@1000")).table
    at = points.filter(item="i2")
    assert at["score"][0] == at["unadjusted_score"][0] == 1000


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


TOLD = ["--columns", "mirrored=keep,ignore=*_left|*_right|*_a|*_b"]
"""Each of the two items won as often left as right, and further columns are no scores."""


def offered(frame: pl.DataFrame, path: Path) -> list[str]:
    frame.write_csv(path / "votes.csv")
    done = CliRunner().invoke(main, ["data", "describe", str(path / "votes.csv"), *TOLD, "--json"])
    assert done.exit_code == 0, done.output
    return list(json.loads(done.stdout).get("controls", []))


def test_side_is_offered_where_the_left_wins_more_or_less(tmp_path: Path) -> None:
    assert offered(votes(8), tmp_path) == ["side"]
    assert offered(votes(2), tmp_path) == ["side"]
    assert offered(votes(5), tmp_path) == []


@pytest.mark.parametrize(
    ("more", "expected"),
    part_of(
        [
            ({"words_left": [*range(10)], "words_right": [3] * 10}, ["words"]),
            ({"words_left": ["some text"] * 10, "words_right": ["other"] * 10}, []),
            ({"words_left": [4] * 10, "words_right": [4] * 10}, []),
            ({"words_left": [*range(9), None], "words_right": [3] * 10}, []),
            ({"words_left": [*range(10)]}, []),
            (
                {
                    "said_left": ["text"] * 10,
                    "said_right": ["text"] * 10,
                    "bold_left": [*range(10)],
                    "bold_right": [1.5] * 10,
                },
                ["bold"],
            ),
        ]
    ),
)
def test_numbers_of_both_items_are_offered(more: dict[str, list[object]], expected: list[str], tmp_path: Path) -> None:
    assert offered(votes(5, **more), tmp_path) == expected


@pytest.mark.full
def test_what_control_refuses_is_not_offered(tmp_path: Path) -> None:
    """Ids and what else follows from the items, a value that is missing far down, and a covariate twice."""
    rng = np.random.default_rng(20261127)
    n = 1500
    a, b = two_items(rng, n, 4)
    length = rng.integers(10, 99, size=(2, n))
    frame = pl.DataFrame(
        {
            "left": [f"m{x}" for x in a],
            "right": [f"m{x}" for x in b],
            "winner": np.where(rng.random(n) < 0.7, "left", "right"),
            "id_left": a + 100,
            "id_right": b + 100,
            "price_left": (a + 1) ** 2 * 0.5,
            "price_right": (b + 1) ** 2 * 0.5,
            "length_left": length[0],
            "length_right": length[1],
            "words_left": 2 * length[0],
            "words_right": 2 * length[1],
            "late_left": [float(x) if k != 1200 else None for k, x in enumerate(length[1])],
            "late_right": length[0],
        }
    )
    terms = offered(frame, tmp_path)
    assert terms == ["side", "length"]
    done = CliRunner().invoke(main, ["aggregate", str(tmp_path / "votes.csv"), *TOLD, "--control", ", ".join(terms)])
    assert done.exit_code == 0, done.output
    for term in ("id", "price", "late", "length, words"):
        done = CliRunner().invoke(main, ["aggregate", str(tmp_path / "votes.csv"), *TOLD, "--control", term])
        assert done.exit_code == 2


def test_what_is_offered_is_what_can_be_said(tmp_path: Path) -> None:
    frame = votes(8, **{"odd, words_left": [1, 5, 2, 9, 4, 4, 3, 8, 7, 0], "odd, words_right": [3] * 10})
    frame.write_csv(tmp_path / "votes.csv")
    done = CliRunner().invoke(main, ["data", "describe", str(tmp_path / "votes.csv"), *TOLD])
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("could be controlled for")]
    assert "--control 'side, odd_words' (aggregate and run)" in line
    again = CliRunner().invoke(main, ["aggregate", str(tmp_path / "votes.csv"), *TOLD, "--control", "side, odd_words"])
    assert again.exit_code == 0, again.output
