"""Prequential evaluation: losses compared with a loop over votes in plain Python, stretches, and units of time."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import synthetic
import votewise
from competing import executed
from drawn_votes import DrawnVotes
from drifting_votes import METRICS, Drifting, grid, judged, prepared
from scipy.special import expit, ndtr

import rankbench
from rankbench.errors import SpecError
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.protocol import Protocol
from rankbench.protocols import forecast as foresight
from rankbench.protocols.forecast import prequential_forecasts, stretch_losses
from rankbench.protocols.log_votes import unpack_items
from rankbench.protocols.own_log import OneStepAhead, OwnLog
from rankbench.protocols.steps import MOMENTS, unpack_steps


def naive_elo(rows: list[tuple[int, str, str, float, float]], factor: float) -> list[float]:
    """Return the margin of each vote: (time, a, b, share of a, weight), in order of time."""
    eta, most = factor * math.log(10) / 400, 700 * math.log(10) / 400
    rating: dict[str, float] = {}
    margins, begin = [], 0
    while begin < len(rows):
        end = begin
        while end < len(rows) and rows[end][0] == rows[begin][0]:
            end += 1
        gain: dict[str, float] = {}
        count: dict[str, float] = {}
        for _, a, b, share, weight in rows[begin:end]:
            gap = rating.get(a, 0.0) - rating.get(b, 0.0)
            margins.append(gap)
            move = weight * (share - 1 / (1 + math.exp(-gap)))
            for item, sign in ((a, 1), (b, -1)):
                gain[item] = gain.get(item, 0.0) + sign * move
                count[item] = count.get(item, 0.0) + weight
        for item, total in gain.items():
            rating[item] = rating.get(item, 0.0) + min(eta, most / count[item]) * total
        begin = end
    return margins


def naive_rows(data: Dataset) -> list[tuple[int, str, str, float, float]]:
    rows = []
    for row in data.scan().collect().iter_rows(named=True):
        a, b = sorted((row["winner"], row["loser"]))
        share = 0.5 if row["tie"] else float(row["winner"] == a)
        rows.append((row["time"], a, b, share, row["weight"]))
    return sorted(rows, key=lambda row: (row[0], row[1], row[2], row[3], row[4]))


def naive(data: Dataset, factors: list[float], last: int = 100_000) -> dict[str, float]:
    """Return all losses of Elo on everything after the warm-up, with links that are fitted vote by vote."""
    rows = naive_rows(data)
    n = len(rows)
    begins = [i for i in range(n) if i == 0 or rows[i][0] != rows[i - 1][0]]
    warm = next(b for b in begins if b >= 0.2 * n)
    first = next(b for b in begins if b >= n / MOMENTS)
    share, weight = np.array([row[3] for row in rows]), np.array([row[4] for row in rows])
    margins = [np.where(share == 0, -1, 1) * naive_elo(rows, factor) for factor in factors]
    choices, goal = [], float(warm)
    while goal < n:
        choices.append(next((b for b in begins if b >= goal), n))
        goal *= 1.1
    choices = sorted({c for c in choices if c < n})
    wrong = loss = decided = three = total = 0.0
    gaps = np.zeros(10)

    def outcomes(point: int, rows: slice) -> votewise.Outcomes:
        return votewise.Outcomes(margins[point][rows], weight[rows], share[rows] == 0.5)

    for begin, end in zip(choices, [*choices[1:], n], strict=True):
        best: tuple[float, int, str, float] = (math.inf, 0, "", 0.0)
        for point, link in itertools.product(range(len(factors)), votewise.LINKS):
            seen = outcomes(point, slice(max(first, begin - last), begin))
            b = votewise.fit_link(seen, link, float(seen.decisive().weights.mean()))
            best = min(best, (votewise.win_log_loss(seen, b, link), point, link, b))
        _, point, link, b = best
        seen, ahead = outcomes(point, slice(max(first, begin - last), begin)), outcomes(point, slice(begin, end))
        along, weights, _ = ahead.decisive()
        wrong += weights @ np.where(along == 0, 0.5, along < 0)
        loss += weights.sum() * votewise.win_log_loss(ahead, b, link)
        decided += weights.sum()
        b_ties, nu = votewise.fit_tie_link(seen, float(seen.weights.mean()))
        three += ahead.weights.sum() * votewise.tie_log_loss(ahead, b_ties, nu)
        total += ahead.weights.sum()
        p = (ndtr if link == "probit" else expit)(b * along)
        for chance, gap in ((p, 1 - p), (1 - p, p - 1)):
            np.add.at(gaps, np.minimum((chance * 10).astype(int), 9), weights / 2 * gap)
    return {
        "disagreement": wrong / decided,
        "log-loss": loss / decided,
        "calibration": np.abs(gaps).sum() / decided,
        "three-outcome-loss": three / total,
    }


@pytest.mark.parametrize(("weighted", "last"), [(False, 100_000), (True, 150)])
def test_losses_are_those_of_a_loop_vote_by_vote(monkeypatch: pytest.MonkeyPatch, weighted: bool, last: int) -> None:
    monkeypatch.setattr(foresight, "LAST", last)
    data = Drifting(weighted=weighted)
    cell = judged(prepared(data), "elo:factor=[16,64]")[0]
    expected = naive(data, [16.0, 64.0], last)
    for metric, value in expected.items():
        assert cell.losses[metric, "heldout"].mean() == pytest.approx(value, rel=1e-9), metric


def test_votes_of_one_time_in_any_order_give_the_same_bytes() -> None:
    texts = ("elo:factor=32", "glicko-2", "win-rate", "bradley-terry:ridge=[0.1,1]")
    one, two = (judged(prepared(Drifting(order=order)), *texts) for order in ("as-cast", "shuffled"))
    for left, right in zip(one, two, strict=True):
        for place, values in left.losses.items():
            assert values.tobytes() == right.losses[place].tobytes()


def test_means_of_stretches_are_means_of_votes_whatever_their_sizes() -> None:
    """Three lengths of stretches: the same losses, other intervals."""
    data = Drifting(weighted=True)
    found = [judged(prepared(data, blocks=blocks), "elo")[0] for blocks in (4, 20, 50)]
    for metric in METRICS:
        means = [cell.losses[metric, "heldout"].mean() for cell in found]
        assert means == pytest.approx([means[0]] * 3, rel=1e-12)
    assert [len(cell.losses["log-loss", "heldout"]) for cell in found] == [4, 20, 50]


def test_times_that_run_backwards_lie_in_the_future_or_are_equal() -> None:
    shuffled = Drifting(order="shuffled", begin="2190-01-01")
    assert prepared(shuffled).units == prepared(Drifting(begin="2190-01-01")).units
    assert "2190-" in prepared(shuffled).units["heldout"][0]
    with pytest.raises(SpecError, match="all votes are of one time"):
        prepared(Drifting(times=1))
    with pytest.raises(SpecError, match="at least 4 are needed"):
        prepared(Drifting(times=5))


def test_days_weeks_and_months_go_together_where_times_are_dates() -> None:
    data = Drifting(begin="2024-01-01")
    counts = [len(unpack_steps(prepared(data, unit=unit).arrays).starts) - 1 for unit in ("day", "week", "month")]
    days = data.scan().collect()["time"]
    expected = [days.n_unique(), days.dt.truncate("1w").n_unique(), days.dt.truncate("1mo").n_unique()]
    assert counts == expected
    with pytest.raises(SpecError, match="times are numbers"):
        prepared(Drifting(), unit="day")


def test_what_happens_when_is_said() -> None:
    data = Drifting(n=2000, times=1500)
    made, times = prepared(data), data.scan().select(pl.col("time").sort()).collect()["time"]
    warm = next(at for at in range(400, 2000) if times[at] != times[at - 1])
    told = f"({2000 - warm:,} of 2,000 votes; methods only learn from the first {warm:,})"
    assert made.splits["heldout"] == f"Votes to come, by stretches of time {told}"
    notes = " ".join(made.notes)
    assert "learn of a vote up to" in notes
    assert "block bootstrap" in notes
    assert "take the file's order" not in notes


def test_a_unit_of_time_is_a_parameter_of_the_protocol() -> None:
    by_week = OneStepAhead().in_time_units("week")
    assert str(by_week) == "one-step-ahead:unit=week"
    data = Drifting(begin="2024-01-01")
    weeks = data.scan().collect()["time"].dt.truncate("1w").n_unique()
    assert len(unpack_steps(by_week.prepare(data, 0).arrays).starts) - 1 == weeks
    with pytest.raises(SpecError, match="no time unit 'fortnight'; there are time, minute"):
        OneStepAhead().in_time_units("fortnight")


@pytest.mark.full
@pytest.mark.parametrize("what", [{"times": 100_000}, {"judges": 100_000}])
def test_many_times_and_many_judges(what: dict[str, int]) -> None:
    data = Drifting(n=120_000, items=30, **what)
    made = prepared(data)
    steps = unpack_steps(made.arrays)
    assert len(steps.moments) <= MOMENTS
    said = prequential_forecasts(grid("elo"), steps, unpack_items(made), ties=False)
    assert np.isfinite(said.margins).all()
    assert steps.count == 25


@pytest.mark.parametrize("weighted", [False, True])
def test_losses_are_the_same_however_many_votes_are_judged_at_once(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = prepared(Drifting(n=2_000, times=100))
    steps = unpack_steps(made.arrays)
    if weighted:
        steps = replace(steps, weights=np.random.default_rng(0).uniform(0.1, 3, len(steps)))
    said = prequential_forecasts(grid("elo"), steps, unpack_items(made), ties=True)
    whole = stretch_losses(said, steps, METRICS)
    monkeypatch.setattr(foresight, "_TOGETHER", 7)
    assert {name: value.tobytes() for name, value in stretch_losses(said, steps, METRICS).items()} == {
        name: value.tobytes() for name, value in whole.items()
    }


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


class DriftingLog(DrawnVotes):
    """What `drifting` returns."""

    name = "drifting-log"

    def scan(self) -> pl.LazyFrame:
        return drifting().lazy()


def wrong(protocol: Protocol, text: str, repetitions: int) -> float:
    """Return the mean share of votes that a method orders the other way."""
    made = protocol.prepare(DriftingLog(), 0)
    found = [executed(made, [text], ("disagreement",), repetition=r, seed=0)[text] for r in range(repetitions)]
    return float(np.mean([one.losses["disagreement", "heldout"].mean() for one in found]))


@pytest.mark.long
def test_vote_by_vote_is_ahead_of_frozen_is_ahead_of_the_win_rate_and_folds_by_pair_turn_it_around() -> None:
    """The figures of docs/explanation/choosing-a-method.md, to two digits."""
    elo, rate = "elo:factor=32", "win-rate"
    vote_by_vote = {text: wrong(OneStepAhead(), text, 1) for text in (elo, rate)}
    frozen = {text: wrong(OwnLog(folds="time"), text, 5) for text in (elo, rate)}
    by_pair = {text: wrong(OwnLog(folds="pair"), text, 5) for text in (elo, rate)}
    assert vote_by_vote[elo] < frozen[elo] - 0.02 < frozen[rate] - 0.04
    assert vote_by_vote[elo] < vote_by_vote[rate] - 0.03
    assert by_pair[elo] > by_pair[rate] + 0.02
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "choosing-a-method.md").read_text()
    for text, label in ((elo, "Elo, K = 32"), (rate, "win rate")):
        row = next(line for line in page.splitlines() if line.startswith(f"| {label} | ."))
        said = [float(cell) for cell in row.strip("|").split("|")[1:]]
        assert said == pytest.approx([of[text] for of in (vote_by_vote, frozen, by_pair)], abs=0.0051)


@pytest.mark.full
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
    page = synthetic.both_pages(tmp_path / "out")
    assert results.headline.title.startswith("next-votes")
    said = " ".join(results.recommendation)
    assert said.count("To predict ") == 1
    assert said.startswith("To predict the votes that come next, use **Elo**")
    assert (
        "methods that learn vote by vote (Elo, Glicko-2) are ahead there. Folds by pair and by judge do not show"
        in said
    )
    assert "moments: they learn of a vote up to" in page
