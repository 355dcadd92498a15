"""Two rankings of one arena, a week apart: what moved is found, what did not is not, though the logs share votes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import is_fresh, part_of, trials
from arenas import votes, written
from click.testing import CliRunner
from scipy import stats

from rankbench.aggregators.rates import WinRate
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.pair_counts import PairCounts
from rankbench.interfaces.queries import Comparisons
from rankbench.tracking import ranking_changes as module
from rankbench.tracking.commands import compare
from rankbench.tracking.compare import compare_results
from rankbench.tracking.comparison import Change, Comparison, Family, Margin
from rankbench.tracking.question import ALPHA, CompareQuestion
from rankbench.tracking.ranking_changes import RESAMPLES, ranking_changes, shuffled_scores


def compared(
    folder: Path, base: pl.DataFrame, head: pl.DataFrame, method: str = "", alpha: float = ALPHA
) -> tuple[list[Change], list[str]]:
    return ranking_changes(
        written(folder, "base", base), written(folder, "head", head), method, "", Family(Margin(), (), alpha)
    )


def week(
    rng: np.random.Generator, m: int, first: int, later: int, judges: int = 0, moved: float = 0.0, spread: float = 1.0
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a log, and the same with later votes, of other judges, for which item 0 is better by `moved`."""
    scores = rng.normal(0, spread, m)
    after = scores.copy()
    after[0] += moved
    sides = [rng.normal(0, 0.7, (judges, m)) if judges else None for _ in range(2)]
    base = votes(rng, scores, first, sides[0])
    return base, pl.concat([base, votes(rng, after, later, sides[1], first=first)])


def test_of_two_items_the_interval_is_that_of_a_share(tmp_path: Path) -> None:
    """The change of a share by n2 votes after n1 has the variance p (1 - p) (1 / n1 - 1 / (n1 + n2))."""
    rng = np.random.default_rng(1)
    first, later = 900, 300
    base, head = week(rng, 2, first, later)
    changes, notes = compared(tmp_path, base, head, "win-rate")
    assert [change.what for change in changes] == ["i0", "i1"]
    shares = [(frame["winner"] == "i0").mean() for frame in (base, head)]
    se = np.sqrt(shares[1] * (1 - shares[1]) * (1 / first - 1 / (first + later)))
    by_chance = 4 * se / np.sqrt(RESAMPLES)  # the mean of logs dealt anew, which is 0 for a share
    assert changes[0].change == pytest.approx(shares[0] - shares[1], abs=by_chance)
    half = (changes[0].upper - changes[0].lower) / 2
    assert half == pytest.approx(1.96 * se, rel=0.12)
    independent = np.sqrt(shares[1] * (1 - shares[1]) * (1 / first + 1 / (first + later)))
    assert half < 0.6 * 1.96 * independent
    assert notes[0] == "300 of 1,200 votes are new"


@pytest.fixture
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a quick run resample 200 times: intervals are rougher by some percent, as the number of weeks is."""
    if not is_fresh():
        monkeypatch.setattr(module, "RESAMPLES", 200)


TIMES = [trials(16), pytest.param(400, marks=pytest.mark.long)]
"""Simulated weeks."""

SETTINGS = [(10, 2000, 500, 0), (10, 2000, 500, 60), (20, 3000, 3000, 40), (6, 300, 100, 0), (8, 1500, 1500, 25)]
FAR_APART = [(10, 300, 6000, 0), (10, 300, 6000, 60), (10, 2000, 40, 0)]
"""Items, votes, later votes, judges (0: votes are independent); the latter of items that are far apart.

