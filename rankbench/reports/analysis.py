"""An analysis computes everything that a leaderboard says, and gives claims their verdicts.

A claim needs all of its contrasts, so its test is an intersection-union test [Berger82]_:
if each contrast is tested at 5%, the claim is called true wrongly in at most 5%, without
any adjustment. That a claim *did not hold* needs one contrast only, the clearest of them:
there the intervals have to cover all at once.

References
----------
.. [Berger82] R. L. Berger, Multiparameter hypothesis testing and acceptance sampling,
   Technometrics 24(4), 1982.

A claim is a set of contrasts. It *held* if the own 95% interval of every contrast lies on
the claimed side; it *did not hold* if one of the intervals that cover all contrasts at
once lies entirely on the other side; otherwise the run could not tell (`verdict`). The
verdict rests on intervals over queries and repetitions; the verdict by repetitions alone stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.core.runtime import one_blas_thread
from rankbench.interfaces.cell import Split
from rankbench.interfaces.claim import ClaimKind, Compared, NoEvidenceError, WeightedContrast
from rankbench.interfaces.suite import Claim, Contrast
from rankbench.plugin.manager import claim_kind
from rankbench.reports.experiment_data import ContenderKey, ContenderRuns, ExperimentData, experiment_data_of
from rankbench.reports.over_claims import answers_over
from rankbench.reports.over_logs import over_logs
from rankbench.reports.standings import Standing, standings
from rankbench.reports.verdicts import JudgedClaim, claim_judged, without_held
from rankbench.stats.contrasts import FEWEST, too_few
from rankbench.store.journal import StoredResults
from rankbench.store.records import SuiteRecord

Weights: TypeAlias = tuple[tuple[ContenderKey, float], ...]
"""Weighted contenders of a contrast: a, b[, a, b]."""


def resolve(data: ExperimentData, claim: Claim) -> tuple[list[WeightedContrast], tuple[str, ...], bool]:
    """Turn labels into contenders.

    Returns
    -------
    contrasts : list of WeightedContrast
        No two of them the same.
    notes : tuple of str
        Contrasts that are left out, and why.
    complete : bool
        True if every contrast of the claim is there.
    """
    found: dict[Weights, str] = {}
    notes: list[str] = []
    complete = True
    for contrast in claim.contrasts:
        if not (places := _places(data, contrast)):
            complete = False
            notes.append(f"{contrast.a} vs {contrast.b}: not in this run")
        for text, weights in places:
            missing = next(filter(None, (_missing(data, key) for key, _ in weights)), "")
            owners = tuple((_owner(data, key), weight) for key, weight in weights)
            if missing:
                complete = False
                notes.append(f"{text}: left out, {missing}")
            elif all(sum(w for k, w in owners if k == key) == 0 for key, _ in owners):
                notes.append(f"{text}: left out, no query has so many judgments and the two are the same")
            elif owners in found:
                why = "no query has so many judgments and this is" if text != found[owners] else "named twice:"
                notes.append(f"{text}: left out, {why} the same as {found[owners]}")
            else:
                found[owners] = text
    return [WeightedContrast(text, weights) for weights, text in found.items()], tuple(notes), complete


def _missing(data: ExperimentData, key: ContenderKey) -> str:
    """Return why a contender cannot be compared, or ``""``."""
    runs = data.runs(key)
    if runs is not None and runs.compared:
        return ""
    return f"{key[1]} at n = {key[0]:,} is {'not in this run' if runs is None else runs.status}"


def _owner(data: ExperimentData, key: ContenderKey) -> ContenderKey:
    """Return the contender of order infinity that a contender equals, if that one is in the comparison; else `key`."""
    runs = data.runs(key)
    owner = None if runs is None or not runs.equals else data.runs((key[0], runs.equals))
    return key if owner is None or not owner.compared else owner.key


def _places(data: ExperimentData, contrast: Contrast) -> list[tuple[str, Weights]]:
    """Return the texts and the weighted contenders of a contrast."""
    a, b = contrast.a, contrast.b
    if contrast.n_a is not None or contrast.n_b is not None:
        drawn = {matched.n_declared: matched.n for matched in data.by_n}
        n_a, n_b = (drawn.get(n) if n is not None else None for n in (contrast.n_a, contrast.n_b))
        if n_a is None or n_b is None:
            return []
        return [(f"{a} at n = {n_a:,} vs {b} at n = {n_b:,}", (((n_a, a), 1.0), ((n_b, b), -1.0)))]
    both = [matched.n for matched in data.by_n if matched.runs(a) and matched.runs(b)]
    if contrast.at == "last-first":
        if len(both) < 2:
            return []
        first, last = both[0], both[-1]
        text = f"({a} vs {b}) at n = {last:,}, less the same at n = {first:,}"
        return [(text, (((last, a), 1.0), ((last, b), -1.0), ((first, a), -1.0), ((first, b), 1.0)))]
    at = {"each": both, "first": both[:1], "last": both[-1:]}[contrast.at]
    return [(f"{a} vs {b}, n = {n:,}", (((n, a), 1.0), ((n, b), -1.0))) for n in at]


def curve_steps(data: ExperimentData, runs: ContenderRuns, metric: str) -> NDArray[np.int64]:
    """Return the steps that a contender's curve was recorded at, shape (P,); empty without one."""
    curves = [data.results.curves(runs.cells[repetition]) for repetition in sorted(runs.done)]
    return next((own[metric].steps for own in curves if metric in own), np.empty(0, dtype=np.int64))


