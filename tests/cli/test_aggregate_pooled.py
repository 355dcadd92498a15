"""Pooled categories on the command line: tables, files and notes."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

KINDS = ("US, UK", "de", "fr")


@pytest.fixture(scope="module")
def votes(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a log of three kinds, one of which has a comma in its name."""
    rng, lines = np.random.default_rng(0), ["winner,loser,kind"]
    for kind in KINDS:
        for _ in range(60):
            a, b = rng.choice(4, 2, replace=False)
            first, second = (a, b) if rng.random() < 1 / (1 + np.exp(a - b)) else (b, a)
            lines.append(f'item {first},item {second},"{kind}"')
    path = tmp_path_factory.mktemp("pooled") / "votes.csv"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_a_table_and_what_is_said_of_it(rankbench, votes: str) -> None:
    done = rankbench("aggregate", votes, "--by", "kind", "--pool")
    assert done.exit_code == 0, done.stderr
    assert "180 judgments; scores in log-odds; 95% intervals (sandwich)" in done.stdout
    assert done.stdout.count("item 0") == 3
    assert "note: kind is not shown to matter: chance may explain how scores differ " in done.stderr
    assert "999 logs in which votes exchange their categories" in done.stderr
    assert "standard deviation of " in done.stderr


def test_files(rankbench, votes: str, tmp_path: Path) -> None:
    shown = rankbench("aggregate", votes, "--by", "kind", "--pool", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(shown)))
    assert list(rows[0])[:5] == ["query", "item", "score", "rank_low", "rank_high"]
    assert {row["query"] for row in rows} == set(KINDS)
    page = rankbench("aggregate", votes, "--by", "kind", "--pool", "--format", "md").stdout
    assert "| kind | rank | item | score | 95% interval | votes | wins |" in page
    assert "by REML; 95% interval of the standard deviation" in page
    out = tmp_path / "pooled.json"
    done = rankbench("aggregate", votes, "--by", "kind", "--pool", "--out", str(out))
    assert done.exit_code == 0, done.stderr
    found = json.loads(out.read_text())
    assert found["pool"]["lower"] <= found["pool"]["variance"]
    assert (found["pool"]["differences"], found["pool"]["trials"], found["pool"]["unit"]) == (6, 999, "log-odds")
    assert found["items"][0]["item"] == "item 0"


def test_categories_side_by_side(rankbench, votes: str) -> None:
    done = rankbench("aggregate", votes, "--by", "kind", "--pool", "--across", "scores", "--format", "csv")
    assert set(next(csv.reader(io.StringIO(done.stdout)))) == {"item", *KINDS}
