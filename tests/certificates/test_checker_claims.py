"""What a certificate says and nothing proves: false claims in other clothes, and fields that are not its verdict's."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from amounts import part_of
from certify_laws import GRADES, THEOREM_2, changed, refused

import rankbench
from rankbench.certificates.check import check, main

ROOT = Path(__file__).resolve().parents[2]


def accepted(content: dict) -> tuple[str, ...]:
    """Return what is taken on trust."""
    return check(json.dumps(content).encode()).trusted


def test_nothing_is_taken_on_trust_of_surrogates_that_state_themselves_exactly(violation):
    """A flat plane through a made-up value says whatever one likes: here a gap that there is not."""
    flat = {"weight": "1", "point": ["0", "0", "0"], "value": "1.0000012", "gradient": ["0", "0", "0"]}
    lie = {key: value for key, value in violation.items() if key not in ("seen", "phis", "risk")}
    lie |= {"arithmetic": "numerical", "alpha_value": "1", "gap": "0.0000011"}
    lie["bounds"] = [{"order": bound["order"], "cuts": [flat]} for bound in violation["bounds"]]
    refused(lie, "numerical certificates have none")
    for name, distribution in (("pairwise-logistic", "rankbench 0.1.0"), ("pairwise-logistic", "somebody 1.0")):
        lie["surrogate"] = {**violation["surrogate"], "name": name, "rule": None, "distribution": distribution}
        refused(lie, "exact numbers here")
    lie["surrogate"] = {**lie["surrogate"], "name": "theirs"}
    refused(lie, "no convex risk has both")
    lie["surrogate"] = {**lie["surrogate"], "name": "theirs", "distribution": "rankbench 0.1.0"}
    refused(lie, "no surrogate 'theirs'")


def test_numerical_certificates_of_rankbench_follow_the_formula(listnet):
    """Softmaxes are irrational: values and gradients are compared with them, the claim rests on rounding alone."""
    assert accepted(listnet) == ("that rounding does no harm: slopes up to 0.000001 are called 0",)
    for bounds in (
        [{**b, "cuts": [{**c, "value": str(Fraction(c["value"]) + 1)} for c in b["cuts"]]} for b in listnet["bounds"]],
        [{**b, "cuts": [{**c, "point": ["5", "0", "0"]} for c in b["cuts"]]} for b in listnet["bounds"]],
    ):
        refused({**listnet, "bounds": bounds})
    lower = {**listnet, "alpha_value": str(Fraction(listnet["alpha_value"]) - Fraction(1, 1000))}
    refused({**lower, "gap": str(Fraction(listnet["gap"]) + Fraction(1, 1000))}, "formula|above the risk")
    refused(changed(listnet, {"surrogate/name": "cross-entropy"}))


@pytest.mark.parametrize(
    ("surrogate", "loss", "mu"),
    part_of(
        [
            ("regression:gain=exp", "ndcg", GRADES),
            ("cross-entropy:gain=exp,discount=log2", "ndcg", GRADES),
            ("order-preserving:gain=exp,phi=exponential", "ndcg", GRADES),
            ("order-preserving-err:gain=logistic", "err", GRADES),
            ("order-preserving-err:top=2.5", "err", GRADES),
            ("order-preserving:phi=squared-hinge", "ndcg", [{"weight": "1", "structure": ["1/2", "0", "1"]}]),
            ("pairwise-logistic:power=0.5", "pairwise", THEOREM_2),
            ("pairwise-squared-hinge:power=1.5,form=margin", "pairwise", THEOREM_2),
            ("pairwise-hinge:power=0.5", "pairwise", THEOREM_2),
            ("pairwise-logistic:h=log1p", "pairwise", THEOREM_2),
            ("pairwise-exponential:h=log1p,form=margin,scale=0.5", "pairwise", THEOREM_2),
        ]
    ),
)
def test_irrational_formulas_are_followed_too(surrogate, loss, mu):
    options = {} if loss == "pairwise" else {"noise": "any"}
    asked = "ndcg:gain=identity" if surrogate.endswith("squared-hinge") else loss
    certificate = rankbench.certify(surrogate, loss=asked, mu=mu, **options)
    content = certificate.content
    assert content["arithmetic"] == "numerical"
    assert content["surrogate"]["rule"] is None
    if certificate.verdict == "INCONCLUSIVE":
        return
    assert accepted(content) == ("that rounding does no harm: slopes up to 0.000001 are called 0",)
    for parameter, value in content["surrogate"]["parameters"].items():
        if (
            isinstance(value, str)
            and value not in ("inf", "weighted", "power", "log1p")
            and not content["loss"].get("top")
        ):
            lie = copy.deepcopy(content)
            try:
                lie["surrogate"]["parameters"][parameter] = str(Fraction(value) * 3)
            except ValueError:
                continue
            refused(lie)


def test_what_an_aggregator_makes_is_taken_on_trust_if_the_checker_does_not_follow_it():
    content = rankbench.certify("linear", aggregator="borda", mu=THEOREM_2).content
    assert content["arithmetic"] == "numerical"
    assert accepted(content)[0] == "what borda makes of judgments"
    refused(changed(content, {"seen/0/structure": ["1", "0", "0"]}), "formula")
    refused({**content, "aggregation": {"name": "net-weights", "k": "inf"}}, "what mu and the aggregation make")
    refused({key: value for key, value in content.items() if key != "seen"}, "has the key 'seen'")


def test_discounts_are_rounded_to_the_nearest_and_nothing_else():
    content = rankbench.certify("regression", loss="ndcg", mu=GRADES).content
    for at in range(3):
        table = content["surrogate"]["rule"]["discounts"]
        more = str(Fraction(table[at]) + Fraction(1, 10**6))
        refused(changed(content, {f"surrogate/rule/discounts/{at}": more}))
    refused(changed(content, {"loss/discounts": [*content["loss"]["discounts"], "0"]}), "list of 3 numbers")


WITHOUT = """
import sys
sys.modules["mpmath"] = None
from rankbench.certificates.check import main
sys.exit(main(sys.argv[1:]))
"""


def test_without_mpmath_exact_certificates_are_checked_and_others_are_said_not_to_be(
    tmp_path, violation, boundary, proof
):
    exact = rankbench.certify("regression", loss="ndcg", mu=GRADES).content
    assert exact["arithmetic"] == "exact"
    for at, content in enumerate((boundary, proof, exact)):
        (tmp_path / f"exact{at}.json").write_text(json.dumps(content))
    (tmp_path / "interval.json").write_text(json.dumps(violation))
    command = [sys.executable, "-c", WITHOUT]
    exact_ones = sorted(map(str, tmp_path.glob("exact*")))
    done = subprocess.run([*command, *exact_ones], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(": proved\n") == 3
    command.append(str(tmp_path / "interval.json"))
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "not checked: its numbers are intervals, for which mpmath must be installed" in done.stderr
    assert "Traceback" not in done.stderr


def test_exit_codes_of_the_checker(tmp_path, capsys, violation, searched):
    good, idle, bad = (tmp_path / name for name in ("good.json", "idle.json", "bad.json"))
    good.write_text(json.dumps(violation))
    idle.write_text(json.dumps(searched))
    bad.write_text(json.dumps({**violation, "gap": "1"}))
    none = tmp_path / "none.json"
    assert main([str(none)]) == 2
    shown = capsys.readouterr()
    assert "none.json: cannot be read: No such file" in shown.err
    assert "rejected" not in shown.out + shown.err
    assert main([]) == 2
    assert main([str(good), str(idle)]) == 0
    assert f"{idle}: NO_COUNTEREXAMPLE_FOUND: claims nothing\n" in capsys.readouterr().out
    assert main([str(good), str(none)]) == 2
    assert main([str(none), str(bad), str(good)]) == 1
    capsys.readouterr()
    assert main(["--help"]) == 0
    assert "exit codes: 0 if the checker rejects no certificate" in capsys.readouterr().out


@pytest.mark.full
def test_laws_of_many_grades_are_checked_by_the_formula():
    """Sixty structures, each with other irrational numbers."""
    laws = [(i, j, k) for i in range(4) for j in range(4) for k in range(4) if i + j + k]
    mu = [{"weight": "1/60", "structure": [str(i), str(j), str(k)]} for i, j, k in laws[:60]]
    for surrogate in ("listnet", "cross-entropy:gain=exp"):
        content = rankbench.certify(surrogate, loss="ndcg", mu=mu).content
        assert content["verdict"] != "INCONCLUSIVE"
        assert accepted(content) == ("that rounding does no harm: slopes up to 0.000001 are called 0",)
