"""Logs in object storage: read by Polars from a server that speaks S3's protocol, with no word about credentials."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import polars as pl
import pytest
import synthetic
from amounts import part_of
from click.testing import CliRunner

import rankbench
from rankbench.cli import main
from rankbench.errors import InputError, RankbenchError, SpecError
from rankbench.logs.open import open_log

VOTES = pl.DataFrame({"winner": list("abcab"), "loser": list("bcacc")})
SECRET = "wJalrXUtnFEMI"


def stored(frame: pl.DataFrame, form: str) -> bytes:
    file = io.BytesIO()
    {"parquet": frame.write_parquet, "csv": frame.write_csv, "ndjson": frame.write_ndjson}[form](file)
    return file.getvalue()


OBJECTS = {
    "votes.parquet": stored(VOTES, "parquet"),
    "votes.csv": stored(VOTES, "csv"),
    "votes.ndjson": stored(VOTES, "ndjson"),
    "parts/part-0.parquet": stored(VOTES[:2], "parquet"),
    "parts/part-1.parquet": stored(VOTES[2:], "parquet"),
    "scores.csv": b"model,t1,t2,t3\na,1,2,3\nb,2,3,5\n",
    "bad.csv": b"winner,loser\na,b\nc,c\n",
    "no.parquet": b"PAR1 no Parquet at all PAR1",
}


class Storage(BaseHTTPRequestHandler):
    """One bucket, as S3 has it: HEAD, GET of a range, and a list of the keys that begin so."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None: ...

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), "ETag": '"1"', **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        key = unquote(parts.path).removeprefix("/bucket").lstrip("/")
        if SECRET not in "".join(self.headers.values()) and not key:
            prefix = parse_qs(parts.query).get("prefix", [""])[0]
            rows = "".join(
                f"<Contents><Key>{name}</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified><ETag>1</ETag>"
                f"<Size>{len(content)}</Size></Contents>"
                for name, content in OBJECTS.items()
                if name.startswith(prefix)
            )
            self.answer(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{rows}</ListBucketResult>".encode())
        elif key not in OBJECTS:
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        else:
            content, size = OBJECTS[key], len(OBJECTS[key])
            said = self.headers.get("Range", "")
            if not said:
                self.answer(200, content)
                return
            first, _, last = said.removeprefix("bytes=").partition("-")
            begin, end = (int(first), int(last or size - 1)) if first else (max(0, size - int(last)), size - 1)
            body = content[begin : end + 1]
            self.answer(206, body, Content_Range=f"bytes {begin}-{begin + len(body) - 1}/{size}")

    do_HEAD = do_GET


@pytest.fixture(scope="module")
def storage() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Storage)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def credentials(storage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ENDPOINT_URL": storage,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "us-east-1",
        "POLARS_CLOUD_MAX_RETRIES": "0",  # the server is here, or gone for good
    }.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("key", part_of(["votes.parquet", "votes.csv", "votes.ndjson", "parts/*.parquet", "parts/"]))
def test_what_is_stored_is_ranked_as_a_file_is(key: str) -> None:
    expected = rankbench.aggregate(VOTES).table
    assert rankbench.aggregate(f"s3://bucket/{key}").table.equals(expected)


@pytest.mark.parametrize("key", ["votes.parquet", "votes.csv", "votes.ndjson", "parts/"])
def test_rows_of_what_is_stored_are_filtered(key: str) -> None:
    found = rankbench.aggregate(f"s3://bucket/{key}", where="winner <> 'b'", min_votes=1)
    assert found.table.equals(rankbench.aggregate(VOTES.filter(pl.col("winner") != "b")).table)
    assert "3 of 5 rows are left: where winner <> 'b'" in found.notes


@pytest.mark.full
def test_a_run_names_the_address_and_writes_no_secrets(tmp_path: Path) -> None:
    arguments = ["run", "--log", "s3://bucket/votes.parquet", "--reps", "1", "--workers", "1", "--out"]
    done = CliRunner().invoke(main, [*arguments, str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert "s3://bucket/votes.parquet" in synthetic.both_pages(tmp_path / "run")
    whole = b"".join(path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file())
    assert SECRET.encode() not in whole
    assert b"AKIA" not in whole


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (("--log", "s3://bucket/none.parquet"), "s3://bucket/none.parquet: "),
        (("--log", "s3://bucket/bad.csv"), "s3://bucket/bad.csv:3 [winner]"),
        (("--log", "s3://bucket/votes.csv", "--reader", "csv"), "leave --reader out"),
        (("--dataset", "s3://bucket/votes.csv", "--suite", "paper"), "s3://bucket/votes.csv"),
    ],
)
def test_a_run_of_what_cannot_be_read_leaves_no_folder(tmp_path: Path, log: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(main, ["run", *log, "--out", str(tmp_path / "run")])
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert not (tmp_path / "run").exists()


def test_score_tables_are_ranked_from_there() -> None:
    told: dict[str, Any] = {"columns": "system=model,scores=t?", "without": ["t3"], "replicates": 50}
    found = rankbench.rank("s3://bucket/scores.csv", **told)
    expected = rankbench.rank(pl.read_csv(OBJECTS["scores.csv"]), **told)
    assert found.table.equals(expected.table)


@pytest.mark.parametrize("verb", [("data", "describe"), ("aggregate",)])
def test_what_signs_an_address_is_not_printed(storage: str, verb: tuple[str, ...]) -> None:
    done = CliRunner().invoke(main, [*verb, f"{storage}/bucket/votes.csv?X-Amz-Signature={SECRET}"])
    assert done.exit_code == 0, done.output
    assert SECRET not in done.output


def test_a_server_that_is_gone_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(InputError, match=r"s3://nobody/votes\.parquet: "):
        open_log("s3://nobody/votes.parquet").frame.collect()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://bucket/none.parquet", "s3://bucket/none.parquet: "),
        ("s3://bucket/bad.csv", r"s3://bucket/bad.csv:3 \[winner\]"),
        ("s3://bucket/no.parquet", "s3://bucket/no.parquet: "),
        ("s3://bucket/votes.xlsx", "its ending says no format"),
        (f"s3://AKIAIOSFODNN7:{SECRET}@bucket/votes.parquet", "leave user and password out"),
    ],
)
def test_errors_say_no_secrets(address: str, said: str) -> None:
    with pytest.raises(RankbenchError, match=said) as caught:
        open_log(address).frame.collect()
    assert isinstance(caught.value, InputError | SpecError)
    assert SECRET not in str(caught.value)
    assert "AKIA" not in str(caught.value)
