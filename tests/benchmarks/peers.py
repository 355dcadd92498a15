"""Time rankbench against other libraries and write leaderboards/performance.md.

Run by ``make bench-peers``. The other libraries run in an environment and a process of their own
(`peers_worker.py`); a round times ours and theirs in turns, so that both see the same load,
and what is compared are medians over rounds. BLAS has one thread.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from cost import Cost, measure_costs
from numpy.typing import NDArray
from ratios import SECTION
from turns import seconds

from rankbench.aggregators.likelihood.bradley_terry import fit_bradley_terry, refitted
from rankbench.core.code_digest import cpu_class
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.resamples import resamples_of
from rankbench.interfaces.surrogate import Loss
from rankbench.logs.count import count_pairs
from rankbench.logs.count_log import count_frame
from rankbench.logs.parquet_log import parquet_log
from rankbench.losses.evaluate import evaluate_all
from rankbench.plugin.manager import get

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MILLION = 1_000_000


@dataclass(frozen=True)
class Contest:
    """Rankbench against another library."""

    title: str
    library: str
    job: str
    log: str
    ours: Callable[[], Any]
    target: float
    rounds: int
    most: bool = False  # whether the target is an upper bound of ours / theirs


@dataclass(frozen=True)
class Result:
    """Medians of a contest, in seconds."""

    contest: Contest
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs if self.contest.most else self.theirs / self.ours

    @property
    def met(self) -> bool:
        return self.ratio <= self.contest.target if self.contest.most else self.ratio >= self.contest.target


class Worker:
    """The process of the other libraries."""

    def __init__(self, python: Path, folder: Path) -> None:
        command = [str(python), str(HERE / "peers_worker.py"), str(folder)]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_CACHE_")}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=kept)

    def seconds(self, job: str, log: str = "") -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([job, log]), file=self.process.stdin, flush=True)
        return float(json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def simulated(n: int, m: int, seed: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return winners and losers of n comparisons of uniform pairs under Bradley-Terry."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=m)
    winners, losers = np.empty(n, np.int32), np.empty(n, np.int32)
    for start in range(0, n, 10 * MILLION):
        rows = slice(start, min(start + 10 * MILLION, n))
        k = rows.stop - start
        a = rng.integers(0, m, k, dtype=np.int32)
        b = (a + rng.integers(1, m, k, dtype=np.int32)) % np.int32(m)
        first = rng.random(k) < 1 / (1 + np.exp(truth[b] - truth[a]))
        winners[rows], losers[rows] = np.where(first, a, b), np.where(first, b, a)
    return winners, losers


def distance_to_maximum(counts: PairCounts, scores: NDArray[np.float64]) -> float:
    """Return the largest score change of one exact Newton step: with SciPy alone, none of our kernels."""
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import cg

    i, j, m = counts.low, counts.high, counts.m
    n = counts.forward + counts.backward
    p = 1 / (1 + np.exp(scores[j] - scores[i]))
    slope, bend = n * p - counts.forward, n * p * (1 - p)
    gradient = np.bincount(i, slope, m) - np.bincount(j, slope, m)
    degree = np.bincount(i, bend, m) + np.bincount(j, bend, m)
    entries = np.concatenate([-bend, -bend, degree])
    rows, columns = np.concatenate([i, j, np.arange(m)]), np.concatenate([j, i, np.arange(m)])
    hessian = coo_array((entries, (rows, columns)), shape=(m, m)).tocsr()
    step, failed = cg(hessian, gradient - gradient.mean(), rtol=1e-8)
    assert not failed
    return float(np.abs(step - step.mean()).max())


def race(contest: Contest, worker: Worker) -> Result:
    """Time both sides in turns, after a first round that does not count."""
    contest.ours()
    ours, theirs = [], []
    worker.seconds(contest.job, contest.log)
    for _ in range(contest.rounds):
        theirs.append(worker.seconds(contest.job, contest.log))
        gc.collect()
        ours.append(seconds(contest.ours))
    result = Result(contest, statistics.median(ours), statistics.median(theirs))
    print(f"{contest.title} | {contest.library}: {result.ratio:.1f} (target {contest.target:g})", flush=True)
    return result


def from_arrays(winners: NDArray[np.int32], losers: NDArray[np.int32], m: int) -> Callable[[], Any]:
    return lambda: fit_bradley_terry(count_pairs(winners, losers, m=m))


def fits(folder: Path, worker: Worker) -> tuple[list[Result], dict[str, float]]:
    """Bradley-Terry of three sizes."""
    results, distances = [], {}
    for n, m, target, rounds in (
        (MILLION, 1000, 8.0, 9), (10 * MILLION, 1000, 40.0, 5), (10 * MILLION, 10_000, 5.0, 3),
    ):  # fmt: skip
        log = f"bt-{n}-{m}"
        winners, losers = simulated(n, m)
        np.save(folder / f"{log}-winners.npy", winners)
        np.save(folder / f"{log}-losers.npy", losers)
        ours = from_arrays(winners, losers, m)
        title = f"Bradley-Terry, {n:.0e} comparisons of {m} items"
        results.append(
            race(Contest(f"{title}, NumPy", "evalica", "evalica_on_arrays", log, ours, target, rounds), worker)
        )
        worker.seconds("forget")
        distances[title] = distance_to_maximum(count_pairs(winners, losers, m=m), ours().scores)
        if (n, m) == (10 * MILLION, 1000):
            path = folder / f"{log}.parquet"
            pl.DataFrame({"winner": winners, "loser": losers}).write_parquet(path)

            def read(path: Path = path) -> object:
                return fit_bradley_terry(count(path))

            contest = Contest(f"{title}, Parquet", "Polars + evalica", "evalica_on_parquet", log, read, 25.0, 5)
            results.append(race(contest, worker))
            worker.seconds("forget")
    return results, distances


def sparse(folder: Path, worker: Worker) -> list[Result]:
    """Bradley-Terry of many items, each of which meets eight others in twenty votes a pair."""
    m, votes = 2000, 20
    rng = np.random.default_rng(1)
    first = np.tile(np.arange(m, dtype=np.int32), 4)
    second = ((first + np.repeat(rng.choice(np.arange(1, m // 2), 4, replace=False), m)) % m).astype(np.int32)
    a, b, truth = np.repeat(first, votes), np.repeat(second, votes), rng.normal(size=m)
    won = rng.random(len(a)) < 1 / (1 + np.exp(truth[b] - truth[a]))
    winners, losers = np.where(won, a, b), np.where(won, b, a)
    np.save(folder / "sparse-winners.npy", winners)
    np.save(folder / "sparse-losers.npy", losers)
    title = f"Bradley-Terry, {len(a):.0e} comparisons of {m} items on {4 * m:,} pairs, NumPy"
    contest = Contest(title, "evalica", "evalica_on_arrays", "sparse", from_arrays(winners, losers, m), 20.0, 3)
    results = [race(contest, worker)]
    worker.seconds("forget")
    return results


def count(path: Path) -> PairCounts:
    """Count a log of Parquet."""
    return count_frame(parquet_log(path).frame()).counts


def counting(folder: Path, worker: Worker) -> tuple[list[Result], float]:
    """Count 1e8 rows of Parquet; also the peak memory in MB of a process that does nothing else."""
    path = folder / "count.parquet"
    winners, losers = simulated(100 * MILLION, 1000)
    pl.DataFrame({"winner": winners, "loser": losers}).write_parquet(path)
    del winners, losers
    gc.collect()
    title = "Counting 1e8 rows of Parquet, 1000 items"
    results = [
        race(Contest(title, "Polars group_by", "polars_group_by", "count", lambda: count(path), 5.0, 3), worker),
        race(Contest(title, "bare scan", "polars_scan", "count", lambda: count(path), 2.5, 9, most=True), worker),
    ]
    return results, measure_costs([(path, 100 * MILLION, 1000, False)])[0].peak


def losses(folder: Path, worker: Worker) -> list[Result]:
    """NDCG@10, P@10 and ERR@10 of 10,000 queries of 100 items, in one pass."""
    rng = np.random.default_rng(0)
    labels = rng.choice(5, p=[0.5, 0.3, 0.15, 0.04, 0.01], size=(10_000, 100))
    scores = rng.normal(size=labels.shape)
    np.save(folder / "top-labels.npy", labels)
    np.save(folder / "top-scores.npy", scores)
    found = [get(Loss, spec) for spec in ("ndcg:cutoff=10", "precision:k=10", "err:cutoff=10")]
    chosen = [loss for loss in found if isinstance(loss, Loss)]
    alpha, structures, offsets = scores.reshape(1, -1), labels.ravel().astype(float), np.arange(10_001) * 100

    def ours() -> object:
        return evaluate_all(chosen, alpha, structures, offsets)

    title = "NDCG@10 + P@10 + ERR@10 of 10,000 x 100 scores"
    others = (("scikit-learn, NDCG@10", "scikit_learn", 3.5), ("pytrec_eval, NDCG@10 + P@10", "pytrec_eval", 30.0),
              ("ranx, NDCG@10 + P@10", "ranx", 40.0))  # fmt: skip
    results = [race(Contest(title, library, job, "top", ours, target, 11), worker) for library, job, target in others]
    worker.seconds("forget")
    return results


def bootstrap(folder: Path, worker: Worker, votes: Path) -> list[Result]:
    """Refit a thousand resamples of llmfao's votes."""
    log = pl.read_csv(votes)
    names = sorted(set(log["left"]) | set(log["right"]))
    code = {name: i for i, name in enumerate(names)}
    first = log["left"].replace_strict(code, return_dtype=pl.Int32).to_numpy()
    second = log["right"].replace_strict(code, return_dtype=pl.Int32).to_numpy()
    outcome = log["winner"].replace_strict({"left": 0, "right": 1, "tie": 2}, return_dtype=pl.Int8).to_numpy()
    for name, array in (("first", first), ("second", second), ("outcome", outcome)):
        np.save(folder / f"votes-{name}.npy", array)
    right = outcome == 1
    winners, losers = np.where(right, second, first), np.where(right, first, second)

    def ours() -> object:
        counts = count_pairs(winners, losers, ties=outcome == 2, items=names)
        return refitted(fit_bradley_terry(counts), resamples_of(counts, 1000, 0))

    title = f"1000 bootstrap fits of Bradley-Terry, llmfao ({len(log)} votes, {len(names)} items)"
    return [race(Contest(title, "a loop over evalica", "evalica_bootstrap", "votes", ours, 20.0, 9), worker)]


