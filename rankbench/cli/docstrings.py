"""Docstrings as a person at a terminal reads them: no roles, no directives, formulas in letters."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from rankbench.cli.formulas import formula

__all__ = ["plain_inline", "read_docstring"]

_UNDERLINE = re.compile(r"([-=~^])\1{2,}$")
_ITEM = re.compile(r"(?:[-*+]|\d+[.)])\s+")
_DIRECTIVE = re.compile(r"\.\.\s+(?P<name>[\w-]+)::\s*(?P<rest>.*)$", re.S)
_INLINE = re.compile(
    r":math:`(?P<formula>[^`]*)`"
    r"|:[\w:+.-]+:`~?(?P<role>[^`<]*?)(?:\s*<[^`>]*>)?`"
    r"|``(?P<literal>.+?)``"
    r"|`(?P<link>[^`<]+?)(?:\s*<(?P<target>[^`>]*)>)?`_{0,2}"
    r"|\[(?P<citation>[\w.-]+)\]_"
    r"|(?<![\w*])\*{1,2}(?P<stressed>[^\s*](?:[^*]*[^\s*])?)\*{1,2}(?![\w*])",
    re.S,
)
_CODE = ("code-block", "code", "sourcecode", "doctest", "parsed-literal")


def read_docstring(text: str, width: int) -> str:
    """Return a docstring in reST and numpydoc as plain text.

    Parameters
    ----------
    text : str
        Without the indentation of its source.
    width : int
        Columns; formulas and code are not broken.
    """
    return "\n\n".join(_blocks(text.strip().splitlines(), width))


def _blocks(lines: list[str], width: int) -> Iterator[str]:
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        if at + 1 < len(lines) and _UNDERLINE.fullmatch(lines[at + 1].strip()) and not lines[at].startswith(" "):
            yield lines[at].strip().upper()
            at += 2
            continue
        end = _end(lines, at)
        block = [line.rstrip() for line in lines[at:end]]
        if block[0].startswith(".. "):
            yield from _directive("\n".join(block), width)
        elif block[0].endswith("::"):  # a paragraph, and after it code
            after = _end(lines, end, deeper=True)
            said = " ".join(map(str.strip, block))
            yield _filled(said[:-2] if said.endswith(" ::") or said == "::" else said[:-1], width)
            yield _kept(lines[end:after])
            end = after
        elif _ITEM.match(block[0]):
            yield "\n".join(_filled(item, width, hanging=True) for item in _items(block))
        elif len(block) > 1 and block[1].startswith(" ") and not block[0].startswith(" "):
            yield "\n".join(_described(block, width))
        else:
            yield _filled(" ".join(map(str.strip, block)), width)
        at = end


def _end(lines: list[str], at: int, *, deeper: bool = False) -> int:
    """Return where a block ends: at an empty line; that of a directive, and code, where indentation ends."""
    directive = deeper or (lines[at : at + 1] and lines[at].startswith(".. "))
    end = at if deeper else at + 1
    while end < len(lines):
        line = lines[end]
        if directive and line.strip() and not line.startswith(" "):
            break
        if not directive and not line.strip():
            break
        if not directive and end + 1 < len(lines) and _UNDERLINE.fullmatch(lines[end + 1].strip()):
            break
        end += 1
    return end


def _directive(block: str, width: int) -> Iterator[str]:
    found = _DIRECTIVE.match(block)
    if found is None:  # a comment, or the target of a citation
        cited = re.match(r"\.\.\s+(\[[\w.-]+\])\s+(.*)$", block, re.S)
        if cited:
            yield _filled(f"{cited[1]} {' '.join(cited[2].split())}", width)
        return
    name, rest = found["name"], found["rest"]
    if name == "math":
        rows = [" ".join(part.split()) for part in re.split(r"\n\s*\n|\\\\", rest)]
        yield "\n".join(_wrapped(formula(row), width, indent="    ") for row in rows if row)
    elif name in _CODE:
        yield _kept(rest.splitlines()[1:] if "\n" in rest else [])
    else:
        said = " ".join(rest.split())
        yield _filled(f"{name.replace('-', ' ').capitalize()}: {said}", width)


def _kept(lines: list[str]) -> str:
    return textwrap.indent(textwrap.dedent("\n".join(lines)).strip("\n"), "    ")


def _items(block: list[str]) -> Iterator[str]:
    item = ""
    for line in block:
        if _ITEM.match(line) and item:
            yield item
            item = ""
        item = f"{item} {line.strip()}".strip()
    yield item


def _described(block: list[str], width: int) -> Iterator[str]:
    """Yield a list of terms with what they mean, as numpydoc's parameters are."""
    said: list[str] = []
    for line in [*block, ""]:
        if line.startswith(" "):
            said.append(line.strip())
            continue
        if said:
            yield _filled(" ".join(said), width, indent="    ")
        said = []
        if line:
            yield _filled(line, width)


def _filled(text: str, width: int, *, indent: str = "", hanging: bool = False) -> str:
    return _wrapped(plain_inline(text), width, indent=indent, hanging=hanging)


def _wrapped(text: str, width: int, *, indent: str = "", hanging: bool = False) -> str:
    return textwrap.fill(
        text, max(width, 20), initial_indent=indent, subsequent_indent="  " if hanging else indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def plain_inline(text: str) -> str:
    """Return a text without marks: of roles what they name, of citations what is between the brackets."""
    return _INLINE.sub(_plain, text)


def _plain(found: re.Match[str]) -> str:
    if found["formula"] is not None:
        return formula(found["formula"])
    if found["citation"]:
        return f"[{found['citation']}]"
    if found["target"]:
        return f"{found['link']} ({found['target']})"
    return found["role"] or found["literal"] or found["link"] or found["stressed"] or ""
