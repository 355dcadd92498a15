"""The protocol `graded`: LETOR's folds, choices by validation queries alone, and labels that stay hidden."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from competing import executed, task_of
from installed import hook, install_plugin
from pydantic import Field
from small_suites import suite_text

import rankbench
from rankbench import api
from rankbench.errors import InputError, PluginError, SpecError
from rankbench.interfaces.dataset import Dataset
from rankbench.protocols.graded import Graded
from rankbench.testing import check_component

LOSS = "ndcg:discount=log2,cutoff=10"
DATA = os.environ.get("RANKBENCH_DATA", "")
REAL = pytest.mark.skipif(not (Path(DATA) / "mq2008").is_dir(), reason="RANKBENCH_DATA has no mq2008")


def labelled(names, seed=1, d=5):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 9, len(names))
    ids = np.repeat(names, sizes)
    x = rng.normal(size=(len(ids), d)).astype(np.float32)
    y = np.clip(np.round(x @ np.linspace(1, -1, d) + rng.normal(size=len(ids)) + 1), 0, 4)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    y[first], y[first + 1] = 3, 0  # two different labels in every query
    return pl.DataFrame({"query_id": ids, "label": y.astype(np.float32), "x": x})


class Frame(Dataset):
    """A frame."""

    name: ClassVar[str] = "frame"
    title: ClassVar[str] = "A frame"

    def scan(self):
        return self.__dict__["frame"].lazy()

    def fingerprint(self):
        return "0" * 64


def frame(names, **options):
    made = Frame()
    made.__dict__["frame"] = labelled(names, **options)
    return made


SHIPPED = [*(f"train{i}" for i in range(9)), *(f"vali{i}" for i in range(3)), *(f"test{i}" for i in range(3))]


class Spy(rankbench.Method):
    """Learns from labels, and keeps what it was shown."""

    name: ClassVar[str] = "spy"
    source: ClassVar[str] = "test"
    seen: ClassVar[list] = []
    aggregator: rankbench.Aggregator = rankbench.get(rankbench.Aggregator, "labels")

    def fit(self, block):
        with_labels = [*zip(block.design.ids, np.split(block.design.labels, block.design.offsets[1:-1]), strict=True)]
        self.seen.append((with_labels, list(block.validation.ids)))
        block.validation.labels[:] = 0  # its own copy

        def score(queries):
            with pytest.raises(PluginError):
                _ = queries.labels
            return queries.x[:, 0].astype(float)

        return rankbench.Fitted(score)


def run(data, *contenders, losses=(LOSS,)):
    prepared = Graded().prepare(data, 1)
    return prepared, executed(prepared, contenders, losses)


def test_the_shipped_fold_comes_first_and_its_five_parts_rotate():
    prepared, found = run(frame(SHIPPED), Spy())
    assert found[str(Spy())].status == "done", found[str(Spy())].reason
    parts = [[f"train{i}" for i in range(3 * p, 3 * p + 3)] for p in range(3)] + [SHIPPED[9:12], SHIPPED[12:]]
    shown = Spy.seen
    truth = dict(labelled(SHIPPED).group_by("query_id", maintain_order=True).agg("label").iter_rows())
    assert len(shown) == 5
    for fold, (train, validation) in enumerate(shown):
        names = [name for at in sorted((fold + step) % 5 for step in range(3)) for name in parts[at]]
        assert [name for name, _ in train] == names
        assert validation == parts[(fold + 3) % 5]
        for name, labels in train:
            assert labels.tolist() == truth[name]
    tested = [name for fold in range(5) for name in parts[(fold + 4) % 5]]
    assert list(prepared.units["heldout"]) == tested
    assert "the shipped one" in prepared.notes[0]


def test_a_hash_deals_other_queries_to_parts_whatever_their_order():
    names = [f"q{i}" for i in range(23)]
    one = Graded().prepare(frame(names), 1)
    other = Graded(folds=2).prepare(frame(names[::-1]), 9)
    assert sorted(one.units["heldout"]) == sorted(names)
    assert {*other.units["heldout"]} == {*one.units["heldout"][: len(other.units["heldout"])]}
    assert "do not ship" in one.notes[0]
    equal = frame(names)
    first = pl.col("query_id").is_in(names[:2])
    equal.__dict__["frame"] = equal.__dict__["frame"].with_columns(label=pl.when(first).then(1.0).otherwise("label"))
    title = Graded(folds=1).prepare(equal, 1).splits["heldout"]
    assert title.endswith(" that holds it out; 2 of 23 queries are left out: one item, or equal labels)")


def test_losses_are_those_of_a_ranker_that_was_fitted_by_hand():
    data, spec = frame(SHIPPED), "erm:aggregator=label-pairs,surrogate=pairwise-logistic,optimizer=newton,lambda=0.01"
    ready, found = run(data, spec, losses=(LOSS, "pairwise-disagreement"))
    table = data.scan().collect()
    parts = [SHIPPED[3 * p : 3 * p + 3] for p in range(5)]
    losses = {LOSS: [], "pairwise-disagreement": []}
    for fold in range(5):
        names = [name for step in range(3) for name in parts[(fold + step) % 5]]
        train = table.filter(pl.col("query_id").is_in(names))
        ranker = rankbench.Ranker(surrogate="pairwise-logistic", optimizer="newton", l2=0.01)
        ranker.fit(train["x"].to_numpy(), train["label"].to_numpy(), train["query_id"].to_numpy())
        for name in parts[(fold + 4) % 5]:
            one = table.filter(query_id=name)
            y, scores = one["label"].to_numpy().astype(float), ranker.predict(one["x"].to_numpy())
            gains, places = 2**y - 1, 1 / np.log2(np.arange(2, len(y) + 2))
            best = (np.sort(gains)[::-1] * places)[:10].sum()
            losses[LOSS].append(1 - (gains[np.argsort(-scores)] * places)[:10].sum() / best)
            above, below = np.nonzero(y[:, None] > y)
            losses["pairwise-disagreement"].append((scores[above] <= scores[below]).mean())
    for metric, values in losses.items():
        np.testing.assert_allclose(found[spec].losses[metric, "heldout"], values, atol=1e-9)
    assert len(ready.units["heldout"]) == 15


def test_a_grid_is_chosen_by_validation_queries_in_every_fold():
    data = frame(SHIPPED)
    table = data.scan().collect()
    _, found = run(data, "feature:index=[0,1,2,3,4]", *(f"feature:index={i}" for i in range(5)))
    single = [found[f"feature:index={i}"].losses[LOSS, "heldout"] for i in range(5)]
    grid = found["feature:index=[0,1,2,3,4]"]
    loss = rankbench.get(rankbench.Loss, LOSS)
    for fold in range(5):
        held = SHIPPED[3 * ((fold + 3) % 5) : 3 * ((fold + 3) % 5) + 3]
        means = []
        for i in range(5):
            each = (table.filter(query_id=name) for name in held)
            values = [
                loss.value(q["x"].to_numpy()[:, i].astype(float), q["label"].to_numpy().astype(float)) for q in each
            ]
            means.append(np.mean(values))
        assert grid.info[f"choice-{fold + 1}"] == np.argmin(means)
        part = slice(3 * fold, 3 * fold + 3)
        np.testing.assert_array_equal(grid.losses[LOSS, "heldout"][part], single[np.argmin(means)][part])


@pytest.mark.parametrize(
    ("spec", "reason"),
    [("oracle", "hides them"), ("erm", "aggregator=labels"), ("erm:aggregator=borda,k=2", "label-pairs for pairs")],
)
def test_whoever_needs_other_judgments_cannot_compete(spec, reason):
    assert reason in Graded().misfit(rankbench.get(rankbench.Method, spec))


def test_a_method_of_comparisons_is_told_none_and_says_so():
    _, found = run(frame(SHIPPED), "u-statistic", "random-scores")
    assert "no comparisons to learn from" in found["u-statistic"].reason
    assert found["random-scores"].status == "done"


def test_parts_without_usable_queries_are_rejected():
    with pytest.raises(InputError, match=r"part 4 of 5 .* no query with two different labels"):
        Graded().prepare(frame(["a", "b", "c"]), 1)


def test_learners_of_labels_are_no_oracles_here(tmp_path):
    grid = 'tune = true, use = "erm:aggregator=labels,lambda=[1,0.01]"'
    text = suite_text(grid, protocol="graded", dataset="web10k-like:queries=30,features=8", n="[1]")
    (tmp_path / "own.toml").write_text(text)
    made = api.planned(str(tmp_path / "own.toml"))
    assert [e.oracles for e in made.plan.suite.experiments] == [()]
    results = api.run(str(tmp_path / "own.toml"), out=tmp_path / "out")
    assert results.failures == {}
    (tmp_path / "own.toml").write_text(text.replace("aggregator=labels,", ""))
    with pytest.raises(SpecError, match="there are none: write aggregator=labels"):
        api.planned(str(tmp_path / "own.toml"))


class Uneven(rankbench.Method):
    """Has a fact in all folds, and one that is finite in some."""

    name: ClassVar[str] = "uneven"
    source: ClassVar[str] = "test"

    def fit(self, block):
        first = "train0" in block.design.ids
        info = {"own": 1.0 if first else np.inf, "queries": float(first)}
        return rankbench.Fitted(lambda queries: queries.x[:, 0].astype(float), info=info)


def test_facts_that_a_fold_lacks_have_no_mean():
    _, found = run(frame(SHIPPED), Uneven(), "random-scores")
    assert found["random-scores"].status == "done"
    info = found[str(Uneven())].info
    assert "own" not in info
    assert info["queries"] == pytest.approx(3 / 5)


@REAL
def test_the_folds_of_mq2008_are_the_shipped_ones():
    prepared = Graded(folds=1).prepare(rankbench.get(rankbench.Dataset, "mq2008"), 1)
    assert all(name.startswith("test") for name in prepared.units["heldout"])
    of_part = np.bincount(prepared.arrays["queries.parts"])
    assert len(prepared.units["heldout"]) == of_part[4] == 105
    assert of_part.sum() == 564


class Taught(rankbench.Method):
    """A method of somebody else, which declares nothing and says what it was shown."""

    name: ClassVar[str] = "taught"
    source: ClassVar[str] = "test"
    seen: ClassVar[list] = []
    peeks: bool = False

    def fit(self, block):
        held = block.validation
        self.seen.append((block.design.ids, block.design.labels.copy(), held.ids, held.labels.copy()))
        assert len(block.comparisons) == 0
        block.design.labels[:] = held.labels[:] = 0  # its own copies
        return rankbench.Fitted(lambda queries: queries.labels if self.peeks else queries.x[:, 0].astype(float))


def test_methods_of_others_are_shown_what_built_in_ones_are():
    Spy.seen.clear()
    Taught.seen.clear()
    _, found = run(frame(SHIPPED), Spy(), Taught(), Taught(peeks=True), "erm:aggregator=labels")
    assert found[str(Taught())].status == "done", found[str(Taught())].reason
    assert len(Taught.seen) == 2 * len(Spy.seen) == 10
    truth = dict(labelled(SHIPPED).group_by("query_id", maintain_order=True).agg("label").iter_rows())
    for (with_labels, held), (ids, labels, watched, known) in zip(Spy.seen, Taught.seen[::2], strict=True):
        assert (ids, watched) == ([name for name, _ in with_labels], held)
        np.testing.assert_array_equal(labels, np.concatenate([shown for _, shown in with_labels]))
        np.testing.assert_array_equal(known, np.concatenate([truth[name] for name in held]))
    assert "looks at the labels of queries, which it is judged by" in found[str(Taught(peeks=True))].reason


def test_no_two_messages_send_an_author_in_a_circle():
    """What each of them advises is what works."""
    hidden = "compete under protocol 'graded', where methods learn from the labels of training queries"
    with pytest.raises(PluginError, match=hidden):
        _ = rankbench.Queries(["q"], np.array([0, 1]), np.zeros((1, 1), np.float32), None).labels

    class Declared(Taught):
        """The same, declared an oracle."""

        name: ClassVar[str] = "declared"
        needs_truth: ClassVar[bool] = True

    assert "Leave needs_truth out: every method gets the labels of the training queries" in Graded().misfit(Declared())
    assert Graded().misfit(Taught()) == ""
    found = check_component(Labels())
    assert [one for one in found if one.status == "failed"] == []
    assert {one.status for one in found if one.check == "labels-do-not-matter"} == {"skipped"}
    reversed_ones = [one.check for one in check_component(Labels(sign=-1)) if one.status == "failed"]
    assert reversed_ones == ["learns-what-judgments-say"]


class Labels(rankbench.Method):
    """Regression of labels, of which comparisons tell nothing."""

    name: ClassVar[str] = "labels-only"
    source: ClassVar[str] = "test"
    properties: ClassVar[frozenset[str]] = frozenset({"equivariant"})
    sign: int = Field(default=1, description="Sign of the scores.")

    def fit(self, block):
        """Learn from labels."""
        x = block.design.x.astype(float)
        theta = self.sign * np.linalg.solve(x.T @ x + np.eye(x.shape[1]), x.T @ block.design.labels)
        return rankbench.Fitted(lambda queries: queries.x @ theta)


FOREIGN = """
from typing import ClassVar

