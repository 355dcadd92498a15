"""What a foreign protocol returns or prepares ends in rows with a reason, or in errors: never in a traceback."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import competing
import numpy as np
import pytest

from rankbench.errors import InputError, PluginError
from rankbench.interfaces import cell as guard
from rankbench.interfaces.cell import BlockKey, CellResult, Curve, guarded
from rankbench.interfaces.method import Method
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask, Prepared, Protocol
from rankbench.runner.blocks import run_block
from rankbench.runner.prepare import _by

TASK = BlockTask(BlockKey("said", "", 1, 0, 0), 0, ("gap",), competing.cells(Method, {"c": "erm"}))
GOOD = {("gap", "design"): np.zeros(2)}


class Said(Protocol):
    """Returns what a test tells it to."""

    name: ClassVar[str] = "said"
    source: ClassVar[str] = "test"
    table: ClassVar[None] = None
    metrics: ClassVar[tuple[Metric, ...]] = (Metric("gap"),)
    splits: ClassVar[dict[Any, str]] = {"design": "Units"}
    answer: ClassVar[Any] = None
    units: ClassVar[Any] = {"design": ("a", "b")}

    def prepare(self, dataset: Any, seed: int) -> Any:
        units = type(self).units
        if isinstance(units, BaseException):
            raise units
        return units if units is None else Prepared(self, None, "", units)

    def execute(self, prepared: Prepared, task: BlockTask) -> Any:
        task.cells.clear()  # its own copy
        return type(self).answer


def told(answer: Any, monkeypatch: pytest.MonkeyPatch) -> CellResult:
    monkeypatch.setattr(Said, "answer", answer)
    (cell,) = run_block(Prepared(Said(), None, "", {"design": ("a", "b")}), TASK).cells
    assert cell.cell == "c"
    cell.reason.encode()
    assert len(cell.reason) <= 500
    return cell


def done(**other: Any) -> list[CellResult]:
    return [CellResult(**({"cell": "c", "status": "done", "losses": GOOD} | other))]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "NoneType"),
        ([1, 2], "'int' object has no attribute"),
        ([SimpleNamespace(cell="c")], "SimpleNamespace"),
        ([], "gave no result"),
        (done(cell=["c"]), "unhashable"),
        (done(status="great"), "status is none of done, diverged"),
        (done(status=["done"]), "status is none of"),
        (done(reason=3), "'int' object"),
        (done(info={1: 1.0}), "'int' object"),
        (done(info={"x": 10**400}), "too large"),
        (done(info={"x": "many"}), "could not convert"),
        (done(optimality=10**400), "too large"),
        (done(optimality=None), "NoneType"),
        (done(info=None), "NoneType"),
        (done(curves=[1]), "'list' object"),
        (done(curves={"x": [1.0]}), "'list' object"),
        (done(curves={"x": Curve(np.array([1.5]), np.zeros(1))}), "Cannot cast"),
        (done(curves={"x": Curve(np.array([1]), np.array(["x"]))}), "Cannot cast"),
        (done(losses=None), "NoneType"),
        (done(losses={}), "has no losses"),
        (done(losses={"gap": np.zeros(2)}), "has no gap on the design units"),
        (done(losses=GOOD | {("gap", "elsewhere"): np.zeros(2)}), "on a split that is none of design, heldout"),
        (done(losses={("other", "design"): np.zeros(2)}), "done but has no gap on the design units"),
        (done(losses={("gap", "design"): np.zeros(3)}), "has shape (3,) on the design units; the plan has (2,)"),
        (done(losses={("gap", "design"): np.array([None, 0.0])}), "Cannot cast"),
        (done(losses={("gap", "design"): np.array([1j, 0.0])}), "Cannot cast"),
    ],
)
def test_what_cannot_be_used_is_an_error_that_says_so(answer: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = told(answer, monkeypatch)
    assert cell.status == "error"
    assert words in cell.reason


def test_what_can_be_used_is_kept_in_plain_types(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = told(done(info={"x": np.float32(2)}, optimality=1), monkeypatch)
    assert (cell.status, cell.optimality, cell.info) == ("done", 1.0, {"x": 2.0})
    assert type(cell.info["x"]) is float


def test_reasons_are_short_and_printable(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = told([CellResult("c", "diverged", "\ud800" + "x" * 10**6)], monkeypatch)
    assert cell.status == "diverged"
    assert cell.reason.startswith("\\ud800xxx")


class Bad(Exception):
    """Not one of ours."""


@pytest.mark.parametrize(
    ("units", "words"),
    [
        ({"design": ("a", "b", "a")}, "names two of the design units 'a'"),
        (Bad("no"), "Bad: no"),
        (SystemExit(3), "SystemExit: 3"),
    ],
)
def test_what_a_protocol_prepares_is_looked_at(units: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Said, "units", units)
    with pytest.raises(PluginError, match=words):
        _by(Said(), None, 0)


def test_errors_that_protocols_may_raise_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Said, "units", InputError("too few"))
    with pytest.raises(InputError, match="too few"):
        _by(Said(), None, 0)


def interrupted() -> None:
    raise KeyboardInterrupt


def test_an_interrupt_is_the_users_here_and_the_contenders_in_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        guarded(interrupted)
    monkeypatch.setattr(guard, "_is_worker", True)
    assert "KeyboardInterrupt" in str(guarded(interrupted))
