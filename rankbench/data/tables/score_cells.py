"""Score tables are read as a reading says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankbench.core.text import listed, short_repr
from rankbench.data.tables.cells import ROW, says, text_of, unread_columns
from rankbench.data.tables.column_texts import shown_columns
from rankbench.data.tables.doubts import refuse_alike, refuse_blanks, refuse_twice
from rankbench.data.tables.score_doubts import (
    doubt_scores,
    parted_rows,
    refuse_metrics,
    refuse_second_key,
    refuse_twins,
    score_notes,
)
from rankbench.data.tables.score_facts import Facts, score_of
from rankbench.data.tables.score_roles import BETWEEN, COLUMN_OF, SHOWN, ScoreLayout
from rankbench.data.tables.score_sizes import doubt_columns, refuse_scale, refuse_shares
from rankbench.data.tables.whole_names import with_whole_names
from rankbench.errors import InputError, Unread, option
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.sequential_aggregator import TaskScores
from rankbench.interfaces.table_check import RawTable, ReadTable

MOST_CELLS = 50_000_000
"""Most cells, systems by tasks by seeds: 400 MB."""


def read_measurements(raw: RawTable, reading: Reading) -> ReadTable:
    """Return a score table under the names of its kind.

    Parameters
    ----------
    raw : RawTable
    reading : Reading
        ``system`` and ``task`` with ``score`` or ``loss``, and perhaps ``seed`` and ``metric``; or one of the first
        two with ``scores`` and ``losses``. ``ignore`` may name tasks and systems of rows, too; ``keep`` names those
        that are meant, though they look like a mean of others or like places.

    Raises
    ------
    Unread
        A role is missing, a cell does not fit, or values speak against the reading.
    InputError
        A column is not there or holds no single values, or no row is left.
    """
    layout = ScoreLayout.told(raw, reading)
    kept, reading = layout.kept(raw), layout.reading
    names = layout.columns(*COLUMN_OF)
    refuse_blanks(kept, [*names, *layout.columns("metric")], reading)
    notes = list[str]()
    with kept.located():
        frame = with_whole_names(kept.frame, *([name] for name in names), notes=notes, rows=None)
    kept = replace(kept, frame=frame)
    facts = Facts.found(kept, layout)
    facts.refuse(kept, layout)
    ways = Ways.told(kept, layout)
    named = {COLUMN_OF[role]: _name(role, layout, facts) for role in layout.rows()}
    keys = kept.collect(kept.frame.select(**named))
    words = {COLUMN_OF[role]: layout.text(role) for role in layout.rows()}
    unread = unread_columns(kept, reading)
    refuse_twice(kept, keys.lazy().with_row_index(ROW), words, unread, partial(parted_rows, reading))
    table = _laid_out(kept, layout, facts, ways, named)
    refuse_metrics(kept, reading, layout.columns("task"))
    refuse_second_key(kept, reading, layout.columns("system", "task"), layout.columns("seed"))
    reading, left = layout.left_out(raw, facts.rows)
    notes = [*left, *notes, *facts.notes(layout)]
    if np.prod([float(keys[name].n_unique()) for name in named]) * len(layout.cells) <= MOST_CELLS:
        with kept.located():
            scores = scores_of(kept.collect(table.frame))
        for what, given in (("system", scores.systems), ("task", scores.tasks)):
            refuse_alike(given, reading, kept, layout.text(what))
        doubt_scores(reading, scores)
        if layout.wild:
            doubt_columns(
                reading, scores, layout.side, [name for name in layout.cells if facts.by_column[name]["truth"]]
            )
        if layout.side != "task" and not ways.counts:
            refuse_scale(reading, scores, rows=not layout.side)
        refuse_shares(reading, scores)
        refuse_twins(reading, scores.tasks)
        notes += score_notes(scores)
    counts = {**ways.counts, **facts.missing()}
    return ReadTable(table, reading, layout.says(ways.text(layout)), counts, tuple(notes))


@dataclass(frozen=True)
class Ways:
    """Metrics to maximize and to minimize, with their numbers of rows; empty without a column of metrics."""

    more: tuple[str, ...] = ()
    less: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def told(cls, raw: RawTable, layout: ScoreLayout) -> Ways:
        """Return the directions of a table's metrics by the words of its reading.

        Raises
        ------
        Unread
            They do not say of a metric which way is better, or say both.
        """
        metric, words = layout.reading.first["metric"], layout.reading.words
        if not metric:
            return cls()
        ways = {way: says(pl.col("metric"), words.get(way, ())) for way in ("more", "less")}
        rows = raw.frame.group_by(text_of(metric).alias("metric")).agg(pl.len().alias("rows"))
        found = raw.collect(rows.sort("metric").with_columns(**ways))
        counts = dict(found.select("metric", "rows").iter_rows())
        unclear = found.filter(pl.col("more") == pl.col("less"))["metric"].to_list()
        if unclear:
            raise Unread(
                f"which way is better by {listed(unclear[:SHOWN])} is not said",
                option("words", "more=____|____,less=____"),
                code="metric",
                shown=shown_columns({name: f"{count:,} rows" for name, count in counts.items()}),
                column=metric,
            )
        more, less = (tuple(found.filter(way)["metric"]) for way in ("more", "less"))
        return cls(more, less, counts)

    def text(self, layout: ScoreLayout) -> str:
        """Return which way is better, for people."""
        if self.counts:
            some = {"more": self.more, "less": self.less}
            return "; ".join(f"{way} of {listed(words)} is better" for way, words in some.items() if words)
        return "less is better" if layout.losses else "more is better"


def _laid_out(raw: RawTable, layout: ScoreLayout, facts: Facts, ways: Ways, named: Mapping[str, pl.Expr]) -> RawTable:
    """Return a table with the columns of the schema, a row a cell; `named` are the names of rows."""
    cells = {}
    for name in layout.cells:
        value, gone = score_of(name, layout, facts.simple)
        cells[name] = pl.when(~gone).then(value)
    roles = {role: layout.text(role) for role in layout.rows()}
    if not layout.side:
        less = {"less": pl.lit(value=True)} if layout.losses else {}
        if ways.counts:
            less = {"less": says(text_of(layout.reading.first["metric"]), ways.less)}
        frame = raw.frame.select(**named, score=cells[layout.cells[0]], **less)
        return replace(raw, frame=frame, roles=roles | {"score": layout.cells[0]})
    side = COLUMN_OF[layout.side]
    less = {"less": pl.col(side).is_in([*layout.losses])} if layout.losses else {}
    keys = {f"\0{name}": column for name, column in named.items()}
    rows = raw.frame.select(**keys, **cells).unpivot(
        layout.cells, index=[*keys], variable_name=side, value_name="\0score"
    )
    frame = rows.select(side, **{key[1:]: key for key in keys}, score="\0score", **less)
    return replace(raw, frame=frame, roles=roles, locate=lambda row: raw.place((row - 1) % facts.rows + 1))


def _name(role: str, layout: ScoreLayout, facts: Facts) -> pl.Expr:
    """Return the names made of the columns of a role, without columns that are constant."""
    names = layout.reading.all(role)
    parts = [name for name in names if not facts.by_column[name]["fixed"]] or names[:1]
    return pl.concat_str([text_of(name) for name in parts], separator=BETWEEN)


def scores_of(frame: pl.DataFrame) -> TaskScores:
    """Return rows of measurements in the schema as an array.

    Raises
    ------
    InputError
        Systems, tasks and seeds are too many to stand side by side, or less is better in some scores of a task alone.
    """
    tasks, of_task = numbered_names(frame["query_id"])
    systems, of_system = numbered_names(frame["system"])
    seeds, of_seed = (
        numbered_names(frame["seed"]) if "seed" in frame.columns else ([""], np.zeros(frame.height, np.int64))
    )
    shape = len(seeds), len(tasks), len(systems)
    cells = len(seeds) * len(tasks) * len(systems)
    if cells > MOST_CELLS:
        raise InputError(
            f"{len(systems):,} systems on {len(tasks):,} tasks with {len(seeds):,} seeds are {cells:,} cells, "
            f"{MOST_CELLS:,} at most: is each of them the column that was meant?"
        )
    values = np.full(shape, np.nan)
    values[of_seed, of_task, of_system] = frame["score"].to_numpy()
    return TaskScores(systems, tasks, seeds, values, _less(frame))


def numbered_names(column: pl.Series) -> tuple[list[str], NDArray[np.int64]]:
    """Return the different names of a column in the order of first appearance, and each cell's index among them."""
    names = column.unique(maintain_order=True)
    return names.to_list(), column.replace_strict(names, pl.int_range(len(names), eager=True)).to_numpy()


def _less(frame: pl.DataFrame) -> frozenset[str]:
    """Return the tasks with losses."""
    if "less" not in frame.columns:
        return frozenset()
    ways = frame.group_by("query_id", maintain_order=True).agg(pl.col("less").any(), all=pl.col("less").all())
    if both := ways.filter(pl.col("less") != pl.col("all"))["query_id"].to_list():
        raise Unread(
            f"less is better in some scores of the task {short_repr(both[0])}, and more in others",
            f"{option('where')} keeps rows of one metric; {option('columns', 'task=____|____')} makes it a part of the "
            "task",
            code="metric",
        )
    return frozenset(ways.filter("less")["query_id"])
