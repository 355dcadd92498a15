"""How the program starts and ends, and what the Tab key offers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from amounts import part_of
from click.shell_completion import BashComplete, ShellComplete
from forked import MAIN, run_program

from rankbench.cli import main
from rankbench.cli.help import ORDER
from rankbench.plugin import manager

SLOW = "import signal, sys, time; from rankbench.cli import main\n{}\nmain()"
WAITS = "import rankbench.cli as c, click\n@click.command()\ndef w():\n    print(c.os.getpid(), flush=True); {}\n"
WAITS += "c._import = lambda subcommand: w\n"


def started(body: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SLOW.format(WAITS.format(body)), "list"]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # ``nohup make test`` has it ignored
    )


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_end_the_program(sent: signal.Signals, code: int) -> None:
    program = started("time.sleep(60)")
    assert program.stdout is not None
    assert int(program.stdout.readline()) == program.pid
    program.send_signal(sent)
    _, said = program.communicate(timeout=20)
    assert program.returncode == code
    assert said == "interrupted\n"


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
@pytest.mark.parametrize("arguments", part_of([["list"], ["--help"], ["info", "--json"]]))
def test_a_full_standard_output_is_said_in_a_line(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-c", MAIN, *arguments]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: No space left on device, of standard output")
    assert ended.stderr.count("\n") == 1


@pytest.mark.full
@pytest.mark.parametrize("arguments", part_of([["list"], ["--help"], ["list", "--json"]]))
def test_a_closed_pipe_is_no_failure(arguments: list[str]) -> None:
    """Exit code 1 would tell a gate that something is worse."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-c", MAIN, *arguments]
    ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize("closed", part_of(["1", "2", "0"]))
def test_closed_standard_files(closed: str) -> None:
    command = ["sh", "-c", f'exec "$0" -c "{MAIN}" info {closed}>&-', sys.executable]
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


HEAVY = ("numba", "scipy", "matplotlib", "pyarrow")


def offered(words: list[str], incomplete: str = "") -> list[str]:
    """Return what a shell would be told, files as ``<file>``."""
    completion = ShellComplete(main, {}, "rankbench", "_RANKBENCH_COMPLETE")
    items = completion.get_completions(words, incomplete)
    return ["<file>" if item.type == "file" else item.value for item in items]


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        (["run", "--suite"], ("suite",)),
        (["run", "--dataset"], ("dataset",)),
        (["run", "--log"], ("dataset",)),
        (["run", "--reader"], ("reader",)),
        (["run", "--with"], ("method", "aggregator")),
        (["aggregate"], ("dataset",)),
        (["aggregate", "--method"], ("aggregator",)),
        (["rank", "--method"], ("aggregator",)),
        (["compare", "--method"], ("aggregator",)),
        (["time"], ("suite",)),
        (["certify"], ("surrogate",)),
        (["certify", "--aggregator"], ("aggregator",)),
        (["data", "get"], ("dataset",)),
        (["data", "describe"], ("dataset",)),
        (["info", "--kind", "loss"], ("loss",)),
    ],
    ids=" ".join,
)
def test_names_are_offered(words: list[str], kinds: tuple[str, ...]) -> None:
    found = [word for word in offered(words) if word != "<file>"]
    assert found == sorted({name for kind in kinds for name in manager.names(kind)})
    first = found[0]
    assert first in offered(words, first[:2])


def test_verbs_and_subcommands_are_offered() -> None:
    assert set(ORDER) <= set(offered([]))
    assert offered(["data"], "de") == ["describe"]
    assert offered(["history"]) == ["add", "show"]


def test_kinds_losses_and_any_name() -> None:
    assert {"aggregator", "suite"} <= set(offered(["list"]))
    assert {"pairwise", *manager.names("loss")} <= set(offered(["certify", "regression", "--loss"]))
    assert {"demo", "bradley-terry", "ndcg"} <= set(offered(["info"]))
    assert offered(["info"], "bradley-t") == ["bradley-terry"]


def test_files_are_offered_where_one_may_stand() -> None:
    assert offered(["aggregate"], "votes.") == ["<file>"]
    assert offered(["run", "--suite"], "d") == ["<file>", "demo"]
    assert "<file>" not in offered(["aggregate", "log", "--method"])


def test_what_is_broken_offers_nothing(monkeypatch) -> None:
    def broken(kind: str) -> list[str]:
        raise RuntimeError(kind)

    monkeypatch.setattr(manager, "names", broken)
    assert offered(["run", "--dataset"]) == []


@pytest.mark.parametrize(
    "words", part_of(["rankbench run --suite d", "rankbench aggregate log --method b", "rankbench info b"])
)
def test_nothing_that_computes_is_imported(words: str) -> None:
    script = f"""
import sys
sys.argv = ["rankbench"]
from rankbench.cli import main
from click.shell_completion import BashComplete
found = BashComplete(main, {{}}, "rankbench", "_RANKBENCH_COMPLETE").complete()
print(found)
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    # The plugins of this environment are tried elsewhere: what they import is theirs.
    blocked = {status.distribution for status in manager.statuses()} - {"rankbench"}
    given = {
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
        "RANKBENCH_BLOCK_PLUGINS": ",".join(sorted(blocked)),
    }
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | given, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(("plain,", "file,"))
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell: str) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "completion.rst").read_text(encoding="utf-8")
    assert f"_RANKBENCH_COMPLETE={shell}_source rankbench" in page
    program = Path(sys.executable).with_name("rankbench")
    given = os.environ | {"_RANKBENCH_COMPLETE": f"{shell}_source"}
    # Of bash, the version is asked for, and what says it may be missing here.
    if shell == "bash":
        source = BashComplete(main, {}, "rankbench", "_RANKBENCH_COMPLETE").source_template
        assert "COMPREPLY" in source
        return
    done = subprocess.run([program], env=given, capture_output=True, text=True, check=True)
    assert "_RANKBENCH_COMPLETE" in done.stdout
