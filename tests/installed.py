"""One process with distributions installed that runs many commands: what they import is imported once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType

SERVER = """
import json, os, sys, traceback
asked, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)
from click.testing import CliRunner
from rankbench.cli import main
for line in asked:
    folder, arguments = json.loads(line)
    os.chdir(folder)
    done = CliRunner().invoke(main, arguments, prog_name="rankbench")
    if not isinstance(done.exception, SystemExit | None):
        traceback.print_exception(done.exception)
    print(json.dumps([done.exit_code, done.stdout, done.stderr]), file=answers, flush=True)
"""


class Program:
    """``rankbench`` as it is with the distributions of a folder.

    Parameters
    ----------
    site : Path
        A folder with distributions, as an installer leaves them behind.
    """

    def __init__(self, site: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            env={**os.environ, "PYTHONPATH": str(site), "COLUMNS": "200"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.process.communicate()

    def run(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a command in a folder."""
        asked, answers = self.process.stdin, self.process.stdout
        assert asked is not None
        assert answers is not None
        print(json.dumps([str(cwd), arguments]), file=asked, flush=True)
        return subprocess.CompletedProcess(arguments, *json.loads(answers.readline()))
