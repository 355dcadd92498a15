"""A question's fields become options of a command: an option is declared once, where the question is."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import click
from pydantic.fields import FieldInfo

from rankbench.cli.output import complete_names
from rankbench.core.component import Record, union_types
from rankbench.core.question import Offered
from rankbench.logs.question import LogQuestion

F = TypeVar("F", bound=Callable[..., object])


def question_options(*questions: type[Record]) -> Callable[[F], F]:
    """Return a decorator that gives a command the options that questions declare, in the order of their fields.

    The options of a base class are given where it is named, too.
    """

    def given(command: F) -> F:
        for question in reversed(questions):
            for name in reversed(inspect.get_annotations(question)):
                field = question.model_fields[name]
                if offered := next((one for one in field.metadata if isinstance(one, Offered)), None):
                    command = _option(name, field, offered)(command)
        return command

    return given


def command_on(verb: str, log: str, asked: LogQuestion, *more: str) -> str:
    """Return a command on a log that is read, and filtered, as a question says."""
    words = list[str]()
    for name in asked.given(*LogQuestion.model_fields):
        value = getattr(asked, name)
        for one in value if isinstance(value, tuple) else (value,):
            words += [_flag(name, LogQuestion.model_fields[name]), str(one)]
    return shlex.join(["rankbench", *verb.split(), log, *words, *more])


def _flag(name: str, field: FieldInfo) -> str:
    """Return the name of a field's option."""
    offered = next((one for one in field.metadata if isinstance(one, Offered)), Offered())
    return f"--{(offered.name or name).replace('_', '-')}"


def _option(name: str, field: FieldInfo, offered: Offered) -> Callable[[F], F]:
    """Return the option of a field, by its type, its bounds, its default and its description."""
    help_text = re.sub(r"`(\w+)`", r"--\1", " ".join((field.description or "").split()))
    options: dict[str, Any] = {"default": field.default, "help": help_text}
    kinds = [one for one in union_types(field.annotation) if one is not type(None)]
    words = [word for one in kinds if get_origin(one) is Literal for word in get_args(one)]
    if bool in kinds:
        return click.option(f"--{name.replace('_', '-')}", is_flag=True, help=help_text)
    if words:
        options["type"] = click.Choice(sorted(words, key=lambda word: word != offered.flag_value))
    elif several := [get_args(one) for one in kinds if get_origin(one) is tuple]:
        options |= {"multiple": True} if several[0][-1] is Ellipsis else {"nargs": len(several[0])}
        if get_origin(several[0][0]) is Annotated:
            kind, inner = get_args(several[0][0])
            options["type"] = _numbers(kind, inner.metadata)
    elif int in kinds or float in kinds:
        options["type"] = _numbers(int if int in kinds else float, field.metadata)
    if offered.flag_value:
        options |= {"is_flag": False, "flag_value": offered.flag_value}
    if offered.names:
        options["shell_complete"] = complete_names(*offered.names.split())
    shown = bool(field.default) and (isinstance(field.default, int | float) or bool(words))
    said = (_flag(name, field), name)
    if "type" not in options and not offered.may_be_empty:
        options["callback"] = no_empty_text
    return click.option(*said, metavar=offered.metavar or None, show_default=shown, **options)


def no_empty_text(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
    """Refuse an empty text on the command line, which a variable of the shell may be."""
    given = ctx.get_parameter_source(parameter.name or "") is click.core.ParameterSource.COMMANDLINE
    if given and (value == "" or (isinstance(value, tuple) and "" in value)):
        raise click.BadParameter("it is empty; is a variable of the shell not set?", ctx, parameter)
    return value


def _numbers(kind: type, metadata: Sequence[Any]) -> click.IntRange | click.FloatRange:
    """Return the type of an option of numbers, with their bounds."""
    ends = {mark: getattr(one, mark) for one in metadata for mark in ("ge", "gt", "le", "lt") if hasattr(one, mark)}
    ranges = click.IntRange if kind is int else click.FloatRange
    lowest, highest = ends.get("ge", ends.get("gt")), ends.get("le", ends.get("lt"))
    return ranges(lowest, highest, min_open="gt" in ends, max_open="lt" in ends)
