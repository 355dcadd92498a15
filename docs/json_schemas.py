"""JSON schemas of the answers of ``--json``: executed examples give the types, ``reference/json.toml`` the meanings.

The key ``asked`` has types and meanings of the question's fields.

``python docs/json_schemas.py`` executes `EXAMPLES` and writes ``static/schemas/*.schema.json`` anew. A key without a
meaning, and a null that no meaning explains, are errors.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

DOCS = Path(__file__).parent
SCHEMAS = DOCS / "static" / "schemas"
MEANINGS: dict[str, dict[str, str]] = tomllib.loads((DOCS / "reference" / "json.toml").read_text(encoding="utf-8"))
"""Meanings of keys by answer and path; ``every`` holds keys that mean the same in all answers."""

_SUITE = """\
name = "small"
title = "Small"
asks = "Is one better than the other on a few simulated queries?"
dataset = "web10k-like:queries=12"
protocol = "btl:design=4,heldout=4"
[[experiments]]
name = "one"
title = "One"
n = [200]
repetitions = 4
losses = ["ndcg"]
contenders = [{ use = "random-scores", label = "random" }, { use = "erm:k=1", label = "first" }]
[[experiments.claims]]
id = "C1"
text = "Learning helps."
kind = "less"
contrasts = [{ a = "first", b = "random" }]
"""

_VOTES = "winner,loser\n" + "a,b\nb,c\na,c\nc,d\nd,a\nb,d\nc,b\n" * 5
_PAIRS = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c"), ("d", "b")]
_JUDGED = [f"{x},{y},{('left', 'right')[k % 2]},j{k % 7},{k}" for k in range(84) for x, y in [_PAIRS[k % 6]]]
_BIASED = [f"{x},{y},left,one-sided,{k}" for k in range(84, 168) for x, y in [_PAIRS[k % 6]]]
_TURNED = [f"{y},{x},{('right', 'left')[k % 2]},j{k % 7},{k}" for k in range(84) for x, y in [_PAIRS[k % 6]]]

_GAMES = """\
[columns]
left = "home"
right = "away"
winner = "result"
ignore = "stage"
[words]
left = "H"
right = "A"
tie = "D"
[where]
stage = ["cup", "league"]
[unless]
swap = ""
[turned]
swap = "yes"
"""
FILES = {
    "votes.csv": _VOTES,
    "later.csv": _VOTES + "d,a\nd,b\nd,c\n" * 9,
    "wide.csv": "model_a,model_b,winner,mood\n" + "a,b,model_a,good\nb,a,model_a,bad\nb,c,model_a,bad\n" * 8,
    "weighted.csv": "winner,loser,weight\nGPT-4,gpt-4,2\n=b,GPT-4,3\n=b,gpt-4,1\n",
    "sides.csv": "left,right,winner\n" + "a,b,left\nb,a,left\nb,c,right\na,c,left\nc,a,tie\n" * 4,
    "judged.csv": "\n".join(["left,right,winner,judge,time", *_JUDGED, *_BIASED, *_TURNED, ""]),
    "drifting.csv": "winner,loser,time\n" + "".join(f"{'a,b' if k < 150 else 'b,a'},{k}\n" for k in range(300)),
    "langs.csv": "winner,loser,lang\n" + "".join(f"x,y,{lang}\ny,z,{lang}\nz,x,{lang}\n" for lang in ("en", "de")),
    "times.csv": "winner,loser,time\n" + "a,b,1\nb,c,1\nc,a,2\na,c,3\n" * 4 + "a,d,3\n",
    "ballots.csv": "ranking,judge\na>b>c,one\nb=c>a,two\nc>a,three\n",
    "clicks.csv": "query_id,session_id,shown,clicked,part\nq,s1,a b,2,train\nq,s2,b a,1,test\n",
    "items.letor": "0 qid:1 1:0.5 2:1\n1 qid:1 1:0.25 2:1\n2 qid:2 1:0 2:1\n0 qid:2 1:1 2:1\n",
    "long.csv": "system,task,score\na,t1,1\nb,t1,\na,t2,3\n",
    "games.csv": "home,away,result,stage,swap\n" + "a,b,H,cup,no\nb,a,A,cup,yes\nb,a,H,friendly,no\na,b,D,cup,\n" * 3,
    "games.csv.reading.toml": _GAMES,
    "scores.csv": "model,t1,t2,t3\na,1,2,3\nb,2,3,5\nc,0,1,1\nd,5,1,9\n",
    "one.txt": "t1 Q0 a 1 0.9 one\nt1 Q0 b 2 0.5 one\nt2 Q0 b 1 0.7 one\nt2 Q0 a 2 0.1 one\n",
    "two.txt": "t1 Q0 b 1 0.9 two\nt1 Q0 a 2 0.5 two\nt2 Q0 a 1 0.7 two\nt2 Q0 b 2 0.1 two\n",
    "qrels.txt": "t1 0 a 1\nt1 0 b 0\nt2 0 a 1\nt2 0 b 0\n",
    "small.toml": _SUITE,
    "changed.toml": _SUITE.replace("erm:k=1", "erm:k=3"),
}
"""Inputs of the examples."""

BEFORE = [
    "run --suite small.toml --workers 1 --out done",
    "run --suite changed.toml --workers 1 --out changed",
    "certify regression --loss ndcg --laws 1 --noise any --out certificate.json",
    *(
        f"history add {('done', 'changed')[day // 16]} --to past --commit {day:040} --date 2026-01-{day}T12:00:00+00:00"
        for day in range(10, 22)
    ),
]
"""Commands that come before the examples."""

_TASKS = "--columns system=model,scores=t1|t2,losses=t3"
_FILTER = "--where judge!='j6' --without d --without-judge j5 --min-votes 2"

EXAMPLES: dict[str, Sequence[str]] = {
    "run": [
        "run --suite small.toml --workers 1 --out again",
        "run --suite small.toml --timeout 0.001 --out late",
        "run --log votes.csv --reps 1 --workers 1 --out own",
    ],
    "aggregate": [
        "aggregate votes.csv",
        "aggregate votes.csv --intervals bootstrap --replicates 20",
        "aggregate judged.csv --intervals",
        f"aggregate judged.csv {_FILTER}",
        "aggregate langs.csv --by lang --pool",
        "aggregate sides.csv --control side",
        "aggregate sides.csv --control side --intervals",
        "aggregate judged.csv --control side --by judge",
        "aggregate clicks.csv --by query",
        "aggregate ballots.csv --method schulze",
    ],
    "aggregate --between": [
        "aggregate sides.csv --between a c",
        "aggregate sides.csv --between a b --method kemeny",
        "aggregate langs.csv --by lang --between x y",
    ],
    "aggregate --effects": [
        "aggregate sides.csv --control side --effects",
        "aggregate judged.csv --control side --by judge --effects",
    ],
    "aggregate --across": [
        "aggregate langs.csv --by lang --across",
        "aggregate langs.csv --by lang --across --intervals --replicates 20",
    ],
    "aggregate --matrix": ["aggregate times.csv --matrix"],
    "aggregate --over time": [
        "aggregate times.csv --over time --method dynamic-bradley-terry",
        "aggregate times.csv --over time --method dynamic-bradley-terry --since 2",
        "aggregate judged.csv --over time --method dynamic-bradley-terry --control side",
    ],
    "rank": [
        f"rank scores.csv --replicates 50 {_TASKS} --without t1",
        f"rank scores.csv --replicates 50 {_TASKS} --where t1<2",
        "rank scores.csv --replicates 50 --columns system=model,scores=* --between a d",
        "rank one.txt two.txt --qrels qrels.txt --replicates 50",
        "rank one.txt --qrels qrels.txt --replicates 50",
    ],
    "rank --per-task": [
        f"rank scores.csv {_TASKS} --per-task",
        "rank one.txt two.txt --qrels qrels.txt --per-task",
    ],
    "audit": [
        "audit judged.csv --method win-rate",
        f"audit judged.csv {_FILTER}",
        f"audit scores.csv {_TASKS}",
    ],
    "certify": [
        "certify regression --loss ndcg --laws 1 --noise any",
        "certify pairwise-logistic --laws 50",
        "certify linear",
        "certify pairwise-hinge --aggregator difference-graph --noise dag",
        "certify pairwise-hinge --aggregator difference-graph --noise any --laws 20",
        "certify listnet --loss ndcg --laws 5",
        "certify cross-entropy --loss err --laws 20",
        "certify pairwise-hinge --aggregator difference-graph --k 2 --laws 3",
    ],
    "certify --verify": ["certify --verify certificate.json"],
    "certify --calibration": [
        "certify pairwise-hinge --calibration --eps 0.5 --eps 2",
        "certify pairwise-squared-hinge --calibration --items 2 --steps 5",
        "certify pairwise-hinge --calibration --items 2",
    ],
    "run --dry-run": ["run --dry-run --suite small.toml", "run --dry-run --log votes.csv --reps 1"],
    "report": ["report done", "report late", "report own"],
    "compare": ["compare done changed", "compare votes.csv later.csv", "compare done done"],
    "time": ["time small.toml --rounds 2 --out times"],
    "time --against": [f"time small.toml --against {sys.executable} --rounds 12 --out both"],
    "history add": [BEFORE[-1].replace("past", "future")],
    "history show": ["history show past"],
    "verify": ["verify done", "verify damaged"],
    "site": ["site done past --out pages"],
    "list": ["list", "list loss"],
    "info": ["info"],
    "info --kind component": ["info erm", "info ndcg --kind loss"],
    "info --kind suite": ["info demo --kind suite", "info paper --kind suite"],
    "info --kind format": ["info football-data", "info alpaca-eval-leaderboard"],
    "data list": ["data list"],
    "data verify": ["data verify"],
    "data describe": [
        "data describe votes.csv",
        "data describe weighted.csv --columns alike=keep",
        "data describe games.csv",
        "data describe wide.csv",
        "data describe judged.csv",
        f"data describe judged.csv {_FILTER}",
        "data describe drifting.csv",
        "data describe ballots.csv",
        "data describe clicks.csv",
        "data describe items.letor",
        "data describe long.csv",
    ],
    "data convert": ["data convert votes.csv shards --shards 2"],
    "check": ["check loss/ndcg --timeout 600"],
    "new plugin": ["new plugin mine --kind loss"],
    "new suite": ["new suite own"],
}
"""Commands whose answers give each schema its types."""

WRITTEN: dict[str, dict[str, object]] = {
    "certify --all": {"folder": "certificates", "answers": ["..."]},
    "data get": {"name": "...", "folder": "...", "licence": "...", "citation": "..."},
}
"""Answers that take ten minutes or a network."""


@contextlib.contextmanager
def folder_of_examples(folder: Path) -> Iterator[None]:
    """Work in a folder that has the inputs of the examples."""
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    with contextlib.chdir(folder):
        for command in BEFORE:
            answered(command)
        shutil.copytree("done", "damaged")
        Path("damaged", "leaderboard.csv").write_text("", encoding="utf-8")
        yield


def answered(command: str) -> str:
    """Return the JSON that a command prints; its exit code may say that something is worse or failed."""
    from click.testing import CliRunner

    from rankbench.cli import main

    done = CliRunner().invoke(main, [*command.split(), "--json"], prog_name="rankbench")
    if done.exit_code not in range(4) or not done.stdout:
        raise RuntimeError(f"rankbench {command}: exit code {done.exit_code}\n{done.output}")
    return done.stdout


def name_of(arguments: Sequence[str], answer: Mapping[str, object]) -> str:
    """Return the name of the answer that a command gives."""
    words = [word.partition("=")[0] for word in arguments]
    if words[0] == "info" and "kind" in answer:
        return f"info --kind {answer['kind'] if answer['kind'] in ('suite', 'format') else 'component'}"
    names = [name for name in (*EXAMPLES, *WRITTEN) if {*name.split()} <= {*words} and words[0] == name.split()[0]]
    return max(names, key=lambda name: len(name.split()), default=words[0])


def meaning(answer: str, path: str) -> str:
    """Return the meaning of a key; the longest end of its path that a table knows decides."""
    key, _, field = path.partition(".")
    if key == "asked":
        asked = asked_schema(answer)
        return str(asked["properties"][field]["description"] if field else asked["description"])
    end = path
    while end and (end != "*" or path == "*"):
        for table in ("compare" if answer == "time --against" else answer, answer.partition(" ")[0], "every"):
            if end in MEANINGS.get(table, {}):
                return MEANINGS[table][end]
        end = end.partition(".")[2]
    return ""


_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}


def question_of(answer: str) -> Any:
    """Return the class of the question that an answer's ``asked`` repeats, or None."""
    from rankbench.audits.question import AuditQuestion
    from rankbench.cli.aggregate import AggregateQuestion, RankQuestion
    from rankbench.cli.run import LogRunQuestion
    from rankbench.tracking.question import CompareQuestion, TimeQuestion

    questions = {"aggregate": AggregateQuestion, "rank": RankQuestion, "audit": AuditQuestion, "run": LogRunQuestion}
    questions |= {"compare": CompareQuestion, "time": TimeQuestion}
    return questions.get(answer.partition(" ")[0])


