"""How much the lockstep loop buys: ratios of updates per second, measured in turns.

m = 100 items a query, d = 136 features, float64, one thread. Every benchmark prints its
ratio (``extra_info``) and holds it against its bound.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from alone import leanest, plain_numpy
from turns import against

from rankbench.data.simulators.btl import draw_comparisons
from rankbench.interfaces.method import Block, Method
from rankbench.interfaces.queries import Queries
from rankbench.interfaces.surrogate import ScoreSurrogate
from rankbench.kernels.random import seed_state
from rankbench.methods.erm import ERM
from rankbench.methods.erm.contender_arrays import TargetPlan
from rankbench.methods.erm.lockstep import Lockstep
from rankbench.plugin.manager import get

QUERIES, M, D, N = 100, 100, 136, 160_000
STEP = "optimizer=composite(c=0.01)"
NOTHING = np.zeros(0, dtype=np.int64)


@pytest.fixture(scope="module")
def block() -> Block:
    draw = np.random.default_rng(0)
    x = draw.normal(size=(QUERIES * M, D)).astype(np.float32)
    labels = np.clip(np.round(x[:, 0] + draw.normal(size=len(x)) + 1), 0, 4)
    queries = Queries([f"q{i}" for i in range(QUERIES)], np.arange(QUERIES + 1) * M, x, labels)
    return Block(queries, draw_comparisons(queries, N, [0]), N, 0, (0,))


def contenders(specs: list[str]) -> list[ERM]:
    return [method for spec in specs if isinstance(method := get(Method, spec), ERM)]


def lockstep(block: Block, members: list[ERM]) -> Lockstep:
    plan = TargetPlan([(c.aggregator, c.k, c.surrogate) for c in members if isinstance(c.surrogate, ScoreSurrogate)])
    x = block.design.x.astype(np.float64)
    x.flags.writeable = False
    return Lockstep(x, block, plan, members, seed_state([1]))


def many(specs: list[str], block: Block, steps: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return all contenders in lockstep, and each of them alone, over the same number of steps."""
    together = lockstep(block, contenders(specs))
    alone = [lockstep(block, contenders([spec])) for spec in specs]
    return (
        lambda: together.run(steps, NOTHING),
        lambda: [one.run(steps, NOTHING) for one in alone],
    )


def test_gradient_steps_of_32_contenders(benchmark, block: Block) -> None:  # type: ignore[no-untyped-def]
    specs = [f"erm:k=inf,{STEP},lambda={0.001 * (i + 1)}" for i in range(32)]
    fast, slow = many(specs, block, 1000)
    against(benchmark, fast, slow, "one by one", at_least=3.0)


def test_gradient_steps_against_the_leanest_loop(benchmark, block: Block) -> None:  # type: ignore[no-untyped-def]
    """Against a compiled loop that does nothing but one contender's products; recorded, not bounded."""
    specs = [f"erm:k=inf,{STEP},lambda={0.001 * (i + 1)}" for i in range(32)]
    together = lockstep(block, contenders(specs))
    x = block.design.x.astype(np.float64)
    target = np.asarray(together.complete[0])
    steps = 2000
    against(
        benchmark,
        lambda: together.run(steps, NOTHING),
        lambda: [leanest(x, target, M, steps, 0.01, 0.001 * (i + 1)) for i in range(32)],
        "the leanest loop",
    )


MIXED = [
    f"erm:k={k},{STEP},lambda={l2}" for k in (1, 3, 10, 30, 100, 300, 1000, "inf") for l2 in (1e-4, 1e-3, 1e-2, 1e-1)
]


def test_end_to_end_with_mixed_k(benchmark, block: Block) -> None:  # type: ignore[no-untyped-def]
    fast, slow = many(MIXED, block, 500)
    against(benchmark, fast, slow, "one by one", at_least=2.5)


def test_end_to_end_against_a_plain_numpy_loop(benchmark, block: Block) -> None:  # type: ignore[no-untyped-def]
    fast, members = lockstep(block, contenders(MIXED)), contenders(MIXED)
    against(
        benchmark,
        lambda: fast.run(2000, NOTHING),
        lambda: [plain_numpy(block, member, 20) for member in members],
        "plain NumPy",
        units=100.0,
        at_least=50.0,
    )


@pytest.mark.filterwarnings("ignore")
def test_pairwise_logistic_steps_against_scikit_learn(benchmark, block: Block) -> None:  # type: ignore[no-untyped-def]
    """32 contenders on the stream against `SGDClassifier`'s averaged pass over the same pairs' differences."""
    from sklearn.linear_model import SGDClassifier

    logistic = "erm:aggregator=average-adjacency,k=1,surrogate=pairwise-logistic"
    ours = lockstep(block, contenders([f"{logistic},{STEP},lambda={0.001 * (i + 1)}" for i in range(32)]))
    pairs = 50_000
    c, x = block.comparisons, block.design.x.astype(np.float64)
    base = np.repeat(block.design.offsets[:-1], c.counts)
    chosen = np.random.default_rng(0).choice(len(c), pairs, replace=False)
    differences = x[(base + c.winners)[chosen]] - x[(base + c.losers)[chosen]]
    signs = np.where(np.arange(pairs) % 2 == 0, 1, -1)
    differences *= signs[:, None]
    theirs = SGDClassifier(
        loss="log_loss", penalty="l2", alpha=1e-3, fit_intercept=False, max_iter=1, tol=None, shuffle=False,
        average=True, learning_rate="invscaling", eta0=0.01,
    )  # fmt: skip
    against(
        benchmark,
        lambda: ours.run(pairs // 10, NOTHING),
        lambda: theirs.fit(differences, signs),
        "scikit-learn, SGDClassifier",
        units=32 / 10,
        at_least=4.0,
    )
