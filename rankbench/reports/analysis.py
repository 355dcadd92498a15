"""The analysis computes everything that a leaderboard says from the results."""

from __future__ import annotations

from dataclasses import dataclass

from rankbench.core.runtime import one_blas_thread
from rankbench.reports.claim_verdicts import JudgedClaim, answers
from rankbench.reports.experiment_data import Sampler, samplers_of
from rankbench.reports.standings import Standing, standings
from rankbench.store.journal import StoredResults
from rankbench.store.records import SuiteRecord


@dataclass(frozen=True)
class Section:
    """One experiment: its arms, its rows, and the answers to its claims."""

    sampler: Sampler
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
            Section(sampler, standings(sampler), answers(sampler))
            if sampler.source.layout == "race"
            else Section(sampler, [], [])
            for sampler in samplers_of(results)
        ]
    return Analysis(results.record(), sections, known, planned)
