"""Logs in object storage, on a server that behaves as S3 does (moto): `make elsewhere` brings it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import rankbench

pytest.importorskip("moto")
boto3 = pytest.importorskip("boto3")

SECRET, KEY = "wJalrXUtnFEMIK7MDENG", "AKIAIOSFODNN7EXAMPLE"
PROGRAM = [sys.executable, "-c", "from rankbench.cli import main; main()"]


def votes(count: int = 300) -> pl.DataFrame:
    """Return votes by ten judges, who tell items apart."""
    rows = [
        ("abcde"[min(i % 5, i % 4)], "abcde"[4 if min(i % 5, i % 4) == 0 else 0], f"j{i % 10}") for i in range(count)
    ]
    return pl.DataFrame([row for row in rows if row[0] != row[1]], ["winner", "loser", "judge"], orient="row")


def stored(frame: pl.DataFrame, form: str) -> bytes:
    file = io.BytesIO()
    {"parquet": frame.write_parquet, "csv": frame.write_csv, "ndjson": frame.write_ndjson}[form](file)
    return file.getvalue()


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    """Return the surroundings of a process that may read the storage."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    storage = boto3.client(
        "s3", endpoint_url=address, aws_access_key_id=KEY, aws_secret_access_key=SECRET, region_name="us-east-1"
    )
    storage.create_bucket(Bucket="logs")
    frame = votes()
    for form in ("parquet", "csv", "ndjson"):
        storage.put_object(Bucket="logs", Key=f"votes.{form}", Body=stored(frame, form))
    for at, part in enumerate(frame.iter_slices(100)):
        storage.put_object(Bucket="logs", Key=f"day/part-{at}.parquet", Body=stored(part, "parquet"))
    storage.put_object(Bucket="logs", Key="bad.csv", Body=b"winner,loser\na,b\nc,c\n")
    storage.put_object(Bucket="logs", Key="no.parquet", Body=b"PAR1 no Parquet at all PAR1")
    yield {
        "AWS_ENDPOINT_URL": address, "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
    }  # fmt: skip
    server.stop()


def told(environment: dict[str, str], *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the command, of which neither output may have a secret."""
    done = subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, env=os.environ | environment | more, timeout=300
    )
    for said in (done.stdout, done.stderr):
        assert SECRET not in said
        assert KEY not in said
    return done


@pytest.mark.parametrize("key", ["votes.parquet", "votes.csv", "votes.ndjson", "day/*.parquet", "day/"])
def test_what_is_stored_is_ranked_as_a_file_is(environment: dict[str, str], key: str) -> None:
    done = told(environment, "aggregate", f"s3://logs/{key}", "--format", "json", "--intervals", "judges")
    assert done.returncode == 0, done.stderr
    expected = rankbench.aggregate(votes(), intervals="judges").table
    assert [row["item"] for row in json.loads(done.stdout)["items"]] == expected["item"].to_list()
    assert [row["score"] for row in json.loads(done.stdout)["items"]] == expected["score"].to_list()


def test_a_run_reads_it_once_and_names_the_address(environment: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ("run", "--log", "s3://logs/votes.parquet", "--reps", "2", "--workers", "2")
    done = told(environment, *arguments, "--out", str(out))
    assert done.returncode == 0, done.stderr
    written = [path for path in out.rglob("*") if path.is_file()]
    assert any(path.name == "run.json" for path in written)
    for path in written:
        content = path.read_bytes()
        assert SECRET.encode() not in content, path
        assert KEY.encode() not in content, path
    assert "s3://logs/votes.parquet" in (out / "leaderboard.md").read_text(encoding="utf-8")
    again = told(environment, *arguments, "--out", str(out))
    assert again.returncode == 0, again.stderr
    # The same judgments from a file give the same numbers.
    votes().write_parquet(tmp_path / "votes.parquet")
    told(environment, "run", "--log", str(tmp_path / "votes.parquet"), "--reps", "2", "--out", str(tmp_path / "file"))
    values = [
        pl.read_csv(folder / "leaderboard.csv", infer_schema=False).select("contender", "metric").height
        for folder in (out, tmp_path / "file")
    ]
    assert values[0] == values[1] > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("aggregate", "s3://logs/none.parquet"), "s3://logs/none.parquet: "),
        (("aggregate", "s3://nobody/votes.parquet"), "s3://nobody/votes.parquet: "),
        (("aggregate", "s3://logs/no.parquet"), "s3://logs/no.parquet: "),
        (("aggregate", "s3://logs/bad.csv"), "s3://logs/bad.csv:3 [winner]: item 'c' is compared with itself"),
        (("aggregate", "s3://logs/votes.xlsx"), "its ending says no format"),
        (("aggregate", f"s3://{KEY}:{SECRET}@logs/votes.parquet"), "leave user and password out"),
        (("run", "--log", "s3://logs/none.parquet"), "s3://logs/none.parquet: "),
        (("run", "--log", "s3://logs/bad.csv"), "s3://logs/bad.csv:3 [winner]"),
        (("run", "--log", "s3://logs/votes.csv", "--reader", "csv"), "leave --reader out"),
        (("run", "--dataset", "s3://logs/votes.csv", "--suite", "paper"), "s3://logs/votes.csv"),
    ],
)
def test_errors_say_what_and_no_secrets(
    environment: dict[str, str], tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    out = ("--out", str(tmp_path / "run")) if arguments[0] == "run" else ()
    done = told(environment, *arguments, *out)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_server_that_is_gone_is_said(environment: dict[str, str]) -> None:
    done = told(environment, "aggregate", "s3://logs/votes.parquet", AWS_ENDPOINT_URL="http://127.0.0.1:9")
    assert done.returncode == 2
    assert done.stderr.startswith("error: s3://logs/votes.parquet: ")


def test_what_signs_an_address_is_not_shown(environment: dict[str, str]) -> None:
    """Of the web an address may be signed, which is as good as a password."""
    signed = f"{environment['AWS_ENDPOINT_URL']}/logs/none.csv?X-Amz-Credential={KEY}&X-Amz-Signature={SECRET}"
    done = told(environment, "aggregate", signed)
    assert done.returncode == 2
    assert "/logs/none.csv: " in done.stderr
