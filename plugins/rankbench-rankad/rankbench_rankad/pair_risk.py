"""The protocol `pair-risk` compares the risk on training points with its expectation, and with Lemma 2."""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import Field

import rankbench
from rankbench.errors import SpecError
from rankbench.interfaces.cell import CellResult, Split, failed, guarded
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import BlockTask, Prepared, Protocol
from rankbench_rankad.margins import LOSSES, Floats
from rankbench_rankad.pairs import LevelPairs
from rankbench_rankad.rank_ad import RankAD
from rankbench_rankad.simulator import Mixture

__all__ = ["PairRisk", "deviation_bound"]

CHANCE = 0.05
"""Chance that the deviation of some function of the class is above `deviation-bound`, at most."""


def deviation_bound(n: int, dimension: int, radius: float, delta: float) -> float:
    r"""Return the deviation of R_{L,T} from R_{L,P} that Lemma 2 gives a chance of at most `delta`.

    The class is the ball of this radius in a `dimension`-dimensional span of features of norm at most 1 (C_k = 1), and
    L the hinge. The least eps with

    .. math:: 2 \Big(1 + \frac{16 r}{\epsilon}\Big)^{d} \exp\Big(\frac{-\epsilon^2 n}{8 (1 + 2 r)^2}\Big) \le \delta

    The print has eps where its proof shows 2 eps, so eps/2 stands here for it. A point is in 2/n of all pairs if no
    two points have one level, or all levels one size.

    Parameters
    ----------
    n : int
    dimension : int
    radius : float
        A minimizer of (2) has ``|g| <= sqrt(L(0) / lambda)``.
    delta : float
        In (0, 1).
    """
    from scipy.optimize import brentq

    def beyond(log_eps: float) -> float:
        eps = math.exp(log_eps)
        covers = dimension * math.log1p(16.0 * radius / eps)
        return math.log(2.0 / delta) + covers - eps * eps * n / (8.0 * (1.0 + 2.0 * radius) ** 2)

    return math.exp(brentq(beyond, math.log(1e-12), math.log(1e12)))


class _Points(NamedTuple):
    """Points to learn from, samples of the same size to judge by, and a seed for each fit."""

    training: Floats
    fresh: list[Floats]
    seed: tuple[int, ...]


class PairRisk(Protocol):
    r"""Minimizers of (2) on n points of known densities, judged by the risk on pairs of other points.

    Levels of fresh points are of their own distances to neighbors, as those of training points are. So the mean over
    fresh samples is :math:`E_x[R_{L,T}(g)]` of Proposition 1, which goes to its least value where lambda falls slowly
    enough with n (``rank-ad:exponent=...``).

    - ``risk``: mean risk of g on 4 fresh samples of n points;
    - ``deviation``: size of its difference from the risk on the training points;
    - ``deviation-bound``: deviation that Lemma 2 gives a chance of at most 5%, over a ball that has g.

    Prefer it to see how the risk falls with n under a schedule of lambda.

    Notes
    -----
    Lemma 2 takes levels and the space of functions as fixed. Here both come from the points, so the bound is a
    comparison, not a guarantee.
    """

    name: ClassVar[str] = "pair-risk"
    source: ClassVar[str] = "rank-AD, supplementary appendix, Proposition 1, Lemma 2"
    table: ClassVar[None] = None
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("risk", sentence="Mean loss of pairs of fresh points, of different levels.", low=0),
        Metric("deviation", sentence="Difference of the risks on fresh points and on training points.", low=0),
        Metric("deviation-bound", sentence="Bound of Lemma 2 on the deviation, exceeded by a chance of 5%.", low=0),
    )
    splits: ClassVar[dict[Split, str]] = {"design": "Densities (mixtures that points are drawn from)"}
    counts: ClassVar[str] = "nominal points"
    judged_on: ClassVar[str] = "densities"
    simulated: ClassVar[bool] = True
    few: ClassVar[int] = 60

    densities: int = Field(default=10, ge=1, le=1000, strict=True, description="Mixtures that points are drawn from.")

    def prepare(self, dataset: rankbench.Dataset | None, seed: int) -> Prepared:
        """Name the densities."""
        return Prepared(self, None, "", {"design": tuple(f"density {u + 1}" for u in range(self.densities))})

    def execute(self, prepared: Prepared, task: BlockTask) -> list[CellResult]:
        """Draw the points of all densities, learn by every contender, measure."""
        key = task.key

        def draw(u: int) -> _Points:
            mixture = Mixture.random(3, 2, np.random.default_rng([key.seed, u]))
            seed = (key.seed, u, key.repetition, key.n)
            generator = np.random.default_rng([*seed, 0])
            training, *fresh = (mixture.draw(key.n, generator) for _ in range(5))
            return _Points(training, fresh, (*seed, 1))

        drawn = [draw(u) for u in range(self.densities)]

        def judged(cell: str, method: RankAD) -> CellResult:
            found = [measured(method, points) for points in drawn]
            losses: dict[tuple[str, Split], Floats] = {
                (metric, "design"): np.array([one[metric] for one in found]) for metric in task.metrics
            }
            return CellResult(cell, "done", losses=losses)

        outcomes = {cell: guarded(partial(judged, cell, one.component(RankAD))) for cell, one in task.cells.items()}
        return [failed(cell, one) if isinstance(one, Exception) else one for cell, one in outcomes.items()]

    def misfit(self, contender: rankbench.Component) -> str:
        """Return why a contender cannot compete: it is not rank-AD."""
        return "" if isinstance(contender, RankAD) else f"method {contender.name!r} does not minimize (2)"

    def assumptions(self) -> list[str]:
        """Return what the points are."""
        return [f"{self.densities} densities, each a mixture of three round Gaussians in two dimensions"]


def measured(method: RankAD, points: _Points) -> dict[str, float]:
    """Return the metrics of a method on a density's points.

    Raises
    ------
    SpecError
        Lemma 2 is about the hinge, and the method has another loss.
    """
    if method.loss not in ("hinge", "smooth-hinge"):
        raise SpecError(f"Lemma 2 bounds the hinge: give loss=hinge or loss=smooth-hinge, not loss={method.loss}")
    trained = method.train(points.training, np.random.default_rng(points.seed))

    def risk(x: Floats, scores: Floats) -> float:
        pairs = LevelPairs(method.problem((x - trained.center) / trained.scale).levels)
        return pairs.total(scores, LOSSES[method.loss])[0] / pairs.count

    fresh = float(np.mean([risk(x, trained.score(x)) for x in points.fresh]))
    info = trained.learned.info
    bound = deviation_bound(len(points.training), int(info["dimension"]), info["lambda"] ** -0.5, CHANCE)
    return {
        "risk": fresh,
        "deviation": abs(fresh - risk(points.training, trained.own)),
        "deviation-bound": bound,
    }
