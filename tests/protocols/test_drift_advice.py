"""Where strengths drift, learning vote by vote wins; folds by pair do not show it, and the page says so."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from competing import executed

import rankbench
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.protocol import Protocol
from rankbench.protocols.one_step_ahead import OneStepAhead
from rankbench.protocols.own_log import OwnLog


@cache
def drifting(n: int = 6000, m: int = 20, memory: float = 4000.0, spread: float = 1.3, seed: int = 1) -> pl.DataFrame:
    """Return votes on strengths that go back and forth around 0 and forget: a log that drifts and ends nowhere."""
    rng = np.random.default_rng(seed)
    kept, scores, winners, losers = np.exp(-1 / memory), spread * rng.normal(size=m), [], []
    for _ in range(n):
        scores = kept * scores + (1 - kept**2) ** 0.5 * spread * rng.normal(size=m)
        i, j = rng.choice(m, 2, replace=False)
        if rng.random() > 1 / (1 + np.exp(scores[j] - scores[i])):
            i, j = j, i
        winners.append(f"i{i}")
        losers.append(f"i{j}")
    return pl.DataFrame({"query_id": ["q"] * n, "winner": winners, "loser": losers, "time": np.arange(n)})


class DriftingLog(Dataset):
    """What `drifting` returns."""

    name: ClassVar[str] = "drifting-log"
    source: ClassVar[str] = "test"
    title: ClassVar[str] = "a log that drifts"
    table: ClassVar[str] = "comparisons"

    def scan(self) -> pl.LazyFrame:
        return drifting().lazy()

    def fingerprint(self) -> str:
        return self.digest() * 2


def wrong(protocol: Protocol, text: str, repetitions: int) -> float:
    """Return the mean share of votes that a method orders the other way."""
    made = protocol.prepare(DriftingLog(), 0)
    found = [executed(made, [text], ("disagreement",), repetition=r, seed=0)[text] for r in range(repetitions)]
    return float(np.mean([one.losses["disagreement", "heldout"].mean() for one in found]))


@pytest.mark.long
def test_vote_by_vote_is_ahead_of_frozen_is_ahead_of_the_win_rate_and_folds_by_pair_turn_it_around() -> None:
    """The figures of docs/logs.md, to two digits."""
    elo, rate = "elo:factor=32", "win-rate"
    vote_by_vote = {text: wrong(OneStepAhead(), text, 1) for text in (elo, rate)}
    frozen = {text: wrong(OwnLog(folds="time"), text, 5) for text in (elo, rate)}
    by_pair = {text: wrong(OwnLog(folds="pair"), text, 5) for text in (elo, rate)}
    assert vote_by_vote[elo] < frozen[elo] - 0.02 < frozen[rate] - 0.04
    assert vote_by_vote[elo] < vote_by_vote[rate] - 0.03
    assert by_pair[elo] > by_pair[rate] + 0.02
    page = (Path(__file__).parents[2] / "docs" / "logs.md").read_text()
    for text, label in ((elo, "Elo, K = 32"), (rate, "win rate")):
        row = next(line for line in page.splitlines() if line.startswith(f"| {label} | ."))
        said = [float(cell) for cell in row.strip("|").split("|")[1:]]
        assert said == pytest.approx([of[text] for of in (vote_by_vote, frozen, by_pair)], abs=0.0051)


def test_the_page_begins_with_what_comes_next_and_says_why_folds_differ(tmp_path: Path) -> None:
    """One recommendation, of the votes to come; who has the best mean in the other views is said beside it."""
    suite = tmp_path / "small.toml"
    text = (Path(rankbench.__file__).parent / "suites" / "own-log.toml").read_text()
    head, *experiments = text.split("[[experiments]]")
    labels = ("win rate", "Elo")
    kept = []
    for experiment in experiments:
        if not any(f'name = "{name}"\n' in experiment for name in ("next-votes", "methods", "by-time")):
            continue
        lines = experiment.splitlines(keepends=True)
        kept.append("".join(x for x in lines if not x.startswith("  { label") or any(f'"{y}"' in x for y in labels)))
    suite.write_text("[[experiments]]".join([head, *kept]))
    log = tmp_path / "drifting.parquet"
    drifting(12_000).write_parquet(log)
    results = rankbench.run(str(suite), dataset=rankbench.log_file(log), reps=5, out=tmp_path / "out")
    page = (tmp_path / "out" / "leaderboard.md").read_text()
    assert results.headline.title.startswith("next-votes")
    said = " ".join(results.recommendation)
    assert said.count("To predict ") == 1
    assert said.startswith("To predict the votes that come next, use **Elo**")
    assert "The best mean `disagreement`: that of **Elo** in `next-votes`" in said
    assert (
        "methods that learn vote by vote (Elo, Glicko-2) are ahead there. Folds by pair and by judge do not show"
        in said
    )
    assert "moments: they learn of a vote up to" in page
