"""The machinery of the checks: outcomes, expected failures, counts, pytest, processes, suites."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from typing import ClassVar

import numpy as np
import pytest
from small_suites import suite_text

import rankbench
from rankbench import api
from rankbench.errors import InputError, SpecError
from rankbench.testing.check import (
    Check,
    CheckFailed,
    CheckResult,
    all_checks,
    check_component,
    checks_for,
    run_check,
    subject_of,
    summary,
    unexecuted,
)
from rankbench.testing.isolated import Isolated, Lost
from rankbench.testing.pytest_mark import parametrize_with_checks
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
    assert any(result.status == "skipped" and result.reason for result in check_component(Wavy))


def test_a_failure_says_what_is_wrong():
    failed = [result for result in check_component(Doubles()) if not result.ok]
    assert [(result.check, result.status) for result in failed] == [("shape-and-finiteness", "failed")]
    assert failed[0].reason == "12 items: dtype float64, not float32"


def test_an_expected_failure_is_none_and_an_unexpected_pass_is_one():
    expected = by_check(check_component(Doubles(), {"shape-and-finiteness": "float64 here"}))["shape-and-finiteness"]
    assert (expected.status, expected.ok, expected.executed) == ("expected", True, True)
    assert expected.reason == "float64 here (12 items: dtype float64, not float32)"
    passed = by_check(check_component(Sound(), {"shape-and-finiteness": "float64 here"}))["shape-and-finiteness"]
    assert passed.status == "failed"
    assert passed.reason == "it passes, but was expected to fail: float64 here"


def test_expected_failures_name_checks_of_the_kind():
    with pytest.raises(SpecError, match=r"no check 'shape-and-finitness'; did you mean 'shape-and-finiteness'"):
        check_component(Sound, {"shape-and-finitness": "a slip"})
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

    result, _ = run_check(subject_of(Sound), Check("raises", function, ()))
    assert result.status == "failed"
    assert result.reason.startswith(f"raised {type(error).__name__}")


def test_no_executed_check_is_a_failure():
    skipped = CheckResult("model/sound", "one", "skipped", "it does not say so")
    (failed,) = unexecuted("model/sound", [skipped])
    assert (failed.status, failed.reason) == ("failed", "no check was executed: it does not say so")
    assert unexecuted("model/sound", [skipped, CheckResult("model/sound", "two", "passed")]) == []
    with pytest.raises(SpecError, match="zero executed"):
        parametrize_with_checks([])


class Hangs(Isolated):
    """A process that is lost in every check but the first."""

    def call(self, function, *arguments):
        first = checks_for("model")[0].name
        if arguments[-1] == first:
            return CheckResult("model/sound", first, "passed")
        raise Lost("no result within 1 s")


def test_a_component_that_hangs_is_one_failure():
    results = list(Hangs(1.0).check("model", "sound"))
    assert [result.check for result in results] == [check.name for check in checks_for("model")]
    counts = Counter(result.status for result in results)
    assert (counts["failed"], counts["passed"]) == (1, 1)
    again, *untried = [result.reason for result in results if result.status == "skipped"]
    assert "no result within 1 s" in again
    assert {reason.partition(":")[0] for reason in untried} == {"not tried"}


def test_the_summary_counts():
    statuses = ["passed", "passed", "failed", "skipped", "expected"]
    results = [CheckResult("a", str(i), status) for i, status in enumerate(statuses)]
    assert summary(results) == "2 of 4 checks passed, 1 failed, 1 failed as expected; 1 skipped."


def test_every_check_has_a_name_and_a_sentence():
    for check in all_checks():
        assert check.function.__doc__.partition("\n")[0].endswith("."), check.name
        assert check.name == check.function.__name__.replace("_", "-")


def test_parametrized_tests_pass_skip_and_fail():
    mark = parametrize_with_checks([Doubles()])
    calls = {parameter.id: parameter.values[0] for parameter in mark.args[1]}
    mark = parametrize_with_checks([Wavy()], {"convex-at-random-chords": "not reached: it is skipped"})
    calls |= {parameter.id: parameter.values[0] for parameter in mark.args[1]}
    calls["model-doubles-documented"]()
    with pytest.raises(pytest.skip.Exception, match="it does not declare convex"):
        calls["surrogate-test-wavy-convex-at-random-chords"]()
    with pytest.raises(pytest.fail.Exception, match="model/doubles shape-and-finiteness: 12 items: dtype float64"):
        calls["model-doubles-shape-and-finiteness"]()
    (expected,) = [
        parameter.values[0]
        for parameter in parametrize_with_checks([Doubles()], {"shape-and-finiteness": "known"}).args[1]
        if "finiteness" in parameter.id
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


@pytest.mark.full
def test_what_numba_sets_up_is_not_the_components_doing():
    program = (
        "import rankbench; from rankbench.testing import check_component; "
        "print([str(r) for r in check_component(rankbench.get(rankbench.Aggregator, 'average-adjacency')) if not r.ok])"
    )
    fresh = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    shown = subprocess.run([sys.executable, "-c", program], env=fresh, capture_output=True, text=True, check=False)
    assert shown.stdout == "[]\n", shown.stderr


class Wavy(rankbench.PairwiseSurrogate):
    """A sine."""

    name: ClassVar[str] = "test-wavy"
    source: ClassVar[str] = "this test"

    def phi(self, margin):
        return np.sin(margin)

    def dphi(self, margin):
        return np.cos(margin)


SUITE = suite_text('use = "random-scores"', name="some-suite", dataset="web10k-like:queries=30")


def figure(said: str) -> tuple[str, str]:
    """Return what is replaced in the suite, and by what, so that it has a figure."""
    return "[100]", f'[100]\nfigures = [{{ file = "drawn", {said} }}]'


def claim(said: str) -> tuple[str, str]:
    """Return what is replaced in the suite, and by what, so that it has a claim."""
    return "[100]", f'[100]\nclaims = [{{ id = "A", text = "a", kind = "less", contrasts = [{{ {said} }}] }}]'


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("random-scores", "random-scors", "experiment 'a': unknown method 'random-scors'; did you mean"),
        ("[100]", '[100]\nlosses = ["ndgc"]', "experiment 'a': unknown loss 'ndgc'; did you mean 'ndcg'"),
        ("[100]", '[100]\nprotocol = "no-such"', "experiment 'a': unknown protocol 'no-such'"),
        ("web10k-like:queries=30", "web11k", "there is no such file or data set"),
        # What exists, but does not fit: these passed once.
        ("[100]", '[100]\nprotocol = "own-log"', "experiment 'a': protocol 'own-log' takes "),
        ('"random-scores"', '"random-scores:stream=[1,2]", tune = true', "protocol 'btl' chooses no parameters"),
        (
            '[100]\ncontenders = [{ use = "random-scores" }]',
            '[100]\nprotocol = "aggregation"\nlosses = ["ndcg"]\ncontenders = [{ use = "win-rate" }]',
            "experiment 'a': protocol 'aggregation' has no metric 'ndcg'",
        ),
        # What results are shown as: these passed, or were refused when all was computed.
        ("[100]", '[100]\nbaseline = "nobody"', "no contender is labelled 'nobody'"),
        ("[100]", '[100]\noracles = ["nob*"]', "no contender is labelled 'nob*'"),
        ("[100]", '[100]\nlosses = ["ndcg:cutoff=10", "ndcg:cutoff=10"]', "'ndcg:cutoff=10' is named twice"),
        ("[100]", '[100]\nconfirmed_by = ["two"]', "experiment 'a': confirmed_by: there is no experiment 'two'"),
        ('"random-scores"', '"random-scores", n = [200]', "a contender asks for n = 200"),
        ('{ use = "random-scores" }', '{ use = "erm" }, { use = "erm" }', "two contenders are labelled 'erm'"),
        (*figure('kind = "growth", series = ["nobody"]'), "no contender is labelled 'nobody'"),
        (*figure('kind = "growth", series = ["*"], metrics = ["err"]'), "the experiment does not compute 'err'"),
        (*figure('kind = "dots", metrics = ["err"]'), "figure 'drawn': the experiment does not compute 'err'"),
        (*figure('kind = "dots", against = "nobody"'), "no contender is labelled 'nobody'"),
        (*figure('kind = "risk", parameter = "lambda"'), "no contender has a number as parameter 'lambda'"),
        (
            *figure('kind = "curves", metrics = ["gap"], panels = [{ series = ["*"], n = [200] }]'),
            "a panel is of n = 200, which is not one of the experiment's n",
        ),
        (*claim('a = "nobody", b = "random-scores"'), "no contender is labelled 'nobody'"),
        (*claim('a = "random-scores", b = "random-scores", n_a = 100, n_b = 200'), "claim 'A' is about n = 200"),
        (*claim('a = "random-scores", b = "random-scores"'), "claim 'A' compares 'random-scores' with itself"),
    ],
)
def test_what_a_plan_would_refuse_fails(old, new, said, tmp_path):
    """The check, the plan and so the run say one thing, before data are read."""
    assert old in SUITE
    path = tmp_path / "some-suite.toml"
    path.write_text(SUITE)
    assert all(result.ok for result in check_component(path))
    path.write_text(SUITE.replace(old, new))
    failed = {result.check: result.reason for result in check_component(path) if not result.ok}
    assert said in failed["loads"]
    with pytest.raises((SpecError, InputError)) as caught:
        api.planned(str(path))
    assert said in str(caught.value)
