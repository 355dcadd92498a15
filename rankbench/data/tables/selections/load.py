"""From tables of selections to the columnar container, with the names of the items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rankbench.data.tables.selections.several_clicks import OffList, Several, reduce_clicks
from rankbench.errors import InputError
from rankbench.kinds.queries import Selections

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SelectionLog", "load_selections", "take_selections"]


@dataclass(frozen=True, eq=False)
class SelectionLog:
    """Selections with the names of queries and items.

    Attributes
    ----------
    ids : list of str, length Q
        Queries, sorted.
    items : list of str, length N
        Names of the items, sorted within each query: every item that was ever shown for it.
    item_offsets : ndarray of int64, shape (Q + 1,)
        Items of query q are ``items[item_offsets[q]:item_offsets[q + 1]]``.
    selections : Selections
        Within a query in the order of the table.
    parts : tuple of str
        Names of the parts in which the sessions were published, sorted; empty if the table
        does not say.
    part : ndarray of int32, shape (n,)
        Part of each selection, as an index of `parts`; all 0 if there are none.
    rows : ndarray of int64, shape (n,)
        Row of the table that each selection comes from, counted from 0.
    """

    ids: list[str]
    items: list[str]
    item_offsets: NDArray[np.int64]
    selections: Selections
    parts: tuple[str, ...]
    part: NDArray[np.int32]
    rows: NDArray[np.int64]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of items m_q of each query, shape (Q,)."""
        return np.diff(self.item_offsets)

    def __len__(self) -> int:
        return len(self.ids)


def load_selections(table: pl.LazyFrame, *, several: Several = "all", off_list: OffList = "drop") -> SelectionLog:
    """Collect a table of selections into a `SelectionLog`.

    Parameters
    ----------
    table : LazyFrame
        In the schema of `rankbench.data.tables`, as readers return it.
    several, off_list : Several, OffList
        What becomes of several clicks, and of clicks outside of the list: see
        `rankbench.data.tables.selections.several_clicks`. The container holds clicks on items shown only.

    Raises
    ------
    InputError
        There are no rows, or the policies refuse or leave none.
    """
    frame = table.collect(engine="streaming")
    if not frame.height:
        raise InputError("the data has no rows")
    frame = reduce_clicks(frame.with_row_index("_source"), several, off_list)
    frame = frame.sort("query_id", maintain_order=True)
    if not frame.height:
        raise InputError(f"no session is left after those with several clicks were dropped (several={several!r})")
    runs = frame["query_id"].rle().struct.unnest()
    lengths = frame["shown"].list.len().to_numpy().astype(np.int64)
    shown = frame.select("query_id", item="shown").explode("item", empty_as_null=False)
    names = shown.unique().sort("query_id", "item").with_row_index("place", 0)
    sizes = names["query_id"].rle().struct.unnest()["len"].to_numpy().astype(np.int64)
    item_offsets = np.concatenate([[0], np.cumsum(sizes)])
    places = shown.join(names, on=["query_id", "item"], how="left", maintain_order="left")["place"].to_numpy()
    counts = runs["len"].to_numpy().astype(np.int64)
    first = np.repeat(np.repeat(item_offsets[:-1], counts), lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    clicked = np.zeros(int(starts[-1]), np.bool_)
    clicks = frame["clicked"].list.len().to_numpy()
    positions = frame["clicked"].list.explode(empty_as_null=False).to_numpy().astype(np.int64)
    clicked[np.repeat(starts[:-1], clicks) + positions - 1] = True
    parts: list[str] = frame["part"].unique().sort().to_list() if "part" in frame.columns else []
    index = {name: number for number, name in enumerate(parts)}
    part = [index[name] for name in frame["part"].to_list()] if parts else [0] * frame.height
    return SelectionLog(
        ids=runs["value"].to_list(),
        items=names["item"].to_list(),
        item_offsets=item_offsets,
        selections=Selections(
            offsets=np.concatenate([[0], np.cumsum(counts)]),
            starts=starts,
            items=(places.astype(np.int64) - first).astype(np.int32),
            clicked=clicked,
        ),
        parts=tuple(parts),
        part=np.array(part, np.int32),
        rows=frame["_source"].to_numpy().astype(np.int64),
    )


def take_selections(selections: Selections, chosen: NDArray[np.int64]) -> Selections:
    """Return some of the selections, of the same queries.

    Parameters
    ----------
    selections : Selections
    chosen : ndarray of int64
        Indices of selections; they are returned in the order of the log, whatever theirs.

    Returns
    -------
    Selections
        A query of which none was chosen is there with none.
    """
    chosen = np.sort(chosen)
    lengths = np.diff(selections.starts)[chosen]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    rows = np.repeat(selections.starts[chosen] - starts[:-1], lengths) + np.arange(starts[-1])
    offsets = np.searchsorted(chosen, selections.offsets).astype(np.int64)
    return Selections(offsets, starts, selections.items[rows], selections.clicked[rows])
