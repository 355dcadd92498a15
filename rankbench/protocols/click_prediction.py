"""The protocol `click-prediction` judges click aggregators by how well they predict other sessions."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.component import Component
from rankbench.core.runtime import block_entropy, draw_entropy
from rankbench.core.text import count_text, returned_numbers
from rankbench.data.tables.impressions import OffList, Several, count_clicks
from rankbench.data.tables.selections import SelectionLog, load_selections, take_selections
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.cell import CellResult, ContenderFailed, Split
from rankbench.interfaces.click_aggregator import SelectionAggregator, topmost
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask, Prepared, Protocol, pack
from rankbench.interfaces.queries import Selections
from rankbench.plugin.third_party import disposable_judgments
from rankbench.protocols.judging import each_cell
from rankbench.protocols.log_votes import unchanged

METRIC = "click-log-loss"


class ClickPrediction(Protocol):
    r"""Aggregators trained on some sessions, judged by the likelihood of the selections of others.

    Where nobody knows the truth, what can be judged is prediction: a contender gets n
    sessions, drawn without replacement from the training sessions (all n of a
    repetition are prefixes of one permutation), and says of each held-out session with what
    chance each position, or nothing, is selected (`ClickModel.probabilities`). The loss is
    the mean over held-out sessions of :math:`-\log P(\text{what was selected})`,
    in nats: minus the held-out log-likelihood a session. A share `mix` of every prediction
    is the uniform distribution, so that what a contender holds impossible costs a finite
    amount, :math:`\log((m + 1) / mix)` for a list of m.

    Every repetition holds out a share `heldout` of the sessions, drawn anew; repetitions
    share sessions, so that their statistics are those of the corrected resampled t. A
    log that has parts called ``train`` and ``test`` is split so, always. Then losses are means by
    query, and queries are what statistics are over: draws are samples of the one training
    part, and with a single query nothing says how other sessions would go.

    A session is one selection: `several` and
    `off-list` say what becomes of the others, see `rankbench.data.tables.impressions`. The policies
    apply to the held-out sessions too, so losses under different ones cannot be compared.

    Prefer it for real logs of clicks; `selection` needs a population whose grades are known.
    """

    name: ClassVar[str] = "click-prediction"
    source: ClassVar[str] = "[DMJ13]_ section 5.2; [CMR15]_ section 5.1"
    contender: ClassVar[str] = "aggregator"
    table: ClassVar[str | None] = "selections"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(METRIC, sentence="-log of the chance that was given to what a session clicked.", low=0, unit="nats"),
    )
    splits: ClassVar[dict[Split, str]] = {"heldout": "Held-out sessions"}
    counts: ClassVar[str] = "sessions"
    few: ClassVar[int] = 50

    several: Several = Field(
        default="first", description="Sessions with several clicks: first, last, each (a session of its own) or drop."
    )
    off_list: OffList = Field(
        default="drop", alias="off-list", description="Clicks outside of the list: drop, no-click or error."
    )
    sessions: int = Field(
        default=32_000,
        ge=1,
        lt=2**40,
        strict=True,
        description="Number of training sessions that the suite's n assume; a smaller log scales every n.",
    )
    heldout: float = Field(default=0.25, gt=0, lt=1, description="Share held out of a log without parts.")
    mix: float = Field(default=0.001, gt=0, le=1, description="Share of the uniform distribution in predictions.")

    def misfit(self, contender: Component) -> str:
        """Raise for aggregators that predict no clicks."""
        if isinstance(contender, SelectionAggregator):
            return ""
        return f"{contender.kind} {contender.name!r} does not predict selections"

    def assumptions(self) -> list[str]:
        """Return sentences on the treatment of sessions and on predictions."""
        several = {
            "first": "the first click counts",
            "last": "the last click counts",
            "each": "each becomes a session of its own",
            "drop": "rankbench leaves them out",
        }
        outside = {"drop": "do not count", "no-click": "count as choosing nothing", "error": "are errors"}
        return [
            f"Sessions with clicks on several positions, in training and held out: {several[self.several]}; "
            f"clicks outside of the list {outside[self.off_list]}.",
            f"A share {self.mix:g} of every contender's prediction is the uniform distribution; the loss is minus the "
            "log-likelihood of a held-out session's selection, in nats.",
        ]

    def prepare(self, dataset: Dataset | None, seed: int) -> Prepared:
        """Load a log, reduce it to selections and split its sessions."""
        if self.several == "all":
            raise SpecError(f"protocol {self.name!r}: a session is one selection; several must not be 'all'")
        dataset = self.required(dataset)
        fingerprint = dataset.fingerprint()
        table = dataset.scan().collect(engine="streaming")
        unchanged(dataset, fingerprint)
        parts = set(table["part"]) if "part" in table.columns else set()
        log = load_selections(table.lazy(), several=self.several, off_list=self.off_list)
        made = self._published if {"train", "test"} <= parts else self._split_anew
        return replace(made(dataset, fingerprint, log), unused=self._unused(table, log))

    def _unused(self, table: pl.DataFrame, log: SelectionLog) -> tuple[str, ...]:
        """Return a note on the clicks of a log that no contender gets."""
        shown, outside, again = count_clicks(table)
        beyond = shown - int(log.selections.clicked.sum())
        unused = {
            f"of sessions with several clicks (several={self.several})": beyond,
            "outside of the shown list": 0 if self.off_list == "no-click" else outside,
            "on what a session had clicked before": again,
        }
        said = ", ".join(f"{count:,} {where}" for where, count in unused.items() if count)
        if not said:
            return ()
        more = " rankbench aggregate --method coec uses every click on a shown list." if beyond else ""
        left, total = sum(unused.values()), shown + outside + again
        return (f"{self.name} does not use {left:,} of {total:,} clicks: {said}.{more}",)

    def _published(self, dataset: Dataset, fingerprint: str, log: SelectionLog) -> Prepared:
        """Keep to the parts of a log: its queries are judged."""
        train, test = (
            np.flatnonzero(log.part == log.parts.index(name)) if name in log.parts else np.zeros(0, np.int64)
            for name in ("train", "test")
        )
        if not len(train) or not len(test):
            raise InputError(
                f"data set {dataset!s} has {len(train)} training and {count_text(len(test), 'held-out session')}; "
                "one of each is needed"
            )
        held = take_selections(log.selections, test)
        judged = np.flatnonzero(held.counts)
        notes = [
            f"{count_text(len(train), 'training session')} of {count_text(len(log), 'query')}; "
            f"{count_text(len(test), 'held-out session')} of {count_text(len(judged), 'query')} (as published).",
            f"Each repetition samples these {len(train):,} training sessions. Repetitions share sessions; intervals "
            "over repetitions allow for that. All sessions together make a single repetition.",
        ]
        if len(judged) == 1:
            notes.append(
                "There is one query and one held-out part, so nothing shows how results vary on other sessions: there "
                "are no intervals and no ranks. On a log without parts, each repetition holds out sessions at random."
            )
        arrays = pack("train", **_arrays(take_selections(log.selections, train)))
        arrays |= pack("test", **_arrays(held)) | pack("items", offsets=log.item_offsets, judged=judged)
        scale = self._scale(len(train))
        units: dict[Split, tuple[str, ...]] = {"heldout": tuple(log.ids[q] for q in judged)}
        splits: dict[Split, str] = {"heldout": "Queries (by their held-out sessions)"}
        notes += self._scaled_note(scale)
        return Prepared(self, dataset, fingerprint, units, arrays, scale, tuple(notes), splits, pool=len(train))

    def _split_anew(self, dataset: Dataset, fingerprint: str, log: SelectionLog) -> Prepared:
        """Have every repetition split a log by whole sessions; held-out sessions are judged together."""
        _, session = np.unique(log.rows, return_inverse=True)
        sessions = int(session.max()) + 1
        held = round(self.heldout * sessions)
        if not 0 < held < sessions:
            fewest = next(n for n in count(2) if 0 < round(self.heldout * n) < n)
            raise InputError(
                f"data set {dataset!s} has {count_text(sessions, 'session')}: to hold out a share "
                f"{self.heldout:g} of them and to train on the others, {self.name} needs {fewest:,} or more"
            )
        note = (
            f"Every repetition holds out {held:,} of {sessions:,} sessions of {count_text(len(log), 'query')}, "
            f"drawn anew, and trains on n of the other {sessions - held:,}."
        )
        scale = self._scale(len(log.selections) * (sessions - held) / sessions)
        arrays = pack("log", **_arrays(log.selections), session=session.astype(np.int64))
        arrays |= pack("items", offsets=log.item_offsets, held=np.array([held]))
        notes = (note, *self._scaled_note(scale))
        units: dict[Split, tuple[str, ...]] = {"heldout": ("all held-out sessions",)}
        return Prepared(self, dataset, fingerprint, units, arrays, scale, notes, test_share=held / sessions)

    def _scale(self, training: float) -> float:
        return min(1.0, training / self.sessions)

    def _scaled_note(self, scale: float) -> list[str]:
        if scale == 1:
            return []
        return [f"Every n is scaled by {scale:.4g}: the suite assumes {self.sessions:,} training sessions."]

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Draw the block's training sessions, fit every contender, judge its predictions."""
        key = task.key
        train, test, judged = _parts(prepared, key.seed, key.repetition)
        entropy = draw_entropy(key.seed, prepared.fingerprint, key.repetition)
        order = np.random.default_rng(np.random.SeedSequence(entropy)).permutation(len(train))
        block = take_selections(train, order[: key.n])

        offsets = prepared.arrays["items.offsets"]

        def judge(cell: str, contender: Contender) -> CellResult:
            losses = self._losses(contender.component(SelectionAggregator), block, test, offsets.copy())
            if judged is None:
                losses = losses.mean(keepdims=True)
            else:
                losses = np.add.reduceat(losses, test.offsets[judged]) / test.counts[judged]
            return CellResult(cell, "done", losses={(METRIC, "heldout"): losses})

        return each_cell(task, judge)

    def _losses(
        self, aggregator: SelectionAggregator, block: Selections, test: Selections, offsets: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return one contender's loss of each held-out session."""
        model = aggregator.fit(disposable_judgments(block), offsets)
        # A copy without clicks: no contender sees the outcomes that it predicts.
        blind = replace(disposable_judgments(test), clicked=np.zeros(len(test.items), np.bool_))
        chances = np.asarray(returned_numbers(model.probabilities(blind, offsets), "predictions"), np.float64)
        if chances.shape != test.items.shape or not np.isfinite(chances).all():
            raise ContenderFailed(f"predictions are not {len(test.items)} finite numbers")
        return click_log_loss(chances, test, self.mix)


def click_log_loss(chances: NDArray[np.float64], selections: Selections, mix: float) -> NDArray[np.float64]:
    r"""Return :math:`-\log((1 - mix) P + mix / (m + 1))` of the selection of each session, shape (n,).

    Parameters
    ----------
    chances : ndarray of float64, shape (P,)
        That the position is the one selected; not negative, in sum 1 a list at most.
    selections : Selections
        The topmost click is the selection; without clicks nothing was selected.
    mix : float
        In (0, 1].

    Raises
    ------
    ContenderFailed
        Chances that are no probabilities.
    """
    lengths = np.diff(selections.starts)
    total = np.add.reduceat(chances, selections.starts[:-1])
    if chances.min(initial=0.0) < 0 or total.max(initial=0.0) > 1 + 1e-9:
        raise ContenderFailed("predictions are negative, or sum to more than 1 in a list")
    position = topmost(selections)
    clicked = position < lengths
    p = np.maximum(1.0 - total, 0.0)
    p[clicked] = chances[(selections.starts[:-1] + position)[clicked]]
    return -np.log((1.0 - mix) * p + mix / (lengths + 1))


def _arrays(selections: Selections) -> dict[str, NDArray[np.generic]]:
    return {name: getattr(selections, name) for name in ("offsets", "starts", "items", "clicked")}


def _selections(prepared: Prepared, part: str) -> Selections:
    return Selections(*(prepared.arrays[f"{part}.{name}"] for name in ("offsets", "starts", "items", "clicked")))


def _parts(prepared: Prepared, seed: int, repetition: int) -> tuple[Selections, Selections, NDArray[np.int64] | None]:
    """Return a repetition's training and test sessions, and the query of each test session, if any."""
    if "items.judged" in prepared.arrays:
        return _selections(prepared, "train"), _selections(prepared, "test"), prepared.arrays["items.judged"]
    log, held = _selections(prepared, "log"), _held(prepared, seed, repetition)
    return take_selections(log, np.flatnonzero(~held)), take_selections(log, np.flatnonzero(held)), None


def _held(prepared: Prepared, seed: int, repetition: int) -> NDArray[np.bool_]:
    """Return which selections of a log without parts a repetition holds out, shape (n,)."""
    session = prepared.arrays["log.session"]
    # Blocks have n >= 1, so that n = 0 is a stream of its own: that of the repetition's split.
    draw = np.random.default_rng(np.random.SeedSequence(block_entropy(seed, prepared.fingerprint, 0, repetition)))
    held: NDArray[np.bool_] = draw.permutation(int(session.max()) + 1)[session] < prepared.arrays["items.held"][0]
    return held
