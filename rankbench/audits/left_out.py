"""Probes leave a judge, an item, a category or a third of the time out, and rank again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.audits.misfit import largest_misfits
from rankbench.audits.probe import Probe, VoteBoard
from rankbench.audits.rules import MODEL
from rankbench.core.text import count_text, significant
from rankbench.descriptions.drift import drift
from rankbench.errors import ContenderDiverged, InputError, SpecError, option, options
from rankbench.interfaces.aggregator import Aggregator, CountAggregator, WithCovariance
from rankbench.interfaces.aggregator_calls import call_aggregator, covariance_of
from rankbench.logs.opened import OpenedLog
from rankbench.logs.question import Filter
from rankbench.logs.votes import Votes, load_votes
from rankbench.plugin.manager import get
from rankbench.ranking.categories import category_votes
from rankbench.ranking.load import load_log
from rankbench.ranking.pooled import categories_matter
from rankbench.ranking.rank import rank
from rankbench.ranking.rank_ranges import reference_items, relative_covariance
from rankbench.ranking.sampling_units import has_interval, too_few_judges_note

_MOST = 200
"""Groups that are left out, those with the most votes; and items, for which copies are added."""

_COLUMNS, _CATEGORIES = 20, 30
"""Columns that may be of categories; categories of a column."""

_LEVEL = 0.05
"""Level of the words on judges; the page's own is lower."""

_FRACTION = re.compile(r"[+-]?\d*[.,]\d+")


def category_columns(source: OpenedLog, votes: Votes) -> dict[str, tuple[NDArray[np.int32], Sequence[str]]]:
    """Return the columns of a log that divide its votes into 2 to 30 categories.

    rankbench looks at the column of queries and at the first 20 columns that are not read. It leaves out columns with
    missing values, and columns of decimal fractions, which measure something.

    Parameters
    ----------
    source : OpenedLog
    votes : Votes
        Its votes.

    Returns
    -------
    dict of str to (ndarray of int32, sequence of str)
        Number of the category of each row of the votes, and names of the categories.
    """
    found: dict[str, tuple[NDArray[np.int32], Sequence[str]]] = {}
    if 2 <= len(votes.query_names) <= _CATEGORIES:
        found[source.columns.get("query", "query")] = votes.queries, votes.query_names
    for name in source.left[:_COLUMNS]:
        try:
            parted = load_votes(source.with_role("query", name).judged().frame)
        except (InputError, SpecError):
            continue
        fractions = any(_FRACTION.fullmatch(value) for value in parted.query_names)
        few = 2 <= len(parted.query_names) <= _CATEGORIES
        if few and not fractions and np.array_equal(parted.winners, votes.winners):
            found[name] = parted.queries, parted.query_names
    return found


_NO_JUDGES = "not known: the log does not name two judges, or not for every vote"


def _unjudged(votes: Votes) -> str:
    return "no judges" if votes.judges is None else "one judge"


def without_judge(board: VoteBoard) -> Probe:
    """Return changes without each judge, and whether a judge differs from all others by more than taste."""
    name, question = "without-judge", "What changes without one judge?"
    votes, found = board.votes, largest_misfits(board)
    if votes.judges is None or votes.judge_count < 2:
        return Probe(name, question, _NO_JUDGES, unknown=_unjudged(votes))
    judges = votes.judge_names
    table = _left_out(board, votes.judges, judges, "judge")
    answer, p, facts = _largest(board, table, "judge"), None, {}
    finding, acts = None, ""
    if found is not None:
        of, p = found.groups["judge"], found.groups["judge"].p
        facts = {"taste": found.taste, "judge": judges[of.group], "item": board.items[of.item], "z": of.z}
        answer += (
            f"; judge {judges[of.group]} differs most from others, on {board.items[of.item]} (p = {significant(p, 2)})"
        )
        answer += _open_without(board, Filter(without_judge=(judges[of.group],)), f"judge {judges[of.group]}")
        finding = f"judge {judges[of.group]} votes unlike the others, most on {board.items[of.item]}"
        acts = option("without_judge", judges[of.group])
    return Probe(name, question, answer, p, facts, table, finding=finding, acts=acts)


