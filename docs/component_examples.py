"""Examples of components on generated pages, for those whose docstrings have none.

They are sessions that are executed when the page is written, files that readers are tried on, and parts of the
built-in suites with what is published of them.
"""

from __future__ import annotations

import contextlib
import csv
import inspect
import io
import json
import pprint
import re
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import rankbench
from rankbench.core.component import Component
from rankbench.data.fetch import CardDataset
from rankbench.interfaces.claim import ClaimKind
from rankbench.interfaces.figure import FigureKind
from rankbench.plugin import manager

ROOT = Path(__file__).parent.parent
PUBLISHED = sorted(
    path for path in (ROOT / "leaderboards").glob("*/leaderboard.csv") if (path.parent / "run.json").is_file()
)

ARRAYS = (
    "import numpy as np",
    "import rankbench",
)
BLOCK = (
    *ARRAYS,
    "x = np.array([[0], [1], [3]], dtype=np.float32)  # one query of three items with one feature",
    'queries = rankbench.Queries(["q"], np.array([0, 3]), x, np.array([0.0, 1.0, 2.0]))',
    "winners, losers = np.array([2, 2, 1, 0], dtype=np.int32), np.array([0, 1, 0, 1], dtype=np.int32)",
    "votes = rankbench.Comparisons(np.array([0, 4]), winners, losers, np.ones(4))",
    "block = rankbench.Block(queries, votes, n=4, repetition=0, entropy=(1,))",
)
BEFORE: dict[str, tuple[str, ...]] = {
    "surrogate": (
        *ARRAYS,
        "alpha, target = np.array([1.0, 0.0, -1.0]), np.array([0.5, 0.5, -1.0])",
        "margins = np.array([-1.0, 0.0, 1.0])",
    ),
    "optimizer": BLOCK,
    "method": BLOCK,
    "model": BLOCK[:3],
}
"""Lines that begin all sessions of a page."""

EXPERIMENT = ("name", "protocol", "dataset", "n", "repetitions", "losses", "baseline")
"""Keys that an excerpt of an experiment shows."""


def example(cls: type[Component]) -> list[str]:
    """Return the example of a component as lines of reStructuredText; none if its docstring has one."""
    if "\nExamples\n----" in (inspect.getdoc(cls) or ""):
        return []
    if cls.kind in BEFORE:
        shown = _block("pycon", _session(_calls(cls), before=BEFORE[cls.kind]))
        return [".. rubric:: Examples", "", *shown]
    makers = {
        "reader": _file,
        "table": _table_of,
        "dataset": _data,
        "claim": _claim,
        "figure": _figure,
        "protocol": _experiment,
    }
    return [".. rubric:: Examples", "", *makers[cls.kind](cls)] if cls.kind in makers else []


def begin(kind: str) -> list[str]:
    """Return the lines that begin the session of a page."""
    if kind not in BEFORE:
        return []
    return [
        "The example begins with these lines:",
        "",
        *_block("pycon", [f">>> {one}" for one in BEFORE[kind]]),
    ]


def _calls(cls: type[Any]) -> list[str]:
    """Return lines that use a component of a kind that computes."""
    if issubclass(cls, rankbench.PairwiseSurrogate):
        got = f'surrogate = rankbench.get(rankbench.Surrogate, "{cls.name}")'
        return [got, "surrogate.phi(margins).round(4).tolist(), surrogate.dphi(margins).round(4).tolist()"]
    if issubclass(cls, rankbench.ScoreSurrogate):
        got = f'surrogate = rankbench.get(rankbench.Surrogate, "{cls.name}")'
        called = "value, gradient = surrogate.value_and_gradient(alpha, surrogate.target(target))"
        return [got, called, "round(value, 4), gradient.round(4).tolist()"]
    if issubclass(cls, rankbench.Optimizer):
        fit = "fitted = rankbench.get(rankbench.Method, contender).fit(block)"
        told = 'fitted.theta.round(3).tolist(), f"{fitted.optimality:.1g} from optimal"'
        return [f'contender = "{_minimizing(cls)}"', fit, told]
    if issubclass(cls, rankbench.Model):
        return [f'rankbench.get(rankbench.Model, "{cls.name}").features(x).tolist()']
    fit = f'fitted = rankbench.get(rankbench.Method, "{cls.name}").fit(block)'
    return [fit, "fitted.score(queries).round(3).tolist()"]


