"""Every built-in component and suite does what it declares."""

from __future__ import annotations

import pytest
from amounts import part_of

from rankbench.plugin import manager
from rankbench.plugin.registry import KINDS, SUITE, base_of
from rankbench.testing.check import check_component

VARIANTS = {
    "aggregator": [
        "mean-log-odds:frequencies=joint,smoothing=0.01",
        "eigenvector:scale=log",
        "geometric-mean:frequencies=joint,scale=log",
        "rank-centrality:scale=log",
        "kemeny:ties=first",
        "thurstone-mosteller:matrix=probit",
        "thurstone-mosteller:matrix=margins",
        "elo:factor=200",
        "dynamic-bradley-terry:drift=0",
        "plackett-luce:last=unordered",
    ],
    "surrogate": [
        "regression:normalize=false",
        "regression:gain=exp,normalize=false",
        "regression:gain=identity,normalize=false",
        "linear:nu=0.25",
        "linear-power:power=1.5,nu=3",
        "order-preserving:phi=squared-hinge,gain=identity,discount=reciprocal,cutoff=3",
        "order-preserving:phi=exponential,gain=exp",
        "order-preserving-err:gain=logistic,phi=exponential",
        "order-preserving-err:phi=squared-hinge",
        "cross-entropy:gain=identity,discount=log2,cutoff=2",
        "pairwise-logistic:form=margin",
        "pairwise-hinge:power=0",
    ],
    "loss": ["ndcg:cutoff=3,gain=exp", "err:gain=logistic,discount=log2", "pairwise-disagreement:normalize=true"],
    "optimizer": ["composite:schedule=inverse-t,c=10,t0=100", "composite:averaging=tail"],
    "method": [
        "erm:k=3,draws=500",
        "erm:aggregator=graph-relevance,k=3,draws=500",
        "erm:surrogate=pairwise-logistic,aggregator=average-adjacency,k=1,optimizer=newton",
    ],
    "dataset": [],
}
"""Components with other parameters than the defaults, which the defaults do not speak for."""

SMALL = {"web10k-like": "web10k-like:queries=20"}
"""In the place of a data set that is large by default."""


LARGE = ("atp", "atp-challengers", "atp-futures")
"""Data sets of hundreds of thousands of matches, which take a minute each."""


def components() -> list[tuple[str, str]]:
    ours = [
        (kind, SMALL.get(name, name))
        for kind in KINDS
        for name in manager.names(kind)
        if manager.origin(kind, name).distribution == "rankbench"
    ]
    return ours + [(kind, text) for kind, texts in VARIANTS.items() for text in texts]


def marked(kind: str, text: str) -> object:
    return pytest.param(kind, text, marks=[pytest.mark.long] * (text in LARGE))


@pytest.mark.parametrize(("kind", "text"), [marked(*one) for one in part_of(components(), 12)], ids=lambda value: value)
def test_a_built_in_component_does_what_it_declares(kind, text):
    results = check_component(manager.get(base_of(kind), text))
    assert [str(result) for result in results if not result.ok] == []
    assert any(result.executed for result in results)


@pytest.mark.parametrize("name", manager.names(SUITE))
def test_a_built_in_suite_names_what_is_there(name):
    results = check_component(manager.suites()[name])
    assert [str(result) for result in results if not result.ok] == []
