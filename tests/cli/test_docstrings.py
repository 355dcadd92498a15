"""What `rankbench info` makes of docstrings: plain text, no wider than the terminal."""

from __future__ import annotations

import re

import pytest

from rankbench.cli.docstrings import plain_inline, read_docstring
from rankbench.cli.formulas import formula
from rankbench.plugin.component_description import describe_component
from rankbench.plugin.kinds import KINDS
from rankbench.plugin.manager import names


@pytest.mark.parametrize(
    ("tex", "plain"),
    [
        (r"\frac1k \sum_{i=1}^k Y_i", "1/k Σ_(i=1)^k Y_i"),
        (r"\frac{w_{jl}}{w_{jl} + w_{lj}}", "w_jl / (w_jl + w_lj)"),
        (r"\hat P(j \succ l) = 1/2", "P\u0302(j ≻ l) = 1/2"),
        (r"\log(1 + e^{-m_{ij}})", "log(1 + e^(-m_ij))"),
        (r"\theta^{t+1} = \operatorname{argmin}_\theta f", "θ^(t+1) = argmin_θ f"),
        (r"a \le b, \quad b \to \infty", "a ≤ b,   b → ∞"),
        (r"\Big\{ x \Big\}", "{ x }"),
        (r"g(\sqrt{\phi_i^2 + \phi_j^2})", "g(sqrt(φ_i^2 + φ_j^2))"),
        (r"r_{\text{position of } l}", "r_(position of  l)"),
        (r"\unknown x", "unknown  x"),
        ("{ unbalanced", "unbalanced"),
    ],
)
def test_formulas_are_letters(tex: str, plain: str) -> None:
    assert " ".join(formula(tex).split()) == " ".join(plain.split())


@pytest.mark.parametrize(
    ("rest", "plain"),
    [
        ("see `win-rate`, ``k=1``", "see win-rate, k=1"),
        (":class:`~rankbench.Loss` and :func:`f <rankbench.get>`", "rankbench.Loss and f"),
        ("[DMJ13]_ eq. (22); [BT52]_", "[DMJ13] eq. (22); [BT52]"),
        ("with :math:`\\nu \\ge 0` it is", "with \N{GREEK SMALL LETTER NU} ≥ 0 it is"),
        ("`docs <https://example.org>`_ here", "docs (https://example.org) here"),
        ("[0, 1] and a_b", "[0, 1] and a_b"),
        ("on *every* one, **always**; 2 * 3 * 4", "on every one, always; 2 * 3 * 4"),
    ],
)
def test_marks_are_gone(rest: str, plain: str) -> None:
    assert plain_inline(rest) == plain


DOCSTRING = """\
First sentence.

A paragraph whose lines
are joined, with ``code`` and more words than a narrow terminal has room for.

.. math:: s = \\frac{1}{2} x, \\quad
   t = s

- one item that is
  long
- another

Parameters
----------
k : int
    How many, a description that
    has two lines.
rest

Notes
-----
Said::

    kept as   it is

.. note:: Mind
   this.

.. versionadded:: 0.1

.. [A1] A book.
"""


def test_blocks() -> None:
    assert (
        read_docstring(DOCSTRING, 40)
        == """\
First sentence.

A paragraph whose lines are joined, with
code and more words than a narrow
terminal has room for.

    s = 1/2 x,   t = s

- one item that is long
- another

PARAMETERS

k : int
    How many, a description that has two
    lines.
rest

NOTES

Said:

    kept as   it is

Note: Mind this.

Versionadded: 0.1

[A1] A book."""
    )


@pytest.mark.parametrize("kind", KINDS)
def test_no_markup_is_left_of_any_component(kind: str) -> None:
    for name in names(kind):
        shown = read_docstring(describe_component(kind, name).documentation, 80)
        assert not re.search(r"``|:\w+:`|\w\]_[^+\w]|^\.\. |^-{3,}$|\\[a-z]|\*\w", shown, re.M), (name, shown)
        wide = [line for line in shown.splitlines() if len(line) > 80 and " " in line.strip()]
        assert not wide, (name, wide)


def test_info_is_no_wider_than_the_terminal(rankbench) -> None:
    shown = rankbench("info", "davidson", COLUMNS="60")
    assert shown.exit_code == 0
    prose = shown.stdout.partition("\nsource ")[0]
    assert max(map(len, prose.splitlines())) <= 60
    assert ".. math" not in prose
    assert "]_" not in shown.stdout
