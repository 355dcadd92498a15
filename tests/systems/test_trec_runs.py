"""TREC runs judged by qrels, held to a plain form of the measures and to what trec_eval says of a file of its own."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
from pathlib import Path

import polars as pl
import pytest
from amounts import part_of
from click.testing import CliRunner

import rankbench
from rankbench.cli import main
from rankbench.data.readers.choose import choose_reader
from rankbench.data.readers.run_measures import Measure
from rankbench.data.readers.trec import TrecReader
from rankbench.errors import InputError

TOPICS = [f"t{number}" for number in range(12)]
Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]


def drawn(seed: int = 5) -> tuple[Qrels, dict[str, Run]]:
    """Return grades of 0 to 3 (and -2, spam), and three runs of different length and quality, without ties."""
    random.seed(seed)
    qrels = {topic: {f"d{doc}": random.choice([-2, 0, 0, 1, 2, 3]) for doc in range(25)} for topic in TOPICS}
    qrels["t0"]["d0"] = 2
    qrels["nothing"] = {"d1": 0, "d2": 0}
    runs: dict[str, Run] = {}
    for system, (length, noise) in {"bm25": (40, 1.0), "dense": (8, 2.0), "short": (3, 4.0)}.items():
        runs[system] = {}
        for topic in TOPICS:
            docs = random.sample([f"d{doc}" for doc in range(60)], length)
            found = {doc: qrels[topic].get(doc, 0) + random.gauss(0, noise) for doc in docs}
            runs[system][topic] = found
    del runs["short"]["t3"]
    runs["dense"]["unjudged"] = {"d1": 1.0, "d2": 0.5}
    return qrels, runs


def written(folder: Path, qrels: Qrels, runs: dict[str, Run]) -> tuple[Path, list[Path]]:
    (folder / "qrels.txt").write_text("".join(f"{t} 0 {d} {g}\n" for t, docs in qrels.items() for d, g in docs.items()))
    paths = []
    for system, topics in runs.items():
        path = folder / f"{system}.txt"
        lines = []
        for topic, docs in topics.items():
            order = sorted(docs, key=docs.__getitem__, reverse=True)
            lines += [f"{topic}\tQ0 {doc}  {at} {docs[doc]!r} {system}\n" for at, doc in enumerate(order, 1)]
        path.write_text("".join(lines))
        paths.append(path)
    return folder / "qrels.txt", paths


def ndcg(grades: dict[str, int], docs: dict[str, float], k: int, *, burges: bool = False) -> float:
    def gain(grade: int) -> float:
        return 2.0 ** max(grade, 0) - 1 if burges else float(max(grade, 0))

    order = sorted(docs, key=docs.__getitem__, reverse=True)[:k]
    found = sum(gain(grades.get(doc, 0)) / math.log2(at + 2) for at, doc in enumerate(order))
    best = sum(gain(g) / math.log2(at + 2) for at, g in enumerate(sorted(grades.values(), reverse=True)[:k]))
    return found / best if best else 0.0


def precision(grades: dict[str, int], docs: dict[str, float], k: int) -> float:
    """Return the relevance of the first k documents, relative to the largest possible one."""
    order = sorted(docs, key=docs.__getitem__, reverse=True)[:k]
    best = sum(sorted((max(grade, 0) for grade in grades.values()), reverse=True)[:k])
    return sum(max(grades.get(doc, 0), 0) for doc in order) / best if best else 0.0


MEASURES = {
    "precision:k=5": lambda grades, docs: precision(grades, docs, 5),
    "": lambda grades, docs: ndcg(grades, docs, 10),
    "ndcg:gain=identity,cutoff=5": lambda grades, docs: ndcg(grades, docs, 5),
    "ndcg:cutoff=20": lambda grades, docs: ndcg(grades, docs, 20, burges=True),
}


@pytest.mark.parametrize("loss", MEASURES)
def test_scores_are_the_measure_of_each_topic(tmp_path: Path, loss: str) -> None:
    qrels, runs = drawn()
    judged, paths = written(tmp_path, qrels, runs)
    options = {"loss": loss} if loss else {}
    for path in paths:
        found = TrecReader(qrels=str(judged), **options).scan(path).collect()
        assert found["query_id"].to_list() == list(qrels)
        expected = [MEASURES[loss](qrels[topic], runs[path.stem].get(topic, {})) for topic in qrels]
        assert found["score"].to_list() == pytest.approx(expected, abs=1e-12)
    means = {path.stem: sum(MEASURES[loss](qrels[t], runs[path.stem].get(t, {})) for t in qrels) / 13 for path in paths}
    ranked = rankbench.rank(paths, ["mean-score"], qrels=judged, **options, replicates=50).table
    assert dict(ranked.select("system", "score").iter_rows()) == pytest.approx(means, abs=1e-12)


def test_documents_of_one_score_share_their_places(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n1 0 b 0\n1 0 c 0\n")
    (tmp_path / "r").write_text("1 Q0 b 1 3.0 s\n1 Q0 a 2 3.0 s\n")
    found = TrecReader(qrels=str(tmp_path / "q"), loss="ndcg:gain=identity,cutoff=1").scan(tmp_path / "r").collect()
    assert found["score"].to_list() == [0.5]


def trec_eval(qrels: Qrels, run: Run) -> list[float]:
    """Return nDCG@10 of each topic of the qrels as trec_eval computes it, 0 where the run lacks the topic."""
    evaluator = pytest.importorskip("pytrec_eval").RelevanceEvaluator(qrels, {"ndcg_cut_10"})
    found = evaluator.evaluate(run)
    return [found[topic]["ndcg_cut_10"] if topic in found else 0.0 for topic in TOPICS]


def test_ties_stand_in_trec_evals_order(tmp_path: Path) -> None:
    """Ties in all forms: equal scores, scores that are equal in 32 bits, with tabs and two systems in one file."""
    qrels, runs = drawn(9)
    rough = {topic: {doc: float(round(score)) for doc, score in docs.items()} for topic, docs in runs["bm25"].items()}
    close = {topic: {doc: 1 + at * 1e-9 for at, doc in enumerate(docs)} for topic, docs in runs["dense"].items()}
    made = {"rough": rough, "close": close}
    judged, paths = written(tmp_path, qrels, made)
    (tmp_path / "both.run").write_text("".join(path.read_text().replace(" ", "\t") for path in paths))
    graded = {topic: qrels[topic] for topic in TOPICS}
    reader = TrecReader(qrels=str(judged), ties="trec-eval")
    found = reader.scan(tmp_path / "both.run").collect()
    for system, run in made.items():
        values = found.filter(pl.col("query_id") != "nothing", system=system)["score"].to_list()
        assert values == pytest.approx(trec_eval(graded, run), abs=1e-6)
        shared = TrecReader(qrels=str(judged)).scan(tmp_path / "both.run").collect()
        shared = shared.filter(pl.col("query_id") != "nothing", system=system)
        assert shared["score"].to_list() != pytest.approx(values, abs=1e-3)
    ranked = CliRunner().invoke(
        main, ["rank", "--qrels", str(judged), str(tmp_path / "both.run"), "--ties", "trec-eval"]
    )
    assert ranked.exit_code == 0, ranked.output
    assert "documents of equal scores stand in trec_eval's order" in ranked.stderr


def test_shared_places_are_the_mean_of_trec_eval_over_all_orders_of_ties(tmp_path: Path) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    grades, scores = [3, 0, 1, 2, 0], [2.0, 1.0, 1.0, 1.0, 0.5]
    (tmp_path / "q").write_text("".join(f"1 0 d{at} {grade}\n" for at, grade in enumerate(grades)))
    (tmp_path / "r").write_text("".join(f"1 Q0 d{at} 1 {score} s\n" for at, score in enumerate(scores)))
    values = []
    for names in itertools.permutations("abc"):
        docs = ["x", *names, "y"]  # names decide the order of ties
        evaluator = pytrec_eval.RelevanceEvaluator({"1": dict(zip(docs, grades, strict=True))}, {"ndcg_cut_3"})
        values.append(evaluator.evaluate({"1": dict(zip(docs, scores, strict=True))})["1"]["ndcg_cut_3"])
    found = TrecReader(qrels=str(tmp_path / "q"), loss="ndcg:gain=identity,cutoff=3").scan(tmp_path / "r").collect()
    assert len({round(value, 6) for value in values}) > 2
    assert found["score"].to_list() == pytest.approx([sum(values) / 6], abs=1e-9)


def test_ranks_that_go_against_the_scores_are_named(tmp_path: Path) -> None:
    """Distances, of which less is better, rise with the rank; a rank of 0 throughout says nothing."""
    qrels, paths = written(tmp_path, *drawn())
    assert not any("ranked before" in note for note in rankbench.rank(paths, qrels=qrels).notes)
    for ranks, noted in (((1, 2, 3), 2), ((0, 0, 0), 0)):
        lines = (f"t1 Q0 d{at} {rank} {score} far\n" for at, (rank, score) in enumerate(zip(ranks, "123", strict=True)))
        (tmp_path / "far.run").write_text("".join(lines))
        notes = rankbench.rank([*paths, tmp_path / "far.run"], qrels=qrels).notes
        said = f"{noted} documents have a higher score than the one ranked before: rankbench orders by score"
        assert (said in notes) == bool(noted)


def test_the_command_line_ranks_systems(tmp_path: Path) -> None:
    qrels, runs = drawn()
    judged, paths = written(tmp_path, qrels, runs)
    arguments = ["rank", "--qrels", str(judged), *map(str, paths), "--replicates", "100"]
    found = CliRunner().invoke(main, [*arguments, "--format", "json"])
    assert found.exit_code == 0, found.output
    said = json.loads(found.stdout)
    assert said["n"] == {"systems": 3, "tasks": 13, "seeds": 1}
    assert said["loss"] == "ndcg:gain=identity,cutoff=10"
    whole = b"".join(path.read_bytes() for path in (judged, *paths))
    assert said["sha256"] == hashlib.sha256(whole).hexdigest()
    for note in (
        "1 judged topic of 13 without a relevant document ('nothing'): all runs score 0, which the mean counts, as in "
        "trec_eval",
        "'short' lacks 2 judged topics of 13 ('nothing', 't3'): each scores 0, which the mean counts, as in "
        "trec_eval -c",
        "'dense' has 1 topic of 13 that nobody judged ('unjudged'): no mean counts them",
        "scores are nDCG@10 of each topic",
    ):
        assert note in said["notes"]
    assert "bm25" in CliRunner().invoke(main, arguments).stdout


def test_systems_of_one_name_are_called_as_their_files(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n2 0 a 1\n")
    for name in ("x.run", "y.run"):
        (tmp_path / name).write_text("1 Q0 a 1 3.0 STANDARD\n2 Q0 b 1 3.0 STANDARD\n")
    found = rankbench.rank([tmp_path / "x.run", tmp_path / "y.run"], qrels=tmp_path / "q", replicates=50)
    assert set(found.table["system"]) == {"x", "y"}
    assert "systems are called as their files, as several runs say the same name" in found.notes
    with pytest.raises(InputError, match="two runs have a system of the same name"):
        rankbench.rank([tmp_path / "x.run", tmp_path / "x.run"], qrels=tmp_path / "q")


def test_judgments_of_beir_and_runs_of_ms_marco_are_read(tmp_path: Path) -> None:
    qrels, runs = drawn()
    _, paths = written(tmp_path, qrels, runs)
    beir = tmp_path / "test.tsv"
    rows = [f"{topic}\t{doc}\t{grade}\n" for topic, docs in qrels.items() for doc, grade in docs.items()]
    beir.write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    for path in paths:
        lines = [line.split() for line in path.read_text().splitlines()]
        path.with_suffix(".tsv").write_text("".join(f"{topic}\t{doc}\t{rank}\n" for topic, _, doc, rank, *_ in lines))
    expected = {
        system: sum(MEASURES[""](qrels[topic], found.get(topic, {})) for topic in qrels) / len(qrels)
        for system, found in runs.items()
    }
    for ending in (".txt", ".tsv"):
        files = [path.with_suffix(ending) for path in paths]
        table = rankbench.rank(files, ["mean-score"], qrels=beir, replicates=50).table
        assert dict(table.select("system", "score").iter_rows()) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(InputError, match="rankbench rank --qrels FILE RUN"):
        rankbench.rank(beir)


OF_TREC_EVAL = {
    ("nDCG@10", 1): "ndcg_cut_10",
    ("AP", 1): "map",
    ("map:relevant=2", 2): "map",
    ("RR", 1): "recip_rank",
    ("mrr:relevant=2", 2): "recip_rank",
    ("P@5", 1): "P_5",
    ("R@5", 1): "recall_5",
    ("Rprec:relevant=2", 2): "Rprec",
    ("Success@1", 1): "success_1",
}


@pytest.mark.parametrize(("loss", "level"), part_of(OF_TREC_EVAL, 3))
def test_means_are_trec_evals_with_and_without_c(loss: str, level: int) -> None:
    """One rule for all measures, also where no document of a topic has the grade that counts."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels, runs = drawn(3)
    qrels["t5"] = {doc: min(grade, 1) for doc, grade in qrels["t5"].items()}
    measure = OF_TREC_EVAL[loss, level]
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {measure}, relevance_level=level)
    runs["dense"]["nothing"] = {"d1": 1.0}
    found = {
        system: {topic: values[measure] for topic, values in evaluator.evaluate(run).items()}
        for system, run in runs.items()
    }
    assert found["dense"]["nothing"] == 0
    assert "unjudged" not in found["dense"]
    ranked = rankbench.rank(runs, ["mean-score"], qrels=qrels, loss=loss, replicates=50).table
    with_c = {system: sum(values.values()) / len(qrels) for system, values in found.items()}
    assert dict(ranked.select("system", "score").iter_rows()) == pytest.approx(with_c, abs=1e-9)
    for system, run in runs.items():
        alone = rankbench.rank(run, qrels=qrels, loss=loss, missing="tasks", replicates=50).table
        assert alone["score"].to_list() == pytest.approx([sum(found[system].values()) / len(found[system])], abs=1e-9)
    common = set.intersection(*(set(values) for values in found.values()))
    together = rankbench.rank(runs, ["mean-score"], qrels=qrels, loss=loss, missing="tasks", replicates=50).table
    without_c = {system: sum(values[topic] for topic in common) / len(common) for system, values in found.items()}
    assert dict(together.select("system", "score").iter_rows()) == pytest.approx(without_c, abs=1e-9)


