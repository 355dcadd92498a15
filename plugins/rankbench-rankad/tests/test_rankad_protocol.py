import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score, roc_curve

import rankbench
from rankbench.errors import ContenderDiverged, InputError, SpecError
from rankbench.interfaces.cell import BlockKey, cell_problem
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.protocol import BlockTask
from rankbench_rankad.detector import Detector
from rankbench_rankad.protocol import Anomaly
from rankbench_rankad.roc import PER_MILLE, auc, detected_at
from rankbench_rankad.simulator import KnownDensity

DETECTORS = (
    "knn-distance",
    "knn-distance:search=brute",
    "one-class-svm",
    "isolation-forest",
    "local-outlier-factor",
    "rank-ad:sigma=0.5,lambda=0.001",
    "rank-ad:sigma=0.5,lambda=0.001,anchored=true,calibration=0.25",
)
DATA = KnownDensity(nominal=600, anomalies=60)


@pytest.fixture(scope="module")
def prepared():
    return Anomaly(nominal=600).prepare(DATA, 1)


def task(*specs, n=200, repetition=0, seed=1):
    key = BlockKey("anomaly", str(DATA), n, repetition, seed)
    made = {spec: rankbench.get(rankbench.Method, spec) if isinstance(spec, str) else spec for spec in specs}
    cells = {f"cell-{spec}": Contender.single(method) for spec, method in made.items()}
    return BlockTask(key, 0, Anomaly.metric_names(), cells)


def test_every_detector_is_judged_by_every_metric(prepared):
    cells = prepared.protocol.execute(prepared, task(*DETECTORS))
    assert [cell.cell for cell in cells] == [f"cell-{spec}" for spec in DETECTORS]
    for cell in cells:
        assert cell.status == "done", cell.reason
        assert cell_problem(cell, {"heldout": 1}) is None
        assert {metric for metric, _ in cell.losses} == set(Anomaly.metric_names())
        assert cell.losses["auc", "heldout"][0] > 0.8
        assert (np.diff(cell.curves["roc"].values) >= 0).all()


def test_tree_and_brute_force_are_one_detector(prepared):
    tree, brute = prepared.protocol.execute(prepared, task("knn-distance", "knn-distance:search=brute"))
    assert tree.losses["auc", "heldout"] == pytest.approx(brute.losses["auc", "heldout"], abs=1e-6)


def test_a_cell_does_not_depend_on_its_neighbors_and_repeats(prepared):
    spec = DETECTORS[-1]
    alone = prepared.protocol.execute(prepared, task(spec))[0]
    beside = prepared.protocol.execute(prepared, task("isolation-forest", spec))[1]
    for one, other in ((alone, beside), (alone, prepared.protocol.execute(prepared, task(spec))[0])):
        assert one.losses == other.losses
        np.testing.assert_array_equal(one.curves["roc"].values, other.curves["roc"].values)


@pytest.mark.parametrize("other", [{"repetition": 1}, {"seed": 2}])
def test_other_repetitions_and_seeds_are_other_draws(prepared, other):
    first = prepared.protocol.execute(prepared, task("knn-distance"))[0]
    second = prepared.protocol.execute(prepared, task("knn-distance", **other))[0]
    assert first.losses["auc", "heldout"] != second.losses["auc", "heldout"]


class _Spy(Detector):
    """Remember what was learned from and what was scored."""

    name = "spy"
    source = "a test"

    def learn(self, points, generator):
        raise NotImplementedError


def test_nothing_learned_from_is_tested_on(prepared, monkeypatch):
    seen = {}

    def train(self, points, generator):
        seen["training"] = points

        class Trained:
            def score(self, points):
                seen["test"] = points
                raise InputError("enough")

        return Trained()

    monkeypatch.setattr(_Spy, "train", train)
    cell = prepared.protocol.execute(prepared, task(_Spy()))[0]
    assert (cell.status, cell.reason.startswith("InputError: enough at ")) == ("error", True)
    training = {tuple(row) for row in seen["training"]}
    assert len(seen["training"]) == 200
    assert not any(tuple(row) in training for row in seen["test"])
    assert len(seen["test"]) == 100 + 60
    anomalies = {tuple(row) for row in prepared.arrays["points.anomalies"]}
    assert not anomalies & training


def test_the_false_alarms_are_those_of_the_threshold(prepared):
    cell = prepared.protocol.execute(prepared, task("knn-distance", n=400))[0]
    rate = cell.losses["false-alarm-rate", "heldout"][0]
    # 200 nominal test points, level 0.05, threshold from 400: within 4 standard deviations.
    assert rate == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 * (1 / 200 + 1 / 400)))


def test_what_does_not_fit_is_said(prepared):
    protocol = prepared.protocol
    with pytest.raises(InputError, match=r"n = 500 nominal points"):
        protocol.execute(prepared, task("knn-distance", n=500))
    refused = protocol.execute(prepared, task("random-scores"))[0]
    assert (refused.status, "not a Detector" in refused.reason) == ("skipped", True)
    assert protocol.misfit(rankbench.get(rankbench.Method, "rank-ad")) == ""
    failed = protocol.execute(prepared, task("rank-ad:neighbors=500", n=200))[0]
    assert failed.status == "error"
    assert "too few for neighbors=500" in failed.reason


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (SystemExit(3), "error", "SystemExit: 3"),
        (SpecError("no such package"), "skipped", "no such package"),
        (ContenderDiverged("too far"), "diverged", "too far"),
        (ZeroDivisionError(), "error", "ZeroDivisionError"),
    ],
)
@pytest.mark.parametrize("when", ["train", "score"])
def test_whatever_a_detector_raises_is_its_own_row(prepared, monkeypatch, error, status, reason, when):
    def raises(*arguments):
        raise error

    spy = SimpleNamespace(score=raises)
    monkeypatch.setattr(_Spy, "train", raises if when == "train" else lambda self, points, generator: spy)
    cells = prepared.protocol.execute(prepared, task("knn-distance", _Spy(), "isolation-forest"))
    assert [cell.status for cell in cells] == ["done", status, "done"]
    # An error says where it was raised, too.
    assert re.fullmatch(
        re.escape(reason) + (r" at test_rankad_protocol\.py:\d+" if status == "error" else ""), cells[1].reason
    )


def test_a_small_table_shrinks_n_in_proportion():
    prepared = Anomaly(nominal=1200).prepare(DATA, 0)
    assert prepared.scale == 0.5
    assert any("scaled by 0.5" in note for note in prepared.notes)
    assert Anomaly(nominal=100).prepare(DATA, 0).scale == 1.0


@pytest.mark.parametrize("ties", [False, True])
def test_roc_and_its_area_are_scikit_learns(ties):
    draw = np.random.default_rng(0)
    scores, anomalous = draw.normal(size=400), draw.random(400) < 0.2
    scores[anomalous] -= 1.0
    if ties:
        scores = np.round(scores, 0)
    alarms, found, _ = roc_curve(anomalous, -scores, drop_intermediate=False)
    np.testing.assert_allclose(detected_at(scores, anomalous), np.interp(PER_MILLE / 1000, alarms, found))
    assert auc(scores, anomalous) == pytest.approx(roc_auc_score(anomalous, -scores))


def test_every_curve_is_declared_on_held_out_points(prepared):
    (cell,) = prepared.protocol.execute(prepared, task("isolation-forest"))
    assert Anomaly.curves == dict.fromkeys(cell.curves, ("heldout", "maximize"))
