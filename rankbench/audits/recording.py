"""Probes of how data were recorded: by side and length, on few pairs, twice, under names alike, with missing cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.audits.probe import Probe, ScoreBoard, VoteBoard
from rankbench.core.text import count_text, first_of, listed, short_reprs, significant
from rankbench.descriptions.judges import position_bias, repeats, share_interval, share_of_winner, votes_with_points
from rankbench.descriptions.suspicions import Findings, lookalikes, mirrored_votes, odd
from rankbench.errors import ContenderDiverged, InputError, option
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.covariate_aggregator import ControlledAggregator
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.logs.opened import OpenedLog
from rankbench.ranking.aggregate import aggregate
from rankbench.ranking.aggregation import Aggregation
from rankbench.ranking.covariates import offered_controls

FEW = 10
"""Votes below which an item has few."""
SIGNS = 9999
"""Random signs of judges that `sides` draws."""
_SHOWN, _LEAST = 3, 1e-300


def flips(board: VoteBoard) -> Probe:
    """Return the share of judgments that change when sides are swapped, and whether changes follow a side.

    The votes of a judge on a pair and query that was shown in both orders are one judgment, by its first vote in each
    order. If sides do not matter, its points for the left in both orders exceed 1 as often as they fall below: a sign
    test, exact for any other preferences of judges.
    """
    name, question = "flips", "Do judgments change as sides are swapped?"
    votes = votes_with_points(board.source.frame)
    names = votes.collect_schema().names()
    if "first" not in names or len(board.votes.query_names) < 2:
        said = "not known: the log does not say who stood left, or names no queries"
        return Probe(name, question, said, unknown="no sides, or no queries")
    winner, loser = pl.col("winner").cast(pl.String), pl.col("loser").cast(pl.String)
    keys = [key for key in ("judge", "query_id") if key in names]
    both = (
        votes.select(
            *(pl.col(key).cast(pl.String) for key in keys),
            low=pl.min_horizontal(winner, loser),
            high=pl.max_horizontal(winner, loser),
            low_left=(winner < loser) == pl.col("first"),
            left=_points_of_left(names),
        )
        .drop_nulls()
        .group_by(*keys, "low", "high", maintain_order=True)
        .agg(
            one=pl.col("left").filter("low_left").first(),
            other=pl.col("left").filter(~pl.col("low_left")).first(),
        )
        .drop_nulls()
        .select(*keys, excess=pl.col("one") + pl.col("other") - 1)
        .collect(engine="streaming")
    )
    if both.is_empty():
        said = "not known: no judgment stands in both orders"
        return Probe(name, question, said, unknown="no pair in both orders")
    from scipy.stats import binomtest

    excess = both["excess"].to_numpy()
    changed = np.abs(excess) > 1e-9
    by = both["judge"].rank("dense").to_numpy() - 1 if "judge" in names else np.arange(len(both))
    lower, upper = share_interval(np.bincount(by), np.bincount(by, changed), by_judge="judge" in names)
    left, count = int((excess[changed] > 0).sum()), int(changed.sum())
    p = float(binomtest(left, count).pvalue) if count else 1.0
    answer = (
        f"{count:,} of {count_text(len(both), 'judgment')} shown in both orders change ({count / len(both):.1%}, 95%: "
        f"{lower:.1%} to {upper:.1%}{', by judge' if 'judge' in names else ''}): {left:,} toward the left, "
        f"{count - left:,} toward the right"
    )
    facts = {"judgments": len(both), "changed": count, "lower": lower, "upper": upper, "toward_left": left}
    finding = f"of {count:,} judgments that change as sides are swapped, {left:,} go to the left"
    return Probe(name, question, answer, p, facts, finding=finding, acts=option("control", "side"))


def _points_of_left(names: Sequence[str]) -> pl.Expr:
    """Return the points of the left item in each vote, from 0 to 1; half of one for a tie."""
    won = share_of_winner(names)
    return pl.when("first").then(won).otherwise(1 - won)


def sides(board: VoteBoard) -> Probe:
    """Return the left's share of wins, and whether it differs from a half.

    Where sides do not matter and were drawn by lot, wins of the left less wins of the right have a symmetric law in the
    votes of each judge. The test turns the signs of judges at random; without judges it is the exact binomial test.
    """
    name, question = "sides", "Does the left win more than half?"
    votes = votes_with_points(board.source.frame)
    names = votes.collect_schema().names()
    position, biased = position_bias(votes)
    if position is None:
        said = "not known: the log does not say who stood left, or no vote is decisive"
        return Probe(name, question, said, unknown="no sides")
    judge = pl.col("judge") if position.by_judge else pl.int_range(pl.len())
    ahead = (_points_of_left(names) - 0.5).round(9).sign()
    leads = votes.select(judge=judge, ahead=ahead).group_by("judge").agg(pl.col("ahead").sum()).collect()["ahead"]
    lead = np.sort(leads.to_numpy())
    if position.by_judge:
        signs = np.random.default_rng([board.seed, 36]).choice([-1.0, 1.0], (SIGNS, len(lead)))
        p = (1 + int((np.abs(signs @ lead) >= abs(lead.sum())).sum())) / (1 + SIGNS)
    else:
        from scipy.stats import binomtest

        p = float(binomtest(int((lead > 0).sum()), int((lead != 0).sum())).pvalue) if lead.any() else 1.0
    found = Findings(position, biased, None)
    facts = {"share": position.share, "lower": position.lower, "upper": position.upper, "votes": position.votes}
    said = f"; position-biased judges: {found.favored_sides()}" if biased else ""
    finding, acts = f"left wins {position.share:.1%} of decisive votes", option("control", "side")
    return Probe(name, question, f"left wins {found.left_wins()}{said}", p, facts, finding=finding, acts=acts)


def controlled_ranking(source: OpenedLog, method: Aggregator, seed: int) -> Aggregation | None:
    """Return the ranking without the effects of side and of columns of the two items; None: the log has none.

    Parameters
    ----------
    source : OpenedLog
    method : Aggregator
        Of the page. None if it estimates no effects.
    seed : int
    """
    if not isinstance(method, ControlledAggregator):
        return None
    side = "first" in source.frame.collect_schema().names()
    terms = offered_controls(source, side)
    if not terms:
        return None
    asked: dict[str, Any] = {"columns": source.asked, "seed": seed, **asdict(source.keep)}
    try:
        return aggregate(source.raw, str(method), control=", ".join(terms), intervals="sandwich", **asked)
    except (ContenderDiverged, InputError):  # effects without bound, or too many items
        return None


def covariates(board: VoteBoard) -> Probe:
    """Return the effects of side, length and other columns of the two items, and the first item without them.

    The test is that of the effects of ``aggregate --control``, adjusted for their number, whether some column matters;
    whether the side does is what `sides` tests.
    """
    name, question, found = "covariates", "Do side, length or other columns of the items decide?", board.controlled
    if found is None or found.effects is None:
        unknown = "not known: no column describes each of the two items, or the method estimates no effects"
        return Probe(name, question, unknown, unknown="no column of both items")
    said = [f"{covariate}: {words}" for covariate, words in found.effects.select("covariate", "words").iter_rows()]
    first, page, names = found.table["item"][0], board.items[board.first], found.facts["may_be_first"]
    place = f"{first} stays first" if first == page else f"{first} is first in place of {page}"
    answer = (
        f"{'; '.join(said[:_SHOWN])}; without these effects {place}, and {count_text(len(names), 'item')} may be first "
        f"({len(board.may_be_first)} with them)"
    )
    side = (pl.col("covariate") == "side") | pl.col("covariate").str.starts_with("side:")
    tested = found.effects.filter(~side & pl.col("p").is_not_null()).sort("p")
    facts: dict[str, Any] = {"first": first, "may_be_first": len(names)}
    if tested.is_empty():
        return Probe(name, question, answer, facts=facts, table=found.effects)
    covariate, p = tested.row(0, named=True)["covariate"], min(1.0, float(tested["p"][0]) * tested.height)
    answer += f"; {covariate} has the clearest effect (p = {significant(p, 2)})"
    facts, acts = facts | {"covariate": covariate}, option("control", covariate)
    finding = f"{covariate} has an effect on votes"
    return Probe(name, question, answer, max(p, _LEAST), facts, found.effects, finding=finding, acts=acts)


def exposure(board: VoteBoard) -> Probe:
    """Return which items have few votes, and which pairs alone hold the items together."""
    counts = board.counts
    weight = counts.forward + counts.backward + counts.ties
    votes = board.votes
    whole = slice(None) if votes.rest is None else ~votes.rest
    rows = np.bincount(np.concatenate([votes.winners[whole], votes.losers[whole]]), minlength=counts.m)
    opponents = np.bincount(np.concatenate([counts.low, counts.high])[np.tile(weight > 0, 2)], minlength=counts.m)
    groups, crossing = len(counts.connected.sizes), bridges(counts)
    few = np.flatnonzero(rows < FEW)
    few = few[np.argsort(rows[few], kind="stable")]
    pairs = [f"{counts.items[counts.low[e]]} and {counts.items[counts.high[e]]}" for e in crossing]
    order = np.argsort(rows, kind="stable")
    table = pl.DataFrame(
        {"item": [counts.items[i] for i in order], "votes": rows[order], "opponents": opponents[order]}
    )
    scarce = f" ({listed([counts.items[i] for i in few], _SHOWN)})" if len(few) else ""
    connected = "all items" if groups == 1 else f"{groups:,} groups of items, not one with another"
    alone = f"one pair alone connects groups: {first_of(pairs, _SHOWN)}" if pairs else "no group hangs on one pair"
    amounts = f"{rows.min():,} to {count_text(int(rows.max()), 'vote')} an item; {len(few):,} below {FEW}{scarce}"
    answer = f"{amounts}; comparisons connect {connected}; {alone}"
    facts = {
        "least": int(rows.min()), "most": int(rows.max()), "few": [counts.items[i] for i in few],
        "components": groups, "bridges": len(crossing),
    }  # fmt: skip
    faults = [f"{count_text(len(few), 'item')} below {FEW} votes"] * (len(few) > 0)
    faults += [f"{groups:,} groups of items, not one with another"] * (groups > 1)
    faults += [alone] * bool(pairs)
    question, acts = "Is each item judged often, against several others?", option("min_votes", FEW) * (len(few) > 0)
    return Probe("exposure", question, answer, facts=facts, table=table, finding="; ".join(faults), acts=acts)


def bridges(counts: PairCounts) -> NDArray[np.int64]:
    """Return the pairs without which a connected component falls apart, rising.

    Each pair outside a spanning forest gets a random number of 64 bits, and each item the exclusive or of its pairs'.
    The exclusive or over the items below a pair of the forest is that of the other pairs which lead out of them: 0,
    but for a chance of 2^-64, only if there is none.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    m, low, high = counts.m, counts.low, counts.high
    graph = coo_array((np.ones(len(low)), (low, high)), shape=(m, m)).tocsr()
    groups = counts.connected
    parent, order = np.full(m, -1), []
    for root in groups.first:
        reached, before = breadth_first_order(graph, int(root), directed=False)
        parent[reached[1:]] = before[reached[1:]]
        order.append(reached)
    inside = (parent[low] == high) | (parent[high] == low)
    labels = np.random.default_rng(35).integers(1, 1 << 63, len(low), dtype=np.int64)
    labels[inside] = 0
    below = np.zeros(m, np.int64)
    np.bitwise_xor.at(below, low, labels)
    np.bitwise_xor.at(below, high, labels)
    for item in np.concatenate(order)[::-1]:
        if parent[item] >= 0:
            below[parent[item]] ^= below[item]
    child = np.where(parent[low] == high, low, high)
    return np.flatnonzero(inside & (below[child] == 0))


