"""Doubts about votes: what holds of every row of an item, a judge or a weight is asked about, and chance is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import trials

import rankbench
from rankbench.data.readings.find import read_table
from rankbench.errors import Unread
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.table_check import RawTable


def asked(columns: Mapping[str, Sequence[object]]) -> str:
    """Return the code of the question about a table with standard names; empty: it is read."""
    try:
        read_table(RawTable(pl.LazyFrame(columns), Path("votes.csv")), Reading())
    except Unread as error:
        return error.code
    return ""


def games(rng: np.random.Generator, rows: int, items: int, spread: float, judges: int = 6) -> dict[str, list[object]]:
    """Return votes of items with normal strengths; few games, and large spreads, have items that never win."""
    strength = rng.normal(0, spread, items)
    sides = np.array([rng.choice(items, 2, replace=False) for _ in range(rows)])
    left = rng.random(rows) < 1 / (1 + np.exp(np.diff(strength[sides], axis=1)[:, 0]))
    names = np.array([f"item {k}" for k in range(items)])[sides]
    return {
        "left": names[:, 0].tolist(),
        "right": names[:, 1].tolist(),
        "winner": np.where(left, names[:, 0], names[:, 1]).tolist(),
        "judge": [f"judge {k}" for k in rng.integers(0, judges, rows)],
        "weight": rng.choice([1, 2, 0.5], rows).tolist(),
        "time": rng.integers(0, max(1, rows // 4), rows).tolist(),
        "user": [f"user {k // 3}" for k in range(rows)],
        "court": rng.choice(["North", "South", ""], rows).tolist(),
        "team": [f"team {str(name)[-1]}" for name in names[:, 1]],
    }


@pytest.mark.parametrize(("rows", "items"), [(12, 5), (30, 8), (60, 6), (200, 30)])
def test_random_votes_are_read_without_a_question(rows: int, items: int) -> None:
    """A weak item loses all its games, a judge may always name a strong one: of a hundred logs none is asked about."""
    rng = np.random.default_rng(rows)
    found = [asked(games(rng, rows, items, spread)) for spread in (0.5, 1.5, 4.0) for _ in range(trials(60) // 3)]
    assert found.count("") >= len(found) - 1


def test_walkovers_in_the_first_rows_are_none_if_the_item_wins_later() -> None:
    """First rows suggest what to ask about, and all rows decide."""
    rng = np.random.default_rng(1)
    table = games(rng, 400, 20, 1.0, judges=3)
    won = {name: table[name] for name in ("left", "right", "winner")}
    walked = [f"item {k}" for k in range(12)]
    first = {"left": walked, "right": ["nobody"] * 12, "winner": walked}
    every = {name: [*first[name], *won[name] * 30] for name in won}
    assert asked(every) == "walkover"
    later = {"left": ["nobody"], "right": ["item 1"], "winner": ["nobody"]}
    assert asked({name: [*every[name], *later[name]] for name in every}) == ""


def club(rng: np.random.Generator, evenings: int, players: int = 15) -> list[tuple[str, str]]:
    """Return winners and losers of evenings of seven rounds, in each of which one who has few points meets Bye."""
    strength, games = rng.normal(0, 1, players), list[tuple[str, str]]()
    names = [f"Player{chr(65 + k)}" for k in range(players)]
    for _ in range(evenings):
        points, free = np.zeros(players), set[int]()
        for _ in range(7):
            order = sorted(range(players), key=lambda k: (-points[k], rng.random()))
            free.add(last := next(k for k in reversed(order) if k not in free))
            order.remove(last)
            pairs = [(x, y) if rng.random() * (1 + np.exp(strength[y] - strength[x])) < 1 else (y, x)
                     for x, y in zip(order[::2], order[1::2], strict=True)]  # fmt: skip
            points[[last, *(x for x, _ in pairs)]] += 1
            games += [(names[last], "Bye"), *((names[x], names[y]) for x, y in pairs)]
    return games


def test_an_item_that_loses_more_than_chance_gives_the_weakest_is_asked_about() -> None:
    """Names, sides, rounds and numbers of games say nothing of it."""
    rng = np.random.default_rng(3)
    games = club(rng, 12)
    assert asked(dict(zip(("winner", "loser"), map(list, zip(*games, strict=True)), strict=True))) == "walkover"
    lost = [(x, y) for x, y in games if y != "Bye"] + [pair for pair in games if pair[1] == "Bye"][:5]
    assert asked(dict(zip(("winner", "loser"), map(list, zip(*lost, strict=True)), strict=True))) == ""


@pytest.mark.parametrize("items", [80, 400])
def test_totals_beside_many_items_are_asked_about(items: int) -> None:
    """A total is known by its sums, of however many items."""
    rng = np.random.default_rng(items)
    sides = np.array([(one, (one + step) % items) for one in range(items) for step in (1, 2, 3, 7)])
    counts = rng.integers(1, 30, len(sides))
    won, lost = (np.bincount(sides[:, side], counts, items).astype(int) for side in (0, 1))
    names = [f"item {k}" for k in range(items)]
    winners = [names[k] for k in sides[:, 0]] + names + ["all"] * items
    losers = [names[k] for k in sides[:, 1]] + ["all"] * items + names
    every = [*counts.tolist(), *won.tolist(), *lost.tolist()]
    assert asked({"winner": winners, "loser": losers, "count": every}) == "summary"


def test_words_that_nothing_reads_are_a_warning_with_ways_on() -> None:
    rows = [{"winner": "Ann", "loser": "Bo", "status": "played", "remark": "a"}]
    rows += [{"winner": "Bo", "loser": "Ann", "status": "void", "remark": remark} for remark in "bc"]
    (warned,) = [note for note in rankbench.aggregate(rows, "win-rate").notes if "may say which rows count" in note]
    assert warned.startswith("'status' may say which rows count, and is not read: where=")
    for way in ({"columns": "ignore=status"}, {"where": "status <> 'void'"}):
        assert not any("may say" in note for note in rankbench.aggregate(rows, "win-rate", **way).notes)
