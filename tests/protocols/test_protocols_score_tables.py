"""Tables whose law is known: how often scores are in the wrong order, and how often ranges hold."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import rankbench
from rankbench.core.spec import parse
from rankbench.errors import SpecError
from rankbench.interfaces.cell import BlockKey
from rankbench.interfaces.protocol import BlockTask
from rankbench.plugin.manager import contender
from rankbench.protocols.score_tables import ScoreTables

METRICS = ("misordered", "covered", "width")


def measured(protocol: ScoreTables, method: str, n: int, repetition: int = 0) -> dict[str, NDArray[np.float64]]:
    """Return the metrics of a method on all tables of a block."""
    key = BlockKey(str(protocol), "", n, repetition, 7)
    task = BlockTask(key, 0, METRICS, {"a": contender(rankbench.Aggregator, parse(method))})
    (cell,) = protocol.execute(protocol.prepare(None, 7), task)
    assert cell.status == "done", cell.reason
    return {metric: values for (metric, _), values in cell.losses.items()}


@pytest.mark.parametrize("method", ["mean-score", "mean-rank", "borda-count"])
def test_systems_far_apart_have_one_rank_each(method: str) -> None:
    found = measured(ScoreTables(systems=4, tables=3, spread=90.0, replicates=200), method, 40)
    assert {metric: values.tolist() for metric, values in found.items()} == {
        "misordered": [0.0] * 3, "covered": [1.0] * 3, "width": [0.0] * 3,
    }  # fmt: skip


@pytest.mark.full
def test_two_systems_are_misordered_as_often_as_the_normal_law_says() -> None:
    """The difference of means over n tasks is normal, with variance 2 / n."""
    protocol = ScoreTables(systems=2, tables=300, spread=0.5, replicates=2)
    wrong = measured(protocol, "mean-score", 5)["misordered"]
    first, second = protocol.prepare(None, 7).arrays["systems.means"].T
    chances = stats.norm.sf(np.abs(first - second) * np.sqrt(5 / 2))
    sd = np.sqrt((chances * (1 - chances)).sum())
    assert abs(wrong.sum() - chances.sum()) < 4 * sd


def test_ranges_of_equal_systems_hold() -> None:
    held = measured(ScoreTables(systems=4, tables=100, spread=0.0, replicates=200), "mean-score", 40)["covered"]
    assert stats.binomtest(int(held.sum()), 100, 0.95, alternative="less").pvalue > 0.001


def test_tables_and_repetitions_have_noise_of_their_own() -> None:
    protocol = ScoreTables(systems=6, tables=10, spread=0.0, replicates=50)
    first, second = (measured(protocol, "mean-score", 12, repetition)["width"] for repetition in (0, 1))
    assert len(set(first.tolist())) > 1
    assert (first != second).any()


def test_too_few_tasks_and_other_aggregators_are_refused() -> None:
    with pytest.raises(SpecError, match="n must be 5 or more"):
        measured(ScoreTables(), "mean-score", 4)
    assert "score tables" in ScoreTables().misfit(rankbench.get(rankbench.Aggregator, "borda"))
