"""What is left out, and what then changes: beside rankings of filtered logs, and simulated misfits."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
import pytest
from amounts import part_of
from boards import PLANTED, votes

import rankbench
from rankbench.audits import audit, left_out
from rankbench.audits.audit import vote_board
from rankbench.audits.left_out import category_columns
from rankbench.audits.misfit import largest_misfits
from rankbench.audits.probe import Probe, VoteBoard
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.aggregator_calls import covariance_of
from rankbench.logs.open import open_log
from rankbench.plugin import manager

WIN_RATE = "win-rate"


def board(log: pl.DataFrame, method: str = WIN_RATE, columns: str = "") -> VoteBoard:
    source = open_log(log, columns=columns)
    found, _ = vote_board(source, manager.get(Aggregator, method), 1)
    parts = category_columns(source, found.votes)
    return VoteBoard(source, found.votes, found.method, found.loaded, found.ranking, 1, parts)


@cache
def small() -> pl.DataFrame:
    return votes(5, items=6, n=240, judges=6, taste=0.5, ties=0.5)


def order(log: pl.DataFrame, **kept: object) -> list[str]:
    found: list[str] = rankbench.aggregate(log, WIN_RATE, **kept).table["item"].to_list()  # type: ignore[arg-type]
    return found


def largest_move(before: list[str], after: list[str]) -> int:
    return max(abs(before.index(item) - after.index(item)) for item in after)


@pytest.mark.parametrize("noun", part_of(["judge", "item", "category", "third"]))
def test_changes_are_those_of_rankings_without(noun: str) -> None:
    log = small()
    probe: Probe = getattr(left_out, f"without_{noun}")(board(log))
    assert probe.table is not None
    whole = order(log)
    for row in probe.table.iter_rows(named=True):
        name = row["left out"]
        if noun == "judge":
            after = order(log, without_judge=name)
        elif noun == "item":
            after = order(log, without=name)
        elif noun == "category":
            column, value = name.split(" ")
            after = order(log, where=f"{column} <> '{value}'")
        else:
            at = ["first third", "second third", "last third"].index(name)
            after = order(log.filter(pl.col("time") * 3 // 240 != at))
        before = [item for item in whole if item in after]
        assert (row["first"], row["places"]) == (after[0], largest_move(before, after))
    assert probe.table["places"].is_sorted(descending=True)
    assert probe.table.height == {"judge": 6, "item": 6, "category": 3, "third": 3}[noun]


@pytest.mark.full
def test_a_clone_has_the_votes_of_its_item() -> None:
    log = small()
    probe = left_out.clones(board(log))
    assert probe.table is not None
    for row in probe.table.iter_rows(named=True):
        item = row["entered twice"]
        own = log.filter((pl.col("left") == item) | (pl.col("right") == item))
        again = own.with_columns(pl.col("left", "right").replace(item, "copy"))
        after = [each for each in order(pl.concat([log, again])) if each not in (item, "copy")]
        assert row["places"] == largest_move([each for each in order(log) if each != item], after)


def test_no_clone_moves_others_in_a_tournament_by_margins() -> None:
    """All pairs met equally often: a copy adds the item's results, and moves no item past another in its order."""
    rows = [(f"i{a}", f"i{b}") for a in range(4) for b in range(a + 1, 4)] * 12
    log = pl.DataFrame(rows, schema=["winner", "loser"], orient="row")
    assert left_out.clones(board(log)).answer.startswith("no: ")


@pytest.mark.full
def test_columns_of_categories_are_those_with_few_whole_values() -> None:
    log = small().with_columns(
        pl.lit("one").alias("constant"),
        pl.int_range(pl.len()).alias("own"),
        pl.when(pl.col("time") > 5).then("lang").alias("gaps"),
        (pl.col("time") % 4).alias("season"),
        (pl.col("time") % 4 / 10).alias("chance"),
    )
    found = board(log, columns="ignore=own|season|chance").categories
    assert {name: list(values) for name, (_, values) in found.items()} == {
        "lang": ["de", "en", "fr"],
        "season": ["0", "1", "2", "3"],
    }
    np.testing.assert_array_equal(found["season"][0], np.arange(240) % 4)


@pytest.mark.full
@pytest.mark.parametrize(("taste", "low", "high"), [(0.0, 0.0, 0.3), (0.5, 0.3, 0.7), (1.0, 0.7, 1.3)])
def test_the_tastes_of_judges_are_estimated(taste: float, low: float, high: float) -> None:
    found = largest_misfits(board(votes(1, taste=taste, ties=0.4)))
    assert found is not None
    assert low <= found.taste <= high


