"""The options of ``run`` and ``plan`` for a log of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rankbench.cli.completion import complete_names

if TYPE_CHECKING:
    from rankbench.kinds.dataset import Dataset

__all__ = ["log_options", "time_unit_option", "with_log"]

_WITH_AND_WITHOUT = ("bradley-terry", "bradley-terry:control=true")
"""Contenders of a log with covariates: the same penalty, so that the difference is what the covariates are worth."""

F = TypeVar("F", bound=Callable[..., Any])


def time_unit_option(words: str) -> Callable[[F], F]:
    """Return the option ``--time-unit``, with what it means."""
    units = ["minute", "hour", "day", "week", "month", "quarter", "year"]
    return click.option("--time-unit", type=click.Choice(units), help=words)


def log_options(command: F) -> F:
    """Give a command ``--log``, ``--columns``, ``--control`` and ``--reader``, for `with_log`, and ``--time-unit``."""
    options = [
        click.option(
            "--log",
            metavar="FILE|NAME",
            shell_complete=complete_names("dataset", files=True),
            help="Your own votes, ballots or clicks, judged by held-out ones: suite own-log or own-clicks on this file "
            "(or folder of shards, or data set).",
        ),
        click.option(
            "--columns", default="", metavar="ROLE=NAME,..", help="What the log's columns mean, as left=model_x."
        ),
        click.option(
            "--control",
            default="",
            metavar="TERM,..",
            help="Of the log: do covariates help to predict? As 'side:unless=neutral, log(length)'.",
        ),
        click.option(
            "--reader",
            default="",
            shell_complete=complete_names("reader"),
            help="Reader of the log, as csv; chosen by its ending by default.",
        ),
        time_unit_option(
            "Votes of one such unit are predicted together, and learned from together; default: of one time."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def with_log(
    suite: str | None, dataset: Sequence[str], log: str | None, columns: str, reader: str, control: str = ""
) -> tuple[str, list[str | Dataset], tuple[str, ...]]:
    """Return the suite, the data sets that were asked for, of which the log is one, and contenders to add.

    Parameters
    ----------
    suite : str or None
        None: the one for the log, or else ``paper``.
    dataset : sequence of str
    log : str or None
    columns, reader : str
        See `rankbench.counts.log_source.reader_for`.
    control : str
        Covariates of the log: Bradley-Terry with them is a contender, beside the same without.

    Raises
    ------
    InputError, SpecError
        See `rankbench.counts.log_file.own_log`; or columns without a log.
    """
    from rankbench.errors import SpecError

    data: list[str | Dataset] = list(dataset)
    if log is None:
        if columns or reader or control:
            raise SpecError("--columns, --control and --reader say how to read a --log")
        return suite or "paper", data, ()
    from rankbench.counts.log_file import own_log, suite_of

    if control:
        from rankbench.kinds.column_readings import with_column

        columns = with_column(columns, "control", control)
    own = own_log(log, columns=columns, reader=reader)
    return suite or suite_of(own), [*data, own], _WITH_AND_WITHOUT if control else ()
