"""Tasks and results as bytes, for processes that share nothing: JSON and raw arrays, no pickle."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rankbench.core.spec import parse
from rankbench.interfaces.cell import BlockKey, BlockResult, CellResult, Curve, Split, Status
from rankbench.interfaces.protocol import BlockTask
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin.manager import contender, get
from rankbench.plugin.registry import base_of


def task_to_json(task: BlockTask) -> str:
    """Return a task as JSON, its contenders and losses as texts in the contender grammar."""
    return json.dumps(
        {
            "key": asdict(task.key),
            "source": task.source,
            "metrics": task.metrics,
            "losses": [str(loss) for loss in task.losses],
            "cells": {cell: [found.points[0].kind, found.text] for cell, found in task.cells.items()},
        }
    )


def task_from_json(text: str) -> BlockTask:
    """Return the task that `task_to_json` wrote: contenders and losses, foreign ones too, are made here.

    Raises
    ------
    SpecError
        One of them cannot be made in this process.
    """
    read = json.loads(text)
    cells = {cell: contender(base_of(kind), parse(said)) for cell, (kind, said) in read["cells"].items()}
    losses = tuple(get(Loss, said) for said in read["losses"])
    return BlockTask(BlockKey(**read["key"]), read["source"], tuple(read["metrics"]), cells, losses)


def asked(text: str) -> tuple[BlockKey, list[str]]:
    """Return the block and the cells of what `task_to_json` wrote; nothing foreign is called."""
    read = json.loads(text)
    return BlockKey(**read["key"]), list(read["cells"])


def result_to_bytes(result: BlockResult) -> bytes:
    """Return a block's result: a line of JSON, then the numbers that it counts, as float64."""
    numbers: list[NDArray[np.float64]] = []

    def put(array: NDArray[Any]) -> list[int]:
        values = np.ascontiguousarray(array, dtype="<f8")
        first = sum(len(part) for part in numbers)
        numbers.append(values)
        return [first, len(values)]

    head = {
        "key": asdict(result.key),
        "seconds": result.seconds,
        "cells": [
            {
                "cell": cell.cell,
                "status": cell.status,
                "reason": cell.reason,
                "trace": cell.trace,
                "facts": list(cell.info),
                "numbers": put(np.array([cell.optimality, *cell.info.values()], dtype=np.float64)),
                "losses": [[metric, split, put(values)] for (metric, split), values in cell.losses.items()],
                "curves": [[name, put(c.steps.astype(np.float64)), put(c.values)] for name, c in cell.curves.items()],
            }
            for cell in result.cells
        ],
    }
    return json.dumps(head).encode() + b"\n" + b"".join(part.tobytes() for part in numbers)


def result_from_bytes(data: bytes) -> BlockResult:
    """Return the result that `result_to_bytes` wrote.

    Raises
    ------
    ValueError
        The bytes are not whole, or the time that they say is none.
    """
    line, _, rest = data.partition(b"\n")
    head = json.loads(line)
    numbers = np.frombuffer(rest, dtype="<f8")

    def take(place: list[int]) -> NDArray[np.float64]:
        first, count = place
        if first + count > len(numbers):
            raise ValueError("the result of a block was cut short")
        return numbers[first : first + count].astype(np.float64)

    cells = []
    for cell in head["cells"]:
        optimality, *facts = take(cell["numbers"]).tolist()
        losses = {(metric, cast(Split, split)): take(place) for metric, split, place in cell["losses"]}
        curves = {name: Curve(take(steps).astype(np.int64), take(values)) for name, steps, values in cell["curves"]}
        info = dict(zip(cell["facts"], facts, strict=True))
        cells.append(
            CellResult(
                cell["cell"],
                cast(Status, cell["status"]),
                cell["reason"],
                math.nan if math.isnan(optimality) else optimality,
                losses,
                curves,
                info,
                cell["trace"],
            )
        )
    seconds = float(head["seconds"])
    if not 0 <= seconds < math.inf:
        raise ValueError(f"a block took {seconds} s")
    return BlockResult(BlockKey(**head["key"]), cells, seconds)
