"""Files for a paper: LaTeX that prints names as they are, figures of the same bytes, BibTeX, and TREC runs."""

from __future__ import annotations

import ast
import functools
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import synthetic
from click.testing import CliRunner
from synthetic import Contender

import rankbench
from rankbench.cli import main
from rankbench.core.text import LATEX, latex
from rankbench.data.cards import cards
from rankbench.data.readers.trec import read_qrels, read_run
from rankbench.errors import SpecError, StoreError
from rankbench.plugin import manager
from rankbench.plugin.registry import base_of
from rankbench.reports.document import Column, Grid, Heading
from rankbench.reports.latex import FIT, LINE, latex_of, latex_tables
from rankbench.reports.references import KINDS, bibtex, is_own, works_of
from rankbench.reports.render import pages_of
from rankbench.reports.results import PaperFiles, report
from rankbench.reports.same_cells import SameCells
from rankbench.reports.trec_files import trec_files
from rankbench.store.published import open_results

HOSTILE = (
    r"50% & more_#1 $x$ \alpha {~^}",
    r"a \\ b \end{tabular} % gone",
    "[0] --with ''quotes,, `code` <b> | \"x\"",
    "**bold** _it_ ![i](j) &amp; \\_",
)

LLMFAO = cards()["llmfao"].fingerprint


def printed(source: str) -> str:
    """Return what LaTeX prints, by a strict reading: any sign with a meaning that is not a known escape is an error."""
    back = {escape: letter for letter, escape in LATEX.items()} | {"{[}": "[", "{}": "", "$-$": "-"}
    tokens = re.compile("|".join(map(re.escape, sorted(back, key=len, reverse=True))) + r"|[^\\{}$&#%_^~<>|\"`]")
    found, at = "", 0
    while at < len(source):
        token = tokens.match(source, at)
        assert token, f"LaTeX reads {source[at : at + 20]!r} as a command, or as a sign with a meaning"
        found += back.get(token[0], token[0])
        at = token.end()
    return found


@pytest.mark.parametrize("name", [*HOSTILE, "plain", "-1.5", "é — † ≤ ∞", *LATEX])
def test_a_text_is_printed_as_it_is(name: str) -> None:
    assert printed(latex(name)) == name.replace("\u2212", "-")
    # Letters beside each other that LaTeX would print as one sign.
    assert name in ("—", "\u2013", "é — † ≤ ∞") or not re.search(r"--|''|,,", latex(name))


def test_marks_become_commands() -> None:
    assert latex_of("**bold** and *it* `a_b` [words](https://x.y)") == (
        r"\textbf{bold} and \emph{it} \texttt{a\_b} words"
    )


@pytest.mark.full
def test_tables_of_hostile_names_have_all_their_cells(tmp_path: Path) -> None:
    plan = synthetic.drawn()
    plan.contenders += [Contender(name, {"k": 1, "at": at}, 0.01 * at) for at, name in enumerate(HOSTILE)]
    plan.contenders += [Contender(f"c{at}", {"k": 1, "at": at + 9}, 0.3) for at in range(20)]
    with open_results(synthetic.write(tmp_path / "run", [plan])) as results:
        made = latex_tables(pages_of(results).documents)
    names = []
    for name, data in made.items():
        head, body = re.split(r"\\begin\{tabular\}\{.+\}\n\\toprule\n", data.decode())
        label = name.removesuffix(".tex")
        assert re.search(r"\\caption\{.+\}\n\\label\{tab:" + label + r"\}\n", head), head
        assert head.endswith("\n".join(FIT) + "\n"), head
        lines = body.removesuffix("\\bottomrule\n\\end{tabular}}}\n\\end{table}\n").splitlines()
        rows = [line.removesuffix(r" \\") for line in lines if line != r"\midrule"]
        assert len(rows) == len(lines) - 1
        cells = [[re.sub(r"\\(textbf|texttt|emph)\{(.*)\}", r"\2", cell) for cell in row.split(" & ")] for row in rows]
        assert len({len(row) for row in cells}) == 1, "an ampersand of a name begins a cell"
        names += [[printed(cell) for cell in row] for row in cells]
    shown = {row[1] for row in names if len(row) > 1}
    assert shown >= set(HOSTILE)
    assert any(b"more rows are in leaderboard.csv" in data for data in made.values())


