"""One step ahead: predictions from what came before, compared with a loop over votes in plain Python."""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit, log_ndtr, ndtr

import rankbench
from rankbench.component import Property
from rankbench.errors import SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.cell import BlockKey, CellResult
from rankbench.kinds.contender import Contender
from rankbench.kinds.counts import PairCounts
from rankbench.kinds.dataset import Dataset
from rankbench.kinds.protocol import BlockTask, Prepared
from rankbench.kinds.queries import Comparisons
from rankbench.kinds.sequential_aggregator import SequentialAggregator
from rankbench.protocols import steps as steps_module
from rankbench.protocols.foresight import foreseen, walked
from rankbench.protocols.log_votes import unpack_items
from rankbench.protocols.one_step_ahead import OneStepAhead
from rankbench.protocols.steps import MOMENTS, Steps, unpack_steps
from rankbench.spec import expand, parse

METRICS = ("disagreement", "log-loss", "calibration", "three-outcome-loss")


class Drifting(Dataset):
    """Votes on items whose strengths walk at random, some days with several of them."""

    name = "test-drifting"
    source = "test"
    title = "votes that drift"
    table = "comparisons"
    n: int = 600
    items: int = 6
    times: int = 200
    seed: int = 1
    order: str = "as-cast"
    weighted: bool = False
    judges: int = 0
    begin: str = ""

    def scan(self) -> pl.LazyFrame:
        rng = np.random.default_rng(self.seed)
        place = np.sort(rng.integers(0, self.times, self.n))
        walk = np.cumsum(rng.normal(0, 0.15, (self.times, self.items)), axis=0)
        a = rng.integers(0, self.items, self.n)
        b = (a + rng.integers(1, self.items, self.n)) % self.items
        gap = walk[place, a] - walk[place, b]
        tied = rng.random(self.n) < 0.2
        won = rng.random(self.n) < expit(gap)
        weights = rng.integers(1, 4, self.n) * 0.5 if self.weighted else np.ones(self.n)
        frame = pl.DataFrame(
            {
                "query_id": ["all"] * self.n,
                "winner": [f"i{x}" for x in np.where(won, a, b)],
                "loser": [f"i{x}" for x in np.where(won, b, a)],
                "weight": weights,
                "time": place,
                "tie": tied,
            }
        )
        if self.begin:
            day = pl.lit(self.begin).str.to_date() + pl.duration(days=pl.col("time"))
            frame = frame.with_columns(time=day)
        if self.judges:
            frame = frame.with_columns(judge=pl.Series([f"j{x}" for x in rng.integers(0, self.judges, self.n)]))
        if self.order == "shuffled":
            frame = frame[np.random.default_rng(9).permutation(self.n)]
        return frame.lazy()

    def fingerprint(self) -> str:
        return self.digest() * 2


def grid(text: str) -> list[Aggregator]:
    return [rankbench.get(Aggregator, str(point)) for point in expand(parse(text))]


def prepared(data: Dataset, **options: object) -> Prepared:
    return OneStepAhead.model_validate(options).prepare(data, 0)


def judged(made: Prepared, *texts: str) -> list[CellResult]:
    cells = {text: Contender(text, tuple(grid(text))) for text in texts}
    task = BlockTask(BlockKey("one-step-ahead", "x", 1, 0, 0), 0, METRICS, cells)
    found = made.protocol.execute(made, task)
    assert [cell.status for cell in found] == ["done"] * len(texts), [cell.reason for cell in found]
    return found


# ------------------------------------------------------------------ a loop in plain Python


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


