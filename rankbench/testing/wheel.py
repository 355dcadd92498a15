"""The wheel of a plugin."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
import inspect
import json
import os
import site
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import Parser
from importlib.machinery import all_suffixes
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path, PurePosixPath
from typing import Any, Self
from urllib.parse import urlsplit
from urllib.request import url2pathname

from rankbench.core.runtime import numba_cache
from rankbench.core.text import normalized
from rankbench.errors import InputError, SpecError, closest
from rankbench.testing.check import CheckResult
from rankbench.testing.isolated import distributions
from rankbench.testing.scaffold import of_this_python

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


PROGRAM = "from rankbench.cli import main; main(prog_name='rankbench')"

SAID = 800
"""Characters of what a failed build said that are shown, its last ones."""


def check_wheel(name: str, *, seconds: float = 120.0) -> Iterator[CheckResult]:
    """Build a plugin's wheel, install it into an environment of its own, and check what it brings there.

    The environment has everything that this one has but the plugin itself, so that what the
    wheel lacks is missing. No network is needed.

    Parameters
    ----------
    name : str
        The plugin's folder, the name of a distribution that is installed from a folder, or the path of a wheel.
    seconds : float
        For one check.

    Raises
    ------
    SpecError
        There is no such folder, or what building needs is not installed here.
    InputError
        The folder's ``pyproject.toml`` cannot be read.
    """
    given = Path(name).resolve() if name.endswith(".whl") else None
    folder = given.parent if given is not None else _source(name)
    if given is None:
        _need_builder(folder)
    with tempfile.TemporaryDirectory(prefix="rankbench-wheel-", ignore_cleanup_errors=True) as scratch:
        wheels = [given] if given is not None else []
        if given is None:
            built = _pip("wheel", "--no-build-isolation", "--wheel-dir", scratch, str(folder))
            wheels = list(Path(scratch).glob("*.whl"))
            if built.returncode or len(wheels) != 1:
                yield _result(f"plugin/{folder.name}", "wheel-is-built", _tail(built.stderr + built.stdout))
                return
        try:
            with zipfile.ZipFile(wheels[0]) as archive:
                called = _called(archive)
                lacking = _lacking(archive, folder) if given is None else []
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise InputError(f"it is no wheel: {error}", path=wheels[0]) from error
        label = f"plugin/{called}"
        if given is None:
            yield _result(label, "wheel-is-built", "")
            yield _result(label, "wheel-holds-what-it-imports", "; ".join(lacking))
        environment = Installation.make(Path(scratch) / "environment")
        installed = _pip("--python", str(environment.python), "install", str(wheels[0]))
        yield _result(label, "wheel-is-installed", _tail(installed.stderr) if installed.returncode else "")
        if not installed.returncode:
            environment.see_this_one(hiding=called, source=folder)
            yield from _checked(environment, label, called, seconds)


def _source(name: str) -> Path:
    """Return the folder that a wheel can be built from."""
    folder = Path(name)
    if (folder / "pyproject.toml").is_file():
        return folder.resolve()
    for known in distributions():
        if normalized(known) == normalized(name):
            url = json.loads(distribution(known).read_text("direct_url.json") or "{}").get("url", "")
            folder = Path(url2pathname(urlsplit(url).path))
            if url.startswith("file:") and (folder / "pyproject.toml").is_file():
                return folder
            raise SpecError(
                f"{known} was not installed from a folder that is here; name the one with its pyproject.toml"
            )
    raise SpecError(
        f"{name!r} is neither a folder with a pyproject.toml nor an installed plugin{closest(name, distributions())}"
    )


def _need_builder(folder: Path) -> None:
    """Raise unless pip and what the folder's ``[build-system]`` requires are installed: nothing is downloaded."""
    from packaging.requirements import InvalidRequirement, Requirement

    path = folder / "pyproject.toml"
    try:
        with path.open("rb") as file:
            wanted = tomllib.load(file).get("build-system", {}).get("requires", ["setuptools"])
        asked = [Requirement(text) for text in wanted]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, InvalidRequirement) as error:
        raise InputError(str(error), path=path) from error
    if importlib.util.find_spec("pip") is None:
        raise SpecError(f"building a wheel needs pip, which is not installed here: {of_this_python('ensurepip')}")
    missing = [str(requirement) for requirement in asked if not _is_met(requirement)]
    if missing:
        raise SpecError(
            f"building {folder.name} needs {' and '.join(missing)}, as its pyproject.toml says: "
            f"{of_this_python('pip', 'install', *missing)}"
        )


