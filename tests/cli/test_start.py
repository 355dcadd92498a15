"""How the program starts and ends: what cannot be printed is said."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from amounts import part_of
from forked import MAIN, run_program

SLOW = "import signal, sys, time; from rankbench.cli import main\n{}\nmain()"
WAITS = "import rankbench.cli as c, click\n@click.command()\ndef w():\n    print(c.os.getpid(), flush=True); {}\n"
WAITS += "c._import = lambda verb: w\n"


def started(body: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SLOW.format(WAITS.format(body)), "list"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15)])
def test_signals_end_the_program(sent: signal.Signals, code: int) -> None:
    program = started("time.sleep(60)")
    assert program.stdout is not None
    assert int(program.stdout.readline()) == program.pid
    program.send_signal(sent)
    _, said = program.communicate(timeout=20)
    assert program.returncode == code
    assert said == ("interrupted\n" if sent == signal.SIGINT else "")


def test_cycles_are_looked_for_seldom() -> None:
    """Of what the imports of a small run took, an eighth was looking through what stays."""
    program = started("import gc; print(gc.get_threshold()[0])")
    said, _ = program.communicate(timeout=20)
    assert int(said.split()[1]) >= 10_000


def test_cycles_are_not_looked_for_as_it_ends() -> None:
    program = started("import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count()))")
    _, said = program.communicate(timeout=20)  # standard output is the command's alone
    assert program.returncode == 0
    assert int(said.split()[-1]) > 1000


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", part_of([["list"], ["--help"], ["env"], ["plugins", "--json"]]))
def test_a_full_standard_output_is_said_in_a_line(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-c", MAIN, *arguments]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: No space left on device, of standard output")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("closed", part_of(["1", "2", "0"]))
def test_closed_standard_files(closed: str) -> None:
    command = ["sh", "-c", f'exec "$0" -c "{MAIN}" env {closed}>&-', sys.executable]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == (1 if closed == "1" else 0)
    expected = "error: standard output is closed: there is nowhere to print to\n" if closed == "1" else ""
    assert ended.stderr == expected


def test_words_that_the_locale_cannot_print_end_nothing() -> None:
    printing = "main.callback = None; main.invoke = lambda context: print(chr(0x2014), chr(0xdce4))"
    program = f"from rankbench.cli import main; {printing}; main(['list'])"
    ascii_alone = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = run_program(code=program, environment=os.environ | ascii_alone)
    assert (ended.returncode, ended.stdout) == (0, "\\u2014 \\udce4\n"), ended.stderr
