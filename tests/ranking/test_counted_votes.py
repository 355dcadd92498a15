"""Votes of ballots and of logs, read aloud one by one, and what is known of counted ones."""

from __future__ import annotations

import itertools
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from amounts import examples
from drawn_votes import two_items
from hypothesis import given
from hypothesis import strategies as st

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.errors import InputError
from rankbench.interfaces.aggregator import CountAggregator
from rankbench.interfaces.pair_counts import PairCounts, Scales
from rankbench.interfaces.queries import Comparisons, Orders, Selections
from rankbench.logs.count import count_clusters, count_pairs
from rankbench.logs.votes import coded_votes, load_votes
from rankbench.protocols.log_votes import votes_of_ballots
from rankbench.ranking import sampling_units as units
from rankbench.ranking.lists import Ballots, Sessions
from rankbench.ranking.ranked_log import CountedVotes, tallies_of_counts
from rankbench.ranking.sampling_units import units_of_counts

BALLOT = st.tuples(
    st.sampled_from(["p", "q", "r"]),
    st.lists(st.sampled_from("abcde"), min_size=1, unique=True),
    st.lists(st.booleans(), min_size=5, max_size=5),
    st.integers(1, 3),
)


def places(items: list[str], joins: list[bool]) -> list[list[str]]:
    """Return the items by place: each joins the one before it where `joins` says so."""
    found: list[list[str]] = [[items[0]]]
    for item, join in zip(items[1:], joins, strict=False):
        if join:
            found[-1].append(item)
        else:
            found.append([item])
    return found


@given(st.lists(BALLOT, min_size=1, max_size=12))
@examples(60)
def test_ballots_one_by_one(drawn: list[tuple[str, list[str], list[bool], int]]) -> None:
    rows = [
        {"query_id": query, "ranking": places(items, joins), "weight": float(weight)}
        for query, items, joins, weight in drawn
    ]
    expected = []
    for judge, row in enumerate(sorted(rows, key=lambda row: row["query_id"])):
        said = [(item, place) for place, group in enumerate(row["ranking"]) for item in group]
        for (first, above), (second, below) in itertools.combinations(said, 2):
            expected.append((first, second, above == below, row["weight"], judge, (row["query_id"], {first, second})))
    if not expected:
        with pytest.raises(InputError, match="say nothing"):
            votes_of_ballots(pl.LazyFrame(rows))
        return
    votes = votes_of_ballots(pl.LazyFrame(rows))
    assert votes.judges is not None
    found = zip(votes.winners, votes.losers, votes.ties, votes.weights, votes.judges, strict=True)
    assert [(votes.items[i], votes.items[j], tie, weight, judge) for i, j, tie, weight, judge in found] == [
        vote[:5] for vote in expected
    ]
    same = [[one[5] == other[5] for other in expected] for one in expected]
    np.testing.assert_array_equal(votes.groups[:, None] == votes.groups, same)


VOTE = st.fixed_dictionaries(
    {
        "query_id": st.sampled_from(["q", "p", "\xe4", "z\U0001f600"]),
        "sides": st.permutations(["b", "a", "\xe4", "a\0", "c"]).map(lambda names: names[:2]),
        "judge": st.sampled_from(["x", "y", "w", None]),
        "time": st.one_of(st.integers(-5, 5), st.none()),
        "weight": st.sampled_from([1.0, 0.5, 2.0]),
        "tie": st.booleans(),
    }
)


@given(
    st.lists(VOTE, min_size=1, max_size=30),
    st.sets(st.sampled_from(["judge", "time", "weight", "tie"])),
    st.booleans(),
    st.booleans(),
)
@examples(150)
def test_votes_one_by_one(drawn: list[dict], columns: set[str], whole: bool, coded: bool) -> None:
    """Names in alphabetical order, votes in the order of time, groups by query and pair: as sorting rows says."""
    rows = [dict(vote, judge=vote["judge"] or "v", time=vote["time"] or 0) if whole else vote for vote in drawn]
    frame = pl.DataFrame(
        {
            "query_id": [row["query_id"] for row in rows],
            "winner": [row["sides"][0] for row in rows],
            "loser": [row["sides"][1] for row in rows],
            **{
                name: pl.Series([row[name] for row in rows], dtype=dtype)
                for name, dtype in (
                    ("judge", pl.String), ("time", pl.Int64), ("weight", pl.Float64), ("tie", pl.Boolean),
                )
                if name in columns
            },
        }
    )  # fmt: skip
    votes = load_votes(coded_votes(frame.lazy()) if coded else frame.lazy())
    timed = "time" in columns and all(row["time"] is not None for row in rows)
    if timed:
        rows = sorted(rows, key=lambda row: row["time"])
    assert votes.items == sorted({name for row in rows for name in row["sides"]})
    assert [votes.items[i] for i in votes.winners] == [row["sides"][0] for row in rows]
    assert [votes.items[i] for i in votes.losers] == [row["sides"][1] for row in rows]
    assert votes.ties.tolist() == [row["tie"] and "tie" in columns for row in rows]
    assert votes.weights.tolist() == [row["weight"] if "weight" in columns else 1.0 for row in rows]
    assert votes.alike == all(weight == 1 for weight in votes.weights)
    asked = [(row["query_id"], *sorted(row["sides"])) for row in rows]
    assert votes.groups.tolist() == [sorted(set(asked)).index(each) for each in asked]
    named = "judge" in columns and all(row["judge"] is not None for row in rows)
    for known, found, name in ((named, votes.judges, "judge"), (timed, votes.times, "time")):
        if known:
            order = sorted({row[name] for row in rows})
            assert found is not None
            assert found.tolist() == [order.index(row[name]) for row in rows]
        else:
            assert found is None
    missing = sum(row["judge"] is None for row in rows) if "judge" in columns else 0
    assert votes.unsigned == (missing if missing < len(rows) else 0)