import numpy as np
import rankbench


class Forest(rankbench.Method):
    "Trees of scikit-learn on labels, as many as are best on validation queries."

    name: ClassVar[str] = "forest"
    source: ClassVar[str] = "scikit-learn"
    packages: ClassVar[tuple[str, ...]] = ("scikit-learn",)

    def fit(self, block):
        from sklearn.ensemble import GradientBoostingRegressor

        seed, held = int(block.generator(self).integers(2**31)), block.validation
        trees = GradientBoostingRegressor(n_estimators=20, max_depth=2, random_state=seed)
        trees.fit(block.design.x, block.design.labels)
        stages = [*trees.staged_predict(held.x)]
        best = int(np.argmin([np.square(one - held.labels).mean() for one in stages]))
        return rankbench.Fitted(lambda queries: [*trees.staged_predict(queries.x)][best], info={"trees": best + 1.0})
"""


@pytest.mark.full
def test_a_learner_of_labels_of_another_distribution_competes(tmp_path):
    """As LightGBM's does (plugins/rankbench-peers): in a worker of its own, with the same labels."""
    install_plugin(tmp_path / "site", "foreign", "foreign = foreign", foreign=FOREIGN + hook("Forest"))
    contenders = ('label = "erm", use = "erm:aggregator=labels"', 'label = "random", use = "random-scores"')
    suite = suite_text(*contenders, protocol="graded", dataset="web10k-like:queries=40,features=8", n="[1]")
    (tmp_path / "own.toml").write_text(suite)
    program = "import rankbench; found = rankbench.run('own.toml', extra=['forest'], out='out'); print(found.failures)"
    paths = os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "{}\n", done.stderr
    rows = pl.read_csv(tmp_path / "out" / "leaderboard.csv")
    means = dict(rows.select("contender", "mean").iter_rows())
    assert means["forest"] < means["random"] - 0.05
    assert dict(rows.select("contender", "oracle").iter_rows()) == {"erm": False, "random": False, "forest": False}


def test_each_fold_of_each_contender_moves_the_progress():
    prepared, done = Graded().prepare(frame(SHIPPED), 1), {}
    task = task_of(prepared, ["erm:aggregator=labels,lambda=[1,0.1]", "random-scores"], (LOSS,))
    told = []
    prepared.protocol.execute(prepared, replace(task, advance=lambda *one: told.append(one)))
    for cell, share in told:
        done[cell] = done.get(cell, 0) + share
    assert done == pytest.approx(dict.fromkeys(task.cells, 1.0))
    assert len(told) == 5 * 3
