"""Benchmarks for learning to rank from partial preferences.

``__init__.pyi`` names what is public. Each name is imported when it is first used, so that
``import rankbench`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

with open(f"{__file__}i", encoding="utf-8") as _stub:
    _HOMES = {words[3]: words[1] for words in map(str.split, _stub) if words[:1] == ["from"]}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("rankbench")
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'rankbench' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
