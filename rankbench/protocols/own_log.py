"""Protocols on your own log: which method predicts held-out votes, and which predicts what comes next.

References
----------
.. [Carlstein86] E. Carlstein. The use of subseries values for estimating the variance of a general statistic from a
   stationary sequence. Annals of Statistics 14(3), 1986.
.. [Dawid84] A. P. Dawid. Present position and potential developments: some personal views: statistical theory: the
   prequential approach. Journal of the Royal Statistical Society A 147(2), 1984.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Component
from rankbench.data.tables.checks import judgments_of
from rankbench.data.tables.kinds import table_kind
from rankbench.errors import SpecError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.cell import BlockKey, CellResult, Split, failed, guarded
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import STRETCHES, BlockPart, BlockTask, Prepared, Protocol
from rankbench.protocols.folds import FOLDS, Grouping, chosen_grouping, cut_groups
from rankbench.protocols.forecast import prequential_forecasts, stretch_losses
from rankbench.protocols.judging import each_cell
from rankbench.protocols.log_votes import (
    LogProtocol,
    misfit_of,
    unchanged,
    unpack_grouped,
    unpack_items,
    unpack_votes,
    votes_of,
)
from rankbench.protocols.steps import (
    BLOCKS,
    FEWEST_MOMENTS,
    MOMENTS,
    REFITTED_PAIRS,
    Steps,
    cut_steps,
    stretch_names,
    unpack_steps,
)
from rankbench.protocols.trial import Trial, trial_losses
from rankbench.ranking.times import TimeUnit, in_units

EXPOSED = (
    "Folds by judge or pair let contenders learn from later votes. In a knockout, winners are compared more often, so "
    "the number of comparisons leaks outcomes."
)


class OwnLog(LogProtocol):
    r"""Repeated cross-validation on a log of votes, or on the comparisons that ballots imply.

    A fifth of the votes is held out at a time, all votes of a judge (or of a query, on a pair, or of a
    later time) together; what of these a log allows is decided once, see
    `rankbench.protocols.folds.chosen_grouping`. A contender's parameters and its link, from score differences to
    chances, are chosen within the other four fifths, by log loss on three inner folds; then it
    is fitted to all four. Repetition r tests fold r mod 5 of a random partition of its own
    for every five repetitions. Folds by time are never shuffled: a run learns from the first sixths of the
    log and is tested on the next one, its inner folds too predict what came later, and there are
    always five runs, however many are asked for, as each of them is about another time.

    The metrics, all on held-out votes: ``disagreement``, the weighted share of decisive votes
    that the scores order the other way, equal scores counting half (those that differ by less than 1e-12 of the largest
    are equal: items of the same record differ by rounding); ``log-loss``, the mean of
    -log of the chance that was given to the winner of a decisive vote (nats);
    ``calibration``, the expected calibration error of these chances, which is 0 for chances of
    one half that tell nothing, so that it means something beside the log loss only; ``three-outcome-loss``, the
    mean of -log of the chance of what happened, ties among it, under Davidson's link.

    Prefer it to choose a method for your votes or ballots: ``rankbench run --log FILE`` runs it.
    """

    name: ClassVar[str] = "own-log"
    source: ClassVar[str] = "[NB03]_; [D70]_"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(
            "disagreement",
            sentence="Pairwise error rate, the share of decisive votes that the scores order the other way.",
            low=0,
            high=1,
            chance=0.5,
            unit="share of votes",
            jumps=True,
        ),
        Metric(
            "log-loss",
            sentence="Mean of -log of the chance that was given to the winner of a decisive vote.",
            low=0,
            chance=math.log(2),
            unit="nats",
        ),
        Metric(
            "calibration",
            sentence="Expected calibration error of the chances.",
            low=0,
            high=1,
            jumps=True,
            caution="ranks nobody alone: chances of one half are always calibrated. Read it beside the log loss.",
        ),
        Metric(
            "three-outcome-loss",
            sentence="Mean of -log of the probability that a method gave to the outcome (a win of either, or a tie).",
            low=0,
            unit="nats",
        ),
    )
    splits: ClassVar[dict[Split, str]] = {"heldout": "Held-out votes"}
    test_share: ClassVar[float | None] = 1 / FOLDS
    tunes: ClassVar[bool] = True

    folds: Grouping = Field(
        default="judge", description="Votes that are held out together: of a judge, query, pair or time."
    )
    distinct: bool = Field(
        default=False, description="With folds=pair: reject a log in which folds by judge are also folds by pair."
    )

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Load the votes; n = 1 of the suite means all of them."""
        dataset = self.required(dataset)
        log = votes_of(dataset)
        grouping, why = chosen_grouping(log.votes, self.folds)
        if self.distinct and grouping == self.folds == "pair" and chosen_grouping(log.votes, "judge")[0] == "pair":
            raise SpecError("the log has no folds by judge: those by pair stand in for them already")
        by_time = (
            f"Folds by time are rough: there are {FOLDS} runs, whatever repetitions say, which learn from different "
            "amounts. Intervals do not contain drift (changes with time)."
        )
        notes = (*log.notes, *why, by_time) if grouping == "time" else (*log.notes, EXPOSED, *why)
        units: dict[Split, tuple[str, ...]] = {"heldout": ("all held-out votes",)}
        arrays, scale = log.arrays | log.grouped(grouping), float(log.votes.count)
        fixed = FOLDS if grouping == "time" else None
        return Prepared(self, dataset, log.fingerprint, units, arrays, scale, notes, fixed=fixed)

    def misfit(self, contender: Component) -> str:
        """Return an error text for a component that cannot rank the items of a log, or ``""``."""
        return misfit_of(contender, covariates=True)

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Fit every contender to the training votes and judge it on the others."""
        trial = guarded(lambda: self._trial(prepared, task.key))
        if isinstance(trial, Exception):
            return [failed(cell, trial) for cell in task.cells]
        return each_cell(task, partial(_tested, trial, task.metrics))

    def _trial(self, prepared: Prepared, key: BlockKey) -> Trial:
        grouped = unpack_grouped(prepared.arrays)
        cut = cut_groups(grouped.kind, (grouped.total, grouped.decisive), key.seed, key.repetition)
        return Trial(grouped, cut, unpack_items(prepared), partial(unpack_votes, prepared))


def _tested(trial: Trial, metrics: Sequence[str], cell: str, contender: Contender) -> CellResult:
    losses, info = trial_losses(contender.grid(Aggregator), trial, metrics)
    missing = [metric for metric in metrics if not math.isfinite(losses[metric])]
    if missing:
        return CellResult(cell, "skipped", f"{missing[0]}: no held-out vote is decisive")
    values: dict[tuple[str, Split], NDArray[np.float64]] = {
        (metric, "heldout"): np.array([losses[metric]]) for metric in metrics
    }
    return CellResult(cell, "done", "", math.nan, values, {}, info)


class OneStepAhead(LogProtocol):
    r"""Prequential evaluation [Dawid84]_: predict the votes of a time, then learn from them, one time after the other.

    A method predicts the votes of one time from earlier votes, and learns from them together: their order means
    nothing. Aggregators that keep a state
    (`rankbench.interfaces.sequential_aggregator.SequentialAggregator`) learn after each time. The others are fitted
    again to all votes before, at declared moments, equally many votes apart: 100, or as many as 10,000,000 compared
    pairs allow, each refit going through all of them, but 10 at least. A refit starts from the scores of the last one
    (`rankbench.interfaces.aggregator.NearStart.from_counts_near`). With ``shared=true`` those with a state learn after
    each time too, but predict from what they knew at the last of these moments: a comparison of methods, and not of how
    soon they are told of a vote. Without it, the lead of a method that learns at once is partly that.

    The first fifth of the votes is warm-up. A contender's parameters and its link, from margins to chances, are those
    of the least log loss on what it predicted so far (on the last 100,000 votes of it). They are chosen at the end of
    the warm-up, and again whenever the votes became a tenth more.

    The metrics are those of `own-log`, on all votes after the warm-up. There is one run. Differences are bootstrapped
    over stretches of consecutive times, 25 of about equally many votes: votes of a stretch may depend on one another,
    and what is wrong for a while is wrong in few stretches (blocks that do not overlap, [Carlstein86]_).

    Aggregators with ``control=true`` learn effects of covariates, such as a home advantage, from earlier votes too.

    Prefer it for votes with times on items that change, such as teams; `own-log` takes strengths for constant.
    """

    name: ClassVar[str] = "one-step-ahead"
    source: ClassVar[str] = "[Dawid84]_; [Carlstein86]_"
    metrics: ClassVar[tuple[Metric, ...]] = OwnLog.metrics
    splits: ClassVar[dict[Split, str]] = {"heldout": "Votes to come, by stretches of time"}
    judged_on: ClassVar[str] = STRETCHES
    tunes: ClassVar[bool] = True

    unit: TimeUnit = Field(
        default="time", description="Votes of one time, minute, hour, day, week, month, quarter or year go together."
    )
    blocks: int = Field(
        default=BLOCKS, ge=4, le=1000, description="Stretches of time that differences are resampled by, at most."
    )
    shared: bool = Field(default=False, description="All methods predict a vote from the same votes before it.")

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Load the votes and their times; n = 1 of the suite means all of them."""
        dataset = self.required(dataset)
        log = votes_of(dataset)
        votes = log.votes
        if votes.times is None:
            raise SpecError("the log does not say when votes were cast: prequential evaluation needs times")
        if votes.times.max() == 0:
            raise SpecError("all votes are of one time: prequential evaluation needs several")
        times = self._times(dataset)
        unchanged(dataset, log.fingerprint)
        place = (times != times.shift(1)).fill_null(False).cum_sum().to_numpy().astype(np.int32)
        steps = cut_steps(votes, place, self.blocks, shared=self.shared)
        named = times.unique(maintain_order=True)
        order = votes.order_note()
        kept = [note for note in log.notes if note[1:].rstrip(".") != order[1:]]
        arrays = {name: log.arrays[name] for name in ("votes.names", "votes.ends")} | steps.packed()
        units: dict[Split, tuple[str, ...]] = {"heldout": stretch_names(named, steps)}
        notes, count, learned = (*kept, *_notes(steps)), votes.count, _learned(steps)
        told = f" ({count - learned:,} of {count:,} votes; methods only learn from the first {learned:,})"
        splits: dict[Split, str] = {"heldout": self.splits["heldout"] + told}
        return Prepared(self, dataset, log.fingerprint, units, arrays, float(count), notes, splits, pool=count)

    def misfit(self, contender: Component) -> str:
        """Return an error text for a component that cannot rank the items of a log, or ``""``."""
        return misfit_of(contender, covariates=True)

    def _times(self, dataset: Dataset) -> Any:
        """Return the time of each vote, sorted as `Votes` are."""
        _, table = judgments_of(table_kind(dataset.table), dataset.scan())
        return in_units(table.select("time").collect(engine="streaming")["time"].sort(), self.unit)

    def in_time_units(self, unit: str) -> Protocol:
        """Return the same protocol with votes grouped by a unit of time."""
        if unit not in get_args(TimeUnit):
            raise SpecError(f"there is no time unit {unit!r}; there are {', '.join(get_args(TimeUnit))}")
        return type(self).model_validate(self.model_dump() | {"unit": unit})

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Have every contender predict the votes in the order of time."""
        return each_cell(task, partial(_predicted, unpack_steps(prepared.arrays), unpack_items(prepared), task.metrics))

    def part(self, prepared: Prepared, task: BlockTask, share: float) -> BlockPart:
        """Return the warm-up and the first stretches of time."""
        whole = unpack_steps(prepared.arrays)
        steps = whole.up_to(max(1, round(whole.count * share)))
        units: dict[Split, tuple[str, ...]] = {"heldout": prepared.units["heldout"][: steps.count]}
        fewer = replace(prepared, units=units, arrays=dict(prepared.arrays) | steps.packed())
        return BlockPart(fewer, task, len(steps) / len(whole))


def _predicted(steps: Steps, items: list[str], metrics: Sequence[str], cell: str, contender: Contender) -> CellResult:
    ties = "three-outcome-loss" in metrics
    said = prequential_forecasts(contender.grid(Aggregator), steps, items, ties=ties)
    losses, last = stretch_losses(said, steps, metrics), said.choices[-1]
    info = {"point": float(last.point), "scale": last.scale, "probit": float(last.link == "probit")}
    if ties:
        info["nu"] = last.nu
    values: dict[tuple[str, Split], NDArray[np.float64]] = {(metric, "heldout"): losses[metric] for metric in metrics}
    return CellResult(cell, "done", "", math.nan, values, {}, info)


def _learned(steps: Steps) -> int:
    """Return the number of votes that methods learn from before the first judged one."""
    return steps.votes_before(steps.tested.start)


def _notes(steps: Steps) -> list[str]:
    """Return notes for readers on the times of predictions and refits."""
    sizes = np.bincount(steps.block_of_vote(), steps.whole[steps.tested], steps.count)
    times, votes = len(steps.starts) - 1, int(steps.whole.sum())
    gaps = np.diff([*map(steps.votes_before, steps.starts[steps.moments].tolist()), votes])
    later = "at once" if len(steps.moments) >= times - 1 else f"up to {int(gaps.max()):,} votes later"
    shared = ", but predict from what they knew at the last moment of the others" if len(steps.asks) < times else ""
    return [
        f"Prequential: at each of {times:,} times a method predicts votes from earlier ones, then learns from them.",
        f"Methods that keep a state, as Elo does, learn after each time{shared}. The others are fitted again at "
        f"{len(steps.moments)} moments: they learn of a vote {later}. There are {MOMENTS} moments, or as many as "
        f"{REFITTED_PAIRS:,} compared pairs allow, but at least {FEWEST_MOMENTS}, as far as there are times.",
        f"Parameters and links are chosen by the log loss of what was predicted so far, {len(steps.choices)} times.",
        f"Intervals are over {steps.count} stretches of time with {int(sizes.min()):,} to {int(sizes.max()):,} votes "
        "each, resampled as wholes (block bootstrap): they hold for other times like these. Neighboring stretches "
        "may be alike, as where one method falls behind another all the time: intervals allow for most of that.",
    ]
