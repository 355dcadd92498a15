"""The page about protocols names those that there are, with what competes in them."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from competing import executed

import rankbench
from rankbench.protocols import rankbench_register
from rankbench.protocols.btl import BTL

PAGE = Path(__file__).resolve().parents[2] / "docs" / "protocols.md"


def test_the_page_lists_the_built_in_protocols_with_their_data() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]+) \| (\w+)s \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    found = {(cls.name, cls.table is None, cls.contender) for cls in rankbench_register()}
    assert {(name, data == "populations of its own", kind) for name, data, kind in rows} == found


def test_btl_judges_scores_against_limit_scores_and_says_so() -> None:
    page = PAGE.read_text(encoding="utf-8")
    (assumption,) = [text for text in BTL().assumptions() if "limit scores" in text]
    assert "an item's label less the mean label of the query's other items" in assumption
    assert "limit scores (27)" in page
    data, loss = rankbench.get(rankbench.Dataset, "web10k-like:queries=12"), rankbench.get(rankbench.Loss, "ndcg")
    ready = BTL(design=5, heldout=5).prepare(data, 1)
    (found,) = executed(ready, ["feature:index=3"], ("ndcg",), n=40).values()
    for split in ("design", "heldout"):
        offsets, x, labels = (ready.arrays[f"{split}.{name}"] for name in ("offsets", "x", "labels"))
        for q, value in enumerate(found.losses["ndcg", split]):
            own = slice(offsets[q], offsets[q + 1])
            r, alpha = labels[own], x[own, 3].astype(np.float64)
            limit = [r[i] - np.delete(r, i).mean() for i in range(len(r))]
            assert value == pytest.approx(loss.value(alpha, np.array(limit)), abs=1e-9)
