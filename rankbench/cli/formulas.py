"""Formulas in TeX as letters: what of it docstrings use."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["formula"]

_SIGNS = {
    "sum": "\N{GREEK CAPITAL LETTER SIGMA}", "prod": "\N{GREEK CAPITAL LETTER PI}",
    "infty": "∞", "nabla": "∇", "dagger": "†", "circ": "∘", "top": "T",
    "ne": "≠", "neq": "≠", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "in": "∈", "to": "→", "leftarrow": "←",
    "rightarrow": "→", "succ": "≻", "prec": "≺", "sim": "~", "propto": "∝", "langle": "⟨", "rangle": "⟩",
    "lfloor": "⌊", "rfloor": "⌋", "cdot": "·", "ldots": "...", "dots": "...", "pm": "±", "approx": "≈",
    "quad": "  ", "qquad": "   ", "{": "{", "}": "}", "|": "‖", ",": " ", ";": " ", ":": " ", "!": "", " ": " ",
    "big": "", "Big": "", "bigl": "", "bigr": "", "Bigl": "", "Bigr": "", "left": "", "right": "",
}  # fmt: skip
"""Commands without an argument; of Greek letters there is `_greek`, of others the name is shown, as of ``\\log``."""

_ACCENTS = {"hat": "\u0302", "bar": "\u0304", "tilde": "\u0303"}
_WORDS = frozenset({"text", "operatorname", "mathbf", "mathrm", "mathcal", "mathbb"})
_TOKEN = re.compile(r"\\([a-zA-Z]+|.)|\{|\}|[\^_]|\s+|[^\\{}^_\s]", re.S)
_BARE = re.compile(r"[^\W_]*[\u0300-\u036f]?|∞|†|\+")


def formula(text: str) -> str:
    r"""Return TeX as letters: ``\frac{a}{b}`` is a / b, ``s_{ij}`` is s_ij.

    What it does not know stays as it is.
    """
    tokens = [found[0] for found in _TOKEN.finditer(text)]
    return re.sub(r" +([,.)\]])", r"\1", re.sub(r" {4,}", "   ", _read(tokens, len(tokens)))).strip()


def _read(tokens: list[str], most: int) -> str:
    """Read tokens up to a brace that closes, or so many of them."""
    said: list[str] = []
    while tokens and most:
        most -= 1
        token = tokens.pop(0)
        if token == "}":
            break
        said.append(_one(token, tokens))
    return "".join(said)


def _one(token: str, tokens: list[str]) -> str:
    if token == "{":
        return _read(tokens, len(tokens))
    if token in "^_":
        inner = _argument(tokens)
        return token + (inner if _BARE.fullmatch(inner) or (token == "_" and inner.isalnum()) else f"({inner})")
    if token.isspace():
        return " "
    if not token.startswith("\\"):
        return token
    name = token[1:]
    if name in ("frac", "tfrac", "dfrac"):
        above, below = _argument(tokens), _argument(tokens)
        return (
            f"{_closed(above)}/{_closed(below)}" if _BARE.fullmatch(above) else f"{_closed(above)} / {_closed(below)}"
        )
    if name == "sqrt":
        return f"sqrt({_argument(tokens)})"
    if name in _ACCENTS:
        return _argument(tokens) + _ACCENTS[name]
    if name in _WORDS:
        return _argument(tokens)
    if name in _SIGNS:
        return _SIGNS[name]
    if letter := _greek(name):
        return letter
    return f"{name} " if tokens and tokens[0][:1].isalnum() else name


def _greek(name: str) -> str:
    """Return a letter by its name, as ``alpha`` or ``Omega``; empty if there is none."""
    size = "CAPITAL" if name[0].isupper() else "SMALL"
    called = {"lambda": "lamda", "varphi": "phi"}.get(name, name).upper()
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {called}")
    except KeyError:
        return ""


def _argument(tokens: list[str]) -> str:
    while tokens and tokens[0].isspace():
        tokens.pop(0)
    return _read(tokens, 1).strip() if tokens else ""


def _closed(text: str) -> str:
    """Return what stands above or below a line, in parentheses where it is more than one thing."""
    return text if _BARE.fullmatch(text) or re.fullmatch(r"[^\s+\-/]+", text) else f"({text})"
