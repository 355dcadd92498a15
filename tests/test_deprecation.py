"""Deprecations: they say what to use and when it goes, they last as long as is promised, and no longer."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path

import pytest

import rankbench
from rankbench.deprecation import Deprecation, overdue

ROOT = Path(__file__).resolve().parent.parent


def test_a_function_warns_with_its_caller_s_line_and_works() -> None:
    @Deprecation("mine.old", since="0.2", goes="0.3", use="mine.new")
    def old(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    with pytest.warns(
        DeprecationWarning, match=r"^mine\.old is deprecated since 0\.2 and goes in 0\.3; use mine\.new$"
    ) as seen:
        assert old(1, b=3) == 4
    assert seen[0].filename == __file__
    assert (old.__name__, old.__doc__) == ("old", "Add.")


def test_a_class_warns_when_it_is_made_and_when_it_is_derived_from() -> None:
    @Deprecation("mine.Old", since="1.4", goes="2.0", use="mine.New")
    class Old:
        def __init__(self, a: int) -> None:
            self.a = a

        @classmethod
        def made(cls, a: int) -> Old:
            return cls(a)

    with pytest.warns(DeprecationWarning, match="use mine.New") as seen:
        assert Old(3).a == 3
    assert seen[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="goes in 2.0") as seen:

        class Derived(Old):
            pass

    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once, where the author can mend it
        assert Derived(4).a == 4


def test_what_is_no_function_warns_from_where_it_is_used() -> None:
    gone = Deprecation("the key [limits] of a suite", since="0.2", goes="0.4", use="[bounds]")

    def read() -> None:
        gone.warn()

    with pytest.warns(DeprecationWarning, match=r"use \[bounds\]") as seen:
        read()
    assert seen[0].filename == __file__


@pytest.mark.parametrize(
    ("since", "goes", "said"),
    [
        ("0.2", "0.2.5", "not before 0.3"),
        ("1.2", "1.9", "not before 2.0"),
        ("1.2", "1.3", "not before 2.0"),
        ("0.2", "soon", "Invalid version"),
        ("0.2", "0.1", "not before 0.3"),
    ],
)
def test_nothing_goes_sooner_than_is_promised(since: str, goes: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Deprecation("mine.old", since=since, goes=goes, use="mine.new")
    with pytest.raises(ValueError, match="not said what to use"):
        Deprecation("mine.old", since="0.2", goes="0.3", use="")


def test_what_is_overdue_is_known() -> None:
    made = Deprecation("late.old", since="0.2", goes="0.3", use="late.new")
    assert overdue("0.2.9", "late.") == []
    assert overdue("0.3", "late.") == overdue("1.0", "late.") == [made]


def test_nothing_stays_longer_than_it_was_said_to() -> None:
    """When this fails, take out what it names: its version has come."""
    for path in sorted((ROOT / "rankbench").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if not name.endswith("__main__"):
            importlib.import_module(name)
    assert [str(one) for one in overdue(rankbench.__version__, "rankbench.")] == []
