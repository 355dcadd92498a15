"""The same bytes, wherever and however a run, a ranking and a conversion are computed."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
import pytest
from disturbed import METHOD, contents, reported, tiny_suite
from forked import MAIN
from installed import hook, install_plugin
from sessions import ended, start

SHUFFLED = """
import random, sys
import rankbench.api as api
missing, seed = api._missing, {seed}

def shuffled(store, tasks):
    found = missing(store, tasks)
    random.Random(seed).shuffle(found)
    return found

api._missing = shuffled
"""

VARIANTS: dict[str, dict[str, str]] = {
    "hash seed 1": {"PYTHONHASHSEED": "1"},
    "hash seed 4294967295": {"PYTHONHASHSEED": "4294967295"},
    "locale C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "locale C.utf8": {"LC_ALL": "C.utf8"},
    "locale that there is not": {"LC_ALL": "tr_TR.UTF-8", "LANG": "de_DE"},
    "14 hours ahead": {"TZ": "Pacific/Kiritimati"},
    "3.5 hours behind": {"TZ": "America/St_Johns"},
    "no time zone": {"TZ": "Nowhere/Nothing"},
    "one BLAS thread": {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    "three BLAS threads": {"OMP_NUM_THREADS": "3", "OPENBLAS_NUM_THREADS": "3", "MKL_NUM_THREADS": "3"},
    "five threads of Polars and numba": {"POLARS_MAX_THREADS": "5", "NUMBA_NUM_THREADS": "2"},
    "narrow terminal": {"COLUMNS": "20", "NO_COLOR": "1", "TERM": "dumb"},
}


class Site:
    """A suite with a contender of a plugin, a log, and a place for the plugin."""

    def __init__(self, folder: Path, repetitions: int, *, sizes: str = "[300, 500]") -> None:
        self.folder, self.runs = folder, 0
        install_plugin(folder, "theirs", "theirs = theirs", theirs=METHOD + hook("Theirs"))
        suite = tiny_suite(500, repetitions, 'use = "theirs"')
        assert "n = [300, 500]" in suite
        (folder / "tiny.toml").write_text(suite.replace("[300, 500]", sizes))
        rng = random.Random(1)
        rows = [[*rng.sample("abcdefgh", 2), rng.choice(["x", "y", "z"]), rng.choice([1.0, 0.25])] for _ in range(400)]
        log = pl.DataFrame(rows, schema=["winner", "loser", "judge", "weight"], orient="row")
        log.insert_column(0, pl.lit("q").alias("query_id")).write_csv(folder / "log.csv")

    def run(self, *options: str, out: Path | None = None, code: str = "", **environment: str) -> dict[str, bytes]:
        """Run the suite; return what it ends in."""
        self.runs += 1
        out = out or self.folder / f"out-{self.runs}"
        arguments = ["run", "--suite", str(self.folder / "tiny.toml"), "--out", str(out), *options]
        program = start(self.folder, *arguments, code=code + MAIN, PYTHONPATH=str(self.folder), **environment)
        exit_code, said = ended(program)
        assert exit_code == 0, said
        return reported(out)

    def others(self, **environment: str) -> Mapping[str, str]:
        """Rank the log with resampled intervals, and convert it; return digests of what was written."""
        self.runs += 1
        out = self.folder / f"made-{self.runs}"
        out.mkdir()
        for arguments in (
            ["aggregate", "log.csv", "--intervals", "judges", "--replicates", "50", "--out", str(out / "ranking.csv")],
            ["data", "convert", "log.csv", str(out / "shards"), "--shards", "3"],
        ):
            exit_code, said = ended(start(self.folder, *arguments, **environment))
            assert exit_code == 0, said
        return contents(out)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Two blocks, each of which takes a process for the plugin's contender."""
    return Site(tmp_path_factory.mktemp("site"), 2, sizes="[500]")


