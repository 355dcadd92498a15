"""Which intervals a log can have; covariances and the bootstrap against definitions and against each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from amounts import part_of
from counted_logs import count_log
from drawn_votes import named, two_items
from numpy.typing import NDArray
from ranked_logs import short_chunks
from scipy.linalg import sqrtm
from scipy.special import expit
from scipy.stats import t

import rankbench
from rankbench.aggregators.bradley_terry import BradleyTerry, Davidson
from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry, refitted
from rankbench.aggregators.likelihood.covariance import sandwich
from rankbench.aggregators.sequential import Elo
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.resamples import resamples_of
from rankbench.kernels.random import below
from rankbench.logs import count as parts
from rankbench.logs import count_log as scan
from rankbench.logs.count import count_clusters, count_pairs
from rankbench.logs.count_log import count_frame
from rankbench.logs.open import open_log
from rankbench.ranking import interval_kinds as kinds
from rankbench.ranking.interval_kinds import LogFacts, by_judge, chosen_intervals
from rankbench.ranking.load import counted_votes, load_log
from rankbench.ranking.over_time import scores_over_time
from rankbench.ranking.pictures import intervals_words
from rankbench.ranking.question import OverTimeQuestion
from rankbench.ranking.rank import rank
from rankbench.ranking.ranked_log import CountedVotes

M, N, JUDGES = 6, 900, 40

Log = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64], NDArray[np.float64]]


@pytest.fixture(scope="module")
def log() -> Log:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=M)
    a, b = two_items(rng, N, M)
    first = rng.random(N) < expit(truth[a] - truth[b])
    winners, losers = np.where(first, a, b), np.where(first, b, a)
    return winners, losers, rng.random(N) < 0.2, rng.integers(0, JUDGES, N), rng.random(N) + 0.5


def design(
    log: Log, scores: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return each judgment's row e_i - e_j, its surprise, and p (1 - p), from the definitions."""
    winners, losers, ties, _, _ = log
    rows = np.zeros((N, M))
    rows[np.arange(N), winners], rows[np.arange(N), losers] = 1, -1
    p = expit(rows @ scores)
    return rows, np.where(ties, 0.5, 1.0) - p, p * (1 - p)


@pytest.mark.parametrize("weighted", [False, True])
def test_clustered_sandwich(log: Log, weighted: bool) -> None:
    winners, losers, ties, judges, weights = log
    weights = weights if weighted else np.ones(N)
    data = count_clusters(winners, losers, judges, ties=ties, weights=weights)
    fit = fit_bradley_terry(data.counts)
    rows, surprise, bend = design(log, fit.scores)
    bread = np.linalg.pinv(rows.T * (bend * weights) @ rows)
    # CR2 of Bell and McCaffrey, vote by vote: the root of what is left of the identity without the hat matrix.
    root = np.sqrt(bend * weights)
    u = np.zeros((JUDGES, M))
    for g in range(JUDGES):
        own = judges == g
        scaled = rows[own] * root[own, None]
        left = np.linalg.inv(sqrtm(np.eye(own.sum()) - scaled @ bread @ scaled.T).real)
        u[g] = scaled.T @ left @ (surprise[own] * weights[own] / root[own])
    expected = bread @ (u.T @ u) @ bread
    np.testing.assert_allclose(sandwich(fit, data), expected, rtol=1e-5, atol=1e-9)


def test_six_equal_judges_have_five_degrees_of_freedom() -> None:
    rng, pairs = np.random.default_rng(3), np.array([(a, b) for a in range(4) for b in range(a)])
    one, other = pairs[np.tile(np.arange(60) % 6, 6)].T
    lost = rng.random(360) < 0.3
    votes = np.where(lost, other, one), np.where(lost, one, other)
    log = CountedVotes(count_clusters(*votes, np.repeat(np.arange(6), 60), m=4), by_judge=True)
    found = rank(log, BradleyTerry(penalty="firth"), intervals="sandwich")
    errors = np.sqrt(np.diag(log.covariance(BradleyTerry(penalty="firth"), found.scores)[0]))
    np.testing.assert_allclose((found.upper - found.lower) / 2, t.ppf(0.975, 5) * errors, rtol=1e-9)


