"""`rankbench new` writes a plugin or a suite to start from."""

from __future__ import annotations

from pathlib import Path

import click

from rankbench.cli.output import echo, json_option
from rankbench.cli.shown import Answer, show

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
@json_option
def plugin(name: str, kind: str, compiled: bool, as_json: bool) -> None:
    """Write an installable plugin with one component into the new folder NAME.

    It passes its own checks as it is; replace the formulas by yours.
    """
    from rankbench.testing.scaffold import of_this_python, write_plugin

    write_plugin(name, kind, Path(), compiled=compiled)
    if as_json:
        return show(Answer({"path": name, "kind": kind}), "json")
    install, test = of_this_python("pip", "install", "-e", name), of_this_python("pytest", name)
    echo(
        f"{name}/ is written. Next:\n\n  {install}\n  rankbench check {name}\n  {test}\n"
        f"\n{name}/README.md says how to check its wheel before others install it."
    )


@new.command("suite")
@click.argument("name")
@json_option
def suite(name: str, as_json: bool) -> None:
    """Write a commented suite into the new file NAME.toml."""
    from rankbench.testing.scaffold import write_suite

    path = write_suite(name, Path())
    if as_json:
        return show(Answer({"path": str(path), "kind": "suite"}), "json")
    echo(f"{path} is written. Next:\n\n  rankbench plan --suite {path}\n  rankbench run --suite {path}")
