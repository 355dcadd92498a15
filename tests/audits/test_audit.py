"""An audit: its ranking is that of `aggregate` and `rank`, and its probes share one level."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from amounts import part_of
from hypothesis import given
from hypothesis import strategies as st

import rankbench
from rankbench.audits.audit import with_levels
from rankbench.errors import InputError, SpecError, Unread

SCORES = {"model": ["a", "b", "c"], "t1": [1.0, 2.5, 0.0], "t2": [2.0, 3.5, 1.0], "t3": [3.0, 5.0, 1.5]}


def votes() -> pl.DataFrame:
    pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("a", "d"), ("d", "b")] * 12
    return pl.DataFrame(pairs, schema=["winner", "loser"], orient="row").with_columns(
        judge=pl.Series([f"j{row % 5}" for row in range(len(pairs))])
    )


@pytest.fixture(scope="module")
def audited() -> rankbench.Audit:
    return rankbench.audit(votes())


@pytest.mark.parametrize("method", part_of(["", "win-rate", "borda"]))
def test_its_ranking_is_that_of_aggregate(method: str, audited: rankbench.Audit) -> None:
    found = rankbench.audit(votes(), method) if method else audited
    ranking = rankbench.aggregate(votes(), method, intervals="auto")
    assert found.method == ranking.method
    assert found.first == ranking.table["item"][0]
    assert found.may_be_first == ranking.facts["may_be_first"]
    assert found.data == {"votes": 72, "items": 4, "judges": 5}


def test_a_first_place_that_items_share_is_said(audited: rankbench.Audit) -> None:
    level = pl.DataFrame({"winner": ["a", "b", "c"], "loser": ["b", "c", "a"], "tie": [True] * 3})
    found = rankbench.audit(level)
    assert f"3 items share the first place by score: probes take {found.first} for the first" in found.notes
    assert not any("share the first place" in note for note in audited.notes)


def test_a_score_table_is_ranked_as_rank_does() -> None:
    told = "system=model,scores=t1|t2,losses=t3"
    found = rankbench.audit(SCORES, columns=told)
    ranking = rankbench.rank(pl.DataFrame(SCORES), ["mean-score"], columns=told)
    # Means with the third task turned: 0, 1/3 and -1/6.
    assert found.first == ranking.table["system"][0] == "b"
    assert ranking.table["score"].to_list() == pytest.approx([1 / 3, 0, -1 / 6])
    assert found.data == {"systems": 3, "tasks": 3}
    assert found.reading == ranking.facts["reading"]
    assert rankbench.audit(SCORES, "mean-rank", columns="system=model,losses=*").first == "c"


def test_a_score_table_is_read_without_what_is_left_out() -> None:
    """A mean among the tasks, and rows of another metric, are asked about where they are not left out."""
    means = SCORES | {"all": [2.0, 11 / 3, 2.5 / 3]}
    told = {"columns": "system=model,scores=*"}
    with pytest.raises(Unread, match="is the mean of 3 tasks"):
        rankbench.audit(means, **told)
    assert rankbench.audit(means, **told, without=["all"]).data == {"systems": 3, "tasks": 3}
    long = pl.DataFrame(SCORES).unpivot(index="model", variable_name="task", value_name="score")
    both = pl.concat([long.with_columns(metric=pl.lit(name)) for name in ("f1", "bleu")])
    told = {"columns": "system=model,metric="}
    with pytest.raises(Unread):
        rankbench.audit(both, **told)
    assert rankbench.audit(both, **told, where="metric = 'f1'").data == {"systems": 3, "tasks": 3}


@pytest.mark.full
def test_columns_that_are_ignored_are_stated_and_may_still_matter() -> None:
    log = votes().with_columns(
        *(pl.Series(name, np.random.default_rng(at).integers(0, 9, 72)) for at, name in enumerate(("turns", "area")))
    )
    found = rankbench.audit(log, columns="ignore=area|turns")
    assert found.reading["not_read"] == ["turns", "area"]
    (categories,) = (probe.table for probe in found.probes if probe.name == "without-category")
    assert {name.split()[0] for name in categories["left out"]} == {"turns", "area"}


def test_probes_that_test_share_the_level_and_those_that_fire_stand_first() -> None:
    probes = [rankbench.Probe(name, "?", "", p) for name, p in (("a", None), ("b", 0.03), ("c", 0.025), ("d", 1.0))]
    of_three, of_two = with_levels(probes), with_levels(probes[:3])
    third, fires = 0.05 / 3, [(probe.name, probe.fires) for probe in of_two]
    assert [(probe.name, probe.level) for probe in of_three] == [("a", None), ("b", third), ("c", third), ("d", third)]
    assert not any(probe.fires for probe in of_three)
    assert fires == [("b", True), ("c", True), ("a", None)]


@given(st.lists(st.sampled_from([0.001, 0.004, 0.0125, 0.02, 0.025, 0.04, 0.05, 0.3]), min_size=1, max_size=8))
def test_levels_are_those_of_holm(given_p: list[float]) -> None:
    """Adjusted p are running maxima of p times the number of tests that are left."""
    left = range(len(given_p), 0, -1)
    adjusted = np.maximum.accumulate([p * tests for p, tests in zip(sorted(given_p), left, strict=True)])
    found = with_levels([rankbench.Probe(str(k), "?", "", p) for k, p in enumerate(given_p)])
    assert sum(bool(probe.fires) for probe in found) == (adjusted <= 0.05 + 1e-12).sum()
    assert [probe.fires for probe in found] == sorted((probe.fires for probe in found), reverse=True)


@pytest.mark.parametrize(
    ("log", "error", "words"),
    [
        ({"ranking": ["a>b", "b>a"]}, SpecError, "votes and score tables"),
        ({"colour": ["red"], "size": ["big"]}, InputError, "not known"),
    ],
)
def test_other_tables_are_refused(log, error, words) -> None:
    with pytest.raises(error, match=words):
        rankbench.audit(log)


@pytest.mark.parametrize("method", part_of(["", "win-rate", "elo", "bradley-terry:penalty=none"]))
@pytest.mark.parametrize(
    "log",
    [
        {"winner": ["a"], "loser": ["b"]},
        {"winner": ["a", "c", "c"], "loser": ["b", "d", "d"]},
        {"winner": ["a", "c", "b"], "loser": ["b", "a", "c"], "tie": [True, True, True]},
        {"winner": ["a", "b", "b"], "loser": ["b", "a", "c"], "weight": [1.5, 2.0, 0.0]},
        {"winner": ["a", "b", "b"], "loser": ["b", "a", "c"], "judge": ["x", "x", "x"]},
    ],
    ids=["one vote", "two scales", "ties alone", "weights", "one judge"],
)
def test_logs_that_say_little_have_a_page(log, method: str) -> None:
    if method.endswith("none") and len(log) == 2:
        with pytest.raises(SpecError, match="a scale of its own"):
            rankbench.audit(pl.DataFrame(log), method, columns="time=")
        return
    found = rankbench.audit(pl.DataFrame(log), method, columns="time=")
    assert all(probe.answer and "nan" not in probe.answer.split() for probe in found.probes)
