"""The TREC reader reads runs and qrels."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, TypeAlias

import numpy as np
import polars as pl
from pydantic import Field

from rankbench.core.spec import Spec, parse
from rankbench.core.text import count_text, first_of, short_repr
from rankbench.data.readers.text_lines import Chunk, chunks, refuse_rows
from rankbench.data.readers.unpacked import head
from rankbench.data.tables.checks import checked
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.dataset import Reader, existing, remark
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin import manager

TREC_LOSS = "ndcg:gain=identity,cutoff=10"
"""nDCG@10 as trec_eval has it (``ndcg_cut_10``): gains are the grades themselves."""

Ties: TypeAlias = Literal["shared", "trec-eval"]
"""Ways to place documents of equal scores: at the mean of their places, or as trec_eval does."""

MEASURES: Mapping[str, Spec] = {
    "nDCG": Spec("ndcg", {"gain": "identity"}),
    "AP": Spec("map"),
    "RR": Spec("mrr"),
    "P": Spec("p"),
    "R": Spec("recall"),
    "Rprec": Spec("r-precision"),
    "Success": Spec("success"),
    "RBP": Spec("rbp"),
    "ERR": Spec("err"),
    "Judged": Spec("judged"),
}
"""Losses by the names of ir_measures (ir-measur.es), each one minus the measure; documented in score-tables.md."""

_FEW = 10
"""The places that a suggestion counts."""

_NAMED = 3
"""Topics that a remark names."""

DocumentValues: TypeAlias = dict[str, float]
"""Grades or scores by document."""


class TrecReader(Reader):
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

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return measurements; see `Reader.scan`. All of the run is read at once."""
        if not self.qrels:
            read_run(path)  # or these are judgments, which it says
            raise InputError(f"a run says nothing without judgments: rankbench rank --qrels QRELS {path}", path=path)
        measure = Measure.parsed(self.loss)
        qrels, run = Path(self.qrels), read_run(path)
        return checked(judged(run, judgments(read_qrels(existing(qrels)), measure, qrels), measure, self.ties, path))


@dataclass(frozen=True)
class Measure:
    """The worth of a run on a topic.

    Attributes
    ----------
    text : str
        As it was written.
    loss : Loss, optional
        None: the share of the first documents that somebody judged.
    depth : int
        Number of places that it looks at; 0: as many as a run lists.
    """

    text: str
    loss: Loss | None
    depth: int

    @classmethod
    def parsed(cls, text: str) -> Measure:
        """Return the measure that a text names: a loss, or a name of `MEASURES`.

        Raises
        ------
        SpecError
            It is no loss of scores, or it looks at all places, and a run lists the first only.
        """
        written = parse(text)
        known = MEASURES.get(written.name, Spec(written.name))
        spec = Spec(known.name, known.params | written.params)
        if spec.name == "judged":
            if spec.params.keys() != {"at"}:
                raise SpecError(f"write the places that count, as {written.name}@10, and no other parameters")
            return cls(text, None, int(str(spec.params["at"])))
        loss = manager.get(Loss, spec)
        if loss.structure != "scores":
            raise SpecError(f"{loss.name!r} judges orders by {loss.structure}, and qrels have grades; take ndcg or err")
        if getattr(loss, "relevant", 1.0) <= 0:
            raise SpecError(f"{text}: documents that nobody judged have grade 0, so relevant must be above 0")
        cutoff = getattr(loss, "cutoff", getattr(loss, "k", None))
        if cutoff is not None and math.isfinite(cutoff):
            return cls(text, loss, int(cutoff))
        if loss.truncates:
            return cls(text, loss, 0)
        if cutoff is None:
            raise SpecError(
                f"{text} has no parameter cutoff or k, and a run lists the first places only; take ndcg@10, map, "
                "mrr, p@10, recall@100 or err@20"
            )
        few = loss.model_copy(update={"cutoff": _FEW})
        raise SpecError(
            f"{text} looks at all places, and a run lists the first ones only; say how many count, as {few}"
        )

    def description(self) -> str:
        """Return what scores are, in words."""
        named = self.loss is None or parse(self.text).name in MEASURES
        return f"scores are {'' if named else '1 - '}{self.text} of each topic"

    def counts(self, grades: DocumentValues) -> bool:
        """Return whether a topic has a relevant document, or needs none."""
        least = getattr(self.loss, "relevant", None)
        return self.loss is None or any(grade > 0 if least is None else grade >= least for grade in grades.values())

    def value(self, grades: DocumentValues, run: DocumentValues) -> float:
        """Return the worth of a run's documents; what it does not list stands behind all places that count."""
        if self.loss is None:
            return _judged_share(grades, run, self.depth)
        if not self.counts(grades):
            return 0.0
        loss, depth = self.loss, self.depth
        if not depth:
            depth = max(len(run), len(grades))
            loss = loss.model_copy(update={"cutoff": depth}) if "cutoff" in loss.parameters() else loss
        missed = [grade for doc, grade in grades.items() if doc not in run]
        _, places = np.unique(np.fromiter(run.values(), np.float64, len(run)), return_inverse=True)
        alpha = np.concatenate([places + 2.0, np.ones(depth), np.zeros(len(missed))])
        value = loss.value(alpha, np.array([*(grades.get(doc, 0.0) for doc in run), *[0.0] * depth, *missed]))
        return value if loss.direction == "maximize" else 1.0 - value