def test_unclustered_sandwich_is_the_one_of_single_judgments(log: Log) -> None:
    counts = count_pairs(log[0], log[1], ties=log[2])
    fit = fit_bradley_terry(counts)
    single = count_clusters(log[0], log[1], np.arange(N), ties=log[2])
    np.testing.assert_allclose(sandwich(fit, counts), sandwich(fit, single), rtol=1e-5, atol=1e-9)


def test_blocks_of_two_components_are_apart() -> None:
    counts = count_pairs([0, 1, 0, 2, 3], [1, 0, 1, 3, 2])
    fit = fit_bradley_terry(counts)
    found = sandwich(fit, counts)
    assert (found[:2, 2:] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-12)
    alone = count_pairs([0, 1, 0], [1, 0, 1])
    np.testing.assert_allclose(found[:2, :2], sandwich(fit_bradley_terry(alone), alone), rtol=1e-5)


@pytest.mark.parametrize("groups", [N, 100])
def test_units_are_drawn_with_replacement_from_the_stream(log: Log, groups: int) -> None:
    """Judgments or clusters of 9: resampled here too, from the same stream."""
    winners, losers, ties, _, _ = log
    if groups == N:
        counts = count_pairs(winners, losers, ties=ties, m=M)
        cells = np.column_stack([counts.forward, counts.backward, counts.ties]).astype(np.int64)
        pair, kind = np.divmod(np.repeat(np.arange(cells.size), cells.ravel()), 3)
        first, second = counts.low[pair].astype(np.int64), counts.high[pair].astype(np.int64)
        units = [
            (np.array([j if k == 1 else i]), np.array([i if k == 1 else j]), np.array([k == 2]))
            for i, j, k in zip(first, second, kind, strict=True)
        ]
        fit = fit_bradley_terry(counts, ridge=1.0)
        resamples = resamples_of(counts, 3, 5)
    else:
        said = np.arange(N) % groups
        data = count_clusters(winners, losers, said, ties=ties)
        units = [(winners[said == g], losers[said == g], ties[said == g]) for g in map(int, data.clusters)]
        fit = fit_bradley_terry(data.counts, ridge=1.0)
        resamples = resamples_of(data, 3, 5)
    found = refitted(fit, resamples, tolerance=1e-8)
    for state, scores in zip(resamples.draws.states.copy(), found, strict=True):
        chosen = [units[below(state, groups)] for _ in range(groups)]
        resample = [np.concatenate(column) for column in zip(*chosen, strict=True)]
        again = count_pairs(resample[0], resample[1], ties=resample[2], m=M)
        np.testing.assert_allclose(scores, fit_bradley_terry(again, ridge=1.0).scores, atol=1e-7)


def test_resamples_without_a_maximum_have_no_scores() -> None:
    # One win against two: half of the resamples or so have only one side.
    counts = count_pairs([0, 0, 1], [1, 1, 0])
    fit = fit_bradley_terry(counts)
    draws = refitted(fit, resamples_of(counts, 400, 0))
    none = np.isnan(draws).any(axis=1)
    assert abs(none.mean() - ((2 / 3) ** 3 + (1 / 3) ** 3)) < 0.1
    assert np.isfinite(refitted(fit_bradley_terry(counts, ridge=1.0), resamples_of(counts, 50, 0))).all()


def test_resamples_without_a_maximum_have_no_scores_where_outcomes_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankbench.interfaces.resamples._MOST_DRAWN", 0)
    # The last item won once: in a third of the resamples and more it never does.
    counts = count_pairs([0] * 50 + [1] * 40 + [0] * 40 + [2], [1] * 50 + [0] * 40 + [2] * 40 + [0])
    plain, ridged = BradleyTerry(ridge=0), BradleyTerry(ridge=1)
    drawn = resamples_of(counts, 400, 0)
    found = plain.replicates(plain.from_counts(counts), drawn)
    lost = np.array([not one.backward[(one.low == 0) & (one.high == 2)].any() for one in drawn])
    assert abs(lost.mean() - (130 / 131) ** 131) < 0.1
    np.testing.assert_array_equal(np.isnan(found), np.repeat(lost[:, None], 3, axis=1))
    assert np.isfinite(ridged.replicates(ridged.from_counts(counts), drawn)).all()


