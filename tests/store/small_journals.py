"""Cells and members of journals of three queries."""

from __future__ import annotations

import numpy as np
import synthetic

from rankbench.interfaces.cell import BlockKey, CellResult
from rankbench.store.records import Member
from rankbench.store.store import Store

KEY = BlockKey("btl", "web10k-like", 100, 0, 7)
QUERIES = {"design": 3, "heldout": 2}


def done(cell: str, value: float = 0.5, **more) -> CellResult:
    losses = {("ndcg", "design"): np.full(3, value), ("ndcg", "heldout"): np.full(2, value)}
    return CellResult(cell, "done", losses=losses, **more)


def member(cell: str, label: str = "a") -> Member:
    return Member("e", label, "erm", {"k": "inf", "lambda": 0.1}, 100, 200, 0, cell, 0)


def begin(store: Store, *members: Member) -> None:
    plan = synthetic.Plan("e", [], n=(200,), repetitions=1)
    store.begin(synthetic.record([plan], QUERIES), list(members))