def rounded(value: float) -> str:
    return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"


def versions(python: Path) -> str:
    """Return the versions of the other libraries as one line."""
    names = ["evalica", "polars", "pytrec-eval-terrier", "ranx", "scikit-learn"]
    code = f"import importlib.metadata as m; print(', '.join(n + ' ' + m.version(n) for n in {names!r}))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def report(results: list[Result], distances: dict[str, float], peak: float, costs: list[Cost], python: Path) -> str:
    """Return leaderboards/performance.md."""
    ours = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("numba", "numpy", "polars", "scipy"))
    lines = [
        "# Performance",
        "",
        "Made by `make bench-peers`. Both sides run in turns on the same machine, warm, and medians over the rounds "
        "are compared; BLAS has one thread, rankbench counts and resamples in two. Times depend on the machine; the "
        "ratios are what is claimed.",
        "",
        "| what | rankbench | other library | its time | ratio | target | |",
        "|---|---:|---|---:|---:|---:|---|",
    ]
    for r in results:
        sign = "<=" if r.contest.most else ">="
        lines.append(
            f"| {r.contest.title} | {rounded(r.ours)} | {r.contest.library} | {rounded(r.theirs)} | {r.ratio:.3g} "
            f"| {sign} {r.contest.target:g} | {'met' if r.met else '**missed**'} |"
        )
    lines += ["", "A ratio is the other library's time over rankbench's; against the bare scan, the inverse.", ""]
    lines += [
        f"- {title}: within {distance:.0e} of the maximum-likelihood solution (one exact Newton step with SciPy; "
        "target 1e-5)."
        for title, distance in distances.items()
    ]
    lines += [
        f"- Counting 1e8 rows of Parquet: peak memory of the whole process {peak:.0f} MB (target 500 MB).",
        "- pytrec_eval and ranx have no ERR: they compute two of the three measures. The tables that they need are "
        "made beforehand and not timed.",
        "- evalica takes names or numbers and a list of outcomes, which is made beforehand.",
        "",
        "## Cost by size",
        "",
        "Counting and fitting a log of Parquet, in a fresh process each, compiled code cached. Longer logs "
        "repeat 1e7 rows.",
        "",
        "| comparisons | items | counting | fit | peak memory |",
        "|---:|---:|---:|---:|---:|",
        *(f"| {c.n:.0e} | {c.m} | {rounded(c.counting)} | {rounded(c.fitting)} | {c.peak:.0f} MB |" for c in costs),
        "",
        f"Python {platform.python_version()}, {ours}; other libraries: {versions(python)}. CPU: {cpu_class()}.",
        "",
    ]
    return "\n".join(lines)


