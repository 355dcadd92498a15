"""Exports write rows for other programs: ``results.parquet`` and frames."""

from __future__ import annotations

import hashlib
import io
import json
import math
from typing import Any

import polars as pl

from rankbench.store.journal import StoredResults
from rankbench.store.records import Member, StoredCell, SuiteRecord

_COLUMNS = (
    "suite", "experiment", "config", "protocol", "dataset", "dataset_sha256", "contender", "spec", "made_by",
    "versions", "code_digest", "cell", "n", "repetition", "seed", "split", "metric", "direction", "step", "value",
    "status", "reason", "optimality",
)  # fmt: skip

_KEYS = ("experiment", "n", "contender", "repetition", "metric", "split", "step")


def results_frame(results: StoredResults) -> pl.DataFrame:
    """Return one row for each experiment, contender, block, metric, split and step, sorted.

    ``value`` is the mean over units; for a curve it is the value at ``step``, which is
    null otherwise. A cell that is not done has rows without values, with its status and
    reason; a cell without a row yet has none here either.
    """
    record, cells = results.record(), results.cells()
    losses = {experiment.name: experiment.losses for experiment in record.experiments}
    rows = [
        row
        for member in results.members()
        if member.cell in cells
        for row in _rows(results, record, member, cells[member.cell], losses.get(member.experiment, ()))
    ]
    numbers = dict.fromkeys(("n", "repetition", "seed", "step"), pl.Int64) | dict.fromkeys(
        ("value", "optimality"), pl.Float64
    )
    schema = {name: numbers.get(name, pl.String) for name in _COLUMNS}
    return pl.DataFrame(rows, schema=schema, orient="row").sort(_KEYS, nulls_last=False)


def parquet_bytes(frame: pl.DataFrame) -> bytes:
    """Return `frame` as Parquet; the same frame gives the same bytes."""
    buffer = io.BytesIO()
    frame.rechunk().write_parquet(buffer, compression="zstd", row_group_size=1 << 20)
    return buffer.getvalue()


def _rows(
    results: StoredResults, record: SuiteRecord, member: Member, cell: StoredCell, metrics: tuple[str, ...]
) -> list[tuple[Any, ...]]:
    source = record.source(member.experiment)
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
            rows.append((*head, split, metric, source.direction(metric), None, value, *tail))
    for metric, curve in results.curves(member.cell).items():
        split, direction = source.curve(metric)
        for step, at in zip(curve.steps.tolist(), curve.values.tolist(), strict=True):
            rows.append((*head, split, metric, direction, step, _known(at), *tail))
    return rows


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
