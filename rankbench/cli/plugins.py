"""`rankbench plugins` tells what was loaded, and what is wrong with a plugin that was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict

import click

from rankbench.cli import offered, verbs
from rankbench.cli.shown import Answer, Table, answering


@click.command("plugins")
@answering
def plugins() -> Answer:
    """List the plugins and what became of each.

    A broken plugin is listed with its cause; whatever else it brought works. Set
    RANKBENCH_STRICT_PLUGINS=1 to make a broken plugin an error, and
    RANKBENCH_BLOCK_PLUGINS=name,... to leave distributions out altogether.
    """
    from rankbench.plugin.manager import statuses

    loaded = statuses()
    commands = [
        {
            "name": verb.name,
            "distribution": verb.distribution,
            "target": verb.target,
            "status": "ok" if verbs()[verb.name] == verb else f"refused: {verbs()[verb.name].distribution} has it",
        }
        for verb in offered()
        if not verb.built_in
    ]
    rows = [
        (s.entry_point, s.distribution, s.version, _counted(s.components), f"{1000 * s.seconds:.0f} ms", s.status)
        for s in loaded
    ]
    columns = ("plugin", "distribution", "version", "registered", "load time", "status")
    parts: list[Table | str] = [Table(columns, rows)]
    causes = [(s.entry_point, s.distribution, s.version, cause) for s in loaded for cause in s.causes]
    if causes:
        parts += ["", Table(("broken plugin", "distribution", "version", "cause"), causes)]
    if commands:
        own = [(c["name"], c["distribution"], c["status"]) for c in commands]
        parts += ["", Table(("command", "distribution", "status"), own)]
    return Answer({"plugins": [asdict(status) for status in loaded], "commands": commands}, parts)


def _counted(components: Iterable[str]) -> str:
    """Return how many of each kind, as in ``2 aggregators, 1 suite``."""
    from rankbench.plugin.registry import plural_of

    counts = Counter(component.partition("/")[0] for component in components)
    return ", ".join(f"{n} {kind if n == 1 else plural_of(kind)}" for kind, n in counts.items())


@click.command("env")
@answering
def env() -> Answer:
    """Show versions, CPU class and folders."""
    from rankbench.runner.machine import environment

    found = environment()
    rows = [
        ("rankbench", found.rankbench),
        ("Python", found.python),
        ("platform", found.platform),
        ("CPU class", found.cpu_class),
        ("CPUs", str(found.cpus)),
        *(("BLAS", library) for library in found.blas),
        ("code digest", found.code_digest),
        ("cache", found.cache),
        ("RANKBENCH_DATA", found.data or "not set"),
    ]
    parts: list[Table | str] = [Table(("", ""), rows), "", Table(("library", "version"), list(found.libraries.items()))]
    if found.plugins:
        parts += ["", Table(("plugin", "version"), list(found.plugins.items()))]
    return Answer(asdict(found), parts)
