"""Speed compared: in turns in one job, or as ratios to the reference of each; never otherwise."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from amounts import trials
from numpy.typing import NDArray
from scipy import stats
from simulated_jobs import Machine, alarms, changes, sides, slower_by, timings

from rankbench.errors import InputError
from rankbench.tracking.comparison import Change
from rankbench.tracking.question import TimeQuestion
from rankbench.tracking.speed_changes import timing_changes
from rankbench.tracking.timed_versions import Launcher, TimedVersion, here
from rankbench.tracking.timings import TimedCell
from rankbench.tracking.turns import (
    ROUNDS,
    Launch,
    TurnsTaken,
    declared_looks,
    half_widths,
    order_of_round,
    share_of_look,
    take_turns,
)

TIMES = [trials(100), pytest.param(2000, marks=pytest.mark.long)]
"""Simulated comparisons of a whole leaderboard."""


def quiet(seed: int, contenders: int = 1, **said: object) -> Machine:
    return Machine(np.random.default_rng(seed), contenders=contenders, spikes=0, **said)  # type: ignore[arg-type]


def by_launch(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log ratios of the fastest calls, launch by launch."""
    return np.array([math.log(min(a)) - math.log(min(b)) for a, b in zip(above, below, strict=True)])


def test_one_contender_is_the_paired_t_test_of_launches() -> None:
    taken = quiet(1, noise=0.05, slower={0: 0.1}).run(1e-6, launches=12)
    base, head = sides(taken)
    found, notes = timing_changes(base, head, slower_by(0.02))
    assert len(found) == 1
    assert notes == []
    cell = next(iter(base.seconds))
    values = by_launch(head.seconds[cell], base.seconds[cell])
    share = share_of_look(12, 12, last=True)
    told = stats.ttest_1samp(values, math.log(1.02), alternative="greater").pvalue / share
    interval = stats.ttest_1samp(values, 0).confidence_interval(1 - 0.05 * share)
    assert found[0].p == pytest.approx(told, rel=1e-9)
    assert (found[0].lower, found[0].upper) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert found[0].change == pytest.approx(values.mean())
    assert found[0].head == pytest.approx(found[0].base * math.exp(values.mean()))  # a row has one estimate
    assert found[0].verdict == "worse"
    # The other way round it is better, with the same p-value.
    back, _ = timing_changes(head, base, slower_by(0.02))
    assert back[0].verdict == "better"
    assert back[0].p == pytest.approx(told, rel=1e-9)


def test_two_jobs_are_described_as_ratios_to_the_reference() -> None:
    """How far jobs differ is not known from two of them: whatever their launches show, nothing is called real."""
    base, _ = sides(quiet(2, noise=0.05).run(1e-6, launches=9))
    _, head = sides(quiet(3, noise=0.1, slower={0: 1.0}).run(1e-6, launches=15), ("k", "k"))
    found, notes = timing_changes(base, head, slower_by(0.05))
    cell = next(iter(base.seconds))
    ratios = [by_launch(side.seconds[cell], side.reference) for side in (head, base)]
    assert found[0].change == pytest.approx(ratios[0].mean() - ratios[1].mean(), rel=1e-9)
    assert {change.verdict for change in found} == {"described"}
    assert "reference" in found[0].where
    assert any("two jobs" in note for note in notes)


def test_a_faster_machine_is_no_faster_code() -> None:
    """The second job ran on a machine with twice the clock: every time is half of what it was."""
    base, _ = sides(quiet(4, 5, noise=0.02).run(1e-6, launches=12))
    again, _ = sides(quiet(4, 5, noise=0.02).run(1e-6, launches=12), ("k", "k"))
    faster = replace(
        again, seconds={cell: one / 2 for cell, one in again.seconds.items()}, reference=again.reference / 2
    )
    found, notes = timing_changes(base, faster, slower_by(0.05))
    assert {change.verdict for change in found} == {"described"}
    assert all(abs(change.change) < 1e-9 for change in found)
    assert not any("changed: " in note for note in notes)
    for field, said in (("machine", "the class of processor"), ("reference", "the reference that times")):
        other = replace(faster, facts=faster.facts.model_copy(update={field: "another"}))
        assert any(note.startswith(f"changed: {said}") for note in timing_changes(base, other, slower_by(0.05))[1])


