"""Effects of covariates for people and as files."""

from __future__ import annotations

import io
import json
import math
from typing import TYPE_CHECKING

from rankbench.cli.markdown_tables import table_lines
from rankbench.text import csv_cell, markdown, number

if TYPE_CHECKING:
    import polars as pl

    from rankbench.ranking.aggregate import Aggregation

__all__ = ["effect_cells", "effect_lines", "encoded_effects"]

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
    """Return the effects in a format of `rankbench.cli.formats`."""
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
