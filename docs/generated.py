"""Pages that follow from the code: components, keys of suites and JSON, the Python API, checks, statements of papers.

They are written into `docs/reference/generated` before a site is built.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from component_examples import begin, example, table
from json_schemas import EXAMPLES, WRITTEN, file_of, rows_of

import rankbench
from rankbench.cli import main, subcommands
from rankbench.data.readings.formats import describe_format
from rankbench.interfaces import suite
from rankbench.interfaces.protocol import Protocol
from rankbench.plugin import manager
from rankbench.plugin.component_description import Description, describe_component
from rankbench.plugin.registry import FORMAT, KINDS, base_of, plural_of
from rankbench.reports.references import is_own, references
from rankbench.suites import suite_files
from rankbench.suites.suite_files import read_suite
from rankbench.testing.check import all_checks

if TYPE_CHECKING:
    from pydantic import BaseModel
    from sphinx.application import Sphinx  # type: ignore[import-not-found]

FOLDER = Path(__file__).parent / "reference" / "generated"
COVERAGE = Path(__file__).parent / "reference" / "coverage.toml"


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages when Sphinx begins."""
    # Before autosummary, which numpydoc brings, reads the pages.
    app.connect("builder-inited", lambda _: write_pages(), priority=100)
    return {"parallel_read_safe": True}


def write_pages() -> None:
    """Write every page; one that has not changed stays as it is, so that Sphinx does not read it again."""
    pages = {name: text for kind in KINDS for name, text in component_pages(kind).items()}
    pages |= command_pages()
    pages |= {"suite": suite_page(), "json": json_page(), "api": api_page(), "checks": checks_page()}
    pages |= {"format": format_page(), "coverage": coverage_page()}
    pages["bibliography"] = bibliography_page()
    for name, text in pages.items():
        path = FOLDER / f"{name}.rst"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def component_pages(kind: str) -> dict[str, str]:
    """Return a page of each built-in component of a kind, and one with a table of them.

    The table alone leads to these pages: a sidebar with all of them would take half of the time of a build.
    """
    names = [name for name in manager.names(kind) if is_own(kind, name)]
    found = {name: describe_component(kind, name) for name in names}
    rows = [("name", "what it is")]
    rows += [(f":doc:`{name} <{kind}/{name}>`", _first_line(one.documentation)) for name, one in found.items()]
    parts = [_headed(plural_of(kind).capitalize(), "="), f".. currentmodule:: {base_of(kind).__module__}\n"]
    parts += table(rows)
    parts += _families([manager.component_class(base_of(kind), name) for name in names])
    return {kind: "\n".join(parts)} | {f"{kind}/{name}": _component(one) for name, one in found.items()}


def command_pages() -> dict[str, str]:
    """Return a page of each of rankbench's commands, and one with a table of them in the order of use."""
    own = {name: one for name, one in subcommands().items() if one.built_in}
    rows, pages = [("command", "what it does")], dict[str, str]()
    for name, one in own.items():
        command = main.get_command(click.Context(main), name)
        rows.append((f":doc:`{name} <command/{name}>`", _word(command.get_short_help_str(200)) if command else ""))
        shown = f".. click:: {one.target}\n   :prog: rankbench {name}\n   :nested: full"
        pages[f"command/{name}"] = f"{_headed(name, '=')}\n{shown}"
    return pages | {"command": "\n".join([_headed("Commands", "="), *table(rows), *_hidden(pages)])}


def _hidden(pages: Iterable[str]) -> list[str]:
    """Return a table of contents that is not shown, so that every page has its place in the sidebar."""
    return [".. toctree::", "   :hidden:", "", *(f"   {page}" for page in pages), ""]


def _first_line(documentation: str) -> str:
    """Return the first sentence of a docstring."""
    return " ".join(documentation.partition("\n\n")[0].split())


