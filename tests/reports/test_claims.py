"""Claims against data whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import synthetic
from synthetic import Contender, Plan

from rankbench.reports.analysis import answers
from rankbench.reports.verdicts import JudgedClaim

QUERIES = {"design": 60, "heldout": 50}


def ask(folder: Path, contenders: list[Contender], *claims: dict[str, Any], **plan: Any) -> list[JudgedClaim]:
    """Write a journal in which only `claims` are asked, and return their answers."""
    return ask_of(folder, asking(contenders, *claims, **plan), QUERIES, lambda block: None)


def asking(contenders: list[Contender], *claims: dict[str, Any], **plan: Any) -> Plan:
    options = {"n": (200_000, 400_000), "repetitions": 10, "baseline": ""} | plan
    asked = [{"id": f"C{i}", "text": "It is so.", "kind": "less"} | claim for i, claim in enumerate(claims)]
    return Plan("e", contenders, extra={"claims": asked}, **options)


def ask_of(
    folder: Path, plan: Plan, queries: dict[str, int], change: Callable[[synthetic.BlockResult], object]
) -> list[JudgedClaim]:
    """Return the answers to a plan's claims, each block changed before it is stored."""
    members, blocks = synthetic.blocks_of(plan, queries)
    with synthetic.Store(folder) as store:
        store.begin(synthetic.record([plan], queries), members)
        for block in blocks:
            change(block)
            store.commit(block)
    return answers(synthetic.experiments(folder)[0])


def two(effect: float = 0.0, **more: Any) -> list[Contender]:
    return [Contender("a", {"k": 1}, effect, **more), Contender("b", {"k": "inf"})]


def verdicts(found: list[JudgedClaim]) -> list[str]:
    return [answer.verdict for answer in found]


@pytest.mark.parametrize(("effect", "expected"), [(-0.05, "held"), (0.05, "did not hold"), (0.0, "could not tell")])
def test_less(tmp_path: Path, effect: float, expected: str) -> None:
    found = ask(tmp_path, two(effect), {"contrasts": [{"a": "a", "b": "b"}]})
    assert verdicts(found) == [expected, expected]
    assert [answer.split for answer in found] == ["design", "heldout"]
    finding = found[0].findings[0]
    assert finding.text == "a vs b, n = 200,000"
    assert finding.estimate == pytest.approx(effect, abs=0.004)
    assert finding.lower < finding.estimate < finding.upper
    assert finding.lower_draws < finding.estimate < finding.upper_draws
    assert len(found[0].findings) == 2  # each n


def test_less_needs_every_contrast(tmp_path: Path) -> None:
    contenders = [*two(-0.05), Contender("c", {"k": 3}, -0.05), Contender("d", {"k": 4}, -0.1)]
    claim = {"contrasts": [{"a": "a", "b": "b"}, {"a": "a", "b": "c"}]}
    assert verdicts(ask(tmp_path / "x", contenders, claim)) == ["could not tell"] * 2
    claim["contrasts"].append({"a": "a", "b": "d"})
    assert verdicts(ask(tmp_path / "y", contenders, claim)) == ["did not hold"] * 2


PLACES = [100, 300, 1000]


def flat(places: list[int], **more: Any) -> dict[str, Any]:
    contrasts = [{"a": "k=100", "b": "k=300"} | more, {"a": "k=300", "b": "k=1000"} | more]
    return {"kind": "flat", "margin": 0.02, "places": places, "contrasts": contrasts}


@pytest.mark.parametrize(("slope", "expected"), [(0.001, "held"), (0.05, "did not hold"), (-0.05, "did not hold")])
def test_a_flat_claim_is_about_the_slope_of_the_least_squares_line(tmp_path: Path, slope: float, expected: str) -> None:
    contenders = [Contender(f"k={k}", {"k": k}, slope * math.log10(k)) for k in PLACES]
    found = ask(tmp_path, contenders, flat(PLACES))
    assert verdicts(found) == [expected, expected]
    data = synthetic.experiments(tmp_path)[0]
    for finding, n in zip(found[0].findings, (200_000, 400_000), strict=True):
        each_k = [data.runs((n, f"k={k}")) for k in PLACES]
        means = [data.means(runs, "ndcg", "design", tuple(range(10))).mean() for runs in each_k if runs is not None]
        assert finding.text == f"slope at n = {n:,}"
        assert finding.estimate == pytest.approx(np.polyfit(np.log10(PLACES), means, 1)[0], abs=1e-12)