def curve_values(
    data: ExperimentData, runs: ContenderRuns, metric: str, steps: Sequence[int], repetitions: Sequence[int]
) -> NDArray[np.float64] | None:
    """Return a curve's values at `steps`, shape (R, len(steps)), or None if one is missing.

    Between two recorded steps the value is interpolated linearly in log(step), outside
    of them it is that of the nearest one.
    """
    curves = [data.results.curves(runs.cells[repetition]).get(metric) for repetition in repetitions]
    at = np.log(np.asarray(steps, dtype=np.float64))
    known = [curve for curve in curves if curve is not None and len(curve.steps)]
    if len(known) < len(curves):
        return None
    return np.stack([np.interp(at, np.log(curve.steps.astype(np.float64)), curve.values) for curve in known])


def in_windows(
    steps: NDArray[np.int64], values: NDArray[np.float64], per_decade: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return means of a curve over windows of its steps, so many a decade, at the geometric means of the steps.

    Parameters
    ----------
    steps : ndarray of int64, shape (P,)
        Above 0, rising.
    values : ndarray of float64, shape (R, P)
    per_decade : int

    Returns
    -------
    (ndarray of int64, shape (W,), ndarray of float64, shape (R, W))
    """
    window = np.floor(np.log10(steps) * per_decade + 1e-9).astype(np.int64)
    # The last step begins a window that nothing else is in: it belongs to the one before.
    if len(window) > 1 and window[-1] != window[-2]:
        window[-1] = window[-2]
    _, starts = np.unique(window, return_index=True)
    sizes = np.diff([*starts, len(steps)])
    middle = np.exp(np.add.reduceat(np.log(steps), starts) / sizes)
    return np.rint(middle).astype(np.int64), np.add.reduceat(values, starts, axis=1) / sizes


def answers(data: ExperimentData) -> list[JudgedClaim]:
    """Return the answers to an experiment's claims, on every split; those on several logs are answered together."""
    found: list[JudgedClaim] = []
    if data.experiment.over:
        return found
    for claim in data.experiment.claims:
        kind = claim_kind(claim)
        contrasts, notes, complete = resolve(data, claim)
        splits: list[tuple[Split | None, Split]] = [(split, split) for split in data.source.shown_splits()]
        if not kind.on_splits:
            splits = [(None, data.source.curve(kind.curve_metric())[0])]
        for split, about in splits:
            empty = JudgedClaim(data.experiment.name, claim, split, about, notes=notes)
            answer = _answer(data, kind, contrasts, empty)
            found.append(answer if complete else without_held(answer))
    return found


def _answer(
    data: ExperimentData, kind: ClaimKind, contrasts: Sequence[WeightedContrast], empty: JudgedClaim
) -> JudgedClaim:
    keys = sorted({key for contrast in contrasts for key, _ in contrast.weights})
    contenders = [runs for key in keys if (runs := data.runs(key)) is not None]
    repetitions = tuple(sorted(frozenset.intersection(*(runs.done for runs in contenders)))) if contenders else ()
    if not repetitions:
        return empty
    metric = empty.claim.loss or data.metrics[0]
    compared = Compared(
        tuple(contrasts),
        tuple(runs.key for runs in contenders),
        metric,
        data.source.direction(metric),
        empty.about,
        repetitions,
        data.seed,
        lambda: data.sample(contenders, metric, empty.about, repetitions),
        lambda key, name, steps: curve_values(data, contenders[keys.index(key)], name, steps, repetitions),
        lambda: np.stack([data.means(runs, metric, empty.about, repetitions) for runs in contenders], axis=1),
        lambda key, name: (
            data.losses(contenders[keys.index(key)], name, empty.about, repetitions) if name in data.metrics else None
        ),
        any(data.source.shared(runs.n) is not None for runs in contenders),
    )
    try:
        evidence = kind.evidence(compared)
    except NoEvidenceError as why:
        return replace(empty, notes=(*empty.notes, str(why)))
    found = claim_judged(empty, kind, evidence)
    if too_few(len(repetitions)):
        note = f"{len(repetitions)} repetitions are too few to judge a claim; at least {FEWEST} are needed"
        return replace(
            found, verdict="could not tell", by_draws="could not tell", against=(), notes=(*empty.notes, note)
        )
    if len(repetitions) > 1 or not kind.on_splits:
        return found
    note = "one repetition: the interval is over queries alone and says nothing about other repetitions"
    return replace(found, verdict="could not tell", against=(), notes=(*empty.notes, note))


@dataclass(frozen=True)
class Section:
    """One experiment: its contenders, its rows, and the answers to its claims."""

    data: ExperimentData
    rows: list[Standing]
    answers: list[JudgedClaim]


@dataclass(frozen=True)
class Analysis:
    """A suite's sections, in its order.

    Attributes
    ----------
    record : SuiteRecord
    sections : list of Section
    cells_known, cells_planned : int
        Number of computed cells, and of planned ones.
    """

    record: SuiteRecord
    sections: list[Section]
    cells_known: int
    cells_planned: int


def analyze(results: StoredResults) -> Analysis:
    """Work out all statistics of a journal; the same journal gives the same numbers.

    BLAS runs on one thread: how it splits a product may change the last bits.
    """
    known, planned = results.progress()
    with one_blas_thread():
        sections = [
            Section(data, standings(data), answers(data)) if data.source.layout == "race" else Section(data, [], [])
            for data in experiment_data_of(results)
        ]
        for over in over_logs(sections):
            of_first = next(section for section in sections if section.data is over.logs[0].data)
            of_first.answers.extend(answers_over(over))
    return Analysis(results.record(), sections, known, planned)
