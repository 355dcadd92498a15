"""Text from outside, made safe for the places where it is shown, and numbers with fixed digits.

Labels, reasons and data set names may come from a plugin or a log. None of them can move
the terminal's cursor, start a formula in a spreadsheet or break a Markdown table.
"""

from __future__ import annotations

import math
import re
import unicodedata

__all__ = ["code", "count", "csv_cell", "interval", "markdown", "natural", "number", "plain", "sentence", "significant"]

_MARKUP = re.compile(r"([\\`*_\[\]|~$])")
_NUMBER = re.compile(r"((?<![\w.])(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf)(?!\w))")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def natural(text: str) -> tuple[tuple[float, str], ...]:
    """Return a key that sorts text by the numbers in it: k=3 before k=10 before k=inf."""
    parts = _NUMBER.split(text)
    return tuple((float(part), "") if index % 2 else (0.0, part) for index, part in enumerate(parts))


def plain(text: str) -> str:
    """Return `text` on one line, without control and formatting characters."""
    flat = " ".join(text.split())
    return "".join(c for c in flat if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn"))


def markdown(text: str) -> str:
    """Return `text` so that Markdown shows it as it is, in a table too."""
    safe = "".join(_HTML.get(c, c) for c in plain(text))
    return re.sub(r"^([#+\-]|\d+[.)])", r"\\\1", _MARKUP.sub(r"\\\1", safe))


def code(text: str) -> str:
    """Return `text` as Markdown code that also stands in a table."""
    return f"`{plain(text).replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def csv_cell(text: str) -> str:
    """Return `text` for a CSV cell; what a spreadsheet would take for a formula gets a quote."""
    safe = plain(text)
    return f"'{safe}" if safe[:1] in ("=", "+", "-", "@") else safe


def sentence(text: str) -> str:
    """Return `text` ended by a period."""
    safe = plain(text)
    return safe if safe.endswith((".", "!", "?")) else f"{safe}."


def number(value: float, digits: int = 4, *, sign: bool = False) -> str:
    """Return `value` with fixed digits; a dash for nan, never a negative zero."""
    if math.isnan(value):
        return "—"
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    if float(text) == 0:
        return f"{0:.{digits}f}"
    return text


def significant(value: float, digits: int = 3) -> str:
    """Return `value` with this many significant digits, so that nothing but 0 looks like 0; a dash for nan."""
    if math.isnan(value):
        return "—"
    if value == 0:
        return "0"
    text = f"{value:#.{digits}g}"
    whole = abs(float(text)) >= 10 ** (digits - 1)
    return f"{float(text):.0f}" if whole else text


def interval(lower: float, upper: float, digits: int = 4, *, sign: bool = False) -> str:
    """Return ``[lower, upper]``, or a dash where there is none."""
    if math.isnan(lower) or math.isnan(upper):
        return "—"
    return f"[{number(lower, digits, sign=sign)}, {number(upper, digits, sign=sign)}]"


def count(value: int) -> str:
    """Return an integer with thousands separated."""
    return f"{value:,}"
