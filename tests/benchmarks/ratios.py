"""Compare the ratios of a job's benchmarks, to what was timed beside them, with a baseline of former jobs.

    python tests/benchmarks/ratios.py build/bench/benchmarks.json [--rebase] [--baseline FILE] [--out FOLDER]

Run by ``make bench``. Absolute times of two jobs differ by a quarter for no reason; the ratio of two pieces of work
that were timed in turns differs by little. By how much is known from the jobs of the baseline alone: intervals within
a job say nothing of it. So a ratio is called slower where it exceeds the mean of the baseline's jobs by more than
`MARGIN` and what jobs vary by, a moderated t-test [S04]_, by Holm over all benchmarks at `ALPHA`.

References
----------
.. [S04] G. K. Smyth. Linear models and empirical Bayes methods for assessing differential expression in microarray
   experiments. Statistical Applications in Genetics and Molecular Biology 3(1), 2004.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from rankbench.core.code_digest import cpu_class
from rankbench.core.system import replace_file
from rankbench.errors import InputError
from rankbench.stats.multiple_tests import holm
from rankbench.tracking.history import HistoryEntry, HistoryValue, add_entry, read_history

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECTION = "## Benchmarks"
MARGIN, ALPHA = 0.05, 0.01

FEWEST_JOBS = 3
"""Jobs of a baseline, below which nobody knows how much jobs vary."""

PRIOR = 4.0
"""Degrees of freedom that the variance between jobs of all benchmarks together stands for in that of each."""


@dataclass(frozen=True)
class Ratio:
    """The logarithm of rankbench's time over the reference's: the median of a job's paired rounds."""

    name: str
    reference: str
    log: float
    se: float


@dataclass(frozen=True)
class Verdict:
    """A ratio beside the baseline's; nan where that says nothing of it."""

    ratio: Ratio
    base: float = math.nan
    lower: float = math.nan
    upper: float = math.nan
    p: float = math.nan
    word: str = "new"


def ratios_of(path: Path) -> list[Ratio]:
    """Return the ratios of a job: of every benchmark that timed a reference beside it."""
    try:
        found = []
        for one in json.loads(path.read_bytes())["benchmarks"]:
            beside = one["extra_info"]
            if "peer_rounds" not in beside:
                continue
            ours, theirs = (np.array(times, float) for times in (one["stats"]["data"], beside["peer_rounds"]))
            if ours.shape != theirs.shape or not len(ours) or not (np.r_[ours, theirs] > 0).all():
                raise ValueError(f"{one['fullname']}: its rounds and the reference's are not pairs of times")
            paired = np.log(ours) - np.log(theirs)
            middle = float(np.median(paired))
            spread = 1.4826 * float(np.median(np.abs(paired - middle)))
            name = str(one["fullname"]).rpartition("/")[2].replace(".py::test_", ": ").removeprefix("test_")
            found.append(Ratio(name, str(beside["peer"]), middle, 1.2533 * spread / math.sqrt(len(paired))))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: it is no JSON of pytest-benchmark ({error})") from error
    if not found:
        raise InputError(f"{path}: no benchmark timed a reference beside it")
    return found


def read_baseline(path: Path) -> dict[str, list[dict[str, float]]]:
    """Return the jobs of a baseline by class of processor: logarithms of ratios by benchmark."""
    if not path.exists():
        return {}
    try:
        known = json.loads(path.read_bytes())
        if known["schema_version"] != 1:
            raise ValueError(f"its version is {known['schema_version']}, and this reads 1")
        return {
            machine: [{k: float(v) for k, v in job.items()} for job in jobs] for machine, jobs in known["jobs"].items()
        }
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: it is no baseline of ratios ({error})") from error


def verdicts(found: list[Ratio], jobs: list[dict[str, float]]) -> list[Verdict]:
    """Return what the baseline says of each ratio; none is significant with fewer than `FEWEST_JOBS` jobs."""
    known = {one.name: np.array([job[one.name] for job in jobs if one.name in job]) for one in found}
    enough = {name: values for name, values in known.items() if len(values) >= FEWEST_JOBS}
    judged = [one for one in found if one.name in enough]
    pooled = _pooled(list(enough.values()))
    slower, faster, told = [], [], []
    for one in judged:
        values = enough[one.name]
        own = len(values) - 1
        variance = (PRIOR * pooled + own * float(values.var(ddof=1))) / (PRIOR + own)
        se = math.sqrt(variance * (1 + 1 / len(values)))
        change, df = one.log - float(values.mean()), PRIOR + own
        half = float(-stdtrit(df, 0.025)) * se
        told.append((float(values.mean()), change - half, change + half))
        beyond = math.log1p(MARGIN)
        slower.append(float(stdtr(df, -(change - beyond) / se)) if se > 0 else float(change <= beyond))
        faster.append(float(stdtr(df, (change + beyond) / se)) if se > 0 else float(change >= -beyond))
    worse, better = (holm(np.array(p)) if p else np.zeros(0) for p in (slower, faster))
    words = [
        "slower" if w <= ALPHA else "faster" if b <= ALPHA else "not significant"
        for w, b in zip(worse, better, strict=True)
    ]
    by_name = {
        one.name: Verdict(one, *levels, p=float(p), word=word)
        for one, levels, p, word in zip(judged, told, worse, words, strict=True)
    }
    few = "too few jobs to compare with"
    return [by_name.get(one.name, Verdict(one, word=few if len(known[one.name]) else "new")) for one in found]