def test_a_run_without_a_judged_topic_is_refused(tmp_path: Path) -> None:
    qrels, runs = drawn()
    judged, paths = written(tmp_path, qrels, {"bm25": runs["bm25"], "odd": {"q7": {"d1": 1.0}, "q8": {"d2": 1.0}}})
    for given in (paths, paths[1:]):
        found = CliRunner().invoke(main, ["rank", "--qrels", str(judged), *map(str, given)])
        assert found.exit_code == 2
        assert "odd.txt: run 'odd' and the judgments have no topic in common: its topics are 'q7', 'q8'" in (
            found.stderr
        )
    unlike = {topic: {f"doc{doc}": score for doc, score in docs.items()} for topic, docs in runs["bm25"].items()}
    notes = rankbench.rank({"unlike": unlike, "bm25": runs["bm25"]}, qrels=qrels, replicates=50).notes
    assert [note for note in notes if "nobody judged any document of 'unlike'" in note]
    assert not [note for note in notes if "any document of 'bm25'" in note]
    with pytest.raises(InputError, match=r"no document in common: runs name documents as 'docd[0-9]+'"):
        rankbench.rank({"unlike": unlike, "alike": unlike}, qrels=qrels)
    with pytest.raises(InputError, match="no topic in common"):
        rankbench.rank({"q7": {"d1": 1.0}}, qrels=qrels)