def duplicates(board: VoteBoard) -> Probe:
    """Return the number of votes repeated by their judge, and of games recorded from both sides."""
    votes = votes_with_points(board.source.frame)
    again = repeats(votes, board.votes.count)
    found = Findings(None, None, again, mirrored=mirrored_votes(votes))
    answer = f"{found.cast_again_title}: {found.cast_again()}; games seen from both sides: {found.mirrored_games()}"
    facts = {
        "cast_again": None if again is None else again.votes,
        "contradictions": None if again is None else again.contradictions,
        "mirrored": None if found.mirrored is None else found.mirrored[0],
    }
    question, cast = "Were votes recorded twice?", again is not None and again.votes
    faults = [f"{found.cast_again_title}: {found.cast_again()}"] * bool(cast)
    faults += [f"{found.mirrored[0]:,} votes stand there from both sides"] if found.mirrored else []
    acts = option("columns", "mirrored=halve") if found.mirrored else ""
    unknown = "no judges" if again is None and not faults else ""
    return Probe("duplicates", question, answer, facts=facts, finding="; ".join(faults), acts=acts, unknown=unknown)


def names_alike(board: VoteBoard) -> Probe:
    """Return which items readers would take for one another, or hardly read."""
    groups, strange = lookalikes(board.items), odd(board.items)
    shown = [" = ".join(short_reprs(group)) for group in groups]
    answer = (
        f"called alike: {first_of(shown, _SHOWN) if shown else 'none'}; odd names: "
        f"{listed(strange, _SHOWN) if strange else 'none'}"
    )
    finding = answer if groups or strange else ""
    return Probe("names", "Are items called alike?", answer, facts={"alike": groups, "odd": strange}, finding=finding)


