"""No two series of a figure look alike, one contender looks the same in all figures of a suite."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import published
import pytest
import synthetic
from amounts import part_of
from matplotlib.figure import Figure as Canvas

from rankbench.drawing.looks import (
    COLORS,
    GRAYS,
    MissingLettersWarning,
    assign_looks,
    gray,
    groups,
    look,
    missing_letters_told,
)
from rankbench.interfaces.figure import Drawing
from rankbench.reports.figures import DrawnFigure, drawn_figures

Style: TypeAlias = tuple[str, str, tuple[Any, ...]]

SUITES = ("paper", "arena", "aggregators", "selection", "u-statistics", "demo", "own-log", "own-clicks", "after-2013")


def figures_of(folder: Path) -> list[DrawnFigure]:
    return [one for data in synthetic.experiments(folder) for one in drawn_figures(data)]


def drawn(figures: list[DrawnFigure]) -> dict[str, Canvas]:
    """Return pictures by the names of their files."""
    looks = assign_looks([one.drawing for one in figures])
    return {one.figure.file: one.canvas(looks) for one in figures}


def styles(axes: Any) -> dict[str, Style]:
    """Return color, marker and dashes of everything in a panel that has a name."""
    found = {}
    for line in axes.get_lines():
        if not line.get_label().startswith("_"):
            pattern = line._unscaled_dash_pattern  # the public getter calls all patterns "--"
            found[line.get_label()] = (line.get_color(), str(line.get_marker()), pattern)
    return found


@pytest.mark.full
@pytest.mark.parametrize("suite", part_of(SUITES, 3))
def test_styles_of_built_in_suites(tmp_path: Path, suite: str) -> None:
    of_suite: dict[str, Style] = {}
    figures = figures_of(published.write(tmp_path, suite))
    assert figures
    for one in figures:
        for row in one.drawing.plots:
            dots = any(plot.dots for plot in row)
            for plot in row if dots else row[:1]:
                assert "is better" in (plot.x_label if dots else plot.y_label), one.figure.file
        assert all(plot.x_label for plot in one.drawing.plots[-1]), one.figure.file
    for canvas in drawn(figures).values():
        of_figure: dict[str, Style] = {}
        for axes in canvas.axes:
            if not axes.get_ylabel():  # rows of dots, which have their names beside them
                continue
            own = styles(axes)
            assert len({(color, marker) for color, marker, _ in own.values()}) == len(own)
            # The curve of a contender at one n may be in two panels of a figure, under two names.
            of_figure |= {name: style for name, style in own.items() if not name.startswith("n = ")}
        assert len(set(of_figure.values())) == len(of_figure)
        for name, style in of_figure.items():
            assert of_suite.setdefault(name, style) == style, name


@pytest.mark.full
def test_a_contender_at_several_n_keeps_its_color(tmp_path: Path) -> None:
    canvas = drawn(figures_of(published.write(tmp_path, "paper")))["figure-2"]
    left, right = styles(canvas.axes[4]), styles(canvas.axes[5])
    assert list(right) == ["n = 200,000", "n = 400,000", "n = 800,000", "n = 1,600,000"]
    assert {color for color, _, _ in right.values()} == {left["stochastic k=100"][0]}
    assert right["n = 400,000"] == left["stochastic k=100"]
    assert set(right.values()) & set(left.values()) == {left["stochastic k=100"]}


def many(kind: str, count: int) -> synthetic.Plan:
    """Return a plan with so many series in a figure of a kind."""
    lines = kind == "risk"
    contenders = [
        synthetic.Contender(f"method {i} k={k}" if lines else f"method {i}", {"k": k, "i": i}, 0.003 * i, curves=True)
        for i in range(count)
        for k in ((1, 10) if lines else (10,))
    ]
    more = {
        "risk": {"parameter": "k", "series": ["*"]},
        "growth": {"series": ["*"]},
        "dots": {"metrics": ["ndcg"]},
        "curves": {
            "metrics": ["estimated-gap", "exact-gap-last"],
            "panels": [{"series": ["*"], "n": [200_000]}],
        },
    }
    figure = {"file": "f", "kind": kind} | more[kind]
    return synthetic.Plan("many", contenders, repetitions=2, baseline="", extra={"figures": [figure]})


@pytest.mark.parametrize("count", [16, 17, 40])
@pytest.mark.parametrize("kind", part_of(["risk", "growth", "curves"]))
def test_more_than_sixteen_series_become_small_multiples(tmp_path: Path, kind: str, count: int) -> None:
    canvas = drawn(figures_of(synthetic.write(tmp_path, [many(kind, count)], {"design": 3})))["f"]
    panels = [own for axes in canvas.axes if (own := styles(axes))]
    together = {name: style for own in panels for name, style in own.items()}
    assert set(together) == {f"method {i}" for i in range(count)}
    assert len(set(together.values())) == count
    most = max(len(own) for own in panels)
    assert most == 16 if count == 16 else most <= 8
    # What stands for each other has the same scale, so that panels can be compared.
    width = len(canvas.axes) // (1 if count == 16 else -(-count // 8))
    for place in range(width):
        same = canvas.axes[place::width]
        assert len({(axes.get_ylim(), axes.get_yscale(), axes.get_xlim()) for axes in same}) == 1


def test_dots_are_alike_and_have_their_names_beside_them(tmp_path: Path) -> None:
    canvas = drawn(figures_of(synthetic.write(tmp_path, [many("dots", 70)], {"design": 3})))["f"]
    own = styles(canvas.axes[0])
    assert len(own) == 64
    assert len({(color, marker) for color, marker, _ in own.values()}) == 1
    assert len({tick.get_text() for tick in canvas.axes[0].get_yticklabels()}) == 64


def test_looks() -> None:
    looks = [look(i) for i in range(256)]
    assert len({(one.color, one.marker, str(one.dashes)) for one in looks}) == 256
    assert len({one.color for one in looks[:8]}) == len({one.marker for one in looks[:8]}) == 8
    assert len({(one.color, one.marker) for one in looks[:64]}) == 64
    for a, b in itertools.combinations(looks[:16], 2):
        assert (a.color != b.color) + (a.marker != b.marker) + (str(a.dashes) != str(b.dashes)) >= 2
        assert (a.marker, str(a.dashes)) != (b.marker, str(b.dashes))  # in gray print
    grays = [gray(i) for i in range(GRAYS)]
    assert len({(one.marker, str(one.dashes)) for one in grays}) == GRAYS


MACHADO = {  # Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def lab(color: str, eyes: str) -> np.ndarray:
    """Return CIE L*a*b* (D65) of a color as some eyes see it."""
    srgb = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(MACHADO[eyes]) @ linear, 0, 1)
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    xyz = np.array(to_xyz) @ seen / [0.95047, 1, 1.08883]
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("eyes", MACHADO)
def test_color_blind_readers_tell_colors_apart(eyes: str) -> None:
    seen = [lab(color, eyes) for color in COLORS]
    # A difference of 2.3 is just noticeable; the olive that was once among the colors had 3.6 to its nearest.
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 15


def series(*names: str, **more: Any) -> Drawing:
    return Drawing((), names, **more)


def test_names_that_share_a_figure_never_look_alike() -> None:
    names = [f"m{i}" for i in range(30)]
    figures = [series(*names[:10]), series(*names[5:25]), series(*names[20:], names[0])]
    looks = assign_looks(figures)
    for figure in figures:
        own = [looks[name] for name in figure.names]
        assert len({(one.color, one.marker, str(one.dashes)) for one in own}) == len(own)
    assert len({looks[name].color for name in names[:8]}) == 8
    assert len({looks[name].color for name in figures[2].names[-6:]}) == 6


def test_what_was_added_changes_no_other_look() -> None:
    mine = frozenset({"mine"})
    looks = assign_looks([series("x", "mine", "y", added=mine), series("y", "z", "w", "mine", added=mine)])
    assert {name: looks[name] for name in "xyzw"} == assign_looks([series("x", "y"), series("y", "z", "w")])
    assert looks["mine"] not in [looks[name] for name in "xyzw"]


def test_a_gray_reference_is_colored_where_it_is_a_series_elsewhere() -> None:
    gray_one = series("x", "best", quiet=frozenset({"best"}))
    assert assign_looks([gray_one])["best"].color not in COLORS
    assert assign_looks([gray_one, series("best")])["best"].color in COLORS


def test_a_special_case_has_the_color_of_the_whole() -> None:
    kinds = ("regression k=100", "regression k=inf")
    looks = assign_looks([series("regression", "logistic"), series(*kinds, "logistic")])
    assert {looks[name].color for name in ("regression", *kinds)} == {COLORS[0]}
    assert len({(looks[name].marker, looks[name].dashes) for name in kinds}) == 2
    # Names of one figure are told apart by color first.
    together = assign_looks([series("cascade", "cascade smoothed")])
    assert together["cascade"].color != together["cascade smoothed"].color


@pytest.mark.parametrize("count", range(70))
def test_groups_are_alike_in_size(count: int) -> None:
    found = groups(range(count))
    assert [i for group in found for i in group] == list(range(count))
    sizes = [len(group) for group in found]
    assert len(sizes) == 1 if count <= 16 else max(sizes) <= 8
    assert max(sizes) - min(sizes) <= 1


def test_boxes_are_told_once_and_other_warnings_as_they_came() -> None:
    def draw_like_matplotlib() -> None:
        with missing_letters_told():
            for letter in "文文心":
                glyph = f"Glyph {ord(letter)} (\\N{{NAME}}) missing from font(s) DejaVu Sans."
                warnings.warn(glyph, UserWarning, stacklevel=1)
            warnings.warn("something else", RuntimeWarning, stacklevel=1)

    with pytest.warns() as caught:
        draw_like_matplotlib()
    assert [(one.category, str(one.message)) for one in caught] == [
        (RuntimeWarning, "something else"),
        (MissingLettersWarning, "letters that DejaVu Sans has not are boxes in the picture: 文, 心"),
    ]