def test_notes_on_topics_say_no_mean_that_leaves_them_out() -> None:
    qrels = {"t1": {"a": 1}, "t2": {"a": 1}, "t3": {"a": 0}, "t4": {"a": 1}}
    whole, short = {"a": 2.0, "b": 1.0}, {"b": 2.0, "a": 1.0}
    runs = {"whole": dict.fromkeys(qrels, whole), "short": dict.fromkeys(["t1", "t2"], short)}
    for missing, counted in (("zero", ["t1", "t2", "t3", "t4"]), ("tasks", ["t1", "t2"])):
        found = rankbench.rank(runs, qrels=qrels, missing=missing, replicates=50)
        assert found.facts["tasks"] == counted
        said = [note for note in found.notes if "judged topic" in note]
        assert len(said) == 2
        assert all(("the mean counts" in note) is (missing == "zero") for note in said)
        assert not any("no mean counts" in note for note in said)  # with missing="systems", means of others do
    assert said[0].endswith("('t3'): a run that has one scores 0 there, as in trec_eval")
    assert said[1] == "'short' lacks 2 judged topics of 4 ('t3', 't4'): it has no score there"


def test_one_run_has_a_score_with_an_interval_and_no_rank(tmp_path: Path) -> None:
    qrels, runs = drawn()
    judged, paths = written(tmp_path, qrels, runs)
    expected = [MEASURES[""](qrels[topic], runs["bm25"][topic]) if topic in TOPICS else 0.0 for topic in qrels]
    found = rankbench.rank(paths[0], qrels=judged, replicates=200)
    row = found.table.row(0, named=True)
    assert found.table.height == 1
    assert row["score"] == pytest.approx(sum(expected) / 13, abs=1e-12)
    assert row["lower"] < row["score"] < row["upper"]
    both = rankbench.rank(paths, ["mean-score"], qrels=judged, replicates=200).table.row(
        by_predicate=pl.col.system == "bm25", named=True
    )
    assert [row[name] for name in ("score", "lower", "upper")] == pytest.approx(
        [both[name] for name in ("score", "lower", "upper")], rel=1e-9
    )
    shown = CliRunner().invoke(main, ["rank", "--qrels", str(judged), str(paths[0]), "--replicates", "50"])
    assert shown.exit_code == 0, shown.output
    assert "rank" not in shown.stdout.splitlines()[-2]
    assert "first in" not in shown.output
    one = rankbench.rank({"t1": runs["bm25"]["t1"]}, qrels={"t1": qrels["t1"]}, replicates=50).table
    assert (one["score"][0], one["lower"][0]) == (pytest.approx(expected[1], abs=1e-12), None)


