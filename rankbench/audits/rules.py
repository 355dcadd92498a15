"""The probe `rules` ranks by all rules side by side, and asks whether the rule decides the first place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.aggregators.rates import Coin
from rankbench.aggregators.social_choice import lead_table, smith_set
from rankbench.audits.probe import ENOUGH, SIMULATED, Probe, VoteBoard, simulated_p
from rankbench.core.text import first_of, percent_text
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.interfaces.aggregator import Aggregator, CountAggregator
from rankbench.interfaces.aggregator_calls import call_aggregator, covariance_of
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.plugin import manager
from rankbench.plugin.third_party import is_ours

TESTED = ("borda", "win-rate", "budgeted", "mean-log-odds", "copeland", "minimax", "schulze")
"""Rules whose first places the test counts: others cost more, or order items as one of these does."""
MODEL = "bradley-terry:penalty=firth"
"""Model of one order of strengths, from which boards are simulated."""
MOST_TESTED = 150
"""Most items of a board that is tested: simulations of more take minutes."""
MOST_DENSE_RANKED = 500
"""Most items that rules with a matrix of all pairs rank: more take ten seconds by `eigenvector` alone."""
_SHOWN = 3


def rules(board: VoteBoard) -> Probe:
    """Return the first place and the order by each rule, and whether more rules differ than under one order.

    The statistic is the number of `TESTED` rules that put another item first than the page's method. Under the null
    hypothesis, `MODEL` fitted to the decisive votes holds: each pair keeps its number of votes and its ties. Where
    votes of a judge are alike, each pair has fewer votes, by the mean ratio of the variances of the model's scores
    with and without clusters of judges.
    """
    items, counts = np.sort(board.compared), _compared(board)
    found, left = _by_rule(board, counts)
    page, names, first = board.ranking.scores[items], counts.items, int(np.searchsorted(items, board.first))
    differing = [rule for rule, scores in found.items() if first not in _firsts(scores)]
    table = pl.DataFrame(
        {
            "rule": list(found),
            "first": [first_of([names[i] for i in _firsts(scores)], _SHOWN) for scores in found.values()],
            "same_first": [rule not in differing for rule in found],
            "tau": [_tau(page, scores) for scores in found.values()],
        },
        schema={"rule": pl.String, "first": pl.String, "same_first": pl.Boolean, "tau": pl.Float64},
    ).sort("same_first", "tau", descending=[False, True], nulls_last=True, maintain_order=True)
    majorities = _majorities(counts, page)
    p, tested = _test(board, counts, first, found)
    named = f" ({first_of(differing, _SHOWN)})" if differing else ""
    differ = f"{len(differing)} of {len(found)} other rules {'puts' if len(differing) == 1 else 'put'} another item"
    omitted = f"; not ranked by {first_of(left, _SHOWN)}" if left else ""
    answer = f"{differ} than {names[first]} first{named}; {majorities[0]}; {tested}{omitted}"
    facts = {"rules": len(found), "differing": differing, "condorcet_winner": majorities[1], "cycle": majorities[2]}
    finding = None if p is None else f"{differ} first"
    question, facts = "Does the rule decide the first place?", {**facts, "not_ranked_by": left}
    return Probe("rules", question, answer, p, facts, table, finding=finding)


def _compared(board: VoteBoard) -> PairCounts:
    """Return the counts of the items of the page's largest scale, renumbered."""
    number, counts = _numbers(board), board.counts
    inside = counts.select((number[counts.low] >= 0) & (number[counts.high] >= 0))
    cells = np.column_stack([inside.forward, inside.backward, inside.ties])
    names = [counts.items[i] for i in np.sort(board.compared)]
    pairs = np.column_stack([number[inside.low], number[inside.high]])
    return PairCounts.from_cells(names, pairs, cells, counts.judgments, counts.weighted).observed()


def _numbers(board: VoteBoard) -> NDArray[np.int32]:
    """Return the number of each item among those of the page's largest scale, -1 of others."""
    number = np.full(board.counts.m, -1, np.int32)
    number[np.sort(board.compared)] = np.arange(len(board.compared), dtype=np.int32)
    return number


def _by_rule(board: VoteBoard, counts: PairCounts) -> tuple[dict[str, NDArray[np.float64]], list[str]]:
    """Return scores by each other built-in aggregator of counts, and the aggregators of comparisons without any."""
    found, left = {}, []
    for name in manager.names("aggregator"):
        rule = manager.get(Aggregator, name)
        if (
            not is_ours(rule)
            or rule.needs_truth
            or rule.structure != "scores"
            or rule.judgments != "comparisons"
            or rule == board.method
            or isinstance(rule, Coin)
        ):
            continue
        try:
            if not isinstance(rule, CountAggregator):
                raise SpecError("its scores depend on more than counts of pairs")
            if rule.most_items is not None and counts.m > MOST_DENSE_RANKED:
                raise SpecError("its matrices take seconds")
            scores = call_aggregator(rule, counts, counts.m)
            if np.ptp(scores) == 0:
                raise ContenderDiverged("all items have one score")
            found[name] = scores
        except (ContenderDiverged, SpecError):
            left.append(name)
    return found, left


def _firsts(scores: NDArray[np.float64]) -> list[int]:
    """Return the items of the highest score, up to rounding."""
    top = float(scores.max())
    return np.flatnonzero(scores >= top - 1e-9 * max(1.0, abs(top))).tolist()


