"""How a run ends on a terminal and in JSON: its table, who is best, the claims in order, its files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import synthetic
from rich.console import Console
from synthetic import Contender, Plan

from rankbench.reports.headline import MOST_SHOWN, Headline
from rankbench.reports.results import Results, report, run_record, run_summary


def shown(found: Results, width: int = 200) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(run_summary(found))
    return captured.get()


def ended(folder: Path, contenders: list[Contender]) -> Results:
    return report(synthetic.write(folder, [Plan("e", contenders, n=(100_000, 200_000), repetitions=6)]))


def claimed(folder: Path, *claims: dict[str, object], **source: object) -> Results:
    return report(synthetic.write(folder, [synthetic.claimed(*claims)], **source))  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [80, 60])
def test_a_run_ends_with_its_table_and_who_is_best(tmp_path: Path, width: int) -> None:
    long = "a contender with a label that is much longer than a terminal has room for, and then some more"
    found = ended(tmp_path, [Contender(long, {}, 0.0, noise=0.0), Contender("bad", {}, 0.2, noise=0.0)])
    lines = [line for line in shown(found, width).splitlines() if str(tmp_path) not in line]
    assert max(map(len, lines)) <= width
    start, end = (next(i for i, line in enumerate(lines) if line.split()[:1] == [word]) for word in ("a", "bad"))
    last = lines[end].split()
    rows = {(row.split, row.contender): row for row in found.headline.rows}
    assert last[0] == "bad"
    assert last[1::2] == [str(rows[split, "bad"].rank_low) for split in ("heldout", "design")]
    means = [rows[split, "bad"].mean for split in ("heldout", "design")]
    assert [float(mean) for mean in last[2::2]] == pytest.approx(means, abs=5e-5)
    # Its label is folded, not cut.
    folded = " ".join(lines[start:end]).split()
    assert [word for word in folded if not word[0].isdigit()] == long.split()
    words = " ".join(" ".join(lines).split())
    assert "e, n = 200,000: ndcg loss, less is better" in words
    assert "is the best of 2 contenders with 95% confidence." in words


@pytest.mark.full
def test_many_contenders_are_cut_and_counted(tmp_path: Path) -> None:
    text = shown(ended(tmp_path, [Contender(f"c{i:02}", {}, 0.01 * i) for i in range(MOST_SHOWN + 3)]))
    assert "and 3 more: see leaderboard.md" in text
    assert f"c{MOST_SHOWN - 1:02} " in text
    assert f"c{MOST_SHOWN:02} " not in text


def test_plain_values_have_no_nan(tmp_path: Path) -> None:
    rows = run_record(ended(tmp_path, [Contender("good", {}, 0.0), Contender("bad", {}, 0.2)]))["headline"]
    assert {row["n"] for row in rows} == {200_000}
    assert all(value == value for row in rows for value in row.values())
    assert Headline(()).as_dict() == {"who_is_best": [], "headline": [], "too_few_repetitions": None}
    assert Headline(()).nodes() == []


def test_foreign_words_are_no_markup_and_escapes_are_gone(tmp_path: Path) -> None:
    text = shown(claimed(tmp_path, {"id": "C[red]1", "text": "[link=http://x]a[/link] [/nothing]\x1b[2J"}))
    assert "C[red]1" in text
    assert "[link=http://x]a[/link] [/nothing]" in text
    assert "\x1b" not in text


def test_claims_come_in_the_order_of_their_numbers_a_line_each(tmp_path: Path) -> None:
    back = [{"a": "regression k=1", "b": "logistic"}]
    ids = ["C10", "C2", "C8", "C1", "C" + "9" * 30]
    claims = [{"id": name, "text": "of many words " * 20, "contrasts": back} for name in ids]
    found = claimed(tmp_path, *claims)
    rows = [line for line in shown(found, 100).splitlines() if "of many words" in line]
    assert [line.split()[0] for line in rows] == ["C1", "C2", "C8", "C10", "C" + "9" * 30]
    assert all(re.match(r" *C\d+ +did not hold +did not hold +of many", line) and len(line) <= 100 for line in rows)
    assert "5 claims, judged on several kinds of data: on held-out queries did not hold here 5" in shown(found)


def test_claims_written_knowing_results_say_so(tmp_path: Path) -> None:
    text = shown(claimed(tmp_path / "late", {"origin": "post hoc"}, {}))
    assert "† written knowing earlier results" in text
    assert "C1 †" in text
    assert "C2 †" not in text
    assert "†" not in shown(claimed(tmp_path / "early"))


def test_units_are_called_by_their_names(tmp_path: Path) -> None:
    """As on the leaderboard: populations, worlds, sessions; also of claims about curves, which have no split."""
    titles = {"design": "Populations (drawn [anew])", "heldout": "Held-out sessions"}
    found = claimed(tmp_path, splits=titles)
    assert found.claims["units"].unique(maintain_order=True).to_list() == ["populations", "held-out sessions"]
    assert re.search(r"claim +sessions +populations", shown(found))


@pytest.mark.full
def test_files_that_are_there_are_listed(tmp_path: Path) -> None:
    found = report(synthetic.write(tmp_path, [synthetic.drawn()]))
    (tmp_path / "other.csv").touch()
    said = "beside it: leaderboard.md, details.md, leaderboard.csv, results.parquet, figures/ (4 pictures)"
    assert shown(found, 400).splitlines()[-2:] == [f"{tmp_path}/leaderboard.html", said]


LATE = "written knowing earlier results"


@pytest.mark.parametrize(
    "origins", [("beforehand", "beforehand"), ("post hoc", "post hoc"), ("beforehand", "post hoc")]
)
def test_a_page_says_which_claims_knew_results(tmp_path: Path, origins: tuple[str, ...]) -> None:
    text = synthetic.page(tmp_path, synthetic.claimed(*({"text": "Claim", "origin": one} for one in origins)))
    contrasts = text[text.index("## The contrasts of the claims") :]
    text = text[text.index("## The claims") : text.index("## Data in short")]
    assert text.count(f"Claim. *({LATE})*") == origins.count("post hoc")
    assert ("before the run" in text) is ("beforehand" in origins)
    assert "a claim that did not hold here does not refute the paper." in text
    assert "| alone | all at once | all at once, over repetitions |" in contrasts


def test_splits_of_one_table_have_one_interval(tmp_path: Path) -> None:
    source = {"test_share": 0.25, "splits": {"heldout": "Test pairs"}}
    text = synthetic.page(tmp_path, synthetic.claimed(), queries={"heldout": 1}, **source)
    contrasts = text[text.index("## The contrasts of the claims") :]
    text = text[text.index("## The claims") : text.index("## Data in short")]
    assert "by the corrected resampled t where repetitions share training data." in text
    assert text.count("over queries") == 1
    rows = [line for line in contrasts.splitlines() if " vs " in line and line.startswith("|")]
    assert rows
    assert all(line.endswith("] |  |") for line in rows)


@pytest.mark.parametrize("others", [["a"], ["a", "b"]])
def test_ranks_beside_an_oracle_are_those_of_the_headline(tmp_path: Path, others: list[str]) -> None:
    """leaderboard.csv and a terminal rank contenders for the best alone."""
    contenders = [Contender("truth", {}, 0.0), *(Contender(name, {}, 0.2) for name in others)]
    plan = Plan("e", contenders, n=(10,), repetitions=6, extra={"oracles": ["truth"]})
    found = report(synthetic.write(tmp_path, [plan]))
    board = found.leaderboard.select("contender", "rank_low", "rank_high")
    for ranks in ({(row.contender, row.rank_low, row.rank_high) for row in found.headline.rows}, {*board.rows()}):
        assert ranks == {("truth", None, None), *((name, 1, len(others)) for name in others)}