def asked_schema(answer: str) -> Schema:
    """Return the schema of ``asked``, of the question's fields."""
    question = question_of(answer)
    found = question.model_json_schema()["properties"]
    options = {name: _without_unions(found[name]) for name in question().asked()}
    said = "options of the question, by their keywords in Python"
    return {"description": said, "type": "object", "properties": options, "required": [*options]}


def _without_unions(field: Schema) -> Schema:
    """Return the schema of a field without its default, whose type may be null."""
    (first, *null) = field.get("anyOf", [field])
    kept = {key: first[key] for key in ("type", "enum", "items", "minimum", "maximum") if key in first}
    if null:
        kept |= {"type": [kept["type"], "null"]}
        kept |= {"enum": [*kept["enum"], None]} if "enum" in kept else {}
    return {"description": " ".join(field.get("description", "").split()), **kept}


def schema_of(answer: str, path: str, values: Sequence[object]) -> Schema:
    """Return the schema of the values that examples have at a path."""
    said, seen = meaning(answer, path), [value for value in values if value is not None]
    if len(seen) < len(values) and "null" not in said:
        raise ValueError(f"{answer}: {path} is null, and its meaning does not say when")
    types = {_TYPES[type(value)] for value in seen}
    types -= {"integer"} if "number" in types else set()
    found: Schema = {"description": said} if said else {}
    if len(types) != 1:  # any value, or none was seen
        return found
    (kind,) = types
    found["type"] = [kind, "null"] if "null" in said else kind
    if kind == "array":
        found["items"] = schema_of(answer, f"{path}[]", [one for value in seen for one in value])
    elif kind == "object":
        found |= _keys(answer, path, seen)
    return found


