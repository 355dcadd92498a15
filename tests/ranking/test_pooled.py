"""Categories that borrow from one another: how often intervals cover, the test, and what may go wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from amounts import part_of, trials
from drawn_votes import two_items
from numpy.typing import NDArray
from scipy.special import expit

import rankbench
from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.errors import SpecError
from rankbench.ranking.categories import category_votes
from rankbench.ranking.expected_votes import category_test
from rankbench.ranking.pooled import categories_matter, pooled_rankings

FIRTH = BradleyTerry(penalty="firth")
M = 6


def log(
    seed: int,
    sizes: list[int],
    variance: float,
    *,
    judges: int = 0,
    taste: float = 0.0,
    nested: bool = False,
    m: int = M,
) -> tuple[pl.DataFrame, NDArray[np.float64]]:
    """Return votes by category, and the scores of each category, (C, m)."""
    rng = np.random.default_rng([seed, *sizes])
    scores = 0.7 * rng.normal(size=m) + np.sqrt(variance) * rng.normal(size=(len(sizes), m))
    category = np.repeat(np.arange(len(sizes)), sizes)
    n, many = len(category), max(judges, 1)
    a, b = two_items(rng, n, m)
    tastes = taste * rng.normal(size=(many * (len(sizes) if nested else 1), m))
    judge = rng.integers(many, size=n) + (category * many if nested else 0)
    lead = scores[category, a] - scores[category, b] + tastes[judge, a] - tastes[judge, b]
    won = rng.random(n) < expit(lead)
    names = {"query_id": category, "winner": np.where(won, a, b), "loser": np.where(won, b, a), "judge": judge}
    frame = pl.DataFrame(names).with_columns(pl.all().cast(pl.String).str.zfill(4))
    return (frame if judges else frame.drop("judge")), scores


def weaker(taste: float) -> float:
    """Return by how much log-odds are smaller on average over judges with normal tastes of two items (a probit's)."""
    return float(1 / np.sqrt(1 + (16 * np.sqrt(3) / (15 * np.pi)) ** 2 * 2 * taste**2))


def covered(logs: int, sizes: list[int], variance: float, **more: Any) -> tuple[float, float]:
    """Return how often intervals of a category's items cover its scores, and the interval of the variance that."""
    hits, df_units = [], []
    shorter = weaker(more.get("taste", 0.0))
    for seed in range(logs):
        frame, scores = log(seed, sizes, variance, **more)
        rankings, facts, _ = pooled_rankings(category_votes(frame.lazy()), FIRTH, "c", seed)
        for name, ranking in rankings.items():
            truth = shorter * scores[int(name)][[int(item) for item in ranking.items]]
            truth = truth - truth.mean()
            hits.append(((ranking.lower <= truth) & (truth <= ranking.upper)).mean())
        pool = facts["pool"]
        upper = np.inf if pool["upper"] is None else pool["upper"]
        df_units.append(pool["lower"] <= variance * shorter**2 <= upper)
    return float(np.mean(hits)), float(np.mean(df_units))


def unequal(count: int) -> list[int]:
    """Return sizes of which the largest is 25 times the smallest."""
    return [round(60 * float(np.exp(at))) for at in np.linspace(-1.6, 1.6, count)]


SETTINGS: list[tuple[str, list[int], float, dict[str, Any]]] = [
    (f"{count} {kind} categories", sizes, variance, {})
    for count in (3, 8, 30)
    for kind, sizes in (("equal", [60] * count), ("unequal", unequal(count)))
    for variance in (0.0, 0.05, 0.5)
] + [
    (
        f"{count} categories, 20 judges in {where}",
        [120] * count,
        variance,
        {"judges": 20, "taste": 0.7, "nested": nested},
    )
    for count in (3, 8, 30)
    for where, nested in (("each", True), ("all", False))
    for variance in (0.0, 0.1)
]
QUICK = [3, 11, 19, 21, 23]


def check_coverage(name: str, sizes: list[int], variance: float, more: dict[str, Any], logs: int) -> None:
    share, df_units = covered(logs, sizes, variance, **more)
    print(f"\n| {name} | {variance} | {share:.3f} | {df_units:.3f} |")
    # Items of one category, and categories of one log, hang together: as if there were three of them.
    assert share >= 0.93 - 2 * np.sqrt(0.05 * 0.95 / (3 * logs))
    assert df_units >= 0.88 - 2 * np.sqrt(0.12 * 0.88 / logs)


@pytest.mark.full
@pytest.mark.parametrize(("name", "sizes", "variance", "more"), [SETTINGS[at] for at in part_of(QUICK)])
def test_intervals_cover_some(name: str, sizes: list[int], variance: float, more: dict[str, Any]) -> None:
    check_coverage(name, sizes, variance, more, trials(60))


@pytest.mark.long
@pytest.mark.parametrize(("name", "sizes", "variance", "more"), SETTINGS)
def test_intervals_cover(name: str, sizes: list[int], variance: float, more: dict[str, Any]) -> None:
    check_coverage(name, sizes, variance, more, 120 if len(sizes) < 30 else 40)


def rejected(logs: int, sizes: list[int], variance: float, **more: Any) -> float:
    """Return in which share of logs categories are found to matter."""
    found = 0
    for seed in range(logs):
        votes = category_votes(log(seed, sizes, variance, **more)[0].lazy())
        found += categories_matter(votes, FIRTH, seed).p <= 0.05
    return found / logs


NULLS: list[tuple[str, list[int], dict[str, Any]]] = [
    ("10 categories of ten votes", [10] * 10, {}),
    ("30 categories of ten votes", [10] * 30, {}),
    ("3 categories of ten votes", [10] * 3, {}),
    ("10 unequal categories", [2, 2, 4, 6, 10, 20, 40, 80, 160, 320], {}),
    ("10 categories of ten votes, 20 judges in all", [10] * 10, {"judges": 20, "taste": 0.7}),
    ("10 categories of forty votes, 4 judges in each", [40] * 10, {"judges": 4, "taste": 0.7, "nested": True}),
]


def check_level(name: str, sizes: list[int], more: dict[str, Any], logs: int) -> None:
    share = rejected(logs, sizes, 0.0, **more)
    print(f"\n| {name} | {share:.3f} |")
    assert share <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / logs)


