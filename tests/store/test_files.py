"""Files of a run's folder: whole or not at all, for whom the umask says, through no link."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from data_files import written

from rankbench.core import system
from rankbench.core import system as files
from rankbench.core.system import replace_file, write_facts
from rankbench.errors import StoreError


@pytest.fixture
def umask():
    """Set the umask, and put it back."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_permissions_are_those_of_the_umask(tmp_path: Path, umask, mask: int, mode: int) -> None:
    umask(mask)
    path = replace_file(tmp_path / "figures" / "a.svg", b"1")
    assert path.stat().st_mode & 0o777 == mode
    assert path.read_bytes() == b"1"


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim = written(tmp_path / "victim", b"precious")
    (tmp_path / "a").symlink_to(victim)
    replace_file(tmp_path / "a", b"new")
    assert victim.read_bytes() == b"precious"
    assert not (tmp_path / "a").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"new"


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path, linked: bool) -> None:
    pipe = path = tmp_path / "pipe"
    os.mkfifo(pipe)
    if linked:
        path = tmp_path / "stdout"
        path.symlink_to(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        replace_file(path, b"new")
        assert os.read(reader, 10) == b"new"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert path.is_symlink() == linked
    assert {entry.name for entry in tmp_path.iterdir()} == {"pipe", path.name}


def test_a_device_that_leads_to_a_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As /dev/stdout does where the shell sent the output to a file."""
    monkeypatch.setattr(files, "_DEVICES", (tmp_path / "dev",))
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "stdout").symlink_to(tmp_path / "file")
    (tmp_path / "file").write_bytes(b"old and long")
    replace_file(tmp_path / "dev" / "stdout", b"new")
    assert (tmp_path / "dev" / "stdout").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"new"


def test_even_a_guessed_name_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = written(tmp_path / "victim", b"precious")
    monkeypatch.setattr(system.secrets, "token_hex", lambda size: "0")
    (tmp_path / ".a.0").symlink_to(victim)
    with pytest.raises(FileExistsError):
        replace_file(tmp_path / "a", b"new")
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / ".a.0").is_symlink()


def test_many_that_write_to_one_place_at_once(tmp_path: Path) -> None:
    """What is there in the end is what one of them wrote, whole."""
    path = tmp_path / "ranking.csv"

    def write(number: int) -> None:
        for _ in range(100):
            replace_file(path, b"%d" % number * 1000)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(4)))
    assert len(set(path.read_bytes())) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["ranking.csv"]


def test_what_cannot_be_put_in_place_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    with pytest.raises(OSError, match="a"):
        replace_file(tmp_path / "a", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_facts_that_cannot_be_written_are_an_error_of_the_store(tmp_path: Path) -> None:
    (tmp_path / "run.json" / "x").mkdir(parents=True)
    with pytest.raises(StoreError, match=r"cannot write run\.json"):
        write_facts(tmp_path, {"suite": "paper"})


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", str(tmp_path / ".a.svg.0123456789abcdef"))

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match=r"No space left on device: '[^']*/a\.svg'"):
        replace_file(tmp_path / "a.svg", b"1")
    assert not list(tmp_path.iterdir())