def test_a_slope_needs_a_number_for_each_contender_and_one_n(tmp_path: Path) -> None:
    contenders = [Contender(f"k={k}", {"k": k}) for k in PLACES]
    found = ask(tmp_path, contenders, flat([100, 1000]), flat(PLACES, at="last-first"))
    assert verdicts(found) == ["could not tell"] * 4
    assert "2 places are given for 3 contenders" in found[0].notes[0]
    assert "a slope is of contenders at one n" in found[2].notes[0]


def test_intervals_are_simultaneous(tmp_path: Path) -> None:
    contenders = [Contender(f"c{i}", {"k": i}) for i in range(6)] + two()[:1]
    one = ask(tmp_path / "1", contenders, {"contrasts": [{"a": "a", "b": "c0", "at": "first"}]})
    many = ask(tmp_path / "6", contenders, {"contrasts": [{"a": "a", "b": f"c{i}"} for i in range(6)]})
    width = [found[0].findings[0].upper - found[0].findings[0].lower for found in (one, many)]
    assert width[1] > 1.2 * width[0]


def test_held_needs_own_intervals_and_the_contrary_simultaneous_ones(tmp_path: Path) -> None:
    """Ten contrasts, each clear alone and none clear together: they hold, their opposites do not fail."""
    others = [Contender(f"c{i}", {"k": i}) for i in range(5)]
    forth = [{"a": "a", "b": other.label} for other in others]
    back = [{"a": contrast["b"], "b": contrast["a"]} for contrast in forth]
    plan = asking([*two()[:1], *others], {"contrasts": forth}, {"contrasts": back}, n=(1, 2))
    rng = np.random.default_rng(3)
    queries = rng.normal(size=(5, 60))
    queries = (queries - queries.mean(axis=1, keepdims=True)) / queries.std(axis=1, keepdims=True)

    def shift(block: synthetic.BlockResult) -> None:
        first, *rest = block.cells
        for cell, query in zip(rest, queries, strict=True):
            # 2.4 standard errors: beyond 2.0 (alone), not beyond about 2.6 (ten, two by two alike)
            noise = rng.normal(0, 1e-5)
            cell.losses["ndcg", "design"] = first.losses["ndcg", "design"] + 0.02 * (query + 2.4 / 60**0.5) + noise

    found = ask_of(tmp_path, plan, {"design": 60}, shift)
    assert verdicts(found) == ["held", "could not tell"]
    assert all(f.own_upper < 0 < f.upper for f in found[0].findings)
    assert all(f.lower < f.own_lower < f.estimate < f.own_upper < f.upper for f in found[0].findings)
    assert found[1].against == ()


def test_the_contrast_that_decided(tmp_path: Path) -> None:
    contenders = [*two(-0.05), Contender("c", {"k": 3}, -0.08), Contender("d", {"k": 4}, -0.2)]
    contrasts = [{"a": "a", "b": label, "at": "first"} for label in "bcd"]
    found = ask(tmp_path, contenders, {"contrasts": contrasts})
    assert found[0].verdict == "did not hold"
    assert found[0].against == ("a vs d, n = 200,000", "a vs c, n = 200,000")


def test_draws_alone_would_have_said_otherwise(tmp_path: Path) -> None:
    """A difference that is certain for these queries and not for others."""
    rng = np.random.default_rng(0)
    shift = rng.normal(-0.004, 0.05, 60)

    def moved(block: synthetic.BlockResult) -> None:
        a, b = (cell.losses for cell in block.cells)
        a["ndcg", "design"] = b["ndcg", "design"] + shift - shift.mean() - 0.004 + rng.normal(0, 1e-3)

    plan = asking(two(), {"contrasts": [{"a": "a", "b": "b"}]}, n=(100,))
    (found,) = ask_of(tmp_path, plan, {"design": 60}, moved)
    assert (found.verdict, found.by_draws) == ("could not tell", "held")


@pytest.mark.parametrize(("at", "count"), [("each", 2), ("first", 1), ("last", 1), ("last-first", 1)])
def test_places(tmp_path: Path, at: str, count: int) -> None:
    found = ask(tmp_path, two(-0.05), {"contrasts": [{"a": "a", "b": "b", "at": at}]})
    assert len(found[0].findings) == count
    expected = {"each": -0.05, "first": -0.05, "last": -0.05 / math.sqrt(2), "last-first": 0.05 * (1 - 0.5**0.5)}
    assert found[0].findings[0].estimate == pytest.approx(expected[at], abs=0.006)


