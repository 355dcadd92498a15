"""The same log told otherwise: shuffled, in several files, converted, renamed, or twice with half the weight."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from amounts import part_of

import rankbench
from rankbench.data.convert import convert

ITEMS = [f"i{at}" for at in range(7)]

METHODS = {
    "votes": (
        "bradley-terry", "bradley-terry:ridge=0.1", "borda", "win-rate", "net-weights", "kemeny", "davidson",
        "mean-log-odds", "thurstone-mosteller", "pagerank", "rank-centrality", "eigenvector", "budgeted", "elo",
    ),
    "ballots": (
        "plackett-luce", "bradley-terry", "borda", "win-rate", "kemeny", "mean-log-odds", "pagerank",
        "thurstone-mosteller", "rank-centrality",
    ),
    "clicks": ("coec:smoothing=1", "click-through-rate:smoothing=1", "cascade:smoothing=1", "position-debiased"),
}  # fmt: skip
"""What ranks each kind of log. `elo` depends on the order of votes: it is asked only where that stays."""


def drawn(kind: str, rng: random.Random) -> pl.DataFrame:
    """Draw a log on which every item is connected with every other, best first, some with ties and judges."""
    rows = []
    for row in range(120):
        some = rng.sample(ITEMS, rng.randint(3, 7))
        some.sort(key=lambda item: ITEMS.index(item) + rng.gauss(0, 3))
        if kind == "votes":
            said = {"winner": some[0], "loser": some[1], "tie": rng.random() < 0.1}
            rows.append(said | {"weight": rng.choice([1.0, 2.0, 0.5])})
        elif kind == "ballots":
            ranking = [[item] for item in some]
            if rng.random() < 0.3:
                ranking[:2] = [some[:2]]
            rows.append({"ranking": ranking, "weight": rng.choice([1.0, 2.0, 0.5])})
        else:
            shown = rng.sample(some, len(some))
            clicked = [at for at, item in enumerate(shown, 1) if rng.random() < 2 / (1 + at + ITEMS.index(item))]
            rows.append({"session_id": f"s{row}", "shown": shown, "clicked": clicked[:1]})
    frame = pl.DataFrame(rows)
    if kind == "clicks":
        frame = frame.with_columns(pl.col("clicked").cast(pl.List(pl.UInt32)))
    return frame.select(pl.lit("q").alias("query_id"), pl.all())


def renamed(frame: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
    """Give the items other names."""
    inner = pl.element().replace_strict(names)
    columns = {
        "winner": pl.col("winner").replace_strict(names) if "winner" in frame.columns else None,
        "loser": pl.col("loser").replace_strict(names) if "loser" in frame.columns else None,
        "shown": pl.col("shown").list.eval(inner) if "shown" in frame.columns else None,
        "ranking": pl.col("ranking").list.eval(pl.element().list.eval(inner)) if "ranking" in frame.columns else None,
    }
    return frame.with_columns(**{name: column for name, column in columns.items() if column is not None})


def twice(frame: pl.DataFrame) -> pl.DataFrame:
    """Write every row two times, with half the weight; sessions, which have none, under a name of their own."""
    if "weight" in frame.columns:
        return pl.concat([frame, frame]).with_columns(pl.col("weight") / 2)
    return pl.concat([frame, frame.with_columns(pl.col("session_id") + "-again")])


def parts(frame: pl.DataFrame, folder: Path, ending: str) -> Path:
    """Write a log in three files of one folder."""
    folder.mkdir()
    for at, rows in enumerate((frame[:40], frame[40:41], frame[41:])):
        path = folder / f"part-{at}.{ending}"
        {"csv": rows.write_csv, "ndjson": rows.write_ndjson, "parquet": rows.write_parquet}[ending](path)
    return folder


def scores(log: object, method: str, told: str = "time=") -> dict[str, float]:
    table = rankbench.aggregate(log, method, columns=told).table  # type: ignore[arg-type]
    assert table["scale"].n_unique() == 1
    return dict(zip(table["item"].to_list(), table["score"].to_list(), strict=True))


def doubled(method: str) -> str:
    """Return the method whose smoothing is twice as large: sessions have no weights that could be halved."""
    return method.replace("smoothing=1", "smoothing=2")


def told_otherwise(folder: Path, kind: str, seed: int) -> Counter[str]:
    """Compare every method's scores of a log and of the same log told otherwise."""
    rng, came = random.Random(f"{kind} {seed}"), Counter[str]()
    frame = drawn(kind, rng)
    files: dict[str, Callable[[Path], object]] = {"parquet": frame.write_parquet, "ndjson": frame.write_ndjson}
    if kind == "votes":
        files["csv"] = frame.write_csv
    written = {}
    for ending, write in files.items():
        written[f"as {ending}"] = folder / f"{kind}-{seed}.{ending}"
        write(written[f"as {ending}"])
        folder_of = parts(frame, folder / f"{kind}-{seed}-{ending}", ending)
        written[f"split, {ending}"] = folder_of if ending == "parquet" else folder_of / f"part-*.{ending}"
    shards = folder / f"{kind}-{seed}"
    convert(written["as ndjson"], shards, shards=3)
    names = dict(zip(ITEMS, rng.sample([f"name {at}" for at in range(90)], len(ITEMS)), strict=True))
    back = {name: item for item, name in names.items()}
    for method in METHODS[kind]:
        expected = scores(frame, method)
        found = {what: scores(path, method) for what, path in written.items()}
        found["converted"] = scores(shards, method, told="")
        found["renamed"] = {back[name]: score for name, score in scores(renamed(frame, names), method).items()}
        if method != "elo":
            found["shuffled"] = scores(frame.sample(fraction=1, shuffle=True, seed=seed), method)
            if kind != "clicks" or doubled(method) != method:
                found["twice"] = scores(twice(frame), doubled(method) if kind == "clicks" else method)
                if method == "net-weights":  # a mean over judgments, of which there are twice as many
                    found["twice"] = {item: 2 * score for item, score in found["twice"].items()}
        for what, told in found.items():
            assert told.keys() == expected.keys(), (kind, seed, method, what)
            values, wanted = [told[item] for item in ITEMS], [expected[item] for item in ITEMS]
            assert values == pytest.approx(wanted, rel=1e-6, abs=1e-7 * np.ptp(wanted)), (kind, seed, method, what)
            came[what] += 1
    return came


@pytest.mark.parametrize("kind", part_of(["clicks", "votes", "ballots"]))
def test_a_log_told_otherwise(tmp_path: Path, kind: str) -> None:
    came = told_otherwise(tmp_path, kind, 0)
    print({"kind": kind} | came)
    assert came.total() >= 20


@pytest.mark.long
@pytest.mark.parametrize("kind", ["votes", "ballots", "clicks"])
def test_many_logs_told_otherwise(tmp_path: Path, kind: str, cases: Callable[[int], range]) -> None:
    came = sum((told_otherwise(tmp_path, kind, 1 + case) for case in cases(30)), Counter[str]())
    print({"kind": kind, "checks": came.total()} | came)