def missing_tasks(board: ScoreBoard) -> Probe:
    """Return the places that each system may have, whatever the missing cells of the table hold.

    A missing score lies between the lowest and the highest score of its task. A system's best place is that where its
    missing scores are highest and other systems' lowest, its worst place the reverse: both occur.
    """
    name, question = "missing-tasks", "Do missing scores decide places?"
    present = board.scores.present[board.scores.present.any(axis=1)]
    count = int((~present).sum())
    if not count:
        return Probe(name, question, "no cell is missing", facts={"missing": 0}, finding="")
    if board.method.name != "mean-score":
        answer = f"not known for {board.method.name}: bounds are of mean-score"
        return Probe(name, question, answer, facts={"missing": count})
    cells = board.scores.better[:, board.scores.present.any(axis=1)]
    scored = ~np.isnan(cells)
    values = np.where(present, np.where(scored, cells, 0.0).sum(axis=0) / np.maximum(scored.sum(axis=0), 1), np.nan)
    lowest, highest = (
        np.where(present, values, bound(values, axis=1, keepdims=True)).mean(axis=0) for bound in (np.nanmin, np.nanmax)
    )
    best = 1 + (lowest[:, None] > highest).sum(axis=0)
    worst = (highest[:, None] > lowest).sum(axis=0) + (highest <= lowest)
    order = np.lexsort((worst, best))
    names = board.scores.systems
    if board.scores.all_less:
        lowest, highest = -highest, -lowest
    table = pl.DataFrame(
        {
            "system": [names[i] for i in order], "missing": (~present).sum(axis=0)[order],
            "lowest": lowest[order], "highest": highest[order], "best_place": best[order], "worst_place": worst[order],
        }
    )  # fmt: skip
    first = [names[i] for i in order if best[i] == 1]
    answer = (
        f"{count:,} of {present.size:,} cells are missing; whatever they hold within the scores of their task, "
        f"{'only ' if len(first) == 1 else ''}{first_of(first, _SHOWN)} may be first"
    )
    finding = f"{count:,} of {present.size:,} cells are missing" if len(first) > 1 else ""
    return Probe(name, question, answer, facts={"missing": count, "may_be_first": first}, table=table, finding=finding)
