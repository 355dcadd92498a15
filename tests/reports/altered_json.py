"""JSON that is altered at random, and stays JSON."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any


def containers(value: Any) -> Iterator[dict[str, Any] | list[Any]]:
    """Yield every object and list in a JSON value that holds something."""
    if isinstance(value, dict | list) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from containers(inner)


def other(value: Any, rng: random.Random) -> Any:
    """Return another value, of the same type as often as not."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float) and rng.random() < 0.7:
        return rng.choice([value + 1, -value - 1, value * 2 + 1, value + 0.5])
    if isinstance(value, str) and value and rng.random() < 0.7:
        at = rng.randrange(len(value))
        return value[:at] + rng.choice("abz019-_ :,=(é") + value[at + rng.randrange(2) :]
    return rng.choice([None, 0, 1, 7.5, "", "minimize", "maximize", "design", [], {}, True])


def alter(value: dict[str, Any], rng: random.Random) -> str:
    """Alter something within a JSON object in place; return how."""
    place = rng.choice(list(containers(value)))
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    key = rng.choice(keys)
    way = rng.choice(["other", "other", "other", "gone", "exchanged", "renamed", "twice"])
    if way == "gone":
        del place[key]
    elif way == "exchanged":
        second = rng.choice(keys)
        place[key], place[second] = place[second], place[key]
    elif way == "renamed" and isinstance(place, dict):
        place[other(key, rng) or "x"] = place.pop(key)  # type: ignore[index]
    elif way == "twice" and isinstance(place, list):
        place.insert(key, place[key])
    else:
        place[key] = other(place[key], rng)
    return f"{way} {key!r}"
