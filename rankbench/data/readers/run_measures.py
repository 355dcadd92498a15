"""Measures judge the runs of retrieval systems by the grades of documents, topic by topic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from rankbench.core.spec import Spec, parse
from rankbench.core.text import count_text, listed, short_repr
from rankbench.errors import InputError, SpecError
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


@dataclass(frozen=True)
class Measure:
    """The worth of a run on a topic.

    Attributes
    ----------
    text : str
        As it was written.
    loss : Loss, optional
        None: the share of judged documents among the first ones.
    depth : int
        Number of places that it looks at; 0: as many as a run lists.
    """

    text: str
    loss: Loss | None
    depth: int

    @classmethod
    def parsed(cls, text: str) -> Measure:
        """Return the measure of a text: a loss, or a name of `MEASURES`.

        Raises
        ------
        SpecError
            It is no loss of scores, or it looks at all places, and a run lists the first only.
        """
        written = parse(text)
        known = MEASURES.get(written.name, Spec(written.name))
        spec = Spec(known.name, known.params | written.params)
        unsaid = written.params.keys().isdisjoint(("at", "cutoff"))
        if written.name in ("P", "R", "Success", "Judged", "judged") and unsaid:
            raise SpecError(f"{text}: say how many places count, as {written.name}@10")
        if spec.name == "judged":
            if other := [name for name in spec.params if name != "at"]:
                raise SpecError(f"{text}: {written.name} has no parameter {other[0]!r}; write {written.name}@10")
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
        """Return a text on the scores: the measure's name in ir_measures, or one minus a loss without such a name."""
        if self.loss is None:
            return f"scores are Judged@{self.depth} of each topic"
        written = parse(str(self.loss))
        for name, spec in MEASURES.items():
            if spec.name == written.name and spec.params.items() <= written.params.items():
                more = {key: value for key, value in written.params.items() if key not in (*spec.params, "cutoff")}
                _, colon, others = str(Spec(name, more)).partition(":")
                return f"scores are {name}{f'@{self.depth}' if self.depth else ''}{colon}{others} of each topic"
        return f"scores are {'' if self.loss.direction == 'maximize' else '1 - '}{self.text} of each topic"

    def ends(self) -> tuple[float | None, float | None]:
        """Return the smallest and the largest measure of a run on a topic; None: no bound."""
        low, high = self.loss.bounds() if self.loss else (0.0, 1.0)
        if self.loss and self.loss.direction == "minimize":
            low, high = 1 - high, 1 - low
        return low if math.isfinite(low) else None, high if math.isfinite(high) else None

    def counts(self, grades: DocumentValues) -> bool:
        """Return whether a topic has a relevant document, or needs none."""
        least = getattr(self.loss, "relevant", None)
        return self.loss is None or any(grade > 0 if least is None else grade >= least for grade in grades.values())

    def value(self, grades: DocumentValues, run: DocumentValues) -> float:
        """Return the measure of a run; unlisted documents rank below the cutoff."""
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
    """Return the share of judged documents among the first `cutoff`, or all of a shorter list."""
    if not run:
        return 0.0
    scores = -np.fromiter(run.values(), np.float64, len(run))
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    found, first = np.bincount(group, [doc in grades for doc in run]), np.cumsum(sizes) - sizes
    counted = min(cutoff, len(run))
    return float(np.sum(found * np.clip((counted - first) / sizes, 0.0, 1.0)) / counted)


def judgments(
    qrels: pl.DataFrame, measure: Measure, notes: list[str], path: Path | None = None, *, lacking: bool = True
) -> dict[str, DocumentValues]:
    """Return grades by topic and document; `notes` gets how many topics have no relevant document.

    `lacking` is that of `judged`: without it, the mean may leave such a topic out, where a run lacks it.

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
        what = "all runs score 0, which the mean counts" if lacking else "a run that has one scores 0 there"
        notes.append(f"{few} ({listed(nothing, _NAMED)}): {what}, as in trec_eval")
    return topics


def judged(
    run: pl.DataFrame,
    topics: Mapping[str, DocumentValues],
    measure: Measure,
    ties: Ties,
    notes: list[str],
    path: Path | None = None,
    *,
    lacking: bool = True,
) -> pl.LazyFrame:
    """Return the score of each system of a run on each judged topic, ``query_id, system, score``.

    Parameters
    ----------
    run : DataFrame
        As of `rankbench.data.readers.trec.read_run`.
    topics : mapping of str to dict
        As of `judgments`.
    measure : Measure
    ties : {"shared", "trec-eval"}
    notes : list of str
        Gets sentences on topics and documents that only one of run and judgments has.
    path : Path, optional
        The run's file, for errors.
    lacking : bool
        Whether a judged topic that a system lacks scores 0 (``trec_eval -c``), or has no row.

    Raises
    ------
    InputError
        A system has no judged topic.
    """
    rows = []
    for (system,), part in run.partition_by("system", as_dict=True, maintain_order=True).items():
        by_topic = {str(topic): docs for (topic,), docs in part.partition_by("topic", as_dict=True).items()}
        notes += _compared_topics(str(system), by_topic.keys(), topics.keys(), lacking, path)
        if not any(doc in topics[topic] for topic in by_topic.keys() & topics.keys() for doc in by_topic[topic]["doc"]):
            notes.append(
                f"nobody judged any document of {short_repr(str(system))}: does it name them as the judgments do?"
            )
        for topic, grades in topics.items():
            if topic in by_topic or lacking:
                own = dict(by_topic[topic].select("doc", "score").iter_rows()) if topic in by_topic else {}
                value = measure.value(grades, own if ties == "shared" else _by_name(own))
                rows.append((topic, str(system), value))
    return pl.LazyFrame(rows, {"query_id": pl.String, "system": pl.String, "score": pl.Float64}, orient="row")


def _compared_topics(system: str, own: Set[str], topics: Set[str], lacking: bool, path: Path | None) -> list[str]:
    """Return which topics only a system or only the judgments have; refuse a system without a common topic."""
    unjudged, absent, notes = sorted(own - topics), sorted(topics - own), list[str]()
    if len(unjudged) == len(own):
        raise InputError(
            f"run {short_repr(system)} and the judgments have no topic in common: its topics are "
            f"{listed(unjudged, _NAMED)}, and judged are {listed(absent, _NAMED)}",
            path=path,
        )
    if unjudged:
        few = count_text(len(unjudged), "topic", f"of {len(own)} that nobody judged")
        notes.append(f"{short_repr(system)} has {few} ({listed(unjudged, _NAMED)}): no mean counts them")
    if absent:
        few = count_text(len(absent), "judged topic", f"of {len(topics)}")
        what = "each scores 0, which the mean counts, as in trec_eval -c" if lacking else "it has no score there"
        notes.append(f"{short_repr(system)} lacks {few} ({listed(absent, _NAMED)}): {what}")
    return notes


def _by_name(run: DocumentValues) -> DocumentValues:
    """Return places instead of scores, the last document first: without ties, in trec_eval's order."""
    order = sorted(run, key=lambda doc: (np.float32(run[doc]), doc.encode()))
    return {doc: float(place) for place, doc in enumerate(order)}
