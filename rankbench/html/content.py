"""Content of a page: words, tables, charts, and data of its scripts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict


@dataclass(frozen=True)
class Chart:
    """A static picture, for readers without JavaScript and for paper, and the figure that takes its place elsewhere.

    Attributes
    ----------
    name : str
        Name of its file, without an ending.
    words : str
        Content of the figure, for readers who do not see it.
    svg : bytes
    content : dict, optional
        See `rankbench.html.charts.chart_content`. Without it the chart is its picture alone.
    """

    name: str
    words: str
    svg: bytes
    content: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Table:
    """A table for people; on a page it sorts, filters and searches.

    Attributes
    ----------
    columns : sequence of str
    rows : iterable of sequence of str
        Read once, when the table is written.
    words : collection of int
        Places of the columns with texts of data or plugins; on a page they begin at the left, and numbers end at the
        right.
    title : str
        The line above it.
    note : str
        Markdown between its title and it, on a page.
    shaded : bool
        Whether cells of numbers, which are from 0 to 1, are shaded on a page: blue above one half, orange below.
    name : str
        Its anchor on a page.
    filters : collection of int
        Places of columns with a list of their values to choose from.
    later : collection of int
        Places of columns that a reader sees when asking for all.
    opens : int or None
        Place of the column whose cells open a panel, see `Page.data`.
    """

    columns: Sequence[str]
    rows: Iterable[Sequence[str]]
    words: Collection[int] = ()
    title: str = ""
    note: str = ""
    shaded: bool = False
    name: str = field(default="", kw_only=True)
    filters: Collection[int] = field(default=(), kw_only=True)
    later: Collection[int] = field(default=(), kw_only=True)
    opens: int | None = field(default=None, kw_only=True)


class PairTable(BaseModel):
    """Paired differences of contenders.

    Attributes
    ----------
    experiment, dataset, n, metric, split : str
        Keys by which a reader chooses a table.
    units : str
        Units that were judged on, as "queries".
    better : str
        ``less`` or ``more``.
    names : int
        Place of the contenders in `PageData.lists`.
    values : list of int
        For each pair (1st and 2nd, 1st and 3rd, ...) five numbers in millionths: the difference, and the ends of its
        intervals over units and repetitions and over repetitions; None where there is no interval.
    """

    model_config = ConfigDict(extra="forbid")

    experiment: str
    dataset: str
    n: str
    metric: str
    split: str
    units: str
    better: Literal["less", "more"]
    names: int
    values: list[int | None]


class PageData(BaseModel):
    """Data of a page's scripts, with repeated texts and lists stored once.

    Attributes
    ----------
    panels : dict of str to list of (str, int)
        Facts on a contender, by its label: a name, and a place in `texts`.
    texts : list of str or list of str
        A text, or formulas as LaTeX.
    pairs : list of PairTable
    unpaired : list of str
        Experiments that have too many contenders for a table of all pairs.
    lists : list of list of str
        Names of contenders.
    charts : dict
        Figures by name, see `rankbench.html.charts.chart_content`; ``words`` replace a figure that cannot be seen.
    better : dict of str to str
        The better direction of each metric as text, by its name in Markdown.
    again : str
        Commands that compute and verify the result again.
    works : str
        BibTeX of the works that a result rests on.
    """

    model_config = ConfigDict(extra="forbid")

    panels: dict[str, list[tuple[str, int]]] = {}
    texts: list[str | list[str]] = []
    pairs: list[PairTable] = []
    unpaired: list[str] = []
    lists: list[list[str]] = []
    charts: dict[str, dict[str, Any]] = {}
    better: dict[str, str] = {}
    again: str = ""
    works: str = ""


@dataclass(frozen=True)
class Page:
    """Content of a page.

    Attributes
    ----------
    title : str
    words : str
        Markdown. An image ``figures/NAME.svg`` stands for the chart of that name.
    tables : sequence of Table
    charts : sequence of Chart
    details : str
        Markdown that is folded away until a reader opens it.
    data : PageData
    texts : mapping of str to str
        Texts to copy at the end of the page, by their heading.
    files : collection of str
        Names of files beside the page, which it links.
    sorts : bool
        Tables of `words` and `below` sort, filter and search as `tables` do.
    below : str
        Markdown below the tables.
    """

    title: str
    words: str
    tables: Sequence[Table] = ()
    charts: Sequence[Chart] = ()
    details: str = ""
    data: PageData = field(default_factory=PageData)
    texts: Mapping[str, str] = field(default_factory=dict)
    files: Collection[str] = ()
    sorts: bool = False
    below: str = ""
