"""A folder of shards that a killed conversion was about to replace comes back with the next one."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankbench.data.convert import convert

LOG = "query_id,winner,loser\nq,a,b\nq,b,c\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "log.csv").write_text(LOG)
    return tmp_path / "log.csv"


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_folder_that_was_moved_out_of_the_way_comes_back(tmp_path: Path, log: Path) -> None:
    """The process was killed between moving the old folder away and putting the new one in its place."""
    convert(log, tmp_path / "shards", shards=1)
    (tmp_path / "shards").rename(tmp_path / ".shards.abcd1234.replaced")
    (tmp_path / ".shards.abcd1234").mkdir()  # the work of the process, which stays
    (tmp_path / "broken.csv").write_text("query_id,winner,loser\n")
    with pytest.raises(Exception, match="broken"):
        convert(tmp_path / "broken.csv", tmp_path / "shards", shards=1, force=True)
    assert names(tmp_path) == {"log.csv", "broken.csv", "shards", ".shards.abcd1234"}
    assert (tmp_path / "shards" / "manifest.json").exists()


def test_an_old_folder_that_was_replaced_already_goes(tmp_path: Path, log: Path) -> None:
    convert(log, tmp_path / "shards", shards=1)
    (tmp_path / ".shards.abcd1234.replaced").mkdir()
    (tmp_path / ".other.abcd1234.replaced").mkdir()
    (tmp_path / ".shards.of.abcd1234.replaced").mkdir()
    convert(log, tmp_path / "shards", shards=1, force=True)
    assert names(tmp_path) == {"log.csv", "shards", ".other.abcd1234.replaced", ".shards.of.abcd1234.replaced"}
