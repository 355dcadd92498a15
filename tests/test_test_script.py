"""`scripts/test.sh` with a Python that writes down what pytest is asked to do."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

pytestmark = [
    pytest.mark.lint,
    pytest.mark.skipif(os.name == "nt" or not shutil.which("sh"), reason="needs a POSIX shell"),
]

# The first half ends with $FIRST, the second one with $SECOND.
PYTHON = """#!/bin/sh
case "$1 $2" in
    "-m pytest")
        shift 2
        for argument; do printf '%s|' "$argument"; done >>"$COMMANDS"
        echo "${PYTHONDONTWRITEBYTECODE-unset} $OPENBLAS_NUM_THREADS" >>"$COMMANDS"
        case $* in *"and alone"*) exit "${SECOND:-0}" ;; *) exit "${FIRST:-0}" ;; esac
        ;;
    "scripts/kernels.py "*) echo "compile $2" >>"$COMMANDS"; exit "${COMPILED:-0}" ;;
esac
exec {python} "$@"
"""

FIRST = "--benchmark-skip|--numprocesses|{workers}|--dist|worksteal|{arguments}-m|({chosen}) and not alone|unset 1"
SECOND = "--benchmark-skip|{arguments}--numprocesses|0|-m|({chosen}) and alone|unset 1"

Run = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the script with arguments and variables; return its exit code and the commands that it gave."""
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(PYTHON.replace("{python}", f'"{sys.executable}"'))
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "test.sh", tmp_path / "scripts")
    log = tmp_path / "commands"

    def run(*arguments: str, **more: str) -> tuple[int, list[str]]:
        log.unlink(missing_ok=True)
        environment = os.environ | {"COMMANDS": str(log), "PYTHONDONTWRITEBYTECODE": "1"} | more
        done = subprocess.run(
            ["sh", "scripts/test.sh", *arguments], cwd=tmp_path, env=environment, capture_output=True, check=False
        )
        return done.returncode, log.read_text().splitlines() if log.exists() else []

    return run


CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def halves(arguments: str = "", chosen: str = "not long and not lint") -> list[str]:
    return [half.format(workers=CORES, arguments=arguments, chosen=chosen) for half in (FIRST, SECOND)]


def test_two_halves_that_leave_nothing_out_after_kernels_are_compiled(run: Run) -> None:
    assert run() == (0, [f"compile {CORES}", *halves()])
    assert run("-m", "slow", "-x") == (0, [f"compile {CORES}", *halves("-x|", chosen="slow")])
    assert run("-kx", "-x") == (0, halves("-kx|-x|"))


def test_kernels_that_do_not_compile_are_said_at_once(run: Run) -> None:
    assert run(COMPILED="1") == (1, [f"compile {CORES}"])


def test_arguments_go_to_both_halves_as_they_are(run: Run) -> None:
    assert run("tests/a b", "-k", "x or y", "--durations=20") == (0, halves("tests/a b|-k|x or y|--durations=20|"))


@pytest.mark.parametrize("given", [["-m", "long or slow"], ["-mlong or slow"]])
def test_an_expression_of_ones_own_is_divided_too(run: Run, given: list[str]) -> None:
    assert run("tests", *given, "-x") == (0, halves("tests|-x|", "long or slow"))


@pytest.mark.parametrize(
    ("first", "second", "code"), [(5, 0, 0), (0, 5, 0), (5, 5, 5), (1, 0, 1), (0, 1, 1), (1, 5, 1)]
)
def test_a_half_without_tests_is_no_failure_unless_both_are(run: Run, first: int, second: int, code: int) -> None:
    assert run("tests/a", FIRST=str(first), SECOND=str(second)) == (code, halves("tests/a|"))


@pytest.mark.parametrize("code", [2, 3, 4])
def test_what_is_interrupted_or_misused_stops_there(run: Run, code: int) -> None:
    assert run("tests/a", FIRST=str(code)) == (code, halves("tests/a|")[:1])


def test_an_expression_that_is_missing_is_said(run: Run) -> None:
    assert run("tests/a", "-m") == (2, [])
