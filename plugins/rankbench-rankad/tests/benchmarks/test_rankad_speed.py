"""What rank-AD buys: test time a point, measured in turns with the others on one thread."""

import statistics
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from rankbench_rankad.peers import KnnDistance, OneClassSvm
from rankbench_rankad.rank_ad import RankAD
from rankbench_rankad.simulator import Mixture

N, D, NEW, TIMES, ROUNDS = 20_000, 8, 2000, 10, 7


@pytest.fixture(scope="module")
def points():
    draw = np.random.default_rng(0)
    mixture = Mixture.random(6, D, draw)
    return mixture.draw(N, draw), mixture.draw(NEW, draw)


@pytest.fixture(scope="module")
def ranker(points):
    fixed = RankAD(anchored=True, sigma=0.5, **{"lambda": 1e-4})
    return fixed.train(points[0], np.random.default_rng(0))


@pytest.mark.parametrize(
    ("peer", "bound"),
    [(KnnDistance(search="brute"), 20.0), (KnnDistance(search="tree"), 1.0), (OneClassSvm(nu=0.05), 1.0)],
    ids=["knn-brute", "knn-tree", "one-class-svm"],
)
def test_scoring_against(benchmark, points, ranker, peer, bound):
    nominal, new = points
    other = peer.train(nominal, np.random.default_rng(0))
    others = []
    # As long a piece of work as the others' comes to: a millisecond alone is mostly noise.
    many = np.tile(new, (TIMES, 1))

    def in_turn():
        start = time.perf_counter()
        other.score(new)
        others.append(time.perf_counter() - start)

    with threadpool_limits(limits=1):
        ranker.score(many), in_turn()
        benchmark.pedantic(lambda: ranker.score(many), setup=in_turn, rounds=ROUNDS)
    ours = benchmark.stats.stats.median / TIMES
    # As many points for both: what tests/benchmarks/ratios.py of rankbench reads.
    benchmark.extra_info |= {"peer": str(peer), "peer_rounds": [TIMES * one for one in others[-ROUNDS:]]}
    benchmark.extra_info["microseconds a point"] = round(1e6 * ours / NEW, 2)
    benchmark.extra_info["microseconds a point, other"] = round(1e6 * statistics.median(others) / NEW, 2)
    benchmark.extra_info["ratio"] = round(statistics.median(others) / ours, 1)
    assert statistics.median(others) / ours >= bound