def _judged_share(grades: DocumentValues, run: DocumentValues, cutoff: int) -> float:
    """Return the share of the first documents, `cutoff` or all of a shorter list, that somebody judged."""
    if not run:
        return 0.0
    scores = -np.fromiter(run.values(), np.float64, len(run))
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    found, first = np.bincount(group, [doc in grades for doc in run]), np.cumsum(sizes) - sizes
    counted = min(cutoff, len(run))
    return float(np.sum(found * np.clip((counted - first) / sizes, 0.0, 1.0)) / counted)


def judgments(qrels: pl.DataFrame, measure: Measure, path: Path | None = None) -> dict[str, DocumentValues]:
    """Return grades by topic and document; a remark says how many topics have no relevant document.

    Raises
    ------
    InputError
        No topic has one.
    """
    topics = {
        str(topic): dict(part.select("doc", "grade").iter_rows())
        for (topic,), part in qrels.partition_by("topic", as_dict=True, maintain_order=True).items()
    }
    nothing = [topic for topic, grades in topics.items() if not measure.counts(grades)]
    if len(nothing) == len(topics):
        raise InputError("no topic has a relevant document", path=path)
    if nothing:
        few = count_text(len(nothing), "judged topic", f"of {len(topics)} without a relevant document")
        remark(f"{few} ({_some(nothing)}): all runs score 0, which the mean counts, as in trec_eval")
    return topics


def judged(
    run: pl.DataFrame,
    topics: Mapping[str, DocumentValues],
    measure: Measure,
    ties: Ties,
    path: Path | None = None,
    *,
    lacking: bool = True,
) -> pl.LazyFrame:
    """Return the score of each system of a run on each judged topic, ``query_id, system, score``.

    Parameters
    ----------
    run : DataFrame
        As of `read_run`.
    topics : mapping of str to dict
        As of `judgments`.
    measure : Measure
    ties : {"shared", "trec-eval"}
    path : Path, optional
        The run's file, for errors.
    lacking : bool
        Whether a judged topic that a system lacks scores 0 (``trec_eval -c``), or has no row.

    Raises
    ------
    InputError
        A system has no topic that somebody judged.
    """
    rows = []
    for (system,), part in run.partition_by("system", as_dict=True, maintain_order=True).items():
        by_topic = {str(topic): docs for (topic,), docs in part.partition_by("topic", as_dict=True).items()}
        _compare_topics(str(system), by_topic.keys(), topics.keys(), lacking, path)
        if not any(doc in topics[topic] for topic in by_topic.keys() & topics.keys() for doc in by_topic[topic]["doc"]):
            remark(f"nobody judged any document of {short_repr(str(system))}: does it name them as the judgments do?")
        for topic, grades in topics.items():
            if topic in by_topic or lacking:
                listed = dict(by_topic[topic].select("doc", "score").iter_rows()) if topic in by_topic else {}
                value = measure.value(grades, listed if ties == "shared" else _by_name(listed))
                rows.append((topic, str(system), value))
    return pl.LazyFrame(rows, {"query_id": pl.String, "system": pl.String, "score": pl.Float64}, orient="row")


