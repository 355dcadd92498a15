"""Help on one screen: commands and options in groups; ``--help-all`` adds the rare ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

COMMANDS = {
    "Rank": {
        "aggregate": "items by votes, ballots, clicks",
        "rank": "systems by scores on tasks",
        "audit": "can a ranking be trusted?",
        "data": "look at a file first",
    },
    "Compare": {
        "run": "methods on the same judgments; with --log FILE on yours",
        "compare": "two results",
        "report": "pages, LaTeX, figures",
        "verify": "is a page what its rows give?",
    },
    "Theory": {"certify": "is a surrogate consistent?"},
    "Extend": {
        "new": "a plugin or a suite to start from",
        "check": "does a component do what it declares?",
        "list": "components, suites and known formats",
        "info": "one of them; without a name: versions, folders, plugins",
    },
    "More": {
        "time": "how fast are methods, in one version or two?",
        "history": "results of many runs, and when they changed",
        "site": "many results as pages",
    },
}
"""The built-in subcommands by group, and what each is about."""

ORDER = [name for named in COMMANDS.values() for name in named]

RARE_COMMANDS = "More"
"""Group that ``--help-all`` adds."""

RARE = {"executor", "address", "seed", "replicates", "reader"}
"""Options that ``--help-all`` adds to a command with sections."""

READING = "columns words reading"
FILTER = "where without without_judge min_votes"
FILES = "form as_json out title"
"""Parameters of options that several commands have."""

CODES = "Exit codes: 0 well, 1 failed or worse, 2 refused, 3 not tested: docs/reference/exit-codes.md"
TRY = """
  Try:   rankbench aggregate llmfao --intervals
  More:  rankbench --help-all, rankbench COMMAND --help
"""

_ALL = "rankbench.help_all"


def _show_all(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from rankbench.cli.output import echo

        ctx.meta[_ALL] = True
        echo(ctx.get_help())
        ctx.exit()


def help_all_option(words: str) -> click.Option:
    """Return the option ``--help-all``."""
    return click.Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_show_all, help=words)


def write_commands(ctx: click.Context, formatter: click.HelpFormatter, others: Mapping[str, str]) -> None:
    """Write the subcommands by group, a line each, with those of plugins; nothing is imported."""
    everything = _ALL in ctx.meta
    groups = {title: rows for title, rows in COMMANDS.items() if everything or title != RARE_COMMANDS}
    rows = [
        (f"{title if at == 0 else '':<8} {name}", words)
        for title, named in (groups | {"Plugins": others}).items()
        for at, (name, words) in enumerate(named.items())
    ]
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_dl(rows)


class SectionedCommand(click.Command):
    """A command whose help has its options in sections.

    Parameters
    ----------
    sections : mapping of str to str
        Names of parameters, separated by spaces, by the title of their section. Others come last.
    """

    def __init__(self, *args: Any, sections: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.sections = sections
        rare = [max(one.opts, key=len) for one in self.params if one.name in RARE]
        self.params.append(help_all_option(f"Show rare options too: {', '.join(rare)}."))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        options = [one for one in self.get_params(ctx) if isinstance(one, click.Option)]
        records = {str(one.name): found for one in options if (found := one.get_help_record(ctx))}
        named = {title: _taken(records, names.split()) for title, names in self.sections.items()}
        rare = _taken(records, [name for name in records if name in RARE])
        named["Rare"] = rare if _ALL in ctx.meta else []
        for title, rows in (named | {"More": [*records.values()]}).items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _taken(records: dict[str, tuple[str, str]], names: Sequence[str]) -> list[tuple[str, str]]:
    return [records.pop(name) for name in names]
