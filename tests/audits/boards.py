"""Simulated boards: clean ones, and planted ones that have the fault that a probe looks for.

`CLEAN` names simulators of boards without faults; `PLANTED` holds a simulator for each probe that tests. A simulator is
a function of a seed. It returns votes with the columns left, right, winner (left, right or tie), judge, time, query and
lang. No probe of score tables tests.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias
from unittest.mock import patch

import numpy as np
import polars as pl
from drawn_votes import two_items
from numpy.typing import NDArray
from scipy.stats import beta

from rankbench.audits import audit as module
from rankbench.audits import left_out
from rankbench.audits import rules as rules_module
from rankbench.audits.fewest import fewest_judges, fewest_prompts, fewest_runs, fewest_tasks, fewest_votes
from rankbench.audits.left_out import clones, without_third
from rankbench.audits.more_votes import more_tasks, more_votes
from rankbench.audits.recording import duplicates, exposure, missing_tasks, names_alike
from rankbench.plugin import manager

Simulator: TypeAlias = Callable[[int], pl.DataFrame]

DESCRIBING = (
    *(fewest_votes, fewest_judges, fewest_prompts, fewest_tasks, fewest_runs, more_votes, more_tasks),
    *(clones, without_third, exposure, duplicates, names_alike, missing_tasks),
)
"""Probes that never test: simulations of levels leave them out."""


def votes(
    seed: int, *, items: int = 10, n: int = 1500, judges: int = 40, taste: float = 0.0, exposure: float = 0.0,
    ties: float = 0.0, skills: NDArray[np.float64] | None = None, length: float | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Return votes of Davidson's model on items of normal skills: judges have lognormal shares and tastes of their own.

    Parameters
    ----------
    seed, items, n, judges : int
    taste, exposure : float
        Standard deviations: of a judge's taste for an item in log-odds, and of the logarithms of chances to be shown.
    ties : float
        nu of Davidson's model.
    skills : ndarray of float64, shape (items,), optional
    length : float, optional
        Log-odds that a typical difference of lengths adds; the board has columns of lengths then.
    """
    rng = np.random.default_rng([seed, items, n])
    skills = rng.normal(0, 0.5, items) if skills is None else skills
    left, right = two_items(rng, n, items)
    if exposure:
        weight = rng.lognormal(sigma=exposure, size=items)
        drawn = rng.choice(items, (20 * n, 2), p=weight / weight.sum())
        left, right = drawn[drawn[:, 0] != drawn[:, 1]][:n].T
    share = rng.lognormal(sigma=1.0, size=judges)
    judge = rng.choice(judges, n, p=share / share.sum())
    tastes = skills + taste * rng.normal(size=(judges, items))
    lead = tastes[judge, left] - tastes[judge, right]
    lengths = {}
    if length is not None:
        drawn = rng.lognormal(5.0, 0.5, (2, n)).round()
        lead = lead + length * (drawn[0] - drawn[1]) / np.sqrt(((drawn[0] - drawn[1]) ** 2).mean())
        lengths = {"left_length": drawn[0], "right_length": drawn[1]}
    weights = np.stack([np.exp(lead / 2), np.exp(-lead / 2), np.full(n, ties)]).cumsum(axis=0)
    drawn = (rng.random(n) * weights[-1] >= weights).sum(axis=0)
    return pl.DataFrame(
        {
            "left": [f"i{k}" for k in left],
            "right": [f"i{k}" for k in right],
            "winner": np.array(["left", "right", "tie"])[drawn],
            "judge": [f"j{k}" for k in judge],
            "time": np.arange(n),
            "query": [f"q{k}" for k in rng.integers(0, 60, n)],
            "lang": np.array(["en", "de", "fr"])[rng.integers(0, 3, n)],
            **lengths,
        }
    )


def opposed_rules(seed: int) -> pl.DataFrame:
    """Return votes in which one item beats each other one narrowly, and the second beats all others clearly."""
    rng = np.random.default_rng([seed, 4])
    left, right = two_items(rng, 3000, 6)
    beats = np.full((6, 6), 0.5)
    beats[0, 1:], beats[1, 2:] = 0.58, 0.9
    beats = np.triu(beats, 1) + np.tril(1 - beats.T, -1)
    won = rng.random(3000) < beats[left, right]
    names = np.array([f"i{k}" for k in range(6)])
    return pl.DataFrame({"left": names[left], "right": names[right], "winner": np.where(won, "left", "right")})


def both_orders(seed: int, *, lead: float = 0.0) -> pl.DataFrame:
    """Return judgments of ten judges on 300 prompts in both orders; the left has a lead in log-odds."""
    rng = np.random.default_rng([seed, 5])
    one, other = two_items(rng, 300, 8)
    skills, query, judge = rng.normal(0, 0.5, 8), np.arange(300), rng.integers(0, 10, 300)
    left, right = np.concatenate([one, other]), np.concatenate([other, one])
    won = rng.random(600) < 1 / (1 + np.exp(skills[right] - skills[left] - lead))
    return pl.DataFrame(
        {
            "left": [f"i{k}" for k in left],
            "right": [f"i{k}" for k in right],
            "winner": np.where(won, "left", "right"),
            "judge": [f"j{k}" for k in np.tile(judge, 2)],
            "query": [f"q{k}" for k in np.tile(query, 2)],
        }
    )


