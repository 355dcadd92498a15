"""Experiments on several logs are one on all of them, with statistics over families of logs.

A log is one observation of the logs that there are, and logs of one family are one together: their mean. Values are
differences of a method's loss from that of the baseline on the same judgments. A method that failed on a log has no
place over logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankbench.interfaces.metric import Metric
from rankbench.ranking.rank import Ranking
from rankbench.reports.experiment_data import ExperimentData
from rankbench.reports.standings import Standing
from rankbench.stats.bootstrap import REPLICATES, crossed
from rankbench.stats.contrasts import contrasts
from rankbench.systems.score_ranking import MEAN_RANK, MEAN_SCORE, score_method
from rankbench.systems.system_ranking import rank_systems, turned


class LogResults(Protocol):
    """Results of an experiment on a log."""

    @property
    def data(self) -> ExperimentData:
        """The experiment and its results."""

    @property
    def rows(self) -> list[Standing]:
        """A row for each method and loss."""


class NamedLog(NamedTuple):
    """A log among others: its name, its subject, and its family."""

    log: str
    kind: str
    family: str


@dataclass(frozen=True)
class OverLogs:
    """One experiment on several logs.

    Attributes
    ----------
    name, title : str
    logs : list of LogResults
        Those that the run has.
    """

    name: str
    title: str
    logs: Sequence[LogResults]

    @cached_property
    def places(self) -> list[NamedLog]:
        """The logs, in the order of the suite."""
        named = [next(iter(one.data.experiment.datasets.items())) for one in self.logs]
        return [NamedLog(log, place.kind, place.family or log) for log, place in named]

    @cached_property
    def families(self) -> list[str]:
        """Families of logs, in the order of the suite."""
        return list(dict.fromkeys(place.family for place in self.places))

    @cached_property
    def labels(self) -> list[str]:
        """The methods, in the order of the suite."""
        return list(dict.fromkeys(row.contender for row in self.logs[0].rows))

    @property
    def baseline(self) -> str:
        """The method that differences are from."""
        return self.logs[0].data.experiment.baseline

    @property
    def chance(self) -> str:
        """The method that guesses, or ``""``."""
        return self.logs[0].data.experiment.chance

    @property
    def losses(self) -> tuple[str, ...]:
        """Names of the losses, the headline first."""
        return self.logs[0].data.metrics

    def metric(self, loss: str) -> Metric:
        """Return the facts about a loss."""
        return self.logs[0].data.source.metric(loss)

    def row(self, log: int, label: str, loss: str) -> Standing:
        """Return the row of a method on a log."""
        return next(row for row in self.logs[log].rows if (row.contender, row.metric) == (label, loss))

    def values(self, loss: str, column: str) -> NDArray[np.float64]:
        """Return a column of the rows of all logs and methods, shape (L, M); a difference of the baseline is 0."""
        table = [[self.row(log, label, loss) for label in self.labels] for log in range(len(self.places))]
        found = np.array([[getattr(row, column) for row in rows] for rows in table], dtype=np.float64)
        done = np.array([[row.status == "done" for row in rows] for rows in table])
        found = np.where(done, found, np.nan)
        if column == "difference":
            found[:, self.labels.index(self.baseline)] = 0.0
        return found

    def of_families(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means of a table over the logs of each family, shape (F, M)."""
        whose = np.array([self.families.index(place.family) for place in self.places])
        return np.stack([values[whose == family].mean(axis=0) for family in range(len(self.families))])

    def ranked(self, loss: str) -> tuple[list[str], Ranking | None]:
        """Return the methods without a failure, and their ranking by mean differences over families; None of one.

        The method that guesses may not be the best.
        """
        labels, sign, values = self._whole(loss)
        if values.shape[1] < 2 or len(labels) < 2:
            return labels, None
        found = rank_systems(values, score_method(MEAN_SCORE), k=1, replicates=REPLICATES, seed=self.logs[0].data.seed)
        first = np.asarray(found.first) & np.array([label != self.chance for label in labels])
        return labels, replace(turned(found, sign, 0.0), first=first)

    def interval_of_many(self, loss: str, label: str) -> tuple[float, float]:
        """Return the 95% interval of a method's mean difference that holds for all methods together."""
        labels, sign, values = self._whole(loss)
        found = contrasts(crossed(values, self.logs[0].data.seed, REPLICATES), np.eye(len(labels)))
        low, high = sorted(sign * end[labels.index(label)] for end in (found.lower, found.upper))
        return low, high

    def mean_ranks(self, loss: str) -> dict[str, float]:
        """Return the mean rank over families of each method without a failure."""
        labels, _, values = self._whole(loss)
        ranks = score_method(MEAN_RANK).checked_scores(values, np.ones(values.shape[:2]))
        return dict(zip(labels, ranks.tolist(), strict=True))

    def _whole(self, loss: str) -> tuple[list[str], float, NDArray[np.float64]]:
        """Return the methods without a failure, the sign that makes more better, and their values, (1, F, S)."""
        means = self.of_families(self.values(loss, "difference"))
        kept = np.asarray(np.isfinite(means).all(axis=0))
        sign = 1.0 if self.metric(loss).direction == "maximize" else -1.0
        labels = [label for label, whole in zip(self.labels, kept, strict=True) if whole]
        return labels, sign, sign * means[None, :, kept]


def over_logs(sections: Iterable[LogResults]) -> list[OverLogs]:
    """Return the experiments on several logs, in the order of the suite; a log without results is left out."""
    groups: dict[str, list[LogResults]] = {}
    for section in sections:
        if (name := section.data.experiment.over) and any(row.status == "done" for row in section.rows):
            groups.setdefault(name, []).append(section)
    titles = {name: own[0].data.experiment.title.rpartition(": ")[0] for name, own in groups.items()}
    return [OverLogs(name, titles[name], own) for name, own in groups.items()]
