"""Which arms make up the lines of a figure of risks, and where their points are."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rankbench.kinds.figure import matches
from rankbench.kinds.results import ArmResults, RaceResults

__all__ = ["line_names", "parameter_lines", "parameter_value"]


def parameter_value(config: Mapping[str, Any], parameter: str) -> float | None:
    """Return the number that a contender has at `parameter` (``a.b`` for nested ones), if any."""
    value: Any = config
    for key in parameter.split("."):
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    if value == "inf":
        return math.inf
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def parameter_lines(
    race: RaceResults, patterns: Sequence[str], parameter: str, added: Collection[str] = ()
) -> dict[str, list[tuple[float, ArmResults]]]:
    """Group arms by everything but `parameter`: points of one line, from left to right.

    Parameters
    ----------
    race : RaceResults
    patterns : sequence of str
        Of labels.
    parameter : str
    added : collection of str
        More labels.

    Returns
    -------
    dict of str to list of (float, ArmResults)
        By a key that is the same at every n, in the order of the plan.
    """
    found: dict[str, list[tuple[float, ArmResults]]] = {}
    for arm in race.arms:
        value = parameter_value(arm.config, parameter)
        if value is not None and (matches(arm.label, patterns) or arm.label in added):
            found.setdefault(_without(arm.config, parameter), []).append((value, arm))
    return {key: sorted(points, key=lambda point: (point[0], point[1].order)) for key, points in found.items()}


def line_names(
    groups: dict[str, list[tuple[float, ArmResults]]],
    parameter: str,
    added: Collection[str] = (),
    used: Collection[str] = (),
) -> dict[str, str]:
    """Return a name for each line: its labels without what they say of `parameter`.

    Two lines that would be called alike, and one that would be called as something in `used` is, are
    called by their first and last labels instead. Labels in `added` name a line only if it has no others.
    """
    labels = {key: [arm.label for _, arm in points] for key, points in groups.items()}
    own = {key: [label for label in found if label not in added] or found for key, found in labels.items()}
    short = {key: _common(found, parameter) for key, found in own.items()}
    times = Counter([*short.values(), *used])
    return {key: name if times[name] == 1 else _ends(own[key]) for key, name in short.items()}


def _ends(labels: list[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{labels[0]} ... {labels[-1]}"


def _common(labels: list[str], parameter: str) -> str:
    token = re.compile(rf"[,;]?\s*\b{re.escape(parameter.split('.')[-1])}\s*=\s*[^\s,;()]+")
    short = {re.sub(r"\(\s*[,;]?\s*\)", "", token.sub("", label)).strip(" ,;:") for label in labels}
    if len(short) == 1:
        return short.pop() or labels[0]
    head = labels[0]
    while head and not all(label.startswith(head) for label in labels):
        head = head[:-1]
    return head.strip(" ,;:=") or labels[0]


def _without(config: dict[str, Any], parameter: str) -> str:
    copy = json.loads(json.dumps(config))
    *path, last = parameter.split(".")
    inner = copy
    for key in path:
        inner = inner[key]
    inner.pop(last)
    return json.dumps(copy, sort_keys=True)
