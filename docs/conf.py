"""Sphinx builds the site from these pages, from docstrings and from `generated.py`."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx  # type: ignore[import-not-found]

sys.path.insert(0, str(Path(__file__).parent))

project = "rankbench"
author = "the authors of rankbench"
copyright = author
release = metadata.version("rankbench")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_click",
    "generated",
    "formulas",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4

html_theme = "furo"
# Quotes and dashes stay as they are typed: options begin with two hyphens.
smartquotes = False
html_title = f"rankbench {release}"
html_math_renderer = "mathml"
html_static_path = ["static"]
html_css_files = ["formulas.css"]

autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
# Docstrings cite under labels of their own; the bibliography has every work once.
suppress_warnings = ["ref.citation"]
# Names of other libraries, whose sites are not asked.
nitpick_ignore_regex = [
    (r"py:.*", r"(numpy|np|polars|pl|pydantic|pathlib|collections|typing|click|numba|pluggy|PluginManager)\b.*"),
]


def setup(app: Sphinx) -> None:
    """Lead links to published results to their pages; read links to other files that are not on the site as texts."""
    app.connect("source-read", _relink)


def _relink(app: Sphinx, name: str, source: list[str]) -> None:
    up = r"(?:\.\./)+" if "/" not in name else r"\.\./(?:\.\./)+"
    # `make docs` writes the pages of results beside those of Sphinx, which does not know them.
    text = re.sub(
        rf"\[([^\]]+)\]\({up}leaderboards/(?:README|([\w-]+)/\w+)\.md\)",
        lambda link: f'<a href="{"../" * name.count("/")}leaderboards/{link[2] or "index"}.html">{link[1]}</a>',
        source[0],
    )
    source[0] = re.sub(rf"\[([^\]]+)\]\({up}[^)]+\)", r"\1", text)