def _pooled(groups: list[NDArray[np.float64]]) -> float:
    freedom = sum(len(values) - 1 for values in groups)
    return sum(float(((values - values.mean()) ** 2).sum()) for values in groups) / freedom if freedom else 0.0


def section(found: list[Verdict], machine: str, jobs: int, told: list[str]) -> str:
    """Return the section of leaderboards/performance.md: ratios, then what its history says."""
    lines = [
        SECTION,
        "",
        "Made by `make bench`. A ratio is the time of rankbench over the time of the reference; both run in turns in "
        "one job, on one thread. It is a median over rounds, with its 95% interval within the job. The baseline is the "
        f"mean of {jobs} jobs on this class of processor. *Slower*: the ratio exceeds the baseline by more than "
        f"{MARGIN:.0%}, significantly at {ALPHA:g} for all rows together, given how much jobs vary.",
        "",
        "| what | reference | rankbench / reference | baseline | change (95%) | |",
        "|---|---|---:|---:|---:|---|",
    ]
    for one in found:
        ratio, half = one.ratio, 1.96 * one.ratio.se
        now = f"{math.exp(ratio.log):.3g} ({math.exp(ratio.log - half):.3g} to {math.exp(ratio.log + half):.3g})"
        base = "" if math.isnan(one.base) else f"{math.exp(one.base):.3g}"
        change = "" if math.isnan(one.lower) else f"{math.expm1(one.lower):+.0%} to {math.expm1(one.upper):+.0%}"
        word = f"**{one.word}**" if one.word == "slower" else one.word
        lines.append(f"| {ratio.name} | {ratio.reference} | {now} | {base} | {change} | {word} |")
    lines += ["", f"CPU: {machine}.", "", "### History", "", *(f"- {one}" for one in told), ""]
    return "\n".join(lines)


def with_section(page: str, text: str) -> str:
    """Return a page with its section on benchmarks, the last one, replaced."""
    head = page.partition(f"\n{SECTION}\n")[0].rstrip("\n") if page else "# Performance"
    return f"{head}\n\n{text}"


def action_json(found: list[Verdict]) -> list[dict[str, Any]]:
    """Return what github-action-benchmark reads with ``tool: customSmallerIsBetter``."""
    return [
        {
            "name": one.ratio.name,
            "unit": f"x the time of {one.ratio.reference}",
            "value": math.exp(one.ratio.log),
            "range": f"{1.96 * one.ratio.se:.1%}",
            "extra": one.word,
        }
        for one in found
    ]


def remembered(folder: Path, found: list[Ratio], machine: str) -> list[str]:
    """Add a job to the history, and return what the history says."""
    commit, date = _git("%H"), _git("%cI")
    values = tuple(HistoryValue(name=f"{one.name} / {one.reference}", value=math.exp(one.log)) for one in found)
    add_entry(folder, HistoryEntry(commit=commit, date=datetime.fromisoformat(date), machine=machine, values=values))
    past = read_history(folder)
    mine = [one for one in past.series if one.machine == machine]
    most = max((len(one.values) for one in mine), default=0)
    told = [f"{one.name}: {one.told(change)}" for one in mine for change in one.changes]
    return [f"{past.entries} jobs, at most {most} of a series on this class of processor.", *told]


def _git(form: str) -> str:
    command = ["git", "log", "-1", f"--format={form}"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """Compare, write, and return 1 where a ratio is slower."""
    parser = argparse.ArgumentParser(description="Compare ratios of benchmarks with a baseline of former jobs.")
    parser.add_argument("job", type=Path, help="JSON of pytest-benchmark")
    parser.add_argument("--baseline", type=Path, default=HERE / "baseline.json")
    parser.add_argument("--out", type=Path, default=ROOT / "leaderboards")
    parser.add_argument("--rebase", action="store_true", help="add this job to the baseline, and judge nothing")
    given = parser.parse_args()
    try:
        found, baseline = ratios_of(given.job), read_baseline(given.baseline)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    machine = cpu_class()
    if given.rebase:
        baseline.setdefault(machine, []).append({one.name: round(one.log, 5) for one in found})
        text = json.dumps({"schema_version": 1, "jobs": baseline}, indent=1, sort_keys=True)
        replace_file(given.baseline, f"{text}\n".encode())
        print(f"{given.baseline}: {len(baseline[machine])} jobs of {machine}")
        return 0
    jobs = baseline.get(machine, [])
    judged = verdicts(found, jobs)
    replace_file(given.job.parent / "github-action-benchmark.json", json.dumps(action_json(judged), indent=1).encode())
    for one in judged:
        print(f"{math.exp(one.ratio.log):8.3g} x {one.ratio.reference:32} {one.ratio.name}: {one.word}")
    missing = sorted({name for job in jobs for name in job} - {one.name for one in found})
    if missing:
        print(f"not timed, so that no page is written: {', '.join(missing)}")
    else:
        page = given.out / "performance.md"
        text = section(judged, machine, len(jobs), remembered(given.out / "performance", found, machine))
        replace_file(page, with_section(page.read_text(encoding="utf-8") if page.exists() else "", text).encode())
        print(f"written: {page}")
    return 1 if any(one.word == "slower" for one in judged) else 0


if __name__ == "__main__":
    sys.exit(main())
