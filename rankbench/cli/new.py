"""`rankbench new` writes a plugin or a suite to start from."""

from __future__ import annotations

from pathlib import Path

import click

from rankbench.cli.shown import Answer, answering

KINDS = (
    *("aggregator", "surrogate", "loss", "optimizer", "model", "method", "protocol", "reader", "dataset"),
    *("table", "claim", "figure", "suite"),
)


@click.group("new")
def new() -> None:
    """Write a plugin or a suite to start from."""


@new.command("plugin")
@click.argument("name")
@click.option("--kind", required=True, type=click.Choice(KINDS), help="What the plugin brings.")
@click.option("--compiled", is_flag=True, help="With kernels for numba; of a surrogate, aggregator, loss or optimizer.")
@answering
def plugin(name: str, kind: str, compiled: bool) -> Answer:
    """Write an installable plugin with one component into the new folder NAME.

    It passes its own checks as it is; replace the formulas by yours.
    """
    from rankbench.testing.scaffold import of_this_python, write_plugin

    write_plugin(name, kind, Path(), compiled=compiled)
    install, test = of_this_python("pip", "install", "-e", name), of_this_python("pytest", name)
    said = (
        f"{name}/ is written. Next:\n\n  {install}\n  rankbench check {name}\n  {test}\n"
        f"\n{name}/README.md says how to check its wheel before others install it."
    )
    return Answer({"path": name, "kind": kind}, [said])


@new.command("suite")
@click.argument("name")
@answering
def suite(name: str) -> Answer:
    """Write a commented suite into the new file NAME.toml."""
    from rankbench.testing.scaffold import write_suite

    path = write_suite(name, Path())
    said = f"{path} is written. Next:\n\n  rankbench plan --suite {path}\n  rankbench run --suite {path}"
    return Answer({"path": str(path), "kind": "suite"}, [said])