def _minimizing(cls: type[Any]) -> str:
    """Return a contender whose surrogate has what an optimizer needs."""
    needs = getattr(cls, "needs", frozenset())
    parts = "aggregator=average-adjacency,k=1,surrogate=pairwise-logistic"
    if "quadratic" in needs:
        parts = "aggregator=mean-log-odds,surrogate=regression"
    elif "hinge" in needs:
        parts = parts.replace("logistic", "hinge")
    return f"erm:{parts},optimizer={cls.name}"


def _session(lines: Sequence[str], *, before: Sequence[str] = (), names: dict[str, Any] | None = None) -> list[str]:
    """Execute lines as an interactive session does; return them with what they print."""
    known = {} if names is None else names
    for line in before:
        exec(line, known)
    shown = []
    for line in lines:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), pl.Config(tbl_width_chars=100, tbl_cols=-1):
            exec(compile(line, "example", "single"), known)
        shown += [f">>> {line}".replace("\n", "\n... "), *printed.getvalue().splitlines()]
    return [part for one in shown for part in one.split("\n")]


def _block(language: str, lines: Sequence[str]) -> list[str]:
    return [f".. code-block:: {language}", "", *(f"   {line}".rstrip() for line in lines), ""]


def _file(cls: type[Any]) -> list[str]:
    """Return a reader's example file, and the table that it holds."""
    content, path = cls.example(), Path(f"example{(cls.extensions or ('',))[0]}")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        path.write_bytes(content)
        read = _session([f'rankbench.scan("{path}", reader="{cls.name}").collect()'], before=ARRAYS[1:])
    shown = [] if b"\0" in content else [f"The file ``{path}``:", "", *_block("text", content.decode().splitlines())]
    return [*shown, *_block("pycon", read)]


def _table_of(cls: type[Any]) -> list[str]:
    rows = pprint.pformat(dict(cls.example()), width=90, sort_dicts=False)
    return _block("pycon", _session([f"rows = {rows}", "rankbench.scan(rows).collect()"], before=ARRAYS[1:]))


def _data(cls: type[Any]) -> list[str]:
    """Return first rows of a data set that ships, the commands for one that is downloaded."""
    if issubclass(cls, CardDataset) and not (ROOT / "datasets" / cls.name).is_dir():
        agreed = " --accept-license" if cls.card.restricted else ""
        return _block("sh", [f"rankbench data get {cls.name}{agreed}", f"rankbench data describe {cls.name}"])
    return _block("pycon", _session([f'rankbench.scan("{cls.name}").head(3).collect()'], before=ARRAYS[1:]))


class _Part(NamedTuple):
    """A table of a suite's file: its head as ``experiments.claims``, its text and values, and what it is in."""

    head: str
    text: str
    values: dict[str, Any]
    suite: dict[str, Any]
    experiment: str


