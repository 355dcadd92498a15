"""Doubts about votes: totals of judges, queries and items."""

from __future__ import annotations

import polars as pl

from rankbench.data.tables.cells import number_of, text_of
from rankbench.data.tables.doubts import SAMPLED
from rankbench.data.tables.schemas import GAMES, LEFT_OUT, SHARE
from rankbench.data.tables.totals import refuse_all, refuse_totals
from rankbench.interfaces.table_check import ReadTable


def refuse_vote_totals(found: ReadTable) -> None:
    """Raise a question about judges and queries of votes, or items of counted votes, that are the others' total.

    Raises
    ------
    Unread
    """
    raw, reading = found.table, found.reading
    names = raw.schema().names()
    counts = [name for name in ("weight", "count") if name in names]
    keys = {name: role for name, role in (("query_id", "query"), ("judge", "judge")) if reading.one(role)}
    if not (keys or counts or GAMES[0] in names):
        return
    votes = pl.lit(1.0)
    for name in counts:
        votes *= number_of(text_of(name), reading.one("numbers"))
    won = pl.when(number_of(text_of("tie")) == 1).then(0.5).otherwise(1.0) if "tie" in names else pl.lit(1.0)
    won = pl.col(SHARE).fill_null(won) if SHARE in names else won
    lost = 1 - won
    if GAMES[0] in names:
        won, lost = (pl.col(GAMES[k]) + pl.col(GAMES[2]) / 2 for k in (0, 1))
    out = pl.col(LEFT_OUT) if LEFT_OUT in names else pl.lit(value=False)
    chosen = {"won": won * votes, "lost": lost * votes, "out": out, **{key: text_of(key) for key in keys}}
    # These are read beside the log: a log of many votes, which has no totals, is read once.
    some = raw.collect(raw.frame.head(SAMPLED).select(text_of("winner"), text_of("loser"), **chosen))
    if some.height == SAMPLED:
        return
    ways = (("winner", "loser", "won"), ("loser", "winner", "lost"))
    rows = pl.concat(some.select(*keys, "out", item=x, other=y, value=points) for x, y, points in ways)
    rows = rows.filter((pl.col("value") > 0) & ~pl.col("out")).drop("out")
    refuse_all(reading, rows, {key: (role, reading.all(role)) for key, role in keys.items()})
    if counts or GAMES[0] in names:
        beat = rows.select("item", "value", other=pl.concat_str(pl.lit("beat "), "other"))
        lost_to = rows.select("value", item="other", other=pl.concat_str(pl.lit("lost to "), "item"))
        both = pl.concat([beat, lost_to.select("item", "value", "other")])
        sides = ("winner", "loser") if reading.one("loser") else ("left", "right")
        refuse_totals(raw, reading, both.lazy(), {"item": ("item", [reading.one(side) for side in sides])})
