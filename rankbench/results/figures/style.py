"""How figures look: Okabe and Ito's colors, and a marker and dashes for each, for gray print."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankbench.results.sample import Race, Sampler
from rankbench.results.stats.contrasts import FEWEST, too_few
from rankbench.results.text import plain

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from rankbench.suites.schema import Figure

__all__ = ["RC", "Look", "look", "render", "safe", "subtitle", "thousands"]

_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8A7A00")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))

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
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
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
    """Return the look of the line number `index`; no two of the first eight share a color."""
    return Look(
        _COLORS[index % len(_COLORS)],
        _MARKERS[index % len(_MARKERS)],
        _DASHES[(index + index // len(_COLORS)) % len(_DASHES)],
    )


def safe(text: str) -> str:
    """Return text from outside as matplotlib shows it: no mathematics, and in the legend."""
    words = plain(text).replace("$", r"\$")
    return f" {words}" if words.startswith("_") else words


def thousands(n: int) -> str:
    """Return ``n = 400,000``."""
    return f"n = {n:,}"


def subtitle(sampler: Sampler, figure: Figure, races: Sequence[Race]) -> str:
    """Return the figure's title, and under it what its bands are and which data: simulated or the set's name."""
    title = safe(figure.title or sampler.experiment.title)
    counts = sorted({len(race.repetitions) for race in races})
    words = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}" if counts else "0"
    source = sampler.source
    if source.layout != "race":
        bands = "95% intervals" if source.layout == "ranking" else "exact"
    elif not counts or counts[-1] < 2:
        bands = f"no bands: {words} repetition"
    elif too_few(counts[-1]):
        times = "runs" if source.test_share is not None else "repetitions"
        bands = f"no intervals: {words} {times}, fewer than {FEWEST}"
    elif source.test_share is not None:
        bands = f"{figure.level:.0%} intervals of the corrected resampled t ({words} runs)"
    else:
        bands = f"{figure.level:.0%} bands over draws ({words} repetitions)"
    data = "simulated data" if source.simulated else safe((source.dataset or source.protocol).partition(":")[0])
    return f"{title}\n{data}; {bands}"


def render(figure: Canvas) -> dict[str, bytes]:
    """Return a figure's bytes by file suffix; the same figure gives the same bytes."""
    metadata: dict[str, dict[str, None]] = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}
    found = {}
    for suffix, unset in metadata.items():
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix, metadata=unset)
        found[suffix] = buffer.getvalue()
    return found
