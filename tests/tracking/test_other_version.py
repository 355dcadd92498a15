"""What --against names: a Python, a version, a commit; what cannot be built is an error with the last lines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rankbench.errors import InputError
from rankbench.tracking import other_version as module
from rankbench.tracking.other_version import other_version


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKBENCH_CACHE", str(tmp_path / "cache"))


def git(folder: Path, *arguments: str) -> str:
    settings = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *settings, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, files: dict[str, str]) -> str:
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q", ".")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "x")
    return git(folder, "rev-parse", "HEAD")


def stubbed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Have environments made without venv and pip; return what pip is asked for."""
    asked: list[tuple[str, ...]] = []

    def run(folder: Path, *command: str) -> None:
        if command[0] == "git":
            subprocess.run(command, check=True)
        elif command[2] == "venv":
            python = folder / "venv" / "bin" / "python"
            python.parent.mkdir(parents=True)
            python.symlink_to(sys.executable)
        else:
            asked.append(command[5:])

    monkeypatch.setattr(module, "_run", run)
    return asked


def test_a_python_is_taken_by_its_own_name(tmp_path: Path) -> None:
    """The Python of an environment is a link, and finds its packages by the link's name."""
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    found = other_version(str(link))
    assert (found.python, found.path) == (str(link), ())


@pytest.mark.parametrize("text", ["no-such-branch", "--upload-pack=x", "", "1.x", "missing/python"])
def test_what_is_none_of_these_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(tmp_path / "checkout", {"a": "b"})
    monkeypatch.chdir(tmp_path / "checkout")
    with pytest.raises(InputError, match="no Python that can be run, no version"):
        other_version(text)


def test_a_commit_without_pins_is_refused_before_anything_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "checkout"
    commit(checkout, {"a": "b"})
    git(checkout, "rm", "-q", "a")
    git(checkout, "commit", "-q", "-m", "nothing is left")
    monkeypatch.chdir(checkout)
    for name in ("HEAD~1", "HEAD"):
        with pytest.raises(InputError, match=r"has no requirements/dev\.txt"):
            other_version(name)
    assert not (tmp_path / "cache" / "environments").exists()


@pytest.mark.full
def test_a_commit_that_does_not_build_is_an_error_with_its_last_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "checkout"
    commit(checkout, {"requirements/dev.txt": "this is no requirement at all\n"})
    monkeypatch.chdir(checkout)
    said: list[str] = []
    with pytest.raises(InputError, match="cannot be built") as raised:
        other_version("HEAD", said.append)
    assert "this is no requirement" in str(raised.value)
    assert len(str(raised.value).splitlines()) <= 16
    assert raised.value.exit_code == 2
    stubbed(monkeypatch)
    assert other_version("HEAD", said.append).name.startswith("HEAD")  # what did not build is built again
    assert len(said) == 2


def test_a_commit_is_built_once_from_its_own_files_and_pins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a pip that installs nothing, and says what it was asked for."""
    checkout = tmp_path / "checkout"
    first = commit(checkout, {"requirements/dev.txt": "", "rankbench.txt": "old"})
    commit(checkout, {"rankbench.txt": "new"})
    monkeypatch.chdir(checkout)
    asked = stubbed(monkeypatch)
    said: list[str] = []
    one, other = (other_version("HEAD~1", said.append) for _ in range(2))
    assert one == other
    assert one.name == f"HEAD~1 ({first[:12]})"
    assert os.access(one.python, os.X_OK)
    assert len(said) == 1
    source = Path(one.python).parents[2] / "source"
    assert (source / "rankbench.txt").read_text() == "old"
    assert asked == [
        ("--require-hashes", "--only-binary", ":all:", "-r", str(source / "requirements/dev.txt")),
        ("--no-index", "--no-deps", "--no-build-isolation", "-e", str(source)),
    ]


@pytest.mark.parametrize("text", ["0.1.0", "rankbench==0.1.0"])
def test_a_version_is_asked_of_pip(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = stubbed(monkeypatch)
    assert other_version(text).name == "0.1.0"
    assert asked == [("--only-binary", ":all:", "rankbench==0.1.0")]
