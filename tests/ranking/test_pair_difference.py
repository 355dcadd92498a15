"""The difference of two items, beside closed forms, a fit by hand, and exact power."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from data_files import stored
from scipy.stats import binom, norm

import rankbench
from rankbench.cli import main
from rankbench.errors import InputError, SpecError

PLAIN = "bradley-terry:ridge=0"


def votes(won: int, lost: int, **more: str) -> pl.DataFrame:
    """Return votes on a and b, of which a won some."""
    rows = [("a", "b")] * won + [("b", "a")] * lost
    return pl.DataFrame(rows, ["winner", "loser"], orient="row").with_columns(
        pl.lit(v).alias(k) for k, v in more.items()
    )


def difference(log: pl.DataFrame, *pair: str, method: str = PLAIN, **more: str) -> dict[str, float]:
    more = {"intervals": "sandwich" if method == PLAIN else "auto"} | more
    found = rankbench.aggregate(log, method, between=pair or ("a", "b"), **more).between  # type: ignore[arg-type]
    assert found is not None
    return found.row(0, named=True)


@pytest.mark.parametrize(("won", "lost"), [(30, 20), (500, 430), (15, 60)])
def test_two_items_have_the_log_odds_of_their_votes(won: int, lost: int) -> None:
    found, other = difference(votes(won, lost)), difference(votes(won, lost), "b", "a")
    n = won + lost
    lead, se = np.log(won / lost), np.sqrt((1 / won + 1 / lost) * n / (n - 1))  # as sandwiches have it
    half = norm.ppf(0.975) * se
    more = n * (((norm.ppf(0.975) + norm.ppf(0.8)) * se / lead) ** 2 - 1)
    assert found["more_votes"] == max(0, np.ceil(more))
    expected = [lead, lead - half, lead + half, 2 * norm.sf(abs(lead) / se)]
    np.testing.assert_allclose([found[k] for k in ("difference", "lower", "upper", "p")], expected, rtol=1e-6)
    np.testing.assert_allclose([-other[k] for k in ("difference", "upper", "lower")], expected[:3], rtol=1e-6)
    assert (found["votes"], other["p"], other["more_votes"]) == (n, found["p"], found["more_votes"])


@pytest.mark.parametrize(("won", "lost"), [(55, 45), (60, 40), (40, 55)])
def test_so_many_more_votes_have_a_power_of_four_fifths(won: int, lost: int) -> None:
    n, chance = won + lost + int(difference(votes(won, lost))["more_votes"]), won / (won + lost)
    wins = np.arange(1, n)
    found = np.abs(np.log(wins / (n - wins))) > norm.ppf(0.975) * np.sqrt(1 / wins + 1 / (n - wins))
    assert binom.pmf(wins, n, chance)[found].sum() == pytest.approx(0.8, abs=0.05)  # a win more is .05 of power


def test_a_covariate_is_taken_out_of_the_difference() -> None:
    rng = np.random.default_rng(3)
    left = rng.choice(["a", "b"], 400)
    ahead = np.where(left == "a", 1.0, -1.0)
    first = rng.random(400) < 1 / (1 + np.exp(-(0.5 * ahead + 0.4)))
    log = pl.DataFrame(
        {"left": left, "right": np.where(left == "a", "b", "a"), "winner": np.where(first, "left", "right")}
    )
    x, y, beta = np.column_stack([ahead, np.ones(400)]), first.astype(float), np.zeros(2)
    for _ in range(20):
        p = 1 / (1 + np.exp(-x @ beta))
        hessian = (x * (p * (1 - p))[:, None]).T @ x
        beta += np.linalg.solve(hessian, x.T @ (y - p))
    scores = x * (y - p)[:, None]
    variance = np.linalg.inv(hessian) @ (scores.T @ scores) @ np.linalg.inv(hessian) * 400 / 399
    found = difference(log, control="side")
    half = norm.ppf(0.975) * np.sqrt(variance[0, 0])
    np.testing.assert_allclose([found["difference"], found["upper"]], [beta[0], beta[0] + half], rtol=1e-3)


def test_each_category_has_the_difference_of_its_own_votes() -> None:
    parts = {"en": votes(40, 20, lang="en"), "de": votes(30, 45, lang="de")}
    none = pl.DataFrame({"winner": ["c"] * 20, "loser": ["b"] * 20, "lang": ["fr"] * 20})
    found = rankbench.aggregate(
        pl.concat([*parts.values(), none]), PLAIN, by="lang", intervals="sandwich", between=("a", "b")
    ).between
    assert found is not None
    rows = {row.pop("query"): row for row in found.iter_rows(named=True)}
    assert rows["fr"]["reason"] == "no votes on a"
    for lang, part in parts.items():
        own = difference(part)
        assert {**rows[lang], "query": None} == own


def test_judges_are_the_units_where_they_are_named() -> None:
    """Judges of one opinion each: the difference has their number of degrees of freedom, less one."""
    log = pl.concat([votes(9 - k % 3, 1 + k % 3, judge=f"j{k}") for k in range(12)])
    alone, judged = difference(log.drop("judge")), difference(log)
    assert alone["p"] != judged["p"]
    drawn = difference(log, intervals="judges")
    assert drawn["lower"] < drawn["difference"] < drawn["upper"]


@pytest.mark.parametrize(
    ("log", "method", "reason"),
    [
        (votes(3, 2), PLAIN, "one of the two has fewer than 10 votes"),
        (votes(30, 20), "kemeny", "the method has no intervals, or the log too few votes"),
        (
            pl.concat([votes(30, 20), pl.DataFrame({"winner": ["c", "d"] * 9, "loser": ["d", "c"] * 9})]),
            PLAIN,
            "no comparisons connect the two",
        ),
    ],
)
def test_a_missing_interval_has_its_reason(log: pl.DataFrame, method: str, reason: str) -> None:
    pair = ("a", "c") if reason.startswith("no comparisons") else ("a", "b")
    found = difference(log, *pair, method=method)
    assert (found["reason"], found["p"], found["more_votes"]) == (reason, None, None)


def test_pairs_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="there is no item 'x'"):
        rankbench.aggregate(votes(30, 20), between=("a", "x"))
    with pytest.raises(SpecError, match="two different names"):
        rankbench.aggregate(votes(30, 20), between=("a", "a"))
    with pytest.raises(SpecError, match="leave pool= out"):
        rankbench.aggregate(votes(30, 20, lang="en"), by="lang", pool=True, between=("a", "b"))


def test_every_form_of_the_answer_has_the_difference(tmp_path: Path) -> None:
    log = str(stored(votes(60, 40), tmp_path / "votes.csv"))
    command = ["aggregate", log, "--method", PLAIN, "--between", "a", "b", "--intervals", "sandwich"]
    row = json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)["between"][0]
    expected = difference(votes(60, 40))
    assert {name: row[name] for name in ("difference", "p", "more_votes")} == {
        name: expected[name] for name in ("difference", "p", "more_votes")
    }
    assert row["words"] == "a is better than b"
    for form in ("table", "md", "csv"):
        text = CliRunner().invoke(main, [*command, "--format", form]).stdout
        assert ("0.40" if form == "csv" else "0.41") in text
        assert f"{row['more_votes']:,.0f}" in text or str(row["more_votes"]) in text
    page = tmp_path / "page.html"
    assert CliRunner().invoke(main, [*command, "--out", str(page)]).exit_code == 0
    assert "a is better than b" in page.read_text()
    done = CliRunner().invoke(main, [*command, "--scale", "elo"])
    assert (done.exit_code, "leave --scale out" in str(done.output)) == (2, True)