def _keys(answer: str, path: str, seen: Sequence[Mapping[str, object]]) -> Schema:
    """Return what a schema says of the keys of objects: names of the data, or names that mean something."""
    inner = f"{path}." if path else ""
    values: dict[str, list[object]] = {}
    for name, value in (pair for one in seen for pair in one.items()):
        values.setdefault(name, []).append(value)
    of_data, own = meaning(answer, f"{inner}*"), MEANINGS.get(answer, {})
    named = [name for name in values if (inner + name in own if of_data else meaning(answer, inner + name))]
    others = [name for name in values if name not in named]
    if others and not of_data:
        raise ValueError(f"{answer}: {path} has keys without a meaning: {', '.join(others)}")
    found: Schema = {}
    if named:
        found["properties"] = {
            name: asked_schema(answer) if inner + name == "asked" else schema_of(answer, inner + name, values[name])
            for name in named
        }
        found["required"] = [name for name in named if len(values[name]) == len(seen)]
    if of_data:
        found["additionalProperties"] = schema_of(answer, f"{inner}*", [one for name in others for one in values[name]])
    return found


def file_of(answer: str) -> Path:
    """Return the file of an answer's schema."""
    return SCHEMAS / f"{answer.replace(' --', ' ').replace(' ', '-')}.schema.json"


