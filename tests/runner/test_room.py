"""What needs more memory or disk than there is, or has no end, is refused before it starts, with the numbers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from data_files import written
from small_suites import suite_text

import rankbench
from rankbench.core import system as resources
from rankbench.errors import InputError, SpecError


def text(n: int) -> str:
    data, both = "web10k-like:queries=12,features=8", ('use = "random-scores"', 'use = "feature:index=1"')
    return suite_text(*both, protocol="btl:design=4,heldout=4", dataset=data, n=f"[{n}]", repetitions=2)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return written(tmp_path / "tiny.toml", text(400))


@pytest.mark.parametrize(
    "data",
    ["web10k-like:queries=999999999999", "web10k-like:queries=12000000,features=4096"],
)
def test_data_that_do_not_fit_into_memory(suite: Path, data: str) -> None:
    with pytest.raises(SpecError, match=r"takes [\d,.]+ GB of memory or more, and [\d,.]+ GB are free; take less"):
        rankbench.run(str(suite), dataset=data, out=suite.parent / "out")
    assert not (suite.parent / "out").exists()


def test_draws_that_do_not_fit_into_memory(suite: Path) -> None:
    suite.write_text(text(10**12))
    with pytest.raises(SpecError, match=r"of 2 blocks at once, n = 1,000,000,000,000, takes 64,000\.0 GB of memory or"):
        rankbench.run(str(suite), out=suite.parent / "out", workers=2)


def test_a_draw_takes_what_it_needs_while_it_is_made(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """200,000,000 judgments do not fit into 3 GB, as 32 bytes of each are held at once (`test_draw_memory`)."""
    monkeypatch.setattr(resources, "free_memory", lambda: 3_000_000_000)
    suite.write_text(text(200_000_000))
    with pytest.raises(SpecError, match=r"n = 200,000,000, takes 6\.4 GB of memory or more, and 3\.0 GB are free"):
        rankbench.run(str(suite), out=suite.parent / "out", workers=1)


def test_results_that_do_not_fit_on_the_disk(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "free_disk", lambda folder: 100)
    # Two repetitions of two contenders on 4 + 4 queries.
    with pytest.raises(SpecError, match=r"journal of 2 blocks takes 0\.0 GB in .*out or more, and 0\.0 GB are free"):
        rankbench.run(str(suite), out=suite.parent / "out")
    monkeypatch.setattr(resources, "free_disk", lambda folder: 2 * 2 * 8 * 8)
    assert rankbench.run(str(suite), out=suite.parent / "out").failures == {}


def test_a_suite_that_is_a_pipe_a_device_or_too_long(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.symlink_to("/dev/zero")
    with pytest.raises(InputError, match=r"own\.toml: not a suite file: it is a folder, a pipe or a device") as caught:
        rankbench.run(str(path))
    assert str(caught.value).count("not a suite file") == 1
    path.unlink()
    if hasattr(os, "mkfifo"):
        os.mkfifo(path)
        with pytest.raises(InputError, match="a pipe or a device"):
            rankbench.run(str(path))
        path.unlink()
    path.touch()
    os.truncate(path, 10**12)
    with pytest.raises(InputError, match=r"it has 1,000,000,000,000 bytes, and suites have at most 10,000,000"):
        rankbench.run(str(path))


def test_what_is_free() -> None:
    free = resources.free_memory()
    assert free is None or 1 << 20 < free < 1 << 50
    assert resources.free_disk(Path.cwd() / "not" / "there") == pytest.approx(resources.free_disk(Path.cwd()), rel=0.1)
