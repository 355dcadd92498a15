"""From a suite's entries to labelled methods."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from data_files import written
from pydantic import ValidationError
from small_suites import suite_text

from rankbench import api
from rankbench.cli import main
from rankbench.core.spec import parse
from rankbench.errors import SpecError
from rankbench.interfaces.suite import ContenderEntry
from rankbench.plugin.manager import contenders
from rankbench.runner.question import RunQuestion
from rankbench.runner.run_record import suite_record
from rankbench.store.records import SuiteRecord

ORACLES = suite_text(
    'label = "knows [1]", use = "oracle"', 'label = "full", use = "erm:aggregator=limit-scores"',
    'label = "chance", use = "random-scores"', protocol="btl:design=5,heldout=5", dataset="web10k-like:queries=12",
)  # fmt: skip


@pytest.mark.parametrize(
    ("written", "planned"),
    [("", ("knows [1]", "full")), ('oracles = ["fu*", "chance"]', ("fu*", "chance", "knows [1]"))],
)
def test_who_declares_the_truth_is_an_oracle(tmp_path: Path, written: str, planned: tuple[str, ...]) -> None:
    (tmp_path / "own.toml").write_text(ORACLES + written)
    assert api.planned(str(tmp_path / "own.toml")).plan.suite.experiments[0].oracles == planned


def labels(label: str, use: str = "erm:k=[1,10],lambda=0.5") -> list[str]:
    return [found for found, _ in contenders(ContenderEntry(use=use, label=label))]


def test_labels_hold_the_parameters_of_each_point() -> None:
    assert labels("k={k}, {lambda}") == ["k=1, 0.5", "k=10, 0.5"]
    assert labels("{aggregator}", "erm:aggregator=mean-log-odds(smoothing=0.25)") == ["mean-log-odds(smoothing=0.25)"]
    assert labels("", "erm:k=10") == ["erm:k=10"]


@pytest.mark.parametrize(
    "label", ["{k.__class__}", "{k[0]}", "{k!r}", "{k:>1000000000}", "{}", "{0}", "{aggregator.config.__globals__}"]
)
def test_a_label_is_no_format_string(label: str) -> None:
    with pytest.raises(SpecError, match="is no parameter"):
        labels(label)


def test_an_unknown_parameter_gets_the_nearest() -> None:
    with pytest.raises(SpecError, match="'lamda' is no parameter; did you mean 'lambda'"):
        labels("{lamda}")


def test_labels_are_short() -> None:
    assert labels("x" * 200, "erm") == ["x" * 200]
    with pytest.raises(ValidationError, match="200"):
        labels("x" * 201)
    with pytest.raises(SpecError, match="longer than 200"):
        labels("{aggregator}" * 16, "erm")


@pytest.mark.parametrize("param", ["k=2147483648", "k=0", "k=1.5", "k=-inf", "curve=10001", "draws=1000000001"])
def test_parameters_out_of_range_are_refused(param: str) -> None:
    with pytest.raises(SpecError, match=f"erm.*{param.split('=')[0]}"):
        labels("", f"erm:{param}")


def test_the_largest_parameters_are_fine() -> None:
    assert len(labels("", "erm:k=[2147483647,inf],curve=10000,draws=1000000000")) == 2


def test_plans_that_fit_into_no_memory_are_refused_before_they_are_made(tmp_path: Path) -> None:
    text = suite_text('label = "k={k}", use = "erm:k=[1,inf]"', name="huge", n="[100, 200, 300]", repetitions=1_000_000)
    path = written(tmp_path / "huge.toml", text)
    with pytest.raises(SpecError, match="6,000,000 cells"):
        api.planned(str(path))
    path.write_text(text.replace("1000000", "1000001"))
    with pytest.raises(SpecError, match="repetitions"):
        api.planned(str(path))


CLAIM = """
[[experiments.claims]]
id = "A"
text = "a"
kind = "less"
contrasts = [{ a = "random", b = "random", n_a = 100, n_b = 200 }]
"""


def claiming(heldout: int, more: str = "") -> str:
    """Return a suite with a claim across two n."""
    protocol, data = f"btl:design=20,heldout={heldout}", "web10k-like:queries=44,features=12"
    contender = 'use = "random-scores", label = "random"'
    return suite_text(contender, protocol=protocol, dataset=data, n="[100, 200]", more=more + CLAIM)


def test_nothing_need_be_held_out(tmp_path: Path) -> None:
    path = written(tmp_path / "own.toml", claiming(0))
    (prepared,) = api.planned(str(path)).sources
    assert {split: len(units) for split, units in prepared.units.items()} == {"design": 20, "heldout": 0}
    assert prepared.arrays["heldout.x"].shape == (0, prepared.arrays["design.x"].shape[1])
    assert prepared.arrays["heldout.offsets"].tolist() == [0]


def test_losses_are_called_in_the_record_as_cells_name_them(tmp_path: Path) -> None:
    path = written(tmp_path / "own.toml", claiming(20, 'losses = ["ndcg:gain=exp2,cutoff=5", "ndcg"]'))
    made = api.planned(str(path))
    assert {task.metrics for task in made.plan.tasks} == {("ndcg:cutoff=5", "ndcg")}
    record = SuiteRecord.model_validate(suite_record(made))
    assert record.experiments[0].losses == ("ndcg:cutoff=5", "ndcg")
    assert {metric.name: metric.direction for metric in record.sources[0].metrics} == {
        "ndcg:cutoff=5": "minimize",
        "ndcg": "minimize",
    }
    assert all(metric.low == 0 and metric.sentence for metric in record.sources[0].metrics)


def test_parameters_of_protocols_can_be_set_wherever_they_are_known(tmp_path):
    both = suite_text('use = "erm"') + (
        '[[experiments]]\nname = "b"\ntitle = "B"\nprotocol = "aggregation:populations=3"\nn = [10]\n'
        'losses = ["misordered"]\ncontenders = [{ use = "borda" }]\n'
    )
    path = written(tmp_path / "own.toml", both)
    made = api.planned(str(path), RunQuestion(parameters="design=4,heldout=3"))
    found = {name: made.sources[index] for name, index in made.source_index.items()}
    assert {split: len(units) for split, units in found["a"].units.items()} == {"design": 4, "heldout": 3}
    assert [str(one.protocol) for one in found.values()] == ["btl:design=4,heldout=3", "aggregation:populations=3"]
    both = api.planned(str(path), RunQuestion(parameters="populations=2"))
    assert [str(one.protocol) for one in both.sources] == ["btl:design=10,heldout=10", "aggregation:populations=2"]


GRIDS = [
    'label = "tuned", tune = true, use = "erm:aggregator=labels,lambda=[1,0.1,0.01]"',
    'label = "l={lambda}", use = "erm:aggregator=labels,lambda=[3,4]"',
    'label = "random", use = "random-scores"',
]


def shown(suite: str, *extra: str) -> dict[str, dict[str, object]]:
    """Return the configuration of what is added, by label."""
    plan = api.planned(suite, RunQuestion(extra=extra)).plan
    added = {label for labels in plan.added.values() for label in labels}
    return {m.label: m.config for m in plan.members if m.label in added}


def lambdas(config: dict[str, object]) -> list[object]:
    return [one["lambda"] for one in config["tuned"]]  # type: ignore[index, attr-defined]


def test_an_added_grid_is_tuned_where_the_suite_tunes(tmp_path: Path) -> None:
    """By the suite's rule: one row, whose parameters are chosen on validation data."""
    data = {"dataset": "web10k-like:queries=30,features=8", "n": "[1]"}
    tunes = str(written(tmp_path / "tunes.toml", suite_text(*GRIDS, protocol="graded", **data)))
    plain = str(written(tmp_path / "plain.toml", suite_text(*GRIDS[1:], protocol="graded", **data)))
    text = "erm:aggregator=label-pairs,surrogate=pairwise-logistic,optimizer=newton,lambda=[0.5,0.25]"
    (label, config), *none = shown(tunes, text).items()
    assert (label, lambdas(config), none) == (text, [0.5, 0.25], [])
    alone = shown(tunes, text.replace("[0.5,0.25]", "0.5"))
    assert [one["lambda"] for one in alone.values()] == [0.5]
    # Nothing is tuned here, and so each point competes.
    assert sorted(one["lambda"] for one in shown(plain, text).values()) == [0.25, 0.5]


