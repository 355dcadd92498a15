"""The Tab key offers names, quickly: nothing that computes is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from amounts import part_of
from click.shell_completion import BashComplete, ShellComplete

from rankbench.cli import SHORT_HELPS, main
from rankbench.plugin import manager

HEAVY = ("numba", "scipy", "matplotlib", "pyarrow", "rich")


def offered(words: list[str], incomplete: str = "") -> list[str]:
    """Return what a shell would be told, files as ``<file>``."""
    completion = ShellComplete(main, {}, "rankbench", "_RANKBENCH_COMPLETE")
    items = completion.get_completions(words, incomplete)
    return ["<file>" if item.type == "file" else item.value for item in items]


@pytest.mark.parametrize(
    ("words", "kinds"),
    [
        (["run", "--suite"], ("suite",)),
        (["run", "--dataset"], ("dataset",)),
        (["run", "--log"], ("dataset",)),
        (["run", "--reader"], ("reader",)),
        (["run", "--with"], ("method", "aggregator")),
        (["aggregate"], ("dataset",)),
        (["aggregate", "--method"], ("aggregator",)),
        (["rank", "--method"], ("aggregator",)),
        (["compare", "--method"], ("aggregator",)),
        (["time"], ("suite",)),
        (["certify"], ("surrogate",)),
        (["certify", "--aggregator"], ("aggregator",)),
        (["data", "get"], ("dataset",)),
        (["data", "describe"], ("dataset",)),
        (["info", "--kind", "loss"], ("loss",)),
    ],
    ids=" ".join,
)
def test_names_are_offered(words: list[str], kinds: tuple[str, ...]) -> None:
    found = [word for word in offered(words) if word != "<file>"]
    assert found == sorted({name for kind in kinds for name in manager.names(kind)})
    first = found[0]
    assert first in offered(words, first[:2])


def test_verbs_and_subcommands_are_offered() -> None:
    assert set(SHORT_HELPS) <= set(offered([]))
    assert offered(["data"], "de") == ["describe"]
    assert offered(["history"]) == ["add", "show"]


def test_kinds_losses_and_any_name() -> None:
    assert {"aggregator", "suite"} <= set(offered(["list"]))
    assert {"pairwise", *manager.names("loss")} <= set(offered(["certify", "regression", "--loss"]))
    assert {"demo", "bradley-terry", "ndcg"} <= set(offered(["info"]))
    assert offered(["info"], "bradley-t") == ["bradley-terry"]


def test_files_are_offered_where_one_may_stand() -> None:
    assert offered(["aggregate"], "votes.") == ["<file>"]
    assert offered(["run", "--suite"], "d") == ["<file>", "demo"]
    assert "<file>" not in offered(["aggregate", "log", "--method"])


def test_what_is_broken_offers_nothing(monkeypatch) -> None:
    def broken(kind: str) -> list[str]:
        raise RuntimeError(kind)

    monkeypatch.setattr(manager, "names", broken)
    assert offered(["run", "--dataset"]) == []


@pytest.mark.parametrize(
    "words", part_of(["rankbench run --suite d", "rankbench aggregate log --method b", "rankbench info b"])
)
def test_nothing_that_computes_is_imported(words: str) -> None:
    script = f"""
import sys
sys.argv = ["rankbench"]
from rankbench.cli import main
from click.shell_completion import BashComplete
found = BashComplete(main, {{}}, "rankbench", "_RANKBENCH_COMPLETE").complete()
print(found)
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    # The plugins of this environment are tried elsewhere: what they import is theirs.
    blocked = {status.distribution for status in manager.statuses()} - {"rankbench"}
    given = {
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
        "RANKBENCH_BLOCK_PLUGINS": ",".join(sorted(blocked)),
    }
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | given, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(("plain,", "file,"))
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell: str) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    assert f"_RANKBENCH_COMPLETE={shell}_source rankbench" in page
    program = Path(sys.executable).with_name("rankbench")
    given = os.environ | {"_RANKBENCH_COMPLETE": f"{shell}_source"}
    # Of bash, the version is asked for, and what says it may be missing here.
    if shell == "bash":
        source = BashComplete(main, {}, "rankbench", "_RANKBENCH_COMPLETE").source_template
        assert "COMPREPLY" in source
        return
    done = subprocess.run([program], env=given, capture_output=True, text=True, check=True)
    assert "_RANKBENCH_COMPLETE" in done.stdout