def test_long_cells_of_words_are_broken_in_wide_tables_alone() -> None:
    words, number = Column("words"), Column("number", "right")
    narrow = latex_tables({"page.md": [Heading(1, "A"), Grid.from_rows([words, number], [["a" * 60, "1"]])]})
    assert b"\\begin{tabular}{lr}" in narrow["a-1.tex"]
    rows = [["a " * 60, "b " * 30, "1"]]
    wide = latex_tables({"page.md": [Heading(1, "A"), Grid.from_rows([words, Column("more"), number], rows)]})
    widths = [float(width) for width in re.findall(rb"p\{([\d.]+)\\linewidth\}", wide["a-1.tex"])]
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.02)
    assert sum(widths) == pytest.approx(1 - 8 / LINE, abs=0.01)


def test_the_first_table_says_what_its_means_are(tmp_path: Path) -> None:
    with open_results(synthetic.write(tmp_path, [synthetic.drawn()])) as results:
        first = next(iter(latex_tables(pages_of(results).documents).values())).decode()
    caption = re.search(r"(?m)^\\caption\{(.*)\}$", first)
    assert caption
    name, metric, *_ = caption[1].split("; ")
    assert re.fullmatch(r"\\texttt\{[a-z0-9-]+\}, n = [\d,]+ .+", name), name
    assert metric.endswith("loss, less is better"), metric
    assert "details" not in caption[1]


def test_tables_have_the_names_of_experiments_and_one_split_can_be_chosen(tmp_path: Path) -> None:
    with open_results(synthetic.write(tmp_path, [synthetic.drawn()])) as results:
        documents = pages_of(results).documents
    made = {split: latex_tables(documents, split) for split in (None, "design", "heldout")}
    own = {split: [data for name, data in one.items() if name.startswith("figure-3-")] for split, one in made.items()}
    assert len(own["design"]) == len(own["heldout"]) == len(own[None]) / 2 > 0
    assert all(b"held-out" not in data.lower() for data in own["design"])


def test_headings_are_narrow_and_all_different() -> None:
    titles = ("contender", "over queries and repetitions", "minus a", "over queries and repetitions", "`a b c d e f g`")
    grid = Grid.from_rows([Column(title) for title in titles], [["1", "2", "3", "4", "5"]])
    made = latex_tables({"page.md": [Heading(1, "A &amp; B"), grid]})
    assert list(made) == ["a-b-1.tex"]
    table = made["a-b-1.tex"].decode()
    head = re.search(r"\\toprule\n(.*)\\midrule", table, re.DOTALL)
    assert head
    lines = [line.removesuffix(r" \\").split(" & ") for line in head[1].splitlines()]
    assert [" ".join(filter(None, column)) for column in zip(*lines, strict=True)] == [
        "contender", "over queries and repetitions", "minus a", "minus a, over queries and repetitions",
        r"\texttt{a b c d e f g}",
    ]  # fmt: skip
    assert max(len(cell) for row in lines for cell in row if "texttt" not in cell) <= 14
    assert all(lines[-1]), "headings end in one line"


def test_tables_have_the_numbers_of_the_page(tmp_path: Path) -> None:
    folder = synthetic.write(tmp_path, [synthetic.drawn()])
    with open_results(folder) as results:
        pages = pages_of(results)
    rows = re.findall(r"^\| .* \|$", pages.files["details.md"].decode(), re.MULTILINE)
    made = latex_tables({"details.md": pages.documents["details.md"]})
    numbers = [re.findall(r"\d\.\d{4}", text) for text in ("\n".join(rows), b"\n".join(made.values()).decode())]
    assert len(numbers[0]) > 30
    assert numbers[0] == numbers[1]


