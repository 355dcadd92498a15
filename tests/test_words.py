"""Plain words: first sentences of docstrings, help texts and messages begin with a noun or a verb and say one thing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "rankbench"
CLAUSE = re.compile(r"^(What|Who|Whatever|Whether|Which|How)\b|\b(of which|of whom|those of)\b")
REPLACED = re.compile(r"\b(a coin|shown to be (better|worse|as good)|(is|are|was|were|be) told apart|called real)\b")
"""Words that the glossary replaces: chance level, significantly better, significantly different."""
INNER = re.compile(r"\b(What|Who|Whatever|Which|How)\b|\b(of which|of whom)\b")
"""As `CLAUSE`, anywhere in a docstring: "Whether" describes truth values."""
LONGEST = 25

DIGESTED = ("kernels", "surrogates")
"""Folders whose inner sentences are left: an edit compiles kernels again, or makes published certificates doubtful."""

BY_DIGEST = "published certificates name the file by its digest"
IN_ROWS = "published rows hold the sentence"

EXCEPTIONS = {
    "Base of pairwise surrogates whose phi is a `PhiFormula`, "
    "of which the NumPy forms and the compiled ones are made.": BY_DIGEST,
    "Whether h(Y) = Y multiplies phi.": BY_DIGEST,
    "this law was chosen, before anything was trained, for how often the limit of (12) with the logistic phi is wrong: "
    "on about a third of low-noise populations of four items, and on half of those of five": IN_ROWS,
    "WITH LEAKAGE: training ratings are in their own features (a user's genre means, a movie's mean), "
    "those of validation and test pairs are not.": IN_ROWS,
}
"""Sentences that stay, with the reason."""


def files() -> list[Path]:
    """Return the files of rankbench, without templates."""
    return sorted(path for path in PACKAGE.rglob("*.py") if "templates" not in path.parts)


def sentences(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the first sentence of each docstring, and every other text of several words, with its line.

    Fields of an f-string are a word each.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, documented) and (text := ast.get_docstring(node)):
            yield node.body[0].lineno, first_sentence(text)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            parts.add(id(node.value))
            yield node.lineno, first_sentence(node.value.value)
        if isinstance(node, ast.JoinedStr):
            whole = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
            yield node.lineno, whole
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value


def first_sentence(text: str) -> str:
    """Return a docstring's first sentence in one line."""
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    return re.split(r"(?<=[.:;]) ", paragraph)[0]


def unplain(text: str) -> bool:
    """Return whether a sentence has a clause as subject, or a dangling "those of"."""
    return bool(CLAUSE.search(text.strip())) and " " in text.strip()


def test_sentences_begin_with_a_noun_or_a_verb() -> None:
    found = []
    for path in files():
        for line, text in sentences(path):
            if unplain(text) and text not in EXCEPTIONS:
                found.append(f"{path.relative_to(ROOT)}:{line}: {text[:100]}")
    assert not found, "\n".join(dict.fromkeys(found))


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield every docstring, and every string below a constant, with its line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def test_inner_sentences_have_a_subject() -> None:
    found = []
    for path in files():
        if not {*DIGESTED} & {*path.relative_to(PACKAGE).with_suffix("").parts}:
            for line, text in docstrings(path):
                plain = " ".join(text.split())
                found += [f"{path.relative_to(ROOT)}:{line}: {one[0]}" for one in INNER.finditer(plain)]
    assert not found, "\n".join(found)


def test_words_that_the_glossary_replaces_are_gone() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text[:100]}"
        for path in files()
        for line, text in sentences(path)
        if REPLACED.search(text)
    ]
    assert not found, "\n".join(dict.fromkeys(found))


def test_first_sentences_of_docstrings_are_short() -> None:
    found = []
    for path in files():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = first_sentence(ast.get_docstring(node) or "")
                if len(text.split()) > LONGEST:
                    found.append(f"{path.relative_to(ROOT)}:{node.body[0].lineno}: {text[:100]}")
    assert not found, "\n".join(found)
