"""From an experiment to the bytes of its figures."""

from __future__ import annotations

from rankbench.results.sample import Sampler

__all__ = ["draw"]


def draw(sampler: Sampler) -> dict[str, bytes]:
    """Return the figures of an experiment by file name, as SVG and as PNG.

    Nothing global is touched: no pyplot, and matplotlib's settings are put back. The
    same results give the same bytes.
    """
    import matplotlib

    from rankbench.results.figures.curves import draw_curves
    from rankbench.results.figures.dots import draw_dots
    from rankbench.results.figures.growth import draw_growth
    from rankbench.results.figures.risk import draw_risk
    from rankbench.results.figures.style import RC, render

    drawers = {"risk": draw_risk, "curves": draw_curves, "growth": draw_growth, "dots": draw_dots}
    found: dict[str, bytes] = {}
    for figure in sampler.experiment.figures:
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(RC)
            canvas = drawers[figure.kind](sampler, figure)
            found |= {f"{figure.file}.{suffix}": data for suffix, data in render(canvas).items()}
    return found
