"""The reader of trec_eval's output reads the scores of a run, topic by topic."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import polars as pl
from pydantic import Field

from rankbench.core.text import listed
from rankbench.data.readers.text_lines import refuse_rows
from rankbench.data.readers.trec import finite_column, word_rows
from rankbench.data.readers.unpacked import unpacked_name
from rankbench.data.tables.checks import TableReader
from rankbench.data.tables.column_texts import shown_columns
from rankbench.errors import InputError, Unread, option
from rankbench.interfaces.dataset import existing
from rankbench.interfaces.table_check import RawTable

_ALL = "all"
"""The topic of values that are of the whole run."""

_LINE = re.compile(rb"(?=[^\t]{15}(?:[^\t]{7})?\t)\S+ +\t\S+\t\S+[ \t]*\r?\Z")
"""A line as trec_eval prints it: the measure's name is filled up to 22 letters, until version 8 to 15."""


class TrecEvalReader(TableReader):
    """The output of ``trec_eval -q``: ``measure topic value``, a file a run, which is called as the file is.

    Topics are the tasks. Rows of ``all`` are the run's own mean, and left out. A file of several measures asks for one.

    Prefer it for scores that trec_eval has computed; ``trec`` computes them from runs and qrels.

    Examples
    --------
    ``rankbench rank 'runs/*.eval' --reader trec-eval:measure=map`` ranks all runs of a folder.
    """

    name: ClassVar[str] = "trec-eval"
    source: ClassVar[str] = "github.com/usnistgov/trec_eval"
    extensions: ClassVar[tuple[str, ...]] = (".eval",)

    measure: str = Field(default="", description="The measure, as trec_eval prints it; empty: the only one.")

    @classmethod
    def example(cls) -> bytes:
        """Return the average precision of a run on three topics."""
        rows = (("map", "301", "0.25"), ("map", "302", "0.5"), ("map", "303", "0"), ("num_q", _ALL, "3"))
        return "".join(f"{measure:<22}\t{topic}\t{value}\n" for measure, topic, value in rows).encode()

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the first line is one that trec_eval prints."""
        return _LINE.match(head.split(b"\n", 1)[0]) is not None

    def raw(self, path: Path) -> RawTable:
        """Return scores of one system; see `Reader.raw`. All of the file is read at once."""
        rows = word_rows(existing(path), ("measure", "topic", "value"), "measure topic value, as trec_eval -q prints")
        topics = rows.filter(pl.col("topic") != _ALL)
        measure = self._measure(topics, path)
        own = topics.filter(pl.col("measure") == measure)
        refuse_rows(own, ~own.select(pl.col("topic").is_first_distinct()).to_series(), _TWICE, path)
        own = own.with_columns(value=finite_column(own, "value", path))
        system = Path(unpacked_name(path)).stem
        frame = own.select(pl.lit(system).alias("system"), "topic", "measure", "value")
        lines = own["line"].to_list()
        others = {*topics["measure"]} - {measure}
        left = f", nor other measures ({len(others)})" if others else ""
        notes = [f"rankbench does not read the rows of '{_ALL}', which are no topic{left}"]
        if rows.filter(pl.col("measure") == "runid", pl.col("value") != system).height:
            notes.append("systems are called as their files; runs call themselves otherwise")
        return RawTable(frame.lazy(), path, locate=lambda row: (path, lines[row - 1]), notes=tuple(notes))

    def _measure(self, topics: pl.DataFrame, path: Path) -> str:
        """Return the requested measure, or the only one."""
        found = dict(topics.group_by("measure", maintain_order=True).agg(pl.len()).iter_rows())
        if not found:
            raise InputError("it has no topic, only sums: trec_eval prints the topics with -q", path=path)
        if self.measure and self.measure not in found:
            what = f"the measure {self.measure!r} is of no topic; there are {listed([*found])}"
            raise InputError(what, path=path)
        if not self.measure and len(found) > 1:
            raise Unread(
                f"it has {len(found)} measures, and scores are of one",
                option("reader", "trec-eval:measure=____"),
                code="metric",
                shown=shown_columns({name: f"{count:,} topics" for name, count in found.items()}),
                path=path,
            )
        return self.measure or next(iter(found))


_TWICE = "{measure} of topic {topic} is there twice; a file holds one run"
