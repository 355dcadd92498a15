"""Which contenders are timed, and processes that end."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest

from rankbench.errors import InputError
from rankbench.tracking.timed_versions import Launcher, TimedVersion, here
from rankbench.tracking.timings import TimedCell

MEMBERS = [("e", "a", 10, 1), ("e", "a", 20, 2), ("e", "b", 20, 2), ("f", "a", 70, 7)]


@pytest.mark.parametrize(
    ("only", "n", "chosen"),
    [
        ((), (), [0, 3]),
        ((), (2,), [1, 2]),
        (("f",), (), [3]),
        (("*/a",), (), [0, 3]),
        (("e/b",), (2, 1), [2]),
        (("e/b",), (), []),
    ],
)
def test_what_is_chosen(only: tuple[str, ...], n: tuple[int, ...], chosen: list[int]) -> None:
    launcher = Launcher([here()], "s", only=only, n=n, seed=1)
    assert launcher._chosen(MEMBERS) == {TimedCell(*MEMBERS[place][:3]): place for place in chosen}


def fake(tmp_path: Path, text: str) -> TimedVersion:
    """A Python that runs something else."""
    script = tmp_path / "python"
    script.write_text(f"#!{sys.executable}\n{text}\n")
    script.chmod(0o700)
    return TimedVersion(str(script), "fake")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys; print('last words', file=sys.stderr); sys.exit(7)", "exit code 7:\n  last words"),
        ("print('no JSON', flush=True)", "exit code"),
        ('print(\'{"error": "ImportError: no such module"}\', flush=True)', "ImportError: no such module"),
    ],
)
def test_a_process_that_cannot_be_timed_is_input_that_cannot_be_used(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="fake") as raised:
        Launcher([fake(tmp_path, text)], "demo", seed=1).launch(0, math.inf)
    assert said in str(raised.value)


def test_no_process_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be started"):
        Launcher([TimedVersion(str(tmp_path / "missing"), "gone")], "demo", seed=1).launch(0, math.inf)