@pytest.mark.full
@pytest.mark.parametrize(("name", "sizes", "more"), [NULLS[0], NULLS[5]])
def test_categories_that_do_not_matter_are_seldom_accused(name: str, sizes: list[int], more: dict[str, Any]) -> None:
    check_level(name, sizes, more, trials(200))


@pytest.mark.long
@pytest.mark.parametrize(("name", "sizes", "more"), NULLS)
def test_at_most_six_percent_of_logs_are_wrong(name: str, sizes: list[int], more: dict[str, Any]) -> None:
    share = rejected(1000, sizes, 0.0, **more)
    print(f"\n| {name} | {share:.3f} |")
    # 6% with what a thousand logs of a test at 5% vary by.
    assert share <= 0.06 + 0.007


@pytest.mark.full
@pytest.mark.parametrize(("votes", "least"), [(40, 0.5), (100, 0.9)])
def test_categories_that_matter_are_found(votes: int, least: float) -> None:
    logs = trials(80)
    share = rejected(logs, [votes] * 10, 0.5)
    print(f"\n| 10 categories of {votes} votes, variance 0.5 | {share:.3f} |")
    assert share >= least


def test_the_statistic_is_its_definition() -> None:
    """Blocks of a judge stay together, and a judge's categories stay his: p against all logs that there are."""
    rng = np.random.default_rng(4)
    judges = np.repeat(np.arange(4), 6)
    category = np.tile([0, 0, 0, 1, 1, 1], 4)
    winners, losers = two_items(rng, 24, 3)
    residuals = rng.normal(size=24)

    def spread(labels: NDArray[np.int64]) -> float:
        won = np.zeros((2, 3))
        np.add.at(won, (labels, winners), residuals)
        np.add.at(won, (labels, losers), -residuals)
        return float((won**2).sum())

    every = [
        spread(np.where(np.array([flips >> judge & 1 for judge in judges], bool), 1 - category, category))
        for flips in range(16)
    ]
    exact = np.mean(np.array(every) >= every[0] - 1e-9)
    found = category_test(residuals, winners, losers, category, judges, 3, 0)
    assert found.trials == 999
    assert abs(found.p - exact) < 0.05


