"""Claims of an experiment on several logs are judged by mean differences over families of logs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankbench.core.text import count_text
from rankbench.interfaces.claim import Compared, WeightedContrast
from rankbench.interfaces.suite import Claim
from rankbench.plugin.manager import claim_kind
from rankbench.reports.over_logs import OverLogs
from rankbench.reports.verdicts import JudgedClaim, claim_judged, without_held
from rankbench.stats.bootstrap import REPLICATES, crossed


def answers_over(over: OverLogs) -> list[JudgedClaim]:
    """Return the answers to the claims of an experiment on several logs."""
    return [_judged(over, claim) for claim in over.logs[0].data.experiment.claims]


def _judged(over: OverLogs, claim: Claim) -> JudgedClaim:
    """Return the verdict on a claim by the mean differences over families."""
    data, kind, loss = over.logs[0].data, claim_kind(claim), claim.loss or over.losses[0]
    split, values = data.source.shown_splits()[0], over.values(loss, "difference")
    labels = sorted({label for one in claim.contrasts for label in (one.a, one.b)})
    own = values[:, [over.labels.index(label) for label in labels]]
    whole = np.asarray(np.isfinite(own).all(axis=1))
    notes = [f"over {count_text(len(over.places), 'log')} of {count_text(len(over.families), 'family')}"]
    notes += [
        f"{place.log}: left out, a method failed" for place, kept in zip(over.places, whole, strict=True) if not kept
    ]
    empty = JudgedClaim(data.experiment.name, claim, split, split, notes=tuple(notes))
    means = over.of_families(own)
    means = means[np.isfinite(means).all(axis=1)]
    if len(means) < 2:
        return empty
    contenders = tuple((1, label) for label in labels)
    compared = Compared(
        tuple(
            WeightedContrast(f"{one.a} vs {one.b}", (((1, one.a), 1.0), ((1, one.b), -1.0))) for one in claim.contrasts
        ),
        contenders,
        loss,
        over.metric(loss).direction,
        split,
        (0,),
        data.seed,
        lambda: crossed(means[None], data.seed, REPLICATES),
        lambda key, name, steps: None,
        lambda: means,
        lambda key, name: None,
        overlapping=False,
    )
    evidence = kind.evidence(compared)
    # One observation a family: there are no repetitions beside them.
    evidence = replace(evidence, by_draws=evidence.bounds)
    found = claim_judged(empty, kind, evidence)
    return found if whole.all() else without_held(found)
