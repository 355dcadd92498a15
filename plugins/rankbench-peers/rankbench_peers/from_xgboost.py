"""XGBoost's LambdaMART, on labels or on grades that are made from comparisons.

References
----------
.. [CG16] T. Chen and C. Guestrin. XGBoost: a scalable tree boosting system. KDD, 2016.
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

__all__ = ["XgboostRanker"]


class XgboostRanker(LearnerOfGrades):
    """XGBoost's LambdaMART: boosted trees, on grades.

    ``aggregator=labels`` gives it the labels of the training queries, as under protocol `graded`, which also has
    validation queries for `patience`. Any other aggregator makes grades of the block's comparisons, as for `lightgbm`:
    of more than `k` comparisons of a query, one list of grades from each of `samples` samples.
    """

    name: ClassVar[str] = "xgboost"
    source: ClassVar[str] = "[CG16]_, [B10]_; xgboost.train"
    properties: ClassVar[frozenset[Property]] = frozenset()
    packages: ClassVar[tuple[str, ...]] = ("xgboost-cpu",)

    objective: Literal["rank:ndcg", "rank:pairwise"] = Field(default="rank:ndcg", description="XGBoost's.")
    trees: int = Field(default=100, ge=1, le=100_000, description="Boosting rounds, at most.")
    depth: int = Field(default=6, ge=1, le=30, description="Depth of a tree.")
    rate: float = Field(default=0.1, gt=0, le=1, description="Learning rate.")
    smallest: float = Field(default=1.0, ge=0, description="Sum of second derivatives in a leaf, at least.")

    def fit(self, block: rankbench.Block) -> rankbench.Fitted:
        """Learn from a block, in one thread.

        Raises
        ------
        InputError
            There are no comparisons, or labels are no whole numbers from 0 to 31.
        SpecError
            XGBoost is not installed.
        """
        xgboost = package("xgboost", "xgboost-cpu")
        settings: dict[str, Any] = {
            "objective": self.objective,
            "eval_metric": "ndcg@10",
            "max_depth": self.depth,
            "eta": self.rate,
            "min_child_weight": self.smallest,
            "tree_method": "hist",
            "seed": int(block.generator(self).integers(2**31)),
            "nthread": 1,
            "verbosity": 0,
        }

        def table(queries: rankbench.Queries, taught: GradedQueries) -> Any:
            made = xgboost.DMatrix(queries.x[taught.rows], taught.grades, nthread=1)
            made.set_group(taught.sizes)
            return made

        held = self.validation(block)
        watched = [(table(held, labelled(held)), "validation")] if held else []
        booster = xgboost.train(
            settings,
            table(block.design, self.taught(block)),
            self.trees,
            evals=watched,
            early_stopping_rounds=self.patience if watched else None,
            verbose_eval=False,
        )
        kept = int(booster.best_iteration) + 1 if watched else booster.num_boosted_rounds()

        def score(queries: rankbench.Queries) -> NDArray[np.float64]:
            rows = xgboost.DMatrix(queries.x, nthread=1)
            return np.asarray(booster.predict(rows, iteration_range=(0, kept)), dtype=np.float64)

        return rankbench.Fitted(score, info={"trees": float(kept)})