@pytest.mark.full
@pytest.mark.parametrize("name", part_of(["without-judge", "without-item", "without-category", "drift"], 3))
def test_planted_faults_are_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = (left_out.without_judge, left_out.without_item, left_out.without_category, left_out.drifting)
    monkeypatch.setattr(audit, "VOTE_PROBES", tests)
    audited = rankbench.audit(PLANTED[name](3), columns="keep=bought")
    probe = next(one for one in audited.probes if one.name == name)
    assert probe.fires
    named = {
        "without-judge": ("judge", "bought"),
        "without-item": ("item", "i4"),
        "without-category": ("value", "fr"),
        "drift": ("items", ["i0"]),
    }
    key, value = named[name]
    assert probe.facts[key] == value


@pytest.mark.full
def test_the_numbers_that_may_be_first_are_those_of_rankings_without() -> None:
    log = small()
    found = board(log)
    for probe, key in ((left_out.without_judge(found), "judge"), (left_out.without_item(found), "item")):
        name = probe.facts[key]
        keep = {"without_judge": name} if key == "judge" else {"without": name}
        left, whole = (
            len(rankbench.aggregate(log, WIN_RATE, intervals="auto", **one).facts["may_be_first"]) for one in (keep, {})
        )
        assert f"{name}, {left} item" in probe.answer
        assert probe.answer.endswith(f"may be first ({whole} with it)")


@pytest.mark.full
def test_a_column_of_queries_divides_the_votes() -> None:
    log = small().with_columns(prompt=pl.Series([str(row % 4) for row in range(240)])).drop("query", strict=False)
    found = rankbench.audit(log, WIN_RATE, columns="query=prompt")
    (probe,) = (one for one in found.probes if one.name == "without-category")
    assert {"prompt 0", "prompt 1", "prompt 2", "prompt 3"} <= {*probe.table["left out"]}


@pytest.mark.full
def test_logs_that_lack_what_a_probe_needs_say_so() -> None:
    probes = {one.name: one for one in rankbench.audit(small().select("left", "right", "winner")).probes}
    for name in ("without-judge", "without-category", "without-third", "drift", "clustering"):
        assert (probes[name].answer[:9], probes[name].p) == ("not known", None)


@pytest.mark.full
def test_judges_who_agree_with_themselves_count_like_fewer_votes() -> None:
    log = votes(1, items=4, n=800, judges=20, taste=2.0)
    found = left_out.clustering(board(log, "bradley-terry:penalty=firth"))
    assert found.facts["ratio"] > 2
    alone = left_out.clustering(board(votes(1, items=4, n=800, judges=20), "bradley-terry:penalty=firth"))
    assert 0.5 < alone.facts["ratio"] < 1.6


@pytest.mark.parametrize("taste", [0.0, 0.5])
@pytest.mark.parametrize("method", part_of(["bradley-terry:penalty=firth", "win-rate"]))
def test_judges_differ_as_categories_do(taste: float, method: str) -> None:
    """The same question as ``--by judge --pool`` has the same answer."""
    log = votes(2, items=6, n=700, judges=12, taste=taste)
    found = left_out.clustering(board(log, method))
    asked = rankbench.aggregate(log, by="judge", pool=True, seed=1)
    assert found.p == asked.facts["pool"]["p"]
    assert (found.p <= 0.05) == ("differ between judges by more than chance explains" in found.answer)


@pytest.mark.full
def test_votes_of_weights_and_of_split_points_are_compared_with_votes_by_judge() -> None:
    """Weights that are all the same are no weights; a graded vote of two rows is one vote."""
    method = "bradley-terry:penalty=none,ridge=1"
    log = votes(3, items=4, n=300, judges=8)
    light, heavy = (left_out.clustering(board(log.with_columns(weight=pl.lit(w)), method)) for w in (1.0, 1 + 2**-20))
    assert heavy.facts["ratio"] == pytest.approx(light.facts["ratio"], rel=1e-4)
    graded = log.select("left", "right", "judge", points=pl.col("winner").replace_strict({"left": 0.8, "right": 0.3}))
    split = board(graded, method)
    judge, by_vote = (
        np.median(np.diag(covariance_of(split.method, said.counts, split.ranking.scores, said)))
        for said in (split.loaded.data, split.votes.clusters(split.votes.numbers))
    )
    assert left_out.clustering(split).facts["ratio"] == pytest.approx(judge / by_vote, rel=0.1)