def test_weights_of_one_take_no_memory() -> None:
    frame = pl.LazyFrame({"query_id": ["q"] * 9, "winner": ["a"] * 9, "loser": ["b"] * 9, "weight": [1.0] * 9})
    votes = load_votes(frame)
    assert votes.weights.strides == (0,)
    assert votes.comparisons().weights.flags.c_contiguous


M = 4
VOTES = st.lists(
    st.tuples(st.integers(0, M - 1), st.integers(0, M - 1), st.sampled_from([1.0, 2.5]), st.booleans()).filter(
        lambda vote: vote[0] != vote[1]
    ),
    min_size=1,
    max_size=30,
)


@given(VOTES)
def test_votes_and_wins(votes: list[tuple[int, int, float, bool]]) -> None:
    winners, losers, weights, ties = (np.array(column) for column in zip(*votes, strict=True))
    offsets = np.array([0, len(votes)])
    comparisons = Comparisons(offsets, winners.astype(np.int32), losers.astype(np.int32), weights, ties)
    found = tallies_of_counts(PairCounts.from_comparisons(comparisons, M))
    judged, won = np.zeros(M), np.zeros(M)
    for winner, loser, weight, tie in votes:
        judged[[winner, loser]] += weight
        won[winner] += weight / 2 if tie else weight
        won[loser] += weight / 2 if tie else 0
    np.testing.assert_allclose(found.judged, judged)
    np.testing.assert_allclose(found.won, won)
    assert (found.judged_words, found.won_words) == ("votes", "wins")


def test_ballots_and_firsts() -> None:
    # 2 > 0 = 1 by three voters; 1 = 3 by one.
    orders = Orders(
        np.array([0, 2]), np.array([0, 3, 5]), np.array([2, 0, 1, 1, 3], np.int32),
        np.array([0, 1, 1, 0, 0], np.int32), np.array([3.0, 1.0]),
    )  # fmt: skip
    found = Ballots(list("abcd"), orders).tallies
    assert found.judged.tolist() == [3, 4, 3, 1]
    assert found.won.tolist() == [0, 1, 3, 1]


def test_shown_and_clicked() -> None:
    shown = Selections(
        np.array([0, 2]), np.array([0, 2, 5]), np.array([0, 1, 2, 1, 0], np.int32),
        np.array([False, True, False, True, False]),
    )  # fmt: skip
    found = Sessions(list("abcd"), shown).tallies
    assert found.judged.tolist() == [2, 2, 1, 0]
    assert found.won.tolist() == [0, 2, 0, 0]


def kish(sizes: np.ndarray) -> float:
    return float(sizes.sum() ** 2 / (sizes**2).sum()) if len(sizes) else 0.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
def test_effective_numbers(weighted: bool, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "_AT_ONCE", at_once)
    rng = np.random.default_rng(3)
    n, m = 300, 8
    winners = rng.integers(m - 1, size=n)  # nobody judges the last one
    losers = (winners + rng.integers(1, m - 1, size=n)) % (m - 1)
    judges, ties = rng.integers(12, size=n), rng.random(n) < 0.3
    weights = rng.choice([0.5, 1.0, 2.5], n) if weighted else np.ones(n)
    names = [f"i{k}" for k in range(m)]
    data = count_clusters(winners, losers, judges, ties=ties, weights=weights if weighted else None, items=names)
    found = units_of_counts(data)
    assert found.count == len(np.unique(judges))
    assert found.effective == pytest.approx(kish(np.bincount(judges, weights)))
    for item in range(m):
        about = (winners == item) | (losers == item)
        assert found.items[item] == pytest.approx(kish(said(judges, weights, about)))
        # What a judge said about a pair, in one way, is one vote where votes have weights.
        cells: dict[tuple[int, ...], float] = {}
        for t in np.flatnonzero(about):
            way = 2 if ties[t] else int(winners[t] > losers[t])
            key = (judges[t], min(winners[t], losers[t]), max(winners[t], losers[t]), way)
            cells[key] = cells.get(key, 0.0) + weights[t]
        expected = kish(np.array(list(cells.values()))) if weighted else about.sum()
        assert found.votes[item] == pytest.approx(expected)


