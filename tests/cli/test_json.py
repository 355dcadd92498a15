"""Every verb prints JSON that follows its published schema: docs/static/schemas, made by docs/json_schemas.py."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import polars as pl
import pytest
from amounts import part_of
from json_schemas import EXAMPLES, MEANINGS, SCHEMAS, WRITTEN, file_of, folder_of_examples, meaning, rows_of
from jsonschema import Draft202012Validator

from rankbench.cli import main
from rankbench.cli.help import ORDER

if TYPE_CHECKING:
    from collections.abc import Iterator


def leaves() -> Iterator[tuple[str, click.Command]]:
    """Yield every built-in command that does something, by its words."""
    for verb in ORDER:
        found = main.get_command(click.Context(main, **main.context_settings), verb)
        if isinstance(found, click.Group):
            yield from ((f"{verb} {name}", command) for name, command in found.commands.items())
        else:
            assert found is not None
            yield verb, found


@pytest.mark.parametrize(
    ("words", "command"), list(leaves()), ids=lambda value: str(value) if " " in str(value) else ""
)
def test_every_verb_takes_it(words: str, command: click.Command) -> None:
    flags = [parameter for parameter in command.params if "--json" in parameter.opts]
    assert [flag.is_flag for flag in flags if isinstance(flag, click.Option)] == [True]


def test_every_answer_has_a_schema() -> None:
    names = {*EXAMPLES, *WRITTEN}
    assert {name.partition(" --")[0] for name in names} == {words for words, _ in leaves()}
    assert {file_of(name) for name in names} == {*SCHEMAS.iterdir()}


def test_schemas_have_the_meanings_of_keys() -> None:
    told = set[str]()
    for answer in (*EXAMPLES, *WRITTEN):
        schema = json.loads(file_of(answer).read_text(encoding="utf-8"))
        Draft202012Validator.check_schema(schema)
        rows = list(rows_of(schema))
        assert [said for _, _, said in rows] == [meaning(answer, path) for path, _, _ in rows]
        told.update(said for _, _, said in rows)
    assert {said for keys in MEANINGS.values() for said in keys.values()} <= told


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Work in a folder with the inputs of the examples."""
    with folder_of_examples(tmp_path_factory.mktemp("json")):
        yield


def answer(rankbench, command: str):
    done = rankbench(*command.split(), "--json")
    assert done.exit_code in range(4), done.stderr
    assert done.stdout.isascii()
    return json.loads(done.stdout, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


@pytest.mark.full
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", part_of([name for name in EXAMPLES if not name.startswith("time")], 3))
def test_examples_follow_their_schemas(rankbench, name: str) -> None:
    """The fixture `rankbench` compares; tests/tracking/test_cli_time.py has answers of `time`."""
    for command in EXAMPLES[name]:
        version = ("schema", "rankbench-certificate/1") if name == "certify" else ("schema_version", 1)
        assert next(iter(answer(rankbench, command).items())) == version


@pytest.mark.usefixtures("folder")
def test_a_run_says_who_is_best(rankbench) -> None:
    found = answer(rankbench, EXAMPLES["run"][0].replace("again", "done"))
    assert found["exit_code"] == 0
    assert "done/leaderboard.md" in found["files"]
    rows = pl.read_csv("done/leaderboard.csv")
    for row in found["headline"]:
        own = rows.filter(contender=row["contender"], split=row["split"])
        assert own["mean"].item() == pytest.approx(row["mean"], abs=1e-6)
    assert {row["split"] for row in found["headline"]} == {"design", "heldout"}
    assert len(found["who_is_best"]) == 2