def pooled(frame: pl.DataFrame, **more: Any) -> rankbench.Aggregation:
    return rankbench.aggregate(frame.rename({"query_id": "lang"}), by="lang", **more)


def test_pooled_scores_are_between_the_categories_own_and_the_common_ones() -> None:
    frame, _ = log(1, [40] * 8, 0.3)
    own = pooled(frame, intervals="sandwich").table.sort("query", "item")
    found = pooled(frame, pool=True)
    common = rankbench.aggregate(frame.drop("query_id")).table
    table = found.table.sort("query", "item").join(common.select("item", common="score"), on="item")
    table = table.sort("query", "item")
    away = (own["score"] - table["common"]).to_numpy()
    kept = (table["score"] - table["common"]).to_numpy()
    assert 0.05 < float(kept @ away) / float(away @ away) < 0.95
    width = (table["upper"] - table["lower"]).mean(), (own["upper"] - own["lower"]).mean()
    assert width[0] < 0.9 * width[1]
    np.testing.assert_allclose(table.group_by("query").agg(pl.col("score").sum())["score"], 0, atol=1e-9)


def test_judges_of_several_categories_make_their_errors_alike() -> None:
    """A category that is as all others is no surer than the judges that vote in all of them."""
    frame, _ = log(3, [200] * 6, 0.0, judges=8, taste=1.0)
    whole = rankbench.aggregate(frame.drop("query_id"), intervals="sandwich").table
    found = pooled(frame, pool=True).table
    ratio = (found["upper"] - found["lower"]).mean() / (whole["upper"] - whole["lower"]).mean()
    assert 0.8 < ratio < 1.6


