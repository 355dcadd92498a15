"""What the Tab key offers: names of components, suites and kinds, which are known without anything that computes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["complete_any", "complete_kinds", "complete_names"]

Completer: TypeAlias = "Callable[[click.Context, click.Parameter, str], list[CompletionItem]]"


def complete_names(*kinds: str, files: bool = False, also: Iterable[str] = ()) -> Completer:
    """Return what completes names of some kinds, plugins' too.

    Parameters
    ----------
    *kinds : str
        As "aggregator"; or "suite".
    files : bool
        Whether it may also be a file: these are offered where no name fits.
    also : iterable of str
        Other words.
    """

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return _items([*also, *_names(kinds)], incomplete, files=files)

    return complete


def complete_any(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the names of all components and suites that fit; of the kind that ``--kind`` says, if it was given."""
    chosen = ctx.params.get("kind")
    return _items(_names([chosen] if chosen else _kinds()), incomplete)


def complete_kinds(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the kinds that fit."""
    return _items(_kinds(), incomplete)


def _kinds() -> list[str]:
    from rankbench.plugin.kinds import KINDS, SUITE

    return [*KINDS, SUITE]


def _names(kinds: Iterable[str]) -> Iterator[str]:
    from rankbench.cli.output import keeping_output
    from rankbench.plugin.kinds import kind_of
    from rankbench.plugin.manager import names

    for kind in kinds:
        with suppress(Exception):  # a kind that there is not, a broken plugin: nothing to offer, and no traceback
            with keeping_output():
                found = names(kind_of(kind))
            yield from found


def _items(words: Iterable[str], incomplete: str, *, files: bool = False) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    fitting = sorted({word for word in words if word.startswith(incomplete)})
    path = [CompletionItem(incomplete, type="file")] if files else []
    return [*path, *map(CompletionItem, fitting)]
