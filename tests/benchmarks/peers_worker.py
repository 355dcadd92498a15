"""The other libraries' side of `peers.py`, run by their own interpreter: a job a line in, its seconds out.

Data are loaded, and everything that a library needs in a form of its own is made, before the
clock starts.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Job = Callable[[], Any]


def evalica_on_arrays(folder: Path, log: str) -> Job:
    import evalica

    winners, losers = np.load(folder / f"{log}-winners.npy"), np.load(folder / f"{log}-losers.npy")
    outcomes = [evalica.Winner.X] * len(winners)
    return lambda: evalica.bradley_terry(winners, losers, outcomes)


def evalica_on_parquet(folder: Path, log: str) -> Job:
    import evalica
    import polars as pl

    rows = pl.scan_parquet(folder / f"{log}.parquet").select(pl.len()).collect().item()
    outcomes = [evalica.Winner.X] * rows

    def job() -> object:
        frame = pl.read_parquet(folder / f"{log}.parquet")
        return evalica.bradley_terry(frame["winner"].to_numpy(), frame["loser"].to_numpy(), outcomes)

    return job


def evalica_bootstrap(folder: Path, log: str) -> Job:
    """Resample votes and fit, a thousand times; ties count half a win each, as evalica's default is."""
    import evalica
    import pandas as pd

    first, second = np.load(folder / f"{log}-first.npy"), np.load(folder / f"{log}-second.npy")
    codes = np.load(folder / f"{log}-outcome.npy")
    outcomes = np.array([evalica.Winner.X, evalica.Winner.Y, evalica.Winner.Draw], dtype=object)[codes]
    index = pd.Index(range(int(max(first.max(), second.max())) + 1))
    rng = np.random.default_rng(0)

    def job() -> object:
        for _ in range(1000):
            rows = rng.integers(0, len(first), len(first))
            result = evalica.bradley_terry(first[rows], second[rows], outcomes[rows].tolist(), index=index)
        return result

    return job


def polars_group_by(folder: Path, log: str) -> Job:
    import polars as pl

    key = (pl.col("winner").cast(pl.Int64) * 1000 + pl.col("loser")).alias("key")
    pairs = pl.scan_parquet(folder / f"{log}.parquet").group_by(key).agg(pl.len())
    return lambda: pairs.collect(engine="streaming")


def polars_scan(folder: Path, log: str) -> Job:
    """Read both columns batch by batch and look at nothing."""
    import polars as pl

    frame = pl.scan_parquet(folder / f"{log}.parquet").select("winner", "loser")
    return lambda: sum(batch.height for batch in frame.collect_batches(engine="streaming"))


def scikit_learn(folder: Path, log: str) -> Job:
    from sklearn.metrics import ndcg_score

    labels, scores = np.load(folder / f"{log}-labels.npy"), np.load(folder / f"{log}-scores.npy")
    return lambda: ndcg_score(labels, scores, k=10, ignore_ties=True)


def _tables(folder: Path, log: str) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    labels, scores = np.load(folder / f"{log}-labels.npy"), np.load(folder / f"{log}-scores.npy")
    names = [f"d{i}" for i in range(labels.shape[1])]
    return (
        {f"q{q}": dict(zip(names, map(int, row), strict=True)) for q, row in enumerate(labels)},
        {f"q{q}": dict(zip(names, map(float, row), strict=True)) for q, row in enumerate(scores)},
    )


def pytrec_eval(folder: Path, log: str) -> Job:
    """NDCG@10 and P@10; it has no ERR."""
    import pytrec_eval as trec

    labels, scores = _tables(folder, log)
    evaluator = trec.RelevanceEvaluator(labels, {"ndcg_cut.10", "P.10"})
    return lambda: evaluator.evaluate(scores)


def ranx(folder: Path, log: str) -> Job:
    """NDCG@10 and precision@10 in one thread; it has no ERR. Its tables are made beforehand."""
    from ranx import Qrels, Run, evaluate

    labels, scores = _tables(folder, log)
    qrels, run = Qrels(labels), Run(scores)
    return lambda: evaluate(qrels, run, ["ndcg@10", "precision@10"], threads=1)


JOBS = {
    job.__name__: job
    for job in (
        evalica_on_arrays, evalica_on_parquet, evalica_bootstrap, polars_group_by, polars_scan,
        scikit_learn, pytrec_eval, ranx,
    )
}  # fmt: skip


def main() -> None:
    folder = Path(sys.argv[1])
    ready: dict[tuple[str, str], Job] = {}
    answers, sys.stdout = sys.stdout, sys.stderr  # prints of libraries must not get among the answers
    for line in sys.stdin:
        name, log = json.loads(line)
        if name == "forget":
            ready.clear()
            seconds = 0.0
        else:
            if (name, log) not in ready:
                ready[name, log] = JOBS[name](folder, log)
                if name == "ranx":
                    ready[name, log]()  # compiles
            start = time.perf_counter()
            ready[name, log]()
            seconds = time.perf_counter() - start
        print(json.dumps(seconds), file=answers, flush=True)


if __name__ == "__main__":
    main()
