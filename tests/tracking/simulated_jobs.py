"""Jobs on a machine that is noisy and drifts: the launches of `take_turns`, made up, on a clock of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rankbench.tracking.comparison import Change, Family, Margin
from rankbench.tracking.speed_changes import timing_changes
from rankbench.tracking.timings import TimedCell, TimingFacts, Timings
from rankbench.tracking.turns import ROUNDS, Launch, TurnsTaken, order_of_round, take_turns

CONTENDERS = 12


@dataclass
class Machine:
    """Both sides of a comparison on one machine; time passes as calls are made.

    Attributes
    ----------
    noise : float
        Mean of the exponential delay of a call, in the logarithm of its time.
    offset : float
        Standard deviation of the logarithm of what all calls of a contender in one process share.
    drift : float
        The same of the clock after a hundred calls: a random walk, with a trend of that size.
    spikes : float
        Share of calls that something else interrupts, which take up to three times as long.
    slower : dict of int to float
        Contenders of head that are slower, by which share.
    grown : dict of int to float, optional
        Contenders whose peak is larger in head, by how many bytes; None: the system does not say the memory.
    held : float
        Median over contenders of the bytes at the peak in base; single calls vary by 2% and by pieces of a MiB.
    """

    rng: np.random.Generator
    noise: float = 0.2
    offset: float = 0.02
    drift: float = 0.05
    spikes: float = 0.02
    slower: dict[int, float] = field(default_factory=dict)
    grown: dict[int, float] | None = None
    held: float = 1e8
    contenders: int = CONTENDERS
    now: float = 0.0

    def __post_init__(self) -> None:
        self.seconds = np.append(np.exp(self.rng.normal(-2, 1, self.contenders)), 0.02)
        self.trend = self.rng.normal(0, self.drift) / 100
        self.clock = 0.0
        self.allocator = self.rng.spawn(1)[0]  # the times are the same with memory and without
        self.bytes = self.held * np.exp(self.allocator.normal(0, 1 if self.contenders > 1 else 0, self.contenders))

    def launch(self, number: int, until: float) -> Launch | None:
        several = self.contenders + 1
        change = np.zeros((2, several))
        for one, share in self.slower.items():
            change[1, one] = np.log1p(share)
        level = np.log(self.seconds) + change + self.rng.normal(0, self.offset, (2, several))
        found = np.empty((2, several, ROUNDS))
        for at in range(ROUNDS):
            order = np.array(order_of_round(self.rng.integers(2**31), number, at, 2, several))
            calls = len(order)
            clock = self.clock + np.cumsum(self.rng.normal(self.trend, self.drift / 10, calls))
            self.clock = float(clock[-1])
            times = level[order[:, 0], order[:, 1]] + clock + self.rng.exponential(self.noise, calls)
            times += np.where(self.rng.random(calls) < self.spikes, np.log(self.rng.uniform(1, 3, calls)), 0)
            found[order[:, 0], order[:, 1], at] = np.exp(times)
            self.now += float(np.exp(times).sum())
        self.now += 2.0
        if number and self.now > until:
            return None
        return Launch(found, np.ones((2, self.contenders)), self.memory())

    def memory(self) -> NDArray[np.float64]:
        """Return the bytes at the peak, of both sides."""
        shape = (2, self.contenders)
        if self.grown is None:
            return np.full(shape, np.nan)
        peak = self.bytes + np.array([[side * self.grown.get(one, 0.0) for one in range(shape[1])] for side in (0, 1)])
        return peak * self.allocator.normal(1, 0.02, shape) + (self.allocator.poisson(2, shape) << 20)

    def run(self, precision: float, **limits: float) -> TurnsTaken:
        return take_turns(self.launch, precision, clock=lambda: self.now, **limits)


def sides(taken: TurnsTaken, job: tuple[str, str] = ("j", "j")) -> tuple[Timings, Timings]:
    """Return the tables of both sides."""
    seconds = np.stack([one.seconds for one in taken.launches], axis=2)
    found = []
    for side in range(2):
        facts = TimingFacts(
            job=job[side], suite="s", version="1", machine="m", reference="r", declared=taken.declared, last=taken.last,
            precision=0.02, seed=1,
        )  # fmt: skip
        found.append(timings(facts, seconds[side], np.stack([one.memory[side] for one in taken.launches], axis=1)))
    return found[0], found[1]


def timings(facts: TimingFacts, seconds: NDArray[np.float64], memory: NDArray[np.float64]) -> Timings:
    """Return a table; the last of `seconds` (C + 1, L, R) is the reference, `memory` is (C, L)."""
    cells = [TimedCell("e", f"c{one}", 10) for one in range(len(seconds) - 1)]
    first = {cell: np.ones(seconds.shape[1]) for cell in cells}
    return Timings(
        facts, dict(zip(cells, seconds, strict=False)), seconds[-1], first, dict(zip(cells, memory, strict=True))
    )


def slower_by(share: float, *gate: str, alpha: float = 0.01) -> Family:
    """Return what is tested: whether a time has grown by more than a share."""
    return Family(Margin(share, relative=True), gate, alpha)


def changes(taken: TurnsTaken, alpha: float, share: float = 0.01) -> list[Change]:
    return timing_changes(*sides(taken), slower_by(share, alpha=alpha))[0]


def alarms(
    times: int, machine: Callable[[np.random.Generator], Machine], limits: Callable[[int], dict[str, float]]
) -> int:
    """Return in how many of so many comparisons anything at all was called worse, though nothing changed."""
    found = 0
    for number in range(times):
        taken = machine(np.random.default_rng([20130501, number])).run(**limits(number))
        found += any(change.verdict == "worse" for change in changes(taken, 0.01))
    return found
