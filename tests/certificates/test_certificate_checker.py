"""The checker: independent, and not to be taken in, slowed down or filled up."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from fractions import Fraction
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
from certify_laws import GONE, PHIS, THEOREM_2, THEOREM_3, changed, disagreement, least, pairwise_risk, sides

import rankbench
from rankbench.certificates.check import check, main
from rankbench.certificates.checking.law import true_risks
from rankbench.certificates.checking.numbers import Rejected

ROOT = Path(__file__).resolve().parents[2]


def test_it_imports_the_standard_library_and_mpmath_alone():
    program = (
        "import sys; before = set(sys.modules); import rankbench.certificates.check, mpmath; "
        "print(*(set(sys.modules) - before))"
    )
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    taken = shown.stdout.split()
    others = {name.partition(".")[0] for name in taken} - sys.stdlib_module_names
    assert others <= {"rankbench", "mpmath", "gmpy2"}
    checking = ("", ".bounds", ".cells", ".law", ".numbers", ".rules", ".theorems")
    own = {f"rankbench{end}" for end in ("", ".certificates", ".certificates.check")}
    own |= {f"rankbench.certificates.checking{end}" for end in checking}
    assert {name for name in taken if name.startswith("rankbench")} == own


def test_the_search_takes_nothing_of_the_checker_but_its_answer():
    """And its errors; what writes or draws a certificate reads its law as the checker does."""
    for path in (ROOT / "rankbench" / "certificates").glob("*.py"):
        if path.name not in ("check.py", "certificate.py", "picture.py"):
            taken = re.findall(r"certify\.checking\S* import (.*)", path.read_text(encoding="utf-8"))
            assert set(taken) <= {"Rejected", "Rejected, Uncheckable"}, path.name


def test_it_runs_alone(tmp_path, violation):
    path = tmp_path / "cert.json"
    path.write_text(json.dumps(violation))
    command = [sys.executable, "-m", "rankbench.certificates.check", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout) == (
        0,
        f"{path}: VIOLATION: proved\n"
        "  about: pairwise-logistic (form=weighted, h=power, power=1, scale=1); loss pairwise (normalize=False); "
        "3 items; noise low\n",
    )
    path.write_text(json.dumps({**violation, "gap": "1"}))
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 1
    assert "rejected: the gap" in done.stdout


def leaves(value: object, path: tuple = ()) -> list[tuple]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in [(*path, key), *leaves(inner, (*path, key))]]
    if isinstance(value, list):
        return [leaf for at, inner in enumerate(value) for leaf in [(*path, at), *leaves(inner, (*path, at))]]
    return [path]


WORDS = ["low", "dag", "any", "VIOLATION", "CONSISTENT_AT_MU", "1>2>3", "3>2>1", "ndcg"]
ANYTHING = [None, True, 0, 1, -1, "0", "1", "-1", "1/2", "x", [], {}, "9" * 500]


def altered(content: dict, rng: random.Random) -> dict:
    """Change one place at random: a number by a little or a lot, another word, gone, or doubled."""
    path = rng.choice([p for p in leaves(content) if p and p[0] not in ("searched", "versions", "seed")])
    holder = reduce(getitem, path[:-1], content)
    value, kind = holder[path[-1]], rng.randrange(6)
    try:
        number = Fraction(value)
        steps = (Fraction(1, 10**9), number, -2 * number, -2 * number / 3, Fraction(1), -number, 999 * number)
        other = number + rng.choice(steps)
        found = int(other) if isinstance(value, int) else str(other)
    except (TypeError, ValueError):
        found = rng.choice(WORDS)
    if kind == 0 and isinstance(holder, dict):
        found = GONE
    elif kind == 1 and isinstance(holder, list):
        path, found = path[:-1], [*holder, rng.choice(holder)]
    elif kind == 2:
        found = rng.choice(ANYTHING)
    return changed(content, {"/".join(map(str, path)): found})


def claim_holds(content: dict) -> bool:
    """Decide with SciPy and floats whether what a certificate about pairwise surrogates claims is so."""
    mu, name, m = content["mu"], content["surrogate"]["name"], content["items"]
    if content["loss"]["name"] != "pairwise" or name not in PHIS:
        return False
    right, wrong = sides(mu, m, disagreement)
    if content["aggregation"] is not None and content["aggregation"]["name"] != "average-adjacency":
        return False
    risk = pairwise_risk(PHIS[name], mu, content["surrogate"]["parameters"]["form"] == "margin")
    winning, losing = (right, wrong) if content["verdict"] == "CONSISTENT_AT_MU" else (wrong, right)
    at = risk([float(Fraction(a)) for a in content["alpha"]])
    gap = float(Fraction(content["gap"]))
    bound = min((least(risk, order) for order in losing), default=-1.0)
    return bool(winning) and at <= float(Fraction(content["alpha_value"])) + 1e-9 and bound - at >= gap - 1e-8


def survivors(content: dict, count: int, seed: int) -> int:
    """Return how many alterations were accepted, all of which must be true."""
    rng, accepted = random.Random(seed), 0
    for _ in range(count):
        other = altered(content, rng)
        try:
            found = check(json.dumps(other).encode())
        except Rejected:
            continue
        if found.proved and other != content:
            accepted += 1
            assert claim_holds(other), other
    return accepted


@pytest.mark.full
def test_alterations_that_make_the_claim_false_are_refused(violation):
    survivors(violation, 300, 1)
    survivors(rankbench.certify("pairwise-squared-hinge:form=margin", mu=THEOREM_3).content, 200, 2)


@pytest.mark.long
@pytest.mark.parametrize("phi", ["logistic", "exponential", "squared-hinge", "squared"])
@pytest.mark.parametrize(("form", "mu"), [("weighted", THEOREM_2), ("margin", THEOREM_3)])
def test_ten_thousand_alterations(phi, form, mu):
    import resource

    content = rankbench.certify(f"pairwise-{phi}:form={form}", mu=mu).content
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    survivors(content, 1250, 7)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


def test_the_risk_of_ties_is_the_mean_over_the_orders_that_break_them():
    table = [Fraction(1), Fraction(1, 2), Fraction(1, 5)]
    loss = {"name": "ndcg", "gain": "identity", "discounts": ["1", "1/2", "1/5"]}
    scores, best = [Fraction(2), Fraction(0), Fraction(1)], Fraction(5, 2)
    risks = true_risks(loss, [(Fraction(1), scores)], 3)
    assert len(risks) == 13
    assert risks[(0,), (2,), (1,)] == 0
    assert risks[(1,), (0, 2)] == 1 - (scores[0] + scores[2]) * (table[1] + table[2]) / 2 / best
    assert risks[((0, 1, 2),)] == 1 - sum(scores) * sum(table) / 3 / best


def test_what_it_prints_is_one_line_whatever_the_certificate_holds(tmp_path, capsys):
    path = tmp_path / "cert.json"
    for schema in (r"x\ncert.json: VIOLATION: proved", r"\ud800", r"\u001b[2K\rcert.json: proved"):
        path.write_text('{"schema": "' + schema + '"}')
        assert main([str(path)]) == 1
        shown = capsys.readouterr().out
        assert shown.count("\n") == 1
        assert shown.removesuffix("\n").isprintable()


@pytest.mark.full
def test_numerical_certificates_are_not_called_proved_outright(tmp_path, capsys):
    path = tmp_path / "cert.json"
    rankbench.certify("listnet", laws=50).write(path)
    assert main([str(path)]) == 0
    assert f"{path}: VIOLATION: proved but for what is taken on trust\n" in capsys.readouterr().out
