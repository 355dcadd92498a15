"""Collections of ir_datasets become items; expected features are written out from the formulas, word by word."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from data_files import written

import rankbench
from rankbench.cli import main
from rankbench.data.readers.trec import read_qrels, read_run
from rankbench.data.tables.items import load_dataset
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.dataset import Dataset
from rankbench.plugin.manager import get
from rankbench.reports.results import PaperFiles, report

DOCS = {
    "d1": "Ranking of documents by ranking functions",
    "d2": "documents, documents and DOCUMENTS",
    "d3": "cats",
    "d4": "never judged: ranking ranking ranking",
}
TOPICS = {"q1": "ranking documents", "q2": "Cats cats"}
QRELS = [("q1", "d1", 2), ("q1", "d2", -2), ("q1", "d3", 0), ("q2", "d3", 1), ("q2", "d1", 0)]
WORDS = {
    "d1": ["ranking", "of", "documents", "by", "ranking", "functions"],
    "d2": ["documents", "documents", "and", "documents"],
    "d3": ["cats"],
}


@pytest.fixture
def collections(tmp_path: Path) -> Iterator[Any]:
    """Register collections of TREC files that ir_datasets' own classes read: judged, without judgments, damaged."""
    ir_datasets = pytest.importorskip("ir_datasets")
    from ir_datasets.formats import TrecDocs, TrecQrels, TrecQueries, TrecScoredDocs
    from ir_datasets.util import LocalDownload

    def local(name: str, text: str) -> Any:
        return LocalDownload(written(tmp_path / name, text))

    docs = (f"<DOC>\n<DOCNO>{name}</DOCNO>\n<TEXT>\n{text}\n</TEXT>\n</DOC>\n" for name, text in DOCS.items())
    topics = (
        f"<top>\n<num> Number: {name}\n<title> {text}\n<desc> -\n<narr> -\n</top>\n" for name, text in TOPICS.items()
    )
    texts = [
        TrecDocs(local("docs.trec", "".join(docs)), parser="text", docstore_path=str(tmp_path / "store")),
        TrecQueries(local("topics.trec", "".join(topics))),
    ]
    rows = {
        "judged": QRELS,
        "twice": [*QRELS, ("q1", "d1", 1)],
        "lost": [*QRELS, ("q1", "d9", 1)],
        "unknown": [*QRELS, ("q9", "d1", 1)],
    }
    made = {"toy": texts}
    for name, judged in rows.items():
        lines = "".join(f"{topic} 0 {doc} {grade}\n" for topic, doc, grade in judged)
        run = TrecScoredDocs(local("run.txt", "q1 Q0 d1 1 2.5 system\n"))
        made[f"toy/{name}"] = [*texts, TrecQrels(local(f"{name}.qrels", lines), {}), run]
    for name, parts in made.items():
        ir_datasets.registry.register(name, ir_datasets.Dataset(*parts))
    yield tmp_path
    for name in made:
        del ir_datasets.registry._registered[name]


def expected(topic: list[str], document: str) -> list[float]:
    words, n = WORDS[document], len(WORDS)
    mean = sum(map(len, WORDS.values())) / n
    bm25 = tf_idf = 0.0
    for term in topic:
        f, held = words.count(term), sum(term in other for other in WORDS.values())
        idf = math.log(1 + (n - held + 0.5) / (held + 0.5))
        bm25 += idf * f * 2.2 / (f + 1.2 * (0.25 + 0.75 * len(words) / mean))
        tf_idf += f * idf
    covered = sum(term in words for term in topic) / len(topic)
    return [bm25, covered, sum(words.count(term) for term in topic), tf_idf, math.log(1 + len(words))]


