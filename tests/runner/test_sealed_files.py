"""What a process is given: nobody can change it for another one."""

from __future__ import annotations

import fcntl
import mmap
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from rankbench.runner.sealed_files import CopiedFile, FileForProcesses, SealedFile

WORDS = b"what all are given" * 1000

linux = pytest.mark.skipif(sys.platform != "linux", reason="files are sealed on Linux alone")


def map_and_write(path: str) -> None:
    with open(path, "r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:3] = b"bad"


def write(path: str) -> None:
    with open(path, "r+b") as file:
        file.write(b"bad")


def shorten(path: str) -> None:
    os.truncate(path, 3)


def lengthen(path: str) -> None:
    with open(path, "ab") as file:
        file.write(b"bad")


def replace(path: str) -> None:
    Path(f"{path}.other").write_bytes(b"bad")
    os.replace(f"{path}.other", path)


def link(path: str) -> None:
    os.rename(path, f"{path}.away")
    os.symlink("/nowhere", path)


def remove(path: str) -> None:
    os.unlink(path)


def make_folder(path: str) -> None:
    os.unlink(path)
    os.mkdir(path)


def unseal(path: str) -> None:
    with open(path, "r+b") as file:
        fcntl.fcntl(file.fileno(), 1033, 0)  # F_ADD_SEALS
        file.write(b"bad")


ATTACKS = [map_and_write, write, shorten, lengthen, replace, link, remove, make_folder, unseal]


@linux
@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_changes_a_sealed_file(attack: Callable[[str], None]) -> None:
    held_file = SealedFile(lambda file: file.write(WORDS))
    with held_file.open_for_process() as one:
        descriptor = int(one.place.rpartition("/")[2])
        os.fchmod(descriptor, 0o700)
        with open(one.place, "rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with pytest.raises(OSError, match=r"not permitted|denied|No such|Invalid|busy"):
            attack(one.place)
        assert bytes(mapped) == WORDS
        assert Path(one.place).read_bytes() == WORDS


@pytest.mark.parametrize("attack", ATTACKS[:-1])
def test_a_copy_is_of_one_process(attack: Callable[[str], None]) -> None:
    held_file = CopiedFile(lambda file: file.write(WORDS))
    with held_file.open_for_process() as first, held_file.open_for_process() as second:
        attack(first.place)
        assert Path(second.place).read_bytes() == WORDS
        with held_file.open_for_process() as third:
            assert Path(third.place).read_bytes() == WORDS
    assert not Path(second.place).exists()


@pytest.mark.parametrize("kind", [pytest.param(SealedFile, marks=linux), CopiedFile])
def test_a_process_that_inherits_reads_it(kind: type[FileForProcesses]) -> None:
    held_file = kind(lambda file: file.write(WORDS))
    for _ in range(2):
        with ExitStack() as held:
            opened = [held.enter_context(held_file.open_for_process()) for _ in range(2)]
            code = "import sys, pathlib; sys.stdout.buffer.write(pathlib.Path(sys.argv[1]).read_bytes())"
            for one in opened:
                done = subprocess.run(
                    [sys.executable, "-c", code, one.place],
                    pass_fds=one.descriptors,
                    capture_output=True,
                    check=True,
                )
                assert done.stdout == WORDS
