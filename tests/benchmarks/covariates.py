"""Votes with covariates from NumPy arrays: seconds and memory of a fit, perhaps beside arena-rank's.

    python tests/benchmarks/covariates.py [--votes 10000000] [--items 1000] [--covariates 20] [--penalty none]
                                          [--arena PYTHON]

The arrays are float32 and are made first; what they take is not counted. Seconds are those of the clock, and beside
them those of processors, which other programs on the machine change little. It exits with 1 where a fit of 1e7 votes
takes more than 10 seconds or 1.5 GB on top of them. `--arena` names the Python of an environment with arena-rank
(its own: it asks for other versions of NumPy than rankbench's); it is shown the same arrays and has no penalty, so that
it seeks the same maximum.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_SECONDS, _BYTES = 10.0, 1.5e9
_CHUNK = 1 << 20

_ARENA = """
import json, sys, time
import numpy as np
import jax.numpy as jnp
from arena_rank.models.contextual_bradley_terry import ContextualBradleyTerry
from arena_rank.utils.data_utils import ContextualPairDataset
held = np.load(sys.argv[1])
m, p = int(held["m"]), held["x"].shape[1]
pairs = jnp.asarray(np.column_stack([held["first"], held["second"]]))
data = ContextualPairDataset(
    [str(i) for i in range(m)], pairs, jnp.asarray(held["won"]), jnp.asarray(held["x"], jnp.float64),
    jnp.ones(len(held["won"])),
)
def fitted():
    model = ContextualBradleyTerry(m, p, reg=0.0)
    begin, busy = time.perf_counter(), time.process_time()
    model.fit(data)
    effects = np.asarray(model.params["coeffs"])
    return time.perf_counter() - begin, time.process_time() - busy, effects
fitted()
seconds, processor, effects = fitted()
print(json.dumps({"seconds": seconds, "processor": processor, "effects": effects.tolist()}))
"""


def made(votes: int, items: int, covariates: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64],
                                                           NDArray[np.float32]]:  # fmt: skip
    """Return both items, outcomes and covariates of votes by the model itself."""
    rng = np.random.default_rng(20261123)
    first = rng.integers(0, items, votes, dtype=np.int32)
    second = ((first + rng.integers(1, items, votes, dtype=np.int32)) % items).astype(np.int32)
    x = rng.standard_normal((votes, covariates), dtype=np.float32)
    scores, effects = rng.standard_normal(items), rng.standard_normal(covariates) * 0.2
    won = np.empty(votes)
    for begin in range(0, votes, _CHUNK):
        rows = slice(begin, begin + _CHUNK)
        margin = scores[first[rows]] - scores[second[rows]] + x[rows] @ effects
        won[rows] = rng.random(len(margin)) < 1 / (1 + np.exp(-margin))
    return first, second, won, x


def most_bytes() -> int:
    """Return the most memory that this process had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Measure, print, and exit with 1 beyond the bounds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--votes", type=int, default=10_000_000)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--covariates", type=int, default=20)
    parser.add_argument("--penalty", choices=["none", "ridge", "firth"], default="none")
    parser.add_argument("--arena", default="")
    given = parser.parse_args()
    from rankbench.core.runtime import settle_runtime

    settle_runtime()
    from rankbench.aggregators.bradley_terry import BradleyTerry
    from rankbench.interfaces.covariate_aggregator import CovariateVotes

    first, second, won, x = made(given.votes, given.items, given.covariates)
    names = [f"item-{i}" for i in range(given.items)]
    aggregator = BradleyTerry.model_validate({"penalty": given.penalty, "control": True})
    few = slice(0, min(given.votes, 20_000))
    # Compiled forms are loaded.
    aggregator.model_copy(update={"penalty": "firth"}).fit_controlled(
        CovariateVotes.from_arrays(first[few], second[few], won[few], x[few], items=names)
    )
    before, begin, busy = most_bytes(), time.perf_counter(), time.process_time()
    fit = aggregator.fit_controlled(CovariateVotes.from_arrays(first, second, won, x, items=names))
    seconds, processor, memory = time.perf_counter() - begin, time.process_time() - busy, most_bytes() - before
    print(f"{given.votes:,} votes, {given.items:,} items, {given.covariates} covariates, penalty={given.penalty}:")
    print(
        f"rankbench: {seconds:.2f} s ({processor:.2f} s of processors), {fit.iterations} steps, {memory / 1e9:.2f} GB "
        "above the arrays"
    )
    if given.arena:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "votes.npz"
            np.savez(path, first=first, second=second, won=won, x=x, m=given.items)
            done = subprocess.run([given.arena, "-c", _ARENA, str(path)], capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        apart = float(np.abs(np.array(found["effects"]) - fit.effects).max())
        print(
            f"arena-rank: {found['seconds']:.2f} s ({found['processor']:.2f} s of processors), "
            f"{found['seconds'] / seconds:.1f} times ({found['processor'] / processor:.1f}); effects {apart:.1e} apart"
        )
    over = given.votes >= 10_000_000 and given.penalty != "firth" and (seconds > _SECONDS or memory > _BYTES)
    sys.exit(1 if over else 0)


if __name__ == "__main__":
    main()
