"""It has other rows each time it is scanned."""

import hashlib

import numpy as np
import polars as pl

import rankbench

CAUGHT = "check"
BY = "same-seed-same-rows"


class Broken(rankbench.Dataset):
    """Twenty graded items."""

    name = "broken"
    title = "Twenty items"
    source = "A test"
    licence = "MIT"

    def fingerprint(self):
        return hashlib.sha256(b"twenty items").hexdigest()

    def scan(self):
        x = np.random.default_rng().normal(size=(20, 3)).astype(np.float32)
        rows = {
            "query_id": ["q"] * 20,
            "item": pl.Series(range(20), dtype=pl.UInt32),
            "label": pl.Series([0, 1] * 10, dtype=pl.Float32),
            "x": pl.Series(x, dtype=pl.Array(pl.Float32, 3)),
        }
        return pl.LazyFrame(rows)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
