"""What exit codes mean: the same for every verb, on its help page as in docs/commands.md."""

from __future__ import annotations

import click

__all__ = ["EPILOG", "INTERRUPTED", "MEANINGS", "with_exit_codes"]

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

EPILOG = f"Exit codes: {'; '.join(f'{code} {meaning}' for code, meaning in MEANINGS.items())}."


def with_exit_codes(command: click.Command) -> click.Command:
    """Return a command whose help, and that of its subcommands, ends with the meanings."""
    command.epilog = EPILOG
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            with_exit_codes(subcommand)
    return command
