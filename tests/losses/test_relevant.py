"""Losses of relevant items against trec_eval's values (scripts/trec_eval.py), and against all orders of ties."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from amounts import examples
from hypothesis import example, given
from hypothesis import strategies as st

import rankbench
from rankbench.certificates.true_risk import true_loss
from rankbench.data.readers.trec import TrecReader
from rankbench.errors import SpecError
from rankbench.interfaces.surrogate import Loss

SAID = json.loads((Path(__file__).parent / "trec_eval.json").read_text(encoding="utf-8"))
ALL = ["map", "mrr", "p", "recall", "r-precision", "success", "rbp"]
NAMES = {
    "ndcg_cut_5": "ndcg@5", "ndcg_cut_10": "ndcg@10", "map": "map", "map_cut_5": "map@5", "recip_rank": "mrr",
    "P_5": "p@5", "P_10": "p@10", "recall_5": "recall@5", "recall_100": "recall@100",
    "Rprec": "Rprec", "success_5": "Success@5",
}  # fmt: skip


@pytest.mark.parametrize("measure", NAMES)
def test_short_names_are_what_trec_eval_measures(tmp_path: Path, measure: str) -> None:
    """Values of pytrec_eval on runs without ties, with unjudged documents, short lists and negative grades."""
    judged = [f"{topic} 0 {doc} {grade}" for topic, docs in SAID["qrels"].items() for doc, grade in docs.items()]
    found = [f"{topic} Q0 {doc} 1 {score} s" for topic, docs in SAID["runs"].items() for doc, score in docs.items()]
    (tmp_path / "qrels").write_text("\n".join(judged))
    (tmp_path / "run").write_text("\n".join(found))
    table = TrecReader(qrels=str(tmp_path / "qrels"), loss=NAMES[measure]).scan(tmp_path / "run").collect()
    scores = dict(table.select("query_id", "score").iter_rows())
    assert scores == pytest.approx({topic: values[measure] for topic, values in SAID["values"].items()}, abs=1e-12)
    assert len(set(scores.values())) > (1 if measure == "success_5" else 3)


def plain(name: str, grades: list[float], k: float) -> float:
    """Return a measure of grades in their order, by its definition."""
    hits = [grade >= 1 for grade in grades]
    places = [place for place, hit in enumerate(hits, 1) if hit and place <= k]
    if not any(hits):
        return 0.0
    if name == "r-precision":
        return sum(hits[: sum(hits)]) / sum(hits)
    if name == "success":
        return float(bool(places))
    if name == "rbp":
        return sum(0.2 * 0.8 ** (place - 1) for place in places)
    if name == "mrr":
        return 1 / places[0] if places else 0.0
    if name == "map":
        return sum(at / place for at, place in enumerate(places, 1)) / sum(hits)
    return len(places) / (k if name == "p" else sum(hits))


queries = st.integers(1, 6).flatmap(
    lambda m: st.tuples(
        st.lists(st.integers(0, 2), min_size=m, max_size=m), st.lists(st.integers(0, 2), min_size=m, max_size=m)
    )
)


def at_a_tie(law):  # type: ignore[no-untyped-def]
    """Try each measure with its cutoff within three tied items, of which two are relevant."""
    for name in ALL:
        law = example(([2, 1, 1, 1, 0], [0, 1, 1, 0, 1]), 3, name)(law)
    return law


@at_a_tie
@examples(80)
@given(queries, st.integers(1, 7), st.sampled_from(ALL))
def test_ties_have_the_mean_of_all_orders(query: tuple[list[int], list[int]], k: int, name: str) -> None:
    alpha, grades = query
    orders = [
        order
        for order in itertools.permutations(range(len(alpha)))
        if all(alpha[i] >= alpha[j] for i, j in itertools.pairwise(order))
    ]
    expected = np.mean([plain(name, [grades[i] for i in order], k) for order in orders])
    text = name if name == "r-precision" else f"{name}@{k}"
    value = rankbench.get(Loss, text).value(np.array(alpha, float), np.array(grades, float))
    assert 1 - value == pytest.approx(expected, abs=1e-12)


def test_a_name_with_a_place_is_a_loss_with_a_cutoff() -> None:
    written = {
        "ndcg@10": "ndcg:gain=identity,cutoff=10", "err@20": "err:cutoff=20", "map@5": "map:cutoff=5",
        "p@5": "p:cutoff=5", "p@10": "p:cutoff=10",
        "recall@100": "recall:cutoff=100", "ndcg@10:gain=exp2": "ndcg:cutoff=10", "mrr:relevant=2": "mrr:relevant=2",
    }  # fmt: skip
    assert {text: str(rankbench.get(Loss, text)) for text in written} == written


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ndcg@0", "whole number after '@'"),
        ("ndcg@", "whole number after '@'"),
        ("ndcg@10:cutoff=5", "has a cutoff already"),
        ("precision@5", "no parameter cutoff"),
        ("pairwise-disagreement@5", "no parameter cutoff"),
    ],
)
def test_places_that_do_not_fit_are_rejected(text: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        rankbench.get(Loss, text)


@pytest.mark.parametrize("name", ALL)
def test_their_risks_are_not_certified(name: str) -> None:
    with pytest.raises(SpecError, match="cannot certify loss"):
        true_loss(rankbench.get(Loss, name), 3)


def test_nan_is_a_loss_of_nan_and_nothing_relevant_one_of_1() -> None:
    for name in ALL:
        loss = rankbench.get(Loss, name)
        assert np.isnan(loss.value(np.array([np.nan, 1.0]), np.array([1.0, 0.0])))
        assert loss.value(np.array([2.0, 1.0]), np.zeros(2)) == 1.0