DRAWN = """
import hashlib, numpy
from rankbench.drawing.canvas import picture_bytes, titled_canvas
from rankbench.drawing.looks import ON_PAPER
from rankbench.interfaces.figure import Drawing, Line, Plot
x = numpy.array([1.0, 2.0, 4.0])
lines = tuple(Line(name, x, x * at, x * at - 1, x * at + 1) for at, name in enumerate(("logistic", "é % _"), 1))
drawing = Drawing(((Plot(lines=lines),),))
files = picture_bytes(titled_canvas(drawing, "A title"), ON_PAPER)
digests = {suffix: hashlib.sha256(data).hexdigest() for suffix, data in files.items()}
"""


@pytest.mark.full
def test_figures_have_text_and_the_same_bytes_in_every_process() -> None:
    here: dict[str, Any] = {}
    exec(DRAWN, here)
    command = [sys.executable, "-c", f"{DRAWN}\nprint(digests)"]
    environment = os.environ | {"PYTHONHASHSEED": "7", "SOURCE_DATE_EPOCH": "1"}
    there = subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout
    assert ast.literal_eval(there) == here["digests"]
    files = here["files"]
    assert list(files) == ["pdf", "svg"]
    assert files["pdf"].startswith(b"%PDF-1")
    assert b"/CIDFontType2" in files["pdf"]
    assert not re.search(b"CreationDate|Producer", files["pdf"])
    assert re.search(r"<text [^>]*>A title<", files["svg"].decode())
    assert b"dc:date" not in files["svg"]


ENTRY = re.compile(r"@(\w+)\{([\w.-]+),\n((?:  \w+ = \{.*\},?\n)+)\}\n")


def entries(text: str) -> dict[str, dict[str, str]]:
    """Return the fields of entries by key; whatever is neither an entry nor a comment is an error."""
    rest = ENTRY.sub("", re.sub(r"(?m)^%.*\n", "", text))
    assert not rest, rest
    found = {}
    for kind, key, body in ENTRY.findall(text):
        fields = dict(re.findall(r"  (\w+) = \{(.*)\},?\n", body))
        assert all(value.count("{") == value.count("}") for value in fields.values()), fields
        found[key] = fields | {"kind": kind}
    return found


def test_references_become_entries() -> None:
    said = "S. Robertson and H. Zaragoza. The framework: BM25 & beyond. Foundations and Trends 3(4), 2009."
    assert entries(bibtex("RZ09", said, url="https://x.y"))["RZ09"] == {
        "kind": "article", "author": "S. Robertson and H. Zaragoza", "title": r"{The framework: BM25 \& beyond}",
        "journal": "Foundations and Trends", "volume": "3", "number": "4", "year": "2009", "url": "https://x.y",
    }  # fmt: skip
    said = "G. Ke et al. LightGBM: a highly efficient tree. NeurIPS, 2017."
    assert entries(bibtex("K", said))["K"] == {
        "kind": "misc", "author": "G. Ke and others", "title": "{LightGBM: a highly efficient tree}",
        "howpublished": "NeurIPS", "year": "2017",
    }  # fmt: skip
    said = "D. Ustalov. LLMFAO: Large Language Model Feedback. 2023."
    assert entries(bibtex("l", said))["l"] | {"kind": ""} == {
        "kind": "", "author": "D. Ustalov", "title": "{LLMFAO: Large Language Model Feedback}", "year": "2023",
    }  # fmt: skip
    assert entries(bibtex("o", "Rating Regulations & rules."))["o"]["note"] == r"Rating Regulations \& rules."


def test_every_work_that_a_component_cites_has_authors_a_title_and_a_year() -> None:
    works: dict[str, str] = {}
    for kind in (*KINDS, "loss", "protocol"):
        for name in filter(functools.partial(is_own, kind), manager.names(kind)):
            cls = manager.component_class(base_of(kind), name)
            works |= (own := dict(works_of(cls)))
            years = re.findall(r"\b(?:1[89]|20)\d\d\b", cls.source)
            assert set(years) <= {text[-5:-1] for text in own.values()}, f"{cls.source}: a work is not in {own}"
    assert len(works) > 20
    assert works["BT52"].startswith("R. A. Bradley and M. E. Terry. Rank analysis")
    assert {"Ravikumar11", "Herbrich00", "Chapelle07", "Chapelle09", "Zhang04", "CMR15"} <= works.keys()
    bare = []
    for label, text in works.items():
        fields = entries(bibtex(label, text))[label]
        if not {"author", "title", "year"} <= fields.keys():
            bare.append(label)
            assert "note" in fields
    assert set(bare) <= {"FIDE24"}


