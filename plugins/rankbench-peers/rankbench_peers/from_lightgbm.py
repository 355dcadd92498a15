"""LightGBM's lambdarank, on labels or on grades that are made from comparisons.

References
----------
.. [KMF17] G. Ke et al. LightGBM: a highly efficient gradient boosting decision tree. NeurIPS, 2017.
.. [B10] C. J. C. Burges. From RankNet to LambdaRank to LambdaMART: an overview. MSR-TR-2010-82.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import rankbench
from rankbench.core.component import Property
from rankbench_peers.grades import GradedQueries, LearnerOfGrades, labelled
from rankbench_peers.packages import package

__all__ = ["LightgbmRanker"]


class LightgbmRanker(LearnerOfGrades):
    """LightGBM's lambdarank: boosted trees, on grades.

    LightGBM learns from graded items. The comparisons of a query are aggregated to one score
    an item (by default rankbench's `bradley-terry`), and the items that were compared, in the
    order of these scores, are cut into `levels` grades of equal size; items of one score have
    one grade. Items that nobody compared are left out. Of more than `k` comparisons of a query, there is one list
    of grades from each of `samples` samples.

    ``aggregator=labels`` gives it the labels of the training queries, as under protocol `graded`, which also has
    validation queries for `patience`. Elsewhere the labels that contenders are judged by are never looked at.
    """

    name: ClassVar[str] = "lightgbm"
    source: ClassVar[str] = "[KMF17]_, [B10]_; lightgbm.train"
    properties: ClassVar[frozenset[Property]] = frozenset()
    packages: ClassVar[tuple[str, ...]] = ("lightgbm",)

    objective: Literal["lambdarank", "rank_xendcg"] = Field(default="lambdarank", description="LightGBM's.")
    trees: int = Field(default=100, ge=1, le=100_000, description="Boosting rounds.")
    leaves: int = Field(default=31, ge=2, le=131_072, description="Leaves of a tree.")
    rate: float = Field(default=0.1, gt=0, le=1, description="Learning rate.")
    smallest: int = Field(default=20, ge=1, description="Items in a leaf, at least.")

    def fit(self, block: rankbench.Block) -> rankbench.Fitted:
        """Learn from a block, in one thread.

        Raises
        ------
        InputError
            There are no comparisons, or labels are no whole numbers from 0 to 31.
        SpecError
            LightGBM is not installed.
        """
        lightgbm = package("lightgbm", "lightgbm")
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
        held = self.validation(block)
        if held:
            settings |= {"metric": "ndcg", "eval_at": [10], "early_stopping_round": self.patience}

        def table(queries: rankbench.Queries, taught: GradedQueries, like: Any = None) -> Any:
            x, quiet = queries.x[taught.rows], {"verbosity": -1}
            return lightgbm.Dataset(x, label=taught.grades, group=taught.sizes, reference=like, params=quiet)

        learned = table(block.design, self.taught(block))
        watched = [table(held, labelled(held), learned)] if held else None
        booster = lightgbm.train(settings, learned, num_boost_round=self.trees, valid_sets=watched)
        kept = booster.best_iteration if held and booster.best_iteration > 0 else booster.num_trees()

        def score(queries: rankbench.Queries) -> NDArray[np.float64]:
            return np.asarray(booster.predict(queries.x, num_iteration=kept, num_threads=1), dtype=np.float64)

        return rankbench.Fitted(score, info={"trees": float(kept)})
