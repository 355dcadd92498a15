"""What the declaration ``quadratic`` promises to the exact solver."""

from __future__ import annotations

import numpy as np

from rankbench.surrogates.base import ScoreSurrogate
from rankbench.testing.catalog import check
from rankbench.testing.results import CheckFailed, CheckSkipped
from rankbench.testing.subjects import Subject


@check("surrogate")
def quadratic_is_half_the_mean_square(subject: Subject) -> None:
    """Where ``quadratic`` is declared, the value is ``|alpha - target|^2 / (2m)``."""
    it = subject.it
    if not subject.declares("quadratic"):
        raise CheckSkipped("it does not declare quadratic")
    if not isinstance(it, ScoreSurrogate):
        raise CheckFailed("only a surrogate of scores can be quadratic in the sense of the exact solver")
    rng = np.random.default_rng(81)
    for m in (1, 2, 7):
        alpha, target = rng.normal(size=m), np.asarray(it.target(rng.normal(size=m)))
        value = it.value_and_gradient(alpha.copy(), target.copy())[0]
        expected = float(((alpha - target) ** 2).sum()) / (2 * m)
        if abs(value - expected) > 1e-9 * max(1.0, expected):
            raise CheckFailed(f"{m} items: the value is {value:.9g}, |alpha - target|^2 / (2m) is {expected:.9g}")
