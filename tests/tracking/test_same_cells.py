"""Cells that were computed twice: what may differ between machines is bounded, and everything else is found."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_results import MadeResults
from numpy.typing import NDArray

from rankbench.interfaces.cell import CellResult, Curve
from rankbench.reports.same_cells import FLIPPED, SHIFT, SameCells, other_differences, places_of
from rankbench.store.records import StoredCell

JUMPS = [{"name": "ndcg", "jumps": True}]


def compared(
    before: NDArray[np.float64], after: NDArray[np.float64], *, exact: bool = False, jumps: bool = True
) -> SameCells:
    """Return what came of comparing a contender's losses, shape (R, U)."""
    first = MadeResults({"a": before}, metrics=JUMPS if jumps else [])
    same = SameCells(first, first.record(), exact=exact)
    for cell, place in places_of(first.members(), first).items():
        values = after[int(cell.rpartition("|")[2])]
        same.add(place, CellResult(cell, "done", losses={("ndcg", "design"): values}))
    return same


def test_one_minus_a_metric_of_one_value_is_no_flip() -> None:
    """Every cell has one value, and all of them are other ones: .26 became .74."""
    before = np.random.default_rng(0).uniform(0.2, 0.3, (50, 1))
    found = compared(before, 1 - before)
    assert len(found.differences) == 50
    assert found.flipped == []
    assert "np.float64" not in str(found.differences[0])
    said = f"ndcg (design): {before[0, 0]:.6g}; computed again: {1 - before[0, 0]:.6g}"
    assert said in str(found.differences[0])


@given(st.integers(1, 400), st.integers(1, 8), st.floats(-1, 1).filter(lambda x: abs(x) > 1e-5), st.floats(0, 5))
def test_a_flip_is_bounded_in_units_and_in_the_mean(units: int, moved: int, by: float, level: float) -> None:
    """By the bounds of docs/how-to/publish-and-verify.md: at most 1% of the units, or one; the mean by at most .001."""
    moved = min(moved, units)
    before = np.full((1, units), level)
    after = before.copy()
    after[0, :moved] += by
    found = compared(before, after)
    shift = abs(after.mean() - before.mean())
    if not math.isclose(shift, SHIFT * max(1, level), rel_tol=1e-6):
        may = moved <= max(1, FLIPPED * units) and shift <= SHIFT * max(1, level)
        assert (len(found.flipped), len(found.differences)) == ((1, 0) if may else (0, 1))
    assert found.equal == 0
    assert len(compared(before, after, exact=True).differences) == 1
    assert len(compared(before, after, jumps=False).differences) == 1


@pytest.mark.parametrize(
    ("before", "after", "differs"),
    [
        (1.0, 1 + 1e-7, 0),
        (1e9, 1e9 + 1, 0),
        (1.0, 1 + 1e-5, 1),
        (math.inf, 5.0, 1),
        (math.nan, 5.0, 1),
        (5.0, math.nan, 1),
        (math.inf, -math.inf, 1),
        (math.nan, math.nan, 0),
        (math.inf, math.inf, 0),
    ],
)
def test_a_value_that_does_not_jump_has_its_tolerance(before: float, after: float, differs: int) -> None:
    found = compared(np.array([[0.5, before]]), np.array([[0.5, after]]), jumps=False)
    assert len(found.differences) == differs


def facts(first: dict[str, Any], again: dict[str, Any], *, exact: bool = False) -> SameCells:
    """Return what came of comparing all that a cell has beside its losses."""
    losses = np.zeros((1, 3))
    made = MadeResults({"a": losses})
    stored = StoredCell("done", "", first.get("optimality", math.nan), first.get("info", {}))
    made.cells = lambda: {"a|0": stored}  # type: ignore[method-assign]
    made.curves = lambda cell: first.get("curves", {})  # type: ignore[method-assign]
    same = SameCells(made, made.record(), exact=exact)
    cell = CellResult("a|0", "done", losses=again.pop("losses", {("ndcg", "design"): losses[0]}), **again)
    same.add(places_of(made.members(), made)["a|0"], cell)
    return same


def curve(*values: float) -> dict[str, Curve]:
    return {"objective": Curve(np.arange(len(values)), np.array(values))}


@pytest.mark.parametrize(
    ("first", "again", "said"),
    [
        ({"optimality": 8.7e-9}, {"optimality": 4.0e-2}, "fact optimality: 8.7e-09; computed again: 0.04"),
        ({"optimality": 8.7e-9}, {"optimality": math.nan}, "fact optimality: 8.7e-09; computed again: nan"),
        ({"info": {"converged": 1.0}}, {"info": {"converged": 0.0}}, "fact converged: 1; computed again: 0"),
        ({"info": {"scale": 0.5}}, {"info": {"scale": 0.6}}, "fact scale: 0.5; computed again: 0.6"),
        ({"info": {"scale": 0.5}}, {"info": {}}, "fact scale is not computed any more"),
        ({"curves": curve(3, 2)}, {"curves": curve(3, 1)}, "curve objective: 2; computed again: 1"),
        ({"curves": curve(3, 2)}, {}, "steps of the curve objective is not computed any more"),
        ({}, {"losses": {}}, "ndcg (design) is not computed any more"),
        ({}, {"losses": {("ndcg", "design"): np.zeros(2)}}, "3 values; computed again: 2"),
    ],
)
def test_what_a_second_computation_must_give_again(first: dict[str, Any], again: dict[str, Any], said: str) -> None:
    found = facts(first, again)
    assert said in str(found.differences[0])


def test_rounding_of_facts_and_other_counts_are_no_difference() -> None:
    first = {"optimality": 8.7e-9, "info": {"iterations": 57.0, "scale": 0.5, "converged": 1.0}}
    again = {"optimality": 7.1e-9, "info": {"iterations": 58.0, "scale": 0.5 + 1e-9, "converged": 1.0}}
    found = facts(first, dict(again))
    assert found.differences == []
    assert found.flipped == ["e, 'a', n = 100, repetition 0: fact iterations: 57; computed again: 58"]
    assert len(facts(first, dict(again), exact=True).differences) == 3


def test_numbers_have_the_digits_that_tell_them_apart() -> None:
    found = facts({"info": {"scale": 1 / 3}}, {"info": {"scale": 1 / 3 + 1.1e-9}}, exact=True)
    assert str(found.differences[0]).endswith("fact scale: 0.333333333; computed again: 0.333333334")


def test_other_values_of_cells_that_are_asked_for() -> None:
    losses = np.random.default_rng(8).normal(0.5, 0.1, (5, 40))
    base = MadeResults({"a": losses, "b": losses})
    nearly = MadeResults({"a": losses, "b": losses})
    nearly.cells = lambda: base.cells() | {"a|0": StoredCell("done", "", 0.04, {})}  # type: ignore[method-assign]
    said = "e, 'a', n = 100, repetition 0: fact optimality: nan; head: 0.04"
    assert other_differences(base, nearly, lambda *place: place == ("e", "a")) == [said]
    assert other_differences(base, nearly, lambda *place: place == ("e", "b")) == []
