"""Compiles rankbench's kernels while its wheel is built, so that a user's first answer need not wait for them.

A wheel that pip builds on the way to installing it is for this machine: it holds machine code and says so in its
name, which no package index takes. ``RANKBENCH_PURE_WHEEL=1`` builds one for all machines, for a release; it
compiles on first use. So does everything whose machine code is made for another processor, Python or numba.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SATISFIED = """
import sys
from importlib.metadata import version
from packaging.requirements import Requirement
wanted = [Requirement(text) for text in sys.argv[1:]]
sys.exit(not all(one.specifier.contains(version(one.name)) for one in wanted))
"""


class MachineCode(BuildHookInterface[Any]):
    """Puts machine code into a wheel; an editable install compiles on first use, since its sources change."""

    def dependencies(self) -> list[str]:
        """Ask for what rankbench imports, unless the environment that it is installed into has it already."""
        wanted: list[str] = self.metadata.core.dependencies
        return [] if os.environ.get("RANKBENCH_PURE_WHEEL") or _around(wanted) else wanted

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and have the files put into the wheel; where that cannot be done the wheel has none."""
        if version == "editable" or os.environ.get("RANKBENCH_PURE_WHEEL"):
            return
        self.folder = tempfile.mkdtemp(prefix="rankbench-build-")
        self.app.display_info("compiling rankbench's kernels for this processor: a minute or two, once")
        python = [sys.executable, *(["-E"] if _around(self.metadata.core.dependencies) else [])]
        done = subprocess.run([*python, os.path.join("scripts", "compile.py"), self.folder], cwd=self.root, check=False)
        if done.returncode != 0:
            self.app.display_warning("rankbench's kernels could not be compiled here: they will be on first use")
            return
        build_data["force_include"][self.folder] = "rankbench/machine_code"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what is in the wheel by now."""
        shutil.rmtree(getattr(self, "folder", ""), ignore_errors=True)


def _around(wanted: list[str]) -> bool:
    """Return whether the environment around an isolated build has what rankbench needs.

    pip hides it by a variable, which ``-E`` has Python forget. Its numba is the one that will look for the
    machine code; the newest, which an isolated build gets, may be another.
    """
    return subprocess.run([sys.executable, "-E", "-c", SATISFIED, *wanted], capture_output=True).returncode == 0
