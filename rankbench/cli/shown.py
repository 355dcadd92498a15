"""One answer as table, CSV, Markdown, JSON, Parquet, picture."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rankbench.cli.output import standard_output, terminal_width
from rankbench.core.text import csv_cell, distinct, grouped_digits, markdown, number, one_line, place_range_text

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from rankbench.ranking.aggregate import Aggregation
    from rankbench.ranking.over_time import ScoresOverTime
    from rankbench.ranking.score_ranking import ScoreRanking


def table_lines(names: Sequence[str], rows: Iterable[Sequence[str]], worded: Collection[int]) -> list[str]:
    """Return the lines of a table.

    Parameters
    ----------
    names, rows : sequences of str
        Titles and cells, foreign words in them escaped.
    worded : collection of int
        Places of the columns that hold words and begin at the left; numbers end at the right.
    """
    rule = [":--" if place in worded else "--:" for place in range(len(names))]
    return ["| " + " | ".join(row) + " |" for row in (names, rule, *rows)]


def markdown_page(lines: Iterable[str], notes: Iterable[str]) -> bytes:
    """Return lines and the notes below them, a paragraph each."""
    return ("\n".join([*lines, *(f"\n{markdown(note)}" for note in notes)]) + "\n").encode()


Format: TypeAlias = Literal["csv", "parquet", "json", "md"]

SCHEMA_VERSION = 1
"""Of the JSON of a ranking."""


def encoded(found: Aggregation, form: Format, sha256: str | None = None) -> bytes:
    """Return a ranking in a format.

    Names are safe where they are read by more than a parser: in CSV and Markdown they have no
    control characters, and one that a spreadsheet would take for a formula begins with an
    apostrophe; names that would become the same have escapes instead. JSON (ASCII) and Parquet have them as they are.

    Parameters
    ----------
    found : Aggregation
    form : Format
    sha256 : str, optional
        Of the data, for JSON.
    """
    if form == "parquet":
        file = io.BytesIO()
        _honest(found).write_parquet(file)
        return file.getvalue()
    if form == "json":
        return f"{json.dumps(_record(found, sha256), indent=1, allow_nan=False)}\n".encode("ascii")
    if form == "csv":
        return _safe_names(_honest(found)).write_csv().encode()
    names, rows = score_cells(found)
    foreign = [name == "item" or (place == 0 and "query" in found.table.columns) for place, name in enumerate(names)]
    names[0] = markdown(names[0])
    for place, given in enumerate(foreign):
        if given:
            texts = distinct([row[place] for row in rows], one_line)
            for row in rows:
                row[place] = texts[row[place]]
    kept = [[markdown(cell) if given else cell for cell, given in zip(row, foreign, strict=True)] for row in rows]
    lines = table_lines(names, kept, [place for place, given in enumerate(foreign) if given])
    if found.effects is not None:
        lines += ["", *effect_lines(found)]
    return markdown_page(lines, (said_of(found), *found.notes))


def said_of(found: Aggregation) -> str:
    """Return in a line which method made a ranking, of how much, and what its scores are in."""
    facts = found.facts
    unit = f"; scores in {facts['unit']}" if facts["unit"] else ""
    how = "places by score: --intervals shows how certain they are"
    if facts["intervals"]:
        how = f"95% intervals ({facts['intervals']}) of each score alone, ranks of all together"
    return f"{found.method}: {grouped_digits(facts['n'])} judgments{unit}; {how}"


def _honest(found: Aggregation) -> pl.DataFrame:
    """Return the table; without intervals its places are called places by score, not ranks that something may hold."""
    if found.facts["intervals"]:
        return found.table
    renamed = [name for name in found.table.columns if "rank_" in name]
    return found.table.rename({name: name.replace("rank_", "place_") for name in renamed})


def _record(found: Aggregation, sha256: str | None) -> dict[str, Any]:
    facts = found.facts
    intervals = None
    if facts["intervals"]:
        intervals = {
            "kind": facts["intervals"], "level": 0.95, "scores": "each alone", "ranks": "all together",
            "resamples": facts["resamples"], "seed": facts["seed"],
        }  # fmt: skip
    shared: dict[str, Any] = {name: facts[name] for name in ("pool",) if name in facts}
    return {
        "schema_version": SCHEMA_VERSION,
        "method": found.method,
        "data": {"sha256": sha256, "n": facts["n"]},
        "seed": facts["seed"],
        "intervals": intervals,
        "units": {"score": facts["unit"] or None, "votes": facts["votes"], "wins": facts["wins"]},
        **shared,
        "notes": list(found.notes),
        "items": _honest(found).to_dicts(),
    } | ({} if found.effects is None else {"effects": found.effects.to_dicts()})


def score_cells(found: Aggregation) -> tuple[list[str], list[list[str]]]:
    """Return the columns and cells of a ranking for people; the scale only where there are several."""
    table, facts = found.table, found.facts
    known = table["lower"].null_count() < table.height
    several = table["scale"].n_unique() > 1
    query = [facts.get("by") or "query"] if "query" in table.columns else []
    place = "rank" if facts["intervals"] else "place"
    names = [*query, place, "item", "score", *(["95% interval"] if known else []), facts["votes"], facts["wins"]]
    names += ["scale"] if several else []
    before = "unadjusted_score" in table.columns
    names += ["unadjusted score", f"unadjusted {place}"] if before else []
    rows = []
    for row in table.iter_rows(named=True):
        cells = [row["query"]] if query else []
        cells += [place_range_text(row["rank_low"], row["rank_high"]), row["item"], number(row["score"])]
        if known:
            lower, upper = (math.nan if row[name] is None else row[name] for name in ("lower", "upper"))
            cells.append("—" if math.isnan(lower) else f"{number(lower)} to {number(upper)}")
        cells += [_count(row["votes"]), _count(row["wins"])]
        if several:
            cells.append(str(row["scale"]))
        if before:
            places = place_range_text(row["unadjusted_rank_low"], row["unadjusted_rank_high"])
            cells += [number(row["unadjusted_score"]), places]
        rows.append(cells)
    return names, rows


def _count(value: float) -> str:
    """Return a sum of weights: whole where it is whole."""
    return grouped_digits(round(value)) if value == round(value) else f"{value:,.1f}"


def _safe_names(table: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    names = [name for name in ("query", "item") if name in table.columns]
    columns = []
    for name in names:
        texts = distinct(table[name], csv_cell)
        columns.append(pl.Series(name, [texts[text] for text in table[name]]))
    return table.with_columns(columns)


if TYPE_CHECKING:
    import polars as pl

    from rankbench.ranking.aggregate import Aggregation
    from rankbench.ranking.rankings_across import RankingsAcross

    AcrossCells: TypeAlias = Literal["ranks", "scores"]


MOST_ON_A_PAGE = 12
"""Categories of a table for people: more columns than that are not read side by side."""

_GAP = 2


def across_cells(across: RankingsAcross, cells: AcrossCells, limit: int) -> tuple[list[str], list[list[str]]]:
    """Return columns and cells for people, of the first `limit` categories; a dash where an item is missing."""
    categories = distinct(across.categories, one_line)
    items = distinct(across.items, one_line)
    columns = ["item", *(categories[name] for name in across.categories[:limit])]
    rows = []
    for item, ranks, scores in zip(across.items, across.ranks.tolist(), across.scores.tolist(), strict=True):
        texts = [number(score) for score in scores[:limit]]
        if cells == "ranks":
            texts = [place_range_text(low, high) if low else "—" for low, high in ranks[:limit]]
        rows.append([items[item], *texts])
    return columns, rows


def shown_across(across: RankingsAcross, cells: AcrossCells) -> tuple[list[str], list[list[str]], str]:
    """Return columns and cells that a terminal has room for, and what is said of the others."""
    columns, rows = across_cells(across, cells, MOST_ON_A_PAGE)
    count = len(columns) - 1
    if standard_output().isatty():
        widths = [max(len(row[at]) for row in (columns, *rows)) + _GAP for at in range(len(columns))]
        room = terminal_width()
        count = max(1, sum(sum(widths[: at + 2]) - _GAP <= room for at in range(count)))
    return columns[: count + 1], [row[: count + 1] for row in rows], _others(across, count)


def encoded_across(found: Aggregation, across: RankingsAcross, cells: AcrossCells, form: Format) -> bytes:
    """Return rankings side by side in a format: Markdown has the largest categories, the others all.

    CSV and Parquet have a column for each category: its scores, or ``NAME rank_low`` and ``NAME rank_high``, without
    intervals ``NAME place_low`` and ``NAME place_high``.
    """
    if form == "json":
        return _json(found, across)
    if form == "md":
        columns, rows = across_cells(across, cells, MOST_ON_A_PAGE)
        named = [[markdown(row[0]), *row[1:]] for row in rows]
        notes = [note for note in (_others(across, len(columns) - 1), *found.notes) if note]
        return markdown_page(table_lines([markdown(cell) for cell in columns], named, (0,)), notes)
    frame = _frame(across, cells, _place(found), csv_cell if form == "csv" else str)
    if form == "csv":
        return frame.write_csv().encode()
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def _place(found: Aggregation) -> str:
    """Return what places are called: without intervals they are no ranks that something may hold."""
    return "rank" if found.facts["intervals"] else "place"


def _frame(across: RankingsAcross, cells: AcrossCells, place: str, safe: Callable[[str], str]) -> pl.DataFrame:
    import polars as pl

    items, categories = distinct(across.items, safe), distinct(across.categories, safe)
    first = "item"
    while first in categories.values():
        first += "_"
    columns = [pl.Series(first, [items[item] for item in across.items], pl.String)]
    for at, name in enumerate(across.categories):
        if cells == "scores":
            columns.append(pl.Series(categories[name], across.scores[:, at]).fill_nan(None))
            continue
        for side, end in enumerate(("low", "high")):
            column = pl.Series(f"{categories[name]} {place}_{end}", across.ranks[:, at, side])
            columns.append(column.set(column == 0, None))
    return pl.DataFrame(columns)


def _json(found: Aggregation, across: RankingsAcross) -> bytes:
    rows, place = [], _place(found)
    for item, ranks, scores in zip(across.items, across.ranks.tolist(), across.scores.tolist(), strict=True):
        there = {
            name: {"score": score, f"{place}_low": low, f"{place}_high": high}
            for name, (low, high), score in zip(across.categories, ranks, scores, strict=True)
            if not math.isnan(score)
        }
        rows.append({"item": item, "categories": there})
    record = {
        "schema_version": 1,
        "method": found.method,
        "intervals": found.facts["intervals"],
        "categories": [
            {"name": name, "votes": votes}
            for name, votes in zip(across.categories, across.judged.tolist(), strict=True)
        ],
        "items": rows,
        "notes": list(found.notes),
    }
    return f"{json.dumps(record, indent=1, allow_nan=False)}\n".encode("ascii")


def _others(across: RankingsAcross, shown: int) -> str:
    left = len(across.categories) - shown
    if not left:
        return ""
    return (
        f"{shown} of {len(across.categories)} categories are shown, those with the most judgments; --format csv has all"
    )


_SCHEMA_VERSION = 1


def effect_cells(found: Aggregation) -> tuple[list[str], list[list[str]]]:
    """Return the columns and cells of the effects of a ranking with covariates."""
    rows = []
    for row in _effects(found).iter_rows(named=True):
        lower, upper = (math.nan if row[name] is None else row[name] for name in ("lower", "upper"))
        interval = "—" if math.isnan(lower) else f"{number(lower)} to {number(upper)}"
        rows.append([row["covariate"], number(row["effect"]), interval, f"{row['unit']:.4g}", row["words"]])
    return ["covariate", "effect (log-odds)", "95% interval", "of", "in words"], rows


def effect_lines(found: Aggregation) -> list[str]:
    """Return the effects as a table in Markdown."""
    names, rows = effect_cells(found)
    cells = [[markdown(row[0]), *row[1:-1], markdown(row[-1])] for row in rows]
    return table_lines(names, cells, (0, len(names) - 1))


def encoded_effects(found: Aggregation, form: str) -> bytes:
    """Return the effects in a format of `rankbench.cli.shown`."""
    table = _effects(found)
    if form == "parquet":
        file = io.BytesIO()
        table.write_parquet(file)
        return file.getvalue()
    if form == "json":
        record = {"schema_version": _SCHEMA_VERSION, "method": found.method, "effects": table.to_dicts()}
        return f"{json.dumps(record, indent=1, allow_nan=False)}\n".encode("ascii")
    if form == "csv":
        import polars as pl

        texts = [
            pl.Series(name, [csv_cell(text) for text in table[name]], pl.String) for name in ("covariate", "words")
        ]
        return table.with_columns(texts).write_csv().encode()
    return ("\n".join(effect_lines(found)) + "\n").encode()


def _effects(found: Aggregation) -> pl.DataFrame:
    if found.effects is None:
        raise TypeError("a ranking without covariates has no effects")
    return found.effects


def matrix_cells(items: list[str], shares: NDArray[np.float64]) -> tuple[list[str], list[list[str]]]:
    """Return columns and cells for people; a dash where two items were never compared."""
    cells = [["—" if math.isnan(share) else f"{share:.2f}" for share in row] for row in shares.tolist()]
    names = distinct(items, one_line)
    return ["", *(names[item] for item in items)], [[names[item], *row] for item, row in zip(items, cells, strict=True)]


def encoded_matrix(items: list[str], shares: NDArray[np.float64], form: Format) -> bytes:
    """Return the shares in a format: a row for each item; in JSON each row by the names of the other items."""
    import polars as pl

    values = [[None if math.isnan(share) else share for share in row] for row in shares.tolist()]
    if form == "json":
        found = {item: dict(zip(items, row, strict=True)) for item, row in zip(items, values, strict=True)}
        shown = {"schema_version": SCHEMA_VERSION, "share_of_wins": found}
        return f"{json.dumps(shown, indent=1, allow_nan=False)}\n".encode("ascii")
    if form == "md":
        columns, rows = matrix_cells(items, shares)
        named = [[markdown(row[0]), *row[1:]] for row in rows]
        return markdown_page(table_lines([markdown(cell) for cell in columns], named, (0,)), ())
    names = distinct(items, csv_cell) if form == "csv" else {item: item for item in items}
    first = "item"
    while first in names.values():
        first += "_"
    table = {first: [names[item] for item in items]}
    frame = pl.DataFrame(table).with_columns(
        pl.Series(names[item], [row[j] for row in values], pl.Float64) for j, item in enumerate(items)
    )
    if form == "csv":
        return frame.write_csv().encode()
    file = io.BytesIO()
    frame.write_parquet(file)
    return file.getvalue()


def encoded_scores(found: ScoreRanking, form: Format) -> bytes:
    """Return a ranking of systems in a format; names are as safe as those of `rankbench.cli.shown.encoded`.

    Parameters
    ----------
    found : ScoreRanking
    form : Format
        CSV and Parquet have a row for each method and system.
    """
    if form == "parquet":
        file = io.BytesIO()
        found.table.write_parquet(file)
        return file.getvalue()
    if form == "json":
        return f"{json.dumps(found.as_dict(), indent=1, allow_nan=False)}\n".encode("ascii")
    if form == "csv":
        import polars as pl

        texts = distinct(found.table["system"].unique(maintain_order=True), csv_cell)
        safe = pl.Series("system", [texts[name] for name in found.table["system"]])
        return found.table.with_columns(safe).write_csv().encode()
    names, rows = side_by_side_cells(found)
    at = names.index("system")
    texts = distinct([row[at] for row in rows], one_line)
    rows = [[markdown(texts[cell]) if place == at else cell for place, cell in enumerate(row)] for row in rows]
    return markdown_page(table_lines(names, rows, (at,)), found.notes)


def side_by_side_cells(found: ScoreRanking) -> tuple[list[str], list[list[str]]]:
    """Return the columns and cells for people: all of the first method, scores and ranks of the others."""
    methods = found.table.partition_by("method", maintain_order=True)
    first, others = methods[0], methods[1:]
    k = found.facts["top_k"]
    names = ["rank", "tier", "system", first["method"][0], "95% interval", "P(first)", f"P(top {k})"]
    names += [name for other in others for name in (other["method"][0], "rank")]
    by_name = [{row["system"]: row for row in other.iter_rows(named=True)} for other in others]
    rows = []
    for row in first.iter_rows(named=True):
        cells = [_rank(row), str(row["tier"]), row["system"], number(row["score"])]
        interval = "" if row["lower"] is None else f"{number(row['lower'])} to {number(row['upper'])}"
        cells += [interval, number(row["p_first"], 3)]
        cells.append(number(row["p_top_k"], 3))
        for other in by_name:
            cells += [number(other[row["system"]]["score"]), _rank(other[row["system"]])]
        rows.append(cells)
    return names, rows


def _rank(row: dict[str, int]) -> str:
    return place_range_text(row["rank_low"], row["rank_high"])


if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Shown: TypeAlias = Format | Literal["table"]


_ENDINGS: dict[str, Shown] = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".json": "json", ".md": "md"}


PICTURES = (".png", ".svg")
"""Endings of pictures."""


def chosen_form(form: Shown | None, out: Path | None, source: str, *, pictures: bool = False) -> Shown:
    """Return the form of a ranking: what was said, or what the file's ending says, or a table.

    Parameters
    ----------
    form : str, optional
        Of ``--format``.
    out : Path, optional
        Of ``--out``.
    source : str
        What is ranked; a file must not be written over itself.
    pictures : bool
        Whether endings of pictures are allowed; their form is the table's, and who asked looks at the ending.

    Raises
    ------
    SpecError
        The form does not fit where it goes, or the ranking would replace what is ranked.
    """
    from rankbench.errors import SpecError

    picture = out is not None and out.suffix.lower() in PICTURES
    if pictures and picture and form is None:
        _keep_what_is_ranked(out, source)
        return "table"
    chosen: Shown = form or (_ENDINGS.get(out.suffix.lower(), "table") if out else "table")
    if chosen == "parquet" and out is None and standard_output().isatty():
        raise SpecError("Parquet is nothing for a terminal; give a file with --out")
    if chosen == "table" and out is not None:
        if form is None:
            known = ", ".join((*_ENDINGS, *(PICTURES if pictures else ())))
            what = f"there is no format {out.suffix}" if out.suffix else "it has no ending that says a format"
            raise SpecError(f"--out {out}: {what}; endings: {known}, or say --format")
        raise SpecError("tables are for terminals; say --format csv, parquet, json or md for a file")
    _keep_what_is_ranked(out, source)
    return chosen


def _keep_what_is_ranked(out: Path | None, source: str) -> None:
    from rankbench.errors import SpecError

    if out is not None and os.path.isfile(out) and os.path.exists(source) and os.path.samefile(source, out):
        raise SpecError(f"--out {out} is what is ranked, which would be lost; choose another file")


def show_notes(notes: Iterable[str]) -> None:
    """Print notes on standard error, so that what is piped on is the ranking alone."""
    from rankbench.cli.output import say

    for note in notes:
        say(f"note: {note}", err=True)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> None:
    """Print a ranking as a table, under a line that says what it is."""
    from rankbench.cli.output import print_table

    # A name of two lines must not look like two rows.
    print_table(
        columns, [[cell.replace("\n", "\\n").replace("\t", "\\t") for cell in row] for row in rows], title=title
    )


def show_encoded(data: bytes, out: Path | None) -> None:
    """Write a ranking into a file, whole or not at all, or to standard output."""
    from rankbench.core.system import replace_file

    if out is not None:
        replace_file(out, data)
    else:
        standard_output().flush()
        standard_output().buffer.write(data)


def show_picture(canvas: Figure, out: Path) -> None:
    """Write a figure into a file that ends with .png or .svg."""
    from rankbench.drawing.canvas import picture_bytes

    show_encoded(picture_bytes(canvas)[out.suffix.lower().removeprefix(".")], out)


def log_sha256(log: str) -> str | None:
    """Return the sha256 of a file, or of a folder's files with their names, or of a named data set; else None.

    Parameters
    ----------
    log : str
        As on the command line; what was read from a pipe, or from elsewhere, has none.
    """
    from rankbench.data.convert import sha256_of

    path = Path(log)
    if path.is_file():
        return sha256_of(path)
    if path.is_dir():
        whole = hashlib.sha256()
        for part in sorted(one for one in path.rglob("*") if one.is_file()):
            whole.update(f"{part.relative_to(path).as_posix()} {sha256_of(part)}\n".encode())
        return whole.hexdigest()
    from rankbench.errors import RankbenchError
    from rankbench.interfaces.dataset import Dataset
    from rankbench.plugin import manager

    try:
        return manager.get(Dataset, log).fingerprint()
    except RankbenchError:
        return None


_LEVEL = 0.05


def show_over_time(found: ScoresOverTime, form: Shown, log: str, out: Path | None, top: int | None) -> None:
    """Print what is so now and what changed, or write scores over time into a file, or draw them."""
    show_notes(found.notes)
    if out is not None and out.suffix.lower() in PICTURES and form == "table":
        show_picture(found.plot(top), out)
    elif form == "table":
        show_table(*now_cells(found, top), title=_title(found))
    else:
        show_encoded(encoded_history(found, form, log_sha256(log) if form == "json" else None, top), out)


def _title(found: ScoresOverTime) -> str:
    facts = found.facts
    return f"{found.method}: {grouped_digits(facts['n'])} votes; {facts['now']}, and the change since {facts['then']}"


def now_cells(found: ScoresOverTime, top: int | None = None) -> tuple[list[str], list[list[str]]]:
    """Return the columns and cells of what is so now, for people."""
    since = found.facts["then"]
    names = [
        "rank",
        "item",
        "score",
        "95% band",
        f"change since {since}",
        "95%, all together",
        "changed",
        "last",
        "votes",
    ]
    rows = []
    for row in found.now.head(top or found.now.height).iter_rows(named=True):
        place = "—" if row["rank_low"] is None else place_range_text(row["rank_low"], row["rank_high"])
        cells = [place, row["item"], number(row["score"])]
        cells.append(f"{number(row['lower'])} to {number(row['upper'])}")
        if row["change"] is None:
            cells += ["—", "—", "not known"]
        else:
            sure = row["p"] <= _LEVEL
            cells += [f"{row['change']:+.4g}", f"{number(row['change_lower'])} to {number(row['change_upper'])}"]
            cells.append(("better" if row["change"] > 0 else "worse") if sure else "not shown")
        rows.append([*cells, row["last"], f"{row['votes']:,.6g}"])
    return names, rows


def encoded_history(found: ScoresOverTime, form: str, sha256: str | None = None, top: int | None = None) -> bytes:
    """Return scores over time in a format: CSV and Parquet have a row for each time and item, JSON also those of now.

    Parameters
    ----------
    found : ScoresOverTime
    form : {"csv", "parquet", "json", "md"}
        Names are as safe as those of `rankbench.cli.shown.encoded`.
    sha256 : str, optional
        Of the data, for JSON.
    top : int, optional
        Only the items that are first now.
    """
    import polars as pl

    now = found.now.head(top or found.now.height)
    table = found.table.join(now.select("item"), on="item", how="semi", maintain_order="left")
    if form == "parquet":
        file = io.BytesIO()
        table.write_parquet(file)
        return file.getvalue()
    if form == "json":
        return f"{json.dumps(_history_record(found, now, table, sha256), indent=1, allow_nan=False)}\n".encode("ascii")
    if form == "csv":
        texts = distinct(table["item"].unique(maintain_order=True), csv_cell)
        return table.with_columns(pl.Series("item", [texts[name] for name in table["item"]])).write_csv().encode()
    names, rows = now_cells(found, top)
    at = names.index("item")
    texts = distinct([row[at] for row in rows], one_line)
    rows = [[markdown(texts[cell]) if place == at else cell for place, cell in enumerate(row)] for row in rows]
    return markdown_page(table_lines(names, rows, (at,)), (_title(found), *found.notes))


def _history_record(found: ScoresOverTime, now: Any, table: Any, sha256: str | None) -> dict[str, Any]:
    facts = found.facts
    return {
        "schema_version": SCHEMA_VERSION,
        "method": found.method,
        "data": {"sha256": sha256, "n": facts["n"]},
        "seed": facts["seed"],
        "time": {name: facts[name] for name in ("time_unit", "times", "then", "now")},
        "grid": facts["grid"],
        "units": {"score": facts["unit"] or None},
        "notes": list(found.notes),
        "items": now.to_dicts(),
        "over_time": table.to_dicts(),
    }
