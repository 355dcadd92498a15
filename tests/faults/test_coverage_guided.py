"""Coverage-guided fuzzing of readers, suites and cards: libFuzzer looks for inputs that reach new lines of rankbench.

It needs atheris (requirements/fuzz.txt), of which there are wheels for Linux alone: `make fuzz` installs it beside the
environment; elsewhere it is skipped. The inputs begin from every reader's example, every built-in suite and every card.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

SECONDS, MEGABYTES = 20, 2048
"""Longest that a case may take, and most memory of the process with the fuzzer."""

RUNS = dict.fromkeys(("csv", "ndjson", "letor", "preflib", "yandex", "cards"), 20_000) | {"suites": 5_000}
"""Cases of each kind."""


def fuzz(kind: str, corpus: Path, runs: int) -> None:
    """Read what the fuzzer makes up; anything but an error of ours ends it."""
    import atheris

    with atheris.instrument_imports(include=["rankbench", "tomllib"]):
        from test_fuzzed_files import originals, read

        from rankbench.errors import InputError, SpecError

        tables = kind not in ("suites", "cards")
        of = "tables" if tables else kind
        files = {name: data for name, data in originals(of).items() if f"-{kind}." in name or not tables}
        corpus.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (corpus / name).write_bytes(data)
            read(of, corpus / name)  # imports what reads it
    path = corpus.parent / min(files)

    def case(data: bytes) -> None:
        path.write_bytes(data)
        try:
            read(of, path)
        except (InputError, SpecError) as error:
            if path.name not in str(error):
                raise AssertionError(f"the file is not named: {error}") from error

    options = [f"-runs={runs}", "-seed=1", "-max_len=4096", f"-timeout={SECONDS}", f"-rss_limit_mb={MEGABYTES}"]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={corpus.parent}/", str(corpus)], case)
    atheris.Fuzz()


@pytest.mark.long
@pytest.mark.parametrize("kind", sorted(RUNS))
def test_nothing_but_errors_of_ours(tmp_path: Path, kind: str) -> None:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip("atheris is not installed here: make fuzz")
    command = [sys.executable, str(Path(__file__)), kind, str(tmp_path / "corpus"), str(RUNS[kind])]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    done = [line for line in ended.stderr.splitlines() if "DONE" in line]
    assert done, ended.stderr[-3000:]
    print({"kind": kind, "cases": RUNS[kind], "last": done[-1]})


if __name__ == "__main__":
    fuzz(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
