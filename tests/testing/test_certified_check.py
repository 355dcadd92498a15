"""The conformance kit reports what a short certification says, and never fails on it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

import rankbench
from rankbench.testing.check import registered_check, run_check, subject_of


class Wavy(rankbench.PairwiseSurrogate):
    """A sine."""

    name: ClassVar[str] = "test-wavy"
    source: ClassVar[str] = "this test"

    def phi(self, margin):
        return np.sin(margin)

    def dphi(self, margin):
        return np.cos(margin)


class Raising(Wavy):
    """It raises."""

    name: ClassVar[str] = "test-raising"

    def phi(self, margin):
        raise ZeroDivisionError("a defect")


@pytest.mark.parametrize(
    ("surrogate", "said"),
    [
        ("pairwise-logistic", "for information: VIOLATION for pairwise disagreement (low noise, 3 items)"),
        ("linear", "for information: NO_COUNTEREXAMPLE_FOUND (25 distributions"),
        ("regression", "for information: NO_COUNTEREXAMPLE_FOUND (25 distributions"),
        (Wavy(), "refused: "),
        (Raising(), "refused: "),
    ],
)
def test_it_reports_the_verdict(surrogate, said):
    it = rankbench.get(rankbench.Surrogate, surrogate) if isinstance(surrogate, str) else surrogate
    result = run_check(subject_of(it), registered_check("certified"))
    assert result.status == "passed"
    assert result.reason.startswith(said)