def test_few_launches_show_nothing() -> None:
    taken = quiet(7, 2, noise=0.001, slower={0: 1.0}).run(1e-6, launches=3)
    assert {change.verdict for change in changes(taken, 0.01)} == {"described"}


def test_what_only_one_has_or_failed_is_said() -> None:
    base, head = sides(quiet(8, 3).run(1e-6, launches=6))
    cells = list(base.seconds)
    base = replace(base, seconds={cell: base.seconds[cell] for cell in cells[:2]})
    head = replace(
        head,
        seconds={cell: head.seconds[cell] for cell in cells[1:]},
        facts=head.facts.model_copy(update={"failed": {"x": "error: why"}}),
    )
    found, notes = timing_changes(base, head, slower_by(0.01))
    assert [(change.what, change.verdict) for change in found] == [("c1", found[0].verdict), ("c0", "not tested")]
    assert notes == [f"new: {cells[2]} is timed", "not timed: x: error: why"]


def test_the_gate_leaves_out_the_rest() -> None:
    base, head = sides(quiet(9, 3).run(1e-6, launches=6))
    assert [one.what for one in timing_changes(base, head, slower_by(0.01, "e/c1"))[0]] == ["c1"]
    assert timing_changes(base, head, slower_by(0.01, "other"))[0] == []


def test_sides_that_were_not_written_together_are_refused() -> None:
    base, head = sides(quiet(10).run(1e-6, launches=6))
    shorter = np.stack([*head.seconds.values(), head.reference])[:, :4]
    cut = timings(head.facts, shorter, np.stack([*head.memory.values()])[:, :4])
    with pytest.raises(InputError, match="not written together"):
        timing_changes(base, cut, slower_by(0.01))


