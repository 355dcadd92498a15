"""From a suite's entries to labelled methods."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from rankbench.errors import SpecError
from rankbench.runner.plan import contenders
from rankbench.suites.schema import ContenderEntry


def labels(label: str, use: str = "erm:k=[1,10],lambda=0.5") -> list[str]:
    return [found for found, _ in contenders(ContenderEntry(use=use, label=label))]


def test_labels_hold_the_parameters_of_each_point() -> None:
    assert labels("k={k}, {lambda}") == ["k=1, 0.5", "k=10, 0.5"]
    assert labels("{aggregator}", "erm:aggregator=mean-log-odds(smoothing=0.25)") == ["mean-log-odds(smoothing=0.25)"]
    assert labels("", "erm:k=10") == ["erm:k=10"]


@pytest.mark.parametrize(
    "label", ["{k.__class__}", "{k[0]}", "{k!r}", "{k:>1000000000}", "{}", "{0}", "{aggregator.config.__globals__}"]
)
def test_a_label_is_no_format_string(label: str) -> None:
    with pytest.raises(SpecError, match="is no parameter"):
        labels(label)


def test_an_unknown_parameter_gets_the_nearest() -> None:
    with pytest.raises(SpecError, match="'lamda' is no parameter; did you mean 'lambda'"):
        labels("{lamda}")


def test_labels_are_short() -> None:
    assert labels("x" * 200, "erm") == ["x" * 200]
    with pytest.raises(ValidationError, match="200"):
        labels("x" * 201)
    with pytest.raises(SpecError, match="longer than 200"):
        labels("{aggregator}" * 16, "erm")
