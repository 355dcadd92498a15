"""A journal shaped as a run of the paper's suite writes it, with known effects."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rankbench.interfaces.cell import BlockKey, BlockResult, CellResult, Curve
from rankbench.reports.analysis import Analysis, analyze
from rankbench.reports.experiment_data import ExperimentData
from rankbench.reports.results import report
from rankbench.store.journal import Journal
from rankbench.store.records import Member
from rankbench.store.store import Store

STEPS = np.unique(np.geomspace(1, 100_000, 60).astype(np.int64))


@dataclass
class Contender:
    label: str
    config: dict[str, Any]
    effect: float = 0.0
    noise: float = 0.02
    sd_draws: float = 0.002
    share_complete: float = math.nan
    curves: bool = False
    fails: dict[int, tuple[str, str]] = field(default_factory=dict)  # repetition -> status, reason
    cell_of: str = ""  # label of a contender whose cell it shares
    info: dict[str, float] = field(default_factory=dict)  # more named facts


@dataclass
class Plan:
    name: str
    contenders: list[Contender]
    n: tuple[int, ...] = (200_000, 400_000)
    repetitions: int = 6
    baseline: str = "logistic"
    losses: tuple[str, ...] = ("ndcg",)
    extra: dict[str, Any] = field(default_factory=dict)  # more keys of the experiment


def _seed(*parts: object) -> np.random.Generator:
    return np.random.default_rng(
        int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=8).digest(), "little")
    )


def curve_values(k: float, n: int, rep: int) -> np.ndarray:
    rng = _seed("curve", k, n, rep)
    return 0.5 / STEPS**0.8 * np.exp(0.2 * rng.standard_normal(STEPS.size))


def blocks_of(plan: Plan, queries: dict[str, int], scale: float = 1.0) -> tuple[list[Member], list[BlockResult]]:
    members: list[Member] = []
    blocks: list[BlockResult] = []
    for n_declared in plan.n:
        n = int(n_declared * scale)
        for rep in range(plan.repetitions):
            cells: dict[str, CellResult] = {}
            for order, contender in enumerate(plan.contenders):
                owner = contender.cell_of or contender.label
                cell = hashlib.blake2b(f"{owner}|{n}|{rep}|{contender.effect}".encode(), digest_size=12).hexdigest()
                members.append(
                    Member(plan.name, contender.label, f"erm:label={order}", contender.config, n, n_declared, rep,
                           cell, order)
                )  # fmt: skip
                if cell not in cells:
                    cells[cell] = _cell(cell, owner, contender, plan, n_declared, rep, queries)
            blocks.append(BlockResult(BlockKey("btl", "web10k-like", n, rep, 7), list(cells.values()), 1.5))
    return members, blocks


def _cell(
    cell: str, owner: str, contender: Contender, plan: Plan, n: int, rep: int, queries: dict[str, int]
) -> CellResult:
    if rep in contender.fails:
        status, reason = contender.fails[rep]
        return CellResult(cell, status, reason)  # type: ignore[arg-type]
    losses = {}
    for metric in plan.losses:
        for split, count in queries.items():
            base = _seed("query", metric, split).normal(0.45, 0.12, count)
            shared = _seed("draw", metric, split, n, rep).normal(0, 0.002)
            own = _seed("own", owner, metric, split, n, rep)
            values = base + shared + contender.effect * math.sqrt(200_000 / n)
            values = values + own.normal(0, contender.sd_draws) + own.normal(0, contender.noise, count)
            losses[metric, split] = np.clip(values, 0, 1)
    curves = {}
    if contender.curves:
        k = float(contender.config["k"])
        values = curve_values(k, n, rep)
        curves = {
            "estimated-gap": Curve(STEPS, values + _seed("mc", k, n, rep).normal(0, 3e-4, STEPS.size)),
            "exact-gap-last": Curve(STEPS, values),
            "exact-gap-average": Curve(STEPS, values * 0.5),
        }
    # The largest error is that of the last repetition, the mean is below it.
    info = {"iterations": 10.0, "mc_error": 0.003 * (1 + rep) / 6} | contender.info
    if not math.isnan(contender.share_complete):
        info["share_complete"] = contender.share_complete
    return CellResult(cell, "done", "", 1e-9 * (1 + rep), losses, curves, info)


def record(
    plans: list[Plan],
    queries: dict[str, int],
    title: str = "Asymptotics of ranking algorithms",
    added: Any = None,
    plugins: tuple[str, ...] = (),
    **of_source: Any,
) -> dict[str, Any]:
    experiments = [
        {
            "name": plan.name,
            "title": f"Experiment {plan.name}",
            "n": list(plan.n),
            "repetitions": plan.repetitions,
            "losses": list(plan.losses),
            "baseline": plan.baseline,
            "contenders": [{"use": "erm"}],
        }
        | plan.extra
        for plan in plans
    ]
    return {
        "name": "paper",
        "title": title,
        "seed": 7,
        "sources": [source(queries, **of_source)],
        "of": {plan.name: 0 for plan in plans},
        "added": added or {},
        "experiments": experiments,
        "versions": {"rankbench": "0.1.0", **dict.fromkeys(plugins, "1.0")},
        "plugins": dict.fromkeys(plugins, "digest"),
        "cpu": "x86-64-v3",
        "code_digest": "0123",
    }


def source(queries: dict[str, int], **more: Any) -> dict[str, Any]:
    return {
        "protocol": "btl",
        "dataset": "web10k-like",
        "simulated": True,
        "assumptions": ["Labels are nonlinear in the features.", "100 +- 60 items a query."],
        "notes": ["Features: signed-log1p, then zscore."],
        "fingerprint": "ab" * 32,
        "splits": {
            "design": "Design queries (with training judgments, as in the paper)",
            "heldout": "Held-out queries (without training judgments)",
        },
        "units": {split: [str(i) for i in range(count)] for split, count in queries.items()},
    } | more


def write(
    directory: Path, plans: list[Plan], queries: dict[str, int] | None = None, order: list[int] | None = None,
    **more: Any,
) -> Path:  # fmt: skip
    queries = queries or {"design": 40, "heldout": 30}
    everything = [blocks_of(plan, queries) for plan in plans]
    blocks = [block for _, found in everything for block in found]
    with Store(directory) as store:
        store.begin(record(plans, queries, **more), [m for members, _ in everything for m in members])
        for index in order if order is not None else range(len(blocks)):
            store.commit(blocks[index])
    return directory


def analysis(folder: Path) -> Analysis:
    """Return the analysis of a run, whose journal stays open."""
    return analyze(Journal(folder))


def experiments(folder: Path) -> list[ExperimentData]:
    """Return a run's experiments, whose journal stays open."""
    journal = Journal(folder)
    record, members, cells = journal.record(), journal.members(), journal.cells()
    return [ExperimentData(journal, record, experiment, members, cells) for experiment in record.experiments]


