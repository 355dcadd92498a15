"""The lines of TREC's files: judgments of documents (qrels), and what systems found (runs)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from rankbench.data.readers.text_lines import Chunk, chunks, head
from rankbench.errors import InputError
from rankbench.text import short_repr

__all__ = ["QRELS", "RUN", "read_qrels", "read_run"]

QRELS = re.compile(rb"[ \t]*\S+[ \t]+(0|Q0)[ \t]+\S+[ \t]+-?[0-9]+[ \t]*\r?\Z")
"""A line of qrels: ``topic 0 document relevance``."""

RUN = re.compile(rb"[ \t]*\S+[ \t]+Q0[ \t]+\S+[ \t]+[0-9]+[ \t]+[-+.0-9eE]+[ \t]+\S+[ \t]*\r?\Z")
"""A line of a run: ``topic Q0 document rank score system``."""


_BEIR = ("query-id", "corpus-id", "score")
_MARCO = ("topic", "doc", "rank")


def read_qrels(path: Path) -> pl.DataFrame:
    """Return what documents are worth: ``topic, doc, grade``; negative grades are 0, as trec_eval takes them.

    BEIR's judgments have three columns, and their names first.

    Raises
    ------
    InputError
        With the line: too few or too many words, a grade that is no number, a document judged twice.
    """
    if _width(path) == len(_BEIR):
        # BEIR's file begins with the names of its columns.
        rows = _rows(path, ("topic", "doc", "grade"), "query-id corpus-id score")
        rows = rows.filter((pl.col("line") > 1) | (pl.col("grade").str.to_lowercase() != _BEIR[2]))
    else:
        rows = _rows(path, ("topic", "iteration", "doc", "grade"), "topic iteration document relevance")
    _numbers(rows, "grade", path)
    _once(rows, ("topic", "doc"), path, "judged twice")
    return rows.select("topic", "doc", pl.col("grade").cast(pl.Float64).clip(0))


def read_run(path: Path) -> pl.DataFrame:
    """Return what systems found: ``system, topic, doc, score``; ranks are ignored, as trec_eval does.

    MS MARCO's runs have ranks and no scores (``query document rank``): theirs are minus the ranks, and the system is
    called as the file.

    Raises
    ------
    InputError
        With the line: too few or too many words, a score that is no finite number, a document found twice.
    """
    if _width(path) == len(_MARCO):
        rows = _rows(path, _MARCO, "query document rank")
        _ranks(rows, path)
        rows = rows.with_columns(score=-pl.col("rank").cast(pl.Int64), system=pl.lit(path.name.split(".", 1)[0]))
    else:
        names = ("topic", "q0", "doc", "rank", "score", "system")
        rows = _rows(path, names, "topic Q0 document rank score system")
    _numbers(rows, "score", path)
    _once(rows, ("system", "topic", "doc"), path, "there twice")
    return rows.select("system", "topic", "doc", pl.col("score").cast(pl.Float64))


def _width(path: Path) -> int:
    """Return how many words the first line with content has."""
    first = next((line for line in head(path, 1 << 16).split(b"\n") if line.strip()), b"")
    return len(first.split())


def _ranks(rows: pl.DataFrame, path: Path) -> None:
    """Refuse ranks that are no whole numbers from 1 in every topic: they may be scores, of which more is better."""
    ranks = rows["rank"].cast(pl.Int64, strict=False)
    bad = (ranks.is_null() | (ranks < 1)).arg_true()
    if len(bad) or rows.select((pl.col("rank").cast(pl.Int64).min().over("topic") != 1).any()).item():
        row = int(bad[0]) if len(bad) else 0
        raise InputError(
            "three words are 'query document rank', with ranks from 1 in every topic, and "
            f"{short_repr(rows['rank'][row])} is none; write scores as 'topic Q0 document rank score system'",
            path=path,
            row=rows["line"][row],
        )


def _rows(path: Path, names: Sequence[str], form: str) -> pl.DataFrame:
    """Return the words of all lines, with the number of each line."""
    parts = [_words(chunk, names, form) for chunk in chunks(path)]
    rows = pl.concat(parts)
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


def _numbers(rows: pl.DataFrame, name: str, path: Path) -> None:
    number = rows[name].cast(pl.Float64, strict=False)
    bad = (~number.is_finite()).fill_null(True).arg_true()
    if len(bad):
        raise InputError(
            f"the {name} {short_repr(rows[name][bad[0]])} is not a finite number", path=path, row=rows["line"][bad[0]]
        )


def _once(rows: pl.DataFrame, keys: Sequence[str], path: Path, what: str) -> None:
    again = (~rows.select(pl.struct(keys).is_first_distinct()).to_series()).arg_true()
    if len(again):
        row = rows.row(again[0], named=True)
        raise InputError(
            f"document {short_repr(row['doc'])} of topic {short_repr(row['topic'])} is {what}; remove one line",
            path=path,
            row=row["line"],
        )
