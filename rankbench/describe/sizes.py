"""Distributions of counts, in the words that all describers use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Sizes"]


@dataclass(frozen=True)
class Sizes:
    """Distribution of a count."""

    smallest: int
    median: float
    mean: float
    largest: int

    @classmethod
    def from_counts(cls, counts: list[int]) -> Sizes:
        """Summarize at least one count."""
        values = np.array(counts)
        return cls(int(values.min()), float(np.median(values)), float(values.mean()), int(values.max()))

    def __str__(self) -> str:
        if self.smallest == self.largest:
            return f"{self.smallest:,}"
        return f"{self.smallest:,} to {self.largest:,} (median {self.median:,.0f}, mean {self.mean:,.1f})"
