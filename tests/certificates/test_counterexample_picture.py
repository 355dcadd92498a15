"""The picture of a counterexample, and the risks that it shows."""

from __future__ import annotations

from fractions import Fraction

import pytest
from certify_laws import GRADES, PHIS, THEOREM_2, disagreement, least, pairwise_risk
from click.testing import CliRunner

import rankbench
from rankbench.certificates.certificate import shown
from rankbench.certificates.picture import draw_counterexample, order_risks
from rankbench.cli import main


@pytest.mark.full
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


@pytest.mark.full
def test_grades_and_numerical_certificates_are_drawn():
    for name in ("pairwise-logistic", "listnet"):
        certificate = rankbench.certify(name, loss="ndcg", mu=GRADES)
        drawn = draw_counterexample(certificate)
        assert drawn["png"].startswith(b"\x89PNG")
        assert draw_counterexample(certificate) == drawn


@pytest.mark.full
def test_gaps_that_are_too_small_to_see_are_written_down():
    """Two marks at the same place said that right and wrong orders are equally good."""
    certificate = rankbench.certify("pairwise-logistic")
    text = draw_counterexample(certificate)["svg"].decode()
    assert "pairwise-logistic for pairwise disagreement, low noise: VIOLATION" in text
    assert f"the surrogate prefers 2&gt;1&gt;3, by at least {float(certificate.gap):.3g}" in text
    rows = sorted(order_risks(certificate.content), key=lambda row: row.surrogate)
    assert float(rows[1].surrogate - rows[0].surrogate) < 0.01
    assert f"+{rows[1].surrogate - rows[0].surrogate:.3g}" in text
    assert "of 6 orders" not in text


@pytest.mark.full
def test_orders_without_bars_are_counted():
    certificate = rankbench.certify("listnet", loss="ndcg", laws=20)
    assert certificate.verdict == "VIOLATION"
    count = len(order_risks(certificate.content))
    assert f"{count} of 6 orders in the proof" in draw_counterexample(certificate)["svg"].decode()
    five = rankbench.certify("pairwise-logistic", items=5, mu=THEOREM_2)
    text = draw_counterexample(five)["svg"].decode()
    assert "24 of 120 orders with the least surrogate risk" in text
    assert "and 17 more; the surrogate prefers" in text


@pytest.mark.full
def test_an_equality_is_not_called_a_preference():
    text = draw_counterexample(rankbench.certify("pairwise-hinge", mu=THEOREM_2))["svg"].decode()
    assert "and as small at wrong orders" in text
    assert "prefers 1" not in text.partition("by how much")[0]


def test_scores_are_told_in_decimals():
    certificate = rankbench.certify("pairwise-logistic", mu=THEOREM_2)
    assert "Scores (2.5, 0, 1.3), which" in certificate.words()
    pairs = ((97, 100), (3, 1), (-1, 2), (2, 3), (1, 8), (1, 3000), (0, 1))
    told = ["0.97", "3", "-0.5", "2/3", "0.125", "0.0003333", "0"]
    assert [shown(Fraction(*pair)) for pair in pairs] == told


@pytest.mark.full
def test_the_command_draws(tmp_path):
    picture = tmp_path / "p.svg"
    done = CliRunner().invoke(main, ["certify", "pairwise-squared", "--picture", str(picture)])
    assert done.exit_code == 0, done.output
    assert picture.read_text().startswith("<?xml")
    assert CliRunner().invoke(main, ["certify", "linear", "--picture", "p.gif"]).exit_code == 2