def _component(found: Description) -> str:
    cls = manager.component_class(base_of(found.kind), found.name)
    facts = {"source": found.source, "properties": ", ".join(found.properties)}
    facts |= {name.replace("_", " "): _word(value) for name, value in found.declarations.items()}
    if issubclass(cls, Protocol):
        facts |= {"competing": plural_of(cls.contender), "data": cls.table or "none, or populations of its own"}
    lines = [
        ":orphan:",
        "",
        _headed(found.name, "="),
        f".. currentmodule:: {base_of(found.kind).__module__}\n",
        *begin(found.kind),
    ]
    # Classes of data sets are made of their cards: no module has them.
    named = hasattr(sys.modules[cls.__module__], cls.__qualname__)
    lines += [f".. autoclass:: {cls.__module__}.{cls.__qualname__}\n" if named else found.documentation, ""]
    lines += [f":{name}: {value}" for name, value in facts.items() if value]
    lines.append("")
    if found.parameters:
        rows = [("parameter", "type", "default", "bounds", "meaning")]
        for p in found.parameters:
            meaning = p.description.replace("|", r"\|")
            rows.append((f"``{p.name}``", p.type, _word(p.default), _word(p.bounds), meaning))
        lines += table(rows)
    if issubclass(cls, Protocol) and cls.metrics:
        metrics = [("metric", "better", "chance level", "meaning")]
        metrics += [(f"``{m.name}``", m.better, _word(m.chance), _word(m.sentence)) for m in cls.metrics]
        lines += table(metrics)
    lines += example(cls)
    return "\n".join(lines)


def _families(classes: list[type]) -> list[str]:
    """Return a section of the classes that several components derive from, and whose docstrings theirs name."""
    public = {getattr(rankbench, name) for name in rankbench.__all__}
    above = {base: None for cls in classes for base in cls.__mro__[1:]}
    named = [
        base
        for base in above
        if base not in public and any(f"`{base.__name__}`" in (inspect.getdoc(cls) or "") for cls in classes)
    ]
    if not named:
        return []
    lines = [_headed("Families", "-")]
    for base in named:
        lines += [f".. autoclass:: {base.__module__}.{base.__qualname__}", "   :noindex:", ""]
    return lines


def suite_page() -> str:
    """Return the page of the keys of a suite's file: a table for each kind of table that the file may hold."""
    tables: dict[str, tuple[str, type[BaseModel]]] = {
        "Suite": ("the file itself", suite.Suite),
        "Experiments": ("``[[experiments]]``", suite.Experiment),
        "Contenders": ("``[[experiments.contenders]]``", suite.ContenderEntry),
        "Claims": ("``[[experiments.claims]]``, with the keys of its :doc:`kind <claim>`", suite.Claim),
        "Contrasts": ("``contrasts`` of a claim", suite.Contrast),
        "Figures": ("``[[experiments.figures]]``, with the keys of its :doc:`kind <figure>`", suite.Figure),
        "Panels": ("``panels`` of a figure of curves", suite.Panel),
    }
    lines = [_headed("Suites", "=")]
    for title, (where, model) in tables.items():
        meanings = _attributes(model)
        lines += [_headed(title, "-"), f"Written as {where}.\n"]
        rows = [("key", "type", "default", "meaning")]
        for name, field in model.model_fields.items():
            kind, meaning = meanings[name]
            default = "required" if field.is_required() else _word(_plain(field.get_default(call_default_factory=True)))
            meaning = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", meaning)
            rows.append((f"``{field.alias or name}``", _word(kind), default, meaning))
        lines += table(rows)
    lines.append(_headed("Built-in suites", "-"))
    own = Path(suite_files.__file__).parent
    read = [read_suite(path) for _, path in sorted(manager.suites().items()) if own in path.parents]
    lines += table([("suite", "question"), *((f"``{one.name}``", one.asks) for one in read)])
    return "\n".join(lines)


def format_page() -> str:
    """Return the page of known formats: a table of them all."""
    lines = [_headed("Known formats", "=")]
    lines.append(
        "Verified by *read*: real files were read; *code*: the code that writes them was read; *header*: their header "
        "was seen in public code; *none*: nothing. ``rankbench info NAME`` shows an entry, and a plugin adds one by a "
        "path ``NAME.format.toml`` in its list.\n"
    )
    rows = [("format", "kind", "what it reads", "source", "verified")]
    for one in (describe_format(name) for name in manager.names(FORMAT) if is_own(FORMAT, name)):
        rows.append((f"``{one['name']}``", *(_word(one[key]) for key in ("table", "reads", "source", "verified"))))
    return "\n".join([*lines, *table(rows)])


