"""Origin of an answer on its page: the command that makes it again, the inputs, versions, and works to cite."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path, PurePath
from typing import Any

import click

from rankbench.core.spec import parse
from rankbench.core.text import one_line
from rankbench.data.readers.remote import shown_log
from rankbench.interfaces.aggregator import Aggregator
from rankbench.logs.opened import files_sha256
from rankbench.plugin import manager

WORDS = "rankbench.words"
"""Key of click's ``meta`` under which the group of subcommands keeps the words of the command line."""


@dataclass(frozen=True)
class Provenance:
    """Provenance of an answer.

    Attributes
    ----------
    inputs : mapping of str to str
        Size of each input as text, by its name on the command line.
    methods : collection of str
        Aggregators whose works the page cites.
    sha256 : callable, optional
        Returns the sha256 of the input, a log; by default that of each file or folder is taken here.
    reading : mapping of str to object
        Meanings of the columns of the log, a key of JSON; see `rankbench.data.readings.find.stated_values`.
    command : str
        Command that makes the page; empty: the command of this process, where names of files stand for their paths.
    """

    inputs: Mapping[str, str] = field(default_factory=dict)
    methods: Collection[str] = ()
    sha256: Callable[[], str | None] | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""

    def texts(self) -> dict[str, str]:
        """Return texts of a page by their headings."""
        from rankbench.reports.references import references_text
        from rankbench.runner.run_record import LIBRARIES

        context = click.get_current_context(silent=True)
        words = context.find_root().meta.get(WORDS, []) if context else []
        digests = {name: self.sha256() if self.sha256 else _sha256(Path(name)) for name in self.inputs}
        lines = [f"# {', '.join(f'{name} {version(name)}' for name in LIBRARIES)}"]
        for name, size in self.inputs.items():
            facts = [size, f"sha256 {digests[name]}" if digests[name] else ""]
            lines.append(f"# {_named(name, self.inputs)}: {', '.join(filter(None, facts))}")
        lines.append(self.command or shlex.join(["rankbench", *(_named(word, self.inputs) for word in words)]))
        classes = [manager.component_class(Aggregator, parse(method).name) for method in self.methods]
        data = [(name, digest) for name, digest in digests.items() if digest]
        cite = references_text(classes, version("rankbench"), data)
        return {"Make it again": "".join(f"{one_line(line)}\n" for line in lines), "Cite": cite}


def _named(word: str, inputs: Mapping[str, str]) -> str:
    """Return a word of a command line with the name of a file for its path: folders are the reader's own."""
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    is_path = value in inputs or os.path.exists(value) or os.path.isdir(os.path.dirname(value))
    return f"{option}{equals}{PurePath(shown_log(value)).name if is_path else value}"


def _sha256(path: Path) -> str | None:
    return files_sha256(path) if path.exists() else None
