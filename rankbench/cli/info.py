"""``rankbench info``: all that is known about one component or suite."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from rankbench.cli.completion import complete_any, complete_kinds
from rankbench.cli.output import echo, json_option, print_json, print_table, say, unmarked

if TYPE_CHECKING:
    from rankbench.plugin.component_description import Description
    from rankbench.suites.suite_description import SuiteDescription

__all__ = ["info"]


@click.command("info")
@click.argument("name", shell_complete=complete_any)
@click.option(
    "--kind",
    shell_complete=complete_kinds,
    help="aggregator, surrogate, ..., suite; needed where two kinds share the name.",
)
@json_option
def info(name: str, kind: str | None, as_json: bool) -> None:
    """Describe a component or a suite."""
    from rankbench.plugin.component_description import describe_component
    from rankbench.plugin.kinds import SUITE
    from rankbench.suites.suite_description import describe_suite

    chosen = _kind(name, kind)
    if chosen == SUITE:
        suite = describe_suite(name)
        if as_json:
            print_json({"kind": SUITE} | asdict(suite) | {"path": str(suite.path)})
        else:
            _show_suite(suite)
        return
    description = describe_component(chosen, name)
    if as_json:
        print_json(asdict(description))
    else:
        _show(description)


def _kind(name: str, kind: str | None) -> str:
    """Return the kind that was given, or the only one that has the name."""
    from rankbench.errors import SpecError, nearest
    from rankbench.plugin.kinds import KINDS, SUITE, kind_of
    from rankbench.plugin.manager import maybe_theirs, names

    if kind is not None:
        return kind_of(kind)
    every = {k: names(k) for k in (*KINDS, SUITE)}
    found = [k for k, known in every.items() if name in known]
    if not found:
        everything = {n for known in every.values() for n in known}
        raise SpecError(f"there is no component or suite {name!r}{nearest(name, everything)}{maybe_theirs(name)}")
    if len(found) > 1:
        raise SpecError(f"{name!r} names several things ({', '.join(found)}); say which with --kind")
    return found[0]


def _show(description: Description) -> None:
    form = {True: "compiled", False: "interpreted", None: ""}[description.compiled]
    facts = [
        ("source", unmarked(description.source)),
        ("properties", ", ".join(description.properties)),
        *((fact.replace("_", " "), _plainly(value)) for fact, value in description.declarations.items()),
        ("form", form),
        ("from", f"{description.distribution} {description.version}"),
    ]
    _head(description.kind, description.name, description.documentation, facts)
    if description.parameters:
        rows = [
            (p.name, p.type, "required" if p.required else _plainly(p.default), p.bounds, p.description)
            for p in description.parameters
        ]
        echo()
        print_table(("parameter", "type", "default", "bounds", "meaning"), rows)


def _show_suite(suite: SuiteDescription) -> None:
    facts = [
        ("data set", suite.dataset),
        ("protocol", suite.protocol if suite.experiments else ""),
        ("seed", str(suite.seed)),
        ("includes", ", ".join(suite.includes)),
        ("file", str(suite.path)),
        ("from", f"{suite.distribution} {suite.version}"),
    ]
    _head("suite", suite.name, suite.title, facts)
    if suite.experiments:
        rows = [
            (
                e.name,
                e.title,
                ", ".join(map(str, e.n)),
                str(e.repetitions),
                str(e.contenders),
                ", ".join(e.losses),
                str(e.claims),
            )
            for e in suite.experiments
        ]
        echo()
        print_table(("experiment", "title", "n", "repetitions", "contenders", "losses", "claims"), rows)


def _head(kind: str, name: str, text: str, facts: list[tuple[str, str]]) -> None:
    say(f"{kind} {name}\n\n{text.strip()}\n")
    print_table(("", ""), [(fact, value) for fact, value in facts if value])


def _plainly(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
