"""Functions make texts of others safe, check numbers of others, and write numbers with fixed digits.

Labels, reasons, data set names, cells of files and exceptions may come from a plugin or a log.
None of them can move the terminal's cursor, start a formula in a spreadsheet, break a Markdown
table or make an error message unreadable.

NumPy turns much into floats without a word: of a complex number it drops a part, of a masked
array the mask; a date becomes nanoseconds, True 1, and None nan.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rankbench.errors import PluginError, SpecError

_LONGEST = 40
_MOST = 20
_MARKUP = re.compile(r"([\\`*_\[\]|~$])")
_NUMBER = re.compile(r"((?<![\w.])(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf)(?!\w))")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def short_repr(value: object) -> str:
    """Return the `repr` of a value; of a text or a long value, the first 40 characters."""
    return repr(cut(value)) if isinstance(value, str) else cut(repr(value))


def cut(text: str) -> str:
    """Return the first 40 characters of a text, with dots if there are more."""
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def listed(names: Sequence[str], limit: int = _MOST) -> str:
    """Return quoted names with commas, the first ones and how many more there are."""
    return first_of(short_reprs(names), limit)


def short_reprs(names: Sequence[str]) -> list[str]:
    """Return the `short_repr` of each name; names with equal beginnings are not cut."""
    shown = shortened(names, _LONGEST + 3, "...")
    return [repr(shown[name]) for name in names]


def shortened(names: Iterable[str], longest: int, dots: str = "…") -> dict[str, str]:
    """Return a text to show for each name: its beginning if it is long; all of it if two would look alike.

    Parameters
    ----------
    names : iterable of str
    longest : int
        Letters of a name that are shown, with the mark of a cut.
    dots : str
        The mark of a cut.

    Returns
    -------
    dict of str to str
        Different texts for different names.
    """
    shown = {name: name if len(name) <= longest else name[: longest - len(dots)] + dots for name in names}
    times = Counter(shown.values())
    return {name: text if times[text] == 1 else name for name, text in shown.items()}


def differing_parts(one: str, other: str, longest: int) -> tuple[str, str]:
    """Return two texts, cut around their first difference."""
    first = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = 0 if first < longest // 2 else first - longest // 4
    cuts = (("…" * bool(start) + text[start:], len(text) - start > longest) for text in (one, other))
    return tuple(f"{text[:longest]}…" if long else text for text, long in cuts)  # type: ignore[return-value]


def duration_text(seconds: float) -> str:
    """Return a duration to two digits at most, as in ``40 s``, ``12 min`` or ``3.5 h``."""
    for unit, length in (("h", 3600.0), ("min", 60.0)):
        if seconds >= length:
            return f"{float(f'{seconds / length:.2g}'):g} {unit}"
    return f"{max(seconds, 1):.2g} s"


def seconds_of(budget: float | str) -> float:
    """Return seconds of ``10``, ``"10s"``, ``"500ms"`` or ``"2m"``.

    Raises
    ------
    SpecError
        Something else, or not above 0.
    """
    text = str(budget).strip()
    units = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}
    unit = text[len(text.rstrip("smh")) :]
    try:
        seconds = float(text[: len(text) - len(unit)]) * units[unit]
    except (ValueError, KeyError):
        seconds = math.nan
    if not 0 < seconds < 1e7:
        raise SpecError(f"a budget is a number of seconds above 0, as in 10s, 500ms, 2m or 1h, not {text!r}")
    return seconds


def exception_text(error: BaseException) -> str:
    """Return an exception's type and message.

    Its ``__str__`` is third-party code: anything raised there, even `SystemExit`, is taken for
    a message that cannot be had.
    """
    name = type.__getattribute__(type(error), "__name__")
    try:
        message = f"{error}"
    except BaseException:
        return f"{name} (its message cannot be shown)"
    return f"{name}: {message}" if message else f"{name}"


def natural(text: str) -> tuple[tuple[float, str], ...]:
    """Return a key that sorts text by the numbers in it: k=3 before k=10 before k=inf."""
    parts = _NUMBER.split(text)
    return tuple((float(part), "") if index % 2 else (0.0, part) for index, part in enumerate(parts))


def numbered(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts names by the whole numbers in them, also within words: C2 before C10."""
    parts = re.split(r"([0-9]+)", name)
    # A number's length first: of two numbers the one with more digits is larger.
    return [(len(p.lstrip("0")), p.lstrip("0")) if index % 2 else (0, p) for index, p in enumerate(parts)]