def without_category(board: VoteBoard) -> Probe:
    """Return changes without each category of each column, and whether a category has an order of its own."""
    name, question = "without-category", "What changes without one category of votes?"
    if not board.categories:
        said = "not known: no column divides the votes into 2 to 30 categories"
        return Probe(name, question, said, unknown="no categories")
    found, tables = largest_misfits(board), []
    for column, (group, names) in board.categories.items():
        tables.append(_left_out(board, group, [f"{column} {value}" for value in names], "category"))
    table = pl.concat(tables).sort("places", descending=True, maintain_order=True)
    answer, p, facts = _largest(board, table, "category"), None, {}
    finding, acts = None, ""
    if found is not None:
        columns = {column: found.groups[column] for column in board.categories}
        column, of = min(columns.items(), key=lambda pair: (pair[1].p, -pair[1].z))
        value, item = board.categories[column][1][of.group], board.items[of.item]
        p = min(1.0, of.p * len(columns))
        facts = {"column": column, "value": value, "item": item, "z": of.z}
        answer += f"; {column} {value} differs most from others, on {item} (p = {significant(p, 2)})"
        finding = f"{column} {value} ranks unlike the others, most on {item}"
        acts = options(by=column, pool="")
    return Probe(name, question, answer, p, facts, table, finding=finding, acts=acts)


def without_item(board: VoteBoard) -> Probe:
    """Return changes for others without each item, and whether an item's results contradict one order."""
    name, question = "without-item", "Does the order of others change without one item?"
    votes, found = board.votes, largest_misfits(board)
    rows = []
    for item in _busiest(np.bincount(np.concatenate([votes.winners, votes.losers]))):
        kept = np.flatnonzero((votes.winners != item) & (votes.losers != item))
        rows.append(_change(board, kept, board.items[item], len(votes) - len(kept), leave=int(item)))
    table = _table(rows, "item")
    answer, p, facts = _largest(board, table, "item"), None, {}
    finding, acts = None, ""
    if found is not None:
        item, p = board.items[found.item], found.item_p
        facts = {"item": item}
        answer += f"; one order of strengths predicts the results of {item} worst (p = {significant(p, 2)})"
        answer += _open_without(board, Filter(without=(item,)), item)
        finding, acts = f"one scale does not fit {item}", option("without", item)
    return Probe(name, question, answer, p, facts, table, finding=finding, acts=acts)


def clones(board: VoteBoard) -> Probe:
    """Return whether a copy of an item, with its votes, changes the order of others under the page's method."""
    name, question = "clones", "Does the order of others change if an item enters twice?"
    votes, m = board.votes, len(board.items)
    whole, rows = votes.comparisons(), []
    for item in _busiest(np.bincount(np.concatenate([votes.winners, votes.losers]))):
        own = np.flatnonzero((votes.winners == item) | (votes.losers == item))
        winners, losers = (np.where(side[own] == item, m, side[own]) for side in (votes.winners, votes.losers))
        said = replace(
            votes,
            items=[*board.items, f"{board.items[item]} again"],
            winners=np.concatenate([votes.winners, winners]).astype(np.int32),
            losers=np.concatenate([votes.losers, losers]).astype(np.int32),
            ties=np.concatenate([whole.ties, votes.ties[own]]),
            weights=np.concatenate([votes.weights, votes.weights[own]]),
        )
        rows.append(_change(board, None, board.items[item], len(own), leave=int(item), votes=said))
    table = _table(rows, "item").rename({"left out": "entered twice"})
    changed = table.filter(pl.col("places") > 0)
    if changed.is_empty():
        return Probe(name, question, "no: the order of others is the same with a copy of any item", None, {}, table)
    row = changed.row(0, named=True)
    answer = f"{count_text(changed.height, 'item')} of {table.height} would move others; {row['entered twice']} moves "
    answer += f"{row['moved']} by {count_text(row['places'], 'place')}"
    return Probe(name, question, answer, None, {"items": changed.height}, table)


