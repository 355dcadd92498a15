"""Distributions as an installer leaves them behind, and one process with them installed that runs many commands."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from forked import start_program

SERVER = """
import json, os, socket, sys, traceback
door = socket.socket(socket.AF_UNIX)
door.connect(sys.argv[1])
asked, answers = door.makefile("r"), door.makefile("w")
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


def install_plugin(
    site: Path, name: str, entry_points: str, *, version: str = "1.0", requires: Iterable[str] = (), **modules: str
) -> Path:
    """Write a distribution as an installer leaves it behind; return the folder of what is known of it.

    Parameters
    ----------
    site : Path
    name : str
    entry_points : str
        Of the group ``rankbench``, as ``mine = my_module``; lines that begin a group of their own may follow.
    version : str
    requires : iterable of str
    **modules : str
        Sources by module.
    """
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {r}" for r in requires),
    ]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    (info / "entry_points.txt").write_text(f"[rankbench]\n{entry_points}\n")
    for module, source in modules.items():
        (site / f"{module}.py").write_text(source, encoding="utf-8")
    return info


class Program:
    """``rankbench`` as it is with the distributions of a folder.

    Parameters
    ----------
    site : Path
        A folder with distributions, as an installer leaves them behind.
    """

    def __init__(self, site: Path) -> None:
        with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as door:
            door.bind(f"{folder}/door")
            door.listen()
            door.settimeout(120)
            environment = os.environ | {"PYTHONPATH": str(site), "COLUMNS": "200"}
            self.process = start_program(f"{folder}/door", environment=environment, code=SERVER)
            self.connection, _ = door.accept()
        self.asked, self.answers = self.connection.makefile("w"), self.connection.makefile("r")

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for each in (self.asked, self.answers, self.connection):
            each.close()
        self.process.communicate()

    def run(self, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a command in a folder."""
        print(json.dumps([str(cwd), arguments]), file=self.asked, flush=True)
        return subprocess.CompletedProcess(arguments, *json.loads(self.answers.readline()))
