"""The TREC reader reads runs and qrels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import polars as pl
from pydantic import Field

from rankbench.data.readers.run_measures import TREC_LOSS, Measure, Ties, judged, judgments
from rankbench.data.readers.text_lines import Chunk, chunks, refuse_rows
from rankbench.data.readers.unpacked import head
from rankbench.data.tables.checks import TableReader
from rankbench.errors import InputError
from rankbench.interfaces.dataset import existing
from rankbench.interfaces.table_check import RawTable


class TrecReader(TableReader):
    """A TREC run (``topic Q0 document rank score system``) judged by qrels (``topic iteration document relevance``).

    The score of a system on a topic is one minus the loss of its documents: with ``ndcg`` it is nDCG, with ``err``
    the expected reciprocal rank. Documents go by their scores; ranks in the file are ignored. Documents of equal scores
    share their places, or stand in the order of trec_eval, which is backwards by their names, after it has rounded
    scores to 32 bits. A document that nobody judged is worth nothing, and neither is what the run does not list. A
    judged topic that the run lacks scores 0, as with ``trec_eval -c``, and so does one without a relevant document.

    Prefer it for runs of retrieval systems. Scores that are computed already are a score table.

    Examples
    --------
    ``rankbench rank --qrels qrels.txt bm25.run dense.run`` ranks two runs.
    """

    name: ClassVar[str] = "trec"
    source: ClassVar[str] = "trec.nist.gov; trec_eval"

    qrels: str = Field(default="", description="The file with the judgments.")
    loss: str = Field(default=TREC_LOSS, description="Metric of runs; it looks at the first places only.")
    ties: Ties = Field(default="shared", description="Places of documents of equal scores.")

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the first line is one of a run, or of qrels."""
        line = head.lstrip().split(b"\n", 1)[0]
        return bool(RUN.match(line) or QRELS.match(line))

    def raw(self, path: Path) -> RawTable:
        """Return measurements; see `Reader.raw`. All of the run is read at once."""
        if not self.qrels:
            _refuse_judgments(path)
            raise InputError(f"a run says nothing without judgments: rankbench rank --qrels QRELS {path}", path=path)
        measure, notes = Measure.parsed(self.loss), list[str]()
        qrels, run = Path(self.qrels), read_run(path, notes)
        topics = judgments(read_qrels(existing(qrels)), measure, notes, qrels)
        return RawTable(judged(run, topics, measure, self.ties, notes, path), path, notes=tuple(notes))


QRELS = re.compile(rb"[ \t]*\S+[ \t]+(0|Q0)[ \t]+\S+[ \t]+-?[0-9]+[ \t]*\r?\Z")
"""A line of qrels: ``topic 0 document relevance``."""

RUN = re.compile(rb"[ \t]*\S+[ \t]+Q0[ \t]+\S+[ \t]+[0-9]+[ \t]+[-+.0-9eE]+[ \t]+\S+[ \t]*\r?\Z")
"""A line of a run: ``topic Q0 document rank score system``."""


_BEIR = ("query-id", "corpus-id", "score")
_MARCO = ("topic", "doc", "rank")


def read_qrels(path: Path) -> pl.DataFrame:
    """Return the judgments: ``topic, doc, grade``; negative grades are 0, as in trec_eval.

    BEIR's judgments have three columns, and their names first.

    Raises
    ------
    InputError
        With the line: too few or too many words, a grade that is no number, a document judged twice.
    """
    if _width(path) == len(_BEIR):
        # BEIR's file begins with the names of its columns.
        rows = word_rows(path, ("topic", "doc", "grade"), "query-id corpus-id score")
        rows = rows.filter((pl.col("line") > 1) | (pl.col("grade").str.to_lowercase() != _BEIR[2]))
    else:
        rows = word_rows(path, ("topic", "iteration", "doc", "grade"), "topic iteration document relevance")
    return as_qrels(rows, path)


def as_qrels(rows: pl.DataFrame, path: Path | None = None) -> pl.DataFrame:
    """Return rows of judgments, ``line, topic, doc, grade``, checked; see `read_qrels`."""
    grades = finite_column(rows, "grade", path)
    _check_once(rows, ("topic", "doc"), path, "judged twice")
    return rows.select("topic", "doc", grade=grades.clip(0))


