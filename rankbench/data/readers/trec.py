"""TREC runs judged by qrels: what each system's documents are worth on each topic, as a score table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from pydantic import Field

from rankbench.errors import InputError, SpecError
from rankbench.kinds.loss import Loss
from rankbench.kinds.reader import Reader, existing

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TREC_LOSS", "TrecReader"]

TREC_LOSS = "ndcg:gain=identity,cutoff=10"
"""nDCG@10 as trec_eval has it (``ndcg_cut_10``): gains are the grades themselves."""

_DEPTHS = tuple(1 << power for power in range(16))
_FEW = 10
"""The places that a suggestion counts."""


class TrecReader(Reader):
    """A TREC run (``topic Q0 document rank score system``) judged by qrels (``topic iteration document relevance``).

    The score of a system on a topic is one minus the loss of its documents: with ``ndcg`` it is nDCG, with ``err``
    the expected reciprocal rank. Documents go by their scores, and equal ones share their places; ranks in the file are
    ignored. A document that nobody judged is worth nothing, and neither is what the run does not list.
    """

    name: ClassVar[str] = "trec"
    source: ClassVar[str] = "trec.nist.gov; trec_eval"

    qrels: str = Field(default="", description="The file with the judgments.")
    loss: str = Field(
        default=TREC_LOSS, description="What runs are judged by; one that looks at the first places only."
    )

    @classmethod
    def sniff(cls, path: Path, head: bytes) -> bool:
        """Return whether the first line is one of a run, or of qrels."""
        from rankbench.data.readers.trec_lines import QRELS, RUN

        line = head.lstrip().split(b"\n", 1)[0]
        return bool(RUN.match(line) or QRELS.match(line))

    def scan(self, path: Path) -> pl.LazyFrame:
        """Return measurements; see `Reader.scan`. All of the run is read at once."""
        import polars as pl

        from rankbench.data.readers.text_lines import head
        from rankbench.data.readers.trec_lines import QRELS, read_qrels, read_run
        from rankbench.data.tables.checks import checked

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
                value = _value(loss, depth, grades, {} if run is None else dict(run.select("doc", "score").iter_rows()))
                rows.append((topic, str(system), value))
        table = pl.DataFrame(rows, {"query_id": pl.String, "system": pl.String, "score": pl.Float64}, orient="row")
        return checked(table.lazy(), path=path)

    def _judge(self) -> tuple[Loss, int]:
        """Return the loss, and the number of places that it looks at.

        Raises
        ------
        SpecError
            It is no loss of scores, or it looks at all places, of which a run lists the first only.
        """
        from rankbench.plugin import manager

        loss = manager.get(Loss, self.loss)
        if loss.structure != "scores":
            raise SpecError(f"{loss.name!r} judges orders by {loss.structure}, and qrels have grades; take ndcg or err")
        # What one document that is worth something costs behind so many that are not.
        behind = [loss.value(np.r_[np.ones(n), 0.0], np.r_[np.zeros(n), 1.0]) for n in _DEPTHS]
        depth = next(n for n, value in zip(_DEPTHS, behind, strict=True) if value == behind[-1])
        if depth < _DEPTHS[-1]:
            return loss, depth
        if "cutoff" not in type(loss).model_fields:
            raise SpecError(f"{self.loss} looks at all places, and a run lists the first ones only; take ndcg or err")
        few = loss.model_copy(update={"cutoff": _FEW})
        raise SpecError(
            f"{self.loss} looks at all places, and a run lists the first ones only; say how many count, as {few}"
        )


def _judgments(qrels: pl.DataFrame, path: Path) -> dict[str, dict[str, float]]:
    """Return grades by topic and document, of topics with a document that is worth something."""
    from rankbench.data.tables.remarks import remark

    topics = {
        str(topic): dict(part.select("doc", "grade").iter_rows())
        for (topic,), part in qrels.partition_by("topic", as_dict=True, maintain_order=True).items()
    }
    kept = {topic: grades for topic, grades in topics.items() if any(grades.values())}
    if not kept:
        raise InputError("no topic has a relevant document", path=path)
    if len(kept) < len(topics):
        remark(f"{len(topics) - len(kept)} of {len(topics)} topics are left out: none of their documents is relevant")
    return kept


def _say_missing(system: str, topics: set[str], judged: dict[str, dict[str, float]]) -> None:
    from rankbench.data.tables.remarks import remark
    from rankbench.text import short_repr

    absent = len(judged.keys() - topics)
    if absent:
        remark(f"{short_repr(system)} has nothing for {absent} of {len(judged)} topics, which counts as nothing found")
    unjudged = len(topics - judged.keys())
    if unjudged:
        remark(f"{unjudged} topics of {short_repr(system)} are left out, as nothing relevant is known")


def _value(loss: Loss, depth: int, grades: dict[str, float], run: dict[str, float]) -> float:
    """Return one minus the loss of what a run lists; what it does not list stands behind all places that count."""
    listed, missed = [grades.get(doc, 0.0) for doc in run], [grade for doc, grade in grades.items() if doc not in run]
    _, places = np.unique(np.fromiter(run.values(), np.float64, len(run)), return_inverse=True)
    alpha = np.concatenate([places + 2.0, np.ones(depth), np.zeros(len(missed))])
    value = loss.value(alpha, np.array([*listed, *[0.0] * depth, *missed]))
    return value if loss.direction == "maximize" else 1.0 - value
