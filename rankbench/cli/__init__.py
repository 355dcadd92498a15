"""The command line: a thin shell over the Python interface, one verb a file.

``rankbench --help`` imports no verb and no plugin. `rankbench.cli.exits` has the exit codes.
"""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import click

from rankbench.cli.exits import EPILOG, INTERRUPTED, with_exit_codes
from rankbench.cli.verbs import SHORT_HELPS, Verb, verbs

__all__ = ["Commands", "main"]


class Commands(click.Group):
    """Verbs from the entry-point group ``rankbench.commands``, imported when used."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run as the program of this process, and end it."""
        from rankbench.cli.start import start

        start(partial(self.main, *args, **kwargs))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all verbs, the built-in ones first."""
        return [*verbs()]  # `list` is a verb's module here, once that is imported

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Import the verb's command; None if there is no such verb."""
        verb = verbs().get(name)
        if verb is None:
            return None
        from rankbench.errors import PluginError

        try:
            return _import(verb)
        except PluginError:
            if ctx.resilient_parsing:  # the shell completes a line: a broken verb is none of its business
                return None
            raise

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb that the arguments begin with, or suggest the nearest."""
        if not args[0].startswith("-") and args[0] not in verbs() and not ctx.resilient_parsing:
            from rankbench.errors import nearest

            raise click.UsageError(f"there is no command {args[0]!r}{nearest(args[0], verbs())}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs without importing them."""
        rows = [(name, SHORT_HELPS.get(name, "")) for name, verb in verbs().items() if verb.built_in]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
        plugins = [(name, f"from {verb.distribution}") for name, verb in verbs().items() if not verb.built_in]
        if plugins:
            with formatter.section("Commands of plugins"):
                formatter.write_dl(plugins)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; turn what goes wrong on purpose into a message and an exit code."""
        from rankbench.cli.output import say, visible
        from rankbench.errors import RankbenchError
        from rankbench.runtime import settle_blas

        if os.environ.get("NO_COLOR"):
            ctx.color = False
        try:
            settle_blas()  # before a verb imports NumPy
            with _notes_of_pictures():
                return super().invoke(ctx)
        except RankbenchError as error:
            say(f"error: {error}", err=True)
            ctx.exit(error.exit_code)
        except OSError as error:
            # A closed pipe is click's business, and what has no file `start` says.
            if error.errno == errno.EPIPE or error.filename is None:
                raise
            click.echo(f"error: {visible(str(error.filename))}: {error.strerror}", err=True)
            ctx.exit(1)
        except MemoryError as error:
            click.echo(f"error: not enough memory: {visible(str(error) or 'no details')}", err=True)
            ctx.exit(1)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            ctx.exit(INTERRUPTED)
        except BaseException as error:
            # Polars' own name for what it cannot handle, which is no `Exception`: nothing imports Polars here.
            if type(error).__name__ != "PanicException":
                raise
            click.echo(f"error: Polars cannot go on: {visible(str(error))}", err=True)
            ctx.exit(1)


@contextmanager
def _notes_of_pictures() -> Iterator[None]:
    """Print what is to be known of a picture as a note; all other warnings are Python's business."""
    others = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        from rankbench.cli.output import say
        from rankbench.drawing.letters import MissingLettersWarning

        if issubclass(category, MissingLettersWarning):
            say(f"note: {message}", err=True)
        else:
            others(message, category, *where, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = others


def _import(verb: Verb) -> click.Command:
    import importlib

    from rankbench.cli.output import with_kept_output
    from rankbench.errors import PluginError

    module, _, attribute = verb.target.partition(":")
    which = f"command {verb.name!r} of {verb.distribution}"
    try:
        command: object = getattr(importlib.import_module(module), attribute)
    # What a plugin raises must not end the program, but one may interrupt our own imports.
    except BaseException as error:
        if verb.built_in and not isinstance(error, Exception):
            raise
        from rankbench.kinds.guard import reason

        said = reason(error, [module.partition(".")[0]])
        raise PluginError(f"{which} cannot be imported: {said}") from error
    if not isinstance(command, click.Command):
        raise PluginError(f"{which} is not a click command: {verb.target}")
    return with_kept_output(with_exit_codes(command)) if verb.built_in else command


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(None, "-V", "--version", package_name="rankbench", message="%(prog)s %(version)s")
def main() -> None:
    """Run every contender on exactly the same judgments, and tell which ranks better.

    Start with `rankbench run --suite demo`.
    """
