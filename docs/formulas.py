"""Formulas become MathML, which browsers show without a script: on the site, and on pages of results.

``make docs`` runs this file, which writes formulas of components into ``rankbench/html/assets/formulas.json``: a page
of results is made where the converter is not installed.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes  # type: ignore[import-untyped]
from math_core import LatexToMathML  # type: ignore[import-not-found]

from rankbench.plugin import manager
from rankbench.plugin.component_description import describe_component
from rankbench.reports.references import KINDS, is_own
from rankbench.reports.web_page import formulas_in

if TYPE_CHECKING:
    from sphinx.application import Sphinx  # type: ignore[import-not-found]
    from sphinx.writers.html5 import HTML5Translator  # type: ignore[import-not-found]

ASSET = Path(__file__).resolve().parent.parent / "rankbench" / "html" / "assets" / "formulas.json"

CONVERTER = LatexToMathML()


def setup(app: Sphinx) -> None:
    """Write formulas of the site as MathML."""
    app.add_html_math_renderer("mathml", (_inline, None), (_displayed, None))


def _inline(page: HTML5Translator, node: nodes.math) -> None:
    page.body.append(CONVERTER.convert_with_local_state(node.astext(), displaystyle=False))
    raise nodes.SkipNode


def _displayed(page: HTML5Translator, node: nodes.math_block) -> None:
    page.body.append(f'<div class="math">{displayed(node.astext())}</div>\n')
    raise nodes.SkipNode


def displayed(latex: str) -> str:
    """Return a formula that stands in lines of its own."""
    if r"\\" in latex and r"\begin" not in latex:
        latex = rf"\begin{{aligned}}{latex}\end{{aligned}}"
    return str(CONVERTER.convert_with_local_state(latex, displaystyle=True))


def asset() -> str:
    """Return MathML by LaTeX of all of rankbench's own components; without styles, which pages of results forbid."""
    texts = [
        describe_component(kind, name).documentation
        for kind in KINDS
        for name in manager.names(kind)
        if is_own(kind, name)
    ]
    found = sorted({latex for text in texts for latex in formulas_in(text)})
    mathml = {latex: re.sub(' style="[^"]*"', "", displayed(latex)).replace('"', "'") for latex in found}
    return f"{json.dumps(mathml, ensure_ascii=False, indent=1)}\n"


if __name__ == "__main__":
    ASSET.write_text(asset(), encoding="utf-8")