def link_loss(margins: np.ndarray, share: np.ndarray, weight: np.ndarray, b: float, *, probit: bool) -> float:
    """Return the summed loss of decisive votes with two pseudo-votes, as the documentation of links says it."""
    kept = share != 0.5
    along = np.where(share == 1, margins, -margins)[kept]
    sizes = np.sort(np.abs(along[along != 0]))
    unit = (sizes[(len(sizes) - 1) // 2] + sizes[len(sizes) // 2]) / 2
    log_chance = log_ndtr if probit else log_expit
    pseudo = weight[kept].sum() / kept.sum()
    prior = -pseudo * (log_chance(b * unit) + log_chance(-b * unit))
    return float(-(weight[kept] * log_chance(b * along)).sum() + prior)


def naive(data: Dataset, factors: list[float]) -> dict[str, float]:
    """Return all losses of Elo on everything after the warm-up, vote by vote."""
    rows = naive_rows(data)
    n = len(rows)
    begins = [i for i in range(n) if i == 0 or rows[i][0] != rows[i - 1][0]]
    warm = next(b for b in begins if b >= 0.2 * n)
    first = next(b for b in begins if b >= n / MOMENTS)
    share, weight = np.array([row[3] for row in rows]), np.array([row[4] for row in rows])
    margins = [np.array(naive_elo(rows, factor)) for factor in factors]
    choices, goal = [], float(warm)
    while goal < n:
        choices.append(next((b for b in begins if b >= goal), n))
        goal *= 1.1
    choices = sorted({c for c in choices if c < n})
    wrong = loss = decisive = three = total = 0.0
    gaps = np.zeros(10)
    for begin, end in zip(choices, [*choices[1:], n], strict=True):
        seen = slice(first, begin)
        best: tuple[float, int, bool, float] = (math.inf, 0, False, 0.0)
        for number, of_point in enumerate(margins):
            for probit in (False, True):
                args = of_point[seen], share[seen], weight[seen]
                objective = partial(link_loss, *args, probit=probit)
                fit = minimize_scalar(objective, bounds=(0, 50), method="bounded", options={"xatol": 1e-11})
                kept = args[1] != 0.5
                along = np.where(args[1] == 1, args[0], -args[0])[kept]
                log_chance = log_ndtr if probit else log_expit
                mean = -(args[2][kept] * log_chance(fit.x * along)).sum() / args[2][kept].sum()
                if mean < best[0] - 1e-9:
                    best = mean, number, probit, fit.x
        _, number, probit, b = best
        tie_b, nu = naive_davidson(margins[number][seen], share[seen], weight[seen])
        for i in range(begin, end):
            gap, w = margins[number][i], weight[i]
            up, down, even = math.exp(tie_b * gap / 2), math.exp(-tie_b * gap / 2), nu
            outcome = {1.0: up, 0.0: down, 0.5: even}[share[i]]
            three -= w * math.log(outcome / (up + down + even))
            total += w
            if share[i] == 0.5:
                continue
            along = gap if share[i] == 1 else -gap
            wrong += w * (0.5 if along == 0 else float(along < 0))
            p = float((ndtr if probit else expit)(b * along))
            loss -= w * math.log(p)
            decisive += w
            for q, gap_of in ((p, 1 - p), (1 - p, p - 1)):
                gaps[min(int(q * 10), 9)] += w / 2 * gap_of
    return {
        "disagreement": wrong / decisive,
        "log-loss": loss / decisive,
        "calibration": np.abs(gaps).sum() / decisive,
        "three-outcome-loss": three / total,
    }


def naive_davidson(margins: np.ndarray, share: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    sizes = np.sort(np.abs(margins[margins != 0]))
    unit = (sizes[(len(sizes) - 1) // 2] + sizes[len(sizes) // 2]) / 2
    mean = weight.sum() / len(weight)

    def objective(at: np.ndarray) -> float:
        def terms(gap: np.ndarray | float, of: np.ndarray | float) -> np.ndarray | float:
            x = at[0] * gap / 2
            whole = np.log(np.exp(x) + np.exp(-x) + np.exp(at[1]))
            return whole - np.where(of == 0.5, at[1], np.where(of == 1.0, x, -x))

        prior = sum(float(terms(unit, of)) for of in (0.0, 0.5, 1.0))
        return float((weight * terms(margins, share)).sum() + mean * prior)

    found = minimize(objective, np.array([0.5, -1.0]), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    if found.x[0] < 0:
        tied = float(weight[share == 0.5].sum())
        return 0.0, 2 * (tied + mean) / (float(weight.sum()) - tied + 2 * mean)
    return float(found.x[0]), math.exp(found.x[1])


@pytest.mark.parametrize("weighted", [False, True])
def test_losses_are_those_of_a_loop_vote_by_vote(weighted: bool) -> None:
    data = Drifting(weighted=weighted)
    cell = judged(prepared(data), "elo:factor=[16,64]")[0]
    expected = naive(data, [16.0, 64.0])
    for metric, value in expected.items():
        assert cell.losses[metric, "heldout"].mean() == pytest.approx(value, rel=1e-6), metric


def test_a_refitted_method_is_the_method_on_the_votes_before_each_moment() -> None:
    """Each margin again, from the rows of the log that came before its moment."""
    data = Drifting(n=900, times=300, weighted=True)
    made = prepared(data)
    steps, items = unpack_steps(made.arrays), unpack_items(made)
    point = rankbench.get(Aggregator, "bradley-terry:ridge=1")
    margins = walked(point, steps, items)
    rows = data.scan().collect()
    times = rows["time"].unique().sort().to_list()
    where = {name: i for i, name in enumerate(items)}
    assert len(steps.moments) <= MOMENTS
    for moment, until in list(zip(steps.moments, [*steps.moments[1:], len(times)], strict=True))[::7]:
        before = rows.filter(pl.col("time") < times[moment])
        said = Comparisons(
            np.array([0, len(before)]),
            np.array([where[x] for x in before["winner"]], np.int32),
            np.array([where[x] for x in before["loser"]], np.int32),
            before["weight"].to_numpy(),
            before["tie"].to_numpy(),
        )
        scores = point.from_comparisons(said, len(items))
        own = slice(int(steps.starts[moment]), int(steps.starts[until]))
        expected = scores[steps.first[own]] - scores[steps.second[own]]
        assert margins[own] == pytest.approx(expected, abs=1e-6)


class Remembering(Aggregator):
    """The win rate, which remembers what it was given to start from."""

    name: ClassVar[str] = "remembering"
    source: ClassVar[str] = "test"
    starts: ClassVar[list[np.ndarray | None]] = []

    def from_counts(self, counts: PairCounts) -> np.ndarray:
        self.starts.append(None)
        return rankbench.get(Aggregator, "win-rate").from_counts(counts)

    def from_counts_near(self, counts: PairCounts, scores: np.ndarray) -> np.ndarray:
        self.starts.append(scores)
        return rankbench.get(Aggregator, "win-rate").from_counts(counts)


def test_a_refit_starts_from_the_scores_of_the_last_one() -> None:
    made = prepared(Drifting())
    steps, items = unpack_steps(made.arrays), unpack_items(made)
    Remembering.starts.clear()
    margins = walked(Remembering(), steps, items)
    first, *others = Remembering.starts
    assert first is None
    assert len(others) == len(steps.moments) - 1
    assert all(start is not None and np.isfinite(start).all() and start.any() for start in others)
    assert margins == pytest.approx(walked(rankbench.get(Aggregator, "win-rate"), steps, items), abs=1e-12)


@pytest.mark.parametrize(("pairs", "most"), [(1, 10), (15, 15), (40, 40), (1000, 100)])
def test_refits_are_the_fewer_the_more_pairs_were_compared(
    pairs: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pairs` times all compared pairs may be gone through; at least ten refits, at most a hundred."""
    data = Drifting(n=1200, times=600)
    compared = len(unpack_steps(prepared(data).arrays).pairs[0])
    monkeypatch.setattr(steps_module, "REFITTED_PAIRS", pairs * compared)
    made = prepared(data)
    moments = unpack_steps(made.arrays).moments
    assert len(moments) in (most - 1, most, most + 1)  # the end of the warm-up is one of them
    assert np.diff(moments).max() <= 600 / most * 3
    gaps = np.diff(np.append(unpack_steps(made.arrays).starts[moments], 1200))
    assert f"learn of a vote up to {gaps.max():,} votes later" in " ".join(made.notes)


def test_votes_of_one_time_in_any_order_give_the_same_bytes() -> None:
    texts = ("elo:factor=32", "glicko-2", "win-rate", "bradley-terry:ridge=[0.1,1]")
    one, two = (judged(prepared(Drifting(order=order)), *texts) for order in ("as-cast", "shuffled"))
    for left, right in zip(one, two, strict=True):
        for place, values in left.losses.items():
            assert values.tobytes() == right.losses[place].tobytes()


class Momentum(SequentialAggregator):
    """Elo with a memory of its last step: a state of two columns, without a compiled form."""

    name: ClassVar[str] = "momentum"
    source: ClassVar[str] = "test"
    properties: ClassVar[frozenset[Property]] = frozenset({"equivariant", "sequential"})

    def aggregate(self, winners: np.ndarray, losers: np.ndarray, weights: np.ndarray, m: int) -> np.ndarray:
        state = self.start(m)
        for t in range(len(winners)):
            one = slice(t, t + 1)
            self.learn(state, Comparisons(np.array([0, 1]), winners[one], losers[one], weights[one]), t)
        return state[:, 0]

    def start(self, m: int) -> np.ndarray:
        return np.zeros((m, 2))

    def ratings(self, state: np.ndarray) -> np.ndarray:
        return state[:, 0]

    def learn(self, state: np.ndarray, votes: Comparisons, time: int) -> None:
        gap = state[votes.winners, 0] - state[votes.losers, 0]
        move = np.where(votes.ties if votes.ties is not None else False, 0.5, 1.0) - expit(gap)
        step = np.bincount(votes.winners, move, len(state)) - np.bincount(votes.losers, move, len(state))
        state[:, 1] = 0.5 * state[:, 1] + 0.1 * step
        state[:, 0] += state[:, 1]


def test_a_plugin_brings_state_prediction_and_update_in_plain_numpy() -> None:
    made = prepared(Drifting())
    steps, items = unpack_steps(made.arrays), unpack_items(made)
    margins = walked(Momentum(), steps, items)
    state = np.zeros((steps.m, 2))
    for t in range(len(steps.starts) - 1):
        rows = slice(steps.starts[t], steps.starts[t + 1])
        expected = state[steps.first[rows], 0] - state[steps.second[rows], 0]
        assert margins[rows] == pytest.approx(expected, abs=1e-12)
        Momentum().learn(state, steps.comparisons(t, t + 1), t)


@pytest.mark.parametrize(
    "text", ["elo:factor=32", "elo:factor=300", "glicko-2", "glicko-2:volatility=0.5,tau=1.2", "dynamic-bradley-terry"]
)
@pytest.mark.parametrize("weighted", [False, True])
def test_compiled_walks_are_what_learning_does(text: str, weighted: bool) -> None:
    point = rankbench.get(Aggregator, text)
    assert isinstance(point, SequentialAggregator)
    made = prepared(Drifting(n=400, times=60, weighted=weighted))
    steps = unpack_steps(made.arrays)
    plain, state = np.zeros(len(steps)), point.start(steps.m)
    for t in range(len(steps.starts) - 1):
        rows = slice(steps.starts[t], steps.starts[t + 1])
        plain[rows] = point.margins(state, steps.first[rows], steps.second[rows], t)
        point.learn(state, steps.comparisons(t, t + 1), t)
    assert walked(point, steps, []) == pytest.approx(plain, abs=1e-9)


def test_means_of_stretches_are_means_of_votes_whatever_their_sizes() -> None:
    """Three lengths of stretches: the same losses, other intervals."""
    data = Drifting(weighted=True)
    found = [judged(prepared(data, blocks=blocks), "elo")[0] for blocks in (4, 20, 50)]
    for metric in METRICS:
        means = [cell.losses[metric, "heldout"].mean() for cell in found]
        assert means == pytest.approx([means[0]] * 3, rel=1e-12)
    assert [len(cell.losses["log-loss", "heldout"]) for cell in found] == [4, 20, 50]


def test_what_drifts_is_followed_by_elo_and_not_by_the_win_rate() -> None:
    """Votes on 20 items that walk at random: the win rate, vote by vote too, is the slower one."""
    data = Drifting(n=6000, items=20, times=2000, seed=3)
    elo, rate = judged(prepared(data), "elo:factor=[16,32,64]", "win-rate")
    gap = rate.losses["disagreement", "heldout"] - elo.losses["disagreement", "heldout"]
    assert gap.mean() > 0.03
    assert gap.mean() > 3 * gap.std() / len(gap) ** 0.5


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
    notes = " ".join(prepared(Drifting(n=2000, times=1500)).notes)
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


@pytest.mark.parametrize("what", [{"times": 100_000}, {"judges": 100_000}])
def test_many_times_and_many_judges(what: dict[str, int]) -> None:
    data = Drifting(n=120_000, items=30, **what)
    made = prepared(data)
    steps = unpack_steps(made.arrays)
    assert len(steps.moments) <= MOMENTS
    said = foreseen(grid("elo"), steps, unpack_items(made), ties=False)
    assert np.isfinite(said.margins).all()
    assert steps.count == 25


def test_steps_survive_being_packed() -> None:
    steps = unpack_steps(prepared(Drifting()).arrays)
    assert isinstance(steps, Steps)
    assert steps.starts[-1] == len(steps) == 600
    assert steps.choices[0] == np.searchsorted(steps.blocks, 0)