def json_page() -> str:
    """Return the page of the keys that ``--json`` prints: a table for each answer, made from its schema."""
    lines = [
        _headed("Keys of JSON", "="),
        "``[]`` stands for the elements of a list, ``*`` for names that the data give.\n",
    ]
    for answer in (*EXAMPLES, *WRITTEN):
        path = file_of(answer)
        rows = [("key", "type", "meaning")]
        for key, kind, meaning in rows_of(json.loads(path.read_text(encoding="utf-8"))):
            rows.append((f"``{key}``", kind, re.sub(r"`([^`]+)`", r"``\1``", meaning)))
        lines += [_headed(answer, "-"), f"`{path.name} <../../_static/schemas/{path.name}>`__\n", *table(rows)]
    return "\n".join(lines)


def _attributes(model: type[BaseModel]) -> dict[str, tuple[str, str]]:
    """Return type and meaning of each attribute that a docstring describes."""
    section = (inspect.getdoc(model) or "").partition("Attributes\n----------\n")[2]
    found = {}
    for names, kind, text in re.findall(r"^(\w[\w, ]*) : (.*)((?:\n {4}.*)*)", section, re.M):
        for name in names.split(", "):
            found[name] = kind, " ".join(text.split())
    return found


def _plain(value: object) -> object:
    return "" if value in ((), {}) else value


def api_page() -> str:
    """Return the page of the names that ``import rankbench`` offers: functions first, then classes."""
    lines = [_headed("Python", "=")]
    found = [(name, getattr(rankbench, name)) for name in rankbench.__all__ if name != "__version__"]
    for name, value in sorted(found, key=lambda pair: (inspect.isclass(pair[1]), pair[0].lower())):
        lines += [_headed(name, "-"), *_documented(name, value), ""]
    return "\n".join(lines)


def _documented(name: str, value: object) -> list[str]:
    where = f"rankbench.{name}"
    if inspect.isclass(value):
        return [
            f".. autoclass:: {where}",
            "   :members:",
            "   :exclude-members: model_config, set_fit_request, set_score_request",
        ]
    return [f".. autofunction:: {where}" if inspect.isroutine(value) else f".. autodata:: {where}"]


def checks_page() -> str:
    """Return the page of the conformance checks, by the kinds that they are of."""
    lines = [_headed("Conformance checks", "=")]
    for check in all_checks():
        of = ", ".join(check.kinds) or "all kinds"
        lines += [f"``{check.name}`` : {of}", f"    {(inspect.getdoc(check.function) or '').splitlines()[0]}", ""]
    return "\n".join(lines)


def coverage_page() -> str:
    """Return the page of the papers' statements, with their implementations and tests: a table a document."""
    rows = tomllib.loads(COVERAGE.read_text(encoding="utf-8"))["statement"]
    parts: dict[str, list[tuple[str, ...]]] = {}
    for row in rows:
        named = [", ".join(f"``{name}``" for name in row[key]) for key in ("implemented", "verified")]
        status = ": ".join(filter(None, (row["status"], _word(row.get("how")))))
        part = parts.setdefault(row["source"], [("place", "statement", "implemented", "verified", "status")])
        part.append((row["number"], _word(row["statement"]), *named, status))
    lines = [_headed("Statements of the papers", "=")]
    lines.append("DMJ10 and DMJ13 are Duchi, Mackey and Jordan, 2010 and 2013 (:doc:`bibliography`).")
    lines.append("rank-AD is the appendix of the paper that the plugin rankbench-rankad implements.\n")
    counts = Counter(row["status"] for row in rows)
    lines.append(f"{', '.join(f'{status} {counts[status]}' for status in sorted(counts))}.\n")
    lines.append(
        "*verified*: tests compare the implementation with formulas or other code. A suite's claim puts an empirical "
        "statement to the test, and its row says how that ended. *differently*: the row says what differs. *proof "
        "device*: there is nothing to compute.\n"
    )
    for source, part in parts.items():
        lines += [_headed(source, "-"), *table(part)]
    return "\n".join(lines)


def bibliography_page() -> str:
    """Return the page of all works that docstrings cite."""
    cited = references()
    return "\n\n".join([_headed("Bibliography", "="), *(f".. [{key}] {cited[key]}" for key in sorted(cited)), ""])


def _headed(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}\n"


def _word(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value))
    text = str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)
    return re.sub(r"([|*`_\\])", r"\\\1", text)
