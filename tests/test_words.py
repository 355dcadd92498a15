"""Plain words: sentences begin with a noun or a verb, say one thing, and use the glossary's words."""

from __future__ import annotations

import ast
import csv
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.lint

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "rankbench"
PLUGINS = sorted(ROOT.glob("plugins/*/rankbench_*"))
CLAUSE = re.compile(r"^(What|Who|Whatever|Whether|Which|How)\b(?!.*\?$)|\b(of which|of whom|those of)\b")
INNER = re.compile(r"\b(What|Who|Whatever|Which|How)\b|\b(of which|of whom)\b")
"""As `CLAUSE`, anywhere in a docstring: "Whether" describes truth values."""
LONGEST = 25

REPLACED = {
    "chance level": r"\ba coin\b",
    "significantly": r"(?<!was )(?<!were )\bnot shown\b|\bshown to (be (better|worse|as good)|matter|change|differ)\b",
    "significantly different": r"\btold apart\b|\btells? (methods|contenders|systems|items|any two) apart\b",
    "significant": r"\b(called|(differences?|changes?) (is|are)) real\b|\breal (difference|change|regression)s?\b",
    "repetition, replicate": r"\b(over|other|independent|queries and) draws\b(?! (in|from)\b)|\bthe one draw\b",
    "prequential": r"\bone step ahead\b",
    "shrunk": r"\bdrawn towards?\b",
    "position-biased judge": r"\bone-sided judges?\b",
    "third-party code": r"\bforeign\b",
    "subcommand": r"\bverbs?\b",
    "package, layer": r"\b(a|an|the|each|every|another|other|its|one) rooms?\b|\brooms\b|\bfloors? of the house\b",
    "other libraries": r"(?<![-/`'\w])(?<!make )(?<!--suite )peers?\b(?![-`'/.:]| lint)",
}
"""Words that the glossary replaces, by its own."""

DIGESTED = ("kernels", "surrogates")
"""Folders whose inner sentences are left: an edit compiles kernels again, or makes published certificates doubtful."""

BY_DIGEST = "published certificates name the file by its digest, or an edit compiles its kernels again"
IN_ROWS = "published rows hold the sentence"

EXCEPTIONS = {
    "Base of pairwise surrogates whose phi is a `PhiFormula`, "
    "of which the NumPy forms and the compiled ones are made.": BY_DIGEST,
    "Whether h(Y) = Y multiplies phi.": BY_DIGEST,
    "Write the ratings after all judgments, one after the other; "
    "params and work are those of `glicko_2_times`.": BY_DIGEST,
    "Write the row geometric means to `out`; ``params = [log, *those of mean_log_odds]``.": BY_DIGEST,
    "WITH LEAKAGE: training ratings are in their own features (a user's genre means, a movie's mean), "
    "those of validation and test pairs are not.": IN_ROWS,
}
"""Sentences that stay, with the reason; besides, claims that published tables hold."""


def files() -> list[Path]:
    """Return the sources of rankbench and of its plugins, and the templates of `rankbench new`."""
    return sorted(path for folder in (PACKAGE, *PLUGINS) for path in folder.rglob("*.py*") if path.suffix != ".pyc")


def suites() -> list[Path]:
    """Return the suites of rankbench, of its plugins and of the templates, and the cards of data sets."""
    folders = (PACKAGE / "suites", PACKAGE / "testing" / "templates" / "suite", ROOT / "datasets", *PLUGINS)
    return sorted(path for folder in folders for end in ("toml", "toml.in") for path in folder.rglob(f"*.{end}"))


def pages() -> list[Path]:
    """Return the pages that people write."""
    by_hand = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "leaderboards/README.md")
    return [*map(ROOT.joinpath, by_hand), *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/README.md")]


def filled(path: Path) -> str:
    """Return a file's text, with words for the fields of a template."""
    return re.sub(r"@([A-Z_]+)@", r"\1", path.read_text(encoding="utf-8"))


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the first sentence of each docstring, and every other text, with its line.

    Fields of an f-string are a word each.
    """
    tree = ast.parse(filled(path))
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            parts.add(id(node.value))
            yield node.lineno, sentences(node.value.value)[0]
        if isinstance(node, ast.JoinedStr):
            whole = [str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values]
            yield node.lineno, "".join(whole)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.lineno, node.value


def sentences(text: str) -> list[str]:
    """Return the sentences of a text; paragraphs and items of a list end them too, colons do not."""
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\n|\n- ", text.strip())]
    return [sentence for part in paragraphs for sentence in re.split(r"(?<=[.?!]) ", part)]


def declared(value: object) -> Iterator[str]:
    """Yield the texts of a suite or card that people read."""
    if isinstance(value, dict):
        words = ("title", "asks", "views", "purpose", "text", "note")
        yield from (text for key, text in value.items() if key in words and isinstance(text, str))
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from declared(part)


def unplain(text: str) -> bool:
    """Return whether a sentence has a clause as subject, or a dangling "those of"."""
    return bool(CLAUSE.search(text.strip())) and " " in text.strip()


def replaced(text: str) -> list[str]:
    """Return the glossary's words for those in a text that it replaces."""
    return [word for word, pattern in REPLACED.items() if " " in text and re.search(pattern, text, flags=re.I)]


def faults(text: str) -> list[str]:
    """Return what is wrong with a text."""
    found = ["clause as subject"] if unplain(text) else []
    long = [f"over {LONGEST} words" for one in sentences(text) if len(one.split()) > LONGEST]
    return [] if text in EXCEPTIONS else found + long + [f"the glossary says {word}" for word in replaced(text)]


def test_texts_of_programs_are_plain() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {', '.join(said)}: {text[:100]}"
        for path in files()
        for line, text in texts(path)
        if (said := faults(text))
    ]
    assert not found, "\n".join(dict.fromkeys(found))


def test_texts_of_suites_are_plain() -> None:
    tables = [csv.DictReader(path.open(encoding="utf-8")) for path in ROOT.glob("leaderboards/*/claims.csv")]
    published = {row["text"].rstrip(".") for table in tables for row in table}
    found = [
        f"{path.relative_to(ROOT)}: {', '.join(said)}: {text}"
        for path in suites()
        for text in declared(tomllib.loads(filled(path)))
        if text.rstrip(".") not in published and (said := faults(text))
    ]
    assert not found, "\n".join(found)


def test_pages_use_the_words_of_the_glossary() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {word}: {line[:100]}"
        for path in pages()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for word in replaced(line)
    ]
    assert not found, "\n".join(found)


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield every docstring, and every string below a constant, with its line."""
    for node in ast.walk(ast.parse(filled(path))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def test_inner_sentences_have_a_subject() -> None:
    found = []
    for path in files():
        if not {*DIGESTED} & {*path.relative_to(ROOT).with_suffix("").parts}:
            for line, text in docstrings(path):
                plain = " ".join(text.split())
                found += [f"{path.relative_to(ROOT)}:{line}: {one[0]}" for one in INNER.finditer(plain)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("The fit is not shown to matter.", 1),
        ("Items that were not shown get a mean.", 0),
        ("95% over draws.", 1),
        ("Whether it is better.", 1),
        ("Which method is better?", 0),
        ("no " * LONGEST + "word; and one more", 1),
        ("no " * (LONGEST - 2) + "word. And one more", 0),
    ],
)
def test_the_rules_see_what_they_look_for(text: str, wrong: int) -> None:
    assert len(faults(text)) == wrong
