"""The picture of a counterexample, and the risks that it shows."""

from __future__ import annotations

import pytest
from certify_laws import PHIS, THEOREM_2, disagreement, least, pairwise_risk
from click.testing import CliRunner

import rankbench
from rankbench.certify.outcome import order_risks
from rankbench.cli import main
from rankbench.errors import InputError
from rankbench.reports.figures.counterexample import draw_counterexample


@pytest.mark.parametrize("name", ["pairwise-logistic", "pairwise-hinge"])
def test_it_shows_the_risks_of_every_order(name):
    certificate = rankbench.certify(name, mu=THEOREM_2)
    risk = pairwise_risk(PHIS[name], THEOREM_2)
    rows = order_risks(certificate.content)
    assert len(rows) == 6
    for row in rows:
        order = tuple(int(item) - 1 for item in row.order.split(">"))
        assert row.true == pytest.approx(float(disagreement(THEOREM_2, order)))
        assert row.surrogate == pytest.approx(least(risk, order), abs=1e-5)
        assert row.right == (order == (0, 1, 2))


def test_the_same_certificate_is_the_same_picture():
    certificate = rankbench.certify("pairwise-logistic", mu=THEOREM_2)
    first, second = draw_counterexample(certificate), draw_counterexample(certificate)
    assert first == second
    assert set(first) == {"png", "svg"}
    assert first["png"].startswith(b"\x89PNG")


def test_grades_and_numerical_certificates_are_drawn():
    for name in ("pairwise-logistic", "listnet"):
        certificate = rankbench.certify(
            name,
            loss="ndcg",
            mu=[{"weight": "3/5", "structure": ["1", "0", "0"]}, {"weight": "2/5", "structure": ["0", "2", "2"]}],
        )
        assert draw_counterexample(certificate)["png"]


def test_what_is_not_about_one_law_has_no_picture():
    certificate = rankbench.certify("linear", laws=2)
    with pytest.raises(InputError, match="nothing to draw"):
        draw_counterexample(certificate)


def test_the_command_draws(tmp_path):
    picture = tmp_path / "p.svg"
    done = CliRunner().invoke(main, ["certify", "pairwise-squared", "--picture", str(picture)])
    assert done.exit_code == 0, done.output
    assert picture.read_text().startswith("<?xml")
    assert CliRunner().invoke(main, ["certify", "linear", "--picture", "p.gif"]).exit_code == 2
