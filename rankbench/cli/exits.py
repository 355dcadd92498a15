"""What exit codes mean, on every help page as in docs/commands.md: the same, but for verbs that compare."""

from __future__ import annotations

from collections.abc import Mapping

import click

__all__ = ["EPILOG", "INTERRUPTED", "MEANINGS", "OF_COMPARISONS", "with_exit_codes"]

INTERRUPTED = 130

MEANINGS = {
    0: "all is well",
    1: "something failed: a contender of a run (with run --strict also one that was skipped), a check, "
    "or this machine (a file, memory)",
    2: "something that was given cannot be used: an option, a name, a file, a plugin",
    3: "the folder of a run's results is in use or cannot be used",
    INTERRUPTED: "interrupted",
}
"""`rankbench.errors` says which error means which."""

OF_COMPARISONS = {
    1: "something is worse, or slower, or differs where nothing may",
    3: "nothing is worse, and something could not be tested",
}
"""Of `compare` and `time`."""


def _epilog(meanings: Mapping[int, str]) -> str:
    return f"Exit codes: {'; '.join(f'{code} {meaning}' for code, meaning in meanings.items())}."


EPILOG = _epilog(MEANINGS)


def with_exit_codes(command: click.Command) -> click.Command:
    """Return a command whose help, and that of its subcommands, ends with the meanings."""
    command.epilog = _epilog(MEANINGS | OF_COMPARISONS) if command.name in ("compare", "time") else EPILOG
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            with_exit_codes(subcommand)
    return command