@pytest.mark.full
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("stopping", ["60 rounds", "precision", "budget"])
def test_no_false_alarms_where_nothing_changed(stopping: str, times: int) -> None:
    """Times and memory of twelve contenders, 20% machine noise, a drifting clock: at most 1% of all comparisons."""

    def limits(number: int) -> dict[str, float]:
        if stopping == "precision":
            return {"precision": (0.06, 0.1, 0.2)[number % 3], "launches": 60}
        if stopping == "budget":
            return {"precision": 0.15, "budget": 60.0 + 10 * (number % 20), "launches": 60}
        return {"precision": 0.02, "launches": 60 // ROUNDS}

    found = alarms(times, lambda rng: Machine(rng, grown={}), limits)
    upper = stats.beta.ppf(0.95, found + 1, times - found)
    print(f"{stopping}: {found} false alarms in {times} comparisons, at most {upper:.4f}")
    assert found <= max(2, 0.01 * times) or stats.binomtest(found, times, 0.01, alternative="greater").pvalue > 0.05


@pytest.mark.full
@pytest.mark.parametrize("times", TIMES)
def test_a_slow_down_of_15_percent_is_found(times: int) -> None:
    """Of one contender in twelve, at 20% noise, in 120 rounds: in 9 of 10."""
    found = 0
    for number in range(times):
        taken = Machine(np.random.default_rng([7, number]), slower={3: 0.15}, grown={}).run(
            0.02, launches=120 // ROUNDS
        )
        found += changes(taken, 0.01)[3].verdict == "worse"
    lower = stats.beta.ppf(0.05, found, times - found + 1)
    print(f"15% found in {found} of {times}, at least {lower:.4f}")
    assert stats.binomtest(found, times, 0.9, alternative="less").pvalue > 0.01


MIB = float(1 << 20)


def memory_changes(taken: TurnsTaken) -> list[Change]:
    return [one for one in changes(taken, 0.01) if one.about == "memory"]


@pytest.mark.parametrize("held", [8 * MIB, 2000 * MIB])
def test_memory_is_the_paired_t_test_of_launches_beyond_its_margin(held: float) -> None:
    base, head = sides(quiet(12, held=held, grown={0: 0.2 * held + 17 * MIB}).run(1e-6, launches=12))
    before, after = (next(iter(side.memory.values())) for side in (base, head))
    found = timing_changes(base, head, slower_by(0.01))[0]
    assert [one.about for one in found] == ["speed", "memory"]
    share = share_of_look(12, 12, last=True)
    margin = max(0.1 * before.mean(), 16 * MIB)
    told = stats.ttest_rel(after, before + margin, alternative="greater").pvalue / share
    slower, larger = found
    # Holm: the smaller p-value of the two is doubled.
    assert larger.p == pytest.approx(min(1.0, 2 * told), rel=1e-9)
    interval = stats.ttest_rel(after, before).confidence_interval(1 - 0.05 * share)
    assert (larger.lower, larger.upper) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert (larger.base, larger.head) == pytest.approx((before.mean(), after.mean()))
    assert larger.verdict == ("worse" if 2 * told <= 0.01 else "not significant")
    assert slower.verdict == "not significant"
    back = timing_changes(head, base, slower_by(0.01))[0][1]
    assert back.change == pytest.approx(-larger.change)


@pytest.mark.parametrize("number", range(10))
@pytest.mark.parametrize(
    ("held", "grown", "verdict"),
    [
        (200 * MIB, 0.3 * 200 * MIB, "worse"),
        (5 * MIB, 64 * MIB, "worse"),
        (2000 * MIB, 0.05 * 2000 * MIB, "not significant"),
        (5 * MIB, 8 * MIB, "not significant"),
        (200 * MIB, 0.0, "not significant"),
    ],
)
def test_a_leak_is_found_beyond_a_tenth_and_16_mib(held: float, grown: float, verdict: str, number: int) -> None:
    taken = quiet(number, held=held, grown={0: grown}).run(1e-6, launches=8)
    assert [one.verdict for one in memory_changes(taken)] == [verdict]


def test_memory_of_few_launches_or_of_two_jobs_is_described() -> None:
    leak = {0: 500 * MIB}
    few = quiet(13, grown=leak).run(1e-6, launches=3)
    assert [one.verdict for one in memory_changes(few)] == ["described"]
    base, _ = sides(quiet(14, grown=leak).run(1e-6, launches=9))
    _, head = sides(quiet(15, grown=leak).run(1e-6, launches=15), ("k", "k"))
    found = timing_changes(base, head, slower_by(0.05))[0]
    assert [(one.about, one.verdict) for one in found] == [("speed", "described"), ("memory", "described")]
    assert found[1].change == pytest.approx(found[1].head - found[1].base)


def test_a_peak_that_was_measured_once_takes_no_level_from_others() -> None:
    base, head = sides(quiet(16, noise=0.01, slower={0: 0.1}, grown={}).run(1e-6, launches=8))
    once = [
        replace(side, memory={cell: np.append(taken[:1], np.full(7, np.nan)) for cell, taken in side.memory.items()})
        for side in (base, head)
    ]
    both, alone = (timing_changes(*pair, slower_by(0.01))[0] for pair in ((base, head), once))
    assert [one.verdict for one in alone] == ["worse", "described"]
    assert both[0].p == pytest.approx(2 * alone[0].p)


class Clock:
    """Launches that take so many seconds each, with so much noise."""

    def __init__(self, *seconds: float, noise: float = 0.0, sides: int = 2) -> None:
        self.seconds, self.noise, self.sides = seconds, noise, sides
        self.now, self.rng = 0.0, np.random.default_rng(1)

    def launch(self, number: int, until: float) -> Launch | None:
        self.now += self.seconds[min(number, len(self.seconds) - 1)]
        if self.now > until:
            return None
        times = np.exp(self.rng.normal(0, self.noise, (self.sides, 3, ROUNDS)))
        return Launch(times, np.ones((self.sides, 2)), np.ones((self.sides, 2)))

    def run(self, precision: float, **limits: float) -> tuple[TurnsTaken, list[int]]:
        looked: list[int] = []
        tell = lambda taken: looked.append(len(taken.launches))  # noqa: E731
        return take_turns(self.launch, precision, clock=lambda: self.now, looked=tell, **limits), looked


def test_a_round_calls_everything_once() -> None:
    order = order_of_round(1, 2, 3, 2, 5)
    assert sorted(order) == [(side, one) for side in range(2) for one in range(5)]
    # The sides of a contender follow one another.
    assert all(order[place][1] == order[place + 1][1] for place in range(0, 10, 2))


def test_orders_are_drawn_by_seed_launch_and_round() -> None:
    orders = {tuple(order_of_round(seed, launch, one, 2, 6)) for seed in (1, 2) for launch in (0, 1) for one in (0, 1)}
    assert len(orders) == 8
    assert order_of_round(1, 0, 0, 2, 6) == order_of_round(1, 0, 0, 2, 6)


def test_every_place_is_everybodys_as_often() -> None:
    places = np.array([[side for side, _ in order_of_round(5, launch, 0, 2, 4)] for launch in range(400)])
    assert abs(places[:, 0].mean() - 0.5) < 0.1
    first = [order_of_round(5, launch, 0, 2, 4)[0][1] for launch in range(400)]
    assert min(np.bincount(first)) > 60


def test_it_ends_when_all_intervals_are_narrow() -> None:
    taken, looked = Clock(1, noise=0.001).run(0.05, launches=40)
    assert not taken.last
    assert taken.declared == 40
    assert len(taken.launches) == looked[-1] == declared_looks(40)[0]


@pytest.mark.parametrize(
    ("seconds", "precision", "limits", "declared", "launches"),
    [
        ((1,), 0.001, {"launches": 20}, 20, 20),
        # The first launch compiles: the second one shows how long the others take.
        ((30, 10), 0.001, {"budget": 200}, 2 + (200 - 40) // 10, 2 + (200 - 40) // 10),
        ((10, 10, 40), 0.001, {"budget": 200}, 20, 2 + 4),
        ((10,), 0.05, {"budget": 5}, 1, 0),
        ((10,), 0.05, {"budget": 15}, 1, 1),
        ((10,), 0.05, {"budget": 25}, 2, 2),
    ],
)
def test_it_ends_with_the_launches_or_the_budget(
    seconds: tuple[float, ...], precision: float, limits: dict[str, float], declared: int, launches: int
) -> None:
    taken, looked = Clock(*seconds, noise=0.5).run(precision, **limits)
    assert taken.last
    assert (taken.declared, len(taken.launches)) == (declared, launches)
    assert looked == [*(one for one in declared_looks(declared) if one < launches), *[launches][:launches]]


def test_one_version_is_compared_with_the_reference() -> None:
    clock = Clock(1, noise=0.1, sides=1)
    launches = [one for number in range(10) if (one := clock.launch(number, math.inf)) is not None]
    widths = half_widths(launches, 1.0)
    assert widths.shape == (2,)
    assert (widths > 0).all()
    doubled = [Launch(2 * one.seconds, one.first, one.memory) for one in launches]
    np.testing.assert_allclose(half_widths(doubled, 1.0), widths)
    assert np.isnan(half_widths(launches[:3], 1.0)).all()


MEMBERS = [("e", "a", 10, 1), ("e", "a", 20, 2), ("e", "b", 20, 2), ("f", "a", 70, 7)]


@pytest.mark.parametrize(
    ("only", "n", "chosen"),
    [
        ((), (), [0, 3]),
        ((), (2,), [1, 2]),
        (("f",), (), [3]),
        (("*/a",), (), [0, 3]),
        (("e/b",), (2, 1), [2]),
        (("e/b",), (), []),
    ],
)
def test_what_is_chosen(only: tuple[str, ...], n: tuple[int, ...], chosen: list[int]) -> None:
    launcher = Launcher([here()], "s", TimeQuestion(only=only, n=n, seed=1))
    assert launcher._chosen(MEMBERS) == {TimedCell(*MEMBERS[place][:3]): place for place in chosen}


def fake(tmp_path: Path, text: str) -> TimedVersion:
    """A Python that runs something else."""
    script = tmp_path / "python"
    script.write_text(f"#!{sys.executable}\n{text}\n")
    script.chmod(0o700)
    return TimedVersion(str(script), "fake")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys; print('last words', file=sys.stderr); sys.exit(7)", "exit code 7:\n  last words"),
        ("print('no JSON', flush=True)", "exit code"),
        ('print(\'{"error": "ImportError: no such module"}\', flush=True)', "ImportError: no such module"),
    ],
)
def test_a_process_that_cannot_be_timed_is_input_that_cannot_be_used(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fake") as raised:
        Launcher([fake(tmp_path, text)], "demo", TimeQuestion(seed=1)).launch(0, math.inf)
    assert said in str(raised.value)


def test_no_process_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be started"):
        Launcher([TimedVersion(str(tmp_path / "missing"), "gone")], "demo", TimeQuestion(seed=1)).launch(0, math.inf)
