"""The TREC reader reads runs and qrels."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import polars as pl
from pydantic import Field

from rankbench.core.text import count_text, short_repr
from rankbench.data.readers.text_lines import Chunk, chunks, head, refuse_rows
from rankbench.data.tables.checks import checked
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.dataset import Reader, existing, remark
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin import manager

TREC_LOSS = "ndcg:gain=identity,cutoff=10"
"""nDCG@10 as trec_eval has it (``ndcg_cut_10``): gains are the grades themselves."""

Ties: TypeAlias = Literal["shared", "trec-eval"]
"""Ways to place documents of equal scores: at the mean of their places, or as trec_eval does."""

_FEW = 10
"""The places that a suggestion counts."""


class TrecReader(Reader):
    """A TREC run (``topic Q0 document rank score system``) judged by qrels (``topic iteration document relevance``).

    The score of a system on a topic is one minus the loss of its documents: with ``ndcg`` it is nDCG, with ``err``
    the expected reciprocal rank. Documents go by their scores; ranks in the file are ignored. Documents of equal scores
    share their places, or stand in the order of trec_eval, which is backwards by their names, after it has rounded
    scores to 32 bits. A document that nobody judged is worth nothing, and neither is what the run does not list.

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

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return measurements; see `Reader.scan`. All of the run is read at once."""
        if QRELS.match(head(existing(path), 1 << 16).lstrip().split(b"\n", 1)[0]):
            raise InputError(f"these are judgments (qrels), not a run: rankbench rank --qrels {path} RUN...", path=path)
        if not self.qrels:
            raise InputError(f"a run says nothing without judgments: rankbench rank --qrels QRELS {path}", path=path)
        loss, depth = self._judge()
        judged = _judgments(read_qrels(existing(Path(self.qrels))), Path(self.qrels))
        found = read_run(path)
        rows = []
        for (system,), part in found.partition_by("system", as_dict=True, maintain_order=True).items():
            by_topic = part.partition_by("topic", as_dict=True)
            _say_missing(str(system), {str(topic) for (topic,) in by_topic}, judged)
            for topic, grades in judged.items():
                run = by_topic.get((topic,))
                listed = {} if run is None else dict(run.select("doc", "score").iter_rows())
                value = _value(loss, depth, grades, listed if self.ties == "shared" else _by_name(listed))
                rows.append((topic, str(system), value))
        table = pl.DataFrame(rows, {"query_id": pl.String, "system": pl.String, "score": pl.Float64}, orient="row")
        return checked(table.lazy(), path=path)

    def _judge(self) -> tuple[Loss, int]:
        """Return the loss, and the number of places that it looks at; 0: as many as a run lists.

        Raises
        ------
        SpecError
            It is no loss of scores, or it looks at all places, and a run lists the first only.
        """
        loss = manager.get(Loss, self.loss)
        if loss.structure != "scores":
            raise SpecError(f"{loss.name!r} judges orders by {loss.structure}, and qrels have grades; take ndcg or err")
        if (cutoff := getattr(loss, "cutoff", getattr(loss, "k", None))) is None:
            raise SpecError(
                f"{self.loss} has no parameter cutoff or k, and a run lists the first places only; take ndcg@10, map, "
                "mrr, p@10, recall@100 or err@20"
            )
        if math.isfinite(cutoff):
            return loss, int(cutoff)
        if loss.truncates:
            return loss, 0
        few = loss.model_copy(update={"cutoff": _FEW})
        raise SpecError(
            f"{self.loss} looks at all places, and a run lists the first ones only; say how many count, as {few}"
        )


def _judgments(qrels: pl.DataFrame, path: Path) -> dict[str, dict[str, float]]:
    """Return grades by topic and document, of topics with a document that is worth something."""
    topics = {
        str(topic): dict(part.select("doc", "grade").iter_rows())
        for (topic,), part in qrels.partition_by("topic", as_dict=True, maintain_order=True).items()
    }
    if not (kept := {topic: grades for topic, grades in topics.items() if any(grades.values())}):
        raise InputError("no topic has a relevant document", path=path)
    if len(kept) < len(topics):
        left = count_text(len(topics) - len(kept), "topic", f"of {len(topics)} without a relevant document")
        remark(f"rankbench leaves out {left}")
    return kept


def _say_missing(system: str, topics: set[str], judged: dict[str, dict[str, float]]) -> None:
    if absent := len(judged.keys() - topics):
        remark(f"{short_repr(system)} lacks {absent} of {count_text(len(judged), 'topic')}: counted as nothing found")
    if unjudged := len(topics - judged.keys()):
        left = count_text(unjudged, "topic", f"of {short_repr(system)} without a relevant document")
        remark(f"rankbench leaves out {left}")


def _by_name(run: dict[str, float]) -> dict[str, float]:
    """Return places instead of scores, the last document first: without ties, in trec_eval's order."""
    order = sorted(run, key=lambda doc: (np.float32(run[doc]), doc.encode()))
    return {doc: float(place) for place, doc in enumerate(order)}


