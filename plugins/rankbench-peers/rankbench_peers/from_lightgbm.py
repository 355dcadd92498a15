"""LightGBM's lambdarank, on grades that are made from comparisons.

References
----------
.. [KMF17] G. Ke et al. LightGBM: a highly efficient gradient boosting decision tree. NeurIPS, 2017.
.. [B10] C. J. C. Burges. From RankNet to LambdaRank to LambdaMART: an overview. MSR-TR-2010-82.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, field_validator

import rankbench
from rankbench.core.component import Property
from rankbench.errors import InputError, SpecError
from rankbench_peers.packages import package

__all__ = ["LightgbmRanker", "grades"]


class LightgbmRanker(rankbench.Method):
    """LightGBM's lambdarank: boosted trees, on grades that are made from the block's comparisons.

    LightGBM learns from graded items. The comparisons of a query are aggregated to one score
    an item (by default rankbench's `bradley-terry`), and the items that were compared, in the
    order of these scores, are cut into `levels` grades of equal size; items of one score have
    one grade. Items that nobody compared are left out. The labels that contenders are judged
    by are never looked at.
    """

    name: ClassVar[str] = "lightgbm"
    source: ClassVar[str] = "[KMF17]_, [B10]_; lightgbm.train"
    properties: ClassVar[frozenset[Property]] = frozenset()
    packages: ClassVar[tuple[str, ...]] = ("lightgbm",)

    aggregator: Annotated[rankbench.Aggregator, rankbench.reference(rankbench.Aggregator)] = Field(
        default="bradley-terry", validate_default=True, description="Aggregator that makes scores of comparisons."
    )
    levels: int = Field(default=5, ge=2, le=31, description="Number of grades.")
    objective: Literal["lambdarank", "rank_xendcg"] = Field(default="lambdarank", description="LightGBM's.")
    trees: int = Field(default=100, ge=1, le=100_000, description="Boosting rounds.")
    leaves: int = Field(default=31, ge=2, le=131_072, description="Leaves of a tree.")
    rate: float = Field(default=0.1, gt=0, le=1, description="Learning rate.")
    smallest: int = Field(default=20, ge=1, description="Items in a leaf, at least.")

    @field_validator("aggregator")
    @classmethod
    def _of_comparisons(cls, aggregator: rankbench.Aggregator) -> rankbench.Aggregator:
        if not isinstance(aggregator, rankbench.ComparisonAggregator) or aggregator.structure != "scores":
            raise ValueError(f"{aggregator.name!r} does not make scores of comparisons")
        return aggregator

    def fit(self, block: rankbench.Block) -> rankbench.Fitted:
        """Learn from a block, in one thread.

        Raises
        ------
        InputError
            There are no comparisons.
        SpecError
            LightGBM is not installed.
        """
        lightgbm = package("lightgbm", "lightgbm")
        rows, labels, sizes = grades(block, self.aggregator, self.levels)
        settings: dict[str, Any] = {
            "objective": self.objective,
            "num_leaves": self.leaves,
            "learning_rate": self.rate,
            "min_data_in_leaf": self.smallest,
            "seed": int(block.generator(self).integers(2**31)),
            "deterministic": True,
            "force_row_wise": True,
            "num_threads": 1,
            "verbosity": -1,
        }
        table = lightgbm.Dataset(block.design.x[rows], label=labels, group=sizes, params={"verbosity": -1})
        booster = lightgbm.train(settings, table, num_boost_round=self.trees)

        def score(queries: rankbench.Queries) -> NDArray[np.float64]:
            return np.asarray(booster.predict(queries.x, num_threads=1), dtype=np.float64)

        return rankbench.Fitted(score, info={"trees": float(booster.num_trees())})


def grades(
    block: rankbench.Block, aggregator: rankbench.Aggregator, levels: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return rows of the items that were compared, their grades, and how many of each query there are.

    Raises
    ------
    InputError
        There are no comparisons.
    """
    from scipy.stats import rankdata

    said = block.comparisons
    if not len(said):
        raise InputError("there are no comparisons to learn from")
    if not isinstance(aggregator, rankbench.ComparisonAggregator):
        raise SpecError(f"{aggregator.name!r} does not make scores of comparisons")
    rows, labels, sizes = [], [], []
    for q in np.flatnonzero(said.counts):
        judged = slice(int(said.offsets[q]), int(said.offsets[q + 1]))
        winners, losers = said.winners[judged], said.losers[judged]
        ties = None if said.ties is None else said.ties[judged]
        offsets = np.array([0, len(winners)])
        part = rankbench.Comparisons(offsets, winners, losers, said.weights[judged], ties)
        scores = np.asarray(aggregator.from_comparisons(part, int(block.design.sizes[q])), dtype=np.float64)
        compared = np.unique(np.concatenate([winners, losers]))
        # Solvers leave noise in the last digits of scores that are the same.
        places = rankdata(np.round(scores[compared], 9))
        labels.append(np.ceil(places * levels / len(compared)).astype(np.int64) - 1)
        rows.append(block.design.offsets[q] + compared)
        sizes.append(len(compared))
    return np.concatenate(rows), np.concatenate(labels), np.array(sizes, dtype=np.int64)
