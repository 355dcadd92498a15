"""Write what the command line prints and every number that suites compute: two versions are compared by `diff -r`.

    .venv/bin/python scripts/goldens.py OUT [--paper]

A change that moves code and no number leaves OUT/words and OUT/numbers as they were. --paper adds the suite `paper`
with one repetition, which takes minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import polars as pl

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / ".venv" / "bin" / "rankbench"
SUITES = ("demo", "table-1", "theory", "repair", "u-statistics", "selection")
FORMATS = ("table", "csv", "json", "md", "parquet")
VOLATILE = re.compile(r"\d+(\.\d+)? (s|ms|min|MB|GB|GiB)\b|[0-9a-f]{40,64}|[0-9a-f]{16}\b")
"""Times, sizes and digests of code, which may differ between runs of one version."""
READINGS = {
    "votes.csv": {
        "ignore": ["lang", "left_length", "right_length"],
        "query": "query_id",
        **{role: role for role in ("left", "right", "winner", "judge", "time")},
    },
    "graded.csv": {"left": "left", "right": "right", "points": "left_score"},
    "games.csv": {
        "left": "home",
        "right": "away",
        "left_score": "home_score",
        "right_score": "away_score",
        "time": "date",
    },
}
"""What the columns of a log mean, where their names do not say it."""


def logs(folder: Path) -> dict[str, list[str]]:
    """Write small logs of each kind; return the arguments that name them."""
    draw = random.Random(20130501)
    items = ["ash", "birch", "cedar", "dogwood", "elm", "fir"]
    votes, graded, ballots, clicks, games = [], [], [], [], []
    for number in range(600):
        one, two = draw.sample(items, 2)
        ahead = items.index(one) < items.index(two)
        result = "tie" if draw.random() < 0.1 else ("left" if (draw.random() < 0.7) == ahead else "right")
        judge, query = f"j{number % 17}", f"q{number % 5}"
        lang, day = draw.choice(["en", "de"]), f"2024-{1 + number // 60:02d}-{1 + number % 28:02d}"
        votes.append(
            f"{query},{one},{two},{result},{judge},{lang},{day},{len(one) + number % 7},{len(two) + number % 5}"
        )
        graded.append(f"{one},{two},{draw.choice(['0.6', '0.8', '0.3', '0.5'])}")
        games.append(f"{one},{two},{draw.randrange(4)},{draw.randrange(4)},{day}")
    for number in range(80):
        order = sorted(items, key=lambda item: items.index(item) + draw.gauss(0, 2))[: draw.randrange(2, 7)]
        ballots.append(json.dumps({"query_id": "q", "ranking": [[item] for item in order], "judge": f"v{number}"}))
        shown = draw.sample(items, 4)
        clicked = [place + 1 for place in range(4) if draw.random() < 0.5 - 0.06 * items.index(shown[place])]
        clicks.append(json.dumps({"query_id": "q", "session_id": str(number), "shown": shown, "clicked": clicked}))
    texts = {
        "votes.csv": "query_id,left,right,winner,judge,lang,time,left_length,right_length\n" + "\n".join(votes),
        "graded.csv": "left,right,left_score\n" + "\n".join(graded),
        "games.csv": "home,away,home_score,away_score,date\n" + "\n".join(games),
        "ballots.jsonl": "\n".join(ballots),
        "clicks.jsonl": "\n".join(clicks),
    }
    for name, text in texts.items():
        (folder / name).write_text(text + "\n", encoding="utf-8")
    for name, roles in READINGS.items():
        lines = [f"{role} = {json.dumps(column)}" for role, column in roles.items()]
        (folder / f"{name}.reading.toml").write_text("\n".join(["[columns]", *lines]) + "\n", encoding="utf-8")
    rows = [f"{item},{task},{60 - 3 * at + draw.gauss(0, 3):.3f}" for at, item in enumerate(items) for task in "pqrstu"]
    (folder / "scores.csv").write_text("system,task,score\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return {name: [name] for name in texts} | {"llmfao": ["llmfao"]}


def call(out: Path, name: str, *arguments: str) -> None:
    """Keep what a call prints, its exit code, and the file that it writes."""
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, check=False, cwd=out.parent / "files")
    text = (
        done.stdout.decode("utf-8", "backslashreplace")
        + f"\n-- stderr\n{done.stderr.decode()}\n-- exit {done.returncode}\n"
    )
    (out / f"{name}.txt").write_text(VOLATILE.sub("~", text), encoding="utf-8")


def helps(out: Path) -> None:
    """Keep the help of every subcommand."""
    listed = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
    subcommands = re.findall(r"^  ([a-z]+)  ", listed.partition("Commands:")[2], flags=re.MULTILINE)
    for subcommand in [
        "",
        *subcommands,
        "data get",
        "data describe",
        "data convert",
        "history add",
        "history show",
        "new plugin",
        "new suite",
    ]:
        call(out, "help-" + (subcommand.replace(" ", "-") or "all"), *subcommand.split(), "--help")


def components(out: Path) -> None:
    """Keep what is listed, described and planned, and the digest of every component."""
    call(out, "list", "list")
    call(out, "list-json", "list", "--json")
    listed = json.loads(subprocess.run([PROGRAM, "list", "--json"], capture_output=True, check=True).stdout)
    suites = []
    for kind, found in sorted(listed.items()):
        for one in found if isinstance(found, list) else []:
            call(out, f"info-{kind}-{one['name']}", "info", f"{one['name']}")
            suites += [one["name"]] if kind.startswith("suite") else []
    for suite in suites:
        call(out, f"plan-{suite}", "run", "--dry-run", "--suite", suite, "--json")


def answers(out: Path, folder: Path) -> None:
    """Keep the answers of every subcommand that reads a file, in every format."""
    scores = "scores.csv"
    for name, log in logs(folder).items():
        for form in FORMATS:
            target = folder / f"out.{form}"
            call(
                out,
                f"aggregate-{name}-{form}",
                "aggregate",
                *log,
                "--intervals",
                "--format",
                form,
                "--out",
                target.name,
            )
            keep_file(out / f"aggregate-{name}-{form}.out", target)
        call(out, f"describe-{name}", "data", "describe", *log)
        call(out, f"describe-{name}-json", "data", "describe", *log, "--json")
    votes = "votes.csv"
    for name, more in {
        "by": ["--by", "lang", "--intervals"],
        "pool": ["--by", "lang", "--pool"],
        "across": ["--by", "lang", "--across"],
        "control": ["--control", "side, log(length)"],
        "effects": ["--control", "side, log(length)", "--effects"],
        "time": ["--over", "time"],
        "matrix": ["--matrix"],
        "elo": ["--scale", "elo", "--intervals"],
        "judges": ["--intervals", "judges"],
        "crossed": ["--intervals", "judges+queries"],
        "bootstrap": ["--intervals", "bootstrap"],
        "sandwich": ["--intervals", "sandwich"],
    }.items():
        for form in FORMATS:
            target = folder / f"out.{form}"
            call(out, f"votes-{name}-{form}", "aggregate", votes, *more, "--format", form, "--out", target.name)
            keep_file(out / f"votes-{name}-{form}.out", target)
    for method in (
        "borda",
        "win-rate",
        "davidson",
        "elo",
        "glicko-2",
        "kemeny",
        "pagerank",
        "rank-centrality",
        "eigenvector",
    ):
        call(out, f"method-{method}", "aggregate", votes, "--method", method, "--format", "csv")
    for form in FORMATS:
        target = folder / f"out.{form}"
        call(out, f"rank-{form}", "rank", scores, "--format", form, "--out", target.name)
        keep_file(out / f"rank-{form}.out", target)
    for surrogate in ("regression", "pairwise-logistic", "order-preserving", "linear"):
        call(out, f"certify-{surrogate}", "certify", surrogate)
    call(out, "check-ndcg", "check", "ndcg")


def keep_file(path: Path, written: Path) -> None:
    """Keep a file that was written, a Parquet one as text, and remove it."""
    if not written.exists():
        return
    if written.suffix == ".parquet":
        path.write_text(repr(pl.read_parquet(written).to_dict(as_series=False)), encoding="utf-8")
    else:
        path.write_text(VOLATILE.sub("~", written.read_text(encoding="utf-8")), encoding="utf-8")
    written.unlink()


def numbers(out: Path, folder: Path, paper: bool) -> None:
    """Keep the numbers of suites: every row, and the CSV files of the leaderboard."""
    runs = {suite: ["--suite", suite, "--reps", "2"] for suite in SUITES}
    runs |= {f"log-{name}": ["--log", *log, "--reps", "2"] for name, log in logs(folder).items() if name in LOGS}
    if paper:
        runs["paper"] = ["--suite", "paper", "--reps", "1"]
    for name, arguments in runs.items():
        where = folder / name
        subprocess.run(
            [PROGRAM, "run", *arguments, "--out", name],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        rows = pl.read_parquet(where / "results.parquet")
        keys = [c for c in KEYS if c in rows.columns]
        kept = rows.select(*keys, *(c for c in VALUES if c in rows.columns)).sort(keys)
        (out / f"{name}.csv").write_text(kept.write_csv(), encoding="utf-8")
        for table in sorted(where.glob("*.csv")):
            digest = hashlib.sha256(table.read_bytes()).hexdigest()
            (out / f"{name}-{table.name}.sha256").write_text(digest + "\n", encoding="utf-8")
        pages = sorted([*where.glob("*.md"), *where.glob("figures/*.csv"), *where.glob("figures/*.svg")])
        for page in pages:
            (out.parent / "words" / f"run-{name}-{page.name}").write_text(
                VOLATILE.sub("~", page.read_text(encoding="utf-8"))
            )


LOGS = ("votes.csv", "ballots.jsonl", "clicks.jsonl")
KEYS = ("experiment", "dataset", "contender", "n", "repetition", "split", "metric", "step")
VALUES = ("value", "status", "optimality")


def main() -> None:
    """Write words and numbers of this checkout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--paper", action="store_true")
    chosen = parser.parse_args()
    os.environ["COLUMNS"] = "120"
    for part in ("words", "numbers", "files"):
        (chosen.out / part).mkdir(parents=True, exist_ok=True)
    words, values = (chosen.out / part for part in ("words", "numbers"))
    files = (chosen.out / "files").resolve()
    files.mkdir(exist_ok=True)
    helps(words)
    components(words)
    answers(words, files)
    numbers(values, files, chosen.paper)
    sys.stdout.write(f"written: {chosen.out}\n")


if __name__ == "__main__":
    main()