def one_sided(seed: int) -> pl.DataFrame:
    """Return votes of judges with tastes; one judge of an eighth of them prefers i0 to whatever it meets."""
    table = votes(seed, taste=0.5)
    mine = (pl.col("left") == "i0") | (pl.col("right") == "i0")
    bought = mine & pl.Series(np.random.default_rng([seed, 1]).random(len(table)) < 0.6)
    won = pl.when(pl.col("left") == "i0").then(pl.lit("left")).otherwise(pl.lit("right"))
    return table.with_columns(
        judge=pl.when(bought).then(pl.lit("bought")).otherwise("judge"),
        winner=pl.when(bought).then(won).otherwise("winner"),
    )


def two_orders(seed: int) -> pl.DataFrame:
    """Return votes of judges with tastes, whose order in one category is the reverse of that in others."""
    skills = np.random.default_rng([seed, 4]).normal(0, 0.5, 10)
    one, other = (votes(seed, taste=0.5, skills=sign * skills) for sign in (1, -1))
    return pl.concat([one.filter(pl.col("lang") != "fr"), other.filter(pl.col("lang") == "fr")]).sort("time")


def improving(seed: int) -> pl.DataFrame:
    """Return votes without judges on items of which one improves by two log-odds in the middle of the time."""
    skills, one = np.random.default_rng([seed, 5]).normal(0, 0.5, 10), np.eye(10)[0]
    before, after = (votes(seed, skills=skills + change * one) for change in (-1.0, 1.0))
    middle = len(before) // 2
    return pl.concat([before.head(middle), after.tail(len(after) - middle)]).drop("judge")


def contrary(seed: int) -> pl.DataFrame:
    """Return votes of judges with tastes on items of which one beats the better half, and loses to the other half."""
    skills = np.sort(np.random.default_rng([seed, 2]).normal(0, 0.5, 10))
    table = votes(seed, taste=0.5, skills=skills)
    rng = np.random.default_rng([seed, 3])
    other = pl.when(pl.col("left") == "i4").then("right").otherwise("left").str.slice(1).cast(pl.Int64)
    own = pl.when(pl.col("left") == "i4").then(pl.lit("left")).otherwise(pl.lit("right"))
    against = pl.when(pl.col("left") == "i4").then(pl.lit("right")).otherwise(pl.lit("left"))
    wins = (
        pl.when(other > 4)
        .then(pl.Series(rng.random(len(table)) < 0.75))
        .otherwise(pl.Series(rng.random(len(table)) < 0.25))
    )
    about = (pl.col("left") == "i4") | (pl.col("right") == "i4")
    return table.with_columns(
        winner=pl.when(about).then(pl.when(wins).then(own).otherwise(against)).otherwise("winner")
    )


CLEAN: dict[str, Simulator] = {
    "equal exposure": votes,
    "judges with tastes": partial(votes, taste=0.5),
    "unequal exposure": partial(votes, exposure=0.7),
    "ties": partial(votes, ties=0.7),
    "judges with tastes, unequal exposure, ties": partial(votes, taste=0.5, exposure=0.7, ties=0.7),
    "lengths without effect": partial(votes, length=0.0),
    "both orders": both_orders,
}
"""Simulators of boards on which the whole page may fire in 5%; tastes of judges are no fault, and `clustering` looks
for them."""

PLANTED: dict[str, Simulator] = {
    "rules": opposed_rules,
    "sides": partial(both_orders, lead=0.8),
    "flips": partial(both_orders, lead=1.0),
    "without-judge": one_sided,
    "without-item": contrary,
    "without-category": two_orders,
    "drift": improving,
    "clustering": partial(votes, taste=0.5),
    "covariates": partial(votes, length=0.3),
}
"""Simulators of boards with the fault that a probe looks for, by the name of the probe."""


def fired(table: pl.DataFrame, method: str = "") -> tuple[list[str], list[str]]:
    """Return the names of the probes that test a board, and of those among them that fire."""
    testing = {
        name: tuple(probe for probe in getattr(module, name) if probe not in DESCRIBING)
        for name in ("VOTE_PROBES", "SCORE_PROBES")
    }
    # What the same probes describe beside their tests takes most of their time, and moves no p.
    silent = patch.multiple(left_out, _left_out=_nothing, _change=_nothing_moves, _open_without=_no_words)
    names = manager.names
    tested = patch.object(manager, "names", lambda kind: rules_module.TESTED if kind == "aggregator" else names(kind))
    with patch.multiple(module, **testing), silent, tested, patch.object(rules_module, "_tau", lambda *_: 0.0):
        found = module.audit(table, method, columns="ignore=*_length,keep=bought").probes
    return [one.name for one in found if one.p is not None], [one.name for one in found if one.fires]


def false_alarms(name: str, seed: int) -> list[str]:
    """Return the names of the probes that fire on a clean board, by the name of its kind."""
    return [probe for probe in fired(CLEAN[name](seed))[1] if probe != "clustering" or "tastes" not in name]


def _nothing(*_: object) -> pl.DataFrame:
    return left_out._table([], "")


def _nothing_moves(*_: object, **__: object) -> dict[str, object]:
    return {"places": 0}


def _no_words(*_: object) -> str:
    return ""


def share_text(count: int, of: int) -> str:
    """Return a share with its exact 95% interval (Clopper and Pearson)."""
    low = beta.ppf(0.025, count, of - count + 1) if count else 0.0
    high = beta.ppf(0.975, count + 1, of - count) if count < of else 1.0
    return f"{count} of {of} ({count / of:.3f}, 95% {low:.3f} to {high:.3f})"
