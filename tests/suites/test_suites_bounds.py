"""What a suite file may not say: names that lead elsewhere, numbers out of range."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankbench.errors import SpecError
from rankbench.suites.load import load_suite

TOP = 'name = "own"\ntitle = "Own"\n'
EXPERIMENT = """
[[experiments]]
name = "first"
title = "First"
n = [100, 200]
repetitions = 1
[[experiments.contenders]]
use = "erm"
"""
FIGURE = '[[experiments.figures]]\nfile = "figure"\nkind = "risk"\n'


def write(folder: Path, text: str, name: str = "own") -> str:
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_suite_that_the_others_differ_from_is_fine(tmp_path: Path) -> None:
    assert load_suite(write(tmp_path, TOP + EXPERIMENT + FIGURE)).experiments[0].figures[0].file == "figure"


LEADING_OUT = ["../up", "/etc/own", "a/b", "", ".", "..", "a b", "a\\nb", "a" * 101]


@pytest.mark.parametrize(
    ("old", "new"),
    [(old, new) for old in ('name = "own"', 'name = "first"', 'file = "figure"') for new in LEADING_OUT]
    + [(old, new) for old in ('name = "own"', 'name = "first"') for new in ("Own", "a--b", "a_b")],
)
def test_names_cannot_lead_out_of_the_output_folder(tmp_path: Path, old: str, new: str) -> None:
    key = old.split(" ", maxsplit=1)[0]
    text = (TOP + EXPERIMENT + FIGURE).replace(old, f'{key} = "{new}"')
    with pytest.raises(SpecError, match=f"{key}: "):
        load_suite(write(tmp_path, text))


def test_two_figures_cannot_have_one_file(tmp_path: Path) -> None:
    text = TOP + EXPERIMENT + FIGURE + EXPERIMENT.replace("first", "second") + FIGURE.replace('figure"', 'Figure"')
    with pytest.raises(SpecError, match="two figures have the file 'Figure'"):
        load_suite(write(tmp_path, text))
