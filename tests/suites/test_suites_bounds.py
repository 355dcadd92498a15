"""Suites: what a file may not say, and every suite that is shipped or documented can be planned."""

from __future__ import annotations

from pathlib import Path

import pytest
from amounts import part_of
from data_files import written

from rankbench import api
from rankbench.errors import InputError, SpecError
from rankbench.plugin import manager
from rankbench.runner.prepare import dataset_of, protocol_of
from rankbench.runner.question import RunQuestion
from rankbench.suites.suite_files import load_suite, read_suite

TOP = 'name = "own"\ntitle = "Own"\n'
EXPERIMENT = """
[[experiments]]
name = "first"
title = "First"
n = [100, 200]
repetitions = 1
[[experiments.contenders]]
use = "erm"
"""
FIGURE = '[[experiments.figures]]\nfile = "figure"\nkind = "risk"\nparameter = "k"\n'


def write(folder: Path, text: str, name: str = "own") -> str:
    return str(written(folder / f"{name}.toml", text))


def test_the_suite_that_the_others_differ_from_is_fine(tmp_path: Path) -> None:
    assert load_suite(write(tmp_path, TOP + EXPERIMENT + FIGURE)).experiments[0].figures[0].file == "figure"


LEADING_OUT = ["../up", "/etc/own", "a/b", "", ".", "..", "a b", "a\\nb", "a" * 101]


@pytest.mark.parametrize(
    ("old", "new"),
    [(old, new) for old in ('name = "own"', 'name = "first"', 'file = "figure"') for new in LEADING_OUT]
    + [(old, new) for old in ('name = "own"', 'name = "first"') for new in ("Own", "a--b", "a_b")],
)
def test_names_cannot_lead_out_of_the_output_folder(tmp_path: Path, old: str, new: str) -> None:
    key = old.split(" ", maxsplit=1)[0]
    text = (TOP + EXPERIMENT + FIGURE).replace(old, f'{key} = "{new}"')
    with pytest.raises(SpecError, match=f"{key}: "):
        load_suite(write(tmp_path, text))


def test_two_figures_cannot_have_one_file(tmp_path: Path) -> None:
    text = TOP + EXPERIMENT + FIGURE + EXPERIMENT.replace("first", "second") + FIGURE.replace('figure"', 'Figure"')
    with pytest.raises(SpecError, match="two figures have the file 'figure'"):
        load_suite(write(tmp_path, text))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("n = [100, 200]", f"n = [{n}]")
        for n in ("0", "-1", "1.0", "true", '"1"', "", str(2**40), "100, 200, 100", "9" * 30)
    ]
    + [('title = "Own"', f'title = "Own"\nseed = {seed}') for seed in ("-1", str(2**63), "1.0", "true")]
    + [('title = "Own"', f'title = "Own"\n{bad}') for bad in ("protocol = 3", "dataset = 0", 'nam = "x"')]
    + [("repetitions = 1", bad) for bad in ("repetitions = 1\nlosses = []", "repetitions = true", 'repetitions = "2"')]
    + [("repetitions = 1", f"repetitions = 1\noptional = {bad}") for bad in ("1", '"yes"')]
    + [('kind = "risk"\nparameter = "k"', bad) for bad in ('kind = "risk"', 'kind = "curves"')]
    + [('kind = "risk"\nparameter = "k"', 'kind = "curves"\nmetrics = ["exact-gap-last"]')]
    + [('use = "erm"', f'use = "erm"\nn = {n}') for n in ("[]", "[100, 100]", "[100.0]")],
)
def test_numbers_out_of_range_are_refused(tmp_path: Path, old: str, new: str) -> None:
    text = TOP + EXPERIMENT + FIGURE
    assert old in text
    with pytest.raises(SpecError, match=r"own\.toml: "):
        load_suite(write(tmp_path, text.replace(old, new)))


@pytest.mark.parametrize("margin", ["nan", "inf", "-0.1", "10.5"])
def test_margins_are_finite(tmp_path: Path, margin: str) -> None:
    claim = '[[experiments.claims]]\nid = "A"\ntext = "a"\nkind = "equivalent"\ncontrasts = [{ a = "x", b = "y" }]\n'
    assert load_suite(write(tmp_path, TOP + EXPERIMENT + claim + "margin = 10.0"))
    with pytest.raises(SpecError, match=r"margin: "):
        load_suite(write(tmp_path, TOP + EXPERIMENT + claim + f"margin = {margin}"))


def test_the_largest_numbers_are_fine(tmp_path: Path) -> None:
    text = (TOP + f"seed = {2**63 - 1}\n" + EXPERIMENT).replace("200", str(2**40 - 1))
    suite = load_suite(write(tmp_path, text))
    assert (suite.seed, suite.experiments[0].n) == (2**63 - 1, (100, 2**40 - 1))


def including(name: str, *files: Path) -> str:
    return f'name = "{name}"\ntitle = "{name}"\ninclude = {[str(file) for file in files]}\n'


def test_a_suite_is_included_once(tmp_path: Path) -> None:
    write(tmp_path, TOP + EXPERIMENT, "shared")
    shared = tmp_path / "shared.toml"
    left = Path(write(tmp_path, including("left", shared), "left"))
    # Another spelling of the same file.
    right = Path(write(tmp_path, including("right", tmp_path / ".." / tmp_path.name / "shared.toml"), "right"))
    assert len(load_suite(write(tmp_path, including("one", left), "one")).experiments) == 1
    with pytest.raises(SpecError, match="included twice, now by 'right'"):
        load_suite(write(tmp_path, including("both", left, right), "both"))
    with pytest.raises(SpecError, match="include each other"):
        load_suite(write(tmp_path, including("self", tmp_path / "self.toml"), "self"))


