"""``rankbench certify --verify``: the checker's answer, and the surrogate's source; exit codes of all verdicts."""

from __future__ import annotations

import json

import pytest
from amounts import part_of
from certify_laws import THEOREM_2
from click.testing import CliRunner
from test_certify_input import OPEN

import rankbench
from rankbench.certificates.certify import verify
from rankbench.cli import main
from rankbench.surrogates.pairwise import PairwiseSquared


class Theirs(PairwiseSquared):
    """A surrogate of this file, which no plugin registers."""

    name = "test-theirs"


def written(path, content, **who):
    path.write_text(json.dumps({**content, "surrogate": {**content["surrogate"], **who}}))
    return verify(path)


def test_the_source_of_a_plugin_is_compared_with_the_one_installed(tmp_path):
    """The example plugin's surrogate is not one that the checker knows: the source is what the claim is about."""
    surrogate = rankbench.get(rankbench.Surrogate, "squared-hinge")
    content = rankbench.certify(surrogate, mu=THEOREM_2).content
    path = tmp_path / "cert.json"
    found = written(path, content)
    assert found[0]
    assert found[1][-1] == "  source: that of squared-hinge as installed here"
    found = written(path, content, source_sha256="0" * 64)
    assert not found[0]
    assert found[1][0].startswith(f"{path}: rejected: it is about another source of squared-hinge")
    found = written(path, content, source_sha256="unknown")
    assert found[0]
    assert found[1][-1] == "  source: not compared, that of squared-hinge is unknown"
    found = written(path, content, name="squared-hinge-of-somebody")
    assert found[0]
    assert found[1][-1] == "  source: not compared, squared-hinge-of-somebody is not installed here"


def test_nothing_rests_on_the_source_where_the_checker_follows_the_formula(tmp_path):
    content = rankbench.certify("pairwise-logistic", mu=THEOREM_2).content
    found = written(tmp_path / "cert.json", content, source_sha256="0" * 64)
    assert found[0]
    assert "another one of pairwise-logistic than installed here" in found[1][-1]
    assert "nothing rests on it" in found[1][-1]


def test_the_checker_alone_says_that_it_does_not_look_the_source_up(tmp_path, capsys):
    from rankbench.certificates.check import main as alone

    path = tmp_path / "cert.json"
    rankbench.certify(Theirs(), mu=THEOREM_2).write(path)
    assert alone([str(path)]) == 0
    assert "not compared: source_sha256" in capsys.readouterr().out
    rankbench.certify("pairwise-logistic", mu=THEOREM_2).write(path)
    assert alone([str(path)]) == 0
    assert "source_sha256" not in capsys.readouterr().out


TIED = [{"weight": "4/5", "structure": {"1>2": "1"}}, {"weight": "1/5", "structure": {"2>1": "2"}}]
"""1 leads 2, and squares of weights tie: no interval tells which has the smaller risk."""


@pytest.mark.parametrize(
    ("arguments", "verdict", "code"),
    part_of(
        [
            (["pairwise-logistic"], "VIOLATION", 0),
            (["pairwise-hinge", "--laws", "2"], "VIOLATION_BOUNDARY", 0),
            ([*OPEN, "--laws", "2"], "NO_COUNTEREXAMPLE_FOUND", 0),
            (["pairwise-hinge", "--aggregator", "difference-graph"], "CONSISTENT", 0),
            (["linear"], "CONSISTENT", 0),
            (["pairwise-logistic:power=2", "--mu", TIED, "--items", "2"], "INCONCLUSIVE", 1),
        ],
        3,
    ),
)
def test_exit_codes_of_verdicts(arguments, verdict, code, tmp_path):
    out, tied = tmp_path / "cert.json", tmp_path / "tied.json"
    tied.write_text(json.dumps(TIED))
    arguments = [str(tied) if argument is TIED else argument for argument in arguments]
    done = CliRunner().invoke(main, ["certify", *arguments, "--out", str(out)])
    assert (json.loads(out.read_bytes())["verdict"], done.exit_code) == (verdict, code)
    assert f"rankbench certify --verify {out}" in done.stderr
    assert ("--picture law.svg" in done.stderr) is verdict.startswith("VIOLATION")
    assert "--budget" not in done.stderr  # none of them ends a search
    checked = CliRunner().invoke(main, ["certify", "--verify", str(out)])
    assert checked.exit_code == 0
    assert f"Next: python -m rankbench.certificates.check {out}" in checked.stderr
    assert CliRunner().invoke(main, ["certify", "--verify", str(tmp_path / "none.json")]).exit_code == 2


@pytest.mark.parametrize(("search", "longer"), [(["--laws", "1"], "--laws 10"), (["--budget", "1ms"], "--budget 1m")])
def test_a_search_that_found_nothing_may_take_longer(search, longer):
    done = CliRunner().invoke(main, ["certify", "pairwise-squared-hinge", "--noise", "low", *search])
    assert f"Next: {longer} | --out certificate.json" in done.stderr


def test_a_certificate_is_written_where_there_is_nothing_to_draw(tmp_path):
    out, picture = tmp_path / "cert.json", tmp_path / "p.svg"
    done = CliRunner().invoke(main, ["certify", "linear", "--picture", str(picture), "--out", str(out)])
    assert done.exit_code == 0
    assert out.exists()
    assert not picture.exists()
    assert "no picture: CONSISTENT is not about one distribution" in done.output


def test_what_is_linear_is_the_same_of_the_mean_of_a_few():
    """Found as a proof that the checker refused."""
    certificate = rankbench.certify("pairwise-hinge", aggregator="average-adjacency", k=3, items=2)
    assert certificate.verdict == "CONSISTENT"