def small(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the votes with a category of two votes, in which most items do not occur."""
    two = pl.DataFrame({"query_id": ["tiny"] * 2, "winner": ["0000", "0001"], "loser": ["0001", "0000"]})
    return pl.concat([frame.select("query_id", "winner", "loser"), two])


def test_a_category_of_two_votes_is_as_the_common_scores_are() -> None:
    frame = small(log(4, [200, 200], 0.0)[0])
    found = pooled(frame, pool=True)
    tiny = found.table.filter(query="tiny").sort("item")
    assert tiny["item"].to_list() == ["0000", "0001"]
    assert tiny["lower"].null_count() == 0
    whole = rankbench.aggregate(frame.drop("query_id")).table.sort("item")["score"]
    assert abs((tiny["score"][0] - tiny["score"][1]) - (whole[0] - whole[1])) < 0.3


def test_a_category_of_one_vote_is_left_out() -> None:
    frame = small(log(4, [100, 100], 0.0)[0])[:-1]
    found = pooled(frame, pool=True)
    assert found.table["query"].unique().sort().to_list() == ["0000", "0001"]
    assert any("leaves out category 'tiny': it has one vote" in note for note in found.notes)


def test_one_judge_with_all_votes_is_no_judge() -> None:
    frame = log(5, [60] * 4, 0.3)[0]
    one = pooled(frame.with_columns(judge=pl.lit("j")), pool=True)
    assert one.table.equals(pooled(frame, pool=True).table)


@pytest.mark.full
def test_150_categories() -> None:
    count = 150
    frame = log(6, [12] * count, 0.1, m=5)[0]
    found = pooled(frame, pool=True)
    assert found.table["query"].n_unique() == count
    assert 0.02 < found.facts["pool"]["variance"] < 0.3


def test_weights_count_as_votes() -> None:
    frame = log(7, [80] * 3, 0.3)[0]
    found = pooled(frame.with_columns(weight=pl.lit(2.0)), pool=True)
    plain = pooled(frame, pool=True)
    # A vote of weight 2 is one unit: intervals are as wide, scores have less of Firth's penalty.
    ratio = (found.table["upper"] - found.table["lower"]).mean() / (plain.table["upper"] - plain.table["lower"]).mean()
    assert 0.8 < ratio < 1.2


def test_items_of_different_categories_are_not_compared() -> None:
    frame = log(8, [60, 60, 60, 60], 0.0)[0].with_columns(
        pl.when(pl.col("query_id") > "0001").then(pl.col(name) + "x").otherwise(pl.col(name)).alias(name)
        for name in ("winner", "loser")
    )
    found = pooled(frame, pool=True)
    assert found.table["scale"].n_unique() == 1


def apart(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the votes with items that each category has alone."""
    return frame.with_columns(pl.col("winner", "loser") + pl.col("query_id"))


@pytest.mark.parametrize(
    ("change", "more", "says"),
    [
        (lambda frame: frame, {"method": "win-rate"}, "'win-rate' has no formula"),
        (lambda frame: frame, {"intervals": "bootstrap"}, "by formula, not by bootstrap"),
        (lambda frame: frame.with_columns(query_id=pl.lit("q")), {}, "all votes are of one category"),
        (apart, {}, "nothing can be shared"),
    ],
)
def test_what_cannot_be_pooled(change: Callable[[pl.DataFrame], pl.DataFrame], more: dict[str, Any], says: str) -> None:
    with pytest.raises(SpecError, match=says):
        pooled(change(log(9, [30] * 3, 0.1)[0]), pool=True, **more)


def test_facts_say_what_was_found() -> None:
    found = pooled(log(10, [60] * 6, 0.5)[0], pool=True, method="davidson:penalty=firth")
    pool = found.facts["pool"]
    assert pool["lower"] <= pool["variance"] <= pool["upper"]
    assert (pool["unit"], found.facts["intervals"], found.facts["n"]) == ("log-odds", "sandwich", 360)
    assert found.notes[1].startswith("lang matters: ")
    assert "standard deviation of " in found.notes[2]


@pytest.mark.parametrize(("seed", "matters"), [(27, True), (53, False)])
def test_the_interval_holds_zero_if_the_test_does_not_reject_it(seed: int, matters: bool) -> None:
    """Likelihood ratios alone say the opposite on both logs: the test of categories decides on 0."""
    found = pooled(log(seed, [40] * 4, 0.15)[0], pool=True)
    pool = found.facts["pool"]
    assert (pool["p"] <= 0.05) == matters
    assert pool["lower"] == 0
    assert found.notes[1].startswith("lang matters: " if matters else "lang shows no significant effect: ")
    assert f"(95% interval {'above 0' if matters else '0'} to " in found.notes[2]


@pytest.mark.parametrize("method", ["bradley-terry", "bradley-terry:ridge=0", "davidson", "davidson:penalty=none"])
def test_other_penalties_are_pooled_too(method: str) -> None:
    frame = log(11, [8, 60, 60], 0.2)[0].with_columns(tie=pl.int_range(pl.len()) % 5 == 0)
    found = pooled(frame, pool=True, method=method)
    assert np.isfinite(found.table["score"].to_numpy()).all()
    assert found.table["lower"].null_count() < found.table.height / 2


@pytest.mark.full
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_names_of_items_and_categories_mean_nothing(seed: int) -> None:
    frame, _ = log(seed, [35, 60, 25], 0.2)
    frame = frame.rename({"query_id": "lang"})
    items = {f"{k:04d}": f"z{9 - k}" for k in range(M)}
    langs = {f"{k:04d}": f"y{9 - k}" for k in range(3)}
    turned = frame.with_columns(
        pl.col("winner", "loser").replace_strict(items), pl.col("lang").replace_strict(langs)
    ).reverse()
    numbers, keys = ["score", "lower", "upper", "votes", "wins"], ["query", "item"]
    found = rankbench.aggregate(frame, by="lang", pool=True).table.with_columns(
        pl.col("item").replace_strict(items), pl.col("query").replace_strict(langs)
    )
    found, again = (one.sort(keys) for one in (found, rankbench.aggregate(turned, by="lang", pool=True).table))
    assert found.select(keys).equals(again.select(keys))
    np.testing.assert_allclose(found.select(numbers).to_numpy(), again.select(numbers).to_numpy(), atol=1e-9)
