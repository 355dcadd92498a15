"""From an experiment to the bytes of its figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rankbench.drawing.canvas import canvas_of
from rankbench.drawing.picture import picture_bytes
from rankbench.drawing.style import Look, styled
from rankbench.kinds.figure import Cast, Drawing
from rankbench.kinds.suite import Figure
from rankbench.plugin.suite_kinds import figure_kind
from rankbench.reports.figures.subtitle import subtitle
from rankbench.reports.sample import Sampler
from rankbench.reports.view import View

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["casts_of", "draw_figures", "drawings_of", "figure_canvas"]


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
        From `rankbench.drawing.cast.assign_looks`, for all figures of the suite.
    """
    if not sampler.experiment.figures:
        return {}  # without an import of a fifth of a second
    found: dict[str, bytes] = {}
    for figure, cast, drawing in zip(sampler.experiment.figures, casts, drawings, strict=True):
        canvas = figure_canvas(sampler, figure, cast, drawing, looks)
        found |= {f"{figure.file}.{suffix}": data for suffix, data in picture_bytes(canvas).items()}
    return found


def figure_canvas(sampler: Sampler, figure: Figure, cast: Cast, drawing: Drawing, looks: Mapping[str, Look]) -> Canvas:
    """Return one figure of an experiment as matplotlib has it; arguments as those of `draw_figures`."""
    races = [race for race in sampler.races if drawing.n is None or race.n in drawing.n]
    with styled():
        canvas = canvas_of(drawing, cast, looks)
        canvas.suptitle(subtitle(sampler, figure, races, drawing), fontsize=10)
    return canvas
