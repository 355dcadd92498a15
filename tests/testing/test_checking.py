"""The machinery of the checks: outcomes, expected failures, counts, pytest's parametrization, fresh processes."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import rankbench
from rankbench.errors import SpecError
from rankbench.testing.check import (
    Check,
    CheckFailed,
    CheckResult,
    all_checks,
    check_component,
    checks_for,
    parametrize_with_checks,
    run_check,
    subject_of,
    summary,
    unexecuted,
)
from rankbench.testing.checks.compiled import Guarded
from rankbench.testing.state import State


class Sound(rankbench.Model):
    """The features, copied."""

    name = "sound"
    source = "A test"

    def features(self, x):
        return x.copy()


class Doubles(Sound):
    """The features in double precision."""

    name = "doubles"

    def features(self, x):
        return x.astype(np.float64)


def by_check(results):
    return {result.check: result for result in results}


def test_a_sound_component_passes_whatever_is_executed():
    results = check_component(Sound)
    assert all(result.ok for result in results)
    assert {result.check for result in results} == {check.name for check in checks_for("model")}
    assert {result.component for result in results} == {"model/sound"}
    assert any(result.status == "skipped" and result.reason for result in results)


def test_a_failure_says_what_is_wrong():
    failed = [result for result in check_component(Doubles()) if not result.ok]
    assert [(result.check, result.status) for result in failed] == [("features-are-float32", "failed")]
    assert failed[0].reason == "12 items: dtype float64, not float32"


def test_an_expected_failure_is_none_and_an_unexpected_pass_is_one():
    expected = by_check(check_component(Doubles(), {"features-are-float32": "float64 here"}))["features-are-float32"]
    assert (expected.status, expected.ok, expected.executed) == ("expected", True, True)
    assert expected.reason == "float64 here (12 items: dtype float64, not float32)"
    passed = by_check(check_component(Sound(), {"features-are-float32": "float64 here"}))["features-are-float32"]
    assert passed.status == "failed"
    assert passed.reason == "it passes, but was expected to fail: float64 here"


def test_expected_failures_name_checks_of_the_kind():
    with pytest.raises(SpecError, match=r"no check 'features-are-flaot32'; did you mean 'features-are-float32'"):
        check_component(Sound, {"features-are-flaot32": "a slip"})
    with pytest.raises(SpecError, match="'convex-at-random-chords' is not for a model"):
        check_component(Sound, {"convex-at-random-chords": "a slip"})


@pytest.mark.parametrize("nothing", [3, "sound", object, rankbench.Component])
def test_what_is_no_component_cannot_be_checked(nothing):
    with pytest.raises(SpecError):
        check_component(nothing)


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), RecursionError()])
def test_whatever_is_raised_is_a_failure(error):
    def function(subject):
        raise error

    result = run_check(subject_of(Sound), Check("raises", function, (), "tests"))
    assert result.status == "failed"
    assert result.reason.startswith(f"raised {type(error).__name__}")


def test_no_executed_check_is_a_failure():
    skipped = CheckResult("model/sound", "one", "skipped", "it does not say so")
    (failed,) = unexecuted("model/sound", [skipped])
    assert (failed.status, failed.reason) == ("failed", "no check was executed: it does not say so")
    assert unexecuted("model/sound", [skipped, CheckResult("model/sound", "two", "passed")]) == []
    with pytest.raises(SpecError, match="zero executed"):
        parametrize_with_checks([])


def test_the_summary_counts():
    statuses = ["passed", "passed", "failed", "skipped", "expected"]
    results = [CheckResult("a", str(i), status) for i, status in enumerate(statuses)]
    assert summary(results) == "4 executed (2 passed, 1 failed, 1 failed as expected), 1 skipped"


def test_every_check_has_a_name_a_sentence_and_a_family():
    for check in all_checks():
        assert check.summary.endswith("."), check.name
        assert check.name == check.function.__name__.replace("_", "-")
        assert check.family


def test_parametrized_tests_pass_skip_and_fail():
    mark = parametrize_with_checks([Doubles()], {"numbers-are-bounded": "not reached: it is skipped"})
    calls = {parameter.id: parameter.values[0] for parameter in mark.args[1]}
    calls["model-doubles-documented"]()
    with pytest.raises(pytest.skip.Exception, match="no parameter is a float"):
        calls["model-doubles-numbers-are-bounded"]()
    with pytest.raises(pytest.fail.Exception, match="model/doubles features-are-float32: 12 items: dtype float64"):
        calls["model-doubles-features-are-float32"]()
    (expected,) = [
        parameter.values[0]
        for parameter in parametrize_with_checks([Doubles()], {"features-are-float32": "known"}).args[1]
        if "float32" in parameter.id
    ]
    with pytest.raises(pytest.xfail.Exception, match="known"):
        expected()


class Raises(Sound):
    """The features, if they have a column that they have not."""

    name = "raises"

    def features(self, x):
        return x[:, [{}["design"]]]


def test_a_failing_test_is_raised_from_what_the_component_raised_and_a_debugger_stops_there():
    calls = {parameter.id: parameter.values[0] for parameter in parametrize_with_checks([Raises()]).args[1]}
    with pytest.raises(CheckFailed, match=r"raised KeyError: 'design' at test_checking\.py:\d+$") as raised:
        calls["model-raises-same-input-same-result"]()
    assert isinstance(raised.value.__cause__, KeyError)
    # What `pytest --pdb` stops in: the last entry of the exception's own traceback.
    assert raised.traceback[-1].name == "features"
    assert raised.traceback[-1].frame.f_locals["self"] == Raises()


class Debugged(Sound):
    """Quits the debugger of pytest."""

    name = "debugged"

    def features(self, x):
        pytest.exit("Quitting debugger")


def test_who_quits_a_debugger_ends_the_session_instead_of_one_check():
    calls = {parameter.id: parameter.values[0] for parameter in parametrize_with_checks([Debugged()]).args[1]}
    for name in ("same-input-same-result", "edge-cases"):
        with pytest.raises(pytest.exit.Exception, match="Quitting debugger"):
            calls[f"model-debugged-{name}"]()


def test_guards_notice_writes_on_either_side():
    for at in (-1, 5):
        guarded = Guarded()
        inner = guarded.array("out", 5, 0.0)
        guarded.check("before")
        inner.base[64 + at] = 1.0
        with pytest.raises(CheckFailed, match="writes beyond out, which has 5 elements"):
            guarded.check("after")


@pytest.mark.parametrize(
    ("touch", "said"),
    [
        (lambda patch: patch.setenv("RANKBENCH_TEST_STATE", "1"), "the environment (RANKBENCH_TEST_STATE)"),
        (lambda patch: np.random.random(), "numpy.random's global state"),  # noqa: NPY002
        (lambda patch: np.seterr(over="raise"), "NumPy's floating-point error settings (over)"),
        (lambda patch: patch.chdir("/"), "the working directory"),
    ],
)
def test_a_changed_setting_is_named(touch, said, monkeypatch):
    settings = np.geterr()
    before = State.now()
    try:
        touch(monkeypatch)
        assert before.changes() == [said]
    finally:
        np.seterr(**settings)


def test_what_numba_sets_up_is_not_the_components_doing():
    program = (
        "import rankbench; from rankbench.testing import check_component; "
        "print([str(r) for r in check_component(rankbench.get(rankbench.Aggregator, 'average-adjacency')) if not r.ok])"
    )
    fresh = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    shown = subprocess.run([sys.executable, "-c", program], env=fresh, capture_output=True, text=True, check=False)
    assert shown.stdout == "[]\n", shown.stderr