SUITE = """
name = "mine"
title = "Runs"
seed = 3
dataset = "web10k-like:queries=24,features=8"
protocol = "btl:design=10,heldout=10"

[[experiments]]
name = "orders"
title = "Orders"
n = [200, 900]
repetitions = 2
losses = ["ndcg"]
contenders = [
    { use = "erm:k=inf,surrogate=regression,lambda=1e-3", label = "least squares" },
    { use = "erm:k=1,surrogate=regression,lambda=1e-3", label = "k = 1" },
]
figures = [{ file = "growing", kind = "growth" }]
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run of two contenders, with all files for a paper beside it."""
    folder = tmp_path_factory.mktemp("paper")
    (folder / "mine.toml").write_text(SUITE)
    rankbench.run(str(folder / "mine.toml"), out=folder / "run")
    places = {"trec": "trec", "latex": "tables", "figures": "drawn", "bib": "mine.bib"}
    options = [word for name, place in places.items() for word in (f"--{name}", str(folder / place))]
    found = CliRunner().invoke(main, ["report", str(folder / "run"), *options])
    assert found.exit_code == 0, found.output
    drawn = {folder / "drawn" / name for name in ("growing.pdf", "growing.svg")}
    written = {folder / "mine.bib", folder / "tables" / "orders-1.tex", folder / "tables" / "orders-2.tex", *drawn}
    assert {str(path) for path in written} <= set(found.stdout.split())
    assert all(path.stat().st_size for path in written)
    return folder


@pytest.mark.full
def test_runs_have_the_values_of_trec_eval_and_are_read_again(run: Path) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    trec = run / "trec"
    names = [f"orders-{split}-{label}.run" for split in ("design", "heldout") for label in ("least-squares", "k-=-1")]
    assert {path.name for path in trec.iterdir()} == {*names, "orders-design.qrels", "orders-heldout.qrels"}
    for split in ("design", "heldout"):
        qrels = trec / f"orders-{split}.qrels"
        judged: dict[str, dict[str, int]] = {}
        for topic, doc, grade in read_qrels(qrels).iter_rows():
            judged.setdefault(topic, {})[doc] = int(grade)
        assert len(judged) == 10
        evaluator = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut_10"})
        means = {}
        runs = [trec / f"orders-{split}-{label}.run" for label in ("least-squares", "k-=-1")]
        for path in runs:
            found: dict[str, dict[str, float]] = {}
            for _, topic, doc, score in read_run(path).select("system", "topic", "doc", "score").iter_rows():
                found.setdefault(topic, {})[doc] = score
            assert {topic: docs.keys() for topic, docs in found.items()} == {t: d.keys() for t, d in judged.items()}
            values = [one["ndcg_cut_10"] for one in evaluator.evaluate(found).values()]
            means[path.stem.removeprefix(f"orders-{split}-").replace("-", "_")] = sum(values) / len(values)
        ranked = rankbench.rank(runs, ["mean-score"], qrels=qrels, replicates=50).table
        assert dict(ranked.select("system", "score").iter_rows()) == pytest.approx(means, abs=1e-6)


