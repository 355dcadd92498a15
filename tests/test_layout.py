"""The layout: imports go down the layers of rankbench, whether inside functions, for types or at the top."""

from __future__ import annotations

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "rankbench"

LAYERS = (
    ("errors", "core"),
    ("kernels", "stats"),
    ("interfaces",),
    ("plugin",),
    ("data", "store", "drawing", "html"),
    ("aggregators", "surrogates", "losses", "optimizers"),
    ("methods", "logs", "descriptions", "ranking", "systems"),
    ("protocols",),
    ("suites", "runner"),
    ("reports",),
    ("api", "cli", "__main__"),
    ("certificates", "audits", "tracking", "testing"),
)
"""The lowest first. Within a layer, a package may import packages that are listed before it."""

FAMILIES, WINGS = LAYERS[5], LAYERS[-1]
"""Packages of one layer that do not import one another at all.

Nothing is above the wings, so that nobody imports them: entry points name them, and the public face.
"""

BY_NAME = {
    "rankbench",
    "rankbench.plugin.registry",
    "rankbench.cli",
    "rankbench.testing.check",
}
"""Modules that import others by name: the public face, the registry, lazy subcommands, the checks."""


CHECKER = "rankbench.certificates.checking"
"""The checker of certificates imports nothing of rankbench: it has names of others again."""

ARRAYS = {"Vector"}
"""Arrays by their shape, each where it is declared for compiled code or for types."""


def sources() -> dict[str, Path]:
    """Return the file of every module."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(source: str, modules: set[str]) -> set[tuple[str, str]]:
    """Return modules of rankbench and the names that are taken from them, wherever they are imported."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "rankbench":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add((inner, "") if inner in modules else (str(node.module), alias.name))
        elif isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names if alias.name in modules}
    return found


@cache
def everything() -> dict[str, frozenset[tuple[str, str]]]:
    """Return what every module imports, a package's ``__init__`` too."""
    files = sources()
    return {name: frozenset(imported(path.read_text(encoding="utf-8"), set(files))) for name, path in files.items()}


def package_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def risen(edges: dict[str, frozenset[tuple[str, str]]]) -> list[str]:
    """Return the imports that do not go down."""
    place = {name: (layer, at) for layer, packages in enumerate(LAYERS) for at, name in enumerate(packages)}
    wrong = []
    for module, targets in edges.items():
        for target, _ in targets:
            here, there = package_of(module), package_of(target)
            if not here or here == there:  # the public face hands on names of all packages
                continue
            if not there:
                wrong.append(f"{module} imports {target}")
                continue
            if place[there] > place[here] or any({here, there} <= {*layer} for layer in (FAMILIES, WINGS)):
                wrong.append(f"{module} imports {target}")
    return sorted(wrong)


def circle(edges: dict[str, set[str]]) -> list[str]:
    """Return modules that import one another in a circle; none: there is no circle."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_every_package_has_a_layer() -> None:
    packages = {package_of(name) for name in sources()} - {""}
    assert packages == {name for layer in LAYERS for name in layer}
    assert len(LAYERS) <= 12


def test_imports_go_down() -> None:
    assert len(everything()) > 300
    assert risen(everything()) == []


def test_no_file_stands_in_a_circle() -> None:
    edges = {name: {target for target, _ in targets} for name, targets in everything().items()}
    assert circle(edges) == []


def test_no_underscored_name_is_taken_from_another_package() -> None:
    taken = [
        f"{module} takes {name} of {target}"
        for module, targets in everything().items()
        for target, name in targets
        if package_of(module) != package_of(target) and any(part.startswith("_") for part in (*target.split("."), name))
    ]
    assert taken == []


def test_modules_are_imported_by_name_in_few_places() -> None:
    found = {
        name
        for name, path in sources().items()
        if re.search(r"import_module\(|^def __getattr__\(", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    }
    assert found == BY_NAME


@pytest.mark.parametrize(
    ("module", "source", "wrong"),
    [
        ("rankbench.data.simulators.x", "from rankbench.losses import positions", True),
        ("rankbench.data.simulators.x", "def f():\n    import rankbench.runner.plan", True),
        ("rankbench.data.simulators.x", "if TYPE_CHECKING:\n    from rankbench.api import run", True),
        ("rankbench.losses.x", "from rankbench.aggregators.sequential import Elo", True),
        ("rankbench.data.simulators.x", "from rankbench.logs.count_log import count_frame", True),
        ("rankbench.api", "from rankbench.certificates.certify import certify", True),
        ("rankbench.cli.x", "from rankbench.tracking.history import read_history", True),
        ("rankbench.reports.x", "from rankbench.audits.audit import audit", True),
        ("rankbench.testing.x", "def f():\n    from rankbench.certificates.conditions import failing", True),
        ("rankbench.certificates.x", "from rankbench.testing.check import conformance_check", True),
        ("rankbench.audits.x", "from rankbench.cli.shown import Answer", False),
        ("rankbench.data.simulators.x", "import rankbench", True),
        ("rankbench.logs.count_log.x", "from rankbench.data.readers.parquet import shard_of", False),
        ("rankbench.losses.x", "from rankbench.interfaces.surrogate import Loss", False),
    ],
)
def test_the_walk_sees_what_it_looks_for(module: str, source: str, wrong: bool) -> None:
    modules = {*sources(), "rankbench.runner.plan"}
    assert bool(risen({module: frozenset(imported(source, modules))})) is wrong


def test_the_layout_that_is_told_is_the_one_there_is() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Layout")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d+) \| (.*?) \|", text, flags=re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, len(LAYERS) + 1))
    assert [tuple(re.findall(r"`([\w]+)[/`]", packages)) for _, packages in rows] == list(LAYERS)


def types_of(source: str) -> set[str]:
    """Return the public classes of a module, and what else stands for a type by its name: aliases, type variables."""
    found = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in found if re.fullmatch(r"[A-Z]\w*[a-z]\w*", name)}


def test_a_public_type_name_has_one_meaning() -> None:
    homes: dict[str, set[str]] = {}
    for name, path in sources().items():
        if not name.startswith(CHECKER):
            for found in types_of(path.read_text(encoding="utf-8")) - ARRAYS:
                homes.setdefault(found, set()).add(name)
    assert {name: sorted(found) for name, found in homes.items() if len(found) > 1} == {}


MOST_PARAMETERS = 8


def test_what_only_rankbench_calls_has_few_parameters() -> None:
    """The public face is called with keywords, and commands by click; kernels are compiled."""
    public = {name for line in (PACKAGE / "__init__.pyi").read_text().splitlines() for name in line.split()[-1:]}
    public.add("rank_scores")  # which is `rankbench.rank`
    found = []
    for module, path in sources().items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        owners = {id(one): node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for one in node.body}
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef) or {node.name, owners.get(id(node))} & public:
                continue
            said = " ".join(map(ast.unparse, node.decorator_list))
            given = [*node.args.args, *node.args.kwonlyargs][id(node) in owners :]
            if len(given) > MOST_PARAMETERS and not re.search("click|declared|njit|overload", said):
                found.append(f"{module}.{node.name}: {len(given)} parameters")
    assert not found, "\n".join(found)
