"""Origin of an answer on its page: the command that makes it again, the inputs, versions, and works to cite."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Collection, Mapping
from importlib.metadata import version
from pathlib import Path, PurePath

import click

from rankbench.core.spec import parse
from rankbench.core.text import one_line
from rankbench.data.convert import sha256_of
from rankbench.data.readers.remote import shown_log
from rankbench.errors import RankbenchError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.dataset import Dataset
from rankbench.plugin import manager

WORDS = "rankbench.words"
"""Key of click's ``meta`` under which the group of subcommands keeps the words of the command line."""


def origin_texts(inputs: Mapping[str, str], methods: Collection[str], command: str) -> dict[str, str]:
    """Return texts of a page by their headings.

    Parameters
    ----------
    inputs : mapping of str to str
        Size in words of each input, which has the name of the command line.
    methods : collection of str
        Aggregators whose works the page cites.
    command : str
        Command that makes the page; empty: the command of this process, where names of files stand for their paths.
    """
    from rankbench.reports.references import references_text
    from rankbench.runner.run_record import LIBRARIES

    context = click.get_current_context(silent=True)
    words = context.find_root().meta.get(WORDS, []) if context else []
    digests = {name: log_sha256(name) for name in inputs}
    lines = [f"# {', '.join(f'{name} {version(name)}' for name in LIBRARIES)}"]
    for name, size in inputs.items():
        facts = [size, f"sha256 {digests[name]}" if digests[name] else ""]
        lines.append(f"# {_named(name, inputs)}: {', '.join(filter(None, facts))}")
    lines.append(command or shlex.join(["rankbench", *(_named(word, inputs) for word in words)]))
    classes = [manager.component_class(Aggregator, parse(method).name) for method in methods]
    data = [(name, digest) for name, digest in digests.items() if digest]
    cite = references_text(classes, version("rankbench"), data)
    return {"Make it again": "".join(f"{one_line(line)}\n" for line in lines), "Cite": cite}


def _named(word: str, inputs: Mapping[str, str]) -> str:
    """Return a word of a command line with the name of a file for its path: folders are the reader's own."""
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    is_path = value in inputs or os.path.exists(value) or os.path.isdir(os.path.dirname(value))
    return f"{option}{equals}{PurePath(shown_log(value)).name if is_path else value}"


def log_sha256(log: str) -> str | None:
    """Return the sha256 of a file, or of a folder's files with their names, or of a named data set; else None.

    Parameters
    ----------
    log : str
        As on the command line; what was read from a pipe, or from elsewhere, has none.
    """
    path = Path(log)
    if path.is_file():
        return sha256_of(path)
    if path.is_dir():
        whole = hashlib.sha256()
        for part in sorted(one for one in path.rglob("*") if one.is_file()):
            whole.update(f"{part.relative_to(path).as_posix()} {sha256_of(part)}\n".encode())
        return whole.hexdigest()
    try:
        return manager.get(Dataset, log).fingerprint()
    except RankbenchError:
        return None
