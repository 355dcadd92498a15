"""If the meaning of columns is unknown, rankbench asks: examples of each column, and a line with blanks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

from rankbench.data.readings.formats import broken_formats
from rankbench.data.tables.cells import EMPTY, NUMBER
from rankbench.data.tables.column_texts import first_cells, looks, shown_columns
from rankbench.errors import Unread, option, options
from rankbench.interfaces.reading import names_text
from rankbench.interfaces.table import TableKind
from rankbench.interfaces.table_check import RawTable

_FLAGS = {"true", "false"}


def columns_question(raw: RawTable, kinds: Sequence[TableKind], near: Sequence[tuple[str, str]] = ()) -> Unread:
    """Return the question about the meanings of a table's columns.

    Parameters
    ----------
    raw : RawTable
    kinds : sequence of TableKind
        Of the tables that are asked for.
    near : sequence of (str, str)
        Formats whose columns are there, and what hinders.
    """
    schema = raw.schema
    cells = first_cells(raw, schema.names())
    facts = {name: looks(cells[name]) if name in cells else "nested" for name in schema.names()}
    pair = _same_things(cells)
    if pair:
        facts[pair[1]] += f"  (names the same things as {pair[0]})"
    what = f"what the columns mean is not known{broken_formats()}"
    if near:
        name, why = near[0]
        what += f"; it has all columns of the format {name!r}, but {why}"
    steps = list[str]()
    if near:
        steps = [f"if it is one: {option('reading', near[0][0])}, and words for what it does not know"]
    words = {kind.name for kind in kinds}
    if pair and "comparisons" in words:
        steps += _of_pair(*pair)
    if "measurements" in words:
        of_systems, of_cells = "system=____,scores=____|____", "system=____,task=____,score=____"
        steps.append(f"scores, a row a system:  {option('columns', of_systems)}  (losses= where less is better)")
        steps.append(f"scores, a row a score:   {option('columns', of_cells)}  (or loss=____)")
    if "comparisons" in words and not pair:
        steps.append(f"votes:    {option('columns', 'winner=____,loser=____')}")
        won = options(columns="left=____,right=____,winner=____", words="left=____,right=____,tie=____")
        steps.append(f"or:       {won}")
    if "orders" in words:
        found = option("columns", "query=____,item=____,place=____")
        steps.append(f"ballots:  {found}  (or points=____, more is better), or ranks=____|____")
    if "selections" in words and not pair:
        found = option("columns", "session=____,position=____,doc=____,clicked=____")
        steps.append(f"clicks:   {found}")
    return Unread(what, "\n  ".join(steps), shown=shown_columns(facts))


def _of_pair(left: str, right: str) -> list[str]:
    """Return steps for two columns of items: their order is arbitrary, as words name columns."""
    sides = names_text({"left": (left,), "right": (right,)})
    words = names_text({left: ("____",), right: ("____",), "tie": ("____",)})
    return [
        f"say who won:  {options(columns=f'{sides},winner=____', words=words)}",
        f"or scores:    {option('columns', f'{sides},left_score=____,right_score=____')}  (left_place, right_place: "
        "less is better)",
        f"or, where one column names winners: {option('columns', 'winner=____,loser=____')}",
    ]


def _same_things(cells: Mapping[str, Sequence[str]]) -> tuple[str, str] | None:
    """Return the two columns of texts with most names in common; None: no two share half of them."""
    texts = {}
    for name, column in cells.items():
        full = {cell for cell in column if cell.lower() not in EMPTY}
        flags = {cell.lower() for cell in full} <= _FLAGS
        if len(full) > 1 and not flags and not all(re.fullmatch(NUMBER, cell) for cell in full):
            texts[name] = full
    shares = [
        (len(texts[one] & texts[other]) / min(len(texts[one]), len(texts[other])), one, other)
        for one, other in combinations(texts, 2)
    ]
    best = max(shares, key=lambda found: found[0], default=(0.0, "", ""))
    return (best[1], best[2]) if best[0] >= 0.5 else None