A ridge shrinks the first log more; few later votes on an item say the same.
"""


@pytest.mark.full
@pytest.mark.usefixtures("few_resamples")
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize(
    ("seed", "spread", "setting"),
    [*((20130501, 1.0, one) for one in part_of(SETTINGS)), *((20130502, 2.5, one) for one in part_of(FAR_APART, 2))],
)
def test_no_false_alarms(seed: int, spread: float, setting: tuple[int, ...], times: int, tmp_path: Path) -> None:
    """Nothing moved: whole rankings in which any item is called worse, or any better."""
    m, first, later, judges = setting
    rng = np.random.default_rng([seed, m, first, judges])
    alarms, deviations = 0, []
    for _ in range(times):
        changes, _ = compared(tmp_path, *week(rng, m, first, later, judges, spread=spread), alpha=0.05)
        alarms += any(change.verdict in ("worse", "better") for change in changes)
        deviations += [change.change / (change.upper - change.lower) * 4 for change in changes]
    upper = stats.beta.ppf(0.95, alarms + 1, times - alarms) if alarms < times else 1.0
    errors = float(np.nanstd(deviations))
    print(f"{setting}: alarms {alarms} of {times}, at most {upper:.3f}; changes in errors: {errors:.2f}")
    assert stats.binomtest(alarms, times, 0.1, alternative="greater").pvalue > 0.001  # .05 on either side
    if times > 100 and setting in SETTINGS:
        assert 0.85 < errors < 1.15


def _of_two(won: int, lost: int) -> PairCounts:
    winners = np.repeat(np.array([0, 1], np.int32), [won, lost])
    votes = Comparisons(np.array([0, won + lost]), winners, 1 - winners, np.ones(won + lost))
    return PairCounts.from_comparisons(votes, 2)


@pytest.mark.full
def test_the_early_votes_are_dealt_within_pairs() -> None:
    """The mean and the variance of a share of a pair's votes are those of the hypergeometric distribution."""
    early, whole = (_of_two(won, lost) for won, lost in ((15, 15), (60, 20)))
    dealt = shuffled_scores(early, whole, WinRate(), 4000, 1)
    assert dealt is not None
    law = stats.hypergeom(80, 60, 30)
    assert dealt[:, 0].mean() == pytest.approx(law.mean() / 30 - 0.5, abs=4 * law.std() / 30 / np.sqrt(4000))
    assert dealt[:, 0].std() == pytest.approx(law.std() / 30, rel=0.06)


@pytest.mark.full
@pytest.mark.usefixtures("few_resamples")
def test_votes_with_weights_are_not_dealt(tmp_path: Path) -> None:
    base, head = (frame.with_columns(weight=pl.lit(0.5)) for frame in week(np.random.default_rng(8), 6, 800, 400))
    _, notes = compared(tmp_path, base, head)
    assert any("cannot shuffle the early votes" in note for note in notes)
    _, notes = compared(tmp_path, *week(np.random.default_rng(8), 6, 800, 400))
    assert not any("cannot shuffle the early votes" in note for note in notes)


