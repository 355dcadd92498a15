"""Coverage-guided fuzzing of all that is read: libFuzzer looks for inputs that reach new lines.

It needs atheris (requirements/fuzz.txt), of which there are wheels for Linux alone: `make fuzz` installs it beside the
environment; elsewhere it is skipped. The inputs begin from every reader's example, every built-in suite and every card.
Compiled kernels are not instrumented, as numba would not compile them then, and neither is Polars.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

SECONDS, MEGABYTES = 20, 2048
"""Longest that a case may take, and most memory of the process with the fuzzer."""

KINDS = {
    "csv": ("tables", "example-csv.csv", 20_000),
    "ndjson": ("tables", "example-ndjson.ndjson", 20_000),
    "letor": ("tables", "example-letor.txt", 20_000),
    "preflib": ("tables", "example-preflib.soc", 20_000),
    "yandex": ("tables", "example-yandex.data", 10_000),
    "parquet": ("tables", "example-parquet.parquet", 10_000),
    "movielens": ("tables", "u.data", 10_000),
    "shards": ("tables", "shards/manifest.json", 10_000),
    "rows": ("rows", "rows.json", 10_000),
    "journal": ("journal", "journal.sqlite", 10_000),
    "digests": ("written", "out/digests.json", 10_000),
    "history": ("written", "history/", 10_000),
    "timings": ("written", "timings/timings.json", 10_000),
    "suites": ("suites", "", 5_000),
    "cards": ("cards", "", 10_000),
}
"""Which of `damaged.originals` is made up, what its name begins with (the first of many is written to), and cases."""

SHORTEST = 4096
"""Bytes that an input may have at least; else it may be twice as long as what the fuzzer begins from, which is cut to
what an input may have."""

SPLIT = b"\0"
"""Between the two files of MovieLens in one input."""

HERE = Path(__file__).parent


def compiled_modules() -> list[str]:
    """Return the modules of rankbench that hold kernels."""
    package = Path(str(importlib.util.find_spec("rankbench").origin)).parent  # type: ignore[union-attr]
    files = (path for path in package.rglob("*.py") if "njit" in path.read_text(encoding="utf-8"))
    return [".".join(path.relative_to(package.parent).with_suffix("").parts) for path in files]


def fuzz(kind: str, corpus: Path, *options: str) -> None:
    """Read what the fuzzer makes up; anything but an error of ours ends it."""
    import atheris

    with atheris.instrument_imports(include=["rankbench", "tomllib"], exclude=compiled_modules()):
        from damaged import originals, read
        from test_fuzzed_files import names_it

        from rankbench.errors import InputError, SpecError, StoreError

        of, begins, _ = KINDS[kind]
        whole = originals(of)
        place = corpus.parent / "files"
        for name, data in whole.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(data)
        names = sorted(name for name in whole if name.startswith(begins))
        if not corpus.exists():
            corpus.mkdir()
            for name in names:
                (corpus / Path(name).name).write_bytes(
                    whole[name] + (SPLIT + whole["u.item"] if kind == "movielens" else b"")
                )
        longest = max(SHORTEST, 2 * max(len(whole[name]) for name in names))
        path = place / names[0]
        read(of, path)  # imports what reads it

    def case(data: bytes) -> None:
        if kind == "movielens":
            data, split, movies = data.partition(SPLIT)
            path.with_name("u.item").write_bytes(movies if split else whole["u.item"])
        path.write_bytes(data)
        try:
            read(of, path)
        except (InputError, SpecError, StoreError) as error:
            if not names_it(str(error), of, path) and "u.item" not in str(error):
                raise AssertionError(f"the file is not named: {error}") from error

    common = [f"-max_len={longest}", f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}"]
    atheris.Setup([sys.argv[0], *common, *options, f"-artifact_prefix={corpus.parent}/", str(corpus)], case)
    atheris.Fuzz()


def ends_polars(data: Path, folder: Path) -> bool:
    """Return whether Polars alone ends the process at a Parquet file, or panics at it."""
    shutil.copy(data, folder / "alone.parquet")
    code = "import polars, sys; polars.scan_parquet(sys.argv[1], glob=False).collect()"
    done = subprocess.run([sys.executable, "-c", code, str(folder / "alone.parquet")], capture_output=True, check=False)
    return done.returncode < 0


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_errors_of_ours(tmp_path: Path, kind: str) -> None:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed here: make fuzz")
    paths = [str(HERE.parent), *filter(None, [os.getenv("PYTHONPATH")])]
    came, last = Counter[str](), ""
    while (left := KINDS[kind][2] - came["cases"]) > 0:
        options = [f"-runs={left}", f"-seed={1 + came['ended within Polars']}"]
        ended = subprocess.run(
            [sys.executable, __file__, kind, str(tmp_path / "corpus"), *options],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        told = re.findall(r"^#(\d+)\s.*", ended.stderr, re.MULTILINE)
        assert told, ended.stderr[-3000:]
        came["cases"] += int(told[-1])
        last = re.findall(r"^#\d+\s.*", ended.stderr, re.MULTILINE)[-1]
        if ended.returncode == 0:
            assert "DONE" in last, ended.stderr[-3000:]
            break
        found = sorted(tmp_path.glob("crash-*"))
        assert kind == "parquet", ended.stderr[-3000:]
        assert found, ended.stderr[-3000:]
        assert all(ends_polars(data, tmp_path) for data in found), ended.stderr[-3000:]
        came["ended within Polars"] += 1
        for data in found:
            data.unlink()
    print({"kind": kind} | came | {"last": last}, flush=True)


if __name__ == "__main__":
    fuzz(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
