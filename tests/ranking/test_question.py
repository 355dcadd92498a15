"""A question is a value: its fields are the keywords of `rankbench.aggregate`, and it refuses what does not fit."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from typing import Any

import click
import pytest

import rankbench
from rankbench.audits.commands import audit
from rankbench.audits.question import AuditQuestion
from rankbench.cli import option_text
from rankbench.cli.aggregate import AggregateQuestion, RankQuestion, aggregate, rank
from rankbench.cli.run import LogRunQuestion, run
from rankbench.core.question import Offered, QuestionRecord
from rankbench.errors import OptionError, SpecError
from rankbench.interfaces.dataset import Dataset
from rankbench.plugin import manager
from rankbench.ranking.question import RankingQuestion
from rankbench.runner.question import RunQuestion
from rankbench.systems.question import SystemsQuestion
from rankbench.tracking.commands import compare, time
from rankbench.tracking.question import CompareQuestion, TimeQuestion

BESIDE = {"out", "progress", "workers"}
"""Keywords that say where to write, and one worker, the default of Python alone."""


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
    asked = {name: one.default for name, one in question.model_fields.items() if name not in BESIDE}
    assert {one.name: one.default for one in keywords if one.name not in BESIDE} == asked


OFFERED = [
    (command, question, name)
    for command, question in (
        (aggregate, AggregateQuestion),
        (rank, RankQuestion),
        (audit, AuditQuestion),
        (run, LogRunQuestion),
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
    assert option_text(name) in option.opts
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


OVER = "shows scores of the whole log, with bands"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"over": "time", "by": "x", "matrix": True}, rf"^over= {OVER}: leave by=, matrix= out$"),
        ({"over": "time", "scale": "elo"}, rf"^over= {OVER}: leave scale= out$"),
        ({"since": "3"}, r"^since= is of scores over time: say over=\"time\" with it$"),
        ({"effects": True}, r"^effects= shows effects of covariates: say control=TERM with it$"),
        (
            {"effects": True, "control": "c", "matrix": True},
            r"^effects= shows effects of covariates: leave matrix= out$",
        ),
        ({"across": "ranks"}, r"^across= shows categories side by side: say by=COLUMN with it$"),
        ({"across": "ranks", "by": "x", "matrix": True}, r"^across= shows categories side by side: leave matrix= out"),
        ({"across": "scores", "by": "x", "intervals": "auto"}, r"^across= shows no intervals of scores: leave inter"),
        ({"matrix": True, "intervals": "auto"}, r"^matrix= shows no intervals: leave intervals= out$"),
        ({"between": ("a", "b"), "scale": "elo"}, r"^between= shows two items alone: leave scale= out$"),
        ({"executor": "dask"}, r"^executor= takes the workers of a cluster: say address="),
        ({"address": "tcp://x:1"}, r"^address= is of a cluster's scheduler: say executor=\"dask\" with it$"),
    ],
)
def test_forms_that_do_not_go_together_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        AggregateQuestion.from_options(**options)


def test_a_table_of_scores_by_task_has_no_difference() -> None:
    with pytest.raises(OptionError, match=r"^per_task= shows the scores of all systems: leave between= out$"):
        RankQuestion.from_options(per_task=True, between=("a", "b"))


def test_what_is_asked_is_every_option_as_json_has_it() -> None:
    asked = AggregateQuestion.from_options(without="a", between=("a", "b")).asked()
    assert AggregateQuestion.model_fields.keys() - asked.keys() == {"executor", "address"}
    assert (asked["without"], asked["between"], asked["top"], asked["over"]) == (["a"], ["a", "b"], None, None)
    run = LogRunQuestion.from_options(timeout=float("inf"), dataset=[manager.get(Dataset, "web10k-like")]).asked()
    assert (run["timeout"], run["dataset"]) == ("inf", ["web10k-like"])
    json.dumps([asked, run], allow_nan=False)


@pytest.mark.parametrize("options", [{"seed": -1}, {"replicates": 1}, {"intervals": "none"}, {"address": "tcp://x:1"}])
def test_values_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SpecError):
        RankingQuestion.from_options(**options)


def test_a_difference_has_always_intervals() -> None:
    assert RankingQuestion.from_options(between=("a", "b")).wanted == "auto"
    assert RankingQuestion.from_options(between=("a", "b"), intervals="judges").wanted == "judges"
