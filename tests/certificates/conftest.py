"""Certificates that the tests of the checker change."""

from __future__ import annotations

import pytest
from certify_laws import GRADES, THEOREM_2, THEOREM_3

import rankbench


@pytest.fixture(scope="package")
def violation() -> dict:
    return rankbench.certify("pairwise-logistic", mu=THEOREM_2).content


@pytest.fixture(scope="package")
def boundary() -> dict:
    return rankbench.certify("pairwise-hinge", mu=THEOREM_3).content


@pytest.fixture(scope="package")
def proof() -> dict:
    return rankbench.certify("pairwise-hinge", aggregator="difference-graph", noise="dag").content


@pytest.fixture(scope="package")
def searched() -> dict:
    squared = rankbench.certify("pairwise-squared", aggregator="difference-graph", noise="dag", items=4, laws=2)
    return squared.content


@pytest.fixture(scope="package")
def listnet() -> dict:
    return rankbench.certify("listnet", loss="ndcg", mu=GRADES).content