def test_scales_of_the_fit_stay_apart() -> None:
    counts = count_pairs([0, 1, 0, 1, 2, 3, 2, 3, 0], [1, 0, 1, 0, 3, 2, 3, 2, 3])
    fit = fit_bradley_terry(counts)
    assert len(fit.scales.sizes) == 2
    draws = refitted(fit, resamples_of(counts, 100, 0))
    held = draws[~np.isnan(draws).any(axis=1)]
    np.testing.assert_allclose(held[:, :2].sum(axis=1), 0, atol=1e-9)
    np.testing.assert_allclose(held[:, 2:].sum(axis=1), 0, atol=1e-9)


def test_what_cannot_be_done_is_said() -> None:
    weighted = count_pairs([0, 1], [1, 0], weights=[1.0, 2.0])
    fit = fit_bradley_terry(weighted)
    with pytest.raises(InputError, match="by cluster"):
        sandwich(fit, weighted)
    with pytest.raises(InputError, match="by cluster"):
        refitted(fit, resamples_of(weighted, 1000, 0))
    with pytest.raises(InputError, match="two clusters"):
        sandwich(fit, count_clusters([0, 1], [1, 0], ["a", "a"]))
    with pytest.raises(InputError, match="column 'judge' is missing"):
        count_log(pl.DataFrame({"winner": ["a"], "loser": ["b"]}), judge="judge")