def test_across_declared_n(tmp_path: Path) -> None:
    contrast = {"a": "a", "b": "a", "n_a": 400_000, "n_b": 200_000}
    found = ask(tmp_path, two(0.05), {"contrasts": [contrast]})
    assert verdicts(found) == ["held", "held"]
    assert found[0].findings[0].text == "a at n = 400,000 vs a at n = 200,000"


def test_wider(tmp_path: Path) -> None:
    contenders = [Contender("a", {}, sd_draws=0.05), Contender("b", {}, sd_draws=0.004)]
    claim = {"kind": "wider", "contrasts": [{"a": "a", "b": "b", "at": "last"}]}
    found = ask(tmp_path / "1", contenders, claim, repetitions=20)
    assert verdicts(found) == ["held", "held"]
    assert found[0].findings[0].estimate > 3
    assert found[0].findings[0].lower > 1
    claim["contrasts"] = [{"a": "b", "b": "a"}]
    assert verdicts(ask(tmp_path / "2", contenders, claim, repetitions=20)) == ["did not hold"] * 2
    assert verdicts(ask(tmp_path / "3", contenders, claim, repetitions=4)) == ["could not tell"] * 2


@pytest.mark.parametrize(
    ("effect", "margin", "expected"),
    [(0.0, 0.02, "held"), (0.05, 0.02, "did not hold"), (0.0, 0.0005, "could not tell")],
)
def test_equivalent(tmp_path: Path, effect: float, margin: float, expected: str) -> None:
    claim = {"kind": "equivalent", "margin": margin, "contrasts": [{"a": "a", "b": "b", "at": "first"}]}
    assert verdicts(ask(tmp_path, two(effect), claim)) == [expected] * 2


@pytest.mark.parametrize(
    ("margin", "metric", "expected"),
    [
        (0.3, "exact-gap-last", "held"),
        (0.01, "exact-gap-last", "could not tell"),
        (0.3, "unheard-of", "could not tell"),
    ],
)
def test_coincide(tmp_path: Path, margin: float, metric: str, expected: str) -> None:
    contenders = [Contender(f"k{k}", {"k": k}, curves=True) for k in (1, 10)]
    steps = synthetic.STEPS[[20, 45]].tolist()
    contrasts = [{"a": "k1", "b": "k10"}, {"a": "k1", "b": "k1", "n_a": 200_000, "n_b": 400_000}]
    claim = {"kind": "coincide", "margin": margin, "metric": metric, "steps": steps, "contrasts": contrasts}
    (found,) = ask(tmp_path, contenders, claim)
    assert found.verdict == found.by_draws == expected
    assert found.split is None
    if metric == "exact-gap-last":
        assert len(found.findings) == 3 * 2
        values = [np.mean([synthetic.curve_values(k, 200_000, r) for r in range(10)], axis=0) for k in (1.0, 10.0)]
        assert found.findings[0].estimate == pytest.approx(values[0][20] / values[1][20])
        assert found.findings[0].lower < found.findings[0].estimate < found.findings[0].upper
    else:
        assert "has no curve" in found.notes[0]


def test_curves_that_differ(tmp_path: Path) -> None:
    claim = {"kind": "coincide", "margin": 0.2, "metric": "exact-gap-last", "steps": [1000],
             "contrasts": [{"a": "a", "b": "a", "n_a": 1, "n_b": 2}]}  # fmt: skip

    def larger(block: synthetic.BlockResult) -> None:
        if block.key.n == 2:
            block.cells[0].curves["exact-gap-last"].values[:] *= 4

    plan = asking([Contender("a", {"k": 1}, curves=True)], claim, n=(1, 2), repetitions=6)
    (found,) = ask_of(tmp_path, plan, {"design": 5}, larger)
    assert found.verdict == "did not hold"
    assert found.findings[0].estimate == pytest.approx(0.25, rel=0.3)


SAME = [
    Contender("k100", {"k": 100, "x": 1}, -0.05, share_complete=1.0, cell_of="inf"),
    Contender("inf", {"k": "inf", "x": 1}, -0.05, share_complete=1.0),
    Contender("b", {"k": 1, "x": 1}),
]
"""The first is the same as the second."""


