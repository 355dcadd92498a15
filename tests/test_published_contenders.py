"""Contenders of published leaderboards: what is written there is what would be written today."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from rankbench.core.component import build
from rankbench.core.spec import parse
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.protocol import Protocol
from rankbench.interfaces.surrogate import Loss, Surrogate
from rankbench.plugin import manager
from rankbench.plugin.registry import base_of

LEADERBOARDS = Path(__file__).parents[1] / "leaderboards"
RUNS = sorted(path.parent for path in LEADERBOARDS.glob("*/run.json"))


def rows(path: Path, *columns: str) -> set[tuple[str, ...]]:
    with path.open(encoding="utf-8", newline="") as file:
        return {tuple(row[column] for column in columns) for row in csv.DictReader(file)}


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: str(folder.name))
def test_every_published_contender_is_written_as_it_is_read(folder: Path) -> None:
    protocols = {}
    for source in json.loads((folder / "run.json").read_text(encoding="utf-8"))["sources"]:
        protocol = manager.get(Protocol, source["protocol"])
        assert str(protocol) == source["protocol"]
        protocols |= dict.fromkeys(source["experiments"], protocol)
    found = rows(folder / "leaderboard.csv", "experiment", "dataset", "spec", "metric")
    assert found
    for experiment, dataset, text, metric in found:
        spec = parse(text)
        assert str(spec) == text
        points = build(manager.component_class(base_of(protocols[experiment].contender), spec.name), spec)
        if len(points) == 1:
            assert str(points[0]) == text
        if dataset:
            assert str(manager.get(Dataset, dataset)) == dataset
        if not protocols[experiment].metrics:
            assert str(manager.get(Loss, metric)) == metric


@pytest.mark.parametrize("folder", RUNS, ids=lambda folder: str(folder.name))
def test_every_published_page_begins_with_a_screen(folder: Path) -> None:
    first = (folder / "leaderboard.md").read_text(encoding="utf-8").partition("\n## ")[0]
    assert len(first.splitlines()) <= 24


def test_every_published_verdict_names_components_that_are_read_back() -> None:
    columns = {"surrogate": Surrogate, "aggregator": Aggregator}
    for row in rows(LEADERBOARDS / "consistency" / "leaderboard.csv", *columns):
        for base, text in zip(columns.values(), row, strict=True):
            if text and text != "none":
                assert str(manager.get(base, text)) == text
