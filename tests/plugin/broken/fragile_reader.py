"""A damaged file ends in a ValueError without file or line."""

import polars as pl

import rankbench
from rankbench.data.tables.checks import checked
from rankbench.interfaces.dataset import existing

CAUGHT = "check"
BY = "damaged-examples-are-errors-or-tables"


class Broken(rankbench.Reader):
    """Winner and loser, one vote a line."""

    name = "broken"
    source = "A test"
    extensions = (".broken",)

    @classmethod
    def example(cls):
        return b"a b\nb c\nc a\n"

    def scan(self, path):
        rows = [line.split(" ") for line in existing(path).read_text().splitlines()]
        winners, losers = zip(*((winner, loser) for winner, loser in rows), strict=True)
        return checked(pl.LazyFrame({"query_id": ["q"] * len(rows), "winner": winners, "loser": losers}), path=path)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
