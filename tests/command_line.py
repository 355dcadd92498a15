"""The command line in this process, with the exit code that a shell would see."""

from __future__ import annotations

import json
from collections.abc import Sequence

from click.testing import CliRunner, Result
from json_schemas import file_of, name_of
from jsonschema import Draft202012Validator

from rankbench.cli import main


def follow_schema(arguments: Sequence[str], printed: str) -> None:
    """Hold an answer of ``--json`` to its published schema, in which other keys than named ones are errors here."""
    answer = json.loads(printed)
    path = file_of(name_of(arguments, answer))
    if path.exists():
        closed = json.loads(
            path.read_text(encoding="utf-8"),
            object_hook=lambda one: (
                {"additionalProperties": False} | one if {"properties", "required"} <= {*one} else one
            ),
        )
        Draft202012Validator(closed).validate(answer)


def called(*arguments: str, **environment: str) -> Result:
    """Run ``rankbench`` with these arguments."""
    done = CliRunner().invoke(main, list(arguments), env=environment, prog_name="rankbench")
    if "--json" in arguments and done.stdout:
        follow_schema(arguments, done.stdout)
    return done