def judged_log(votes: int, items: int, judges: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    a, b = two_items(rng, votes, items)
    return named(a, b, judge=rng.integers(judges, size=votes)).cast({"judge": pl.String})


def facts_of(frame: pl.DataFrame) -> LogFacts:
    return counted_votes(open_log(frame), "auto")[1]


@pytest.mark.parametrize(
    ("judges", "wanted", "expected"),
    [
        ("two", None, (None, False)),
        ("two", "bootstrap", ("bootstrap", False)),
        ("two", "judges", ("judges", True)),
        ("two", "sandwich", ("sandwich", False)),
        ("two", "auto", ("bootstrap", False)),
        ("five", "sandwich", ("sandwich", True)),
        ("five", "auto", ("judges", True)),
        ("some", "sandwich", ("sandwich", False)),
        ("some", "auto", ("bootstrap", False)),
        ("one", "sandwich", ("sandwich", False)),
        ("one", "auto", ("bootstrap", False)),
        ("none", "sandwich", ("sandwich", False)),
        ("none", "auto", ("bootstrap", False)),
    ],
)
def test_what_the_log_knows_decides(judges: str, wanted: str | None, expected: tuple[str | None, bool]) -> None:
    frame = judged_log(40, 3, {"one": 1, "five": 5}.get(judges, 2))
    if judges == "some":
        frame = frame.with_columns(judge=pl.when(pl.int_range(pl.len()) != 7).then("judge"))
    if judges == "none":
        frame = frame.drop("judge")
    facts = facts_of(frame)
    assert (chosen_intervals(facts, wanted, BradleyTerry()), by_judge(facts, wanted)) == expected


def test_long_logs_without_judges_have_the_sandwich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_LONG", 30)
    facts = facts_of(judged_log(40, 3, 2).drop("judge"))
    assert chosen_intervals(facts, "auto", BradleyTerry()) == "sandwich"
    assert chosen_intervals(facts, "auto", Elo()) == "bootstrap"
    assert not by_judge(facts, "auto")


@pytest.mark.parametrize("named", [True, False])
def test_firths_penalty_comes_with_the_sandwich(named: bool) -> None:
    """By judge where judges are named; for Davidson's model too."""
    frame = judged_log(40, 3, 4) if named else judged_log(40, 3, 4).drop("judge")
    for method in (BradleyTerry(penalty="firth"), Davidson(penalty="firth")):
        loaded, chosen = load_log(open_log(frame), method, "auto")
        assert (chosen, loaded.by_judge) == ("sandwich", named)
    assert chosen_intervals(facts_of(frame), "auto", Davidson()) == ("judges" if named else "bootstrap")
    assert rankbench.aggregate(frame, intervals="auto").facts["resamples"] is None


def test_one_vote_has_no_interval() -> None:
    frame = pl.DataFrame({"winner": ["a"], "loser": ["b"]})
    found = rankbench.aggregate(frame, intervals="auto")
    assert found.table["lower"].null_count() == 2
    assert found.table["score"].to_list() == pytest.approx([np.log(3) / 2, -np.log(3) / 2])
    assert any("too little to resample" in note for note in found.notes)


@pytest.mark.parametrize("method", ["bradley-terry", "elo"])
def test_one_vote_without_a_judge_is_an_error_where_judges_are_asked_for(method: str) -> None:
    frame = judged_log(40, 3, 4).with_columns(judge=pl.when(pl.int_range(pl.len()) != 7).then("judge"))
    with pytest.raises(InputError, match="the judge is missing"):
        rankbench.aggregate(frame, method, columns="time=", intervals="judges", replicates=2)
    votes = rankbench.aggregate(frame, method, columns="time=", intervals="bootstrap", replicates=20)
    alone = rankbench.aggregate(frame, method, columns="time=", intervals="auto", replicates=20)
    assert alone.table.equals(votes.table)


@pytest.mark.parametrize("intervals", part_of(["auto", "judges", "sandwich"]))
def test_what_judges_said_must_fit_into_memory(monkeypatch: pytest.MonkeyPatch, intervals: str) -> None:
    frame = judged_log(3000, 60, 200)
    cells = frame.select("judge", "winner", "loser").n_unique()
    monkeypatch.setattr(kinds, "MOST_CELLS", cells)
    rankbench.aggregate(frame, intervals=intervals, replicates=2)
    monkeypatch.setattr(kinds, "MOST_CELLS", cells - 1)
    with pytest.raises(
        SpecError, match=f"{cells:,} sums of 3,000 .* above the limit of {cells - 1:,}.* intervals=.bootstrap"
    ):
        rankbench.aggregate(frame, intervals=intervals, replicates=2)
    rankbench.aggregate(frame, intervals="bootstrap", replicates=2)
    rankbench.aggregate(frame, "elo", columns="time=", intervals="judges", replicates=2)


def test_judges_who_say_too_much_are_refused_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is not read on: what is wrong with its last row is never seen."""
    monkeypatch.setattr(parts, "PART", 1000)
    monkeypatch.setattr(scan, "PART", 1000)
    short_chunks(monkeypatch, 1000)
    frame = judged_log(5000, 60, 200).with_columns(
        loser=pl.when(pl.int_range(pl.len()) == 4999).then("winner").otherwise("loser")
    )
    with pytest.raises(InputError, match="compared with itself"):
        rankbench.aggregate(frame, intervals="judges", replicates=2)
    monkeypatch.setattr(kinds, "MOST_CELLS", 1500)
    with pytest.raises(SpecError, match="sums of 2,000 votes"):
        count_frame(frame.lazy(), judge="judge", check=kinds.refuse_too_many_cells)
    # As many votes, of judges who repeat themselves: 20 x 6 cells.
    count_frame(judged_log(5000, 3, 20).lazy(), judge="judge", check=kinds.refuse_too_many_cells)


def three_judges(*, weighted: bool = False) -> pl.DataFrame:
    """Return 600 votes of three judges, of unequal shares: their effective number is below 3."""
    rng = np.random.default_rng(9)
    a, b = two_items(rng, 600, 6)
    sides = pl.DataFrame({"left": a, "right": b}).cast(pl.String)
    more = pl.DataFrame(
        {
            "winner": rng.choice(["left", "right"], 600, p=[0.6, 0.4]),
            "judge": rng.choice(["x", "y", "z"], 600, p=[0.4, 0.3, 0.3]),
            "lang": rng.choice(["en", "de"], 600),
            "time": np.arange(600) // 100,
            "weight": rng.choice([1.0, 2.0], 600) if weighted else np.ones(600),
        }
    )
    return pl.concat([sides, more], how="horizontal")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "asked",
    part_of(
        [
            {},
            {"method": "davidson"},
            {"method": "elo"},
            {"control": "side"},
            {"by": "lang"},
            {"by": "lang", "pool": True},
        ],
        3,
    ),
    ids=repr,
)
def test_too_few_judges_leave_intervals_over_their_votes_and_are_named(asked: dict[str, Any], weighted: bool) -> None:
    frame = three_judges(weighted=weighted)
    asked = {"intervals": "auto", "replicates": 20} | asked
    asked |= {"columns": "winner=winner,judge=judge,time=time,weight=weight"} if "by" not in asked else {}
    asked |= {"intervals": None} if "pool" in asked else {}
    found = rankbench.aggregate(frame, **asked)
    asked["columns"] = asked.get("columns", "").replace("judge=judge,", "")
    plain = rankbench.aggregate(frame.drop("judge"), **asked)
    assert found.table["lower"].null_count() == 0
    assert found.table.equals(plain.table)
    assert (found.facts["sampled"], found.facts["by_judge"]) == ("votes of these 3 judges", False)
    assert intervals_words(found.facts) == f"{found.facts['intervals']}, votes of these 3 judges"
    said = [note for note in found.notes if "no item has an effective number of 3 judges (of 3, at most 2." in note]
    assert len(said) == (2 if "by" in asked and "pool" not in asked else 1)
    assert plain.facts["sampled"] == "votes"


@pytest.mark.parametrize("asked", [{}, {"method": "elo"}, {"control": "side"}], ids=repr)
def test_votes_of_one_judge_are_named_so(asked: dict[str, Any]) -> None:
    frame = three_judges().drop("weight", "lang").with_columns(judge=pl.lit("x"))
    asked = {"intervals": "auto", "replicates": 20} | asked
    found, plain = rankbench.aggregate(frame, **asked), rankbench.aggregate(frame.drop("judge"), **asked)
    assert found.table.equals(plain.table)
    assert found.facts["sampled"] == "votes of this judge"
    assert any("no item has an effective number of 3 judges (of 1, at most 1)" in note for note in found.notes)


def test_scores_over_time_of_few_judges_are_of_their_votes() -> None:
    frame = three_judges().drop("lang", "weight")
    found, plain = (
        scores_over_time(one, OverTimeQuestion(method="dynamic-bradley-terry")) for one in (frame, frame.drop("judge"))
    )
    assert found.now.equals(plain.now)
    assert any("no item has an effective number of 3 judges" in note for note in found.notes)


def test_the_condition_that_failed_is_named() -> None:
    """Of asked-for intervals by judge; an item of nine votes fails another condition than one of two judges."""
    frame = three_judges()
    found = rankbench.aggregate(frame, intervals="judges", replicates=20)
    said = "6 of 6 items get no interval, and may hold any place: 6 with an effective number of judges below 3"
    assert any(note.startswith(said) for note in found.notes)
    assert 'judges are too few for intervals: intervals="auto" takes more votes of these judges instead' in found.notes
    judged = judged_log(400, 5, 20)
    old = sorted(judged["winner"].unique())
    pairs = [("new", old[0], f"{judge}") for judge in range(9)] + [("two", old[1], f"{t % 2}") for t in range(30)]
    names = ["winner", "loser", "judge"]
    more = pl.concat([judged.select(names).cast(pl.String), pl.DataFrame(pairs, names, orient="row")])
    found = rankbench.aggregate(more, intervals="auto")
    said = "2 of 7 items get no interval, and may hold any place: 1 with fewer than 10 votes and 1 with an effective"
    assert any(note.startswith(said) for note in found.notes)
    assert found.facts["sampled"] == "judges"