def test_judged_documents_are_items_with_features(collections: Any) -> None:
    dataset = get(Dataset, "ir-datasets:id=toy/judged")
    table = dataset.scan().collect()
    assert table.select("query_id", "item", "label", "name").rows() == [
        ("q1", 0, 2.0, "d1"), ("q1", 1, 0.0, "d2"), ("q1", 2, 0.0, "d3"), ("q2", 0, 1.0, "d3"), ("q2", 1, 0.0, "d1"),
    ]  # fmt: skip
    topics = {"q1": ["ranking", "documents"], "q2": ["cats"]}
    right = [expected(topics[topic], document) for topic, document, _ in QRELS]
    np.testing.assert_allclose(table["x"].to_numpy(), right, rtol=1e-6)
    assert len(load_dataset(dataset)) == 2
    again = get(Dataset, "ir-datasets:id=toy/judged")
    assert again.fingerprint() == dataset.fingerprint()
    with (collections / "judged.qrels").open("a") as file:
        file.write("q2 0 d2 1\n")
    assert get(Dataset, "ir-datasets:id=toy/judged").fingerprint() != dataset.fingerprint()


def test_a_suite_runs_on_a_collection(collections: Any, tmp_path: Any) -> None:
    """In this process: workers would not have the collection that only this test registered."""
    (tmp_path / "own.toml").write_text(
        'name = "own"\ntitle = "Own"\nprotocol = "btl:design=1,heldout=1"\ndataset = "ir-datasets:id=toy/judged"\n'
        '[[experiments]]\nname = "e"\ntitle = "E"\nn = [40]\nrepetitions = 2\nlosses = ["ndcg"]\n'
        'contenders = [{use = "feature:index=0", label = "BM25"}, {use = "random-scores"}]\n'
    )
    results = rankbench.run(str(tmp_path / "own.toml"), out=tmp_path / "out", workers=1)
    assert set(results.leaderboard["status"]) == {"done"}
    assert "The features of toy/judged are rankbench's" in (tmp_path / "out" / "details.md").read_text()
    report(tmp_path / "out", paper=PaperFiles(trec=tmp_path / "trec", bib=tmp_path / "own.bib"))
    runs = pl.concat(read_run(path) for path in (tmp_path / "trec").glob("*BM25.run"))
    found = {(topic, doc): score for topic, doc, score in runs.select("topic", "doc", "score").iter_rows()}
    topics = {"q1": ["ranking", "documents"], "q2": ["cats"]}
    assert found == pytest.approx({(q, d): expected(topics[q], d)[0] for q, d, _ in QRELS}, rel=1e-6)
    qrels = pl.concat(read_qrels(path) for path in (tmp_path / "trec").glob("*.qrels"))
    assert sorted(qrels.iter_rows()) == sorted((q, d, max(grade, 0)) for q, d, grade in QRELS)
    assert "ir-datasets:id=toy/judged; licence" in (tmp_path / "own.bib").read_text()


@pytest.mark.parametrize(
    ("identifier", "said"),
    [
        ("toy/judge", "ir_datasets has no identifier 'toy/judge'; did you mean 'toy/judged'"),
        ("beir/scifact/tset", "did you mean 'beir/scifact/test'"),
        ("toy", "toy has no qrels, so nothing can be learned from it; with qrels: toy/judged, toy/twice"),
        ("toy/twice", "document 'd1' of topic 'q1' is judged twice"),
        ("toy/lost", "document 'd9' is judged, and the collection has no such one"),
        ("toy/unknown", "topic 'q9' has judgments and no text"),
    ],
)
def test_what_is_wrong_with_a_collection_is_said(collections: Any, identifier: str, said: str) -> None:
    with pytest.raises((InputError, SpecError), match=said):
        rankbench.scan(f"ir-datasets:id={identifier}")


def test_a_collection_must_be_said_and_be_there(collections: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="say which collection of ir_datasets, as ir-datasets:id=beir"):
        rankbench.scan("ir-datasets")

    def refused(*_: Any) -> Any:
        raise ConnectionError("no network")

    monkeypatch.setattr("ir_datasets.formats.TrecQrels.qrels_iter", refused)
    with pytest.raises(InputError, match="ir_datasets cannot have the collection toy/judged: no network"):
        rankbench.scan("ir-datasets:id=toy/judged")


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    found = CliRunner().invoke(main, ["run", "--dry-run", "--dataset", "ir-datasets:id=toy/judged"])
    assert found.exit_code == 2
    assert "pip install 'rankbench[ir-datasets]'" in found.stderr
