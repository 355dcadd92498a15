"""Reading entry points from files alone agrees with `importlib.metadata`."""

from __future__ import annotations

import importlib.metadata
import sys

from hypothesis import given
from hypothesis import strategies as st

from rankbench.cli.verbs import GROUP, _parse, _scan


def test_it_finds_what_importlib_finds():
    expected = {(e.name, e.value, e.dist.name.lower()) for e in importlib.metadata.entry_points(group=GROUP)}
    assert set(_scan(sys.path)) == expected
    assert expected


def test_a_distribution_is_read_once_from_the_first_folder(tmp_path):
    for folder, target in (("a", "first:x"), ("b", "second:x")):
        info = tmp_path / folder / "Some_Plugin-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "entry_points.txt").write_text(f"[{GROUP}]\nhello = {target}\n")
    folders = [str(tmp_path / "missing"), str(tmp_path / "a"), str(tmp_path / "b")]
    assert [tuple(verb) for verb in _scan(folders)] == [("hello", "first:x", "some-plugin")]


def test_files_that_cannot_be_read_are_passed_over(tmp_path):
    binary = tmp_path / "binary-1.0.dist-info"
    binary.mkdir()
    (binary / "entry_points.txt").write_bytes(b"[rankbench.commands]\n\xff = a:b")
    (tmp_path / "empty-1.0.dist-info").mkdir()
    (tmp_path / "file-1.0.dist-info").write_text("")
    egg = tmp_path / "old.egg-info"
    egg.mkdir()
    (egg / "entry_points.txt").write_text(f"[other]\na = b:c\n[{GROUP}]\n# no\n; no\n\nold = m:f [extra]\n")
    assert [tuple(verb) for verb in _scan([str(tmp_path)])] == [("old", "m:f", "old")]


@given(st.text(max_size=200))
def test_no_text_breaks_it(text):
    for verb in _parse(f"[{GROUP}]\n{text}", "any"):
        assert verb.name == verb.name.strip()
