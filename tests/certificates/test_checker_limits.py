"""The checker refuses what would make it slow or large: rubbish, long numbers, large files, sums without end."""

from __future__ import annotations

import itertools
import json
import random
from fractions import Fraction

import pytest
from amounts import part_of
from certify_laws import THEIRS, changed, refused

from rankbench.certificates.check import check, check_file
from rankbench.certificates.checking.numbers import Rejected


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"schema": "rankbench-certificate/1", "schema": "rankbench-certificate/1"}',
        b'{"schema": "rankbench-certificate/1", "items": 3.0}',
        b'{"schema": "rankbench-certificate/1", "items": ' + b"9" * 1_000_000 + b"}",
        b'{"schema": "rankbench-certificate/1", "gap": NaN}',
    ],
)
def test_rubbish_is_rejected(content):
    with pytest.raises(Rejected):
        check(content)


def test_numbers_of_a_million_digits_are_rejected(violation):
    for text in ("9" * 1_000_000, "1/" + "9" * 1_000_000, "0." + "9" * 1_000_000):
        for place in ("gap", "bounds/0/slopes/0/0"):
            refused(changed(violation, {place: text}), "no number")


def test_a_file_of_100_mb_or_without_end_is_not_read(tmp_path):
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    for large in (path, "/dev/zero"):
        with pytest.raises(Rejected, match="at most 4,000,000 bytes"):
            check_file(large)


@pytest.mark.parametrize(
    "expression",
    [
        "exp(exp(exp(exp(-t))))",
        "exp(t) ** 64 ** 64",
        "10 ** 1000000000",
        "log(0)",
        "(t - t) / (t - t)",
        "abs(abs(abs(t)))",
        "max(t, -t)",
        "-".join(["t"] * 60),
        "t" * 300,
        "lambda: t",
        "'a' * 1000000000",
    ],
)
def test_expressions_that_would_take_long_are_refused(violation, expression):
    refused(changed(violation, {**THEIRS, "phis": [{"expression": expression, "infimum": "0"}]}))


@pytest.mark.full
def test_denominators_that_grow_are_rejected(violation):
    rng = random.Random(1)

    def part() -> str:
        return f"1/{rng.randrange(10**56, 10**57) | 1}"

    pairs = [f"{i}>{j}" for i in range(1, 6) for j in range(1, 6) if i != j]
    mu = [{"weight": "1/60", "structure": {pair: part() for pair in pairs}} for _ in range(60)]
    loss = {"name": "pairwise", "normalize": True}
    refused({**violation, "items": 5, "noise": "any", "loss": loss, "mu": mu}, "common denominator")
    other = changed(violation, {**THEIRS, "surrogate/rule": None})
    other["mu"] = [{"weight": "1/60", "structure": {"1>2": "1"}}] * 60
    term = {"form": [1, -1, 0], "offset": "0", "phi": 0}
    other["seen"] = [
        {
            **entry,
            "surrogate": {
                "terms": [{**term, "factor": part()} for _ in range(480)],
                "linear": ["0", "0", "0"],
                "entropy": "0",
            },
        }
        for entry in other["mu"]
    ]
    refused(other, "denominator")


@pytest.mark.full
def test_true_risks_of_five_items_with_long_discounts_are_followed(violation):
    rng = random.Random(1)
    table = [f"1/{n}" for n in sorted(rng.randrange(10**56, 10**57) for _ in range(5))]
    mu = [{"weight": "1/60", "structure": [str(rng.randrange(90)) for _ in range(5)]} for _ in range(60)]
    refused({**violation, "items": 5, "loss": {"name": "err", "top": 97, "discounts": table}, "mu": mu})


def test_laws_that_would_take_long_are_refused(violation):
    many = [{"weight": "1/60", "structure": {"1>2": "1"}} for _ in range(60)]
    refused({**violation, "mu": many, "aggregation": {"name": "average-adjacency", "k": 100}}, "too many ways")
    refused({**violation, "mu": [*many, *many]}, "1 to 60")
    bounds = [{**violation["bounds"][0], "order": str(at)} for at in range(10_000)]
    refused({**violation, "bounds": bounds}, "too many slopes")
    refused({**violation, "phis": violation["phis"] * 100}, "at most 4")


@pytest.mark.full
def test_formulas_of_five_items_are_followed(violation):
    rng = random.Random(1)
    pairs = [f"{i}>{j}" for i in range(1, 6) for j in range(1, 6) if i != j]
    weights = [{pair: f"{rng.randrange(1, 999)}.{rng.randrange(10**6)}" for pair in pairs} for _ in range(60)]
    mu = [{"weight": "1/60", "structure": graph} for graph in weights]
    mean = {pair: sum(Fraction(graph[pair]) for graph in weights) for pair in pairs}
    cost = {
        order: sum(mean[f"{b}>{a}"] for a, b in itertools.combinations(order, 2))
        for order in itertools.permutations(range(1, 6))
    }
    best = min(cost, key=cost.__getitem__)
    cut = {"weight": "1/16", "point": ["1/7", "0", "2/7", "0", "0"], "value": "1/100", "gradient": ["0"] * 5}
    other = {key: value for key, value in violation.items() if key not in ("seen", "phis", "risk")}
    other |= {"items": 5, "noise": "any", "arithmetic": "numerical", "mu": mu, "alpha": ["0"] * 5, "gap": "1/100"}
    other |= {"alpha_value": "1", "bounds": [{"order": ">".join(map(str, best)), "cuts": [cut] * 16}]}
    who = {**violation["surrogate"], "rule": None}
    for parameters, why in part_of(
        [
            ({"form": "margin", "power": "1/2", "scale": "1"}, "formula"),
            ({"form": "margin", "power": "1/2", "scale": "1", "more": "x"}, "other keys"),
            ({"form": "weighted", "power": "1000000000", "scale": "1"}, "power must be"),
        ]
    ):
        refused({**other, "surrogate": {**who, "parameters": parameters}}, why)
    other["bounds"][0]["cuts"] = [cut] * 50
    refused(
        {**other, "surrogate": {**who, "parameters": {"form": "margin", "power": "1/2", "scale": "1"}}}, "too many cuts"
    )


def test_what_is_printed_of_a_certificate_is_short(violation):
    parameters = {"x": "y" * 10**6, "z": [1] * 10**5}
    other = changed(violation, {**THEIRS, "surrogate/distribution": "x" * 10**6, "surrogate/parameters": parameters})
    assert len(check(json.dumps(other).encode()).about) < 500
    other["surrogate"]["parameters"] = {str(key): "x" for key in range(51)}
    refused(other, "at most 50")