@pytest.mark.long
def test_the_same_bytes_in_another_environment(site: Site) -> None:
    """Everything else at once: workers, order of blocks, hash seed, locale, time zone, threads; and gone on with."""
    expected = site.run("--workers", "1")
    out = site.folder / "resumed"
    site.run("--workers", "1", "--reps", "1", out=out, **VARIANTS["14 hours ahead"])
    odd = VARIANTS["hash seed 1"] | VARIANTS["locale C"] | VARIANTS["3.5 hours behind"] | VARIANTS["three BLAS threads"]
    assert site.run("--workers", "2", out=out, code=SHUFFLED.format(seed=1), **odd) == expected
    print({"runs": site.runs, "files compared": len(expected)})


def damaged_cache(whole: Path, folder: Path, way: str, rng: random.Random) -> None:
    """Copy a cache of compiled code, and damage it, or make it one of older sources, or leave it as it is.

    What the installed package was compiled to is not in it.
    """
    shutil.copytree(whole, folder)
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in (".nbi", ".nbc")]
    for path in files if way != "warm" else ():
        if way == "stale":
            os.utime(path, (1, 1))
            continue
        data = bytearray(path.read_bytes())
        if way == "cut":
            del data[rng.randrange(len(data)) :]
        elif way == "bits":
            for _ in range(5):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        else:
            data = bytearray(rng.choice(files).read_bytes())
        path.write_bytes(bytes(data))


class Reference:
    """What all ways of computing the same are compared with."""

    def __init__(self, folder: Path) -> None:
        self.site, self.compared = Site(folder, 4), 0
        self.run, self.others = self.site.run("--workers", "1"), self.site.others()

    def same(self, found: object, wanted: object = None) -> None:
        assert found == (self.run if wanted is None else wanted)
        self.compared += 1


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    made = Reference(tmp_path_factory.mktemp("reference"))
    yield made
    print({"same bytes": made.compared, "runs": made.site.runs}, flush=True)


@pytest.mark.long
@pytest.mark.parametrize("workers", ["1", "2", "5"])
def test_the_same_bytes_by_any_number_of_workers(reference: Reference, workers: str) -> None:
    """At once, and in a run that is gone on with."""
    site, out = reference.site, reference.site.folder / f"resumed-{workers}"
    reference.same(site.run("--workers", workers))
    site.run("--workers", workers, "--reps", "2", out=out)
    reference.same(site.run("--workers", workers, out=out))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_the_same_bytes_in_any_order_of_blocks(reference: Reference, seed: int) -> None:
    reference.same(reference.site.run("--workers", str(1 + seed % 2), code=SHUFFLED.format(seed=seed)))


@pytest.mark.long
@pytest.mark.parametrize("name", VARIANTS)
def test_the_same_bytes_in_any_environment(reference: Reference, name: str) -> None:
    reference.same(reference.site.run("--workers", "2", **VARIANTS[name]))
    reference.same(reference.site.others(**VARIANTS[name]), reference.others)


@pytest.fixture(scope="module")
def cache(reference: Reference) -> Path:
    """Return a cache of compiled code that was empty before a run."""
    folder = reference.site.folder / "cache"
    reference.same(reference.site.run("--workers", "2", RANKBENCH_CACHE=str(folder)))
    assert list(folder.rglob("*.nbc"))
    return folder


@pytest.mark.long
@pytest.mark.parametrize("way", ["warm", "stale", "cut", "bits", "mixed up"])
def test_the_same_bytes_with_any_cache(reference: Reference, cache: Path, tmp_path: Path, way: str) -> None:
    own = tmp_path / "cache"
    damaged_cache(cache, own, way, random.Random(way))
    reference.same(reference.site.run("--workers", "2", RANKBENCH_CACHE=str(own)))


@pytest.mark.long
def test_the_same_bytes_on_a_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A contender of a plugin among them, which the workers have too."""
    from dask_cluster import Cluster

    site = Site(tmp_path, 4)
    expected = site.run("--workers", "1")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = Cluster(tmp_path, 2)
    try:
        for round_ in range(3):
            assert site.run("--executor", "dask", "--address", found.address) == expected
            out = tmp_path / f"there-{round_}"
            site.run("--workers", "2", "--reps", "2", out=out)
            assert site.run("--executor", "dask", "--address", found.address, out=out) == expected
    finally:
        found.close()
    print({"same bytes": 6, "runs": site.runs})