def without_third(board: VoteBoard) -> Probe:
    """Return changes without each third of the votes by time."""
    name, question = "without-third", "What changes without one third of the time?"
    votes = board.votes
    if votes.times is None or int(votes.times[-1]) < 2:
        said = "not known: the log does not say when votes were cast"
        return Probe(name, question, said, unknown="no times")
    cuts = votes.times[[len(votes) // 3, 2 * len(votes) // 3]]
    group = np.searchsorted(cuts, votes.times, side="right")
    table = _left_out(board, group, ["first third", "second third", "last third"], "third")
    return Probe(name, question, _largest(board, table, "third"), None, {}, table)


def drifting(board: VoteBoard) -> Probe:
    """Return whether items win more, or less, after some quarter of the log than before it."""
    name, question = "drift", "Do strengths change with time?"
    found = drift(board.source.frame, len(board.votes), board.counts)
    if found is None:
        said = "not known: the log does not say when votes were cast, or has one time alone"
        return Probe(name, question, said, unknown="no times")
    names = ("item", "since", "change", "before", "after", "p")
    rows = [[getattr(one, name) for name in names] for one in found.items]
    types = (pl.String, pl.String, pl.Float64, pl.Float64, pl.Float64, pl.Float64)
    table = pl.DataFrame(rows, dict(zip(names, types, strict=True)), orient="row")
    p = min(found.items[0].p, 1.0) if found.items else 1.0
    first = [f"{one.item} changes by {one.change:+.2f} log-odds from {one.since} on" for one in found.items[:1]]
    facts = {"items": table["item"].to_list()}
    finding = first[0] if first else "no item changes"
    return Probe(name, question, str(found), p, facts, table, finding=finding, acts=option("over", "time"))


def clustering(board: VoteBoard) -> Probe:
    """Return the correlation of votes of one judge, and whether scores differ between judges by more than chance.

    The test is that of ``aggregate --by judge --pool``: judges of votes are exchanged at random. Variances by judge
    stand beside variances by vote.
    """
    name, question = "clustering", "Are votes of one judge alike?"
    method, loaded, votes = board.method, board.loaded, board.votes
    if votes.judges is None or votes.judge_count < 2:
        return Probe(name, question, _NO_JUDGES, unknown=_unjudged(votes))
    said, found, ratio = list[str](), largest_misfits(board), None
    counted = isinstance(method, CountAggregator) and isinstance(method, WithCovariance)
    if counted and loaded.by_judge:
        scores, scales = board.ranking.scores, board.ranking.scales
        clustered = loaded.covariance(method, scores)[0]
        reference = reference_items(clustered, scales, has_interval(loaded.units))
        by_judge, by_vote = (
            relative_covariance(one, scales, reference).diagonal()[board.compared]
            for one in (clustered, covariance_of(method, board.counts, scores, votes.single()))
        )
        ratio = float(np.median(by_judge[by_vote > 0] / by_vote[by_vote > 0]))
        said.append(f"variances of scores by judge are {significant(ratio, 2)} times those by vote")
        if ratio > 1:
            said[0] += f": {votes.count:,} votes say as much as {round(votes.count / ratio):,} independent ones"
    if loaded.few_judges is not None:
        said.append(too_few_judges_note(loaded.few_judges))
    if found is not None:
        said.append(f"tastes of judges have a standard deviation of {significant(found.taste, 2)} log-odds")
    p = None
    try:
        # As if judges were categories, whose votes are independent.
        log = category_votes(board.source.frame.with_columns(query_id=pl.col("judge")).drop("judge"))
        pooled = method if counted and method.score_unit() == "log-odds" else get(Aggregator, MODEL)
        tested = categories_matter(log, pooled, board.seed)
    except (ContenderDiverged, InputError, SpecError) as error:
        said.append(f"not tested: {error}")
    else:
        p = tested.p
        how = f"p = {significant(p, 2)}, {tested.trials} random exchanges of the judges of votes"
        more = "scores differ between judges by more than chance explains"
        said.append(f"{more if p <= _LEVEL else 'chance may explain how scores differ between judges'} ({how})")
    facts = {"ratio": ratio, "taste": None if found is None else found.taste}
    finding = None if p is None else "scores differ between judges"
    acts = options(by=board.source.columns.get("judge", "judge"), pool="")
    return Probe(name, question, "; ".join(said), p, facts, finding=finding, acts=acts)


def _open_without(board: VoteBoard, keep: Filter, name: str) -> str:
    """Return a text on the number of items that may be first in the ranking of the votes kept by a filter."""
    if board.ranking.first is None:
        return ""
    try:
        frame, _ = keep.applied(board.source.frame, board.source.table, None)
        source = replace(board.source, frame=frame, parquet=None)
        loaded, intervals = load_log(source, board.method, "auto")
        ranking = rank(loaded, board.method, intervals=intervals, seed=board.seed)
    except (ContenderDiverged, InputError, SpecError):  # too little is left
        return ""
    if ranking.first is None:
        return ""
    left = replace(board, source=source, votes=load_votes(source.frame), loaded=loaded, ranking=ranking)
    said = f"without {name}, {count_text(len(left.may_be_first), 'item')} may be first"
    return f"; {said} ({len(board.may_be_first)} with it)"


def _busiest(votes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the groups with the most votes, 200 at most, in order."""
    return np.sort(np.lexsort((np.arange(len(votes)), -votes))[:_MOST])


def _left_out(board: VoteBoard, group: NDArray[np.integer], names: Sequence[str], noun: str) -> pl.DataFrame:
    def rows() -> Iterator[dict[str, object]]:
        for one in _busiest(np.bincount(group, minlength=len(names))):
            kept = np.flatnonzero(group != one)
            yield _change(board, kept, names[one], len(group) - len(kept))

    return _table(list(rows()), noun)


_TYPES = {
    "left out": pl.String, "votes": pl.Int64, "first": pl.String, "moved": pl.String, "place": pl.Int64,
    "new place": pl.Int64, "places": pl.Int64,
}  # fmt: skip


def _table(rows: Sequence[dict[str, object]], noun: str) -> pl.DataFrame:
    """Return a row for each that is left out, the largest change of a place first."""
    return pl.DataFrame(rows, _TYPES).sort("places", "votes", descending=[True, True], maintain_order=True)


def _change(
    board: VoteBoard,
    kept: NDArray[np.int64] | None,
    name: str,
    gone: int,
    *,
    leave: int = -1,
    votes: Votes | None = None,
) -> dict[str, object]:
    """Return the changes with some of the votes: the first item, and the item that moves most among the others."""
    row: dict[str, object] = {"left out": name, "votes": gone, "places": 0}
    votes = votes or board.votes
    said, m = votes.comparisons(kept), len(votes.items)
    try:
        judged = votes.counts(kept) if isinstance(board.method, CountAggregator) else said
        scores = call_aggregator(board.method, judged, m)
    except (ContenderDiverged, InputError):  # too little is left
        return row
    there = np.zeros(m, np.bool_)
    there[said.winners] = there[said.losers] = True
    others = board.compared[(board.compared != leave) & there[board.compared]]
    if len(others) < 2:
        return row
    order = others[np.argsort(-scores[others], kind="stable")]
    new = {int(item): at + 1 for at, item in enumerate(order)}
    moves = [new[int(item)] - at for at, item in enumerate(others, 1)]
    most = int(np.argmax(np.abs(moves)))
    item = int(others[most])
    row |= {"first": board.items[order[0]], "places": abs(moves[most])}
    return row | ({"moved": board.items[item], "place": most + 1, "new place": new[item]} if moves[most] else {})


def _largest(board: VoteBoard, table: pl.DataFrame, noun: str) -> str:
    """Return whose absence changes the first place, and the largest change of a place."""
    first = board.items[board.first]

    def shown(name: object) -> str:
        return f"judge {name}" if noun == "judge" else str(name)

    changed = table.filter((pl.col("first") != first) & (pl.col("left out") != first))["left out"].to_list()
    said = f"{first} stays first without any {noun}"
    if changed:
        said = (
            f"{first} is not first without {shown(changed[0]) if len(changed) == 1 else count_text(len(changed), noun)}"
        )
        said += f" ({shown(changed[0])} among them)" if len(changed) > 1 else ""
    row = table.row(0, named=True) if table.height else {"places": 0}
    if not row["places"]:
        return f"{said}, and no item moves"
    moved = f"{row['moved']} from place {row['place']} to {row['new place']}"
    return f"{said}; the largest change is {moved} without {shown(row['left out'])}"
