"""`rankbench list` and `info` describe components, plugins and the environment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import click

from rankbench.cli import offered, subcommands
from rankbench.cli.output import complete_any, complete_kinds, kind_option, unmarked
from rankbench.cli.shown import Answer, Table, answering
from rankbench.data.readings.formats import describe_format, named_format
from rankbench.errors import RankbenchError, SpecError, closest
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin.component_description import Description, describe_component
from rankbench.plugin.manager import broken_plugins, get, names, statuses
from rankbench.plugin.registry import FILES, FORMAT, KINDS, SUITE, kind_of, plural_of
from rankbench.suites.suite_files import describe_suite

_FORMS = {True: "compiled", False: "interpreted", None: ""}


@click.command("info")
@click.argument("name", required=False, shell_complete=complete_any)
@kind_option
@answering
def info(name: str | None, kind: str | None) -> Answer:
    """Describe a component, a suite or a known format; without NAME, versions, CPU class, folders and plugins.

    The list of plugins has the cause of a broken one; its other components work. Set
    RANKBENCH_STRICT_PLUGINS=1 to make a broken plugin an error, and
    RANKBENCH_BLOCK_PLUGINS=name,... to leave distributions out.
    """
    if name is None:
        return _installed()
    if "@" in name and (kind is None or kind_of(kind) == Loss.kind):
        name, kind = get(Loss, name).name, Loss.kind
    chosen = _kind(name, kind)
    if chosen == SUITE:
        suite = describe_suite(name)
        return Answer({"kind": SUITE} | suite, tables=_suite_parts(suite))
    if chosen == FORMAT:
        entry = describe_format(name)
        return Answer({"kind": FORMAT} | entry, tables=_format_parts(entry))
    description = describe_component(chosen, name)
    return Answer(asdict(description), tables=_component_parts(description))


def _kind(name: str, kind: str | None) -> str:
    """Return the kind that was given, or the only one that has the name."""
    if kind is not None:
        return kind_of(kind)
    every = {k: names(k) for k in (*KINDS, *FILES)}
    if not (found := [k for k, known in every.items() if name in known]):
        near = closest(name, {n for known in every.values() for n in known}) or ";"
        said = f"there is no component, suite or format {name!r}{near} `rankbench list` lists all"
        raise SpecError(f"{said}{broken_plugins(name)}")
    if len(found) > 1:
        raise SpecError(f"{name!r} names several things ({', '.join(found)}); say which with --kind")
    return found[0]


def _component_parts(description: Description) -> Iterator[Table | str]:
    facts = [
        ("source", unmarked(description.source)),
        ("properties", ", ".join(description.properties)),
        *((fact.replace("_", " "), _plainly(value)) for fact, value in description.declarations.items()),
        ("form", _FORMS[description.compiled]),
        ("from", f"{description.distribution} {description.version}"),
    ]
    yield from _head(description.kind, description.name, description.documentation, facts)
    if description.parameters:
        rows = [
            (p.name, p.type, "required" if p.required else _plainly(p.default), p.bounds, p.description)
            for p in description.parameters
        ]
        yield ""
        yield Table(("parameter", "type", "default", "bounds", "meaning"), rows)


def _suite_parts(suite: dict[str, Any]) -> Iterator[Table | str]:
    facts = [
        ("data set", suite["dataset"]),
        ("protocol", suite["protocol"] if suite["experiments"] else ""),
        ("seed", str(suite["seed"])),
        ("includes", ", ".join(suite["includes"])),
        ("file", suite["path"]),
        ("from", f"{suite['distribution']} {suite['version']}"),
    ]
    yield from _head("suite", suite["name"], suite["title"], facts)
    if suite["experiments"]:
        rows = [[_plainly(cell) for cell in experiment.values()] for experiment in suite["experiments"]]
        yield ""
        yield Table(("experiment", *list(suite["experiments"][0])[1:]), rows)


def _format_parts(entry: dict[str, Any]) -> Iterator[Table | str]:
    facts = [
        ("reads", entry["reads"]),
        ("source", entry["source"]),
        ("verified", entry["verified"]),
        ("needs", ", ".join(entry["needs"])),
        ("also knows", ", ".join(filter(None, entry["also"]))),
        ("file", entry["path"]),
        ("from", f"{entry['distribution']} {entry['version']}"),
    ]
    yield from _head(FORMAT, entry["name"], f"Files of {entry['table']}.", facts)
    if not entry["refused"]:
        yield from ("", "As a reading file:", "", *named_format(entry["name"]).reading.to_toml().strip().split("\n"))


def _head(kind: str, name: str, text: str, facts: list[tuple[str, str]]) -> Iterator[Table | str]:
    yield from (f"{kind} {name}", "", *text.strip().split("\n"), "")
    yield Table(("", ""), [(fact, value) for fact, value in facts if value])


def _plainly(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


@click.command("list")
@click.argument("kind", required=False, shell_complete=complete_kinds)
@answering
def list_components(kind: str | None) -> Answer:
    """List components, suites and known formats.

    KIND is one of aggregator, surrogate, loss, optimizer, model, method, protocol, reader, dataset,
    table, claim, figure, suite and format, in the singular or the plural. Without KIND all are listed.
    """
    chosen = [*KINDS, *FILES] if kind is None else [kind_of(kind)]
    descriptions = {k: [describe_component(k, name) for name in names(k)] for k in chosen if k in KINDS}
    suites = _suites() if SUITE in chosen else []
    record: dict[str, object] = {k: [asdict(d) for d in found] for k, found in descriptions.items()}
    parts = list[Table | str]()
    for k, found in descriptions.items():
        rows = [
            (
                *(d.name, unmarked(d.summary), unmarked(d.source)),
                *(", ".join(d.properties), ", ".join(map(str, d.parameters)), _FORMS[d.compiled]),
            )
            for d in found
        ]
        parts += _section(plural_of(k), ("name", "summary", "source", "properties", "parameters", "form"), rows)
    if SUITE in chosen:
        record[SUITE] = suites
        rows_of_suites = [(s["name"], s["title"], s["experiments"], s["distribution"]) for s in suites]
        parts += _section("suites", ("name", "title", "experiments", "from"), rows_of_suites)
    if FORMAT in chosen:
        formats = _formats()
        record[FORMAT] = formats
        columns = ("name", "table", "reads", "verified", "source")
        parts += _section("formats", columns, [tuple(one[column] for column in columns) for one in formats])
    return Answer(record, tables=parts)


def _section(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[Table | str]:
    """Return a titled table without its empty columns, and a blank line."""
    shown = [index for index in range(len(columns)) if index == 0 or any(row[index] for row in rows)]
    if not rows:
        return [title, "none", ""]
    return [Table([columns[i] for i in shown], [[row[i] for i in shown] for row in rows], title=title), ""]


def _formats() -> list[dict[str, Any]]:
    listed = []
    for name in names(FORMAT):
        try:
            listed.append(describe_format(name))
        except SpecError as error:
            nothing = dict.fromkeys(("verified", "source", "path", "distribution", "version"), "")
            none = {"refused": True, "needs": (), "also": ()}
            listed.append({"name": name, "table": "", "reads": f"broken: {error}", **none, **nothing})
    return listed


def _suites() -> list[dict[str, str]]:
    listed = []
    for name in names(SUITE):
        try:
            suite = describe_suite(name)
        except RankbenchError as error:  # one bad file must not hide the others
            listed.append({"name": name, "title": f"broken: {error}", "experiments": "", "distribution": ""})
            continue
        experiments = [f"[{included}]" for included in suite["includes"]] + [e["name"] for e in suite["experiments"]]
        facts = {"title": suite["title"], "experiments": ", ".join(experiments)}
        listed.append({"name": name, **facts, "distribution": f"{suite['distribution']} {suite['version']}"})
    return listed


def _installed() -> Answer:
    """Return versions, CPU class, folders and the status of plugins."""
    from rankbench.runner.run_record import environment

    found = environment()
    titles = {"python": "Python", "cpu_class": "CPU class", "cpus": "CPUs", "blas": "BLAS", "data": "RANKBENCH_DATA"}
    rows = [
        (titles.get(fact, fact.replace("_", " ")), str(line) or "not set")
        for fact, value in found.items()
        if not isinstance(value, dict)
        for line in (value if isinstance(value, list) else [value])
    ]
    libraries = Table(("library", "version"), [*found["libraries"].items()])
    record, parts = _plugins()
    return Answer(found | record, tables=[Table(("", ""), rows), "", libraries, "", *parts])


def _plugins() -> tuple[dict[str, object], list[Table | str]]:
    """Return plugins and their commands for JSON and for people."""
    loaded = statuses()
    commands = [
        {
            "name": each.name,
            "distribution": each.distribution,
            "target": each.target,
            "status": "ok" if (first := subcommands()[each.name]) == each else f"rejected: {first.distribution} has it",
        }
        for each in offered()
        if not each.built_in
    ]
    rows = [
        (s.entry_point, s.distribution, s.version, _counted(s.components), f"{1000 * s.seconds:.0f} ms", s.status)
        for s in loaded
    ]
    columns = ("plugin", "distribution", "version", "registered", "load time", "status")
    parts: list[Table | str] = [Table(columns, rows)]
    if causes := [(s.entry_point, s.distribution, s.version, cause) for s in loaded for cause in s.causes]:
        parts += ["", Table(("broken plugin", "distribution", "version", "cause"), causes)]
    if commands:
        own = [(c["name"], c["distribution"], c["status"]) for c in commands]
        parts += ["", Table(("command", "distribution", "status"), own)]
    return {"plugins": [asdict(status) for status in loaded], "commands": commands}, parts


def _counted(components: Iterable[str]) -> str:
    """Return the number of components of each kind, as in ``2 aggregators, 1 suite``."""
    counts = Counter(component.partition("/")[0] for component in components)
    return ", ".join(f"{n} {kind if n == 1 else plural_of(kind)}" for kind, n in counts.items())