def test_values_of_queries_are_those_of_trec_eval(tmp_path: Path) -> None:
    """Judged by labels, in folds: each value in the rows is one minus what trec_eval says of the run."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    loss = "ndcg:gain=identity,cutoff=10"
    (tmp_path / "own.toml").write_text(
        f'name = "own"\ntitle = "Own"\nprotocol = "graded"\ndataset = "web10k-like:queries=40,features=8"\n'
        f'[[experiments]]\nname = "e"\ntitle = "E"\nrepetitions = 1\nlosses = ["{loss}"]\n'
        'contenders = [{ use = "erm:aggregator=labels,surrogate=regression,lambda=1e-3", label = "ours" }]\n'
    )
    rankbench.run(str(tmp_path / "own.toml"), out=tmp_path / "run")
    rows = report(tmp_path / "run", paper=PaperFiles(trec=tmp_path / "trec")).rows.filter(metric=loss)
    values = dict(rows.explode("units", "values").select("units", "values").iter_rows())
    judged: dict[str, dict[str, int]] = {}
    for topic, doc, grade in read_qrels(tmp_path / "trec" / "e-heldout.qrels").iter_rows():
        judged.setdefault(topic, {})[doc] = int(grade)
    found: dict[str, dict[str, float]] = {}
    for topic, doc, score in read_run(tmp_path / "trec" / "e-heldout-ours.run").drop("system").iter_rows():
        found.setdefault(topic, {})[doc] = score
    evaluated = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut_10"}).evaluate(found)
    assert len(values) == len(judged) >= 35
    assert {topic: 1 - one["ndcg_cut_10"] for topic, one in evaluated.items()} == pytest.approx(values, abs=1e-6)


@pytest.mark.full
def test_runs_are_refused_where_fits_or_data_are_others(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Others(SameCells):
        def add(self, place, cell):  # type: ignore[no-untyped-def]
            cell.losses["ndcg", "design"][0] += 0.25
            super().add(place, cell)

    monkeypatch.setattr("rankbench.reports.trec_files.SameCells", Others)
    with pytest.raises(StoreError, match=r"2 numbers of the fits are not the stored ones, first orders, 'least"):
        report(run / "run", paper=PaperFiles(trec=run / "other"))
    assert not (run / "other").exists()


def test_a_suite_without_scores_of_items_has_no_runs(tmp_path: Path) -> None:
    folder = synthetic.write(tmp_path / "run", [synthetic.small()], {"design": 5}, protocol="u-statistics")
    with (
        open_results(folder) as results,
        pytest.raises(SpecError, match="no contender of this suite scores items"),
    ):
        trec_files(results)


def test_a_ranking_of_items_is_a_run(tmp_path: Path) -> None:
    plan = synthetic.small()
    plan.losses, plan.n, plan.repetitions = ("score", "lower", "upper", "rank-low", "rank-high"), (100,), 1
    folder = synthetic.write(tmp_path / "run", [plan], {"design": 5}, layout="ranking")
    found = report(folder, paper=PaperFiles(trec=tmp_path / "trec"))
    scores = found.rows.filter(metric="score").explode("units", "values")
    for path in (tmp_path / "trec").iterdir():
        read = read_run(path)
        assert set(read["topic"]) == {plan.name}
        of = scores.filter(pl.col("contender").str.replace_all(" ", "_") == read["system"][0])
        assert dict(read.select("doc", "score").iter_rows()) == dict(
            zip(map(str, of["units"]), of["values"], strict=True)
        )


@pytest.mark.full
def test_the_bibliography_names_the_data_and_the_works(run: Path, tmp_path: Path) -> None:
    found = entries((run / "mine.bib").read_text(encoding="utf-8"))
    assert found["rankbench"]["version"] == rankbench.__version__
    assert found["DMJ13"]["doi"] == "10.1214/13-AOS1142"
    assert {"rankbench", "DMJ13", "Hoerl70"} <= found.keys()
    llmfao = synthetic.write(tmp_path / "run", [synthetic.drawn()], fingerprint=LLMFAO, dataset="llmfao")
    report(llmfao, paper=PaperFiles(bib=tmp_path / "own.bib"))
    entry = entries((tmp_path / "own.bib").read_text(encoding="utf-8"))["llmfao"]
    assert entry["author"] == "D. Ustalov"
    assert entry["note"].startswith("Licence of the data: CC BY 4.0")
    details = (llmfao / "details.md").read_text(encoding="utf-8")
    assert "Licence of the data: CC BY 4.0, D. Ustalov" in details
    assert "Cite: D. Ustalov. LLMFAO: Large Language Model Feedback Analysis and Optimization. 2023." in details
