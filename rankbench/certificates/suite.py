"""The suite `consistency` certifies every built-in surrogate for every loss and noise class."""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rankbench.certificates.certificate import NOISE_WORDS, Certificate
from rankbench.certificates.certify import SHORT_LOSSES, certify
from rankbench.certificates.laws import NoiseClass
from rankbench.errors import InputError

PAIRWISE = ("logistic", "exponential", "squared-hinge", "squared", "hinge")
SCORES = (
    "regression",
    "regression:normalize=false",
    "order-preserving",
    "order-preserving-err",
    "order-preserving-as-printed",
    "cross-entropy",
    "listnet",
)
LINEAR = ("linear", "linear-power")

LAWS = {3: 400, 4: 120}
"""Laws that are searched, by the number of items: the same on every machine."""

SLOW_LAWS = {3: 120, 4: 24}
"""The same of surrogates that take linear programs or have no exact form."""

SLOW = ("pairwise-hinge", "listnet", "regression")

HEAD = (
    "surrogate",
    "aggregator",
    "loss",
    "noise",
    "items",
    "verdict",
    "gap",
    "arithmetic",
    "theorem",
    "laws",
    "certificate",
)


@dataclass(frozen=True)
class Entry:
    """One question of the suite."""

    surrogate: str
    aggregator: str | None
    loss: str
    noise: NoiseClass
    items: int

    @property
    def file(self) -> str:
        """Name of its certificate."""
        name = self.surrogate.replace(":", "-").replace("=", "-")
        after = f"-on-{self.aggregator}" if self.aggregator else ""
        return f"{name}{after}_{self.loss}_{self.noise}_{self.items}.json"

    def certify(self) -> Certificate:
        """Answer it."""
        slow = self.surrogate.startswith(SLOW) and (
            self.loss == "pairwise" or not self.surrogate.startswith("regression")
        )
        laws = (SLOW_LAWS if slow else LAWS)[self.items]
        return certify(
            self.surrogate,
            loss=self.loss,
            noise=self.noise,
            items=self.items,
            aggregator=self.aggregator,
            budget="1h",
            laws=laws,
        )


def entries() -> Iterator[Entry]:
    """Return the questions: graphs in each class of noise, grades once, as they are in all classes."""
    forms = [f"pairwise-{phi}{form}" for phi in PAIRWISE for form in ("", ":form=margin")]
    of_graphs: list[tuple[str, str | None]] = [(name, None) for name in (*forms, *LINEAR, *SCORES)]
    of_graphs += [(f"pairwise-{phi}", "difference-graph") for phi in PAIRWISE]
    classes: tuple[NoiseClass, ...] = ("low", "dag", "any")
    for (name, aggregator), noise, items in itertools.product(of_graphs, classes, LAWS):
        yield Entry(name, aggregator, "pairwise", noise, items)
    of_scores = (*SCORES, *LINEAR, *(f"pairwise-{phi}" for phi in PAIRWISE))
    for name, loss, items in itertools.product(of_scores, list(SHORT_LOSSES)[1:], LAWS):
        yield Entry(name, None, loss, "any", items)


def consistency(out: Path, told: Callable[[str], None]) -> int:
    """Answer all questions into a folder: certificates, ``leaderboard.csv`` and ``leaderboard.md``.

    Parameters
    ----------
    out : Path
        New, or of an earlier run: ``certificates/`` is made again.
    told : callable
        Is told each answer, a line.

    Returns
    -------
    int
        Number of answers.

    Raises
    ------
    InputError
        The folder holds something else.
    """
    folder = out / "certificates"
    if out.exists() and any(out.iterdir()) and not folder.is_dir():
        raise InputError(f"{out} holds something else than the suite consistency; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    rows = []
    for entry in entries():
        certificate = entry.certify()
        certificate.write(folder / entry.file)
        rows.append(_row(entry, certificate))
        told(f"{entry.file}: {certificate.label}")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEAD)
    writer.writerows(rows)
    (out / "leaderboard.csv").write_text(text.getvalue(), encoding="utf-8")
    (out / "leaderboard.md").write_text(page_of(rows), encoding="utf-8")
    return len(rows)


