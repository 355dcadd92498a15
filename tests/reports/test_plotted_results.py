"""`.plot()` of a run's results: the figure that is in its folder."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic
from matplotlib.figure import Figure

import rankbench
from rankbench.drawing.canvas import picture_bytes
from rankbench.errors import SpecError
from rankbench.reports.results import Results


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    plan, twin = synthetic.small(), synthetic.small()
    twin.name = "twin"
    for one, file in ((plan, "first"), (twin, "second")):
        one.extra = one.extra | {
            "figures": [
                {"file": file, "kind": "risk", "title": "Risk", "parameter": "k", "series": ["regression k=*"],
                 "references": ["logistic"]}
            ]
        }  # fmt: skip
    claim = {"id": "C", "text": "x", "kind": "less", "contrasts": [{"a": "logistic", "b": "regression k=1"}]}
    twin.extra = twin.extra | {"claims": [claim]}
    return synthetic.write(tmp_path_factory.mktemp("run"), [plan, twin])


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return rankbench.report(folder)


@pytest.mark.parametrize(("asked", "file"), [("", "second"), ("first", "first"), ("second", "second")])
def test_a_figure_is_that_of_the_folder(folder: Path, results: Results, asked: str, file: str) -> None:
    """Without a name it is the one that the leaderboard begins with: most is claimed of it."""
    figure = results.plot(asked)
    assert isinstance(figure, Figure)
    drawn = picture_bytes(figure)
    assert drawn["png"] == (folder / "figures" / f"{file}.png").read_bytes()
    assert drawn["svg"] == (folder / "figures" / f"{file}.svg").read_bytes()
    assert any("less is better" in axes.get_ylabel() for axes in figure.axes)


def test_a_figure_that_there_is_not(results: Results) -> None:
    with pytest.raises(SpecError, match="no figure 'third'; figures: first, second"):
        results.plot("third")
