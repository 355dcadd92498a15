"""Where every random number of a run comes from.

All entropy is a list of integers for `numpy.random.SeedSequence`: the suite's seed, what
the block is, and which of its streams. Nothing else decides a draw: no order of
execution, no number of workers, no neighbor.
"""

from __future__ import annotations

import hashlib

__all__ = ["JUDGMENTS", "STREAM", "block_entropy", "draw_entropy"]

JUDGMENTS, STREAM = 1, 2
"""Streams of a block: its judgments (shared by all n of a repetition), its draws from them."""


def _number(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def draw_entropy(seed: int, fingerprint: str, repetition: int) -> tuple[int, ...]:
    """Return the entropy of a repetition's judgments: those of smaller n are a prefix of it."""
    return (seed, _number(fingerprint), repetition, JUDGMENTS)


def block_entropy(seed: int, fingerprint: str, n: int, repetition: int) -> tuple[int, ...]:
    """Return the entropy of everything that happens within a block."""
    return (seed, _number(fingerprint), repetition, n)
