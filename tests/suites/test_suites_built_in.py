"""Every suite that is shipped or documented can be planned."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from amounts import part_of

from rankbench import api
from rankbench.plugin import manager
from rankbench.runner.prepare import dataset_of, protocol_of
from rankbench.suites.suite_files import load_suite, read_suite

DOCS = Path(__file__).resolve().parents[2] / "docs" / "suites.md"
FEW = "movielens-like:users=200,movies=300,ratings=12000"


@pytest.mark.parametrize("name", part_of(sorted(manager.suites()), 4))
def test_built_in_suites_can_be_planned(name: str) -> None:
    # Suites of one's own log bring no data; features of as many ratings as Table 1 has take long to prepare.
    dataset = {"own-log": "llmfao", "own-clicks": "cascade-clicks", "table-1": FEW, "paper": FEW}.get(name, ())
    plan = api.planned(name, reps=1, dataset=dataset).plan
    assert plan.tasks


@pytest.mark.parametrize("name", sorted(manager.suites()))
def test_their_protocols_take_their_data(name: str) -> None:
    for experiment in load_suite(name).experiments:
        protocol = protocol_of(experiment.protocol)
        if protocol.table is not None and experiment.dataset:
            assert not protocol.refusal(dataset_of(experiment.dataset))


def test_the_documented_suite_can_be_planned(tmp_path: Path) -> None:
    text = re.search(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert text is not None
    path = tmp_path / "mine.toml"
    path.write_text(text[1])
    plan = api.planned(str(path)).plan
    assert len(plan.tasks) == 20


def test_the_suite_paper_is_the_protocol() -> None:
    suite = read_suite(manager.suites()["paper"])
    by_name = {experiment.name: experiment for experiment in suite.experiments}
    figure_2, figure_3, figure_4 = (by_name[f"figure-{i}"] for i in (2, 3, 4))
    assert figure_3.n == (200_000, 400_000, 800_000, 1_600_000)
    assert (figure_2.repetitions, figure_3.repetitions, figure_4.repetitions) == (20, 50, 50)
    assert figure_4.n == (800_000,)
    claims = [claim.id for experiment in suite.experiments for claim in experiment.claims]
    assert sorted(claims) == [f"C{i}" for i in range(1, 9)]
    assert suite.protocol == "btl:design=500,heldout=500,transforms=signed-log1p+zscore-within-query"


@pytest.mark.parametrize(
    ("name", "late"),
    [
        ("table-1", {"T1", "T2", "T3", "T4", "T5"}),
        ("aggregators", {f"A{i}" for i in range(1, 12)}),
        ("repair", {"R1", "R5", "R9"}),
        ("u-statistics", set()),
    ],
)
def test_claims_that_knew_results_say_so(name: str, late: set[str]) -> None:
    suite = read_suite(manager.suites()[name])
    claims = [claim for experiment in suite.experiments for claim in experiment.claims]
    assert {claim.id for claim in claims if claim.origin == "post hoc"} == late
