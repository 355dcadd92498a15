"""Booleans are no numbers, numbers no booleans, texts neither: in TOML, on the command line and in Python."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import pytest
from pydantic import Field, ValidationError

from rankbench.aggregators.bradley_terry import BradleyTerry
from rankbench.core.component import Typed
from rankbench.interfaces.method import Method
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement
from rankbench.methods.erm import ERM
from rankbench.plugin import manager


def test_what_is_of_the_type_is_taken() -> None:
    assert BradleyTerry(ridge=2).ridge == BradleyTerry(ridge=np.float64(2)).ridge == 2.0
    assert ERM(draws=1e5).draws == ERM(draws=np.int64(100_000)).draws == 100_000
    assert PairwiseDisagreement(normalize=False).normalize is False
    assert str(manager.get(Method, "erm:k=inf,draws=1e5,radius=inf")) == str(ERM(draws=100_000))


class Several(Typed):
    share: float = 0.5
    count: int = 1
    flag: bool = False
    either: Literal["auto"] | float = 1.0
    maybe: int | None = None
    many: tuple[Annotated[float, Field(gt=0)], ...] = ()
    any_of: bool | int = 0
    words: str = ""


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("share", "1e-3", "a number, not '1e-3'"),
        ("share", True, "a number, not true"),
        ("share", np.False_, "a number, not"),
        ("count", True, "a number, not true"),
        ("flag", 1, "true or false, not 1"),
        ("flag", "yes", "true or false, not 'yes'"),
        ("either", True, "a number or 'auto', not true"),
        ("either", "1", "a number or 'auto', not '1'"),
        ("maybe", "1", "a number, not '1'"),
        ("many", [1.0, True], "a number, not true"),
        ("many", ("1",), "a number, not '1'"),
        ("any_of", "1", "true or false or a number, not '1'"),
        ("words", 1, "a text, not 1"),
    ],
)
def test_unions_and_lists_are_looked_into(key: str, value: object, said: str) -> None:
    with pytest.raises(ValidationError, match=f"must be {said}"):
        Several.model_validate({key: value})


def test_unions_and_lists_take_their_own() -> None:
    made = Several(either="auto", maybe=3, many=[1, 2.5], any_of=True, words="1")
    assert (made.either, made.maybe, made.many, made.any_of, made.words) == ("auto", 3, (1.0, 2.5), True, "1")
    assert Several(maybe=None).maybe is None
