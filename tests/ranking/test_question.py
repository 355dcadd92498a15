"""A question is a value: its fields are the keywords of `rankbench.aggregate`, and it refuses what does not fit."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import click
import pytest

import rankbench
from rankbench.audits.commands import audit
from rankbench.audits.question import AuditQuestion
from rankbench.cli.aggregate import aggregate, rank
from rankbench.cli.run import run
from rankbench.core.question import Offered, QuestionRecord
from rankbench.errors import OptionError, SpecError
from rankbench.logs.log_filter import Filter
from rankbench.ranking.question import OverTimeQuestion, RankingQuestion
from rankbench.runner.question import RunQuestion
from rankbench.systems.question import SystemsQuestion
from rankbench.tracking.commands import compare, time
from rankbench.tracking.question import CompareQuestion, TimeQuestion

BESIDE = {"words", "reading", "out", "progress", "workers"}
"""Keywords that become a part of `columns`, that say where to write, and one worker, the default of Python alone."""


ASKED: list[tuple[Callable[..., Any], type[QuestionRecord]]] = [
    (rankbench.aggregate, RankingQuestion),
    (rankbench.rank, SystemsQuestion),
    (rankbench.audit, AuditQuestion),
    (rankbench.run, RunQuestion),
]


@pytest.mark.parametrize(("verb", "question"), ASKED)
def test_every_keyword_is_a_field_with_the_same_default(
    verb: Callable[..., Any], question: type[QuestionRecord]
) -> None:
    _, *keywords = inspect.signature(verb).parameters.values()
    asked = {name: one.default for name, one in question.model_fields.items() if name not in ("keep", "workers")}
    asked |= {one.name: one.default for one in fields(Filter) if "keep" in question.model_fields}
    assert {one.name: one.default for one in keywords if one.name not in BESIDE} == asked


OFFERED = [
    (command, question, name)
    for command, question in (
        (aggregate, RankingQuestion),
        (aggregate, OverTimeQuestion),
        (rank, SystemsQuestion),
        (audit, AuditQuestion),
        (run, RunQuestion),
        (compare, CompareQuestion),
        (time, TimeQuestion),
    )
    for name, field in question.model_fields.items()
    if any(isinstance(one, Offered) for one in field.metadata)
]


@pytest.mark.parametrize(("command", "question", "name"), OFFERED)
def test_an_option_of_the_command_is_a_field(command: click.Command, question: type[QuestionRecord], name: str) -> None:
    field = question.model_fields[name]
    (option,) = [one for one in command.params if one.name == name]
    assert isinstance(option, click.Option)
    assert option.help == re.sub("`(.*?)`", r"--\1", " ".join((field.description or "").split()))
    assert option.help or name == "executor"
    with click.Context(command) as context:
        assert option.get_default(context) == field.default


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pool": True}, r"^pool= is of categories: say by=COLUMN with it$"),
        ({"pool": True, "by": "x", "control": "c"}, r"^pool= shrinks scores without covariates: leave control= out$"),
        ({"pool": True, "by": "x", "intervals": "judges"}, r"^pool= has intervals by formula, not by judges: leave"),
        ({"pool": True, "by": "x", "between": ("a", "b")}, r"^between= tells of each category by itself: leave pool="),
        ({"between": ("a", "a")}, r"^between= takes two different names$"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        RankingQuestion.from_options(**options)


@pytest.mark.parametrize("options", [{"seed": -1}, {"replicates": 1}, {"intervals": "none"}, {"address": "tcp://x:1"}])
def test_values_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        RankingQuestion.from_options(**options)


def test_a_difference_has_always_intervals() -> None:
    assert RankingQuestion.from_options(between=("a", "b")).wanted == "auto"
    assert RankingQuestion.from_options(between=("a", "b"), intervals="judges").wanted == "judges"
