"""Other detectors on the leaderboard: rank-AD's teacher, and detectors of scikit-learn, as they come.

References
----------
.. [AP02] F. Angiulli and C. Pizzuti. Fast outlier detection in high dimensional spaces. PKDD, 2002.
.. [BKNS00] M. M. Breunig, H.-P. Kriegel, R. T. Ng and J. Sander. LOF: identifying density-based local outliers.
   SIGMOD, 2000.
.. [LTZ08] F. T. Liu, K. M. Ting and Z.-H. Zhou. Isolation forest. ICDM, 2008.
.. [SPSSW01] B. Schölkopf, J. C. Platt, J. Shawe-Taylor, A. J. Smola and R. C. Williamson. Estimating the support of a
   high-dimensional distribution. Neural Computation 13(7), 2001.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from rankbench.errors import ContenderDiverged, InputError
from rankbench_rankad.detector import Detector, Learned
from rankbench_rankad.margins import Floats
from rankbench_rankad.neighbors import leave_one_out, mean_distance

if TYPE_CHECKING:
    from rankbench.core.component import Property

__all__ = ["IsolationForest", "KnnDistance", "LocalOutlierFactor", "OneClassSvm"]


class KnnDistance(Detector):
    """Score a point by minus its mean distance to the K nearest nominal points: rank-AD's teacher G."""

    name: ClassVar[str] = "knn-distance"
    source: ClassVar[str] = "rank-AD's statistic G; [AP02]_"

    neighbors: int = Field(default=10, ge=1, description="K.")
    search: Literal["tree", "brute"] = Field(
        default="tree", description="k-d tree, or all distances (scikit-learn's, by matrix products)."
    )

    def learn(self, points: Floats, generator: np.random.Generator) -> Learned:
        """Keep the points."""
        _enough(points, self.neighbors)
        k = self.neighbors
        if self.search == "tree":
            return Learned(lambda new: -mean_distance(new, points, k), -leave_one_out(points, k))
        from sklearn.neighbors import NearestNeighbors

        index = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(points)

        def score(new: Floats) -> Floats:
            result: Floats = -index.kneighbors(new)[0].mean(axis=1)
            return result

        # Without an argument, scikit-learn leaves each point out of its own neighbors.
        return Learned(score, -index.kneighbors()[0].mean(axis=1))


class OneClassSvm(Detector):
    """Separate the points from the origin in the RKHS of an RBF kernel (scikit-learn)."""

    name: ClassVar[str] = "one-class-svm"
    source: ClassVar[str] = "[SPSSW01]_; sklearn.svm.OneClassSVM"
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    nu: float = Field(default=0.5, gt=0, le=1, description="Bound on the share of points outside.")
    gamma: Literal["scale", "auto"] = Field(default="scale", description="Of the kernel, by scikit-learn's rule.")

    def learn(self, points: Floats, generator: np.random.Generator) -> Learned:
        """Fit `sklearn.svm.OneClassSVM`."""
        from sklearn.svm import OneClassSVM as Peer

        peer = Peer(nu=self.nu, gamma=self.gamma)
        # It draws a seed, which it has no use for, from NumPy's global generator unless it has one.
        peer.random_state = 0
        try:
            return _scored(peer.fit(points), points)
        except ValueError as error:  # no boundary is left where nu is 1
            raise ContenderDiverged(f"scikit-learn: {error}") from error


class IsolationForest(Detector):
    """Score a point by how many random cuts isolate it (scikit-learn)."""

    name: ClassVar[str] = "isolation-forest"
    source: ClassVar[str] = "[LTZ08]_; sklearn.ensemble.IsolationForest"
    properties: ClassVar[frozenset[Property]] = frozenset({"stochastic"})
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    trees: int = Field(default=100, ge=1, description="Number of trees.")

    def learn(self, points: Floats, generator: np.random.Generator) -> Learned:
        """Fit `sklearn.ensemble.IsolationForest`."""
        from sklearn.ensemble import IsolationForest as Peer

        seed = int(generator.integers(2**31))
        return _scored(Peer(n_estimators=self.trees, random_state=seed).fit(points), points)


class LocalOutlierFactor(Detector):
    """Compare a point's density with that of its neighbors (scikit-learn, for new points)."""

    name: ClassVar[str] = "local-outlier-factor"
    source: ClassVar[str] = "[BKNS00]_; sklearn.neighbors.LocalOutlierFactor"
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    neighbors: int = Field(default=20, ge=1, description="Number of neighbors.")

    def learn(self, points: Floats, generator: np.random.Generator) -> Learned:
        """Fit `sklearn.neighbors.LocalOutlierFactor`; training scores leave the point itself out."""
        import warnings

        from sklearn.neighbors import LocalOutlierFactor as Peer

        _enough(points, self.neighbors)
        with warnings.catch_warnings():
            # Of duplicates: that is how some tables are, and every contender gets them.
            warnings.filterwarnings("ignore", message="Duplicate values", category=UserWarning)
            peer = Peer(n_neighbors=self.neighbors, novelty=True).fit(points)
        return Learned(peer.score_samples, np.asarray(peer.negative_outlier_factor_, dtype=np.float64))


def _scored(peer: Any, points: Floats) -> Learned:
    return Learned(peer.score_samples, np.asarray(peer.score_samples(points), dtype=np.float64))


def _enough(points: Floats, neighbors: int) -> None:
    if len(points) <= neighbors:
        raise InputError(
            f"{len(points)} points are too few for neighbors={neighbors}; give more points or a lower number"
        )
