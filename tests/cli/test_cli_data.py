import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from data_files import written

from rankbench.cli.data import data
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.dataset import Dataset

LOG = "2 qid:1 1:0.5 3:2\n0 qid:1 2:7\n1 qid:2 1:1\n0 qid:2 3:4\n"


@pytest.fixture(autouse=True)
def no_data(tmp_path, monkeypatch):
    monkeypatch.delenv("RANKBENCH_DATA", raising=False)
    monkeypatch.setenv("RANKBENCH_CACHE", str(tmp_path / "cache"))


def run(*arguments):
    """Run a verb; an error of ours is raised, as it is to the program's entry point."""
    result = CliRunner().invoke(data, [str(a) for a in arguments], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.output


@pytest.fixture
def log(tmp_path):
    return written(tmp_path / "log.txt", LOG)


def test_list_names_every_data_set_and_whether_it_is_here():
    rows = {row["name"]: row for row in json.loads(run("list", "--json"))["datasets"]}
    assert {"mslr-web10k", "mslr-web10k-sample", "mq2008", "web10k-like"} <= set(rows)
    assert (rows["web10k-like"]["here"], rows["web10k-like"]["simulated"]) == ("simulated", True)
    assert (rows["mq2008"]["here"], rows["mq2008"]["restricted"], rows["mq2008"]["queries"]) == ("no", True, 784)
    assert rows["mslr-web10k"]["here"] == "can be downloaded"
    assert "mq2008" in run("list")


def test_list_survives_incomplete_data(tmp_path, monkeypatch):
    (tmp_path / "data" / "mq2008").mkdir(parents=True)
    (tmp_path / "data" / "mq2008" / "mq2008.train").write_text("x")
    monkeypatch.setenv("RANKBENCH_DATA", str(tmp_path / "data"))
    assert {row["name"]: row["here"] for row in json.loads(run("list", "--json"))["datasets"]}["mq2008"] == "incomplete"


def test_data_without_a_card_are_not_simulated_unless_they_say_so(monkeypatch):
    class Own(Dataset):
        name, source, title = "own", "test", "A table of a plugin"

    class Made(Own):
        name, simulated = "made", True

    own = {"own": Own, "made": Made}
    monkeypatch.setattr("rankbench.cli.data.names", lambda kind: list(own))
    monkeypatch.setattr("rankbench.cli.data.component_class", lambda kind, name: own[name])
    rows = json.loads(run("list", "--json"))["datasets"]
    assert [(row["name"], row["here"], row["simulated"]) for row in rows] == [
        ("own", "unknown", False),
        ("made", "simulated", True),
    ]


def test_describe_a_file(log):
    found = json.loads(run("describe", log, "--json"))
    assert (found["table"], found["rows"], found["queries"], found["features"]) == ("items", 4, 2, 3)
    text = run("describe", log)
    assert "items per query    2\n" in text.replace(" \n", "\n")
    assert "0: 2 (50.0%), 1: 1 (25.0%), 2: 1 (25.0%)" in text


def test_describe_with_a_reader(tmp_path):
    (tmp_path / "a.txt").write_text(LOG.replace(" 1:", " 0:"))
    with pytest.raises(InputError, match="zero-based=true"):
        run("describe", tmp_path / "a.txt")
    assert "features           4" in run("describe", tmp_path / "a.txt", "--reader", "letor:zero-based=true")
    with pytest.raises(SpecError, match="did you mean 'letor'"):
        run("describe", tmp_path / "a.txt", "--reader", "lettor")


def test_names_cannot_command_the_terminal(tmp_path):
    path = written(tmp_path / "a\x1b[31m\u202e.txt", LOG)
    for output in (run("describe", path), run("convert", path, tmp_path / "o\x1b[31m")):
        assert "\x1b" not in output
        assert "\u202e" not in output
    assert "\\x1b[31m" in output


def test_convert_and_describe_the_shards(log, tmp_path):
    said = run("convert", log, tmp_path / "out", "--shards", 2)
    assert said.strip() == f"4 rows of 2 queries in 2 shards: {tmp_path / 'out'}"
    assert json.loads(run("describe", tmp_path / "out", "--json")) == json.loads(run("describe", log, "--json"))
    with pytest.raises(InputError, match="force="):
        run("convert", log, tmp_path / "out")
    run("convert", log, tmp_path / "out", "--force")


def test_get_what_cannot_be_got():
    with pytest.raises(InputError, match="not automated"):
        run("get", "mq2008", "--accept-license")
    with pytest.raises(SpecError, match="not made of files"):
        run("get", "web10k-like")
    with pytest.raises(SpecError, match="did you mean 'mq2008'"):
        run("get", "mq208")


def test_verify():
    shipped = "eurovision f1 humour international-results lichess light-fields llmfao minneapolis-2013 nba nfl pandalm"
    assert run("verify") == "".join(f"{name}: ok\n" for name in [*shipped.split(), "premier-league"])
    with pytest.raises(InputError, match="is not here"):
        run("verify", "mq2008")


def test_the_next_commands_read_the_file_as_it_was_told(rankbench, tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_text("Sieger,Verlierer,Art\n" + "a,b,x\nb,c,x\nc,a,y\na,c,x\n" * 9)
    told = ["--columns", "winner=Sieger,loser=Verlierer", "--where", "Art = 'x'"]
    (line,) = [one for one in rankbench("data", "describe", str(path), *told).stderr.splitlines() if one[:5] == "Next:"]
    *commands, kept = [shlex.split(command) for command in line.removeprefix("Next: ").split(" | ")]
    assert [command[1] for command in commands] == ["aggregate", "audit"]
    assert kept == ["--write-reading"]
    for command in commands:
        assert all(words in command for words in told)
        done = rankbench(*command[1:])
        assert done.exit_code == 0, done.output
    shown = rankbench("aggregate", str(path), *told, "--intervals").stderr
    assert f"Next: {shlex.join(commands[1])} | --between" in shown
