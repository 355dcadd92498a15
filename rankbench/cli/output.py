"""Tables and JSON for people and programs.

While a built-in subcommand runs, `sys.stdout` and the descriptor 1 are standard error. Prints of a plugin, in Python,
in C or in a process that it starts, are then not in the middle of JSON or CSV. Built-in subcommands print by `echo`.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TextIO, TypeAlias, TypeVar

import click
from click.shell_completion import CompletionItem

from rankbench.core.system import Heartbeat
from rankbench.core.text import is_plain, shortened, visible, visible_line, without_commands

if TYPE_CHECKING:
    from rankbench.reports.headline import Notice


F = TypeVar("F", bound=Callable[..., object])

PIPE_WIDTH = 10_000
"""Columns of a pipe: nothing is wrapped there, so that a row stays one line."""

FIRST_ROWS = 100
"""Rows of a table that a terminal gets."""

FEWEST_ROWS = 3
"""Rows of a table that a terminal gets in any case."""

WORD = 20
"""Letters of a word that is not broken as long as there is room."""

_kept: TextIO | None = None
"""Standard output, while it is kept."""


def standard_output() -> TextIO:
    """Return the stream that built-in subcommands print to."""
    return sys.stdout if _kept is None else _kept


def echo(message: object = "", *, nl: bool = True) -> None:
    """Print to standard output, also while it is kept from others."""
    click.echo(message, file=standard_output(), nl=nl)


def terminal_width(stream: TextIO | None = None) -> int:
    """Return the columns of the terminal that a stream, by default standard output, goes to; 80 if it is none."""
    if not os.environ.get("COLUMNS"):
        with contextlib.suppress(OSError, ValueError):
            return os.get_terminal_size((stream or standard_output()).fileno()).columns or 80
    return shutil.get_terminal_size().columns


@contextlib.contextmanager
def keeping_output() -> Iterator[None]:
    """Keep standard output for `echo`: whatever else is printed goes to standard error as long as the context lasts."""
    global _kept
    if _kept is not None:
        yield
        return
    with contextlib.ExitStack() as held:
        # Where a test or a notebook has put something else in its place, nothing is printed through the descriptor.
        _kept = held.enter_context(_moved(sys.stdout)) if _is_descriptor_1(sys.stdout) else sys.stdout
        try:
            with contextlib.redirect_stdout(sys.stderr):
                yield
        finally:
            _kept = None


def _is_descriptor_1(stream: TextIO) -> bool:
    try:
        return stream.fileno() == 1
    except (AttributeError, OSError, ValueError):
        return False


@contextlib.contextmanager
def _moved(stream: TextIO) -> Iterator[TextIO]:
    """Give standard output another descriptor, and its own to standard error."""
    stream.flush()
    descriptor = os.dup(1)
    moved = open(descriptor, "w", encoding=stream.encoding, errors=stream.errors, closefd=False)  # noqa: SIM115
    os.dup2(2, 1)
    try:
        yield moved
    finally:
        try:
            moved.flush()
        finally:
            with contextlib.suppress(OSError):  # what cannot be printed is said once
                moved.close()
            os.dup2(descriptor, 1)
            os.close(descriptor)


def with_kept_output(command: click.Command) -> click.Command:
    """Return a built-in subcommand that keeps standard output while it runs, as do the subcommands below it."""
    command = copy.copy(command)
    if command.callback is not None:
        command.callback = keeping_output()(command.callback)
    if isinstance(command, click.Group):
        command.commands = {name: with_kept_output(each) for name, each in command.commands.items()}
    return command


def unmarked(text: str) -> str:
    """Return a line of reST without its marks: roles, backticks, stars, underscores after citations."""
    return re.sub(r":[\w:]+:(?=`)|`|(?<=\])_|\*(\w+)\*", r"\1", text)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str = "", room: int | None = None
) -> None:
    """Print a table: fitted to a terminal, one line a row in a pipe; ``NO_COLOR`` is respected.

    The header is left out if all of its cells are empty. Texts are made `visible`, each on one line: a name of two
    lines must not look like two rows. A terminal gets the first 100 rows, or those that `room` lines hold, and how many
    more there are.
    """
    given, most = list(rows), FIRST_ROWS
    if standard_output().isatty() and room is not None:
        most = _held(columns, given, room)
    if standard_output().isatty() and len(given) > most:
        more = len(given) - most
        print_table(columns, given[:most], title=title)
        say(f"and {more:,} more {'row' if more == 1 else 'rows'}: a pipe, or a file, has all of them")
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    columns = [visible_line(column) for column in columns]
    # Most tables are plain: all cells are looked at together.
    plain = is_plain("".join(itertools.chain.from_iterable(given)))
    cells = given if plain else [[visible_line(cell) for cell in row] for row in given]
    if len(cells) > FIRST_ROWS and (lines := _plain_lines(columns, cells)):
        echo(without_commands("\n".join([visible_line(title), *lines] if title else lines)))
        return
    room = None if standard_output().isatty() else PIPE_WIDTH
    console = Console(file=standard_output(), width=room, highlight=False)
    gap, widths = _fitted(columns, cells, console.width)
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, show_header=any(columns))
    for column, width in zip(columns, widths, strict=True):
        # Words with a hyphen are folded there.
        shown = column if len(column) <= width else column.replace("-", "-\n")
        table.add_column(Text(shown), overflow="fold", width=width)
    for row in cells:
        table.add_row(*map(Text, row))
    with console.capture() as captured:
        if title:
            console.print(Text(visible_line(title)))
        console.print(table)
    # A cell that is folded may begin a line, too.
    echo(without_commands("\n".join(line.rstrip() for line in captured.get().splitlines())))


def _held(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int) -> int:
    """Return the number of rows, folded, that so many lines of a terminal hold, with a line on the others if any."""
    first = rows[: room + 1]
    _, widths = _fitted(columns, first, terminal_width())
    folds = [[textwrap.wrap(cell, width) for cell, width in zip(row, widths, strict=True)] for row in first]
    ends = [*itertools.accumulate(max(1, *map(len, fold)) for fold in folds)]
    return len(rows) if max(ends, default=0) <= room else max(FEWEST_ROWS, sum(end < room for end in ends))


def _plain_lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table for a pipe without folding, equal to rich's, in a fraction of its time."""
    from rich.cells import cell_len

    parts = [[row[place] for row in rows] for place in range(len(columns))]
    letters = {letter for name, cells in zip(columns, parts, strict=True) for letter in set("".join([name, *cells]))}
    if any(cell_len(letter) != 1 for letter in letters):
        return []
    widths = [max(len(name), *map(len, cells)) for name, cells in zip(columns, parts, strict=True)]
    if sum(widths) + 2 * (len(widths) - 1) > PIPE_WIDTH:
        return []
    line = "  ".join(f"{{:<{max(width, 1)}}}" for width in widths).format
    head = [line(*columns).rstrip()] if any(columns) else []
    return [*head, *(line(*row).rstrip() for row in rows)]