def _row(entry: Entry, certificate: Certificate) -> tuple[str, ...]:
    gap = f"{float(certificate.gap):.4g}" if certificate.verdict in ("VIOLATION", "VIOLATION_BOUNDARY") else ""
    searched = certificate.content.get("searched", {}).get("laws", "")
    return (
        entry.surrogate,
        entry.aggregator or "",
        entry.loss,
        entry.noise,
        str(entry.items),
        certificate.verdict,
        gap,
        str(certificate.content["arithmetic"]),
        str(certificate.content.get("theorem", {}).get("name", "")),
        str(searched),
        f"certificates/{entry.file}",
    )


_QUESTION = """# Consistency

Is a surrogate consistent for a loss: does every minimizer of its risk minimize the loss's risk (Definition 3 of \
Duchi, Mackey and Jordan, 2013)? The answers are **EXACT**, without data: each has a certificate, which \
`python -m rankbench.certificates.check certificates/*.json` checks without rankbench's search.
"""

_VERDICTS = f"""\
- **VIOLATION**: for the certificate's distribution, wrong scores have a smaller surrogate risk than all right ones. \
The number beside it is the difference, in units of the certificate's weights.
- **VIOLATION_BOUNDARY**: wrong and right scores have the same infimum, exactly.
- **CONSISTENT**: proved for the whole class of noise, by the theorem beside it (docs/explanation/theorems.md) or by \
linear inequalities.
- **NO_COUNTEREXAMPLE_FOUND**: a search of as many distributions as the number beside it found none; this proves \
nothing.
- **INCONCLUSIVE**: the search decided nothing.

Do not compare the numbers of two surrogates: their scales differ. *numerical*: the proof uses values that the \
surrogate computed in double precision, and the checker compares them with a formula of its own. Other proofs are in \
exact or interval arithmetic. Noise: \
{"; ".join(f"*{key}*: {words}" for key, words in NOISE_WORDS.items())}. Distributions of grades \
belong to all three: if i leads j and j leads k in mean gain, i leads k by the sum. Logarithmic \
discounts are tables of 6 decimals.
"""


def page_of(rows: Sequence[tuple[str, ...]]) -> str:
    """Return the page of rows that `HEAD` names: a table for each loss, with a column for each number of items."""
    counted = ", ".join(f"{count} {verdict}" for verdict, count in Counter(row[5] for row in rows).most_common())
    answers = (
        f"**Of {len(rows)} questions**: {counted}. Proved consistent, for at least one loss and noise condition: "
        f"{_surrogates(rows, 'CONSISTENT')}. Without a counterexample, for at least one loss and noise condition: "
        f"{_surrogates(rows, 'NO_COUNTEREXAMPLE_FOUND')}.\n"
    )
    lines = [_QUESTION, answers, _VERDICTS]
    head = f"| surrogate | noise | {' | '.join(f'{items} items' for items in LAWS)} | arithmetic |"
    for loss in SHORT_LOSSES:
        lines += [f"## {loss}", "", head, "|---|---|---|---|---|"]
        shown = [row for row in rows if row[2] == loss]
        for (name, noise), same in itertools.groupby(shown, lambda row: (_name(row), row[3])):
            found = list(same)
            arithmetic = ", ".join(dict.fromkeys(row[7] for row in found))
            lines.append(f"| {name} | {noise} | {' | '.join(map(_answer, found))} | {arithmetic} |")
        lines.append("")
    return "\n".join(lines)


def _name(row: tuple[str, ...]) -> str:
    return f"`{row[0]}`" + (f" on `{row[1]}`" if row[1] else "")


def _surrogates(rows: Sequence[tuple[str, ...]], verdict: str) -> str:
    return ", ".join(dict.fromkeys(_name(row) for row in rows if row[5] == verdict)) or "none"


def _answer(row: tuple[str, ...]) -> str:
    _, _, _, _, _, verdict, gap, _, theorem, laws, file = row
    beside = f"({laws} distributions)" if verdict == "NO_COUNTEREXAMPLE_FOUND" else f"by {theorem}" if theorem else gap
    return f"[{verdict}]({file}) {beside}".rstrip()
