"""Where results go: nothing replaces the leaderboard of other data, and each log finds its folder again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from data_files import written
from small_suites import OWN_LOG, suite_text

import rankbench
from rankbench.api import planned
from rankbench.cli import main
from rankbench.errors import SpecError, StoreError
from rankbench.interfaces.cell import BlockResult
from rankbench.logs.open import own_log, read_by
from rankbench.protocols.items import Items
from rankbench.runner.prepare import dataset_of
from rankbench.runner.progress import Progress
from rankbench.runner.question import RunQuestion
from rankbench.store.journal import Journal
from rankbench.store.store import Store


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return str(written(tmp_path / "small.toml", OWN_LOG))


def log(path: Path, seed: int) -> Path:
    """Write 200 votes on 5 items."""
    rng = np.random.default_rng(seed)
    a = rng.integers(5, size=200)
    b = (a + rng.integers(1, 5, size=200)) % 5
    path.parent.mkdir(exist_ok=True)
    path.write_text("winner,loser\n" + "".join(f"i{x},i{y}\n" for x, y in zip(a, b, strict=True)))
    return path


def board(folder: Path) -> bytes:
    return (folder / "leaderboard.csv").read_bytes()


def computed(folder: Path) -> int:
    found = json.loads((folder / "run.json").read_text())["blocks"]["computed"]
    return found


def test_a_log_with_its_columns_goes_on_in_its_own_folder(suite: str, tmp_path: Path) -> None:
    path = log(tmp_path / "votes.csv", 0)
    path.write_text(path.read_text().replace("winner,loser", "won,other"))
    columns = "winner=won,loser=other"
    first = rankbench.run(suite, dataset=rankbench.log_file(path, columns=columns)).directory
    assert (str(first), computed(first)) == ("runs/small-votes.csv", 4)
    before = board(first)
    text = 'votes.csv:columns="winner=won,loser=other"'
    assert json.loads((first / "run.json").read_text())["sources"][0]["dataset"] == text
    again = rankbench.run(suite, dataset=own_log(text)).directory
    assert (again, computed(again), board(again)) == (first, 0, before)
    turned = rankbench.run(suite, dataset=rankbench.log_file(path, columns="winner=other,loser=won")).directory
    assert (turned != first, computed(turned)) == (True, 4)


def test_items_of_a_run_that_was_killed_go_on_with_the_next_contender(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    methods = [f'use = "{name}"' for name in ("bradley-terry", "win-rate", "borda")]
    protocol, losses = "items:replicates=20,intervals=bootstrap", f"losses = {list(Items.metric_names())}"
    text = suite_text(*methods, protocol=protocol, dataset="", n="[1]", more=losses)
    suite, data = str(written(tmp_path / "tiny.toml", text)), rankbench.log_file(log(tmp_path / "votes.csv", 0))
    with monkeypatch.context() as patched:
        patched.setattr(Items, "one_by_one", False)
        whole = rankbench.run(suite, dataset=data, out="whole").directory
    commit, stored = Store.commit, []

    def killed(store: Store, block: BlockResult) -> None:
        if stored:
            raise KeyboardInterrupt
        commit(store, block)
        stored.extend(cell.cell for cell in block.cells)

    monkeypatch.setattr(Store, "commit", killed)
    with pytest.raises(KeyboardInterrupt):
        rankbench.run(suite, dataset=data, out="killed")
    monkeypatch.setattr(Store, "commit", commit)
    with Journal(Path("killed")) as journal:
        assert (journal.progress(), list(journal.cells())) == ((1, 3), stored)
    again = rankbench.run(suite, dataset=data, out="killed").directory
    for name in ("leaderboard.csv", "units.csv"):
        assert (again / name).read_bytes() == (whole / name).read_bytes()


def test_a_log_that_is_refused_is_told_why(tmp_path: Path) -> None:
    path = tmp_path / "clicks.ndjson"
    path.write_text(json.dumps({"query_id": "q", "session_id": "1", "shown": ["a", "b"], "clicked": [1]}) + "\n")
    done = CliRunner().invoke(main, ["run", "--dry-run", "--suite", "own-log", "--log", str(path)])
    assert done.exit_code == 2
    assert "takes comparisons or ballots, data set clicks.ndjson has selections" in str(done.output)
    assert "needs a data set" not in str(done.output)


@pytest.mark.full
@pytest.mark.parametrize(
    ("names", "folder"),
    [(("a/votes.csv", "b/votes.csv"), "small-votes.csv"), (("vo tes.csv", "vo-tes.csv"), "small-vo-tes.csv")],
)
def test_logs_that_give_one_folder_have_two(suite: str, tmp_path: Path, names: tuple[str, str], folder: str) -> None:
    first, second = (log(tmp_path / name, seed) for seed, name in enumerate(names))
    a = rankbench.run(suite, dataset=rankbench.log_file(first)).directory
    before = board(a)
    b = rankbench.run(suite, dataset=rankbench.log_file(second)).directory
    assert a == Path("runs") / folder
    assert b == Path("runs") / f"{folder}-{hashlib.sha256(second.read_bytes()).hexdigest()[:8]}"
    assert board(a) == before != board(b)
    for path, own in ((first, a), (second, b)):
        assert computed(own) > 0
        assert rankbench.run(suite, dataset=rankbench.log_file(path)).directory == own
        assert computed(own) == 0
    # In a folder that was named it is refused, with each data set once.
    if first.name != second.name:
        with pytest.raises(StoreError, match=rf"holds suite 'small' on {first.name}; give"):
            rankbench.run(suite, dataset=rankbench.log_file(second), out=a)
    assert board(a) == before


def test_a_log_that_changed_has_another_folder(suite: str, tmp_path: Path) -> None:
    path = log(tmp_path / "votes.csv", 0)
    a = rankbench.run(suite, dataset=rankbench.log_file(path)).directory
    before = board(a)
    log(path, 1)
    assert rankbench.run(suite, dataset=rankbench.log_file(path)).directory != a
    assert board(a) == before


def test_a_log_finds_its_own_folder_though_the_plain_one_is_gone(suite: str, tmp_path: Path) -> None:
    first, second = (log(tmp_path / name / "votes.csv", seed) for seed, name in enumerate("ab"))
    plain = rankbench.run(suite, dataset=rankbench.log_file(first)).directory
    own = rankbench.run(suite, dataset=rankbench.log_file(second)).directory
    plain.rename(tmp_path / "elsewhere")
    assert rankbench.run(suite, dataset=rankbench.log_file(second)).directory == own
    assert computed(own) == 0
    assert not plain.exists()


def test_a_log_that_changed_is_refused_in_the_folder_that_was_named(suite: str, tmp_path: Path) -> None:
    path = log(tmp_path / "votes.csv", 0)
    rankbench.run(suite, dataset=rankbench.log_file(path), out="mine")
    before, old = board(Path("mine")), hashlib.sha256(path.read_bytes()).hexdigest()
    log(path, 1)
    new = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(
        StoreError, match=rf"votes\.csv with the sha256 {old}, and now it has {new}.*out=.*mine-{new[:8]}"
    ):
        rankbench.run(suite, dataset=rankbench.log_file(path), out="mine")
    assert board(Path("mine")) == before
    log(path, 0)
    rankbench.run(suite, dataset=rankbench.log_file(path), out="mine")
    assert board(Path("mine")) == before
    assert computed(Path("mine")) == 0


def test_another_suite_of_the_same_name_is_refused(suite: str, tmp_path: Path) -> None:
    own = rankbench.log_file(log(tmp_path / "votes.csv", 0))
    folder = rankbench.run(suite, dataset=own).directory
    before = board(folder)
    other = log(tmp_path / "other" / "x", 0).with_name("small.toml")
    other.write_text(OWN_LOG.replace('name = "a"', 'name = "others"'))
    with pytest.raises(StoreError, match=r"another suite that is called 'small' too.*out="):
        rankbench.run(str(other), dataset=own)
    assert board(folder) == before


@pytest.mark.parametrize("names", [("a/votes.csv", "b/votes.csv"), ("a/votes.csv", "b/other.csv")])
def test_a_data_set_that_nothing_is_done_with_is_refused(suite: str, tmp_path: Path, names: tuple[str, str]) -> None:
    both = [rankbench.log_file(log(tmp_path / name, seed)) for seed, name in enumerate(names)]
    with pytest.raises(SpecError, match=rf"takes data set {Path(names[1]).name} \(number 2\): an earlier one takes"):
        rankbench.run(suite, dataset=both)
    assert not Path("runs").exists()


def test_a_named_data_set_twice_is_refused() -> None:
    with pytest.raises(SpecError, match=r"\(number 2\): an earlier one takes its place"):
        planned("paper", RunQuestion(dataset=["web10k-like:queries=44,features=12"] * 2))


class Warned(Progress):
    """Keeps what a run warns of."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def warn(self, text: str) -> None:
        self.lines.append(text)


