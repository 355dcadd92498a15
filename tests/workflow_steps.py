"""What a GitHub workflow would run, read from its YAML: the checks and tests of workflows share this."""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent

KEYWORDS = frozenset({"if", "then", "else", "fi"})
"""Words of a shell that stand before a command."""

ACTION = re.compile(r": [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")


class Step(NamedTuple):
    """A step with a script."""

    job: str
    name: str
    script: str
    condition: str = ""


def read(path: Path) -> dict[str, Any]:
    """Return a workflow; YAML 1.1 takes its key `on` for true."""
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {"on" if key is True else key: value for key, value in found.items()}


def scripts(path: Path) -> list[Step]:
    """Return the steps of a workflow that run something, in their order."""
    return [
        Step(job, step.get("name", ""), step["run"], step.get("if", ""))
        for job, body in read(path)["jobs"].items()
        for step in body["steps"]
        if "run" in step
    ]


def schema_problems(paths: list[Path]) -> str:
    """Return what is wrong with workflows by the schemas that check-jsonschema ships; a job needs a time limit."""
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is part of requirements/dev.txt")
    wrong = ""
    for schema in ("vendor.github-workflows", "custom.github-workflows-require-timeout"):
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, paths)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wrong += done.stdout + done.stderr if done.returncode else ""
    return wrong


def unsafe(path: Path) -> list[str]:
    """Return what is not as it should be: actions without a commit, too many rights, foreign text in scripts."""
    text, flow = path.read_text(encoding="utf-8"), read(path)
    wrong = [
        f"{line.strip()}: no commit with its version behind it"
        for line in text.splitlines()
        if re.match(r"\s*(- )?uses:", line) and not ACTION.search(line)
    ]
    if flow["permissions"] != {"contents": "read"}:
        wrong.append("the workflow may do more than read")
    for name, job in flow["jobs"].items():
        rights = job.get("permissions", {"contents": "read"})
        publishing = {"release": {"id-token": "write"}, "docs": {"pages": "write", "id-token": "write"}}
        if rights != {"contents": "read"} and not (name == "publish" and rights == publishing.get(path.stem)):
            wrong.append(f"{name} may do {rights}")
        for step in job["steps"]:
            if "uses" in step and "/checkout@" in step["uses"] and step["with"]["persist-credentials"] is not False:
                wrong.append(f"{name}: the token stays in the checkout")
            if "${{" in step.get("run", ""):
                wrong.append(f"{name}: a script with an expression in it: whoever names a branch could write a command")
    return wrong


def unparsed(script: str) -> str:
    """Return what a shell says about the form of a script."""
    done = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    return done.stderr


def commands(script: str) -> list[list[str]]:
    """Return the simple commands of a script as words; those in ``$(...)`` as well."""
    if "\n" in script:
        return [found for line in script.replace("\\\n", " ").splitlines() for found in commands(line)]
    inner = [found for one in re.findall(r"\$\(([^()]*)\)", script) for found in commands(one)]
    outer = re.sub(r"\$\([^()]*\)", "X", script)
    lexer = shlex.shlex(outer, posix=True, punctuation_chars="|&;\n")
    lexer.whitespace, lexer.whitespace_split = " \t", True
    found: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set("|&;\n"):
            found.append([])
        else:
            found[-1].append(word)
    bare = (words[words[0] in KEYWORDS :] for words in found if words)
    bare = (words for words in bare if not re.match(r"\w+=", "".join(words[:1])))
    return [*inner, *(words for words in bare if words and not words[0].startswith("#"))]


def extras(folder: Path) -> set[str]:
    """Return the distributions that the extras of a project name."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = (one for some in project.get("optional-dependencies", {}).values() for one in some)
    return {re.split(r"[^\w.-]", one, maxsplit=1)[0] for one in found}


def missing(words: list[str], folder: Path = ROOT) -> str:
    """Return what a command lacks: a program, module, target, script, subcommand or option; empty: nothing."""
    program, *rest = words
    name = Path(program).name
    if name == "rankbench":
        return missing_subcommand(rest)
    if name == "python":
        if rest[:1] == ["-m"] and importlib.util.find_spec(rest[1]) is None and rest[1] not in extras(folder):
            return f"no module {rest[1]}"
        return ""
    if name == "make":
        known = re.findall(r"^([a-z-]+):", (folder / "Makefile").read_text(encoding="utf-8"), re.M)
        targets = rest[2:] if rest[0] == "-C" else rest
        return ", ".join(f"no target {word}" for word in targets if "=" not in word and word not in known)
    if name == "sh":
        return "" if (folder / rest[0]).is_file() else f"no script {rest[0]}"
    return "" if shutil.which(name) else f"no program {name}"


def missing_subcommand(words: list[str]) -> str:
    """Return which subcommand or option of ``rankbench WORDS`` is not there; empty: none."""
    from rankbench.cli import main

    command: click.Command = main
    with click.Context(main, **main.context_settings) as context:
        for word in words:
            if word.startswith("--"):
                options = {name for parameter in command.get_params(context) for name in parameter.opts}
                if word.partition("=")[0] not in options:
                    return f"{command.name} has no {word}"
            elif isinstance(command, click.Group) and word.islower():
                found = command.get_command(context, word)
                if found is None:
                    return f"no subcommand {word}"
                command = found
    return ""
