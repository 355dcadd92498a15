"""The command group `rankbench` holds subcommands, and turns errors into exit codes.

``rankbench --help`` imports no subcommand and no plugin. `rankbench.cli` has the exit codes.
"""

from __future__ import annotations

import atexit
import contextlib
import copy
import errno
import functools
import gc
import io
import os
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, NamedTuple, NoReturn

import click

from rankbench.cli.help import CODES, ORDER, TRY, help_all_option, write_commands
from rankbench.core.system import collect_seldom
from rankbench.core.temporary import end_in_order
from rankbench.core.text import normalized, visible_line
from rankbench.plugin.blocked import is_blocked

__all__ = ["main"]


def start(main: Callable[[], object]) -> NoReturn:
    """Run the program, and end the process with its exit code."""
    _standard_files()
    end_in_order()
    collect_seldom()
    try:
        sys.exit(_flushed(main))
    finally:
        atexit.register(_answered)  # the last to be registered is called first
        # As Python ends it would look for cycles in all that was imported, a seventh of a short command's time.
        gc.freeze()


def _standard_files() -> None:
    """Open /dev/null for a closed stdin or stderr; exit if stdout is closed.

    Files opened later would get their descriptors, and output would be written to them.
    """
    printing = sys.stdout is not None
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    if not printing:
        sys.exit("error: standard output is closed: there is nowhere to print to")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _flushed(main: Callable[[], object]) -> int:
    """Run the program and flush its output; return its exit code."""
    code = 0
    try:
        try:
            main()
        except SystemExit as end:
            if not isinstance(end.code, int | None):
                raise
            code = end.code or 0
        sys.stdout.flush()
    except KeyboardInterrupt as error:  # while it starts or ends
        sys.stderr.write("interrupted\n")
        return getattr(error, "exit_code", INTERRUPTED)
    except OSError as error:
        # Of a file with a name the group of subcommands has said it.
        if error.filename is not None or error.errno is None:
            raise
        # Nothing more comes of standard output, at the interpreter's end either.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            import tempfile

            full = f"; is there space in {tempfile.gettempdir()}?" if error.errno == errno.ENOSPC else ""
            sys.stderr.write(f"error: {error.strerror}, of standard output or a temporary file{full}\n")
        return code or (BROKEN_PIPE if isinstance(error, BrokenPipeError) else 1)
    return code


def _answered() -> None:
    """Redirect output of plugins at the end of Python to standard error: the answer is complete."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    with contextlib.suppress(OSError):
        os.dup2(2, 1)


GROUP = "rankbench.commands"

_WRITTEN = {
    "reading": "file-format", "extra": "with", "parameters": "set", "margin": "worse-by", "methods": "method",
    "alpha": "false-alarms",
}  # fmt: skip
"""Options whose keywords have other names, as their questions declare them: nothing is imported for it."""


class Subcommand(NamedTuple):
    """A subcommand on offer.

    Attributes
    ----------
    name : str
    target : str
        ``module:attribute`` of its click command.
    distribution : str
        Distribution that brings it.
    """

    name: str
    target: str
    distribution: str

    @property
    def built_in(self) -> bool:
        """True for a subcommand of rankbench's own."""
        return self.distribution == "rankbench"


@functools.cache
def subcommands() -> dict[str, Subcommand]:
    """Return the subcommands by name: the built-in ones first, and none can take their names."""
    by_name: dict[str, Subcommand] = {}
    for subcommand in offered():
        by_name.setdefault(subcommand.name, subcommand)
    return by_name


@functools.cache
def offered() -> tuple[Subcommand, ...]:
    """Return every subcommand of every distribution: ours as ``--help`` shows them, then by distribution.

    Those of blocked distributions (``RANKBENCH_BLOCK_PLUGINS``) are not on offer.
    """
    place = {name: number for number, name in enumerate(ORDER)}
    found = [
        Subcommand(entry.name, entry.value, normalized(entry.dist.name) if entry.dist else "unknown")
        for entry in entry_points(group=GROUP)
    ]
    return tuple(
        sorted(
            (each for each in found if not is_blocked(each.distribution)),
            key=lambda each: (not each.built_in, each.distribution, place.get(each.name, len(place)), each.name),
        )
    )


HUNG_UP, INTERRUPTED, BROKEN_PIPE, TERMINATED = 129, 130, 141, 143


