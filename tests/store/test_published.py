"""Published rows: all that the journal holds of a plan, read back to the same numbers, and nothing else taken."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import synthetic
from synthetic import Contender

from rankbench.errors import StoreError
from rankbench.store.journal import Journal
from rankbench.store.published import MANIFEST, PublishedRows, open_results, published_rows, rows_apart, sha256


def made(folder: Path) -> Path:
    plan = synthetic.small()
    plan.contenders.append(Contender("broken", {"k": 1}, fails={0: ("diverged", "nan"), 3: ("error", "Wörter\n'x'")}))
    plan.contenders.append(Contender("curved", {"k": 2}, curves=True, info={"mc_error": 0.25}))
    return synthetic.write(folder, [plan])


def written(rows: dict[str, bytes], folder: Path) -> PublishedRows:
    folder.mkdir(parents=True)
    for name, data in rows.items():
        (folder / name).write_bytes(data)
    return PublishedRows(folder)


def test_rows_hold_what_the_journal_holds(tmp_path: Path) -> None:
    with Journal(made(tmp_path / "run")) as journal:
        rows = written(published_rows(journal), tmp_path / "rows")
        assert rows.record() == journal.record()
        assert json.loads(rows.contents.suite) == json.loads(journal.contents.suite)
        assert rows.members() == journal.members()
        assert rows.progress() == journal.progress()
        assert repr(rows.cells()) == repr(journal.cells())
        assert list(rows.cells()) == list(journal.cells())
        assert len(journal.cells()) > 50
        for cell in journal.cells():
            for split in ("design", "heldout"):
                one, other = rows.losses(cell, "ndcg", split), journal.losses(cell, "ndcg", split)
                assert (None if one is None else one.tobytes()) == (None if other is None else other.tobytes())
            mine, theirs = ({n: (c.steps.tobytes(), c.values.tobytes()) for n, c in source.curves(cell).items()}
                            for source in (rows, journal))  # fmt: skip
            assert list(mine.items()) == list(theirs.items())


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (b"", "no list of published rows"),
        (b"[1, 2]", "no list of published rows"),
        (b'{"schema_version": 1}', "no list of published rows"),
    ],
)
def test_a_manifest_that_is_none(tmp_path: Path, manifest: bytes, said: str) -> None:
    (tmp_path / MANIFEST).write_bytes(manifest)
    with pytest.raises(StoreError, match=said):
        PublishedRows(tmp_path)


def test_where_rows_are_looked_for(tmp_path: Path) -> None:
    folder = tmp_path / "arena"
    folder.mkdir()
    with pytest.raises(StoreError, match="neither journal"), open_results(folder):
        pass
    with Journal(made(tmp_path / "run")) as journal:
        rows = published_rows(journal)
    written(rows, rows_apart(folder))
    with open_results(folder) as beside:
        assert beside.path == tmp_path / "arena-rows" / MANIFEST
    written(rows, folder / "rows")
    with open_results(folder) as inside:
        assert inside.path == folder / "rows" / MANIFEST
        assert isinstance(inside, PublishedRows)
        assert inside.digest == sha256(rows[MANIFEST])
    with open_results(tmp_path / "run") as run:
        assert isinstance(run, Journal)
