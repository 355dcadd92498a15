"""``rankbench list``: which components and suites there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from rankbench.cli.completion import complete_kinds
from rankbench.cli.output import echo, json_option, print_json, print_table, unmarked

__all__ = ["list_components"]

_COMPILED = {True: "compiled", False: "interpreted", None: ""}


@click.command("list")
@click.argument("kind", required=False, shell_complete=complete_kinds)
@json_option
def list_components(kind: str | None, as_json: bool) -> None:
    """List components and suites.

    KIND is one of aggregator, surrogate, loss, optimizer, model, method, protocol, reader,
    dataset, table, claim, figure and suite, in the singular or the plural; all of them if it is left out.
    """
    from rankbench.plugin.component_description import describe_component
    from rankbench.plugin.kinds import KINDS, SUITE, kind_of
    from rankbench.plugin.manager import names

    chosen = [*KINDS, SUITE] if kind is None else [kind_of(kind)]
    descriptions = {k: [describe_component(k, name) for name in names(k)] for k in chosen if k != SUITE}
    suites = _suites() if SUITE in chosen else []
    if as_json:
        listed: dict[str, object] = {k: [asdict(d) for d in found] for k, found in descriptions.items()}
        print_json(listed | ({SUITE: suites} if SUITE in chosen else {}))
        return
    for k, found in descriptions.items():
        rows = [
            (
                d.name,
                unmarked(d.summary),
                unmarked(d.source),
                ", ".join(d.properties),
                ", ".join(map(str, d.parameters)),
                _COMPILED[d.compiled],
            )
            for d in found
        ]
        _section(KINDS[k].plural, ("name", "summary", "source", "properties", "parameters", "form"), rows)
    if SUITE in chosen:
        rows_of_suites = [(s["name"], s["title"], s["experiments"], s["distribution"]) for s in suites]
        _section("suites", ("name", "title", "experiments", "from"), rows_of_suites)


def _section(title: str, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    shown = [index for index in range(len(columns)) if index == 0 or any(row[index] for row in rows)]
    if rows:
        print_table([columns[i] for i in shown], [[row[i] for i in shown] for row in rows], title=title)
    else:
        echo(f"{title}\nnone")
    echo()


def _suites() -> list[dict[str, str]]:
    from rankbench.errors import RankbenchError
    from rankbench.plugin.kinds import SUITE
    from rankbench.plugin.manager import names
    from rankbench.suites.suite_description import describe_suite

    listed = []
    for name in names(SUITE):
        try:
            suite = describe_suite(name)
        except RankbenchError as error:  # one bad file must not hide the others
            listed.append({"name": name, "title": f"broken: {error}", "experiments": "", "distribution": ""})
            continue
        experiments = [*(f"[{included}]" for included in suite.includes), *(e.name for e in suite.experiments)]
        listed.append(
            {
                "name": name,
                "title": suite.title,
                "experiments": ", ".join(experiments),
                "distribution": f"{suite.distribution} {suite.version}",
            }
        )
    return listed
