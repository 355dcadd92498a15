"""How figures look: colors that color-blind readers tell apart, and a marker and dashes for each, for gray print."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankbench.drawing.letters import missing_letters_told
from rankbench.text import distinct, one_line

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from matplotlib.figure import SubFigure

__all__ = [
    "COLORS",
    "GRAYS",
    "RC",
    "Look",
    "equal_limits",
    "gray",
    "legend",
    "legend_entries",
    "look",
    "pages",
    "render",
    "safe",
    "styled",
    "titles",
]

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#882255")
"""Okabe and Ito's, but a wine red of Tol's for their yellow, which is too pale for lines on white."""

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))

GRAYS = len(_DASHES) * (len(_MARKERS) + 1)
"""Gray lines that differ."""

RC: dict[Any, Any] = {
    "svg.hashsalt": "rankbench",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.labelsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.linewidth": 0.7,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.frameon": False,
    # Long enough for the longest dashes to show beside a marker.
    "legend.handlelength": 4.2,
    "legend.columnspacing": 1.2,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "figure.dpi": 100,
    "savefig.dpi": 160,
}


@dataclass(frozen=True)
class Look:
    """Color, marker and dashes of one line."""

    color: str
    marker: str
    dashes: Any


def look(index: int) -> Look:
    """Return the look of the series number `index`, 0 to 255: no two are alike.

    The first eight have colors and markers of their own. Any two of the first sixteen differ in two of color,
    marker and dashes, also in gray print; the first 64 also without dashes, as dots.
    """
    color, turn = index % len(COLORS), index // len(COLORS)
    dashes = _DASHES[(color + turn + turn // len(_MARKERS)) % len(_DASHES)]
    return Look(COLORS[color], _MARKERS[(color + 3 * turn) % len(_MARKERS)], dashes)


def gray(index: int) -> Look:
    """Return the look of a line that others are held against, 0 to `GRAYS` - 1, no two alike."""
    turn = index // len(_DASHES)
    return Look("#777777", _MARKERS[turn - 1] if turn else "", _DASHES[(index + 1) % len(_DASHES)])


def safe(text: str) -> str:
    """Return text from outside as matplotlib shows it: no mathematics, and in the legend."""
    words = one_line(text).replace("$", r"\$")
    return f" {words}" if words.startswith("_") else words


def titles(names: Iterable[str]) -> dict[str, str]:
    """Return what a figure calls each name: different names differently."""
    return {name: safe(shown) for name, shown in distinct(names, one_line).items()}


def pages(canvas: Canvas, count: int) -> list[Canvas | SubFigure]:
    """Return the parts of a figure of small multiples, one under the other; all of it, if there is one part."""
    if count <= 1:
        return [canvas]
    parts = np.atleast_1d(np.asarray(canvas.subfigures(count, 1)))
    return list(parts)


def legend(page: Canvas | SubFigure, panels: Iterable[Axes], last: str = "") -> None:
    """Put one legend under all panels, with the entry `last` at its end."""
    handles, names, columns = legend_entries(panels, page.bbox.width / page.dpi, last)
    if handles:
        page.legend(handles, names, loc="outside lower center", ncols=columns)


def legend_entries(panels: Iterable[Axes], width: float, last: str = "") -> tuple[list[Artist], list[str], int]:
    """Return handles and names for a legend of some inches, each name once, and how many columns fit."""
    found: dict[str, Artist] = {}
    for axes in panels:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(name, handle)
    names = sorted(found, key=lambda name: name == last)
    folded = [_folded(name) for name in names]
    widest = max((len(line) for name in folded for line in name.split("\n")), default=0)
    # In points a letter is about 4.7 wide, and a handle with its spaces 50.
    columns = math.floor(72 * width / (4.7 * widest + 50))
    return [found[name] for name in names], folded, max(1, min(len(names), columns))


def _folded(name: str, width: int = 48) -> str:
    """Break a long name into lines, after commas and spaces where it has some."""
    lines = [""]
    for part in re.findall(rf"[^, ]{{1,{width}}}[, ]*|[, ]+", name):
        if len(lines[-1]) + len(part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def equal_limits(panels: Sequence[Axes]) -> None:
    """Give panels that stand for each other the same limits."""
    for axis in ("x", "y"):
        limits = [getattr(axes, f"get_{axis}lim")() for axes in panels]
        for axes in panels:
            getattr(axes, f"set_{axis}lim")(min(low for low, _ in limits), max(high for _, high in limits))


@contextmanager
def styled() -> Iterator[None]:
    """Draw with our settings, whatever the user's are; theirs are put back."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(RC)
        yield


def render(figure: Canvas) -> dict[str, bytes]:
    """Return a figure's bytes by file suffix; the same figure gives the same bytes.

    It is laid out once, for SVG, where letters have the widths of their font, not of pixels; matplotlib would do so
    for each file, and draw all of it once more for that.
    """
    metadata: dict[str, dict[str, None]] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
    found = {}
    with missing_letters_told(), _laid_out(figure):
        for suffix, unset in metadata.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, metadata=unset)
            found[suffix] = buffer.getvalue()
    return found


@contextmanager
def _laid_out(figure: Canvas) -> Iterator[None]:
    """Put everything in its place, where it stays; later the figure may be laid out again."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    engine, canvas = figure.get_layout_engine(), figure.canvas
    if engine is not None:
        FigureCanvasSVG(figure)  # whose letters the engine measures
        engine.execute(figure)
    figure.set_layout_engine(None)
    try:
        yield
    finally:
        figure.set_layout_engine(engine)
        figure.set_canvas(canvas)
