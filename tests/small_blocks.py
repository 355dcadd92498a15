"""Small blocks with known judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rankbench.data.simulators.btl import draw_comparisons
from rankbench.interfaces.method import Block
from rankbench.interfaces.queries import Queries


def make_queries(sizes: list[int], d: int = 5, seed: int = 0) -> Queries:
    draw = np.random.default_rng(seed)
    total = sum(sizes)
    x = draw.normal(size=(total, d)).astype(np.float32)
    labels = np.clip(np.round(x[:, 0] + draw.normal(size=total) + 1), 0, 4)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    for low in offsets[:-1]:
        labels[low], labels[low + 1] = 0, 2
    return Queries([f"q{i}" for i in range(len(sizes))], offsets, x, labels)


def make_block(sizes: list[int], n: int, d: int = 5, seed: int = 0) -> Block:
    queries = make_queries(sizes, d, seed)
    return Block(queries, draw_comparisons(queries, n, [seed, 1]), n, 0, (seed, 7, 0, n))


def reweighted(block: Block, weights: Sequence[float]) -> Block:
    """Give the judgments these weights, in turn."""
    said = block.comparisons
    return replace(block, comparisons=replace(said, weights=np.resize(np.array(weights), len(said))))
