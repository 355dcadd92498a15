"""Make the Parquet file of the data set international-results from the CSV that its author publishes.

    python scripts/football.py results.csv datasets/international-results/results.parquet

Rows keep the order of the CSV, which is that of dates. Matches without both scores, not played yet, are left out.
The same CSV gives the same bytes with the same Polars; its card's sha256 is that of the pinned one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl


def prepared(csv: Path) -> pl.DataFrame:
    """Return the matches that were played, one a row."""
    read = pl.read_csv(csv, infer_schema=False, null_values=["NA", ""])
    scores = [pl.col(name).cast(pl.Int16) for name in ("home_score", "away_score")]
    return read.filter(pl.col("home_score").is_not_null() & pl.col("away_score").is_not_null()).select(
        pl.col("date").str.to_date("%Y-%m-%d"),
        "home_team",
        "away_team",
        *scores,
        "tournament",
        "city",
        "country",
        pl.col("neutral") == "TRUE",
    )


def main() -> None:
    """Write the file."""
    source, target = map(Path, sys.argv[1:])
    prepared(source).write_parquet(target, compression="zstd", compression_level=19, row_group_size=1 << 20)


if __name__ == "__main__":
    main()
