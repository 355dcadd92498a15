"""Tables of many rows, whole in a pipe; a terminal has the first hundred, and how many more. Words are whole, too."""

from __future__ import annotations

import io
import sys
from dataclasses import replace

import pytest

from rankbench.cli import output
from rankbench.cli.shown import Answer, Table, show
from rankbench.reports.document import Bullets, Column, Grid, Paragraph, terminal_of

COLUMNS = ["place", "item", "score"]
ROWS = [[f"{i} to {i + 3}", f"n{i * 37 % 1000}", "—" if i % 3 else f"{i / 7:.4f}"] for i in range(130)]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        (COLUMNS, ROWS),
        (["", "", ""], ROWS),
        (COLUMNS, [*ROWS, ["1", "名前", "2"]]),
        (COLUMNS, [*ROWS, ["1", "two\nlines", "2"]]),
        (COLUMNS, [*ROWS, ["1", "a\x1bb", ""]]),
    ],
)
def test_a_pipe_gets_every_row_as_rich_writes_it(
    columns: list[str], rows: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output.print_table(columns, rows, title="a title")
    found = capsys.readouterr().out
    monkeypatch.setattr(output, "FIRST_ROWS", 1000)
    output.print_table(columns, rows, title="a title")
    assert found == capsys.readouterr().out
    assert len(found.splitlines()) >= len(rows)


def test_a_terminal_gets_the_first_hundred(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(output, "_kept", stream)
    output.print_table(COLUMNS, ROWS)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 1 + 100 + 1
    assert lines[-1] == "and 30 more rows: a pipe, or a file, has all of them"
    output.print_table(COLUMNS, ROWS[:100])
    assert "more row" not in stream.getvalue().splitlines()[-1]


ANSWER = Answer({}, "It is a.", tables=[Table(COLUMNS, ROWS, (1,))], footnotes=["a note of words " * 9], next=["--all"])


@pytest.mark.parametrize(
    ("answer", "lines"),
    [
        (ANSWER, 24),
        (replace(ANSWER, tables=[Table(COLUMNS, ROWS[:15])]), 22),
        (replace(ANSWER, tables=[Table(COLUMNS, ROWS[:17])]), 24),
        (replace(ANSWER, tables=[Table(COLUMNS, [[*row[:2], "folded words " * 20] for row in ROWS])]), 24),
        (replace(ANSWER, tables=[Table(COLUMNS, ROWS, (1,), "one"), Table(COLUMNS, ROWS, (1,), "two")]), 24),
        (replace(ANSWER, footnotes=["word " * 400]), 34),  # three rows at least
        (replace(ANSWER, long=True), 1 + 1 + 1 + 100 + 1 + 2 + 2),
        (replace(ANSWER, tables=[Table(("", ""), [row[:2] for row in ROWS[:40]])]), 1 + 1 + 40 + 2 + 2),
    ],
)
def test_an_answer_takes_a_screen(answer: Answer, lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless its rows were asked for, or are facts without heads."""
    stream = Terminal()
    monkeypatch.setattr(output, "_kept", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "80")
    show(answer)
    assert 0 <= lines - len(stream.getvalue().splitlines()) <= (lines == 24)
    pipe = io.StringIO()
    monkeypatch.setattr(output, "_kept", pipe)
    show(answer)
    assert "more row" not in pipe.getvalue()


def test_a_pipe_gets_whole_words_and_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the width of the terminal, which a pipe has none of."""
    monkeypatch.setenv("TERM", "dumb")
    said = "a claim of many words " * 20
    grid = Grid.from_rows([Column("claim"), Column("")], [["1", said], ["2", "short"]])
    printed = Answer({}, tables=[terminal_of([Paragraph(f"**{said.strip()}**"), grid, Bullets((said, said))])])
    for stream, whole in ((io.StringIO(), True), (Terminal(), False)):
        monkeypatch.setattr(output, "_kept", stream)
        show(printed)
        lines = stream.getvalue().splitlines()
        assert sum(said.strip() in line for line in lines) == (4 if whole else 0)
        assert all(line == line.rstrip() for line in lines)
        assert whole or max(map(len, lines)) <= 80