def _tau(one: NDArray[np.float64], other: NDArray[np.float64]) -> float | None:
    """Return Kendall's tau-b; None where all scores of one are equal."""
    from scipy.stats import kendalltau

    tau = float(kendalltau(one, other).statistic)
    return tau if np.isfinite(tau) else None


def _majorities(counts: PairCounts, page: NDArray[np.float64]) -> tuple[str, str | None, list[str] | None]:
    """Return a text on the Condorcet winner, its name, and else a smallest cycle of the best unbeaten items."""
    names, lead = counts.items, lead_table(counts)
    top = smith_set(lead)
    if len(top) == 1:
        return f"{names[top[0]]} beats each other item by majority", names[top[0]], None
    for start in top[np.argsort(-page[top], kind="stable")]:
        cycle = _cycle(lead[np.ix_(top, top)] > 0, int(np.searchsorted(top, start)))
        if cycle:
            named = [names[top[i]] for i in cycle]
            beats = ", ".join(f"{one} beats {other}" for one, other in zip(named, [*named[1:], named[0]], strict=True))
            return f"no item beats each other item by majority: {beats}", None, named
    return "no item beats each other item by majority: some pairs are level or were not compared", None, None


def _cycle(beats: NDArray[np.bool_], start: int) -> list[int]:
    """Return a shortest cycle through an item, starting there, or an empty list."""
    from scipy.sparse.csgraph import shortest_path

    steps, before = shortest_path(beats, unweighted=True, indices=start, return_predecessors=True)
    closing = np.where(beats[:, start], steps, np.inf)
    at, path = int(closing.argmin()), []
    if not np.isfinite(closing[at]):
        return []
    while at != start:
        path.append(at)
        at = int(before[at])
    return [start, *reversed(path)]


def _test(
    board: VoteBoard, counts: PairCounts, first: int, found: Mapping[str, NDArray[np.float64]]
) -> tuple[float | None, str]:
    """Return the p of the number of tested rules that put another item first, and a text on it."""
    tested = [name for name in TESTED if name in found]
    if not isinstance(board.method, CountAggregator):
        sequential = "sequential" in board.method.properties
        why = "depends on the order of votes" if sequential else "is not made of sums of votes by pair"
        return None, f"not tested, as {board.method.name} {why}"
    if counts.m > MOST_TESTED:
        return None, f"not tested, as there are more than {MOST_TESTED} items"
    if not (counts.forward.any() or counts.backward.any()):
        return None, "not tested, as all votes are ties"
    observed = sum(first not in _firsts(found[name]) for name in tested)
    if not observed:
        return 1.0, f"the {len(tested)} tested rules agree"
    methods = [board.method, *(manager.get(Aggregator, name) for name in tested)]
    extreme: list[bool] = []
    rng = np.random.default_rng([board.seed, 35])
    model, share = _model(counts), _effective_share(board, counts)
    while len(extreme) < SIMULATED and sum(extreme) < ENOUGH:
        extreme.append(_differing(_drawn(counts, model, share, rng), methods) >= observed)
    p = simulated_p(extreme)
    return (
        p,
        f"{observed} of {len(tested)} tested rules put another item first; as many or more do on {percent_text(p)} of "
        "boards simulated from one order of strengths",
    )


def _model(counts: PairCounts) -> NDArray[np.float64]:
    """Return the chance of the lower item in a decisive vote on each pair, shape (P,)."""
    counts = replace(counts, ties=np.zeros(len(counts)))
    scores = call_aggregator(manager.get(Aggregator, MODEL), counts, counts.m)
    chances: NDArray[np.float64] = 1 / (1 + np.exp(scores[counts.high] - scores[counts.low]))
    return chances


def _effective_share(board: VoteBoard, counts: PairCounts) -> float:
    """Return the number of independent votes of weight 1 with the information of a unit of the log's weight.

    Both rows of a vote whose points are split are one vote.
    """
    votes, number = board.votes, _numbers(board)
    weights = np.bincount(votes.numbers, votes.weights)
    share = float(weights.sum() / (weights**2).sum())
    if votes.judges is None or votes.judge_count < 2:
        return share
    rows = np.flatnonzero((number[votes.winners] >= 0) & (number[votes.losers] >= 0))
    ends = number[votes.winners[rows]], number[votes.losers[rows]]
    model = manager.get(Aggregator, MODEL)
    scores = call_aggregator(model, counts, counts.m)
    clustered, alone = (
        np.diag(covariance_of(model, counts, scores, said)).mean()
        for said in (votes.clusters(votes.judges[rows], rows, ends, counts.m), votes.single(rows, ends, counts.m))
    )
    return share / max(1.0, float(clustered / alone))


def _drawn(counts: PairCounts, chances: NDArray[np.float64], share: float, rng: np.random.Generator) -> PairCounts:
    """Return counts of one simulated board: each pair keeps its decisive weight and its ties."""
    decisive = counts.forward + counts.backward
    votes = np.maximum(np.rint(decisive * share), decisive > 0).astype(np.int64)
    forward = rng.binomial(votes, chances) * (decisive / np.maximum(votes, 1))
    return replace(counts, forward=forward, backward=decisive - forward)


def _differing(counts: PairCounts, methods: Sequence[Aggregator]) -> int:
    """Return the number of methods that put none of the first method's first items first."""
    page, *others = (_firsts(call_aggregator(method, counts, counts.m)) for method in methods)
    return sum(not {*page} & {*firsts} for firsts in others)