def _is_met(requirement: Any) -> bool:
    if requirement.marker and not requirement.marker.evaluate():
        return True
    try:
        return bool(requirement.specifier.contains(version(requirement.name), prereleases=True))
    except PackageNotFoundError:
        return False


def _pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pip without a network, and without the user's settings for it."""
    options = ["--isolated", "--disable-pip-version-check", "--quiet"]
    verb = next(place for place, word in enumerate(arguments) if word in ("wheel", "install"))
    command = [*options, *arguments[: verb + 1], "--no-index", "--no-deps", *arguments[verb + 1 :]]
    return subprocess.run([sys.executable, "-m", "pip", *command], capture_output=True, text=True, check=False)


def _called(archive: zipfile.ZipFile) -> str:
    """Return the name of a wheel's distribution."""
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA") and name.count("/") == 1)
    return str(Parser().parsestr(archive.read(metadata).decode("utf-8"))["Name"])


def _lacking(archive: zipfile.ZipFile, folder: Path) -> list[str]:
    """Return what modules of the wheel import that stands in the folder, but not in the wheel."""
    held = {_module(name) for name in archive.namelist()}
    found: dict[str, str] = {}
    for name in archive.namelist():
        if not name.endswith(".py") or ".dist-info/" in name or ".data/" in name:
            continue
        for module in _imported(archive.read(name), _package(name)):
            if module not in held and _stands_in(folder, module):
                found.setdefault(module, _module(name))
    return [
        f"it lacks {module}, which {by} imports: put it into the package, or name it in pyproject.toml"
        for module, by in sorted(found.items())
    ]


def _module(name: str) -> str:
    """Return the dotted name of a module by its path in a wheel."""
    path = PurePosixPath(name)
    suffix = next((ending for ending in sorted(all_suffixes(), key=len, reverse=True) if name.endswith(ending)), "")
    parts = [*path.parts[:-1], path.name.removesuffix(suffix)]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _package(name: str) -> list[str]:
    """Return the package that relative imports of a module start from."""
    return list(PurePosixPath(name).parts[:-1])


def _imported(source: bytes, package: list[str]) -> Iterator[str]:
    """Yield the dotted names of all that may be modules among what a file imports."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # installing or importing it will say so
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *([node.module] if node.module else [])])
            yield start
            yield from (f"{start}.{alias.name}" for alias in node.names)


def _stands_in(folder: Path, module: str) -> bool:
    """Return whether a module's file is in the folder, and it is no other distribution's."""
    parts = module.split(".")
    for root in (folder, folder / "src"):
        place = root.joinpath(*parts)
        if place.with_name(f"{place.name}.py").is_file() or (place / "__init__.py").is_file():
            break
    else:
        return False
    known = importlib.util.find_spec(parts[0])
    return known is None or known.origin is None or Path(known.origin).resolve().is_relative_to(folder)


def _checked(environment: Installation, label: str, called: str, seconds: float) -> Iterator[CheckResult]:
    """Yield what `rankbench check` finds in the environment."""
    arguments = ["check", called, "--json", "--timeout", str(seconds)]
    done = environment.run("-c", PROGRAM, *arguments)
    try:
        results = json.loads(done.stdout)["results"]
    except ValueError:
        yield _result(label, "loads", _tail(done.stderr) or f"checking it ended with exit code {done.returncode}")
        return
    yield from (CheckResult(**result) for result in results)


def _tail(text: str) -> str:
    return text.strip()[-SAID:]


def _result(label: str, check: str, failure: str) -> CheckResult:
    return CheckResult(label, check, "failed" if failure else "passed", failure)
