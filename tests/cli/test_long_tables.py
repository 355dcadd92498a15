"""Tables of many rows: all of them in a pipe, at once; the first hundred on a terminal, and how many more."""

from __future__ import annotations

import io

import pytest

from rankbench.cli import output

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
    assert lines[-1] == "and 30 more rows: a pipe, or a file (--out), has all of them"
    output.print_table(COLUMNS, ROWS[:100])
    assert "more row" not in stream.getvalue().splitlines()[-1]