def _parts() -> Iterator[_Part]:
    """Yield the tables of the built-in suites, the shortest text first."""
    found = []
    for path in manager.suites().values():
        whole = tomllib.loads(path.read_text(encoding="utf-8"))
        experiment = ""
        for text in re.split(r"^(?=\[\[)", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            text = re.sub(r"(\n(#.*)?)+\Z", "", text)
            head = text[2 : text.index("]]")]
            values = tomllib.loads(text)
            for key in head.split("."):
                values = values[key][0] if isinstance(values[key], list) else values[key]
            experiment = values["name"] if head == "experiments" else experiment
            found.append(_Part(head, text, values, whole, experiment))
    yield from sorted(found, key=lambda part: len(part.text))


def _published(part: _Part) -> list[Path]:
    """Return the published folders of a suite, on its own data or others, and of suites that include it."""
    read = [tomllib.loads(path.read_text(encoding="utf-8")) for path in manager.suites().values()]
    name = part.suite["name"]
    suites = {suite["name"] for suite in read if name in (suite["name"], *suite.get("include", ()))}
    of_suite = {path: json.loads((path.parent / "run.json").read_text(encoding="utf-8"))["suite"] for path in PUBLISHED}
    return [path.parent for path, suite in of_suite.items() if suite in suites]


def _rows(part: _Part, name: str, **wanted: str) -> tuple[str, list[dict[str, str]]]:
    """Return the first published folder with such rows of an experiment in its file `name`, and the rows."""
    wanted["experiment"] = part.experiment
    for folder in _published(part):
        if (file := folder / name).is_file():
            with file.open(encoding="utf-8", newline="") as lines:
                found = [row for row in csv.DictReader(lines) if wanted.items() <= row.items()]
            if found:
                return folder.name, found
    return "", []


def _claim(cls: type[ClaimKind]) -> list[str]:
    """Return a claim of a built-in suite, with its published verdicts where it has some."""
    unpublished: list[str] = []
    for part in _parts():
        if part.head == "experiments.claims" and part.values["kind"] == cls.name:
            folder, rows = _rows(part, "claims.csv", claim=part.values["id"])
            if rows:
                verdicts = {row["units"]: row["verdict"] for row in rows}
                said = "; ".join(f"*{verdict}* ({units})" for units, verdict in verdicts.items())
                stated = (
                    f"A claim on the experiment ``{part.experiment}``, and its verdict in ``leaderboards/{folder}``:"
                )
                return [f"{stated} {said}.", "", *_block("toml", part.text.splitlines())]
            stated = f"A claim on the experiment ``{part.experiment}`` of the suite ``{part.suite['name']}``:"
            unpublished = unpublished or [stated, "", *_block("toml", part.text.splitlines())]
    if not unpublished:
        raise LookupError(f"no built-in suite has a claim of the kind {cls.name}")
    return unpublished


def _figure(cls: type[FigureKind]) -> list[str]:
    """Return a figure of a built-in suite, as it is published."""
    for part in _parts():
        if part.head == "experiments.figures" and part.values["kind"] == cls.name:
            for folder in _published(part):
                drawn = folder / "figures" / f"{part.values['file']}.svg"
                if drawn.is_file():
                    shown = f".. image:: ../../../../{drawn.relative_to(ROOT).as_posix()}"
                    return [*_block("toml", part.text.splitlines()), shown, f"   :alt: {part.values['file']}", ""]
    raise LookupError(f"no published figure is of the kind {cls.name}")


def _experiment(cls: type[rankbench.Protocol]) -> list[str]:
    """Return an experiment of a built-in suite, with what is published of it where something is."""
    unpublished: list[str] = []
    for part in _parts():
        if part.head != "experiments":
            continue
        values = {key: part.suite[key] for key in ("protocol", "dataset") if key in part.suite} | part.values
        if values["protocol"].partition(":")[0] != cls.name:
            continue
        folder, rows = _rows(part, "leaderboard.csv")
        if rows:
            shown = _best(rows)
        else:
            folder, rows = _rows(part, "units.csv")
            shown = [("unit", "contender", "metric", "value")]
            shown += [(row["unit"], row["contender"], row["metric"], f"{float(row['value']):.3f}") for row in rows[:3]]
        block = _block(
            "toml", ["[[experiments]]", *(f"{key} = {_toml(values[key])}" for key in EXPERIMENT if key in values)]
        )
        if rows:
            said = f"An experiment, and the first rows of its results in ``leaderboards/{folder}``:"
            return [said, "", *block, *table(shown)]
        unpublished = unpublished or [f"An experiment of the suite ``{part.suite['name']}``:", "", *block]
    if not unpublished:
        raise LookupError(f"no experiment of a built-in suite is done by {cls.name}")
    return unpublished


def _best(rows: Sequence[dict[str, str]]) -> list[tuple[str, ...]]:
    """Return the three best contenders by the first metric on the last split, at the largest n."""
    last = max(int(row["n"]) for row in rows)
    metric, split = rows[0]["metric"], rows[-1]["split"]
    found = [
        row for row in rows if (int(row["n"]), row["metric"], row["split"]) == (last, metric, split) and row["mean"]
    ]
    sign = -1 if found[0]["direction"] == "maximize" else 1
    found.sort(key=lambda row: sign * float(row["mean"]))
    shown = [("contender", f"{metric}, n = {last:,}", "95% interval")]
    for row in found[:3]:
        mean, lower, upper = (f"{float(row[key]):.4f}" if row[key] else "" for key in ("mean", "lower", "upper"))
        shown.append((row["contender"], mean, f"{lower} to {upper}" if lower else ""))
    return shown


def _toml(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return f'"{value}"' if isinstance(value, str) else f"{value:_}"


def table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return a list-table whose first row is its head, and the blank line after it."""
    head = [".. list-table::", "   :header-rows: 1", ""]
    return head + [f"   {' ' if k else '*'} - {cell}" for row in rows for k, cell in enumerate(row)] + [""]
