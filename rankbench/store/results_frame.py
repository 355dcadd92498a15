"""Results become one long table for other programs, and a table becomes Parquet of equal bytes."""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from rankbench.interfaces.cell import Split
from rankbench.store.journal import StoredResults
from rankbench.store.records import Member, StoredCell, SuiteRecord

_COLUMNS = (
    "suite", "experiment", "config", "protocol", "dataset", "dataset_sha256", "contender", "spec", "made_by",
    "versions", "code_digest", "cell", "n", "repetition", "seed", "split", "metric", "direction", "step", "value",
    "status", "reason", "optimality", "units", "values",
)  # fmt: skip

_KEYS = ("experiment", "n", "contender", "repetition", "metric", "split", "step")


def results_frame(results: StoredResults) -> pl.DataFrame:
    """Return one row for each experiment, contender, block, metric, split and step, sorted.

    ``values`` are the values of the ``units``, of queries as a rule, and ``value`` is their mean; for a curve it is the
    value at ``step``, which is null otherwise. A cell that is not done has rows without values, with its status and
    reason; a cell without a row yet has none here either.
    """
    record, cells = results.record(), results.cells()
    # Names repeat in every row: each is held once, and rows hold its number.
    names = pl.Enum(list(dict.fromkeys(u for source in record.sources for of in source.units.values() for u in of)))
    units = {
        (index, split): pl.Series(of, dtype=names)
        for index, source in enumerate(record.sources)
        for split, of in source.units.items()
    }
    losses = {experiment.name: experiment.losses for experiment in record.experiments}
    rows = [
        row
        for member in results.members()
        if member.cell in cells
        for row in _rows(results, record, member, cells[member.cell], losses.get(member.experiment, ()), units)
    ]
    types: dict[str, Any] = dict.fromkeys(("n", "repetition", "seed", "step"), pl.Int64)
    types |= dict.fromkeys(("value", "optimality"), pl.Float64)
    types |= {"units": pl.List(names), "values": pl.List(pl.Float64)}
    schema = {name: types.get(name, pl.String) for name in _COLUMNS}
    return pl.DataFrame(rows, schema=schema, orient="row").sort(_KEYS, nulls_last=False)


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Return `frame` as Parquet; the same frame gives the same bytes."""
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(buffer, compression="zstd", row_group_size=1 << 20)
    return buffer.getvalue()


def _rows(
    results: StoredResults,
    record: SuiteRecord,
    member: Member,
    cell: StoredCell,
    metrics: tuple[str, ...],
    units: Mapping[tuple[int, Split], pl.Series],
) -> list[tuple[Any, ...]]:
    at = record.source_index[member.experiment]
    source = record.sources[at]
    head = (
        record.name,
        member.experiment,
        hashlib.blake2b(json.dumps(member.config, sort_keys=True).encode(), digest_size=8).hexdigest(),
        source.protocol,
        source.dataset,
        source.fingerprint,
        member.label,
        member.spec,
        ", ".join(record.makers(member.experiment, member.label)),
        json.dumps(record.versions, sort_keys=True),
        record.codes(member.experiment, member.label),
        member.cell,
        member.n,
        member.repetition,
        record.seed,
    )
    tail = (cell.status, cell.reason, _known(cell.optimality))
    rows: list[tuple[Any, ...]] = []
    for metric in metrics:
        for split in source.shown_splits():
            losses = results.losses(member.cell, metric, split) if cell.status == "done" else None
            value = None if losses is None else _known(losses.mean())
            of_units = (None, None) if losses is None else (units[at, split], pl.Series(losses))
            rows.append((*head, split, metric, source.direction(metric), None, value, *tail, *of_units))
    for metric, curve in results.curves(member.cell).items():
        split, direction = source.curve(metric)
        for step, point in zip(curve.steps.tolist(), curve.values.tolist(), strict=True):
            rows.append((*head, split, metric, direction, step, _known(point), *tail, None, None))
    return rows


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