def test_a_component_beside_a_tuned_grid_is_tuned(tmp_path: Path) -> None:
    text = suite_text(*GRIDS, protocol="graded", dataset="web10k-like:queries=30,features=8", n="[1]")
    found = shown(str(written(tmp_path / "tunes.toml", text)), "surrogate=listnet")
    whole = found.pop("surrogate=listnet, optimizer=newton, tuned")
    assert lambdas(whole) == [1.0, 0.1, 0.01]
    assert all("listnet" in json.dumps(one["surrogate"]) for one in whole["tuned"])  # type: ignore[attr-defined]
    assert sorted(one["lambda"] for one in found.values()) == [3.0, 4.0]


def test_labels_tell_parameters_apart_that_six_digits_do_not() -> None:
    entry = ContenderEntry(use=parse("erm:lambda=[0.12345678,0.12345679,0.5]"), label="l={lambda}")
    assert [label for label, _ in contenders(entry)] == ["l=0.12345678", "l=0.12345679", "l=0.5"]


def test_a_run_says_what_the_data_make_smaller(tmp_path: Path) -> None:
    """Where its answer is printed: in the terminal, on the pages, in JSON."""
    suite = suite_text('use = "random-scores"', protocol="btl:design=50,heldout=50", n="[1000, 2000]", repetitions=1)
    words = ["run", "--suite", str(written(tmp_path / "s.toml", suite)), "--workers", "1", "--out"]
    said = [CliRunner().invoke(main, [*words, str(tmp_path / "out"), *form]) for form in ((), ("--json",))]
    assert [one.exit_code for one in said] == [0, 0]
    facts = json.loads(said[1].stdout)
    design = json.loads((tmp_path / "out" / "run.json").read_text())["sources"][0]["units"]["design"]
    n, texts = (20 * design, 40 * design), [one["text"] for one in facts["notices"] if one["kind"] == "smaller"]
    expected = f"Experiment a: n = {n[0]:,}, {n[1]:,} judgments instead of 1,000, 2,000."
    assert expected in texts
    assert any(text.startswith(f"{design} design and ") and "instead of 50 and 50" in text for text in texts)
    pages = [(tmp_path / "out" / f"leaderboard.{form}").read_text() for form in ("md", "html")]
    for answer in (said[0].stdout, *pages):
        for text in texts:
            assert "".join(text.split()) in "".join(answer.split())
    more = api.planned(str(written(tmp_path / "m.toml", suite.replace("design=50", "design=2"))))
    (text,) = more.plan.smaller
    assert "instead of 2 and 50; every n is scaled by " in text
    assert sum(map(int, re.findall(r"(\d+) (?:design|held-out)", text))) == 2 * design
    whole = api.planned(str(written(tmp_path / "w.toml", suite.replace("=50", "=10").replace("24", "60"))))
    assert whole.plan.smaller == ()
