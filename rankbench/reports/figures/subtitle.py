"""What stands above a figure: its title, which data, n, and what its bands are."""

from __future__ import annotations

from collections.abc import Sequence

from rankbench.drawing.style import safe
from rankbench.kinds.figure import Drawing
from rankbench.kinds.suite import Figure
from rankbench.reports.sample import Race, Sampler
from rankbench.stats.contrasts import FEWEST, too_few

__all__ = ["subtitle"]


def subtitle(sampler: Sampler, figure: Figure, races: Sequence[Race], drawing: Drawing) -> str:
    """Return the figure's title, and under it which data, n if there is one, and what its bands are."""
    title = safe(figure.title or sampler.experiment.title)
    counts = sorted({len(race.repetitions) for race in races})
    words = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}" if counts else "0"
    source = sampler.source
    if drawing.bands and not (counts and too_few(counts[-1])):
        bands = drawing.bands
    elif source.layout != "race":
        bands = "exact" if source.layout == "exact" else "95% intervals"
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
    n = f"; n = {races[0].n:,}" if len(races) == 1 and source.counts and source.layout == "race" else ""
    note = f"\n{safe(drawing.note)}" if drawing.note else ""
    return f"{title}\n{data}{n}; {bands}{note}"
