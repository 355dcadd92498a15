"""``rankbench detect``: which points of a table are unlike the others."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rankbench_rankad.detector import Detection, Detector

__all__ = ["detect"]


@click.command()
@click.argument("table", type=click.Path(path_type=Path))
@click.option(
    "--nominal",
    type=click.Path(path_type=Path),
    help="Table of points known to be nominal, to learn from; TABLE itself by default.",
)
@click.option("--method", default="rank-ad:anchored=true", show_default=True, help="A detector.")
@click.option(
    "--alpha",
    default=0.05,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Level: about this share of nominal points is declared anomalous.",
)
@click.option(
    "--calibration",
    type=click.FloatRange(0, 0.9),
    help="Share of the nominal points held out, for p-values that keep their level; 0.25 is a good one.",
)
@click.option("--label", default="y", show_default=True, help="Column of labels; it is not looked at.")
@click.option("--ignore", multiple=True, metavar="COLUMN", help="A column that is no feature; may be repeated.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of everything random.")
@click.option("--format", "form", type=click.Choice(["csv", "json"]), help="Of the output; default: csv.")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--out", type=click.Path(path_type=Path), help="File to write; standard output by default.")
def detect(
    table: Path,
    nominal: Path | None,
    method: str,
    alpha: float,
    calibration: float | None,
    label: str,
    ignore: tuple[str, ...],
    seed: int,
    form: str | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Say which points of TABLE (CSV, Parquet or npz) are anomalies.

    Every row gets a score (higher is more usual), a p-value (how many nominal points
    score no higher) and a verdict: an anomaly if the p-value is at most alpha.
    """
    if as_json and form == "csv":
        raise click.UsageError("--json is short for --format json, and --format csv was given too: leave one out")
    import numpy as np

    from rankbench.errors import InputError
    from rankbench_rankad.points import read_points

    detector = _detector(method, calibration)
    points = read_points(table, label, ignore)
    generator = np.random.default_rng(seed)
    if nominal is None:
        found = detector.train(points.x, generator).judge_own(alpha)
    else:
        known = read_points(nominal, label, ignore)
        if known.features != points.features:
            raise InputError(
                f"its features ({', '.join(known.features[:20])}) differ from the features of {table} "
                f"({', '.join(points.features[:20])})",
                path=nominal,
            )
        found = detector.train(known.x, generator).detect(points.x, alpha)
    text = _json(found, detector, alpha) if as_json or form == "json" else _csv(found)
    if out is None:
        click.echo(text, nl=False)
    else:
        out.write_text(text, encoding="utf-8", newline="")


def _detector(method: str, calibration: float | None) -> Detector:
    import rankbench
    from rankbench_rankad.detector import Detector

    found = rankbench.get(Detector, method)
    return found if calibration is None else found.model_copy(update={"calibration": calibration})


def _csv(found: Detection) -> str:
    import csv

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "score", "p_value", "anomaly"])
    for row, (score, p, anomaly) in enumerate(_rows(found), start=1):
        writer.writerow([row, score, p, str(anomaly).lower()])
    return text.getvalue()


def _json(found: Detection, detector: Detector, alpha: float) -> str:
    points = [
        {"row": row, "score": score, "p_value": p, "anomaly": anomaly}
        for row, (score, p, anomaly) in enumerate(_rows(found), start=1)
    ]
    whole = {
        "schema_version": 1,
        "method": str(detector),
        "alpha": alpha,
        "anomalies": int(found.anomalies.sum()),
        "points": points,
    }
    return json.dumps(whole, indent=2, allow_nan=False) + "\n"


def _rows(found: Detection) -> list[tuple[float, float, bool]]:
    return list(zip(found.scores.tolist(), found.p_values.tolist(), found.anomalies.tolist(), strict=True))