def _refuse_empty(parameter: click.Parameter) -> None:
    """Have a parameter refuse the empty text, which would be a path to the current folder."""
    kind = copy.copy(parameter.type)
    convert = kind.convert

    def named(value: Any, asked: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            kind.fail("it is empty; is a variable of the shell not set?", asked, ctx)
        return convert(value, asked, ctx)

    kind.convert = named  # type: ignore[method-assign, assignment]
    parameter.type = kind


def with_exit_codes(command: click.Command) -> click.Command:
    """Return a command that refuses empty files, and whose help ends with the exit codes; so do its subcommands."""
    for parameter in command.params:
        if isinstance(parameter, click.Argument) or isinstance(parameter.type, click.Path):
            _refuse_empty(parameter)
    command.epilog = CODES
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            with_exit_codes(subcommand)
    return command


class Commands(click.Group):
    """Subcommands from the entry-point group ``rankbench.commands``, imported when used."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run as the program of this process, and end it."""
        start(functools.partial(self.main, *args, **kwargs))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all subcommands, the built-in ones first."""
        return [*subcommands()]  # `list` is the module of a subcommand here, once that is imported

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import the subcommand of a name; None if there is none."""
        if (subcommand := subcommands().get(name)) is None:
            return None
        from rankbench.errors import PluginError

        try:
            return _import(subcommand)
        except PluginError:
            if ctx.resilient_parsing:  # the shell completes a line: a broken subcommand is none of its business
                return None
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand that the arguments begin with, or suggest the nearest."""
        if not args[0].startswith("-") and args[0] not in subcommands() and not ctx.resilient_parsing:
            from rankbench.errors import nearest

            raise click.UsageError(f"there is no command {args[0]!r}{nearest(args[0], subcommands())}", ctx)
        ctx.meta["rankbench.words"] = args  # `rankbench.cli.origin.WORDS`
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands by group, without importing them, and where to begin."""
        others = {name: f"from {each.distribution}" for name, each in subcommands().items() if not each.built_in}
        write_commands(ctx, formatter, others)
        formatter.write(TRY)

    def make_context(self, *arguments: Any, **options: Any) -> click.Context:
        """Parse the arguments; ``--help`` prints here."""
        try:
            return super().make_context(*arguments, **options)
        except BrokenPipeError:
            raise click.exceptions.Exit(BROKEN_PIPE) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand; turn expected errors into a message and an exit code."""
        from rankbench.cli.output import say
        from rankbench.core.runtime import settle_blas
        from rankbench.errors import RankbenchError, options_as

        if os.environ.get("NO_COLOR"):
            ctx.color = False
        try:
            settle_blas()  # before a subcommand imports NumPy
            with options_as(option_text), warnings.catch_warnings():  # which puts the function back
                warnings.showwarning = functools.partial(_show_warning, warnings.showwarning)
                return super().invoke(ctx)
        except RankbenchError as error:
            say(f"error: {error}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt as error:
            click.echo("interrupted", err=True)
            ctx.exit(getattr(error, "exit_code", INTERRUPTED))
        except BrokenPipeError:  # click would exit with 1, which says that something is worse
            ctx.exit(BROKEN_PIPE)
        except BaseException as error:
            if not (failure := _failure(error)):
                raise
            say(visible_line(f"error: {failure}"), err=True)
            ctx.exit(1)


def option_text(name: str, value: str = "") -> str:
    """Return an option as a shell hands it over, given the keyword of Python and the option's value."""
    import shlex

    written = f"--{_WRITTEN.get(name, name).replace('_', '-')}"
    double = "'" in value and not set('"$`!\\') & set(value)
    said = f'"{value}"' if double else shlex.quote(value)
    return f"{written} {said}" if value else written


def _failure(error: BaseException) -> str:
    """Return an error text for a failure of this machine; empty for defects, and for errors printed elsewhere."""
    if isinstance(error, OSError):
        said_elsewhere = error.errno == errno.EPIPE or error.filename is None
        return "" if said_elsewhere else f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"not enough memory: {str(error) or 'no details'}"
    # Polars' own error, which is no `Exception`; compared by name, as nothing imports Polars here.
    return f"Polars cannot go on: {error}" if type(error).__name__ == "PanicException" else ""


def _show_warning(others: Callable[..., object], message: Warning | str, category: type[Warning], *where: Any) -> None:
    """Print warnings on pictures as notes; pass other warnings on to Python."""
    from rankbench.cli.output import say
    from rankbench.drawing.looks import MissingLettersWarning

    if issubclass(category, MissingLettersWarning):
        say(visible_line(f"note: {message}"), err=True)
    else:
        others(message, category, *where)


def _import(subcommand: Subcommand) -> click.Command:
    import importlib

    from rankbench.cli.output import with_kept_output
    from rankbench.errors import PluginError

    module, _, attribute = subcommand.target.partition(":")
    which = f"command {subcommand.name!r} of {subcommand.distribution}"
    try:
        command: object = getattr(importlib.import_module(module), attribute)
    # An exception of a plugin must not end the program, but one may interrupt our own imports.
    except BaseException as error:
        if subcommand.built_in and not isinstance(error, Exception):
            raise
        from rankbench.interfaces.cell import reason

        said = reason(error, [module.partition(".")[0]])
        raise PluginError(f"{which} cannot be imported: {said}") from error
    if not isinstance(command, click.Command):
        raise PluginError(f"{which} is not a click command: {subcommand.target}")
    return with_kept_output(with_exit_codes(command)) if subcommand.built_in else command


@click.group(
    cls=Commands,
    params=[help_all_option("Show all commands.")],
    subcommand_metavar="COMMAND ...",
    epilog=CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(None, "-V", "--version", package_name="rankbench", message="%(prog)s %(version)s")
def main() -> None:
    """Rank items from votes, ballots, clicks or scores, and compare ranking methods."""
