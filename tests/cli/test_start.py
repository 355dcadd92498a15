"""How the program starts and ends: what is ended from within is no success, and what cannot be printed is said."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from amounts import part_of
from click.testing import CliRunner
from forked import run_program

from rankbench.cli import main
from rankbench.runtime import check_variables

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the program is watched over on Linux alone")

PLUGIN = """
import os
from typing import ClassVar

import polars as pl
from pydantic import Field, field_validator
import rankbench
from rankbench.kinds.metric import Metric


def at(place):
    if os.environ.get("ENDS_AT") == place:
        os._exit(int(os.environ.get("ENDS_WITH", "0")))


at("import")


class Ends(rankbench.Method):
    \"\"\"Ends its process.\"\"\"
    name = "ends"
    source = "test"
    shift: float = Field(default=0.0, allow_inf_nan=False)

    @field_validator("shift")
    @classmethod
    def checked(cls, value):
        at("validator")
        return value

    def fit(self, block):
        return rankbench.Fitted(lambda queries: queries.x[:, 0])


class Data(rankbench.Dataset):
    \"\"\"Votes.\"\"\"
    name = "ending-votes"
    source = "test"
    table = "comparisons"
    title = "Votes"
    licence = "CC0"

    def scan(self):
        at("scan")
        return pl.LazyFrame({"query_id": ["q"] * 2, "winner": ["a", "b"], "loser": ["b", "c"]})

    def fingerprint(self):
        at("fingerprint")
        return "0" * 64

    def assumptions(self):
        return []


class Prepares(rankbench.Protocol):
    \"\"\"Ends its process before anything is drawn.\"\"\"
    name = "prepares"
    source = "test"
    contender = "method"
    table = None
    metrics: ClassVar = (Metric("gain", "maximize", "What it gains."),)
    splits: ClassVar = {"heldout": "Units"}

    def prepare(self, dataset, seed):
        at("prepare")
        return rankbench.Prepared(protocol=self, dataset=None, fingerprint="", units={"heldout": ("one",)})

    def execute(self, prepared, task):
        return []


@rankbench.hookimpl
def rankbench_register():
    at("hook")
    return [Ends, Data, Prepares]