def test_cells_equal_to_infinity_are_left_out_and_said_so(tmp_path: Path) -> None:
    same, other = {"a": "k100", "b": "inf"}, {"a": "k100", "b": "b"}
    found = ask(tmp_path / "1", SAME, {"contrasts": [same, other]})
    assert verdicts(found) == ["held", "held"]
    assert len(found[0].findings) == 2
    assert any("left out" in note and "the same" in note for note in found[0].notes)
    found = ask(tmp_path / "2", SAME, {"contrasts": [same]})
    assert verdicts(found) == ["could not tell"] * 2
    assert found[0].findings == ()


def test_what_equals_infinity_counts_once(tmp_path: Path) -> None:
    once, twice = [{"a": "inf", "b": "b"}], [{"a": label, "b": "b"} for label in ("k100", "inf", "inf")]
    one, two = (ask(tmp_path / str(len(given)), SAME, {"contrasts": given})[0] for given in (once, twice))
    assert [f.text for f in two.findings] == ["k100 vs b, n = 200,000", "k100 vs b, n = 400,000"]
    assert [(f.lower, f.upper) for f in two.findings] == [(f.lower, f.upper) for f in one.findings]
    why = "left out, no query has so many judgments and this is the same as k100 vs b, n = 200,000"
    assert f"inf vs b, n = 200,000: {why}" in two.notes
    assert (one.verdict, two.verdict) == ("held", "held")


def test_a_claim_does_not_hold_on_a_part_of_its_contrasts(tmp_path: Path) -> None:
    contenders = [*two(-0.05), Contender("c", {}, fails={3: ("diverged", "nan")})]
    claim = {"contrasts": [{"a": "a", "b": "b"}, {"a": "a", "b": "c"}, {"a": "a", "b": "nobody"}]}
    found = ask(tmp_path, contenders, claim)
    assert verdicts(found) == ["could not tell"] * 2
    assert len(found[0].findings) == 2
    assert any("c at n = 200,000 is diverged" in note for note in found[0].notes)
    assert any("not in this run" in note for note in found[0].notes)


@pytest.mark.parametrize(("share", "expected"), [(0.5, "held"), (0.999, "could not tell")])
def test_wins(tmp_path: Path, share: float, expected: str) -> None:
    claim = {"kind": "wins", "share": share, "contrasts": [{"a": "a", "b": "b", "at": "first"}]}
    found = ask(tmp_path, two(-0.05), claim)
    assert verdicts(found) == [expected] * 2
    assert (found[0].findings[0].estimate, found[0].findings[0].upper) == (1, 1)
    assert found[0].findings[0].lower == pytest.approx(0.025 ** (1 / 10))  # of ten repetitions


def test_wins_of_overlapping_splits_are_counted_only(tmp_path: Path) -> None:
    plan = asking(two(-0.05), {"kind": "wins", "contrasts": [{"a": "a", "b": "b", "at": "first"}]})
    members, blocks = synthetic.blocks_of(plan, QUERIES)
    with synthetic.Store(tmp_path) as store:
        store.begin(synthetic.record([plan], QUERIES, test_share=0.25), members)
        for block in blocks:
            store.commit(block)
    found = answers(synthetic.experiments(tmp_path)[0])
    assert verdicts(found) == ["could not tell"] * 2
    assert "not independent: a vs b, n = 200,000: 10 of 10" in found[0].notes[0]


@pytest.mark.parametrize(("exponent", "expected"), [(0.7, "held"), (0.9, "did not hold")])
def test_rate(tmp_path: Path, exponent: float, expected: str) -> None:
    contenders = [Contender(f"k{k}", {"k": k}, curves=True) for k in (1, 10)]
    steps = synthetic.STEPS[-12:].tolist()
    claim = {"kind": "rate", "exponent": exponent, "metric": "exact-gap-last", "steps": steps,
             "contrasts": [{"a": "k1", "b": "k10"}]}  # fmt: skip
    (found,) = ask(tmp_path, contenders, claim)
    assert found.verdict == expected
    assert [f.text for f in found.findings] == [f"k{k} at n = {n:,}" for n in (200_000, 400_000) for k in (1, 10)]
    assert found.findings[0].estimate == pytest.approx(-0.8, abs=0.05)
