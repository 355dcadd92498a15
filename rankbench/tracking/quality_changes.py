"""Changes of quality are paired by block and unit.

- Same block keys (protocol, data, n, repetition, seed): both saw the same judgments, and every loss has its partner.
- Another seed: draws are independent, and units are paired only if they are of the same data.
- Everything else is not compared, and named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankbench.core.runtime import one_blas_thread
from rankbench.core.text import count_text, natural
from rankbench.interfaces.cell import RANKING, Split
from rankbench.interfaces.protocol import STRETCHES
from rankbench.reports.experiment_data import ContenderRuns, ExperimentData, experiment_data_of
from rankbench.reports.same_cells import beyond
from rankbench.stats.bootstrap import order_widening, widening
from rankbench.store.journal import StoredResults
from rankbench.store.records import SourceRecord, SuiteRecord
from rankbench.tracking.comparison import (
    EVERY,
    ROUNDING,
    Change,
    ChangeEstimate,
    ChangeVerdict,
    Family,
    Margin,
    untested,
)

_NO_SPREAD = 1e-12
"""Relative to the size of losses: a standard error below it is rounding."""

_ULPS = 1e-15
"""Largest difference that is rounding where all numbers of a row are next to 0."""

_PLACES = RANKING[3:]
"""Of an item that falls they grow, as its score and the bounds of it become smaller."""


@dataclass(frozen=True)
class _Pair:
    """A contender at one n, in base and in head."""

    experiments: tuple[ExperimentData, ExperimentData]
    contenders: tuple[ContenderRuns, ContenderRuns]
    matched: bool
    elsewhere: bool

    @property
    def data(self) -> ExperimentData:
        """The experiment as `head` has it."""
        return self.experiments[1]

    @property
    def label(self) -> str:
        return self.contenders[0].label


def quality_changes(base: StoredResults, head: StoredResults, family: Family) -> tuple[list[Change], list[str]]:
    """Compare the contenders of two results.

    Parameters
    ----------
    base, head : StoredResults
    family : Family
        Its gate names cells.

    Returns
    -------
    changes : list of Change
    notes : list of str
        Remarks on missing comparisons, and on other changes.
    """
    before, after = base.record(), head.record()
    notes = list(_differences(before, after))
    found: list[ChangeEstimate] = []
    comparable = []
    for one in before.experiments:
        name, known = one.name, one.name in after.source_index
        why = misfit(before.source(name), after.source(name)) if known else "it is gone"
        labels = {m.label for m in base.members() if m.experiment == name} if why else set()
        if not why:
            comparable.append(name)
        elif any(family.has_cell(name, label) for label in labels):
            found.append(ChangeEstimate(untested(f"{name}: {why}", EVERY)))
    of_base = {data.experiment.name: data for data in experiment_data_of(base)}
    with one_blas_thread():
        for data in experiment_data_of(head):
            name = data.experiment.name
            if name not in comparable:
                continue
            same = before.seed == after.seed, before.cpu != after.cpu
            pairs, apart, others = _pairs((of_base[name], data), same, family)
            found += apart
            notes += others
            metrics = [metric for metric in data.metrics if metric in of_base[name].metrics]
            gone = [metric for metric in of_base[name].metrics if metric not in metrics]
            found += [
                ChangeEstimate(untested(f"{name}: {metric} is gone", pair.label)) for metric in gone for pair in pairs
            ]
            for pair in pairs:
                for metric in metrics:
                    for split in data.source.shown_splits():
                        found += _estimate(pair, metric, split, family.margin)
    return family.judged(found), notes


def _differences(before: SuiteRecord, after: SuiteRecord) -> Iterator[str]:
    """Yield other differences: experiments, versions, code, class of processor, seed."""
    names = {e.name for e in before.experiments}, {e.name for e in after.experiments}
    for name in sorted(names[1] - names[0]):
        yield f"new: experiment {name}"
    for library in sorted(before.versions.keys() | after.versions.keys()):
        was, now = before.versions.get(library, "absent"), after.versions.get(library, "absent")
        if was != now:
            yield f"changed: {library} was {was}, is {now}"
    if before.cpu != after.cpu:
        yield f"changed: the class of processor was {before.cpu or 'unknown'}, is {after.cpu or 'unknown'}"
    if before.code_digest != after.code_digest:
        yield "changed: the code that computes blocks (its digest is another one)"
    were, are = before.plugins, after.plugins
    for name in sorted(were.keys() & are.keys()):
        if were[name] != are[name]:
            yield f"changed: the code of {name} (its digest is another one)"
    if before.seed != after.seed:
        yield f"changed: the seed was {before.seed}, is {after.seed}: repetitions are independent"


def misfit(before: SourceRecord, after: SourceRecord) -> str:
    """Return why an experiment cannot be compared, or ``""``."""
    if before.protocol != after.protocol:
        return f"the protocol was {before.protocol}, is {after.protocol}"
    if before.fingerprint != after.fingerprint:
        return (
            f"the data were {before.dataset or 'none'} (sha256 {before.fingerprint[:12]}), are "
            f"{after.dataset or 'none'} (sha256 {after.fingerprint[:12]})"
        )
    return "it is judged on other units" if before.units != after.units else ""


def _pairs(
    experiments: tuple[ExperimentData, ExperimentData], same: tuple[bool, bool], family: Family
) -> tuple[list[_Pair], list[ChangeEstimate], list[str]]:
    """Return pairs that finished in both, rows of contenders that finished in base alone, and notes on others.

    `same` says whether the judgments are matched, and whether the classes of processors differ.
    """
    pairs, apart, notes = [], [], []
    contenders = [{runs.key: runs for matched in one.by_n for runs in matched.contenders} for one in experiments]
    ordered = sorted(
        (n, runs.order, side, natural(label), label)
        for side, own in enumerate(contenders)
        for (n, label), runs in own.items()
    )
    for n, label in dict.fromkeys((n, label) for n, *_, label in ordered):
        if not family.has_cell(experiments[1].experiment.name, label):
            continue
        place = f"{experiments[1].experiment.name}, n = {n:,}"
        base, head = (own.get((n, label)) for own in contenders)
        if base is None:
            notes.append(f"new: {place}, {label}")
        elif head is None:
            apart.append(ChangeEstimate(untested(f"{place}: it is gone", label)))
        elif base.compared and head.compared:
            pairs.append(_Pair(experiments, (base, head), *same))
            if same[0] and (gone := base.done - head.done):
                why = f"{len(gone)} of {count_text(len(base.done), 'repetition')} are gone"
                apart.append(ChangeEstimate(untested(f"{place}: {why}", label)))
            if same[0] and (more := head.done - base.done):
                notes.append(f"new: {place}, {len(more)} of {count_text(len(head.done), 'repetition')}")
        elif base.compared and head.status == "pending":
            apart.append(ChangeEstimate(untested(f"{place}: it was not computed yet", label)))
        elif base.compared:
            why = f"{place}: {head.status} (was {base.status}): {head.reason}"
            lost = Change(why, label, math.nan, math.nan, math.nan, "worse", head.status, matched=same[0])
            apart.append(ChangeEstimate(lost))
        else:
            became = head.status if head.status == base.status else f"{head.status} (was {base.status})"
            notes.append(f"{became}: {place}, {label}")
    return pairs, apart, [*dict.fromkeys(notes)]


def _estimate(pair: _Pair, metric: str, split: Split, margin: Margin) -> Iterator[ChangeEstimate]:
    """Yield the change of a pair in a metric, if both have it."""
    data = pair.data
    sign = 1.0 if data.source.direction(metric) == "minimize" else -1.0
    where = f"{data.experiment.name}, n = {pair.contenders[0].n:,}, {metric}, {split}"
    done = [sorted(runs.done) for runs in pair.contenders]
    both = sorted(pair.contenders[0].done & pair.contenders[1].done)
    matched = pair.matched and bool(both)
    base, head = (
        one.losses(runs, metric, split, own)
        for one, runs, own in zip(pair.experiments, pair.contenders, done, strict=True)
    )

    if matched:
        base, head = (side[np.isin(own, both)] for side, own in zip((base, head), done, strict=True))

    def change(rests: str) -> Change:
        means = float(base.mean()), float(head.mean())
        verdict: ChangeVerdict = "changed" if matched else "described"
        return Change(where, pair.label, *means, sign * (means[1] - means[0]), verdict, rests, matched=matched)

    if matched and base.tobytes() == head.tobytes():
        yield ChangeEstimate(replace(change("every loss"), verdict="equal", lower=0.0, upper=0.0))
        return
    if matched and not _differ(pair, metric, base, head).any():
        yield ChangeEstimate(replace(change("every loss"), verdict="rounding"))
        return
    if data.source.layout in ("ranking", "series"):
        yield from _numbers(pair, metric, split, where, base.mean(axis=0), head.mean(axis=0))
        return
    allowed = margin.at(float(base.mean()))
    if data.source.layout == "exact":
        yield ChangeEstimate(change("exact numbers"), 0.0, margin=allowed)
        return
    if data.source.fixed(split):
        yield ChangeEstimate(change("one unit, which stays the same"))
        return
    if matched:
        told = change(f"{len(both)} repetitions and {base.shape[1]} units, paired")
        order = _order_widening(pair, base, head)
        yield _spread(told, [head - base], [head - base], _widening(pair, len(both)), allowed, order)
        return
    together = bool(data.source.dataset)
    losses = [base, head]
    units = [head.mean(axis=0, keepdims=True) - base.mean(axis=0, keepdims=True)] if together else losses
    told = change(
        f"{len(base)} and {len(head)} independent repetitions, {base.shape[1]} units{', paired' if together else ''}"
    )
    overlap = max(_widening(pair, len(side)) for side in losses)
    yield _spread(told, losses, units, overlap, allowed, _order_widening(pair, base, head) if together else 1.0)


def _numbers(
    pair: _Pair, metric: str, split: Split, where: str, base: NDArray[np.float64], head: NDArray[np.float64]
) -> Iterator[ChangeEstimate]:
    """Yield the numbers of items that differ by more than rounding: they are no losses, and have no interval."""
    source = pair.data.source
    apart = _differ(pair, metric, base, head)
    sign = 1.0 if metric in _PLACES else -1.0
    for unit, was, now, differs in zip(source.units[split], base, head, apart, strict=True):
        if differs:
            change = sign * float(now - was)
            numbers = float(was), float(now), change
            verdict: ChangeVerdict = "changed" if pair.matched else "described"
            told = Change(f"{where}, {unit}", pair.label, *numbers, verdict, "an item's number", about="ranking")
            yield ChangeEstimate(replace(told, matched=pair.matched))


def _differ(pair: _Pair, metric: str, base: NDArray[np.float64], head: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether numbers differ by more than rounding, or by the metric's tolerance on other processors."""
    finite = np.abs(base[np.isfinite(base)])
    size = float(finite.max(initial=0.0))
    tolerance = pair.data.source.metric(metric).tolerance if pair.elsewhere else ROUNDING
    return beyond(base, head, max(tolerance * size, _ULPS))