@pytest.mark.full
@pytest.mark.usefixtures("few_resamples")
@pytest.mark.parametrize("times", [5, pytest.param(200, marks=pytest.mark.long)])
@pytest.mark.parametrize("judges", [0, 60])
def test_what_moved_is_found(judges: int, times: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([2, judges])
    found = others = 0
    for _ in range(times):
        changes, _ = compared(tmp_path, *week(rng, 8, 3000, 3000, judges, moved=1.5))
        verdicts = {change.what: change.verdict for change in changes}
        found += verdicts.pop("i0") == "better"
        others += any(verdict in ("worse", "better") for verdict in verdicts.values())
    print(f"judges {judges}: found {found} of {times}; others called moved in {others}")
    assert found >= 0.9 * times
    assert others <= max(1, 0.05 * times)


@pytest.mark.usefixtures("few_resamples")
def test_the_same_log_is_equal_in_any_order(tmp_path: Path) -> None:
    base, _ = week(np.random.default_rng(3), 6, 500, 10)
    changes, notes = compared(tmp_path, base, base.sample(fraction=1, shuffle=True, seed=1))
    assert {change.verdict for change in changes} == {"equal"}
    assert "0 of 500 votes are new" in notes
    assert Comparison("", "", tuple(changes), "0", ALPHA).exit_code == 0


@pytest.mark.full
@pytest.mark.usefixtures("few_resamples")
def test_what_is_new_gone_or_elsewhere_is_named(tmp_path: Path) -> None:
    base, head = week(np.random.default_rng(4), 6, 800, 400)
    without = head.filter(pl.col("winner") != "i5", pl.col("loser") != "i5")
    more = pl.DataFrame(
        {
            "query_id": ["q"] * 2,
            "winner": ["new", "far"],
            "loser": ["i0", "away"],
            "tie": [False] * 2,
            "time": [9999, 9999],
        }
    )
    changes, notes = compared(tmp_path, base, pl.concat([without, more]))
    assert "i5" not in {change.what for change in changes}
    assert {"gone: item i5", "new: item new", "new: item far", "new: item away"} <= set(notes)
    assert any("does not contain the first" in note for note in notes)
    apart = pl.concat([base, more.slice(1)])
    _, notes = compared(tmp_path, apart, pl.concat([apart, head.tail(100)]))
    assert {"not compared: item far stands on another scale", "not compared: item away stands on another scale"} <= set(
        notes
    )


@pytest.mark.full
@pytest.mark.usefixtures("few_resamples")
def test_an_item_of_few_votes_is_described(tmp_path: Path) -> None:
    base, head = week(np.random.default_rng(5), 6, 800, 400)
    rare = pl.DataFrame({"query_id": ["q"] * 4, "winner": ["rare"] * 4, "loser": ["i0"] * 4, "tie": [False] * 4,
                         "time": list(range(5000, 5004))})  # fmt: skip
    changes, _ = compared(tmp_path, pl.concat([base, rare]), pl.concat([base, rare, head.tail(400)]))
    assert {change.what for change in changes if change.verdict == "described"} == {"rare"}


@pytest.mark.full
@pytest.mark.usefixtures("few_resamples")
def test_judges_count_as_wholes_and_votes_are_said_to_be_independent(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    base, head = week(rng, 6, 800, 400, judges=40)
    by_judge, notes = compared(tmp_path, base, head)
    assert by_judge[0].rests == "800 common votes, 400 new ones, by judge"
    assert not any("takes votes for independent" in note for note in notes)
    by_vote, notes = compared(tmp_path, base.drop("judge"), head.drop("judge"))
    assert "not all votes name a judge: rankbench takes votes for independent" in notes
    widths = [np.mean([c.upper - c.lower for c in found]) for found in (by_judge, by_vote)]
    assert widths[0] > 1.1 * widths[1]


@pytest.mark.full
@pytest.mark.usefixtures("few_resamples")
def test_from_the_command_line(tmp_path: Path) -> None:
    base, head = week(np.random.default_rng(7), 6, 3000, 3000, moved=-2.0)
    paths = [written(tmp_path, "a", base), written(tmp_path, "b", head)]
    done = CliRunner().invoke(compare, [*map(str, paths), "--format", "md"])
    assert done.exit_code == 1, done.output
    assert re.search(r"^\| worse \| bradley-terry\S*, place \d then \d of 6 \| i0 \|", done.output, re.M)
    assert compare_results(*paths, CompareQuestion(gate=("i0",))).exit_code == 1
    assert compare_results(*paths, CompareQuestion(gate=("i1",))).exit_code == 0
    assert compare_results(*paths, CompareQuestion(margin=Margin(5.0))).exit_code == 0
    assert compare_results(*paths, CompareQuestion(method="win-rate", gate=("i0",))).exit_code == 1
    with pytest.raises(SpecError, match="write an item"):
        compare_results(*paths, CompareQuestion(gate=("nobody",)))
    csv = tmp_path / "a.csv"
    base.rename({"winner": "better", "loser": "worse"}).write_csv(csv)
    with pytest.raises(InputError, match=r"a\.csv"):
        compare_results(csv, csv)
    assert compare_results(csv, csv, CompareQuestion(columns="winner=better,loser=worse")).exit_code == 0
    (tmp_path / "x.json").write_text("{}")
    with pytest.raises(InputError, match=r"x\.json: it is no folder of a run"):
        compare_results(paths[0], tmp_path / "x.json")


@pytest.mark.parametrize(
    ("method", "said"), [("elo", "does not rank counted votes"), ("kemeny", "take"), ("coec", "take")]
)
def test_methods_that_do_not_fit(method: str, said: str, tmp_path: Path) -> None:
    base, head = week(np.random.default_rng(8), 4, 100, 50)
    with pytest.raises(SpecError, match=said):
        compared(tmp_path, base, head, method)


def test_ballots_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    path.write_text('ranking\n"[""a"",""b""]"\n')
    with pytest.raises((SpecError, InputError)):
        compare_results(path, path, CompareQuestion(method="bradley-terry"))
