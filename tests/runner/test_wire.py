"""What goes over a wire comes out the same."""

from __future__ import annotations

import math

import competing
import numpy as np
import pytest

from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.cell import BlockKey, BlockResult, CellResult, Curve
from rankbench.interfaces.method import Method
from rankbench.interfaces.protocol import BlockTask
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin.manager import get
from rankbench.runner.wire import asked, result_from_bytes, result_to_bytes, task_from_json, task_to_json

KEY = BlockKey("btl", "data\n\u2028é", 5, 2, 2**62)


def test_tasks() -> None:
    cells = competing.cells(
        Method, {"a": "erm", "b": "erm:aggregator=mean-log-odds(smoothing=2),k=[1,inf]", "c": "random-scores"}
    )
    losses = tuple(get(Loss, text) for text in ("ndcg", "err"))
    task = BlockTask(KEY, 3, ("ndcg", "err"), cells, losses)
    back = task_from_json(task_to_json(task))
    assert back == task
    assert [len(found.points) for found in back.cells.values()] == [1, 2, 1]
    assert asked(task_to_json(task)) == (KEY, ["a", "b", "c"])
    own = BlockTask(KEY, 0, ("disagreement",), competing.cells(Aggregator, {"a": "elo:factor=20"}))
    assert task_from_json(task_to_json(own)) == own


def test_results_bit_for_bit() -> None:
    odd = np.array([0.1, -0.0, 5e-324, 1e308, np.pi])
    curve = Curve(np.array([1, 2**52]), np.array([np.nan, 0.3]))
    cells = [
        CellResult(
            "a", "done", "", 1e-9, {("ndcg", "design"): odd, ("ndcg", "heldout"): odd[:0]}, {"g": curve}, {"i": 0.1}
        ),
        CellResult("b", "error", "line\nbreak \udcff".encode("utf-8", "backslashreplace").decode()),
    ]  # fmt: skip
    back = result_from_bytes(result_to_bytes(BlockResult(KEY, cells, 1.25)))
    assert (back.key, back.seconds) == (KEY, 1.25)
    first, second = back.cells
    assert first.losses["ndcg", "design"].tobytes() == odd.tobytes()
    assert first.losses["ndcg", "heldout"].shape == (0,)
    assert first.curves["g"].steps.tolist() == [1, 2**52]
    assert np.isnan(first.curves["g"].values[0])
    assert (first.optimality, first.info) == (1e-9, {"i": 0.1})
    assert (second.status, second.reason, second.losses) == ("error", "line\nbreak \\udcff", {})
    assert math.isnan(second.optimality)


def test_what_was_cut_short_is_refused() -> None:
    data = result_to_bytes(BlockResult(KEY, [CellResult("a", "done", "", 0.0, {("m", "design"): np.ones(4)})], 0.0))
    with pytest.raises(ValueError, match="cut short"):
        result_from_bytes(data[:-8])