def _spread(
    change: Change,
    draws: list[NDArray[np.float64]],
    units: list[NDArray[np.float64]],
    widening: float,
    margin: float,
    order: float,
) -> ChangeEstimate:
    """Return a change with its standard error, of crossed draws and units.

    The variance of a mean is (MS_draws + MS_units - MS_cells) / (R U), by mean squares of the two-way layout with one
    loss a cell; never less than that of draws or of units alone. Of several independent sets of draws the variances add
    up, with Welch's degrees of freedom.

    Parameters
    ----------
    change : Change
    draws, units : list of ndarray of float64, shape (R, U)
        Independent losses, or differences of losses, whose means over units vary with repetitions, and whose means over
        repetitions vary with units.
    widening : float
        Of deviations between draws that overlap.
    margin : float
    order : float
        Of deviations between units that follow one another.
    """
    by_draw = [widening**2 * _variance(side.mean(axis=1)) for side in draws]
    by_unit = [order**2 * _variance(side.mean(axis=0)) for side in units]
    counts = [len(side) - 1.0 for side in draws]
    many = draws[0].shape[1]
    if min(counts) < 1 and many < 2:
        return ChangeEstimate(change, margin=margin)
    cells = sum(_cell_variance(side) for side in draws)
    total = max(sum(by_draw) + sum(by_unit) - cells, sum(by_draw), sum(by_unit))
    parts = [v**2 / df for v, df in zip(by_draw, counts, strict=True) if df > 0 and v > 0]
    welch = sum(by_draw) ** 2 / sum(parts) if parts else max(1.0, *counts)
    share = sum(by_draw) / (sum(by_draw) + sum(by_unit)) if total > 0 else 1.0
    df = max(welch, 1.0), max(many - 1.0, 1.0)
    if math.sqrt(total) > _NO_SPREAD * max(abs(change.base), abs(change.head)):
        return ChangeEstimate(change, math.sqrt(total), share, df, margin).with_interval()
    # Losses that are counts of a few votes agree by chance; draws that overlap are worth fewer.
    agreed = max(min(counts) / widening**2 + 1, float(many))
    return ChangeEstimate(change, 0.0, share, df, margin, agreed)


def _widening(pair: _Pair, draws: int) -> float:
    return widening(draws, pair.data.source.shared(pair.contenders[0].n))


def _order_widening(pair: _Pair, base: NDArray[np.float64], head: NDArray[np.float64]) -> float:
    """Return the factor on the standard error of their difference for units dependent in time, else 1."""
    if pair.data.source.judged_on != STRETCHES:
        return 1.0
    return order_widening(np.stack([base.mean(axis=0), head.mean(axis=0)], axis=1))


def _variance(means: NDArray[np.float64]) -> float:
    """Return the variance of the mean of these; 0 for a single one, whose variance is unknown."""
    return float(means.var(ddof=1) / len(means)) if len(means) > 1 else 0.0


def _cell_variance(losses: NDArray[np.float64]) -> float:
    """Return the part of the variance of a mean due to single cells, shape (R, U): MS_cells / (R U)."""
    draws, units = losses.shape
    if draws < 2 or units < 2:
        return 0.0
    residuals = losses - losses.mean(axis=1, keepdims=True) - losses.mean(axis=0, keepdims=True) + losses.mean()
    return float((residuals**2).sum() / ((draws - 1) * (units - 1)) / losses.size)
