"""Grades that learners of graded items get: labels as they are, or places of aggregated comparisons."""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator, model_validator

import rankbench
from rankbench.core.component import Order
from rankbench.errors import InputError, SpecError

__all__ = ["GradedQueries", "LearnerOfGrades", "grades", "labelled"]


class GradedQueries(NamedTuple):
    """Graded items, the items of a query together.

    Attributes
    ----------
    rows : ndarray of int64, shape (r,)
        Row of each item in the features of the queries.
    grades : ndarray of int64, shape (r,)
    sizes : ndarray of int64, shape (Q,)
        Number of items of each query; a query is there once for each sample of its judgments.
    """

    rows: NDArray[np.int64]
    grades: NDArray[np.int64]
    sizes: NDArray[np.int64]


class LearnerOfGrades(rankbench.Method):
    """Base of methods that learn from grades: of labels or of comparisons, and with early stopping."""

    aggregator: Annotated[rankbench.Aggregator, rankbench.reference(rankbench.Aggregator)] = Field(
        default="bradley-terry",
        validate_default=True,
        description="Aggregator that makes scores of comparisons; labels: the labels are the grades.",
    )
    k: Order = Field(default=math.inf, description="Comparisons in one structure; inf: all of a query.")
    samples: int = Field(default=10, ge=1, le=10_000, description="Samples of k comparisons for each query.")
    levels: int = Field(default=5, ge=2, le=31, description="Number of grades that comparisons are cut into.")
    patience: int = Field(
        default=0,
        ge=0,
        description="Rounds without a better NDCG@10 on validation queries after which it stops; 0: it never does.",
    )

    @field_validator("aggregator")
    @classmethod
    def _makes_scores(cls, aggregator: rankbench.Aggregator) -> rankbench.Aggregator:
        fits = isinstance(aggregator, rankbench.ComparisonAggregator) and aggregator.structure == "scores"
        if not fits and aggregator.name != "labels":
            raise ValueError(f"{aggregator.name!r} does not make scores of comparisons")
        return aggregator

    @model_validator(mode="after")
    def _used(self) -> Self:
        if self.aggregator.needs_truth:
            for name in ("k", "samples", "levels"):
                if getattr(self, name) != type(self).model_fields[name].default:
                    raise ValueError(f"{name} is of comparisons; with aggregator=labels the labels are the grades")
        return self

    def taught(self, block: rankbench.Block) -> GradedQueries:
        """Return the grades that a block teaches.

        Raises
        ------
        InputError
            There are no comparisons, or labels are no whole numbers from 0 to 31.
        """
        if self.aggregator.needs_truth:
            return labelled(block.design)
        return grades(block, self.aggregator, self.levels, self.k, self.samples, block.generator(self))

    def validation(self, block: rankbench.Block) -> rankbench.Queries | None:
        """Return the queries to stop early by; None: it does not."""
        return block.validation if self.patience else None


def labelled(queries: rankbench.Queries) -> GradedQueries:
    """Return labels as grades.

    Raises
    ------
    InputError
        A label is no whole number from 0 to 31.
    """
    whole = queries.labels.astype(np.int64)
    if (whole != queries.labels).any() or whole.min() < 0 or whole.max() > 31:
        raise InputError("labels must be whole numbers from 0 to 31: gains are 2^label - 1")
    return GradedQueries(np.arange(len(whole)), whole, queries.sizes)


def grades(
    block: rankbench.Block,
    aggregator: rankbench.Aggregator,
    levels: int,
    k: float = math.inf,
    samples: int = 1,
    rng: np.random.Generator | None = None,
) -> GradedQueries:
    """Return grades of the items that were compared: places of their aggregated scores, cut into equal parts.

    Of a query with more than k comparisons there are as many graded lists as samples, each from k comparisons
    that are drawn without replacement: the U-statistic of order k of the learner's own risk.

    Raises
    ------
    InputError
        There are no comparisons.
    """
    said = block.comparisons
    if not len(said):
        raise InputError("there are no comparisons to learn from")
    if not isinstance(aggregator, rankbench.ComparisonAggregator):
        raise SpecError(f"{aggregator.name!r} does not make scores of comparisons")
    draws = rng or np.random.default_rng(0)
    lists: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for q in np.flatnonzero(said.counts):
        judged = np.arange(said.offsets[q], said.offsets[q + 1])
        few = len(judged) <= k
        chosen = [judged] if few else [np.sort(draws.choice(judged, int(k), replace=False)) for _ in range(samples)]
        for one in chosen:
            compared, of_items = _graded(block, aggregator, levels, int(q), one)
            lists.append((block.design.offsets[q] + compared, of_items))
    rows, found = (np.concatenate(part) for part in zip(*lists, strict=True))
    return GradedQueries(rows, found, np.array([len(part) for part, _ in lists], dtype=np.int64))


def _graded(
    block: rankbench.Block, aggregator: rankbench.ComparisonAggregator, levels: int, q: int, judged: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the compared items of a query and their grades, from some of its comparisons."""
    from scipy.stats import rankdata

    said = block.comparisons
    winners, losers = said.winners[judged], said.losers[judged]
    ties = None if said.ties is None else said.ties[judged]
    part = rankbench.Comparisons(np.array([0, len(judged)]), winners, losers, said.weights[judged], ties)
    scores = np.asarray(aggregator.from_comparisons(part, int(block.design.sizes[q])), dtype=np.float64)
    compared = np.unique(np.concatenate([winners, losers])).astype(np.int64)
    # Solvers leave noise in the last digits of scores that are the same.
    places = rankdata(np.round(scores[compared], 9))
    return compared, np.ceil(places * levels / len(compared)).astype(np.int64) - 1
