"""Tables, figures and references of a report in one document: pdflatex and bibtex set it without a complaint."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
import synthetic
from synthetic import Contender

from rankbench.reports.results import PaperFiles, report

PUBLISHED = sorted(each.parent for each in (Path(__file__).parents[2] / "leaderboards").glob("*/rows"))

pytestmark = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no pdflatex")

HOSTILE = (
    r"50% & more_#1 $x$ \alpha {~^}",
    r"a \\ b \end{tabular} % gone",
    "[0] --with ''quotes,, `code` <b> | \"x\"",
    "é — † ≤ ∞ ±",
)


def compiled(folder: Path, rows: Path, page: Path | None = None) -> Sequence[str]:
    """Write the paper's files of a report into a folder; return the complaints about the document with all of them."""
    tables, figures, references = folder / "tables", folder / "figures", folder / "references.bib"
    report(rows, page, PaperFiles(latex=str(tables), figures=str(figures), bib=str(references)))
    parts = [rf"\input{{tables/{each.stem}}}\clearpage" for each in sorted(tables.glob("*.tex"))]
    parts += [
        rf"\noindent\includegraphics[width=\linewidth,height=\textheight,keepaspectratio]{{figures/{each.name}}}\clearpage"
        for each in sorted(figures.glob("*.pdf"))
    ]
    lines = (
        r"\documentclass{article}",
        r"\usepackage[T1]{fontenc}\usepackage{textcomp,array,booktabs,graphicx}",
        r"\begin{document}",
        *parts,
        r"\sloppy\nocite{*}\bibliographystyle{plain}\bibliography{references}",
        r"\end{document}",
    )
    (folder / "paper.tex").write_text("\n".join(lines), encoding="utf-8")
    found = []
    for command in ("pdflatex", "bibtex", "pdflatex", "pdflatex"):
        options = ["-interaction=nonstopmode", "-halt-on-error"] if command == "pdflatex" else []
        done = subprocess.run([command, *options, "paper"], cwd=folder, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
        if command == "bibtex":
            found += [line for line in done.stdout.decode().splitlines() if line.startswith("Warning")]
    log = (folder / "paper.log").read_text(encoding="utf-8", errors="replace").splitlines()
    complaints = ("Overfull", "! ", "LaTeX Warning", "Missing character")
    assert (folder / "paper.pdf").stat().st_size > 10_000
    return [*found, *(line for line in log if line.startswith(complaints))]


def test_hostile_names_compile(tmp_path: Path) -> None:
    plan = synthetic.drawn()
    plan.contenders += [Contender(name, {"k": 1, "at": at}, 0.01 * at) for at, name in enumerate(HOSTILE)]
    plan.contenders += [Contender(f"c{at}", {"k": 1, "at": at + 9}, 0.3) for at in range(50)]
    assert compiled(tmp_path, synthetic.write(tmp_path / "run", [plan])) == []


@pytest.mark.long
@pytest.mark.parametrize("published", PUBLISHED, ids=[each.name for each in PUBLISHED])
def test_published_pages_compile(tmp_path: Path, published: Path) -> None:
    assert compiled(tmp_path, published, tmp_path / "page") == []
