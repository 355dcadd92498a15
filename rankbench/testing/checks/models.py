"""Models: a feature map sees one item at a time."""

from __future__ import annotations

import numpy as np

from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed
from rankbench.testing.close import relative_difference
from rankbench.testing.subjects import Subject


@conformance_check("model")
def items_are_mapped_one_by_one(subject: Subject) -> None:
    """psi(x_i) depends on x_i alone: not on the other items, nor on how many there are."""
    x = np.random.default_rng(91).normal(size=(9, 4)).astype(np.float32)
    whole = subject.it.features(x.copy())
    order = np.random.default_rng(92).permutation(9)
    if relative_difference(subject.it.features(x[order]), whole[order]) > 1e-5:
        raise CheckFailed("items in another order have other features")
    for rows in (slice(0, 1), slice(3, 7)):
        part = subject.it.features(x[rows].copy())
        if relative_difference(part, whole[rows]) > 1e-5:
            raise CheckFailed(
                f"{len(part)} of 9 items alone have other features, by {relative_difference(part, whole[rows]):.3g}"
            )