"""

SUITE = """
name = "ending"
title = "Ending"
[[experiments]]
name = "e"
title = "E"
protocol = "{protocol}"
dataset = "{dataset}"
n = [100]
repetitions = 1
losses = ["{loss}"]
contenders = [{{ use = "{contender}" }}, {{ use = "random-scores" }}]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a plugin, as it were installed, and three suites."""
    place = tmp_path_factory.mktemp("ending")
    (place / "ending_plugin.py").write_text(PLUGIN)
    about = place / "ending_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: ending-plugin\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[rankbench]\nending = ending_plugin\n")
    simulated = "web10k-like:queries=12,features=8"
    for name, protocol, data, contender, loss in (
        ("validator", "btl:design=4,heldout=4", simulated, "ends:shift=1", "ndcg"),
        ("prepare", "prepares", "", "ends", "gain"),
    ):
        text = SUITE.format(protocol=protocol, dataset=data, contender=contender, loss=loss)
        (place / f"{name}.toml").write_text(text)
    return place


def rankbench(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return run_program(*arguments, environment=os.environ | {"PYTHONPATH": str(folder)} | more, folder=folder)


def afresh(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program in a process that was not forked."""
    return subprocess.run(
        [sys.executable, "-c", "from rankbench.cli import main; main()", *arguments],
        env=os.environ | {"PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("place", "arguments", "during", "code"),
    [
        ("import", ["list"], "plugin 'ending' of ending-plugin 1.0", 0),
        ("import", ["list"], "plugin 'ending' of ending-plugin 1.0", 7),
        ("hook", ["list"], "plugin 'ending' of ending-plugin 1.0", 0),
        ("validator", ["plan", "--suite", "validator.toml"], "ends:shift=1", 0),
        ("prepare", ["plan", "--suite", "prepare.toml"], "protocol prepares prepared its data", 0),
        ("scan", ["aggregate", "ending-votes"], "`rankbench aggregate ending-votes` was going on", 0),
        ("scan", ["run", "--log", "ending-votes", "--out", "never"], "ending-votes", 0),
    ],
)
def test_an_end_from_within_is_a_failure_that_says_where(
    folder: Path, place: str, arguments: list[str], during: str, code: int
) -> None:
    ended = rankbench(folder, *arguments, ENDS_AT=place, ENDS_WITH=str(code))
    assert ended.returncode == (code or 1)
    assert f"error: the program was ended with exit code {code}, before it was done, while " in ended.stderr
    assert during in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_same_plugin_that_ends_nothing(folder: Path) -> None:
    ended = rankbench(folder, "aggregate", "ending-votes")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_verdict_is_passed_on(folder: Path) -> None:
    assert afresh(folder, "list").returncode == 0
    assert afresh(folder, "lst").returncode == 2
    assert rankbench(folder, "report", "nowhere").returncode == 3


SLOW = "import signal, sys, time; from rankbench.cli import main\n{}\nmain()"
WAITS = "import rankbench.cli as c, click\n@click.command()\ndef w():\n    print(c.os.getpid(), flush=True); {}\n"
WAITS += "c._import = lambda verb: w\n"


def started(body: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SLOW.format(WAITS.format(body)), "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGKILL, -9)])
def test_signals_reach_the_program_and_its_end_is_passed_on(sent: signal.Signals, code: int) -> None:
    program = started("time.sleep(60)")
    assert program.stdout is not None
    pid = int(program.stdout.readline())
    assert pid != program.pid
    program.send_signal(sent)
    _, said = program.communicate(timeout=20)
    assert program.returncode == code
    assert said == ("interrupted\n" if sent == signal.SIGINT else "")
    until = time.monotonic() + 5
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < until:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{pid}")


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


def test_a_crash_says_what_was_going_on() -> None:
    program = started("c.os.abort()")
    _, said = program.communicate(timeout=20)
    assert program.returncode == 1
    assert said == (
        "error: the program was ended by SIGABRT, before it was done, while `rankbench list` was going on\n"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", part_of([["list"], ["--help"], ["env"], ["plugins", "--json"]]))
def test_a_full_standard_output_is_said_in_a_line(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", "from rankbench.cli import main; main()", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: No space left on device, of standard output")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("closed", part_of(["1", "2", "0"]))
def test_closed_standard_files(closed: str) -> None:
    ended = subprocess.run(
        ["sh", "-c", f'exec "$0" -c "from rankbench.cli import main; main()" env {closed}>&-', sys.executable],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == (1 if closed == "1" else 0)
    expected = "error: standard output is closed: there is nowhere to print to\n" if closed == "1" else ""
    assert ended.stderr == expected


NO_SETTINGS = [
    *(
        (name, value)
        for name in ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS")
        for value in ("0", "-1", "many", "", "1e9")
    ),
    ("NUMBA_NUM_THREADS", "1000000"),
    ("OMP_NUM_THREADS", "-1"),
    ("OPENBLAS_NUM_THREADS", "many"),
    ("MKL_NUM_THREADS", "1.5"),
    ("NUMBA_CPU_FEATURES", "avx"),
    ("NUMBA_CACHE_LOCATOR_CLASSES", "x"),
    ("POLARS_CSV_CHUNK_SIZE", "many"),
    ("POLARS_ASYNC_THREAD_COUNT", "-1"),
]


@pytest.mark.parametrize(("name", "value"), NO_SETTINGS)
def test_a_variable_that_a_library_would_end_at_is_named(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    ended = CliRunner().invoke(main, ["list"])
    assert ended.exit_code == 2
    assert re.fullmatch(rf"error: {name}={re.escape(value)}: it must be .*; or unset it\n", ended.stderr)


@pytest.mark.parametrize(
    ("name", "value"),
    [("OMP_NUM_THREADS", "4,2"), ("OPENBLAS_NUM_THREADS", "0"), ("MKL_NUM_THREADS", ""), ("NUMBA_NUM_THREADS", "3")],
)
def test_variables_that_say_something_stay(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    check_variables()


@pytest.mark.parametrize(
    "said",
    part_of(["NUMBA_NUM_THREADS=0", "NUMBA_OPT=7", "NUMBA_BOUNDSCHECK=x", "NUMBA_CPU_FEATURES=x", "NUMBA_OPT=3"], 5),
)
def test_variables_that_numba_cannot_read(tmp_path: Path, said: str) -> None:
    (tmp_path / "votes.csv").write_text("winner,loser\na,b\nb,c\nc,a\n")
    ended = subprocess.run(
        [sys.executable, "-c", "from rankbench.cli import main; main()", "aggregate", str(tmp_path / "votes.csv")],
        env=os.environ | dict([said.split("=")]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == (0 if said == "NUMBA_OPT=3" else 2), ended.stderr
    assert "Traceback" not in ended.stderr
    assert said == "NUMBA_OPT=3" or ended.stderr.startswith(f"error: {said}: ")


def test_words_that_the_locale_cannot_print_end_nothing() -> None:
    program = (
        "from rankbench.cli import main\n"
        "main.callback = None\n"
        "main.invoke = lambda context: print(chr(0x2014), chr(0xdce4))\n"
        "main(['list'])\n"
    )
    ascii_alone = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | ascii_alone, capture_output=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, b"\\u2014 \xe4\n"), ended.stderr
