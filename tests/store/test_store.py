"""The journal: what is put in comes back, and nothing unusable goes in."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from small_journals import KEY, QUERIES, begin, done, member

from rankbench.interfaces.cell import BlockResult, CellResult, Curve, cell_problem
from rankbench.store.journal import Journal
from rankbench.store.results_frame import results_frame
from rankbench.store.store import Store


def test_round_trip(tmp_path: Path) -> None:
    curve = Curve(np.array([1, 10]), np.array([0.1, math.nan]))
    cell = done("c", 0.1, optimality=1e-9, curves={"gap": curve}, info={"mc_error": 0.25, "x": math.nan})
    with Store(tmp_path) as store:
        begin(store, member("c"))
        store.commit(BlockResult(KEY, [cell], 2.0))
    with Journal(tmp_path) as journal:
        assert journal.members() == [member("c")]
        assert {split: len(names) for split, names in journal.record().sources[0].units.items()} == QUERIES
        stored = journal.cells()["c"]
        assert (stored.status, stored.reason, stored.optimality) == ("done", "", 1e-9)
        assert stored.info["mc_error"] == 0.25
        assert math.isnan(stored.info["x"])
        np.testing.assert_array_equal(journal.losses("c", "ndcg", "design"), np.full(3, 0.1))
        assert journal.losses("c", "err", "design") is None
        np.testing.assert_array_equal(journal.curves("c")["gap"].steps, curve.steps)
        np.testing.assert_array_equal(journal.curves("c")["gap"].values, curve.values)
        assert journal.progress() == (1, 1)


def test_failures_are_replaced_and_answers_are_not(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        begin(store, member("x", "x"), member("y", "y"), member("z", "z"))
        first = [CellResult("x", "error", "boom"), CellResult("y", "timeout", "60 s"), done("z", 0.5)]
        answers = [CellResult("s", "skipped", "needs features"), CellResult("d", "diverged", "left the finite numbers")]
        store.commit(BlockResult(KEY, [*first, *answers], 1.0))
        assert store.known(["x", "y", "z", "s", "d", "unheard-of"]) == {"z", "s", "d"}
        assert math.isnan(store.cells()["x"].optimality)
        store.commit(BlockResult(KEY, [done("x", 0.25), CellResult("z", "error", "late")], 1.0))
        assert store.known(["x", "y", "z"]) == {"x", "z"}
        cells = store.cells()
        assert [cells[c].status for c in "xyz"] == ["done", "timeout", "done"]
        losses = store.losses("x", "ndcg", "design")
        assert losses[0] == 0.25
    with Store(tmp_path):  # every digest still holds
        pass


def test_a_block_costs_the_same_however_long_the_journal_is(tmp_path: Path) -> None:
    """Nothing about other blocks is read, and the plan is not parsed again."""
    with Store(tmp_path) as store:
        begin(store, member("c"))
        said: list[str] = []
        store.connection.set_trace_callback(said.append)
        store.commit(BlockResult(KEY, [done("c")], 1.0))
        # One cell with losses on two splits, its block, and the head; nothing is read again.
        assert [statement.split()[0] for statement in said] == ["BEGIN", *["INSERT"] * 4, "UPDATE", "COMMIT"]


def test_rows_of_results_are_sorted_whatever_the_order_of_the_plan(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        begin(store, member("c", "b"), member("d", "a"))
        store.commit(BlockResult(KEY, [done("c"), done("d")], 2.0))
    with Journal(tmp_path) as journal:
        rows = results_frame(journal).select("contender", "split").rows()
    assert rows == [("a", "design"), ("a", "heldout"), ("b", "design"), ("b", "heldout")]


def test_the_plan_of_an_earlier_run_is_known(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        begin(store, member("c"))
    with Store(tmp_path) as store:
        assert store.record().name == "paper"


def test_a_second_begin_replaces_the_plan_and_keeps_cells(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        begin(store, member("c"))
        store.commit(BlockResult(KEY, [done("c")], 1.0))
        begin(store, member("d", "other"))
        assert [m.label for m in store.members()] == ["other"]
        assert store.cells() == {}  # of the plan
        assert store.known(["c"]) == {"c"}
        assert store.progress() == (0, 1)


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (CellResult("c", "done"), "no losses"),
        (CellResult("c", "done", losses={("ndcg", "design"): np.array([0.1, np.nan, 0.2])}), "not finite"),
        (done("c", curves={"gap": Curve(np.array([1, 2]), np.zeros(3))}), "2 steps and 3 values"),
        (done("c", curves={"gap": Curve(np.array([[1, 2]]), np.zeros((1, 2)))}), "2 steps and 2 values"),
        (done("c", curves={"gap": Curve(np.array([2, 2]), np.zeros(2))}), "do not increase"),
        (CellResult("c", "diverged", "far", curves={"gap": Curve(np.array([1]), np.zeros(0))}), "1 steps and 0 values"),
        (done("c", curves={"gap": Curve(np.array([0, 10]), np.array([0.1, np.nan]))}, info={"x": math.nan}), None),
        (CellResult("c", "error", "boom"), None),
    ],
)
def test_problems_of_a_cell_are_known_before_it_is_stored(cell: CellResult, words: str | None) -> None:
    problem = cell_problem(cell)
    assert (problem is None) if words is None else (problem is not None and words in problem)
