"""Test collections of the package ir_datasets: judged documents, with features of the match of query and document.

References
----------
.. [MYF21] S. MacAvaney, A. Yates, S. Feldman, D. Downey, A. Cohan and N. Goharian. Simplified data wrangling with
   ir_datasets. SIGIR, 2021.
.. [RZ09] S. Robertson and H. Zaragoza. The probabilistic relevance framework: BM25 and beyond. Foundations and Trends
   in Information Retrieval 3(4), 2009.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from rankbench.core.text import short_repr
from rankbench.data.tables.schemas import items_schema
from rankbench.errors import InputError, SpecError, closest
from rankbench.interfaces.dataset import Dataset

FEATURES = ("bm25", "covered query terms", "term frequency", "tf-idf", "log document length")
"""Features of a document for a query, in their order."""

_K1, _B = 1.2, 0.75
_PART = 10_000
"""Documents that are held at a time."""


class IrCollection(Dataset):
    r"""A test collection of ir_datasets, by its identifier: topics with judged documents and their grades.

    ir_datasets downloads a collection at its first use, and asks for the terms of some. A topic is a query, its judged
    documents are the items, named by their identifiers. Grades below 0 are 0, as trec_eval takes them.

    ir_datasets has texts and no features. rankbench computes five for each topic and document, with the terms t of the
    topic, their frequency :math:`f_t` in the document, its length :math:`l` in words and the mean length
    :math:`\bar l`: BM25 ([RZ09]_ section 3.4, :math:`k_1 = 1.2`, b = .75), the share of the terms that are in the
    document, :math:`\sum_t f_t`, :math:`\sum_t f_t\,\mathrm{idf}_t` and :math:`\log(1 + l)`. Document
    frequencies and mean length are those of the judged documents, with
    :math:`\mathrm{idf}_t = \log(1 + (N - n_t + .5) / (n_t + .5))`.

    Prefer it for public test collections. A file of qrels and of runs goes to ``rankbench rank``.

    Examples
    --------
    ``rankbench run --suite paper --dataset ir-datasets:id=beir/scifact/test`` takes the judged documents of SciFact.
    """

    name: ClassVar[str] = "ir-datasets"
    title: ClassVar[str] = "A test collection of ir_datasets, by its identifier"
    source: ClassVar[str] = "[MYF21]_; [RZ09]_ section 3.4"
    named: ClassVar[bool] = True
    licence: ClassVar[str] = "as the collection says: https://ir-datasets.com"
    citation: ClassVar[str] = "S. MacAvaney et al. Simplified data wrangling with ir_datasets. SIGIR, 2021."

    id: str = Field(default="", description="Identifier of a collection with qrels, as beir/scifact/test. Required.")

    def scan(self) -> pl.LazyFrame:
        """Return the judged documents; all are read at once.

        Raises
        ------
        SpecError
            ir_datasets has no such identifier, or the collection no qrels, queries or documents.
        InputError
            No identifier is given, ir_datasets is not installed or cannot have the data, or the collection has a
            document that is judged twice for a topic.
        """
        return self._items.lazy()

    def fingerprint(self) -> str:
        """Return the sha256 of the items: of topics, documents, grades and features."""
        digest = hashlib.sha256()
        for column in ("query_id", "name"):
            digest.update("\0".join(self._items[column]).encode())
        for column in ("label", "x"):
            digest.update(np.ascontiguousarray(self._items[column].to_numpy(), "<f4").tobytes())
        return digest.hexdigest()

    def assumptions(self) -> list[str]:
        """Return a sentence on the source of the features."""
        return [
            f"The features of {self.id or 'a collection'} are rankbench's: {', '.join(FEATURES)}. Their document "
            "frequencies and mean length are of the judged documents."
        ]

    @cached_property
    def _items(self) -> pl.DataFrame:
        found = _collection(self.id)
        try:
            return self._read(found)
        except (OSError, RuntimeError) as error:
            raise InputError(f"ir_datasets cannot have the collection {self.id}: {error}") from error

    def _read(self, found: Any) -> pl.DataFrame:
        wanted: dict[str, dict[str, float]] = {}
        for judgment in found.qrels_iter():
            grades = wanted.setdefault(str(judgment.query_id), {})
            if judgment.doc_id in grades:
                raise InputError(
                    f"{self.id}: document {short_repr(judgment.doc_id)} of topic {short_repr(judgment.query_id)} is "
                    "judged twice, as for two subtopics; choose an identifier with one grade for each document"
                )
            grades[judgment.doc_id] = max(float(judgment.relevance), 0.0)
        topics = {str(query.query_id): terms(query.default_text()) for query in found.queries_iter()}
        if unknown := wanted.keys() - topics.keys():
            raise InputError(f"{self.id}: topic {short_repr(min(unknown))} has judgments and no text")
        names = [doc for grades in wanted.values() for doc in grades]
        vocabulary = {term for topic in wanted for term in topics[topic]}
        counted = CountedWords.of_texts(_texts(found, list(dict.fromkeys(names))), vocabulary)
        if lost := next((doc for doc in names if doc not in counted.lengths), None):
            raise InputError(f"{self.id}: document {short_repr(lost)} is judged, and the collection has no such one")
        x = np.concatenate([counted.matches(topics[topic], grades) for topic, grades in wanted.items()])
        sizes = [len(grades) for grades in wanted.values()]
        return pl.DataFrame(
            {
                "query_id": [topic for topic, grades in wanted.items() for _ in grades],
                "item": np.concatenate([np.arange(size, dtype=np.uint32) for size in sizes]),
                "label": [grade for grades in wanted.values() for grade in grades.values()],
                "x": pl.Series(x.astype(np.float32), dtype=pl.Array(pl.Float32, len(FEATURES))),
                "name": names,
            },
            schema=items_schema(len(FEATURES), named=True),
        )


def _collection(identifier: str) -> Any:
    """Return the collection of ir_datasets with an identifier: queries, documents and qrels."""
    if not identifier:
        raise InputError("say which collection of ir_datasets, as ir-datasets:id=beir/scifact/test")
    try:
        import ir_datasets
    except ImportError as error:
        raise InputError(
            "test collections need the package ir_datasets: pip install 'rankbench[ir-datasets]'"
        ) from error
    try:
        found = ir_datasets.load(identifier)
    except KeyError as error:
        near = closest(identifier, ir_datasets.registry)
        raise SpecError(f"ir_datasets has no identifier {identifier!r}{near}; all: https://ir-datasets.com") from error
    if lacking := [part for part in ("qrels", "queries", "docs") if not found.has(part)]:
        below = [name for name in ir_datasets.registry if name.startswith(f"{identifier}/")]
        parts = [name for name in below if all(ir_datasets.load(name).has(part) for part in ("qrels", "queries"))]
        more = f"; with qrels: {', '.join(parts)}" if parts else ""
        raise SpecError(f"{identifier} has no {' and no '.join(lacking)}, so nothing can be learned from it{more}")
    return found


@dataclass(frozen=True)
class CountedWords:
    """Words of all judged documents.

    Attributes
    ----------
    lengths : dict of str to int
        By document.
    words : dict of str to Counter
        Counts of the words of the topics, by document.
    held : Counter
        The number of documents that have a word.
    mean_length : float
    """

    lengths: dict[str, int]
    words: dict[str, Counter[str]]
    held: Counter[str]
    mean_length: float

    @classmethod
    def of_texts(cls, texts: Iterable[tuple[str, str]], vocabulary: Collection[str]) -> CountedWords:
        """Count the words of a vocabulary in documents, given by name and text."""
        lengths, counts, held = dict[str, int](), dict[str, Counter[str]](), Counter[str]()
        for name, text in texts:
            found = terms(text)
            lengths[name] = len(found)
            counts[name] = Counter(word for word in found if word in vocabulary)
            held.update(counts[name].keys())
        return cls(lengths, counts, held, sum(lengths.values()) / max(len(lengths), 1))

    def matches(self, topic: Sequence[str], documents: Iterable[str]) -> NDArray[np.float64]:
        """Return the features of documents for a topic, shape (m, 5); a word that the topic repeats counts once."""
        own = list(dict.fromkeys(topic))
        held = np.array([self.held[term] for term in own], dtype=np.float64)
        idf = np.log1p((len(self.lengths) - held + 0.5) / (held + 0.5))
        rows = []
        for document in documents:
            words, length = self.words[document], self.lengths[document]
            f = np.array([words[term] for term in own], dtype=np.float64)
            saturated = f * (_K1 + 1) / (f + _K1 * (1 - _B + _B * length / max(self.mean_length, 1.0)))
            rows.append((idf @ saturated, (f > 0).sum() / max(len(own), 1), f.sum(), idf @ f, math.log1p(length)))
        return np.array(rows)


def terms(text: str) -> list[str]:
    """Return a text's words in lower case."""
    return re.findall(r"\w+", text.lower())


def _texts(found: Any, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield documents of a collection by name and text."""
    store = found.docs_store()
    for first in range(0, len(names), _PART):
        for doc in store.get_many_iter(names[first : first + _PART]):
            yield doc.doc_id, doc.default_text()
