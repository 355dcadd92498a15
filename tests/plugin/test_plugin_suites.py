"""Descriptions of suites, and errors of their files."""

from __future__ import annotations

import pytest

from rankbench.errors import InputError, SpecError
from rankbench.plugin import manager
from rankbench.plugin.loading import load
from rankbench.suites.suite_files import describe_suite

TEXT = """
name = "own"
title = "A suite of one's own"
dataset = "web10k-like"
protocol = "btl:design=20,heldout=10,transforms=log1p"
include = ["other"]

[[experiments]]
name = "one"
title = "Experiment one"
n = [100, 1000]
repetitions = 5
losses = ["ndcg", "pairwise"]
contenders = [
  {use = "erm:k=[1,10,inf],lambda=[0.1,1]"},
  {use = "random-scores"},
]

[[experiments]]
name = "two"
title = "Experiment two"
n = [7]
repetitions = 2
contenders = [{use = "random-scores"}]
"""


@pytest.fixture
def suite(tmp_path, monkeypatch, entry):
    def install(content: bytes):
        path = tmp_path / "own.toml"
        path.write_bytes(content)
        monkeypatch.setattr(manager, "_loaded", load([entry(brings=lambda: [path])]))
        return path

    return install


def test_a_suite_is_described_as_its_file_writes_it(suite):
    path = suite(TEXT.encode())
    found = describe_suite("own")
    assert (found.title, found.path, found.dataset) == ("A suite of one's own", path, "web10k-like")
    assert found.protocol == "btl:design=20,heldout=10,transforms=log1p"
    assert found.includes == ("other",)
    one, two = found.experiments
    assert (one.name, one.n, one.repetitions, one.losses) == ("one", (100, 1000), 5, ("ndcg", "pairwise"))
    assert one.contenders == 3 * 2 + 1
    assert (two.n, two.repetitions, two.contenders) == ((7,), 2, 1)
    assert (found.distribution, found.version) == ("thirdparty", "1.2")


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        (b"name = ", InputError, "own.toml: not a suite file"),
        (b"\xff\xfe", InputError, "own.toml: not a suite file"),
        (TEXT.replace("repetitions = 5", "repetitions = 0").encode(), SpecError, "experiments.0.repetitions"),
        (TEXT.replace("repetitions = 2", "repeats = 2").encode(), SpecError, "experiments.1."),
        (TEXT.replace("k=[1,10,inf]", "k=[1").encode(), SpecError, "at column"),
    ],
)
def test_a_bad_file_is_an_error_that_says_where(suite, content, error, message):
    suite(content)
    with pytest.raises(error, match=message):
        describe_suite("own")


def test_an_unknown_suite_gets_the_nearest(suite):
    suite(TEXT.encode())
    with pytest.raises(SpecError, match="unknown suite 'onw'; did you mean 'own'"):
        describe_suite("onw")