def _value(loss: Loss, depth: int, grades: dict[str, float], run: dict[str, float]) -> float:
    """Return one minus the loss of what a run lists; what it does not list stands behind all places that count."""
    if not depth:
        depth = max(len(run), 1)
        loss = loss.model_copy(update={"cutoff": depth})
    listed, missed = [grades.get(doc, 0.0) for doc in run], [grade for doc, grade in grades.items() if doc not in run]
    _, places = np.unique(np.fromiter(run.values(), np.float64, len(run)), return_inverse=True)
    alpha = np.concatenate([places + 2.0, np.ones(depth), np.zeros(len(missed))])
    value = loss.value(alpha, np.array([*listed, *[0.0] * depth, *missed]))
    return value if loss.direction == "maximize" else 1.0 - value


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
    grades = _finite(rows, "grade", path)
    _check_once(rows, ("topic", "doc"), path, "judged twice")
    return rows.select("topic", "doc", grade=grades.clip(0))


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
        rows = rows.with_columns(number=pl.col("rank").cast(pl.Int64, strict=False))
        refuse_rows(rows, rows["number"] < 1, _RANKS, path)
        # Without a first one they may be scores, and more is better.
        refuse_rows(rows, rows.select(pl.col("number").min().over("topic") != 1).to_series(), _RANKS, path)
        rows = rows.with_columns(score=-pl.col("number"), system=pl.lit(path.name.split(".", 1)[0]))
    else:
        names = ("topic", "q0", "doc", "rank", "score", "system")
        rows = _rows(path, names, "topic Q0 document rank score system")
    rows = rows.with_columns(score=_finite(rows, "score", path))
    _check_once(rows, ("system", "topic", "doc"), path, "there twice")
    ranked = rows.with_columns(pl.col("rank").cast(pl.Int64, strict=False))
    rises = [pl.col(name).diff().over("system", "topic", order_by="rank") > 0 for name in ("rank", "score")]
    if against := ranked.select(pl.all_horizontal(rises).sum()).item():
        remark(f"{against:,} documents have a higher score than the one ranked before: rankbench orders by score")
    return rows.select("system", "topic", "doc", "score")


def _width(path: Path) -> int:
    """Return how many words the first line with content has."""
    first = next((line for line in head(path, 1 << 16).split(b"\n") if line.strip()), b"")
    return len(first.split())


_RANKS = (
    "three words are 'query document rank', with ranks from 1 in every topic, not {rank}; write scores as "
    "'topic Q0 document rank score system'"
)


def _rows(path: Path, names: Sequence[str], form: str) -> pl.DataFrame:
    """Return the words of all lines, with the number of each line."""
    rows = pl.concat([_words(chunk, names, form) for chunk in chunks(path)])
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


def _finite(rows: pl.DataFrame, name: str, path: Path) -> pl.Series:
    """Return a column as numbers."""
    numbers = rows[name].cast(pl.Float64, strict=False)
    refuse_rows(rows, ~numbers.is_finite(), f"the {name} {{{name}}} is not a finite number", path)
    return numbers


def _check_once(rows: pl.DataFrame, keys: Sequence[str], path: Path, what: str) -> None:
    again = ~rows.select(pl.struct(keys).is_first_distinct()).to_series()
    refuse_rows(rows, again, f"document {{doc}} of topic {{topic}} is {what}; remove one line", path)