def _fitted(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> tuple[int, list[int]]:
    """Return the space between columns and their widths: heads are folded first, then the widest, and numbers never.

    Words are broken only where there is no room otherwise, and long ones.
    """
    from rich.cells import cell_len

    whole, heads, least = [], [], []
    for place, name in enumerate(columns):
        cells = [row[place] for row in rows]
        whole.append(max([1, *(cell_len(cell) for cell in (name, *cells))]))
        head = name.replace("-", "- ").split()
        heads.append(max([1, *map(cell_len, (*cells, *head))]))
        least.append(min(WORD, max([1, *map(cell_len, [*head, *(word for cell in cells for word in cell.split())])])))
    for gap, lowest in ((2, heads), (1, heads), (2, least), (1, least), (1, [1] * len(columns))):
        widths, room = list(whole), width - gap * (len(columns) - 1)
        while sum(widths) > room and widths != lowest:
            place = max((i for i in range(len(widths)) if widths[i] > lowest[i]), key=lambda i: widths[i])
            widths[place] -= 1
        if sum(widths) <= room:
            break
    return gap, widths


def json_option(command: F) -> F:
    """Give a command ``--json``, as `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON: docs/reference/json.md.")(command)


def say(text: str, *, err: bool = False, color: str | None = None) -> None:
    """Print lines with hidden characters escaped; on a terminal, folded between words and in color."""
    stream = sys.stderr if err else standard_output()
    for line in folded(text, stream):
        click.secho(line, file=stream, fg=color, reset=bool(color))


def folded(text: str, stream: TextIO) -> list[str]:
    """Return the lines of a text as `say` prints them."""
    width, lines = terminal_width(stream) if stream.isatty() else PIPE_WIDTH, list[str]()
    for line in visible(text).split("\n"):
        parts = textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
        lines += map(without_commands, parts) if len(line) > width else [line]
    return lines


def heartbeat(what: str | Callable[[], str]) -> Heartbeat:
    """Return a context manager that prints a line every 30 seconds on standard error."""
    doing = what if callable(what) else lambda: what
    return Heartbeat(lambda line: click.echo(visible_line(line), err=True), doing)


Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completer(words: Callable[[click.Context], Iterable[str]], *, files: bool = False) -> Completer:
    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        fitting = sorted({word for word in words(ctx) if word.startswith(incomplete)})
        path = [CompletionItem(incomplete, type="file")] if files else []
        return [*path, *map(CompletionItem, fitting)]

    return complete


def complete_names(*kinds: str, files: bool = False, also: Iterable[str] = ()) -> Completer:
    """Return a completer of names of some kinds, plugins' too.

    Parameters
    ----------
    *kinds : str
        As "aggregator"; or "suite".
    files : bool
        Whether it may also be a file: these are offered where no name fits.
    also : iterable of str
        Other words.
    """
    return _completer(lambda ctx: [*also, *_names(kinds)], files=files)


def _kinds() -> list[str]:
    from rankbench.plugin.registry import FILES, KINDS

    return [*KINDS, *FILES]


def _names(kinds: Iterable[str]) -> Iterator[str]:
    from rankbench.plugin.manager import names
    from rankbench.plugin.registry import kind_of

    for kind in kinds:
        with contextlib.suppress(Exception):  # an unknown kind, a broken plugin: nothing to offer, and no traceback
            with keeping_output():
                found = names(kind_of(kind))
            yield from found


complete_kinds = _completer(lambda ctx: _kinds())

kind_option = click.option(
    "--kind",
    shell_complete=complete_kinds,
    help="Kind of component, as aggregator, or suite or format; needed where two kinds share the name.",
)

complete_any = _completer(lambda ctx: _names([ctx.params["kind"]] if ctx.params.get("kind") else _kinds()))
"""Completes names of all components and suites; of the kind that ``--kind`` says, if it was given."""


LONGEST = 600
"""Characters of a notice that are shown; all of a reason is in the results."""

MOST = 20
"""Notices that are shown."""


def print_notices(notices: Sequence[Notice], *, verbose: bool = False) -> None:
    """Print notices on standard error, failures first and in red; lines are folded on a terminal alone.

    Parameters
    ----------
    notices : sequence of Notice
    verbose : bool
        With the traceback of each, where there is one.
    """
    ordered = sorted(notices, key=lambda notice: notice.kind != "failed")
    shown = shortened([notice.text for notice in ordered], LONGEST)
    for notice in ordered[:MOST]:
        text = visible_line(shown[notice.text])
        say(text, err=True, color="red" if notice.kind == "failed" else "yellow")
        if verbose and notice.trace:
            click.echo(visible(notice.trace), err=True)
    if not verbose and any(notice.trace for notice in ordered):
        say("--verbose shows the tracebacks", err=True)
    if len(ordered) > MOST:
        say(f"and {len(ordered) - MOST} more such lines: see leaderboard.md", err=True)