def test_includes_are_at_most_twenty_deep(tmp_path: Path) -> None:
    write(tmp_path, TOP + EXPERIMENT, "s0")
    for i in range(1, 22):
        write(tmp_path, including(f"s{i}", tmp_path / f"s{i - 1}.toml"), f"s{i}")
    assert len(load_suite(str(tmp_path / "s20.toml")).experiments) == 1
    with pytest.raises(SpecError, match="more than 20 deep"):
        load_suite(str(tmp_path / "s21.toml"))


@pytest.mark.parametrize(
    "text",
    ["seed = " + "1" * 5000, "x = " + "[" * 100_000, "x = " + "{a = " * 100_000, "x = ", 'x = "\x00"'],
    ids=["digits", "lists", "tables", "nothing", "null"],
)
def test_files_that_break_the_reader_are_no_suite_files(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="not a suite file"):
        load_suite(write(tmp_path, text))


def test_paths_that_cannot_be_are_no_suite_files() -> None:
    with pytest.raises(InputError, match="not a suite file"):
        load_suite("a\x00.toml")


@pytest.mark.parametrize(
    ("said", "expected"),
    [("margin = 0.02", {"ndcg": 0.02}), ("margin = { ndcg = 0.02, err = 1 }", {"ndcg": 0.02, "err": 1.0}), ("", {})],
)
def test_margins_of_a_recommendation_are_by_metric(tmp_path: Path, said: str, expected: dict[str, float]) -> None:
    """A number is that of the headline: runs of before say it so."""
    text = (TOP + EXPERIMENT).replace("repetitions = 1", f'repetitions = 1\nlosses = ["ndcg", "err"]\n{said}')
    assert load_suite(write(tmp_path, text)).experiments[0].margin == expected


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("margin = { ndcg = 0.0 }", r"margin\.ndcg: "),
        ("margin = { ndcg = nan }", r"margin\.ndcg: "),
        ("margin = { err = 0.1 }", "'err' is not among the losses"),
        ("recommend = true", "a recommendation compares with a baseline"),
    ],
)
def test_a_recommendation_needs_what_it_goes_by(tmp_path: Path, said: str, why: str) -> None:
    text = (TOP + EXPERIMENT).replace("repetitions = 1", f"repetitions = 1\n{said}")
    with pytest.raises(SpecError, match=why):
        load_suite(write(tmp_path, text))


def test_unknown_suites(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="did you mean 'paper'"):
        api.planned("papr")
    with pytest.raises(InputError, match="no such suite file"):
        api.planned(str(tmp_path / "none.toml"))
    (tmp_path / "bad.toml").write_text("name = ")
    with pytest.raises(InputError, match=r"bad\.toml"):
        api.planned(str(tmp_path / "bad.toml"))


FEW = "movielens-like:users=200,movies=300,ratings=12000"


SUITES = [pytest.param(name, marks=[pytest.mark.long] * (name == "public-logs")) for name in sorted(manager.suites())]
"""Where the logs are that cannot be shipped, public-logs is planned on a million votes."""


@pytest.mark.full
@pytest.mark.parametrize("name", part_of(SUITES, 4))
def test_built_in_suites_can_be_planned(name: str) -> None:
    # Suites of one's own log bring no data; features of as many ratings as Table 1 has take long to prepare.
    dataset = {"own-log": "llmfao", "own-clicks": "cascade-clicks", "table-1": FEW, "paper": FEW}.get(name, ())
    plan = api.planned(name, RunQuestion(reps=1, dataset=dataset)).plan
    assert plan.tasks


@pytest.mark.parametrize("name", sorted(manager.suites()))
def test_their_protocols_take_their_data(name: str) -> None:
    for experiment in load_suite(name).experiments:
        protocol = protocol_of(experiment.protocol)
        if protocol.table is not None and experiment.dataset:
            assert not protocol.refusal(dataset_of(experiment.dataset))


def test_the_suite_paper_is_the_protocol() -> None:
    suite = read_suite(manager.suites()["paper"])
    by_name = {experiment.name: experiment for experiment in suite.experiments}
    figure_2, figure_3, figure_4 = (by_name[f"figure-{i}"] for i in (2, 3, 4))
    assert figure_3.n == (200_000, 400_000, 800_000, 1_600_000)
    assert (figure_2.repetitions, figure_3.repetitions, figure_4.repetitions) == (20, 50, 50)
    assert figure_4.n == (800_000,)
    claims = [claim.id for experiment in suite.experiments for claim in experiment.claims]
    assert sorted(claims) == [f"C{i}" for i in range(1, 10)]
    assert suite.protocol == "btl:design=500,heldout=500,transforms=signed-log1p+zscore-within-query"


@pytest.mark.parametrize(
    ("name", "late"),
    [
        ("table-1", {f"T{i}" for i in range(1, 8)}),
        ("aggregators", {f"A{i}" for i in range(1, 12)}),
        ("repair", {"R1", "R5", "R9"}),
        ("paper", {"C9"}),
        ("u-statistics", set()),
        ("after-2013", {"N10"}),
        ("uniform-law", {"L1"}),
    ],
)
def test_claims_that_knew_results_say_so(name: str, late: set[str]) -> None:
    suite = read_suite(manager.suites()[name])
    claims = [claim for experiment in suite.experiments for claim in experiment.claims]
    assert {claim.id for claim in claims if claim.origin == "post hoc"} == late