@pytest.mark.parametrize("at_once", [1, 1 << 20])
def test_units_behind_a_variance(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of judges whose votes on an item have the correlation rho: (sum v)^2 / sum v^2 with v = n + rho n (n - 1)."""
    monkeypatch.setattr(units, "_AT_ONCE", at_once)
    rng = np.random.default_rng(5)
    n, m, people = 3000, 6, 40
    share = rng.lognormal(size=people)
    judges = rng.choice(people, size=n, p=share / share.sum())
    a, b = two_items(rng, n, m)
    taste = rng.normal(size=(people, m))
    won = rng.random(n) < 1 / (1 + np.exp(taste[judges, b] - taste[judges, a]))
    ties = rng.random(n) < 0.2
    winners, losers = np.where(won, a, b), np.where(won, b, a)
    found = units_of_counts(count_clusters(winners, losers, judges, ties=ties, m=m))
    excess, pairs, sizes = 0.0, 0.0, []
    for item in range(m):
        for_it = np.where(ties, 0.5, 1.0) * (winners == item) + np.where(ties, 0.5, 0.0) * (losers == item)
        about = (winners == item) | (losers == item)
        by_judge = np.array([[about[judges == j].sum(), for_it[judges == j].sum()] for j in range(people)]).T
        p = by_judge[1].sum() / by_judge[0].sum()
        excess += ((by_judge[1] - p * by_judge[0]) ** 2 / (p * (1 - p)) - by_judge[0]).sum()
        pairs += (by_judge[0] * (by_judge[0] - 1)).sum()
        sizes.append(by_judge[0])
    rho = excess / pairs
    assert 0.02 < rho < 0.3
    for item, size in enumerate(sizes):
        assert found.df_units[item] == pytest.approx(kish(size + rho * size * (size - 1)))
        assert found.df_units[item] < found.items[item]


def test_votes_that_are_not_alike_count_by_their_number() -> None:
    """Single votes, and judges who agree with one another less than coins would."""
    votes = count_clusters([0, 1, 0, 1], [1, 0, 1, 0], np.arange(4))
    np.testing.assert_array_equal(units_of_counts(votes).df_units, [4, 4])
    split = units_of_counts(count_clusters([0, 1] * 5, [1, 0] * 5, np.repeat([0, 1, 2, 3, 4], 2)))
    np.testing.assert_allclose(split.df_units, split.items)


def said(judges: np.ndarray, weights: np.ndarray, about: np.ndarray) -> np.ndarray:
    return np.array([weights[about & (judges == judge)].sum() for judge in np.unique(judges[about])])


class OneScale(CountAggregator):
    """Has a prior that puts everything on one scale, whatever was compared."""

    name: ClassVar[str] = "one-scale"
    source: ClassVar[str] = "a test"

    def from_counts(self, counts: PairCounts) -> np.ndarray:
        return np.zeros(counts.m)

    def scales(self, counts: PairCounts) -> Scales:
        return Scales(np.zeros(counts.m, np.int32), np.array([counts.m]))


class EachAlone(OneScale):
    """Compares nothing."""

    name: ClassVar[str] = "each-alone"

    def scales(self, counts: PairCounts) -> Scales:
        return Scales(np.arange(counts.m, dtype=np.int32), np.ones(counts.m, np.int64))


LOG = CountedVotes(count_pairs(*np.array([[0, 1], [1, 2], [3, 4]]).T))


def test_the_note_names_the_method_and_counts_scales_and_groups() -> None:
    (note,) = LOG.notes(EachAlone(), LOG.scales(EachAlone()))
    assert note.startswith("each-alone puts the items on 5 scales, although chains of comparisons connect 2 groups: ")
    (note,) = LOG.notes(BradleyTerry(ridge=0.0), LOG.scales(BradleyTerry(ridge=0.0)))
    assert note.startswith("bradley-terry:ridge=0 puts the items on 5 scales")
    connected = CountedVotes(count_pairs(*np.array([[0, 1], [1, 2]]).T))
    assert "although all items are connected: " in connected.notes(EachAlone(), connected.scales(EachAlone()))[0]


def test_nothing_is_said_where_the_method_has_no_more_scales_than_the_log() -> None:
    assert LOG.notes(BradleyTerry(), LOG.scales(BradleyTerry())) == []
    # Fewer scales than groups: no pair that was compared has been torn apart.
    assert LOG.notes(OneScale(), LOG.scales(OneScale())) == []
