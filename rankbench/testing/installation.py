"""An environment that has what this one has, except for one distribution."""

from __future__ import annotations

import importlib.metadata
import inspect
import os
import site
import subprocess
import sysconfig
import venv
from dataclasses import dataclass
from importlib.machinery import all_suffixes
from pathlib import Path
from typing import Any, Self

from rankbench.runtime import numba_cache
from rankbench.text import normalized

__all__ = ["Installation"]

MODULE = "_rankbench_outer"
"""Module of the environment that Python imports when it starts there."""


@dataclass(frozen=True)
class Installation:
    """A virtual environment.

    Attributes
    ----------
    folder : Path
    """

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Self:
        """Make an environment that has nothing, not even pip."""
        venv.create(folder, with_pip=False, symlinks=os.name != "nt")
        return cls(folder)

    def path(self, which: str) -> Path:
        """Return a folder of the environment, by its name in `sysconfig`."""
        base = str(self.folder)
        return Path(sysconfig.get_path(which, "venv", {"base": base, "platbase": base}))

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.path("scripts") / ("python.exe" if os.name == "nt" else "python")

    def see_this_one(self, *, hiding: str, source: Path) -> None:
        """Let it import what this environment has, but nothing of one distribution.

        Parameters
        ----------
        hiding : str
            The distribution: neither its installed files nor links of an editable install are followed.
        source : Path
            Its folder; nothing is imported from there.
        """
        files = [
            file
            for outer in importlib.metadata.distributions()
            if normalized(outer.name) == normalized(hiding)
            for file in outer.files or ()
        ]
        settings = {
            "own": [str(self.path("purelib")), str(self.path("platlib"))],
            "sites": _sites(),
            "further": [
                str(Path(entry).resolve()) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry
            ],
            "links": sorted({file.name for file in files if file.suffix == ".pth"}),
            "names": sorted({name for file in files if (name := _top(file.parts[0]))}),
            "source": str(source),
        }
        text = "\n".join(
            [
                '"""Made by `rankbench check --wheel`."""',
                "from __future__ import annotations",
                inspect.getsource(_look_out),
                f"_look_out(**{settings!r})\n",
            ]
        )
        own = self.path("purelib")
        (own / f"{MODULE}.py").write_text(text, encoding="utf-8")
        (own / f"{MODULE}.pth").write_text(f"import {MODULE}\n", encoding="utf-8")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run its Python in its folder; compiled code of rankbench is taken from this environment's cache."""
        variables = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
        variables |= {"PYTHONSAFEPATH": "1", "PYTHONIOENCODING": "utf-8"}
        variables.setdefault("NUMBA_CACHE_DIR", str(numba_cache()))
        return subprocess.run(
            [str(self.python), *arguments],
            cwd=self.folder,
            env=variables,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )


def _sites() -> list[str]:
    """Return the folders of this environment's distributions."""
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return [folder for folder in dict.fromkeys([*site.getsitepackages(), *user]) if os.path.isdir(folder)]


def _top(name: str) -> str:
    """Return the module that an installed file or folder of a site folder is; "" if it is none."""
    suffix = next((ending for ending in sorted(all_suffixes(), key=len, reverse=True) if name.endswith(ending)), "")
    name = name.removesuffix(suffix)
    return name if name.isidentifier() else ""


def _look_out(
    own: list[str], sites: list[str], further: list[str], links: list[str], names: list[str], source: str
) -> None:
    """Extend the path by another environment's folders, as the environment that this text is copied into starts.

    Parameters
    ----------
    own : list of str
        Folders of this environment.
    sites, further : list of str
        Folders of the other one; with those that its ``.pth`` files name, and without.
    links : list of str
        Names of ``.pth`` files that are not followed.
    names : list of str
        Top-level modules that are imported from `own` or not at all.
    source : str
        Folder that nothing is imported from.
    """
    import os
    import site
    import sys
    from importlib.machinery import PathFinder

    known: set[str] = set()
    for folder in sites:
        sys.path.append(folder)
        for name in sorted(os.listdir(folder)):
            if name.endswith(".pth") and name not in links:
                site.addpackage(folder, name, known)
    inside = os.path.realpath(source)
    kept = {os.path.realpath(folder) for folder in sites}  # an environment may stand in the source folder

    def outside(entry: str) -> bool:
        place = os.path.realpath(entry)
        return place in kept or not (place + os.sep).startswith(inside + os.sep)

    sys.path[:] = [entry for entry in [*sys.path, *further] if outside(entry)]

    class Hidden:
        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> Any:
            if path is not None or name not in names:
                return None
            found = PathFinder.find_spec(name, own)
            if found is None:
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)
            return found

    sys.meta_path.insert(0, Hidden)
