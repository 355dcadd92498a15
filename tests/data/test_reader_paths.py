"""Paths that no reader can open are refused before one tries."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from data_files import written

import rankbench
from rankbench.cli import main
from rankbench.data.readers.choose import choose_reader
from rankbench.errors import InputError
from rankbench.interfaces.dataset import existing
from rankbench.ranking.open import open_source

VOTES = "winner,loser\na,b\nb,c\nc,a\n"


def test_a_name_that_is_not_utf_8_is_shown_with_escapes() -> None:
    # Whether there is such a file or not.
    with pytest.raises(InputError) as error:
        existing(Path("folder", os.fsdecode(b"sur\xff.csv")))
    shown = str(Path("folder", "sur")) + r"\xff.csv"
    assert str(error.value) == f"{shown}: the path is not UTF-8; rename the file or its folder"


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="the system has no such names")
@pytest.mark.parametrize("name", [b"sur\xff.csv", b"\xe9/votes.csv"])
def test_files_of_such_names_are_refused_whoever_reads_them(tmp_path: Path, name: bytes) -> None:
    path = tmp_path / os.fsdecode(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(VOTES)
    for use in (choose_reader, open_source, lambda p: open_source(p, reader="csv"), rankbench.aggregate):
        with pytest.raises(InputError, match=r"\\x[fe][f9].*: the path is not UTF-8"):
            use(path)
    for args in (["aggregate"], ["data", "describe"], ["plan", "--log"], ["run", "--log"]):
        found = CliRunner().invoke(main, [*args, str(path)])
        assert isinstance(found.exception, InputError | SystemExit), args
        assert "not UTF-8" in (str(found.exception) + found.output), args


def test_names_in_other_scripts_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "голоса é 投票.csv", VOTES)
    assert rankbench.aggregate(path).table.height == 3
