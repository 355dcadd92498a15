"""Your own log: which method predicts votes that it has not seen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from rankbench.component import Component
from rankbench.counts.votes import Votes
from rankbench.data.tables.recognize import table_kind
from rankbench.errors import SpecError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.cell import CellResult, Split
from rankbench.kinds.dataset import Dataset
from rankbench.kinds.metric import Metric
from rankbench.kinds.protocol import BlockTask, Prepared, Protocol
from rankbench.kinds.scores import finite_scores
from rankbench.protocols.folds import FOLDS, Grouping, chosen_grouping, inner_splits, split
from rankbench.protocols.votes import misfit_of, unpack_votes, votes_of

__all__ = ["OwnLog"]

Inner: TypeAlias = Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]
"""Places in the training part to learn from and to predict, as `inner_splits` returns them."""

SMALLEST = 1e-100
"""Scores that are closer count as equal: a link's scale, one over their differences, must be finite."""

EXPOSED = (
    "Folds that are not by time do not hide what came later: where winning decides who is compared again, as in a "
    "knockout, how often an item was compared gives outcomes away."
)


class OwnLog(Protocol):
    r"""Repeated cross-validation on a log of votes, or on the comparisons that ballots imply.

    A fifth of the votes is held out at a time, all votes of a judge (or on a pair, or of a
    later time) together; what of these a log allows is decided once, see
    `rankbench.protocols.folds.chosen_grouping`. A contender's parameters and its link, from score differences to
    chances, are chosen within the other four fifths, by log loss on three inner folds; then it
    is fitted to all four. Repetition r tests fold r mod 5 of a random partition of its own
    for every five repetitions. Folds by time are never shuffled: a run learns from the first sixths of the
    log and is tested on the next one, its inner folds too predict what came later, and there are
    always five runs, however many are asked for, as each of them is about another time.

    The metrics, all on held-out votes: ``disagreement``, the weighted share of decisive votes
    that the scores order the other way, equal scores counting half; ``log-loss``, the mean of
    -log of the chance that was given to the winner of a decisive vote (nats);
    ``calibration``, the expected calibration error of these chances, which is 0 for chances of
    one half that tell nothing, so that it means something beside the log loss only; ``three-outcome-loss``, the
    mean of -log of the chance of what happened, ties among it, under Davidson's link.
    """

    name: ClassVar[str] = "own-log"
    source: ClassVar[str] = "[NB03]_; [D70]_"
    contender: ClassVar[str] = "aggregator"
    table: ClassVar[Any] = "comparisons"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(
            "disagreement",
            sentence="Share of decisive votes that the scores order the other way.",
            low=0,
            high=1,
            chance=0.5,
            unit="share of votes",
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
            caution="ranks nobody alone: chances of one half are always calibrated. Read it beside the log loss.",
        ),
        Metric(
            "three-outcome-loss",
            sentence="Mean of -log of the chance of what happened, ties among it.",
            low=0,
            unit="nats",
        ),
    )
    splits: ClassVar[dict[Split, str]] = {"heldout": "Held-out votes"}
    counts: ClassVar[str] = "votes"
    test_share: ClassVar[float | None] = 1 / FOLDS
    tunes: ClassVar[bool] = True

    folds: Grouping = Field(default="judge", description="What is held out together: judge, pair or time.")
    distinct: bool = Field(
        default=False, description="With folds=pair: refuse a log of which folds by judge are by pair already."
    )

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Load the votes; n = 1 of the suite stands for all of them."""
        if dataset is None:
            raise SpecError(f"protocol {self.name!r} needs a log")
        log = votes_of(dataset)
        grouping, why = chosen_grouping(log.votes, self.folds)
        if self.distinct and grouping == self.folds == "pair" and chosen_grouping(log.votes, "judge")[0] == "pair":
            raise SpecError("the log has no folds by judge: those by pair stand in for them already")
        notes = (*log.notes, *([EXPOSED] if grouping != "time" else []), *why)
        if grouping == "time":
            notes = (
                *notes,
                f"Folds by time are rough: there are {FOLDS} runs, whatever --reps says, they learn from different "
                "amounts, and drift (what changes with time) is not in the intervals.",
            )
        return Prepared(
            self,
            dataset,
            log.fingerprint,
            {"heldout": ("all held-out votes",)},
            log.arrays,
            float(len(log.votes)),
            notes,
            fixed=FOLDS if grouping == "time" else None,
        )

    def refusal(self, dataset: Dataset) -> str:
        """Return why a data set is no log of votes; empty if it is one."""
        if "comparisons" in table_kind(dataset.table).judgments:
            return ""
        return f"protocol {self.name!r} takes comparisons or ballots, data set {dataset!s} has {dataset.table}"

    def misfit(self, contender: Component) -> str:
        """Return why a component cannot rank the items of a log; empty if it can."""
        return misfit_of(contender)

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Fit every contender to the training votes and judge it on the others."""
        from rankbench.kinds.guard import failed, guarded
        from rankbench.protocols.cells import points

        votes = unpack_votes(prepared)
        key = task.key
        partition = np.random.default_rng([key.seed, 1, key.repetition // FOLDS])
        inner = np.random.default_rng([key.seed, 2, key.repetition])
        try:
            grouping, _ = chosen_grouping(votes, self.folds)
            train, test = split(votes, grouping, key.repetition, partition)
        except SpecError as error:
            return [failed(cell, error) for cell in task.cells]
        folds = inner_splits(votes, grouping, train, inner)
        found = []
        for cell, spec in task.cells.items():
            grid = [point for point in points(self.contender, spec) if isinstance(point, Aggregator)]
            outcome = guarded(partial(_judged, grid, votes, train, test, folds))
            if isinstance(outcome, Exception):
                found.append(failed(cell, outcome))
                continue
            losses, info = outcome
            missing = [metric for metric in task.losses if not math.isfinite(losses[metric])]
            if missing:
                found.append(CellResult(cell, "skipped", f"{missing[0]}: no held-out vote is decisive"))
                continue
            judged: dict[tuple[str, Split], NDArray[np.float64]] = {
                (metric, "heldout"): np.array([losses[metric]]) for metric in task.losses
            }
            found.append(CellResult(cell, "done", "", math.nan, judged, {}, info))
        return found


class _Chosen(NamedTuple):
    point: int
    link: Any
    b: float
    b_ties: float
    nu: float


def _judged(
    grid: Sequence[Aggregator],
    votes: Votes,
    train: NDArray[np.int64],
    test: NDArray[np.int64],
    folds: Inner,
) -> tuple[Mapping[str, float], dict[str, float]]:
    """Return the metrics of one contender on the test votes, and what was chosen for it."""
    from rankbench.protocols.links import calibration_error, tie_log_loss, win_log_loss

    chosen = _choose(grid, votes, train, folds)
    held = _outcomes(_scores(grid[chosen.point], votes, train), votes, test)
    decisive = held.decisive()
    wrong = (decisive.margins < 0) + 0.5 * (decisive.margins == 0)
    total = decisive.weights.sum()
    losses = {
        "disagreement": float(decisive.weights @ wrong / total) if total > 0 else math.nan,
        "log-loss": win_log_loss(held, chosen.b, chosen.link),
        "calibration": calibration_error(held, chosen.b, chosen.link),
        "three-outcome-loss": tie_log_loss(held, chosen.b_ties, chosen.nu),
    }
    info = {"point": float(chosen.point), "probit": float(chosen.link == "probit"), "scale": chosen.b, "nu": chosen.nu}
    return losses, info


def _choose(grid: Sequence[Aggregator], votes: Votes, train: NDArray[np.int64], folds: Inner) -> _Chosen:
    """Choose parameters and link by the log loss of margins that were predicted out of fold."""
    from rankbench.protocols.links import LINKS, Outcomes, fit_link, fit_tie_link, win_log_loss

    predicted = np.zeros(len(train), dtype=np.bool_)
    for _, outside in folds:
        predicted[outside] = True
    rows = train[predicted]
    best: tuple[float, int, Any, float, Outcomes] | None = None
    for number, point in enumerate(grid):
        margins = np.zeros(len(train))
        for inside, outside in folds:
            margins[outside] = _outcomes(_scores(point, votes, train[inside]), votes, train[outside]).margins
        seen = Outcomes(margins[predicted], votes.weights[rows], votes.ties[rows])
        for link in LINKS:
            b = fit_link(seen, link)
            loss = win_log_loss(seen, b, link)
            if best is None or loss < best[0] - 1e-12:
                best = (loss, number, link, b, seen)
    if best is None:
        raise SpecError("the grid has no point")
    _, number, link, b, seen = best
    return _Chosen(number, link, b, *fit_tie_link(seen))


def _scores(aggregator: Aggregator, votes: Votes, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return an aggregator's scores from the votes at `rows`, shape (m,)."""
    if aggregator.ranks_counts():
        return aggregator.from_counts(votes.counts(rows))
    aggregator.check_size(len(votes.items))
    return finite_scores(aggregator.from_comparisons(votes.comparisons(rows), len(votes.items)), len(votes.items))


def _outcomes(scores: NDArray[np.float64], votes: Votes, rows: NDArray[np.int64]) -> Any:
    from rankbench.protocols.links import Outcomes

    margins = scores[votes.winners[rows]] - scores[votes.losers[rows]]
    margins[np.abs(margins) < SMALLEST] = 0.0
    return Outcomes(margins, votes.weights[rows], votes.ties[rows])
