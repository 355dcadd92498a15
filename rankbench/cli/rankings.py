"""Rankings become answers: items, effects, categories side by side, shares of wins, scores over time, systems."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, Literal, TypeAlias

import polars as pl

from rankbench.cli.output import standard_output, terminal_width
from rankbench.cli.shown import Answer, Format, Table
from rankbench.core.text import amount_text, count_text, first_of, number, place_range_text
from rankbench.data.readers.remote import shown_log
from rankbench.ranking.aggregate import Aggregation, first_items
from rankbench.ranking.over_time import ScoresOverTime
from rankbench.ranking.pictures import intervals_words, judgments_text
from rankbench.ranking.rankings_across import RankingsAcross, pair_shares, rankings_across
from rankbench.stats.contrasts import FEWER_FIRST
from rankbench.systems.read_scores import ScoresRead
from rankbench.systems.score_ranking import ScoreRanking
from rankbench.systems.score_sample import cells_table

AcrossCells: TypeAlias = Literal["ranks", "scores"]

MOST_ON_A_PAGE = 12
"""Categories of a table for people: more columns than that are not read side by side."""

PAIRED_ON_A_PAGE = 60
"""Items of the shares of wins on an HTML page, the first ones."""

_GAP = 2
_WINNERS_SHOWN = 10
_LEVEL = 0.05


def ranking_answer(ranked: Aggregation, top: int | None, log: str) -> Answer:
    """Return a ranking, with the effects of covariates below it where there are some."""
    found = first_items(ranked, top)
    tables = [_ranking_table(found)]
    return Answer(
        lambda: _ranking_record(found, found.sha256()),
        tables if found.effects is None else [*tables, _effects_table(found)],
        frame=_honest(found),
        notes=found.notes,
        below=(said_of(found, marks=True), *_first_explained(ranked.table), *found.notes),
        title=f"Ranking from {PurePath(shown_log(log)).name}",
        drawing=None if "query" in found.table.columns else lambda: ranked.drawing(top),
    )


def said_of(found: Aggregation, *, places: bool = True, marks: bool = False) -> str:
    """Return in a line which method made a ranking, of how much, and what its scores, `places` and `marks` mean."""
    facts = found.facts
    unit = f"; scores in {facts['unit']}" if facts["unit"] else ""
    unit += f"; winners: {first_of(facts['winners'], _WINNERS_SHOWN)}" if "winners" in facts else ""
    how = "; places by score: --intervals shows how certain they are"
    if facts["intervals"]:
        how = f"; 95% intervals ({intervals_words(facts)}) of each score alone, ranks of all together"
    if marks and (first := facts.get("may_be_first")):
        how += f"; {_first_text(first, 'item')}{' of scale 1' * (facts['scales'] > 1)}"
    elif marks and facts["intervals"]:
        how += "; *: may be first"
    return f"{found.method}: {judgments_text(facts)}{unit}{how if places else ''}"


def _first_text(names: list[str], noun: str) -> str:
    """Return how many may be first, or which one alone, and their mark."""
    who = f"{names[0]} alone" if len(names) == 1 else count_text(len(names), noun)
    return f"{who} may be first (*)"


def _first_explained(table: pl.DataFrame) -> list[str]:
    """Return why items have ranks from 1 and yet may not be first, where there are some."""
    if table.filter(rank_low=1, may_be_first=False).is_empty():
        return []
    return [FEWER_FIRST]


def _place(found: Aggregation) -> str:
    """Return what places are called: without intervals they are no ranks that something may hold."""
    return "rank" if found.facts["intervals"] else "place"


def _honest(found: Aggregation) -> pl.DataFrame:
    """Return the table; without intervals its places are called places by score, and none may be first."""
    if found.facts["intervals"]:
        return found.table
    table = found.table.drop("may_be_first")
    return table.rename({name: name.replace("rank_", "place_") for name in table.columns})


def _ranking_record(found: Aggregation, sha256: str | None) -> dict[str, Any]:
    facts = found.facts
    intervals = None
    if facts["intervals"]:
        intervals = {
            "kind": facts["intervals"], "over": facts["sampled"], "level": 0.95, "scores": "each alone",
            "ranks": "all together", "resamples": facts["resamples"], "seed": facts["seed"],
        }  # fmt: skip
    return {
        "method": found.method,
        "data": {"sha256": sha256, "n": facts["n"]},
        "seed": facts["seed"],
        "intervals": intervals,
        "units": {"score": facts["unit"] or None, "votes": facts["votes"], "wins": facts["wins"]},
        **({"pool": facts["pool"]} if "pool" in facts else {}),
        **({"filter": facts["filter"]} if "filter" in facts else {}),
        "notes": list(found.notes),
        "items": _honest(found).to_dicts(),
    } | ({} if found.effects is None else {"effects": found.effects.to_dicts()})


def _ranking_table(found: Aggregation) -> Table:
    """Return a ranking for people: intervals and scales only where there are some."""
    table, facts, place, decimals = found.table, found.facts, _place(found), _decimals(found.facts)
    columns: list[tuple[bool, str, Callable[[dict[str, Any]], str]]] = [
        ("query" in table.columns, facts.get("by") or "query", lambda row: row["query"]),
        (True, place, _rank),
        (True, "item", lambda row: row["item"]),
        (True, "score", lambda row: number(row["score"], decimals)),
        (table["lower"].null_count() < table.height, "95% interval", lambda row: interval_cell(row, decimals)),
        (True, facts["votes"], lambda row: amount_text(row["votes"])),
        (True, facts["wins"], lambda row: amount_text(row["wins"])),
        (table["scale"].n_unique() > 1, "scale", lambda row: str(row["scale"])),
    ]
    if "unadjusted_score" in table.columns:
        columns += [
            (True, "unadjusted score", lambda row: number(row["unadjusted_score"], decimals)),
            (True, f"unadjusted {place}", lambda row: _rank(row, "unadjusted_")),
        ]
    shown = [(name, cell) for there, name, cell in columns if there]
    rows = ([cell(row) for _, cell in shown] for row in table.iter_rows(named=True))
    words = (0, 2) if "query" in table.columns else (1,)
    return Table([name for name, _ in shown], rows, words, said_of(found, marks=True))


def _decimals(facts: dict[str, Any]) -> int:
    """Return the decimals of scores for people: one of Elo points, which are hundreds."""
    return 1 if facts["unit"].startswith("Elo points") else 4


def _rank(row: dict[str, Any], which: str = "") -> str:
    low, high = row[f"{which}rank_low"], row[f"{which}rank_high"]
    return place_range_text(low, high, first=row.get(f"{which}may_be_first"))


def interval_cell(row: dict[str, Any], decimals: int = 4) -> str:
    """Return the ends of an interval; a dash without one."""
    lower, upper = (math.nan if row[name] is None else row[name] for name in ("lower", "upper"))
    return "—" if math.isnan(lower) else f"{number(lower, decimals)} to {number(upper, decimals)}"


def effects_answer(found: Aggregation) -> Answer:
    """Return the effects of covariates alone."""
    if found.effects is None:
        raise TypeError("a ranking without covariates has no effects")
    record = {"method": found.method, "effects": found.effects.to_dicts()}
    table = _effects_table(found, said_of(found))
    return Answer(record, [table], frame=found.effects, notes=found.notes)


def _effects_table(found: Aggregation | ScoresOverTime, title: str = "") -> Table:
    effects = pl.DataFrame() if found.effects is None else found.effects
    queries = ["query"] * ("query" in effects.columns)
    names = [found.facts.get("by") or "query"] * len(queries)
    rows = [
        [
            *(row[name] for name in queries),
            row["covariate"],
            number(row["effect"]),
            interval_cell(row),
            f"{row['unit']:.4g}",
            row["words"],
        ]
        for row in effects.iter_rows(named=True)
    ]
    columns = [*names, "covariate", "effect (log-odds)", "95% interval", "of", "in words"]
    return Table(columns, rows, (*range(len(queries) + 1), len(columns) - 1), title)


def across_answer(found: Aggregation, cells: AcrossCells, top: int | None, form: Format) -> Answer:
    """Return rankings of categories side by side: people see the largest, programs all.

    CSV and Parquet have a column for each category: its scores, or ``NAME rank_low`` and ``NAME rank_high``, without
    intervals ``NAME place_low`` and ``NAME place_high``.
    """
    across = rankings_across(found, top)
    title = said_of(found, places=cells == "ranks", marks=True)
    table = across_table(across, cells, title, fitted=form == "table" and standard_output().isatty())
    shown = len(table.columns) - 1
    every = len(across.categories)
    left = [f"the table has {shown} of {every} categories, the largest; --format csv has all"]
    left *= shown < every
    columns = [pl.Series(_unlike("item", across.categories), across.items, pl.String)]
    for at, name in enumerate(across.categories):
        if cells == "scores":
            columns.append(pl.Series(name, across.scores[:, at]).fill_nan(None))
            continue
        for side, end in enumerate(("low", "high")):
            column = pl.Series(f"{name} {_place(found)}_{end}", across.ranks[:, at, side])
            columns.append(column.set(column == 0, None))
    return Answer(
        lambda: _across_record(found, across),
        [table],
        frame=pl.DataFrame(columns),
        notes=[*found.notes, *(left if form == "table" else ())],
        below=[*left, *found.notes],
    )


def across_table(across: RankingsAcross, cells: AcrossCells, title: str, *, fitted: bool) -> Table:
    """Return the table of the first categories, fitted to a terminal or not; a dash where an item is missing."""
    columns = ["item", *across.categories[:MOST_ON_A_PAGE]]
    count, rows = len(columns) - 1, []
    for item, ranks, scores in zip(across.items, across.ranks.tolist(), across.scores.tolist(), strict=True):
        texts = [number(score) for score in scores[:count]]
        if cells == "ranks":
            texts = [place_range_text(*cell[:2], first=cell[2] == 1) if cell[0] else "—" for cell in ranks[:count]]
        rows.append([item, *texts])
    if fitted:
        widths = [max(len(row[at]) for row in (columns, *rows)) + _GAP for at in range(len(columns))]
        room = terminal_width()
        count = max(1, sum(sum(widths[: at + 2]) - _GAP <= room for at in range(count)))
    return Table(columns[: count + 1], [row[: count + 1] for row in rows], (0,), title)


def _unlike(name: str, others: list[str]) -> str:
    """Return a name for a column beside others."""
    while name in others:
        name += "_"
    return name


def _across_record(found: Aggregation, across: RankingsAcross) -> dict[str, Any]:
    rows, place = [], _place(found)
    for item, ranks, scores in zip(across.items, across.ranks.tolist(), across.scores.tolist(), strict=True):
        there = {
            name: {"score": score, f"{place}_low": low, f"{place}_high": high}
            for name, (low, high, _), score in zip(across.categories, ranks, scores, strict=True)
            if not math.isnan(score)
        }
        rows.append({"item": item, "categories": there})
    judged = zip(across.categories, across.judged.tolist(), strict=True)
    return {
        "method": found.method,
        "intervals": found.facts["intervals"],
        "categories": [{"name": name, "votes": votes} for name, votes in judged],
        "items": rows,
        "notes": list(found.notes),
    }


def matrix_answer(found: Aggregation, top: int | None) -> Answer:
    """Return the share of wins of each item (row) against each other (column); a dash: they were never compared."""
    items, shares = pair_shares(found, top)
    values = [[None if math.isnan(share) else share for share in row] for row in shares.tolist()]
    by_item = {item: dict(zip(items, row, strict=True)) for item, row in zip(items, values, strict=True)}
    cells = ([item, *("—" if share is None else f"{share:.2f}" for share in by_item[item].values())] for item in items)
    columns = [pl.Series(item, [row[at] for row in values], pl.Float64) for at, item in enumerate(items)]
    title = f"{found.method}: share of wins of the row against the column"
    return Answer(
        {"share_of_wins": by_item},
        [Table(["", *items], cells, (0,), title)],
        frame=pl.DataFrame([pl.Series(_unlike("item", items), items, pl.String), *columns]),
        notes=found.notes,
    )


def per_task_answer(found: ScoresRead) -> Answer:
    """Return the score of each system on each task, as it was read."""
    table, notes = cells_table(found.table), found.notes
    rows = ([*(str(row[name]) for name in table.columns[:-1]), number(row["score"])] for row in table.to_dicts())
    return Answer(
        lambda: {"sha256": found.sha256, "loss": found.loss or None, "notes": notes, "scores": table.to_dicts()},
        [Table(table.columns, rows, (0, 1))],
        frame=table,
        notes=notes,
        below=notes,
        title="Scores by task",
    )


def systems_answer(found: ScoreRanking) -> Answer:
    """Return rankings of the systems of a score table side by side: all of the first method, less of the others.

    Of one system there is its score alone.
    """
    first, *others = found.table.partition_by("method", maintain_order=True)
    if first.height == 1:
        return _alone_answer(found, first)
    columns = ["rank", "tier", "system", first["method"][0], "95% interval", "P(first)"]
    columns.append(f"P(top {found.facts['top_k']})")
    columns += [name for other in others for name in (other["method"][0], "rank")]
    by_name = [{row["system"]: row for row in other.iter_rows(named=True)} for other in others]
    rows = []
    for row in first.iter_rows(named=True):
        cells = [_rank(row), str(row["tier"]), row["system"], number(row["score"])]
        cells += [
            "" if row["lower"] is None else interval_cell(row),
            f"{row['p_first']:.3f}",
            f"{row['p_top_k']:.3f}",
        ]
        for other in by_name:
            cells += [number(other[row["system"]]["score"]), _rank(other[row["system"]])]
        rows.append(cells)
    best = _first_text(first.filter("may_be_first")["system"].to_list(), "system")
    title = f"{first['method'][0]}: {best}; 95% intervals of each score alone, ranks of all together"
    return Answer(
        found.as_dict,
        [Table(columns, rows, (2,), title)],
        frame=found.table,
        notes=found.notes,
        below=(title, *_first_explained(first), *found.notes),
        title="Ranking of systems",
        drawing=found.drawing,
    )


def _alone_answer(found: ScoreRanking, table: pl.DataFrame) -> Answer:
    """Return the score of one system, which has no rank."""
    title = "one system, without a comparison; a 95% interval of its score"
    row = table.row(0, named=True)
    cells = [row["system"], number(row["score"]), "" if row["lower"] is None else interval_cell(row)]
    shown = Table(["system", row["method"], "95% interval"], [cells], (0,), title)
    below = (title, *found.notes)
    return Answer(found.as_dict, [shown], frame=found.table, notes=found.notes, below=below, title="Score of a system")


def history_answer(found: ScoresOverTime, top: int | None, log: str) -> Answer:
    """Return what is so now and what changed; CSV and Parquet have a row for each time and item."""
    now, facts = found.now.head(top or found.now.height), found.facts
    table = found.table.join(now.select("item"), on="item", how="semi", maintain_order="left")
    title = f"{found.method}: {count_text(facts['n'], 'vote')}; {facts['now']}, and the change since {facts['then']}"
    title += f"; {_first_text(found.now.filter('may_be_first')['item'].to_list(), 'item')}"

    def record() -> dict[str, Any]:
        return {
            "method": found.method,
            "data": {"sha256": found.sha256(), "n": facts["n"]},
            "seed": facts["seed"],
            "time": {name: facts[name] for name in ("time_unit", "times", "then", "now")},
            "grid": facts["grid"],
            "units": {"score": facts["unit"] or None},
            "notes": list(found.notes),
            "items": now.to_dicts(),
            "over_time": table.to_dicts(),
        } | ({} if found.effects is None else {"effects": found.effects.to_dicts()})

    columns = ["rank", "item", "score", "95% band", f"change since {facts['then']}", "95%, all together"]
    columns += ["changed", "last", "votes"]
    shown = Table(columns, map(_now_cells, now.iter_rows(named=True)), (1,), title)
    return Answer(
        record,
        [shown] if found.effects is None else [shown, _effects_table(found)],
        frame=table,
        notes=found.notes,
        below=(title, *_first_explained(found.now), *found.notes),
        title=f"Scores over time from {PurePath(shown_log(log)).name}",
        drawing=lambda: found.drawing(top),
    )


def _now_cells(row: dict[str, Any]) -> list[str]:
    place = "—" if row["rank_low"] is None else _rank(row)
    cells = [place, row["item"], number(row["score"]), f"{number(row['lower'])} to {number(row['upper'])}"]
    if row["change"] is None:
        cells += ["—", "—", "not known"]
    else:
        cells += [f"{row['change']:+.4g}", f"{number(row['change_lower'])} to {number(row['change_upper'])}"]
        sure = row["p"] <= _LEVEL
        cells.append(("better" if row["change"] > 0 else "worse") if sure else "not significant")
    return [*cells, row["last"], amount_text(row["votes"])]