def test_intervals_of_a_measure_stay_in_its_range() -> None:
    """By Student's t, of four topics, one mean of average precision would be between -.42 and 1.42."""
    qrels = {f"q{n}": {"d1": 2, "d2": 0} for n in range(4)}
    best, worst = {"d1": 2.0, "d2": 1.0}, {"d2": 2.0}
    runs = {
        "a": dict(zip(qrels, [best, worst, worst, best], strict=True)),
        "b": dict.fromkeys(qrels, worst) | {"q1": best},
    }
    table = rankbench.rank(runs, qrels=qrels, loss="AP").table.filter(method="mean-score").sort("system")
    assert table["score"].to_list() == [0.5, 0.25]
    assert 0 < table["lower"].min() < table["upper"].max() < 1


def test_scores_of_each_topic_are_shown(tmp_path: Path) -> None:
    qrels, runs = drawn()
    judged, paths = written(tmp_path, qrels, runs)
    expected = {
        (topic, system): MEASURES[""](qrels[topic], run.get(topic, {}))
        for topic in qrels
        for system, run in runs.items()
    }
    arguments = [
        "rank",
        "--qrels",
        str(judged),
        *map(str, paths),
        "--per-task",
        "--replicates",
        "50",
        "--format",
        "json",
    ]
    said = json.loads(CliRunner().invoke(main, arguments).stdout)
    found = {(row["task"], row["system"]): row["score"] for row in said["scores"]}
    assert found == pytest.approx(expected, abs=1e-12)
    for given in (paths[1:2], paths[:2]):  # of one topic too, on which nothing can be ranked
        (tmp_path / "q").write_text("t1 0 d1 1\n")
        shown = CliRunner().invoke(main, ["rank", "--qrels", str(tmp_path / "q"), *map(str, given), "--per-task"])
        assert shown.exit_code == 0, shown.output
    (tmp_path / "scores.csv").write_text("task,a,b\nx,1,2\ny,3,\nz,4,4\nu,0,1\n")
    arguments = ["rank", str(tmp_path / "scores.csv"), "--columns", "task=task,scores=a|b", "--per-task"]
    shown = CliRunner().invoke(main, [*arguments, "--format", "csv"])
    values = {"x,a,1.0", "x,b,2.0", "y,a,3.0", "z,a,4.0", "z,b,4.0", "u,a,0.0", "u,b,1.0"}
    assert set(shown.stdout.splitlines()[1:]) == values


