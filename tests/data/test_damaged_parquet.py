"""Parquet files so damaged that Polars panics are bad input, not crashes."""

import base64
import io
import re

import polars as pl
import pytest
from data_files import stored, written

from rankbench.data.readers.choose import choose_reader
from rankbench.errors import InputError
from rankbench.ranking.count_log import count_log
from rankbench.ranking.open import open_source

VOTES = pl.DataFrame(
    {"query_id": ["q"] * 2, "winner": pl.Series(["a", "b"], dtype=pl.Categorical), "loser": ["b", "a"]}
)


@pytest.fixture
def damaged(tmp_path):
    """A file whose schema calls a number of categories ``x``."""
    buffer = io.BytesIO()
    VOTES.write_parquet(buffer)
    raw = buffer.getvalue()
    schema = re.search(rb"ARROW:schema.{2,8}?([A-Za-z0-9+/=]{100,})", raw, re.DOTALL)[1]
    told = base64.b64decode(schema)
    assert told.count(b"0;0;u32;") == 1
    path = written(
        tmp_path / "votes.parquet", raw.replace(schema, base64.b64encode(told.replace(b"0;0;u32;", b"x;0;u32;")))
    )
    return path


def test_a_panic_names_the_file(damaged):
    with pytest.raises(pl.exceptions.PanicException):
        pl.scan_parquet(damaged).collect_schema()
    with pytest.raises(InputError, match=r"votes\.parquet"):
        choose_reader(damaged).scan(damaged).collect()
    with pytest.raises(InputError, match=r"cannot be read"):
        count_log(damaged)


@pytest.mark.parametrize("error", [pl.exceptions.ComputeError("zstd error"), pl.exceptions.PanicException("unwrap")])
def test_whatever_polars_raises_while_a_log_is_looked_at_names_the_file(tmp_path, monkeypatch, error):
    path = stored(VOTES, tmp_path / "votes.parquet")
    source = open_source(path)

    def fails(_):
        raise error

    with pytest.raises(InputError, match=r"votes\.parquet: it cannot be read: (zstd error|unwrap)"):
        source.counted(fails)
    monkeypatch.setattr(pl.LazyFrame, "collect_schema", lambda _: fails(_))
    with pytest.raises(InputError, match=r"votes\.parquet: "):
        open_source(path)
