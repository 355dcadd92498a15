"""`rankbench check` tests components against their declarations; `new` writes a new one's files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from rankbench.cli.output import complete_any, kind_option
from rankbench.cli.shown import Answer, Table, answering
from rankbench.core.text import count_text
from rankbench.testing.check import CheckResult, summary
from rankbench.testing.component_added import add_component
from rankbench.testing.isolated import check_named
from rankbench.testing.scaffold import PLUGIN_KINDS, of_this_python, write_plugin, write_suite


@click.command("check")
@click.argument("name", shell_complete=complete_any)
@kind_option
@click.option("--timeout", default=120.0, show_default=True, type=click.FloatRange(min=1), help="Seconds a check.")
@click.option("--verbose", "-v", is_flag=True, help="Show every check, also those that passed or were skipped.")
@answering
def check(name: str, kind: str | None, timeout: float, verbose: bool) -> Answer:
    """Check that components do what they declare.

    NAME is the distribution of a plugin, or the folder that it is installed from, with all of its components; one
    component with or without parameters (surrogate/mine:gamma=2); a suite, or a suite's file. Each check has a
    process of its own, which may hang or die. rankbench skips checks whose packages are not installed. Exits with 1 if
    a check fails or none is executed.
    """
    results = []
    with Console(stderr=True).status("") as status:  # seen on a terminal alone
        for result in check_named(name, kind=kind, seconds=timeout):
            results.append(result)
            status.update(Text(f"{count_text(len(results), 'check')}, now {result.component} {result.check}"))
    ok = all(result.ok for result in results)
    record = {"ok": ok, "results": [asdict(result) for result in results]}
    reasons = ["--verbose"] * (not verbose and any(result.status == "skipped" for result in results))
    return Answer(record, summary(results), _parts(results, verbose), next=reasons, exit_code=0 if ok else 1)


def _parts(results: list[CheckResult], verbose: bool) -> Iterator[Table | str]:
    components: dict[str, list[CheckResult]] = {}
    for result in results:
        components.setdefault(result.component, []).append(result)
    rows = []
    for component, own in components.items():
        executed, failed = sum(r.executed for r in own), sum(not r.ok for r in own)
        status = "failed" if failed else "ok" if executed else "skipped"
        numbers = (executed, failed, len(own) - executed)
        rows.append((component, status, *map(str, numbers), f"{sum(r.seconds for r in own):.1f} s"))
    yield Table(("component", "status", "executed", "failed", "skipped", "time"), rows)
    noted = [r for r in results if verbose or not r.ok or (r.status == "passed" and r.reason)]
    shown = [(r.component, r.check, r.status, r.reason) for r in noted]
    if not verbose:
        shown += [
            (component, "all of them", "skipped", "; ".join(dict.fromkeys(r.reason for r in own)))
            for component, own in components.items()
            if not any(r.executed for r in own)
        ]
    if shown:
        yield ""
        yield Table(("component", "check", "status", "reason"), shown)
    traces: dict[str, list[str]] = {}  # one error fails many checks
    for result in results:
        if result.trace and (verbose or not result.ok):
            traces.setdefault(result.trace, []).append(f"{result.component} {result.check}")
    for trace, where in traces.items():
        yield from ("", f"{', '.join(where)}:", *trace.split("\n"))


@click.group("new")
def new() -> None:
    """Write a plugin or a suite to start from."""


@new.command("plugin")
@click.argument("name")
@click.option("--kind", required=True, type=click.Choice(PLUGIN_KINDS), help="Kind of the plugin's component.")
@click.option("--compiled", is_flag=True, help="With kernels for numba; of a surrogate, aggregator, loss or optimizer.")
@answering
def plugin(name: str, kind: str, compiled: bool) -> Answer:
    """Write an installable plugin with one component into the new folder NAME.

    It passes its own checks as it is; replace the formulas by yours. Where the folder NAME holds a plugin already,
    the component is added to it: a module, a test, and an entry in the list of its hook.
    """
    if (Path(name) / "pyproject.toml").is_file():
        added = add_component(Path(name), kind, compiled=compiled)
        by_hand = added.gate_by_hand(kind)
        first = f"{name}/ has one more {kind}: {', '.join(added.files)}.{' ' * bool(by_hand)}{by_hand} Next:"
    else:
        write_plugin(name, kind, Path(), compiled=compiled)
        first = f"{name}/ is written. Next:"
    install, test = of_this_python("pip", "install", "-e", f"{name}[test]"), of_this_python("pytest", name)
    steps = [f"  {install}", f"  rankbench check {name}", f"  {test}"]
    said = f"{name}/README.md says how to check its wheel before others install it."
    return Answer({"path": name, "kind": kind}, tables=[first, "", *steps, "", said])


@new.command("suite")
@click.argument("name")
@answering
def suite(name: str) -> Answer:
    """Write a commented suite into the new file NAME.toml."""
    path = write_suite(name, Path())
    said = [
        f"{path} is written. Next:",
        "",
        f"  rankbench run --suite {path} --dry-run",
        f"  rankbench run --suite {path}",
    ]
    return Answer({"path": str(path), "kind": "suite"}, tables=said)