def test_results_of_other_code_are_said_to_be_computed_again(
    suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    votes = rankbench.log_file(log(tmp_path / "votes.csv", 0))
    first = rankbench.run(suite, dataset=votes, out="out")
    before = board(first.directory)
    told = Warned()
    rankbench.run(suite, dataset=votes, out="out", progress=told)
    assert told.lines == []
    for module in ("api", "runner.run_record"):
        monkeypatch.setattr(f"rankbench.{module}.code_digest", lambda: "0" * 32)
    monkeypatch.setattr("rankbench.runner.run_record.version", lambda name: "99.0")
    rankbench.run(suite, dataset=votes, out="out", progress=told)
    assert len(told.lines) == 1
    assert "out holds 8 results, some of other code" in told.lines[0]
    assert f"rankbench was {rankbench.__version__}, is 99.0" in told.lines[0]
    assert computed(first.directory) == 4
    assert board(first.directory) == before
    assert rankbench.report("out").leaderboard.equals(first.leaderboard)


def test_what_a_log_is_read_by(tmp_path: Path) -> None:
    """Readers and the kind of table have a part in cells: that of a file, of the files in a folder, of a data card."""
    path = log(tmp_path / "votes.csv", 0)
    parts = tmp_path / "parts"
    log(parts / "1.csv", 0)
    log(parts / "2.csv", 1)
    for found, names in (
        (rankbench.log_file(path), ["comparisons", "csv"]),
        (rankbench.log_file(path, reader="csv:header=true"), ["comparisons", "csv"]),
        (rankbench.log_file(parts), ["comparisons", "parts", "csv"]),
        (dataset_of("ml-100k"), ["items", "movielens"]),
        (dataset_of("web10k-like"), ["items"]),
    ):
        assert [component.name for component in read_by(found)] == names
