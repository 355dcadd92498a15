"""From an experiment to the bytes of its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankbench.kinds.figure import Cast, Drawing
from rankbench.plugin.suite_kinds import figure_kind
from rankbench.reports.figures.canvas import canvas_of
from rankbench.reports.figures.style import RC, Look, render, subtitle
from rankbench.reports.sample import Sampler
from rankbench.reports.view import View

__all__ = ["casts_of", "draw_figures", "drawings_of"]


def casts_of(sampler: Sampler) -> tuple[Cast, ...]:
    """Return who is in each figure of an experiment, in their order."""
    view = View(sampler)
    return tuple(figure_kind(figure).cast(figure, view) for figure in sampler.experiment.figures)


def drawings_of(sampler: Sampler, casts: Sequence[Cast], together: float | None = None) -> list[Drawing]:
    """Return the figures of an experiment as data, in their order.

    Parameters
    ----------
    sampler : Sampler
    casts : sequence of Cast
        From `casts_of`.
    together : float, optional
        As `View` takes it.
    """
    view = View(sampler, together)
    pairs = zip(sampler.experiment.figures, casts, strict=True)
    return [figure_kind(figure).drawing(figure, view, cast) for figure, cast in pairs]


def draw_figures(
    sampler: Sampler, casts: Sequence[Cast], drawings: Sequence[Drawing], looks: Mapping[str, Look]
) -> dict[str, bytes]:
    """Return the figures of an experiment by file name, as SVG and as PNG.

    Nothing global is touched: no pyplot, and matplotlib's settings are put back. The
    same results give the same bytes.

    Parameters
    ----------
    sampler : Sampler
    casts : sequence of Cast
        From `casts_of`.
    drawings : sequence of Drawing
        From `drawings_of`.
    looks : dict of str to Look
        From `rankbench.reports.figures.cast.assign_looks`, for all figures of the suite.
    """
    if not sampler.experiment.figures:
        return {}  # without an import of a fifth of a second
    import matplotlib

    found: dict[str, bytes] = {}
    for figure, cast, drawing in zip(sampler.experiment.figures, casts, drawings, strict=True):
        races = [race for race in sampler.races if drawing.n is None or race.n in drawing.n]
        with matplotlib.rc_context():
            matplotlib.rcdefaults()
            matplotlib.rcParams.update(RC)
            canvas = canvas_of(drawing, cast, looks)
            canvas.suptitle(subtitle(sampler, figure, races, drawing), fontsize=10)
            found |= {f"{figure.file}.{suffix}": data for suffix, data in render(canvas).items()}
    return found
