"""Rankings become answers: items, effects, categories side by side, shares of wins, scores over time, systems."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import polars as pl

from rankbench.cli.forms import Format
from rankbench.cli.headlines import (
    categories_headline,
    decimal_text,
    decimals_of,
    effects_headline,
    history_headline,
    matrix_headline,
    more_text,
    ranking_headline,
    share_text,
    systems_headline,
    tasks_headline,
)
from rankbench.cli.output import standard_output, terminal_width
from rankbench.cli.shown import Answer, Table
from rankbench.core.text import amount_text, first_of, place_range_text
from rankbench.drawing.canvas import TitledDrawing
from rankbench.errors import option
from rankbench.ranking.aggregation import Aggregation, first_items
from rankbench.ranking.over_time import ScoresOverTime
from rankbench.ranking.pictures import categories_drawing, intervals_words
from rankbench.ranking.ranking_table import LEVEL
from rankbench.ranking.rankings_across import RankingsAcross, counted_pairs, pair_shares, rankings_across
from rankbench.systems.read_scores import ScoresRead
from rankbench.systems.score_ranking import ScoreRanking
from rankbench.systems.score_sample import cells_table

AcrossCells: TypeAlias = Literal["ranks", "scores"]

MOST_ON_A_PAGE = 12
"""Categories of a table for people: more columns than that are not read side by side."""

PAIRED_ON_A_PAGE = 60
"""Items of the shares of wins on an HTML page, the first ones."""

PAIRED_ON_A_SCREEN = 10
"""Items of the shares of wins on a terminal, the first ones."""

_GAP = 2
_WINNERS_SHOWN = 10


def ranking_answer(ranked: Aggregation, top: int | None, audit: str) -> Answer:
    """Return a ranking, with the effects of covariates below it, if any."""
    found = first_items(ranked, top)
    tables = [_ranking_table(found)]
    return Answer(
        lambda: record_of(found, intervals=_intervals_record(found), items=_honest(found).to_dicts()),
        ranking_headline(ranked),
        tables if found.effects is None else [*tables, _effects_table(found)],
        footnotes=[*more_text(found.table.height, ranked.table.height), *footnotes_of(found)],
        next=_next(ranked, audit),
        frame=_honest(found),
        drawing=(lambda: _categories_drawing(ranked))
        if "query" in found.table.columns
        else lambda: ranked.drawing(top),
    ).noted(found.notes)


def _next(found: Aggregation, audit: str) -> list[str]:
    """Return the next commands: an audit, and the difference of the first two items that have intervals.

    Of categories they stand side by side.
    """
    if "query" in found.table.columns:
        return ["--across"] * found.table["item"].is_duplicated().any() + ["--out board.html"]
    if found.table.height < 2:
        return []
    if not found.facts["intervals"]:
        return ["--intervals"]
    votes = found.facts["votes"] == "votes"
    known = found.table.filter(pl.col("lower").is_not_null())["item"].head(2).to_list()
    between = [shlex.join(["--between", *known])] * (len(known) == 2)
    return [*[audit] * votes, *between, "--out board.html"]


def footnotes_of(found: Aggregation, *, score: bool = True) -> list[str]:
    """Return notes on the marks, ranks and scores of a ranking."""
    facts, unit = found.facts, found.facts["unit"]
    said = "Place: by score."
    if facts["intervals"]:
        said = f"* may be first. Ranks hold together, intervals each alone (95%, {intervals_words(facts)})."
    winners = [f"Winners: {first_of(facts['winners'], _WINNERS_SHOWN)}."] if "winners" in facts else []
    odds = "; a score higher by 1 wins 73%" if unit == "log-odds" else ""
    return [said, *winners, *[f"Score: {found.method}{f', {unit}' * bool(unit)}{odds}."] * score]


def _place(found: Aggregation) -> str:
    """Return the name of places: ``rank`` with intervals, else ``place``."""
    return "rank" if found.facts["intervals"] else "place"


def _honest(found: Aggregation) -> pl.DataFrame:
    """Return the table; without intervals its places are called places by score, and none may be first."""
    if found.facts["intervals"]:
        return found.table
    table = found.table.drop("may_be_first")
    return table.rename({name: name.replace("rank_", "place_") for name in table.columns})


def record_of(found: Aggregation | ScoresOverTime, **own: object) -> dict[str, object]:
    """Return an answer on a log for JSON: the facts that every form has, with those of one form."""
    facts = found.facts
    return {
        "method": found.method,
        "data": {"sha256": found.sha256(), "n": facts["n"]},
        "seed": facts["seed"],
        "units": {"score": facts["unit"] or None} | {name: facts[name] for name in ("votes", "wins") if name in facts},
        **{name: facts[name] for name in ("pool", "filter") if name in facts},
        "notes": list(found.notes),
        **own,
        **({} if found.effects is None else {"effects": found.effects.to_dicts()}),
    }


def _intervals_record(found: Aggregation) -> dict[str, object] | None:
    facts = found.facts
    if not facts["intervals"]:
        return None
    return {
        "kind": facts["intervals"], "over": facts["sampled"], "level": 0.95, "scores": "each alone",
        "ranks": "all together", "resamples": facts["resamples"], "seed": facts["seed"],
    }  # fmt: skip


def _ranking_table(found: Aggregation) -> Table:
    """Return a ranking for people, with intervals and scales if there are some."""
    table, facts, place = found.table, found.facts, _place(found)
    decimals = decimals_of(table.select("score", "lower", "upper").to_dicts())
    columns: list[tuple[bool, str, Callable[[dict[str, Any]], str]]] = [
        ("query" in table.columns, facts.get("by") or "query", lambda row: row["query"]),
        (True, place, _rank),
        (True, "item", lambda row: row["item"]),
        (True, "score", lambda row: decimal_text(row["score"], decimals)),
        (table["lower"].null_count() < table.height, "95% interval", lambda row: interval_cell(row, decimals)),
        (True, facts["votes"], lambda row: amount_text(row["votes"])),
        (True, "won" if facts["wins"] == "wins" else facts["wins"], share_text),
        (table["scale"].n_unique() > 1, "scale", lambda row: str(row["scale"])),
    ]
    if "unadjusted_score" in table.columns:
        columns += [
            (True, "unadjusted score", lambda row: decimal_text(row["unadjusted_score"], decimals)),
            (True, f"unadjusted {place}", lambda row: _rank(row, "unadjusted_")),
        ]
    shown = [(name, cell) for there, name, cell in columns if there]
    rows = ([cell(row) for _, cell in shown] for row in table.iter_rows(named=True))
    words = (0, 2) if "query" in table.columns else (1,)
    return Table([name for name, _ in shown], rows, words)


def _rank(row: dict[str, Any], which: str = "") -> str:
    low, high = row[f"{which}rank_low"], row[f"{which}rank_high"]
    return place_range_text(low, high, first=row.get(f"{which}may_be_first"))


def interval_cell(row: dict[str, Any], decimals: int) -> str:
    """Return the ends of an interval; a dash without one."""
    lower, upper = (math.nan if row[name] is None else row[name] for name in ("lower", "upper"))
    return "—" if math.isnan(lower) else f"{decimal_text(lower, decimals)} to {decimal_text(upper, decimals)}"


def effects_answer(found: Aggregation) -> Answer:
    """Return the effects of covariates alone."""
    if found.effects is None:
        raise TypeError("a ranking without covariates has no effects")
    return Answer(
        lambda: record_of(found),
        effects_headline(found.effects),
        [_effects_table(found)],
        [f"Effects by {found.method}."],
        frame=found.effects,
    ).noted(found.notes)


def _effects_table(found: Aggregation | ScoresOverTime) -> Table:
    effects = pl.DataFrame() if found.effects is None else found.effects
    decimals = decimals_of(effects.to_dicts(), "effect")
    queries = ["query"] * ("query" in effects.columns)
    names = [found.facts.get("by") or "query"] * len(queries)
    rows = [
        [
            *(row[name] for name in queries),
            row["covariate"],
            decimal_text(row["effect"], decimals),
            interval_cell(row, decimals),
            f"{row['unit']:.4g}",
            row["words"],
        ]
        for row in effects.iter_rows(named=True)
    ]
    columns = [*names, "covariate", "effect (log-odds)", "95% interval", "of", "in words"]
    return Table(columns, rows, (*range(len(queries) + 1), len(columns) - 1))


def across_answer(found: Aggregation, cells: AcrossCells, top: int | None, form: Format) -> Answer:
    """Return rankings of categories side by side: people see the largest, programs all.

    CSV and Parquet have a column for each category: its scores, or ``NAME rank_low`` and ``NAME rank_high``, without
    intervals ``NAME place_low`` and ``NAME place_high``.
    """
    across = rankings_across(found, top)
    table = across_table(across, cells, fitted=form == "table" and standard_output().isatty())
    shown = len(table.columns) - 1
    every = len(across.categories)
    left = [f"The table has {shown} of {every} categories, the largest; --format csv has all."]
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
        categories_headline(found),
        [table],
        footnotes=[*left * (form in ("table", "md", "html")), *footnotes_of(found, score=cells == "scores")],
        frame=pl.DataFrame(columns),
        drawing=lambda: _categories_drawing(found),
    ).noted(found.notes)


def _categories_drawing(found: Aggregation) -> TitledDrawing:
    across = rankings_across(found)
    return categories_drawing(found.table, found.method, found.facts, across.items, across.categories)


def across_table(across: RankingsAcross, cells: AcrossCells, *, fitted: bool) -> Table:
    """Return the table of the first categories, fitted to a terminal or not; a dash where an item is missing."""
    columns = ["item", *across.categories[:MOST_ON_A_PAGE]]
    count, rows = len(columns) - 1, []
    decimals = decimals_of([{"score": score} for score in across.scores.ravel().tolist()])
    for item, ranks, scores in zip(across.items, across.ranks.tolist(), across.scores.tolist(), strict=True):
        texts = [decimal_text(score, decimals) for score in scores[:count]]
        if cells == "ranks":
            texts = [place_range_text(*cell[:2], first=cell[2] == 1) if cell[0] else "—" for cell in ranks[:count]]
        rows.append([item, *texts])
    if fitted:
        widths = [max(len(row[at]) for row in (columns, *rows)) + _GAP for at in range(len(columns))]
        room = terminal_width()
        count = max(1, sum(sum(widths[: at + 2]) - _GAP <= room for at in range(count)))
    return Table(columns[: count + 1], [row[: count + 1] for row in rows], (0,))


def _unlike(name: str, others: list[str]) -> str:
    """Return a name for a column beside others."""
    while name in others:
        name += "_"
    return name


def _across_record(found: Aggregation, across: RankingsAcross) -> dict[str, object]:
    rows, place = [], _place(found)
    for item, ranks, scores in zip(across.items, across.ranks.tolist(), across.scores.tolist(), strict=True):
        there = {
            name: {"score": score, f"{place}_low": low, f"{place}_high": high}
            for name, (low, high, _), score in zip(across.categories, ranks, scores, strict=True)
            if not math.isnan(score)
        }
        rows.append({"item": item, "categories": there})
    judged = zip(across.categories, across.judged.tolist(), strict=True)
    categories = [{"name": name, "votes": votes} for name, votes in judged]
    return record_of(found, intervals=found.facts["intervals"], categories=categories, items=rows)


def matrix_answer(found: Aggregation, top: int | None, form: Format) -> Answer:
    """Return the share of wins of each item (row) against each other (column); a dash: they were never compared.

    A terminal has the first items, whose columns are headed by numbers, unless ``top`` asks for more.
    """
    counts, items = counted_pairs(found), found.table["item"].to_list()[:top]
    shares = pair_shares(counts, items)
    values = [[None if math.isnan(share) else share for share in row] for row in shares.tolist()]
    by_item = {item: dict(zip(items, row, strict=True)) for item, row in zip(items, values, strict=True)}
    fitted = top is None and form == "table" and standard_output().isatty()
    shown = items[:PAIRED_ON_A_SCREEN] if fitted else items
    heads = [str(place) for place in range(1, len(shown) + 1)] if fitted else shown
    names = [f"{place:>2}  {item}" for place, item in zip(heads, shown, strict=True)] if fitted else shown
    texts = (["—" if by_item[row][item] is None else f"{by_item[row][item]:.2f}" for item in shown] for row in shown)
    cells = ([name, *row] for name, row in zip(names, texts, strict=True))
    columns = [pl.Series(item, [row[at] for row in values], pl.Float64) for at, item in enumerate(items)]
    left = [f"{amount_text(len(items) - len(shown))} more: {option('top')}, {option('out', 'FILE.csv')}"]
    return Answer(
        lambda: record_of(found, share_of_wins=by_item),
        matrix_headline(counts, items[0]),
        [Table(["", *heads], cells, (0,), "Share of wins", shaded=True)],
        footnotes=[
            *left * (len(shown) < len(items)),
            "Share of wins of the row against the column, a tie being half of one; —: never compared.",
        ],
        frame=pl.DataFrame([pl.Series(_unlike("item", items), items, pl.String), *columns]),
    ).noted(found.notes)


def per_task_answer(found: ScoresRead) -> Answer:
    """Return the score of each system on each task, as read."""
    table, notes = cells_table(found.table), found.notes
    decimals = decimals_of(table.select("score").to_dicts())
    rows = (
        [*(str(row[name]) for name in table.columns[:-1]), decimal_text(row["score"], decimals)]
        for row in table.to_dicts()
    )
    return Answer(
        lambda: {"sha256": found.sha256, "loss": found.loss or None, "notes": notes, "scores": table.to_dicts()},
        tasks_headline(found),
        [Table(table.columns, rows, (0, 1))],
        frame=table,
    ).noted(notes)


def systems_answer(found: ScoreRanking) -> Answer:
    """Return rankings of the systems of a score table side by side: all of the first method, ranks of the others.

    Of one system there is its score alone.
    """
    first, *others = found.table.partition_by("method", maintain_order=True)
    alone = first.height == 1
    columns = ["system", first["method"][0], "95% interval"]
    columns = columns if alone else ["rank", "tier", *columns, "first in", f"top {found.facts['top_k']} in"]
    columns += [other["method"][0] for other in others]
    by_name = [{row["system"]: row for row in other.iter_rows(named=True)} for other in others]
    decimals = decimals_of(first.to_dicts())
    rows = []
    for row in first.iter_rows(named=True):
        interval = "" if row["lower"] is None else interval_cell(row, decimals)
        cells = [row["system"], decimal_text(row["score"], decimals), interval]
        cells = (
            cells if alone else [_rank(row), str(row["tier"]), *cells, f"{row['p_first']:.0%}", f"{row['p_top_k']:.0%}"]
        )
        rows.append([*cells, *(_rank(other[row["system"]]) for other in by_name)])
    others_by = f" Last columns: ranks by {' and '.join(columns[7:])}." * bool(others)
    marks = [f"* may be first. Ranks hold together, intervals each alone (95%).{others_by}"]
    return Answer(
        found.as_dict,
        systems_headline(found, first),
        [Table(columns, rows, (0 if alone else 2,))],
        footnotes=[] if alone else marks,
        next=[] if alone else [shlex.join(["--between", *first["system"].head(2)]), "--out board.html"],
        frame=found.table,
        drawing=None if alone else found.drawing,
    ).noted(found.notes)


def history_answer(found: ScoresOverTime, top: int | None) -> Answer:
    """Return current scores and changes; CSV and Parquet have a row for each time and item."""
    now, facts = found.now.head(top or found.now.height), found.facts
    table = found.table.join(now.select("item"), on="item", how="semi", maintain_order="left")
    times = {name: facts[name] for name in ("time_unit", "times", "then", "now")}
    columns = ["rank", "item", "score", "95% band", f"change since {facts['then']}", "95%, all together"]
    columns += ["changed", "last", "votes"]
    rows = now.to_dicts()
    decimals = decimals_of(rows)
    shown = Table(columns, [_now_cells(row, decimals) for row in rows], (1,))
    first = "* may be first now. Ranks hold together, bands each alone (95%)."
    return Answer(
        lambda: record_of(found, time=times, grid=facts["grid"], items=now.to_dicts(), over_time=table.to_dicts()),
        history_headline(found),
        [shown] if found.effects is None else [shown, _effects_table(found)],
        footnotes=[*more_text(now.height, found.now.height), first, f"Score: {found.method}, {facts['unit']}."],
        next=["--out board.html"],
        frame=table,
        drawing=lambda: found.drawing(top),
    ).noted(found.notes)


def _now_cells(row: dict[str, Any], decimals: int) -> list[str]:
    place = "—" if row["rank_low"] is None else _rank(row)
    ends = [(row[f"{what}lower"], row[f"{what}upper"]) for what in ("", "change_")]
    band, change = ({"lower": low, "upper": high} for low, high in ends)
    cells = [place, row["item"], decimal_text(row["score"], decimals), interval_cell(band, decimals)]
    if row["change"] is None:
        cells += ["—", "—", "not known"]
    else:
        cells += [decimal_text(row["change"], decimals, sign=True), interval_cell(change, decimals)]
        sure = row["p"] <= LEVEL
        cells.append(("better" if row["change"] > 0 else "worse") if sure else "not significant")
    return [*cells, row["last"], amount_text(row["votes"])]
