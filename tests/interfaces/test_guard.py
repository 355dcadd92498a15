"""Where a contender raised: its own innermost line, whatever it called; and nothing about errors that say all."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import rankbench
from rankbench.errors import ContenderDiverged, InputError, SpecError
from rankbench.interfaces.cell import LONGEST, ContenderFailed, failed, guarded, own_frame, reason
from rankbench.testing.check import check_component


class Unprintable(Exception):
    """An error whose message cannot be had."""

    def __str__(self):
        raise SystemExit


class Raises(rankbench.Model):
    """Raises in one of several ways."""

    name = "raises"
    source = "A test"
    way: str = "own"

    def features(self, x):
        return getattr(self, f"in_{self.way}")(x)

    def in_own(self, x):
        return {}["design"]  # leaves own

    def in_library(self, x):
        return np.linalg.inv(np.zeros((2, 2)))  # leaves library

    def in_ours(self, x):
        return rankbench.Comparisons(None, None, None, None)[0]  # leaves ours

    def in_long(self, x):
        raise ValueError("x" * 10_000)  # leaves long

    def in_unprintable(self, x):
        try:
            {}["first"]
        except KeyError as error:
            raise Unprintable from error  # leaves unprintable


LINES = {
    line.rpartition("# leaves ")[2]: number
    for number, line in enumerate(Path(__file__).read_text(encoding="utf-8").splitlines(), 1)
    if re.search(r"  # leaves \w+$", line)
}
"""The line of this file by which each of them leaves."""


@pytest.mark.parametrize("way", LINES)
def test_a_reason_ends_with_the_innermost_line_of_the_contender(way):
    error = guarded(lambda: Raises(way=way).features(np.zeros((2, 2))))
    cell = failed("c", error)
    assert cell.status == "error"
    assert cell.reason.endswith(f" at test_guard.py:{LINES[way]}")
    assert len(cell.reason) <= LONGEST
    assert f'test_guard.py", line {LINES[way]}, in in_{way}' in cell.trace
    assert failed("c", error).reason == reason(error) == cell.reason  # nothing is said twice


def test_the_causes_are_in_the_trace():
    cell = failed("c", guarded(lambda: Raises(way="unprintable").features(None)))
    assert "KeyError: 'first'" in cell.trace
    assert cell.reason.startswith("Unprintable (its message cannot be shown) at ")


@pytest.mark.parametrize(
    ("error", "status"),
    [(ContenderDiverged("too large"), "diverged"), (SpecError("needs features"), "skipped")],
)
def test_what_is_no_error_has_no_place(error, status):
    def raising():
        raise error

    cell = failed("c", guarded(raising))
    assert (cell.status, cell.reason, cell.trace) == (status, str(error), "")


def test_what_we_say_of_a_contender_has_no_place():
    cell = failed("c", ContenderFailed("theta has the wrong shape"))
    assert (cell.reason, cell.trace) == ("theta has the wrong shape", "")
    assert reason(InputError("no such file")) == "InputError: no such file"


def test_an_error_of_ours_is_placed_where_the_contender_called_us():
    def raising():
        return rankbench.get(rankbench.Model, "no-such-model")

    found = guarded(raising)
    assert isinstance(found, SpecError)
    assert own_frame(found).tb_frame.f_code.co_name == "raising"


def test_every_check_that_fails_says_where():
    results = [one for one in check_component(Raises(way="own")) if one.status == "failed"]
    raised = [one for one in results if "KeyError" in one.reason]
    assert len(raised) >= 5
    for one in raised:
        assert f"test_guard.py:{LINES['own']}" in one.reason, one
        assert f'test_guard.py", line {LINES["own"]}, in in_own' in one.trace
