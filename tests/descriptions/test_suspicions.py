"""What is suspicious about a log, against brute force, and in the words of `describe` wherever the log is used."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from amounts import examples, part_of
from drawn_votes import DrawnVotes, named, two_items
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

import rankbench
from rankbench.data.tables.checks import validate
from rankbench.descriptions import describe_votes as majority
from rankbench.descriptions import judges
from rankbench.descriptions import suspicions as findings
from rankbench.descriptions.describe import describe
from rankbench.descriptions.describe_votes import describe_votes
from rankbench.descriptions.suspicions import lookalikes, odd
from rankbench.logs.count import count_pairs
from rankbench.protocols.items import Items
from rankbench.protocols.own_log import OwnLog

VOTES = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(lambda v: v[0] != v[1]), min_size=1, max_size=60
)


def brute_force(votes: list[tuple[int, int]], m: int) -> tuple[int, int, int | None]:
    net = np.zeros((m, m), int)
    for winner, loser in votes:
        net[winner, loser] += 1
        net[loser, winner] -= 1
    triples = cycles = 0
    for i, j, k in itertools.combinations(range(m), 3):
        if net[i, j] and net[j, k] and net[i, k]:
            triples += 1
            cycles += (net[i, j] > 0) == (net[j, k] > 0) == (net[k, i] > 0)
    best = [i for i in range(m) if all(net[i, j] > 0 for j in range(m) if j != i)]
    return triples, cycles, best[0] if best else None


@pytest.mark.parametrize("dense", [True, False])
@examples(40)
@given(votes=VOTES)
def test_cycles_are_those_of_brute_force(dense: bool, votes: list[tuple[int, int]]) -> None:
    counts = count_pairs(*np.array(votes).T, m=7)
    with pytest.MonkeyPatch.context() as patch:
        if not dense:
            patch.setattr(majority, "DENSE", 0)
        found = majority.majority(counts)
    triples, cycles, winner = brute_force(votes, 7)
    assert (found.triples, found.cycles) == (triples, cycles)
    assert found.winner == (None if winner is None else str(winner))


def test_triples_that_take_long_are_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(majority, "DENSE", 0)
    monkeypatch.setattr(majority, "_WORK", 5)
    found = majority.majority(count_pairs([0, 1, 2], [1, 2, 0]))
    assert (found.decided, found.triples, found.cycles) == (3, None, None)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("GPT-4", "gpt-4"),
        ("GPT 4", "GPT  4 "),
        ("GPT-4", "GPT\u20114"),
        ("cat", "c\u0430t"),
        ("OPT", "\u039f\u03a1\u03a4"),
        ("model l", "model I"),
        ("model O", "model 0"),
        ("ﬁne", "fine"),
        ("a\u200bb", "ab"),
        ("it's", "it\u2019s"),
        ("007", "7"),
        ("1.50", "1.5"),
        ("-7.0", "-07"),
        ("+0", "0.00"),
        ("Ian", "ian"),
        ("Llama", "LIama"),
        ("gpt-4", "gpt4"),
        ("Real Madrid", "RealMadrid"),
        ("St. Louis", "St Louis"),
        ("U.S.A.", "usa"),
        ("snake_case", "snake case"),
        ("Fulham", "Fulham FC"),
        ("Fulham", "fulham-F.C."),
        ("FC Bayern", "Bayern"),
        ("Fulham", "Fulham, FC"),
        ("Fulham", "Fulham (FC)"),
        ("Fulham FC", "Fulham (FC)"),
        ("Fulham", "Fulham Ltd"),
        ("Fulham", "Fulham, Ltd."),
    ],
)
def test_names_that_look_alike(one: str, other: str) -> None:
    assert lookalikes([one, other, "something else"]) == [sorted([one, other])]


def test_names_that_do_not() -> None:
    models = ["gpt-4", "gpt-5", "gpt-4.1", "gpt-41", "gpt-4-1", "llama-2-7b", "llama-2-70b", "C", "C++"]
    numbers = ["é", "e", "10", "100", "1.5", "15", "1.05", "-15"]
    codes = ["IT", "LT", "CHI", "CHL", "AI", "AL", "US", "US FC", "A", "A-", "NEW YORK", "YORK", "B1", "BL"]
    others = ["Rocky", "Rocky II", "Williams", "Williams S.", "Alien", "Alien 3"]
    longer = ["Ann", "Ann Lee", "Bury", "Bury Town", "GPT", "LLM", "Alien gpt"]
    assert lookalikes([*models, *numbers, *codes, *others, *longer]) == []


@examples(50)
@given(st.text(st.sampled_from("IL"), min_size=2, max_size=3), st.text(st.sampled_from("IL"), min_size=2, max_size=3))
def test_codes_of_capitals_are_alike_only_if_they_are_one(one: str, other: str) -> None:
    assert lookalikes([one, other]) == []


def test_names_that_are_alike_in_different_ways_are_one_group() -> None:
    assert lookalikes(["Fulham", "FULHAM", "Fulham FC", "Fulham AFC", "Leeds", "cat", "c\u0430t", "Cat "]) == [
        ["Cat ", "cat", "c\u0430t"],
        ["FULHAM", "Fulham", "Fulham AFC", "Fulham FC"],
    ]


def test_odd_names() -> None:
    assert odd(["a", "=1", "+x", "@y", "-z", " b", "c\x00", "d\u202e", "e\nf"]) == sorted(
        ["=1", "+x", "@y", " b", "c\x00", "d\u202e", "e\nf"]
    )


def test_names_of_nobody_are_odd() -> None:
    assert odd(["NA", "None", "", "  ", "Naomi", "n/a"]) == sorted(["NA", "None", "", "  ", "n/a"])


def sides(rows: list[tuple[str, bool]]) -> pl.LazyFrame:
    frame = pl.DataFrame(rows, schema=["judge", "first"], orient="row")
    return validate(
        "comparisons", frame.with_columns(query_id=pl.lit("q"), winner=pl.lit("a"), loser=pl.lit("b")).lazy()
    )


def test_votes_without_a_judge_beside_others_are_counted() -> None:
    votes = {"winner": ["a", "b", "a"], "loser": ["b", "c", "c"], "judge": ["j", None, "k"]}
    note = "1 vote without a judge: intervals by default take votes, not judges, for independent"
    assert note in rankbench.aggregate(votes).notes
    assert note not in rankbench.aggregate(votes | {"judge": ["j", "j", "k"]}).notes
    assert note not in rankbench.aggregate(votes | {"judge": pl.Series([None] * 3, dtype=pl.String)}).notes


def test_position_biased_judges_are_listed_the_worst_first() -> None:
    rng = np.random.default_rng(0)
    counts = {
        f"j{j}": (int(n), int(rng.binomial(n, p))) for j, (n, p) in enumerate([(30, 0.5)] * 20 + [(40, 0.9), (40, 1)])
    }
    rows = [(judge, i < left) for judge, (n, left) in counts.items() for i in range(n)]
    position, found = judges.position_bias(sides(rows))
    assert position is not None
    assert found is not None
    share = sum(left for _, left in counts.values()) / sum(n for n, _ in counts.values())
    assert position.share == pytest.approx(share)
    assert [(judge.judge, judge.votes, judge.left) for judge in found] == [("j21", 40, 40), ("j20", *counts["j20"])]


def test_the_share_of_the_left_has_an_interval_by_judge() -> None:
    from scipy.stats import t

    rows = [(f"j{j}", j % 2 == 0) for j in range(10) for _ in range(20)]
    position, _ = judges.position_bias(sides(rows))
    assert position is not None
    # Ten judges who each say one thing are ten observations, not two hundred.
    half = t.ppf(0.975, 9) * np.std([0, 1] * 5, ddof=1) / np.sqrt(10)
    assert (position.lower, position.upper) == (pytest.approx(0.5 - half), pytest.approx(0.5 + half))
    alone, nobody = judges.position_bias(sides(rows).drop("judge"))
    assert alone is not None
    assert nobody is None
    wilson = binomtest(100, 200).proportion_ci(method="wilson")
    assert (alone.lower, alone.upper) == (pytest.approx(wilson.low), pytest.approx(wilson.high))


def test_the_share_of_the_left_is_of_the_weight() -> None:
    rows = (
        sides([("j", True), ("j", False), ("j", False)])
        .drop("judge")
        .with_columns(weight=pl.Series([10.0, 30.0, 60.0]))
    )
    position, _ = judges.position_bias(rows)
    assert position is not None
    assert (position.votes, position.share, position.weighted) == (3, pytest.approx(0.1), True)
    # The score test of (sum w)^2 / (sum w^2) votes, of the same variance: where |k - n p| = z sqrt(n p (1 - p)).
    n = 100**2 / (10**2 + 30**2 + 60**2)
    for p in (position.lower, position.upper):
        assert abs(0.1 * n - n * p) == pytest.approx(1.959963984540054 * np.sqrt(n * p * (1 - p)))
    even, _ = judges.position_bias(rows.with_columns(weight=pl.lit(7.0)))
    assert even == judges.position_bias(rows.drop("weight"))[0]


def test_judges_who_agree_by_chance_make_no_interval_of_width_zero() -> None:
    from scipy.stats import t

    rows = [(f"j{j}", i < 6) for j in range(3) for i in range(10)]
    position, _ = judges.position_bias(sides(rows))
    assert position is not None
    # The score test of independent votes, with Student's quantile: where |18 - 30 p| = t sqrt(30 p (1 - p)).
    quantile = t.ppf(0.975, 2)
    for p in (position.lower, position.upper):
        assert abs(18 - 30 * p) == pytest.approx(quantile * np.sqrt(30 * p * (1 - p)))


@pytest.mark.parametrize("spread", [0.0, 0.1])
@pytest.mark.parametrize("count", part_of([2, 3, 4, 5, 7, 10]))
def test_honest_logs_of_few_judges_have_no_preferred_side(count: int, spread: float) -> None:
    """Judges with equal numbers of votes, or log-normal ones, of shares that vary around one half."""
    rng = np.random.default_rng([7, count, int(100 * spread)])
    size = 0.25 / spread**2 - 1 if spread else 0.0
    for votes in (1, 3, 5, 10, 50, None):
        sided = 0
        for _ in range(300):
            cast = np.full(count, votes) if votes else np.maximum(3, rng.lognormal(4, 1.2, count)).astype(np.int64)
            shares = rng.beta(size / 2, size / 2, count) if spread else np.full(count, 0.5)
            lower, upper = judges._clustered(cast, rng.binomial(cast, shares))
            sided += not lower <= 0.5 <= upper
        assert sided <= binom.ppf(0.999, 300, 0.05), (votes, sided / 300)


def test_many_judges_show_a_preferred_side() -> None:
    position, _ = judges.position_bias(sides([(f"j{j}", i < 6) for j in range(30) for i in range(10)]))
    assert position is not None
    assert position.lower > 0.5


def log(rows: list[tuple[str, str, str, str, bool]]) -> pl.LazyFrame:
    frame = pl.DataFrame(rows, schema=["query_id", "judge", "winner", "loser", "tie"], orient="row")
    return validate("comparisons", frame.lazy())


def test_votes_cast_again() -> None:
    table = log(
        [
            ("q", "x", "a", "b", False),
            ("q", "x", "b", "a", False),  # again, and otherwise
            ("q", "y", "a", "b", True),
            ("q", "y", "b", "a", True),  # again, and the same: ties have no sides
            ("r", "y", "a", "b", True),  # another query
            ("q", "z", "a", "c", False),
            ("q", "z", "a", "c", False),
            ("q", "z", "a", "c", True),
        ]
    )
    found = judges.repeats(table, 8)
    assert found == judges.Repeats(4.0, 2.0, 1.0, queries=True)
    assert judges.repeats(table.drop("judge"), 8) is None


def test_votes_cast_again_are_sampled_from_long_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [(j, i) for j in range(100) for i in range(30)]
    rows = [("q", f"j{j}", f"i{i}", f"i{i + 1}", False) for j, i in keys for _ in range(2 if i < 15 else 1)]
    monkeypatch.setattr(judges, "_SAMPLE", 500)
    found = judges.repeats(log(rows), len(rows))
    assert found is not None
    assert found.sampled == 1 / 9
    assert found.votes == pytest.approx(1500, rel=0.25)


def test_a_log_in_two_pieces() -> None:
    table = log([("q", "x", "a", "b", False), ("q", "x", "b", "c", False), ("r", "y", "u", "v", True)])
    found = describe_votes(table)
    names = ("rows", "queries", "items", "ties", "judges")
    assert [found.facts[name] for name in names] == [3, 2, 5, 1, 2]
    assert (found.facts["pairs"], found.facts["pairs_observed"]) == (3, pytest.approx(0.3))
    assert (found.facts["components"], found.facts["component_count"]) == ([3, 2], 2)
    # The tie holds its two together; a beat b beat c, and nobody won back.
    assert (found.facts["scales"], found.facts["scale_count"]) == ([2, 1, 1, 1], 4)
    text = dict(found.lines)
    assert "2 groups (3, 2 items) that were never compared" in text["connected"]
    assert "4 groups, the largest of 2 items" in text["strongly connected"]
    assert text["Condorcet winner"] == "none"


def votes(n: int = 1000, left: float = 0.63, judges: int = 0, *, again: bool = False) -> pl.DataFrame:
    """Return votes of which exactly this share is for the left, on pairs drawn by lot."""
    rng = np.random.default_rng(4)
    a, b = two_items(rng, n, 6)
    won = rng.permutation(n) < round(left * n)
    judged = {"judge": [f"j{i % judges}" for i in range(n)]} if judges else {}
    queries = "all" if again or not judges else [f"q{i}" for i in range(n)]
    return named(a, b, won, query_id=queries, first=won, **judged)


class Log(DrawnVotes):
    name = "findings-log"
    left: float = 0.63

    def scan(self) -> pl.LazyFrame:
        return votes(left=self.left).lazy()


def line(frame: pl.DataFrame, name: str) -> str:
    return dict(describe(frame.lazy()).lines)[name].removesuffix("  !")


def test_home_wins_are_said_by_aggregate_and_run_in_the_words_of_describe() -> None:
    why = "a preferred side, if sides were randomized (home sides are not)"
    text = f"left wins {line(votes(), 'left wins')}: {why}"
    assert text.startswith("left wins 63.0% of 1,000 decisive votes (95%: 60.0% to 65.9%):")  # Wilson's
    acts = f'{text.partition("):")[0]}), a preferred side if sides were randomized: control="side" takes that out'
    for how in ({}, {"by": "query", "intervals": "bootstrap", "replicates": 9}):
        assert acts in rankbench.aggregate(votes(), **how).notes
    for protocol in (OwnLog(), Items()):
        assert f"L{text[1:]}." in protocol.prepare(Log(), 1).notes


def test_what_is_in_order_is_not_mentioned() -> None:
    assert not any("left wins" in note for note in rankbench.aggregate(votes(left=0.5)).notes)
    assert not any("Left wins" in note for note in OwnLog().prepare(Log(left=0.5), 1).notes)
    assert findings.suspicious_votes(votes(left=0.5, judges=20).lazy()).notes() == []
    assert findings.suspicious_votes(votes().drop("first").lazy()).notes() == []


def test_votes_cast_again_are_said() -> None:
    frame = votes(left=0.5, judges=3, again=True)
    again = line(frame, "votes cast again")
    assert again != "none"
    assert f"votes cast again (in one order of sides): {again}" in rankbench.aggregate(frame).notes
    # One query is none: the log does not ask several things of a pair.
    assert "by the same judge on the same pair (the log names no queries); " in again
    several = frame.with_columns(
        query_id=pl.when(pl.int_range(pl.len()) < 500).then(pl.lit("p")).otherwise(pl.lit("q"))
    )
    assert "by the same judge on the same pair and query; " in line(several, "votes cast again")
    # Of a column by which a log is ranked nobody knows whether it is what was asked.
    by_language = rankbench.aggregate(frame.with_columns(language=pl.lit("en")), by="language")
    assert not any("cast again" in note for note in by_language.notes)


def test_position_biased_judges_are_said() -> None:
    frame = votes(2000, 0.5, judges=20)
    spam = frame.with_row_index("row").with_columns(first=pl.col("first") | (pl.col("judge") == "j7")).drop("row")
    judges = line(spam, "position-biased judges")
    assert "'j7'" in judges
    assert (
        f"position-biased judges: {judges}: a preferred side, if sides were randomized"
        in rankbench.aggregate(spam).notes
    )


def test_items_called_alike_and_odd_names_are_said_once() -> None:
    frame = pl.DataFrame(
        {"query_id": ["q"] * 4, "winner": ["gpt-4", "GPT 4", "gpt-4", "=x"], "loser": ["b", "b", "GPT-4", "b"]}
    )
    notes = rankbench.aggregate(frame, columns="alike=keep").notes
    assert f"rankbench takes items called alike for different ones: {line(frame, 'items called alike')}" in notes
    assert f"odd names: {line(frame, 'odd names')}" in notes


def test_of_a_long_log_the_first_votes_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "LOOKED_AT", 500)
    frame = pl.concat([votes(500, 0.9), votes(5000, 0.1)])
    (note,) = findings.suspicious_votes(frame.lazy()).notes()
    assert note.startswith("left wins 90.0% of 500 decisive votes")
    assert note.endswith("(of the first 500 votes; rankbench data describe looks at all)")
    (note,) = findings.suspicious_votes(frame.lazy(), whole=True).notes()
    assert note.startswith("left wins 17.3% of 5,500 decisive votes")
    (note,) = findings.suspicious_votes(frame.head(500).lazy()).notes()
    assert not note.endswith("looks at all)")


SHRUNK = "intervals cover the shrunk scores (ridge 2), not the true log-odds"


@pytest.mark.parametrize(("method", "intervals", "said"), [
    ("bradley-terry:ridge=2", "sandwich", True),
    ("bradley-terry:ridge=2", "bootstrap", True),
    ("davidson:ridge=2", "bootstrap", True),
    ("bradley-terry:ridge=2", None, False),
    ("bradley-terry:ridge=0", "sandwich", False),
    ("win-rate", "bootstrap", False),
])  # fmt: skip
def test_intervals_of_shrunk_scores_say_so(method: str, intervals: Any, said: bool) -> None:
    notes = rankbench.aggregate(votes(left=0.5), method, intervals=intervals, replicates=20).notes
    assert any(note.startswith(SHRUNK) for note in notes) == said


def test_categories_called_alike_are_said(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("winner,loser,lang\na,b,en\nb,a,EN\na,c,NA\nc,b,de\n")
    notes = rankbench.aggregate(path, by="lang").notes
    assert "rankbench takes categories called alike for different ones: 1: 'EN' = 'en'" in notes
    assert "odd names of categories: 1: 'NA'" in notes