_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}
# Characters that change the direction of writing or are not seen; tags can hide whole sentences in a name.
_UNSEEN = (0xAD, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF)
_UNSEEN += (*range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080))
_CONTROLS |= {code: f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}" for code in _UNSEEN}
_BREAKS = {ord("\n"): "\\n", ord("\t"): "\\t"}
_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#\[)", re.MULTILINE)
"""Commands in a log for GitHub's runners: ``::error`` at the beginning of a line, ``##[error]`` anywhere."""


def visible(text: str) -> str:
    r"""Write control characters as ``\x1b``, hidden ones as ``\u202e``: no name may steer a terminal.

    Nor may it command those who read the log: ``::error`` at the beginning of a line is written as ``\x3a:error``.
    """
    return without_commands(text.translate(_CONTROLS))


def without_commands(text: str) -> str:
    """Return lines that GitHub's runners do not obey; see `visible`."""
    return _COMMAND.sub(lambda sign: "\\x23" if sign[1] is None else f"{sign[1]}\\x3a", text)


def visible_line(text: str) -> str:
    r"""Return a text with names as one printable line; see `visible`. A line break is ``\n``."""
    return text if is_plain(text) else visible(text.translate(_BREAKS))


def is_plain(text: str) -> bool:
    """Return whether `visible_line` returns an ASCII text unchanged; a fast check."""
    return text.isascii() and text.isprintable() and "::" not in text and "#[" not in text


_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn")


def one_line(text: str) -> str:
    """Return `text` on one line, without control and formatting characters."""
    flat = " ".join(text.split())
    return "".join(c for c in flat if unicodedata.category(c) not in _HIDDEN)


def markdown(text: str) -> str:
    """Return `text` so that Markdown shows it as it is, in a table too."""
    safe = "".join(_HTML.get(c, c) for c in one_line(text))
    # Of a list's number the mark is escaped: a backslash before a digit would be shown. Two colons command GitHub.
    return re.sub(r"^([0-9]+(?=[.)])|(?=[#+\-]|::))([#+\-.):])", r"\1\\\2", _MARKUP.sub(r"\\\1", safe))


def code(text: str) -> str:
    """Return `text` as Markdown code that also stands in a table."""
    return f"`{one_line(text).replace('`', chr(39)).replace('|', chr(92) + '|')}`"


def literal(text: str) -> str:
    """Return `text` as Markdown code to copy from, with nothing in it escaped; not for tables."""
    safe = one_line(text)
    # Code ends at the first run of as many backticks as it began with.
    fence = "`" * (max((len(run) for run in re.findall("`+", safe)), default=0) + 1)
    return f"{fence} {safe} {fence}" if safe[:1] == "`" or safe[-1:] == "`" else f"{fence}{safe}{fence}"


LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "†": r"\textdagger{}", "—": "---",
    "\u2013": "--", "…": r"\ldots{}", "\u2212": "$-$", "≤": r"$\le$", "≥": r"$\ge$", "∞": r"$\infty$",
    "\u00d7": r"$\times$",
}  # fmt: skip
"""Commands in the place of characters that have a meaning in LaTeX, or that pdfLaTeX's fonts lack."""


def latex(text: str) -> str:
    """Return `text` so that LaTeX prints it as it is."""
    # Two hyphens, quotes or commas would become one sign.
    apart = re.sub(r"([-',])(?=\1)", "\\1\0", text)
    return "".join(LATEX.get(letter, letter) for letter in apart).replace("\0", "{}")


def first_of(names: Sequence[str], limit: int) -> str:
    """Return names with commas between them; of more than `limit` the first ones, and the number of the others."""
    rest = len(names) - limit
    return ", ".join(names) if rest <= 0 else f"{', '.join(names[:limit])} and {grouped_digits(rest)} more"


def csv_cell(text: str) -> str:
    """Return `text` for a CSV cell; a text that a spreadsheet would take for a formula gets a quote."""
    safe = one_line(text)
    return f"'{safe}" if safe[:1] in ("=", "+", "-", "@") else safe