def page(folder: Path, *plans: Plan, queries: dict[str, int] | None = None, **more: Any) -> str:
    """Write a run with its report, and return its leaderboard with the details."""
    report(write(folder, list(plans), queries, **more))
    return both_pages(folder)


def both_pages(folder: Path) -> str:
    """Return a report's page and, behind it, its details."""
    return "\n".join((folder / name).read_text(encoding="utf-8") for name in ("leaderboard.md", "details.md"))


def small() -> Plan:
    return Plan(
        "figure-3",
        [
            Contender("regression k=1", {"k": 1, "lambda": 0.001, "aggregator": {"name": "mean-log-odds"}}, 0.06),
            Contender("regression k=10", {"k": 10, "lambda": 0.001, "aggregator": {"name": "mean-log-odds"}}, 0.02),
            Contender("regression k=inf", {"k": "inf", "lambda": 0.001, "aggregator": {"name": "mean-log-odds"}}),
            Contender("logistic", {"surrogate": {"name": "pairwise-logistic"}}, 0.03),
        ],
    )


def drawn(file: str = "figure-3", **more: Any) -> Plan:
    """The small plan with a figure; `more` replaces keys of its table."""
    plan = small()
    figure = {"kind": "risk", "parameter": "k", "series": ["regression k=*"], "references": ["logistic"]} | more
    plan.extra = {"figures": [{"file": file} | figure]}
    return plan


def claimed(*claims: dict[str, Any]) -> Plan:
    """The small plan with claims: by default one that holds."""
    plan = small()
    held = {"text": "Small k is worse", "kind": "less", "contrasts": [{"a": "logistic", "b": "regression k=1"}]}
    plan.extra = {"claims": [{"id": f"C{i + 1}"} | held | one for i, one in enumerate(claims or ({},))]}
    return plan


def paper() -> list[Plan]:
    """Figures 2, 3 and 4 in the shape of the real suite."""
    orders = (1, 3, 10, 30, 100, 300, 1000, "inf")
    effects = (0.06, 0.04, 0.02, 0.005, -0.005, -0.012, -0.012, -0.012)
    shares = (0, 0, 0, 0, 0.1, 0.6, 1, 1)
    three = [
        Contender(f"regression k={k}", {"k": k, "s": "exact"}, effect, sd_draws=0.001 + 0.0005 * i,
                  share_complete=share, cell_of="regression k=inf" if k == 1000 else "")
        for i, (k, effect, share) in enumerate(zip(orders, effects, shares, strict=True))
    ]  # fmt: skip
    three += [
        Contender(f"SGD 1/t k={k}", {"k": k, "s": "sgd"}, effect + 0.01)
        for k, effect in zip(orders[:5], effects, strict=False)
    ]
    three += [
        Contender("logistic", {"surrogate": "logistic"}, 0.01),
        Contender("full information", {"aggregator": "full"}, -0.02),
    ]
    four = [
        Contender(f"regression k={k}, lambda={lam:g}", {"k": k, "lambda": lam}, effect + (0.02 if lam == 1 else 0))
        for k, effect in ((10, 0.02), (100, -0.005), ("inf", -0.012))
        for lam in (10.0**-p for p in range(6, -1, -1))
    ]
    two = [Contender(f"SGD k={k}", {"k": k}, 0.01, curves=True) for k in (1, 10, 100, 1000)]
    n = (200_000, 400_000, 800_000, 1_600_000)
    panels = [{"title": "n = 4e5", "series": ["SGD k=*"], "n": [400_000]},
              {"title": "k = 100", "series": ["SGD k=100"], "n": list(n)}]  # fmt: skip
    figures = (
        {"kind": "curves", "metrics": ["estimated-gap", "exact-gap-last", "exact-gap-average"], "panels": panels},
        {"kind": "risk", "parameter": "k", "series": ["regression k=*", "SGD 1/t k=*"],
         "references": ["logistic", "full information"]},
        {"kind": "risk", "parameter": "lambda", "series": ["regression*"]},
    )  # fmt: skip
    extras = [{"figures": [{"file": f"figure-{i}"} | figure]} for i, figure in enumerate(figures, 2)]
    return [
        Plan("figure-2", two, n, 8, "", extra=extras[0]),
        Plan("figure-3", three, n, 12, extra=extras[1]),
        Plan("figure-4", four, (800_000,), 12, "regression k=100, lambda=0.001", extra=extras[2]),
    ]
