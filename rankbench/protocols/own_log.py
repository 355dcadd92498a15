"""The protocol `own-log` tells which method predicts held-out votes of your own log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Component
from rankbench.errors import SpecError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.cell import BlockKey, CellResult, Split, failed, guarded
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask, Prepared
from rankbench.protocols.folds import FOLDS, Grouping, chosen_grouping, cut_groups
from rankbench.protocols.judging import each_cell
from rankbench.protocols.log_votes import LogProtocol, misfit_of, unpack_grouped, unpack_items, unpack_votes, votes_of
from rankbench.protocols.trial import Trial, trial_losses

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
        return each_cell(task, partial(_judged, trial, task.metrics))

    def _trial(self, prepared: Prepared, key: BlockKey) -> Trial:
        grouped = unpack_grouped(prepared.arrays)
        cut = cut_groups(grouped.kind, (grouped.total, grouped.decisive), key.seed, key.repetition)
        return Trial(grouped, cut, unpack_items(prepared), partial(unpack_votes, prepared))


def _judged(trial: Trial, metrics: Sequence[str], cell: str, contender: Contender) -> CellResult:
    losses, info = trial_losses(contender.grid(Aggregator), trial, metrics)
    missing = [metric for metric in metrics if not math.isfinite(losses[metric])]
    if missing:
        return CellResult(cell, "skipped", f"{missing[0]}: no held-out vote is decisive")
    values: dict[tuple[str, Split], NDArray[np.float64]] = {
        (metric, "heldout"): np.array([losses[metric]]) for metric in metrics
    }
    return CellResult(cell, "done", "", math.nan, values, {}, info)
