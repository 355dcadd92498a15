"""From an experiment to the bytes of its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankbench.reports.figures.cast import Cast
from rankbench.reports.figures.curves import cast_curves, draw_curves
from rankbench.reports.figures.dots import cast_dots, draw_dots
from rankbench.reports.figures.growth import cast_growth, draw_growth
from rankbench.reports.figures.risk import cast_risk, draw_risk
from rankbench.reports.figures.style import RC, Look, render
from rankbench.reports.sample import Sampler

__all__ = ["casts_of", "draw"]

_KINDS = {
    "risk": (cast_risk, draw_risk),
    "curves": (cast_curves, draw_curves),
    "growth": (cast_growth, draw_growth),
    "dots": (cast_dots, draw_dots),
}


def casts_of(sampler: Sampler) -> tuple[Cast, ...]:
    """Return who is in each figure of an experiment, in their order."""
    return tuple(_KINDS[figure.kind][0](sampler, figure) for figure in sampler.experiment.figures)


def draw(sampler: Sampler, casts: Sequence[Cast], looks: Mapping[str, Look]) -> dict[str, bytes]:
    """Return the figures of an experiment by file name, as SVG and as PNG.

    Nothing global is touched: no pyplot, and matplotlib's settings are put back. The
    same results give the same bytes.

    Parameters
    ----------
    sampler : Sampler
    casts : sequence of Cast
        From `casts_of`.
    looks : dict of str to Look
        From `rankbench.reports.figures.cast.assign`, for all figures of the suite.
    """
    import matplotlib

    found: dict[str, bytes] = {}
    for figure, cast in zip(sampler.experiment.figures, casts, strict=True):
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(RC)
            canvas = _KINDS[figure.kind][1](sampler, figure, cast, looks)
            found |= {f"{figure.file}.{suffix}": data for suffix, data in render(canvas).items()}
    return found
