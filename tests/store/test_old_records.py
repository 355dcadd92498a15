"""Records of runs from before metrics were values are read, and say what they said."""

from __future__ import annotations

from typing import Any

from rankbench.interfaces.metric import BUDGET, COLUMN_FACTS, RIDGE
from rankbench.store.records import SourceRecord

OLD: dict[str, Any] = {
    "protocol": "own-log:folds=pair",
    "splits": {"heldout": "Held-out votes"},
    "units": {"heldout": ["all"]},
    "directions": {"disagreement": "minimize", "log-loss": "maximize", "gone": "maximize"},
    "chance": {"disagreement": 0.25},
    "words": {"gone": {"1.0": "yes"}},
}


def test_levels_and_directions_are_those_of_the_record() -> None:
    source = SourceRecord.model_validate(OLD)
    assert (source.metric("disagreement").chance, source.metric("log-loss").chance) == (0.25, None)
    assert source.direction("log-loss") == source.direction("gone") == "maximize"
    assert source.metric("gone").words == {1.0: "yes"}
    assert source.metric("nobody").direction == "minimize"


def test_sentences_are_those_of_the_protocol_that_is_there() -> None:
    source = SourceRecord.model_validate(OLD)
    assert source.metric("calibration").caution.startswith("ranks nobody alone")
    assert SourceRecord.model_validate(OLD | {"protocol": "left-the-building"}).metric("calibration").caution == ""


def test_facts_are_those_that_there_were() -> None:
    source = SourceRecord.model_validate(OLD)
    assert source.facts == (*COLUMN_FACTS, RIDGE)
    assert source.budget == BUDGET


def test_what_is_written_is_read_back() -> None:
    source = SourceRecord.model_validate(OLD)
    assert SourceRecord.model_validate_json(source.model_dump_json()) == source