def cost_jobs(folder: Path) -> list[tuple[Path, int, int, bool]]:
    """Return logs of 1e5 to 1e8 rows and 10 to 10,000 items."""
    jobs = []
    for m in (10, 100, 1000, 10_000):
        path = folder / f"cost-{m}.parquet"
        winners, losers = simulated(10 * MILLION, m)
        pl.DataFrame({"winner": winners, "loser": losers}).write_parquet(path)
        jobs += [(path, 10**e, m, True) for e in (5, 6, 7, 8)]
    return jobs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--peers", type=Path, required=True, help="the interpreter with the other libraries")
    parser.add_argument(
        "--votes", type=Path, default=ROOT / "datasets" / "llmfao" / "llmfao.csv", help="llmfao's votes"
    )
    parser.add_argument("--out", type=Path, default=ROOT / "leaderboards")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rankbench-peers-") as name:
        folder = Path(name)
        # The name as given: an environment is found by the path of its link to the interpreter.
        worker = Worker(arguments.peers.absolute(), folder)
        try:
            results = losses(folder, worker)
            if arguments.votes.is_file():
                results += bootstrap(folder, worker, arguments.votes)
            else:
                print(f"no {arguments.votes}: the bootstrap is left out", file=sys.stderr)
            fitted, distances = fits(folder, worker)
            fitted += sparse(folder, worker)
            counted, peak = counting(folder, worker)
        finally:
            worker.close()
        costs = measure_costs(cost_jobs(folder))
    results = fitted + counted + results
    arguments.out.mkdir(parents=True, exist_ok=True)
    page = arguments.out / "performance.md"
    text = report(results, distances, peak, costs, arguments.peers.absolute())
    _, section, benchmarks = (page.read_text(encoding="utf-8") if page.exists() else "").partition(f"\n{SECTION}\n")
    page.write_text(text + section + benchmarks, encoding="utf-8")
    met = all(r.met for r in results) and peak <= 500 and all(d <= 1e-5 for d in distances.values())
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
