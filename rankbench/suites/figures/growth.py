"""Mean of a metric against n: a row for each metric, a column for each split, a line for each contender."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from rankbench.kinds.cell import Split
from rankbench.kinds.figure import (
    Cast,
    Drawing,
    FigureKind,
    Line,
    Omission,
    Plot,
    limited,
    matches,
    metric_words,
    order_of,
    unfinished,
    unknown_metric,
)
from rankbench.kinds.results import ExperimentResults
from rankbench.kinds.suite import Figure

__all__ = ["Growth"]


class Growth(FigureKind):
    """Means of metrics against n, a line for each contender and thin gray ones for references.

    Both axes are logarithmic, with a tick at each n; that of values is linear where a mean is not positive. Bands are
    t intervals over draws.
    """

    name: ClassVar[str] = "growth"
    source: ClassVar[str] = "rankbench: learning curves with intervals over draws"

    series: tuple[str, ...] = Field(
        default=(), description="Labels of contenders with lines of their own, all if none is named."
    )
    references: tuple[str, ...] = Field(default=(), description="Labels of contenders with gray lines.")
    metrics: tuple[str, ...] = Field(default=(), description="Metrics, all of the experiment's if none is named.")

    def patterns(self) -> Sequence[str]:
        """Return the labels of lines."""
        return (*self.series, *self.references)

    def misfit(self, metrics: Collection[str], n: Collection[int], configs: Sequence[Mapping[str, Any]]) -> str:
        """Return which of the metrics is not computed."""
        return unknown_metric(self.metrics, metrics)

    def cast(self, figure: Figure, results: ExperimentResults) -> Cast:
        """Return the contenders that `series` match or that were added, and gray ones for `references`."""
        labels = order_of(results)
        references = [label for label in labels if matches(label, self.references)]
        series = [
            label
            for label in labels
            if label in results.added or (matches(label, self.series) if self.series else label not in references)
        ]
        references = [label for label in references if label not in series]
        choice = [Omission(label, "", "choice") for label in labels if label not in {*series, *references}]
        status = unfinished(results, [*series, *references])
        nowhere = {omission.label for omission in status if not omission.where}
        names, beyond = limited([label for label in (*series, *references) if label not in nowhere])
        return Cast(
            figure.file, names, results.added & set(names), frozenset(references) & set(names),
            left_out=(*choice, *status, *beyond),
        )  # fmt: skip

    def drawing(self, figure: Figure, results: ExperimentResults, cast: Cast) -> Drawing:
        """Return the plots; metrics are side by side if there is a single split."""
        metrics, splits = self.metrics or results.metrics, results.splits
        flat = [
            Plot(
                results.split_title(split) if len(splits) > 1 else "",
                "",
                metric_words(metric, results.metric(metric).better, before="mean ", lines=2),
                _lines(results, cast.names, metric, split, figure.level),
            )
            for metric in metrics
            for split in splits
        ]
        columns = len(metrics) if len(splits) == 1 else len(splits)
        rows = [flat[start : start + columns] for start in range(0, len(flat), columns)]
        x_label = f"n, {results.counts}"
        rows[-1] = [Plot(plot.title, x_label, plot.y_label, plot.lines) for plot in rows[-1]]
        return Drawing(tuple(map(tuple, rows)), "ticks", "log")


def _lines(
    results: ExperimentResults, names: Sequence[str], metric: str, split: Split, level: float
) -> tuple[Line, ...]:
    found = []
    for name in names:
        n = [race.n for race in results.races if race.repetitions and name in {arm.label for arm in race.racing}]
        means = [results.intervals(each, [name], metric, split, level) for each in n]
        y, lower, upper = (np.array([getattr(one, edge)[0] for one in means]) for edge in ("mean", "lower", "upper"))
        if n:
            found.append(Line(name, np.array(n, dtype=np.float64), y, lower, upper))
    return tuple(found)