def _compare_topics(system: str, own: Set[str], topics: Set[str], lacking: bool, path: Path | None) -> None:
    """Say which topics only a system or only the judgments have; refuse a system without a common topic."""
    unjudged, absent = sorted(own - topics), sorted(topics - own)
    if len(unjudged) == len(own):
        raise InputError(
            f"run {short_repr(system)} and the judgments have no topic in common: its topics are {_some(unjudged)}, "
            f"and judged are {_some(absent)}",
            path=path,
        )
    if unjudged:
        few = count_text(len(unjudged), "topic", f"of {len(own)} that nobody judged")
        remark(f"{short_repr(system)} has {few} ({_some(unjudged)}): no mean counts them")
    if absent:
        few = count_text(len(absent), "judged topic", f"of {len(topics)}")
        what = "each scores 0, which the mean counts, as in trec_eval -c" if lacking else "no mean counts them"
        remark(f"{short_repr(system)} lacks {few} ({_some(absent)}): {what}")


def _some(topics: Sequence[str]) -> str:
    return first_of([short_repr(topic) for topic in topics], _NAMED)


def _by_name(run: DocumentValues) -> DocumentValues:
    """Return places instead of scores, the last document first: without ties, in trec_eval's order."""
    order = sorted(run, key=lambda doc: (np.float32(run[doc]), doc.encode()))
    return {doc: float(place) for place, doc in enumerate(order)}


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
    return as_qrels(rows, path)


def as_qrels(rows: pl.DataFrame, path: Path | None = None) -> pl.DataFrame:
    """Return rows of judgments, ``line, topic, doc, grade``, checked; see `read_qrels`."""
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
        With the line: too few or too many words, a score that is no finite number, a document found twice. Or the
        file has judgments.
    """
    if QRELS.match(head(existing(path), 1 << 16).lstrip().split(b"\n", 1)[0]):
        raise InputError(f"these are judgments (qrels), not a run: rankbench rank --qrels {path} RUN...", path=path)
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
    rows = as_run(rows, path)
    ranked = rows.with_columns(pl.col("rank").cast(pl.Int64, strict=False))
    rises = [pl.col(name).diff().over("system", "topic", order_by="rank") > 0 for name in ("rank", "score")]
    if against := ranked.select(pl.all_horizontal(rises).sum()).item():
        remark(f"{against:,} documents have a higher score than the one ranked before: rankbench orders by score")
    return rows.select("system", "topic", "doc", "score")


def as_run(rows: pl.DataFrame, path: Path | None = None) -> pl.DataFrame:
    """Return rows of a run, ``line, system, topic, doc, score`` and others, checked; see `read_run`."""
    rows = rows.with_columns(score=_finite(rows, "score", path))
    _check_once(rows, ("system", "topic", "doc"), path, "there twice")
    return rows


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


def _finite(rows: pl.DataFrame, name: str, path: Path | None) -> pl.Series:
    """Return a column as numbers."""
    numbers = rows[name].cast(pl.Float64, strict=False)
    refuse_rows(rows, ~numbers.is_finite(), f"the {name} {{{name}}} is not a finite number", path)
    return numbers


def _check_once(rows: pl.DataFrame, keys: Sequence[str], path: Path | None, what: str) -> None:
    again = ~rows.select(pl.struct(keys).is_first_distinct()).to_series()
    refuse_rows(rows, again, f"document {{doc}} of topic {{topic}} is {what}; remove one line", path)