def distinct(names: Iterable[str], safe: Callable[[str], str]) -> dict[str, str]:
    r"""Return a text to show for each name: its safe form, or one with escapes if two would look alike.

    Parameters
    ----------
    names : iterable of str
    safe : callable
        `one_line` or `csv_cell`: hidden characters are removed, so that "a" and "a\u200b" become one.

    Returns
    -------
    dict of str to str
        Different texts for different names, none of them empty but for the empty name.
    """
    shown = {name: safe(name) for name in names}
    for name, text in shown.items():
        if name and not text:
            shown[name] = _escaped(name)
    # An escaped name may be another one, as it is; escaped ones differ from one another.
    while True:
        times = Counter(shown.values())
        alike = [name for name, text in shown.items() if times[text] > 1 and text != _escaped(name)]
        if not alike:
            return shown
        shown |= {name: _escaped(name) for name in alike}


def _escaped(name: str) -> str:
    """Return a name with hidden characters, and a formula's first character, escaped."""
    parts: list[str] = []
    for at, c in enumerate(name):
        space = c == " " and (at in (0, len(name) - 1) or name[at - 1] == " ")
        other = c != " " and (c.isspace() or unicodedata.category(c) in _HIDDEN)
        if c == "\\":
            parts.append("\\\\")
        elif space or other or (at == 0 and c in "=+-@'"):
            code = ord(c)
            parts.append(f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}")
        else:
            parts.append(c)
    return "".join(parts)


def without_nan(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values for JSON, with None in place of nan."""
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in values.items()}


def sentence(text: str) -> str:
    """Return `text` ended by a period."""
    safe = one_line(text)
    return safe if safe.endswith((".", "!", "?")) else f"{safe}."


def number(value: float, digits: int = 4, *, sign: bool = False) -> str:
    """Return `value` with fixed digits, from 1e15 with an exponent; ``0`` for rounding errors, a dash for nan."""
    if math.isnan(value):
        return "—"
    if abs(value) <= 1e-12:
        return "0"
    if abs(value) >= 1e15:
        return f"{value:{'+' if sign else ''}.{digits}e}"
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


def percent_text(share: float) -> str:
    """Return a share in percent, with two significant digits.

    Examples
    --------
    >>> [percent_text(share) for share in (0.00152, 0.625, 0.999, 1)]
    ['0.15%', '62%', '100%', '100%']
    """
    return f"{float(f'{100 * share:.2g}'):g}%"


def mean_text(value: float) -> str:
    """Return a mean with four decimals, or two significant digits if four would show a nonzero mean as 0."""
    return significant(value, 2) if 1e-12 < abs(value) < 5e-5 else number(value)


def interval_text(lower: float, upper: float, digits: int = 4, *, sign: bool = False) -> str:
    """Return ``[lower, upper]``, or a dash where there is none."""
    if math.isnan(lower) or math.isnan(upper):
        return "—"
    return f"[{number(lower, digits, sign=sign)}, {number(upper, digits, sign=sign)}]"


def grouped_digits(value: int) -> str:
    """Return an integer with thousands separated."""
    return f"{value:,}"


def amount_text(value: float) -> str:
    """Return a count, or a sum of weights, with thousands separated: one decimal where it is not whole."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def count_text(count: float, noun: str, which: str = "") -> str:
    """Return a count with its noun: ``1 query``, ``2,000 queries``, ``1 row without a game``.

    Parameters
    ----------
    count : float
    noun : str
        In the singular, with a regular plural.
    which : str
        Words after the noun.
    """
    if count != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}{'es' if noun.endswith('ch') else 's'}"
    return " ".join(filter(None, [amount_text(count), noun, which]))


def place_range_text(low: int, high: int, *, first: bool | None = None) -> str:
    """Return a range of places as text: ``3``, ``1 to 6``, ``1 to 6 *`` if possibly first.

    The mark means: may be first by comparisons with the best. Sentences explain it, as "20 items may be first (*)".
    """
    places = grouped_digits(low) if low == high else f"{grouped_digits(low)} to {grouped_digits(high)}"
    return f"{places} *" if first else places


def normalized(name: str) -> str:
    """Return a distribution's name in its normalized spelling, as the package index compares names."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


def returned_numbers(value: object, what: str) -> Any:
    """Return the array of real numbers in `value`.

    Parameters
    ----------
    value : object
        Returned value.
    what : str
        Name of the value: "scores".

    Raises
    ------
    PluginError
        NumPy would turn it into real numbers without a word.
    """
    import numpy as np

    array, masked = np.asarray(value), isinstance(value, np.ma.MaskedArray)
    if masked or array.dtype.kind not in "fiu":
        found = "a masked array" if masked else f"an array of {array.dtype}"
        raise PluginError(f"{what}: returned {found}, not real numbers")
    return array
