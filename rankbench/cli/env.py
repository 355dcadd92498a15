"""``rankbench env``: what to put into a bug report."""

from __future__ import annotations

from dataclasses import asdict

import click

from rankbench.cli.output import echo, json_option, print_json, print_table

__all__ = ["env"]


@click.command("env")
@json_option
def env(as_json: bool) -> None:
    """Show versions, CPU class and folders."""
    from rankbench.runner.environment import environment

    found = environment()
    if as_json:
        print_json(asdict(found))
        return
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
    print_table(("", ""), rows)
    echo()
    print_table(("library", "version"), list(found.libraries.items()))
    if found.plugins:
        echo()
        print_table(("plugin", "version"), list(found.plugins.items()))
