"""Looks give each contender one color, marker and dash, and replace letters that fonts lack."""

from __future__ import annotations

import io
import itertools
import math
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from rankbench.core.text import distinct, first_of, one_line
from rankbench.interfaces.figure import Drawing, Plot

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from matplotlib.figure import SubFigure


_MATPLOTLIBS = re.compile(r"Glyph (\d+) \(.*\) missing from font\(s\) (.+)\.", re.DOTALL)

_SHOWN = 8
"""Letters that are named."""


class MissingLettersWarning(UserWarning):
    """A picture has boxes in place of letters."""


@contextmanager
def missing_letters_told() -> Iterator[None]:
    """Warn once, at the end, of letters drawn as boxes; pass other warnings on."""
    letters: dict[str, None] = {}
    fonts = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", "Glyph ", UserWarning)
        yield
    for one in caught:
        found = _MATPLOTLIBS.fullmatch(str(one.message))
        if found is None:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno, source=one.source)
        else:
            letters[chr(int(found[1]))] = None
            fonts = found[2]
    if letters:
        words = f"letters that {fonts} has not are boxes in the picture: {first_of([*letters], _SHOWN)}"
        warnings.warn(words, MissingLettersWarning, stacklevel=3)


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
    "date.converter": "concise",
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
    """Return the look of the series number `index`, 0 to 255, all different.

    The first eight have colors and markers of their own. Any two of the first sixteen differ in two of color,
    marker and dashes, also in gray print; the first 64 also without dashes, as dots.
    """
    color, turn = index % len(COLORS), index // len(COLORS)
    dashes = _DASHES[(color + turn + turn // len(_MARKERS)) % len(_DASHES)]
    return Look(COLORS[color], _MARKERS[(color + 3 * turn) % len(_MARKERS)], dashes)


def gray(index: int) -> Look:
    """Return the look of a line for comparison, 0 to `GRAYS` - 1, all different."""
    turn = index // len(_DASHES)
    return Look("#777777", _MARKERS[turn - 1] if turn else "", _DASHES[(index + 1) % len(_DASHES)])


def safe(text: str) -> str:
    """Return a text escaped for matplotlib: no mathematics, and shown in the legend."""
    words = one_line(text).replace("$", r"\$")
    return f" {words}" if words.startswith("_") else words


def titles(names: Iterable[str]) -> dict[str, str]:
    """Return the label of each name in a figure: different labels for different names."""
    return {name: safe(shown) for name, shown in distinct(names, one_line).items()}


def worded_plots(drawing: Drawing) -> list[list[Plot]]:
    """Return the plots of a drawing, each with the words of its row and its column, so that it can stand alone."""
    plots = drawing.plots
    return [
        [
            replace(
                plot,
                title=plot.title or plots[0][c].title,
                x_label=plot.x_label or plots[-1][c].x_label,
                y_label=plot.y_label or row[0].y_label,
            )
            for c, plot in enumerate(row)
        ]
        for row in plots
    ]


def pages(canvas: Canvas, count: int) -> list[Canvas | SubFigure]:
    """Return the parts of a figure of small multiples from top to bottom, or the figure if it has one part."""
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
    """Give panels of small multiples the same limits."""
    for axis in ("x", "y"):
        limits = [getattr(axes, f"get_{axis}lim")() for axes in panels]
        for axes in panels:
            getattr(axes, f"set_{axis}lim")(min(low for low, _ in limits), max(high for _, high in limits))


@dataclass(frozen=True)
class FileForms:
    """Formats that a figure is written in, with matplotlib's settings.

    Attributes
    ----------
    unset : dict of str to sequence of str
        By format, the metadata that name a date or a version.
    settings : dict of str to object
        Beside `RC`.
    """

    unset: dict[str, tuple[str, ...]]
    settings: dict[Any, Any]


ON_SCREEN = FileForms({"svg": ("Date", "Creator"), "png": ("Software",)}, {})
"""Formats of pages: letters are outlines, so that they look alike everywhere."""

ON_PAPER = FileForms(
    {"pdf": ("CreationDate", "Creator", "Producer"), "svg": ("Date", "Creator")},
    {"svg.fonttype": "none", "pdf.fonttype": 42},
)
"""Formats of papers: letters are text in a TrueType font, which readers search and editors change."""


@contextmanager
def styled(settings: Mapping[Any, Any] = MappingProxyType({})) -> Iterator[None]:
    """Draw with rankbench's settings, and restore the user's."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**RC, **settings})
        yield


def render(figure: Canvas, forms: FileForms = ON_SCREEN) -> dict[str, bytes]:
    """Return a figure's bytes by file suffix; the same figure gives the same bytes.

    It is laid out once, for SVG, where letters have the widths of their font, not of pixels; matplotlib would do so
    for each file, and draw all of it once more for that.
    """
    found = {}
    with missing_letters_told(), _laid_out(figure):
        for suffix, unset in forms.unset.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format=suffix, metadata=dict.fromkeys(unset))
            found[suffix] = buffer.getvalue()
    return found


@contextmanager
def _laid_out(figure: Canvas) -> Iterator[None]:
    """Lay out a figure, and keep the layout while the context lasts."""
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


TOGETHER = 16
"""Series of one panel: more of them cannot be distinguished, and become small multiples."""

_GROUP = 8
"""Series of a panel among small multiples: each has a color of its own there."""


def groups(series: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the series of each panel: all of up to sixteen, else groups of up to eight of similar size."""
    if len(series) <= TOGETHER:
        return [tuple(series)]
    count = -(-len(series) // _GROUP)
    edges = [round(i * len(series) / count) for i in range(count + 1)]
    return [tuple(series[start:end]) for start, end in itertools.pairwise(edges)]


def assign_looks(drawings: Sequence[Drawing]) -> dict[str, Look]:
    """Return a look for every name in the figures of a suite, the same one in all of them.

    Names that share a figure never look alike, and as few of them as possible share a color. A name that says
    more than that of another figure, as "regression k=100" does than "regression", has its color. Names
    that were added to the run come last, so that the others look as they do without them.
    """
    quiet = _always_quiet(drawings)
    bases = _special_cases(drawings) | {name: base for drawing in drawings for name, base in drawing.variants.items()}
    beside: dict[str, set[str]] = defaultdict(set)
    for drawing in drawings:
        for name in drawing.names:
            beside[name].update(drawing.names)
    ordered = [(name in bases, name in drawing.added, name) for drawing in drawings for name in drawing.names]
    # Sorting is stable: within each of the four classes the order is that of the suite.
    late = sorted(ordered, key=lambda entry: entry[:2])
    places: dict[str, int] = {}
    for name in dict.fromkeys(name for _, _, name in late if name not in quiet):
        taken = {places[other] for other in beside[name] if other in places}
        color = places[bases[name]] % len(COLORS) if bases.get(name) in places else None
        places[name] = _free(taken, color)
    return {name: look(place) for name, place in places.items()} | {name: gray(i) for i, name in enumerate(quiet)}


def _special_cases(drawings: Sequence[Drawing]) -> dict[str, str]:
    """Return by name the one of another figure that it begins with, the longest, if no figure shows both."""
    names = list(dict.fromkeys(name for drawing in drawings for name in drawing.names))
    together = {frozenset((a, b)) for drawing in drawings for a, b in itertools.combinations(drawing.names, 2)}
    found = {}
    for name in names:
        heads = [head for head in names if name.startswith(f"{head} ") and frozenset((head, name)) not in together]
        if heads:
            found[name] = max(heads, key=len)
    return found


def _always_quiet(drawings: Sequence[Drawing]) -> list[str]:
    loud = {name for drawing in drawings for name in drawing.names if name not in drawing.quiet}
    return [name for name in dict.fromkeys(name for drawing in drawings for name in drawing.names) if name not in loud][
        :GRAYS
    ]


def _free(taken: set[int], color: int | None) -> int:
    """Return the place whose color is the least used, of these the first."""
    many = len(COLORS)
    beyond = many * (max(taken, default=0) // many + 2)
    free = [i for i in range(beyond) if i not in taken and (color is None or i % many == color)]
    return min(free, key=lambda i: (sum(other % many == i % many for other in taken), i))