@pytest.mark.full
def test_dicts_and_frames_are_judged_as_files_are(tmp_path: Path) -> None:
    qrels, runs = drawn()
    judged, paths = written(tmp_path, qrels, runs)
    expected = rankbench.rank(paths, qrels=judged, replicates=50).table
    rows = [
        (system, t, d, score) for system, run in runs.items() for t, docs in run.items() for d, score in docs.items()
    ]
    run_frame = pl.DataFrame(rows, ["system", "query_id", "doc_id", "score"], orient="row")
    grades = [(t, d, grade) for t, docs in qrels.items() for d, grade in docs.items()]
    qrels_frame = pl.DataFrame(grades, ["query_id", "doc_id", "relevance"], orient="row")
    frames = {system: run_frame.filter(system=system).drop("system") for system in runs}
    for given in (runs, run_frame, run_frame.lazy(), frames, run_frame.to_dict(as_series=False)):
        for by in (qrels, qrels_frame, judged):
            assert rankbench.rank(given, qrels=by, replicates=50).table.equals(expected)
    assert rankbench.rank(paths, qrels=qrels, replicates=50).table.equals(expected)


@pytest.mark.parametrize(
    ("runs", "qrels", "said"),
    [
        ({"1": {"a": "x"}}, {"1": {"a": 1}}, "the score None is not a finite number"),
        ({"1": {"a": 1.0}}, {"1": {"a": math.nan}}, "row 1: the grade nan is not a finite number"),
        ({"1": {"a": 1.0}}, {"1": ["a"]}, "qrels has no column 'query_id'"),
        ({"1": {1: 1.0, "1": 2.0}}, {"1": {"1": 1}}, "row 2: document '1' of topic '1' is there twice"),
        ({}, {"1": {"a": 1}}, "a run has no rows"),
        ({"1": {"a": 1.0}}, {}, "qrels has no rows"),
        (7, {"1": {"a": 1}}, "a run: give a path"),
        ([{"1": {"a": 1.0}}], {"1": {"a": 1}}, "with qrels give runs"),
        (
            pl.DataFrame({"query_id": ["1", None], "doc_id": ["a", "b"], "score": [1, 2]}),
            {"1": {"a": 1}},
            "row 2: a run has no topic",
        ),
    ],
)
def test_what_is_wrong_in_memory_is_named(runs: object, qrels: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        rankbench.rank(runs, qrels=qrels)


@pytest.mark.parametrize(
    ("loss", "name"),
    [
        ("ndcg:gain=identity,cutoff=10", "nDCG@10"), ("ndcg@5", "nDCG@5"), ("ndcg@9:gain=exp2", "1 - ndcg@9:gain=exp2"),
        ("nDCG@9:discount=log2", "nDCG@9:discount=log2"), ("map", "AP"), ("map@100", "AP@100"), ("mrr@10", "RR@10"),
        ("AP:relevant=2", "AP:relevant=2"), ("p@1", "P@1"), ("recall@100", "R@100"), ("r-precision", "Rprec"),
        ("success@5", "Success@5"), ("rbp:p=0.5", "RBP:p=0.5"), ("rbp", "RBP"), ("err@20:top=3", "ERR@20:top=3"),
        ("judged@7", "Judged@7"), ("precision:k=5", "1 - precision:k=5"),
    ],
)  # fmt: skip
def test_a_measure_is_called_as_ir_measures_calls_it(loss: str, name: str) -> None:
    assert Measure.parsed(loss).description() == f"scores are {name} of each topic"


def test_judged_is_the_share_of_first_documents_with_a_judgment() -> None:
    """As `Judged@k` of ir_measures: of a list of fewer than k documents, the share of all."""
    qrels, runs = drawn(8)
    for loss, k in (("Judged@5", 5), ("judged@20", 20)):
        found = rankbench.rank(runs["dense"], qrels=qrels, loss=loss, replicates=50)
        expected = {}
        for topic in qrels:
            order = sorted(runs["dense"].get(topic, {}).items(), key=lambda pair: -pair[1])[:k]
            expected[topic] = sum(doc in qrels[topic] for doc, _ in order) / max(len(order), 1)
        assert dict(found.by_task.select("task", "score").iter_rows()) == pytest.approx(expected, abs=1e-12)
        assert f"scores are Judged@{k} of each topic" in found.notes
    tied = {"1": {"a": 1.0, "b": 1.0, "c": 1.0}}
    assert rankbench.rank(tied, qrels={"1": {"a": 0}}, loss="Judged@2").table["score"].to_list() == [
        pytest.approx(1 / 3)
    ]


def test_rbp_weighs_places_by_persistence() -> None:
    qrels, runs = drawn(8)
    found = rankbench.rank(runs["dense"], qrels=qrels, loss="RBP:p=0.5", replicates=50).by_task
    for topic, score in found.select("task", "score").iter_rows():
        docs = sorted(runs["dense"].get(topic, {}).items(), key=lambda pair: -pair[1])
        terms = (0.5 * 0.5**at for at, (doc, _) in enumerate(docs) if qrels[topic].get(doc, 0) >= 1)
        assert score == pytest.approx(sum(terms), abs=1e-12)


RUN, QRELS = "1 Q0 a 1 3.0 s\n1 Q0 b 2 2.0 s\n", "1 0 a 1\n1 0 b 0\n"


@pytest.mark.parametrize(
    ("run", "qrels", "said"),
    [
        (RUN + "1 Q0 c 3 1.0\n", QRELS, r"r:3: the line has 5 words, not 6: topic Q0 document rank score system"),
        (RUN + "1 Q0 c 3 nan s\n", QRELS, r"r:3: the score 'nan' is not a finite number"),
        (RUN + "\n1 Q0 a 3 1 s\n", QRELS, r"r:4: document 'a' of topic '1' is there twice"),
        ("1 a 1\n1 b 2.5\n", QRELS, r"r:2: three words are 'query document rank', .* not '2.5'"),
        ("1 a 12\n1 b 25\n", QRELS, r"r:1: three words are 'query document rank', with ranks from 1 in every topic"),
        (RUN, QRELS + "1 0 a\n", r"q:3: the line has 3 words, not 4"),
        (RUN, QRELS + "1 0 c high\n", r"q:3: the grade 'high' is not a finite number"),
        (RUN, QRELS + "1 0 a 0\n", r"q:3: document 'a' of topic '1' is judged twice"),
        (RUN, "1 0 a 0\n", r"q: no topic has a relevant document"),
        (QRELS, QRELS, r"r: these are judgments \(qrels\), not a run: rankbench rank --qrels .*r RUN"),
        ("", QRELS, "r: the file is empty"),
    ],
)
def test_what_is_wrong_has_its_line(tmp_path: Path, run: str, qrels: str, said: str) -> None:
    (tmp_path / "q").write_text(qrels)
    (tmp_path / "r").write_text(run)
    with pytest.raises(InputError, match=said):
        rankbench.rank([tmp_path / "r"], qrels=tmp_path / "q")


def test_files_of_trec_are_known_and_say_what_they_need(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text(RUN)
    for name in ("run.txt", "qrels.txt"):
        assert isinstance(choose_reader(tmp_path / name), TrecReader)
        for verb in ("rank", "aggregate"):
            found = CliRunner().invoke(main, [verb, str(tmp_path / name)])
            assert found.exit_code == 2
            assert "rankbench rank --qrels " in found.stderr
    for arguments, said in {
        ("run.txt", "run.txt"): "several TREC runs need their judgments: --qrels FILE",
        ("scores.txt", "--loss", "err"): "--loss is of TREC runs: say --qrels FILE with it",
        ("scores.txt", "--ties", "trec-eval"): "--ties is of TREC runs: say --qrels FILE with it",
        ("run.txt", "--qrels", "qrels.txt", "--loss", "ndcg"): "say how many count, as ndcg:cutoff=10\n",
        ("run.txt", "--qrels", "qrels.txt", "--loss", "err:top=2"): "how many count, as err:top=2,cutoff=10\n",
        ("run.txt", "--qrels", "qrels.txt", "--loss", "pairwise-disagreement"): "judges orders by edges",
        ("run.txt", "--qrels", "qrels.txt", "--columns", "system=x"): "of their own: leave --columns out",
        ("run.txt", "--qrels", "none.txt"): "there is no such file",
        ("run.txt", "--qrels", "qrels.txt", "--loss", "Judged"): "say how many places count, as Judged@10",
        ("run.txt", "--qrels", "qrels.txt", "--loss", "P:relevant=2"): "say how many places count, as P@10",
        ("run.txt", "--qrels", "qrels.txt", "--loss", "Judged@5:relevant=2"): "Judged has no parameter 'relevant'",
        ("run.txt", "--qrels", "qrels.txt", "--loss", "map:relevant=0"): "relevant must be above 0",
        ("run.txt", "--qrels", "qrels.txt", "--loss", "nDCG"): "say how many count, as ndcg:gain=identity,cutoff=10",
        ("scores.txt", "--missing", "zero"): "or 'zero' with qrels",
    }.items():
        rest = [str(tmp_path / word) if word.endswith(".txt") else word for word in arguments]
        found = CliRunner().invoke(main, ["rank", *rest])
        assert found.exit_code == 2
        assert said in found.stderr, found.stderr
    with pytest.raises(InputError, match="a run has no column 'query_id': a frame has the columns"):
        rankbench.rank({"system": ["a"], "score": [1]}, qrels=tmp_path / "qrels.txt")