def read_run(path: Path, notes: list[str] | None = None) -> pl.DataFrame:
    """Return the run: ``system, topic, doc, score``; ranks are ignored, as in trec_eval.

    MS MARCO's runs have ranks and no scores (``query document rank``): theirs are minus the ranks, and the system is
    called as the file. `notes` gets a note on ranks against the scores.

    Raises
    ------
    InputError
        With the line: too few or too many words, a score that is no finite number, a document found twice. Or the
        file has judgments.
    """
    _refuse_judgments(path)
    if _width(path) == len(_MARCO):
        rows = word_rows(path, _MARCO, "query document rank")
        rows = rows.with_columns(number=pl.col("rank").cast(pl.Int64, strict=False))
        refuse_rows(rows, rows["number"] < 1, _RANKS, path)
        # Without a first one they may be scores, and more is better.
        refuse_rows(rows, rows.select(pl.col("number").min().over("topic") != 1).to_series(), _RANKS, path)
        rows = rows.with_columns(score=-pl.col("number"), system=pl.lit(path.name.split(".", 1)[0]))
    else:
        names = ("topic", "q0", "doc", "rank", "score", "system")
        rows = word_rows(path, names, "topic Q0 document rank score system")
    rows = as_run(rows, path)
    ranked = rows.with_columns(pl.col("rank").cast(pl.Int64, strict=False))
    rises = [pl.col(name).diff().over("system", "topic", order_by="rank") > 0 for name in ("rank", "score")]
    if (against := ranked.select(pl.all_horizontal(rises).sum()).item()) and notes is not None:
        notes.append(f"{against:,} documents have a higher score than the one ranked before: rankbench orders by score")
    return rows.select("system", "topic", "doc", "score")


def _refuse_judgments(path: Path) -> None:
    if QRELS.match(head(existing(path), 1 << 16).lstrip().split(b"\n", 1)[0]):
        raise InputError(f"these are judgments (qrels), not a run: rankbench rank --qrels {path} RUN...", path=path)


def as_run(rows: pl.DataFrame, path: Path | None = None) -> pl.DataFrame:
    """Return rows of a run, ``line, system, topic, doc, score`` and others, checked; see `read_run`."""
    rows = rows.with_columns(score=finite_column(rows, "score", path))
    _check_once(rows, ("system", "topic", "doc"), path, "there twice")
    return rows


def _width(path: Path) -> int:
    """Return the number of words of the first nonblank line."""
    first = next((line for line in head(path, 1 << 16).split(b"\n") if line.strip()), b"")
    return len(first.split())


_RANKS = (
    "three words are 'query document rank', with ranks from 1 in every topic, not {rank}; write scores as "
    "'topic Q0 document rank score system'"
)


def word_rows(path: Path, names: Sequence[str], form: str) -> pl.DataFrame:
    """Return the words of all lines, with the number of each line."""
    rows = pl.concat([_words(chunk, names, form) for chunk in chunks(path, kept=True)])
    if not rows.height:
        raise InputError("the file has no rows, only blank lines", path=path)
    return rows


def _words(chunk: Chunk, names: Sequence[str], form: str) -> pl.DataFrame:
    texts = pl.Series("text", chunk.data.decode("utf-8").split("\n"), pl.String)
    lines = pl.DataFrame({"line": pl.int_range(chunk.line, chunk.line + len(texts), eager=True), "text": texts})
    plain = pl.col("text").str.replace_all(r"[ \t\r]+", " ").str.strip_chars(" ")
    words = lines.with_columns(plain).filter(pl.col("text") != "").with_columns(pl.col("text").str.split(" "))
    odd = words.filter(pl.col("text").list.len() != len(names))
    if odd.height:
        raise InputError(
            f"the line has {odd['text'][0].len()} words, not {len(names)}: {form}", path=chunk.path, row=odd["line"][0]
        )
    return words.select("line", *(pl.col("text").list.get(at).alias(name) for at, name in enumerate(names)))


def finite_column(rows: pl.DataFrame, name: str, path: Path | None) -> pl.Series:
    """Return a column as numbers."""
    numbers = rows[name].cast(pl.Float64, strict=False)
    refuse_rows(rows, ~numbers.is_finite(), f"the {name} {{{name}}} is not a finite number", path)
    return numbers


def _check_once(rows: pl.DataFrame, keys: Sequence[str], path: Path | None, what: str) -> None:
    again = ~rows.select(pl.struct(keys).is_first_distinct()).to_series()
    refuse_rows(rows, again, f"document {{doc}} of topic {{topic}} is {what}; remove one line", path)