def rows_of(schema: Schema, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield path, type in words and meaning of each key of a schema."""
    inner = f"{path}." if path else ""
    for name, one in schema.get("properties", {}).items():
        always = "" if name in schema["required"] else ", optional"
        yield inner + name, _type(one) + always, one["description"]
        yield from rows_of(one, inner + name)
    if "additionalProperties" in schema:
        one = schema["additionalProperties"]
        yield f"{inner}*", _type(one), one["description"]
        yield from rows_of(one, f"{inner}*")
    if "items" in schema:
        yield from rows_of(schema["items"], f"{path}[]")


_WORDS = {"string": "text", "array": "list"}


def _type(schema: Schema) -> str:
    types = schema.get("type", "any")
    words = [_WORDS.get(one, one) for one in ([types] if isinstance(types, str) else types)]
    of = _type(schema["items"]) if schema.get("items") else ""
    words[0] += f" of {of}s" if of in ("text", "integer", "number", "object", "list") else ""
    return " or ".join(words)


def write(names: Iterable[str] = (*EXAMPLES, *WRITTEN)) -> None:
    """Execute examples, and write the schemas of their answers."""
    SCHEMAS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, folder_of_examples(Path(folder)):
        for name in names:
            answers = [json.loads(answered(one)) for one in EXAMPLES.get(name, ())] or [
                {"schema_version": 1, **WRITTEN[name]}
            ]
            head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"rankbench {name} --json"}
            text = json.dumps(head | schema_of(name, "", answers), indent=1, ensure_ascii=False)
            file_of(name).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    write()
