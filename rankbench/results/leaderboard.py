"""``leaderboard.md``: what a reader wants to know, in that order.

What the data are, what was claimed and what came of it, then each experiment with its
figure and its tables, and how all of it was made.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from rankbench.results.analysis import Analysis, Section
from rankbench.results.evidence import claims_markdown
from rankbench.results.footnotes import footnotes
from rankbench.results.sample import Race
from rankbench.results.schema import Split, SuiteRecord
from rankbench.results.standings import Standing, best_first
from rankbench.results.text import code, count, interval, markdown, number, sentence

__all__ = ["SPLIT_TITLES", "leaderboard_markdown"]

SPLIT_TITLES: dict[Split, str] = {
    "design": "Design queries (those that were judged, as in the paper)",
    "heldout": "Held-out queries (never judged)",
}


def leaderboard_markdown(analysis: Analysis) -> str:
    """Return the leaderboard of a suite as Markdown, ending in a line feed."""
    record = analysis.record
    parts = [
        f"# {markdown(record.title)}",
        *_simulated(record),
        _facts(analysis),
        *claims_markdown(analysis),
        _how_to_read(),
        *(part for section in analysis.sections for part in _experiment(record, section)),
        *_made_by(record),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _simulated(record: SuiteRecord) -> list[str]:
    if not record.simulated:
        return []
    lines = [f"> **These data are *simulated*** ({code(record.dataset)}): no person judged anything."]
    if record.assumptions:
        lines.append("> What the simulation assumes:")
        lines.append(">")
        lines.extend(f"> - {markdown(sentence(text))}" for text in record.assumptions)
    return ["\n".join(lines)]


def _facts(analysis: Analysis) -> str:
    record = analysis.record
    queries = {"design": "design", "heldout": "held-out"}
    sizes = " and ".join(f"{count(record.queries[split])} {queries[split]}" for split in record.splits())
    sampled = sorted({race.n for section in analysis.sections for race in section.sampler.races})
    rows = [
        ("data", f"{code(record.dataset)}{' (simulated)' if record.simulated else ''}, {sizes} queries"),
        ("sha256", code(record.fingerprint)),
        ("features", ", then ".join(code(name) for name in record.transforms) or "as they are"),
        ("judgments n", ", ".join(count(n) for n in sampled)),
        ("seed", code(str(record.seed))),
    ]
    table = ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)]
    notes = [f"- {markdown(sentence(note))}" for note in record.notes]
    if analysis.cells_known < analysis.cells_planned:
        notes.insert(
            0,
            f"- **Partial:** {count(analysis.cells_known)} of {count(analysis.cells_planned)} cells have been "
            "computed. Run the suite again to go on.",
        )
    return "\n".join(table) + ("\n\n" + "\n".join(notes) if notes else "")


def _how_to_read() -> str:
    return "\n".join(
        [
            "## How to read the tables",
            "",
            "- **rank**: the places that a contender may hold, *best ... worst*, all ranges of a table together at "
            "95%. Contenders whose ranges do not overlap are told apart; those whose ranges overlap may or may not be: "
            "see the differences. Bold: nothing is significantly better.",
            "- **over draws**: 95% interval if the judgments were drawn again, for these very queries (what the "
            "papers show).",
            "- **over queries and draws**: 95% interval for other queries as well. Only what shows here is called "
            "real. Contenders share queries and draws, so intervals of two means may overlap while their "
            "*difference* is certain: look at the difference, **minus** the baseline named before the run.",
        ]
    )


def _experiment(record: SuiteRecord, section: Section) -> list[str]:
    experiment = section.sampler.experiment
    parts = [f"## {markdown(experiment.title)}"]
    for figure in experiment.figures:
        words = markdown(figure.title or experiment.title)
        parts.append(f"![{words}](figures/{figure.file}.svg)")
    for race in section.sampler.races:
        rows = [row for row in section.rows if row.n == race.n]
        parts.append(f"### {markdown(experiment.name)}: n = {count(race.n)}{_partial(race)}")
        for (metric, split), group in groupby(rows, key=lambda row: (row.metric, row.split)):
            parts.append(f"**{SPLIT_TITLES[split]}**, {code(metric)}, {_direction(record, metric)}")
            parts.append(_table(list(group), experiment.baseline))
        parts.extend(footnotes(race))
    specs = {race_arm.member.label: race_arm.member.spec for race in section.sampler.races for race_arm in race.arms}
    listed = "\n".join(f"| {markdown(label)} | {code(spec)} |" for label, spec in specs.items())
    parts.append(
        "<details><summary>The contenders, as they are written on the command line</summary>\n\n"
        f"| contender | spec |\n|---|---|\n{listed}\n\n</details>"
    )
    return parts


def _direction(record: SuiteRecord, metric: str) -> str:
    return "less is better" if record.direction(metric) == "minimize" else "more is better"


def _partial(race: Race) -> str:
    have = len(race.repetitions)
    if have == race.planned:
        return f", {race.planned} repetition{'s' if race.planned != 1 else ''}"
    return f" (partial: {have} of {race.planned} repetitions)"


def _table(rows: Sequence[Standing], baseline: str) -> str:
    head = ["rank", "contender", "mean", "over draws", "over queries and draws"]
    against = any(row.contender == baseline and row.rank_low is not None for row in rows)
    if against:
        head += [f"minus {markdown(baseline)}", "over queries and draws"]
    lines = ["| " + " | ".join(head) + " |", "|:-:|---|--:|:-:|:-:|" + ("--:|:-:|" if against else "")]
    for row in best_first(rows):
        name = markdown(row.contender) + (" †" if row.equals else "")
        cells = [
            _rank(row),
            f"**{name}**" if row.rank_low == 1 else name,
            number(row.mean),
            interval(row.lower, row.upper),
            interval(row.lower_queries, row.upper_queries),
        ]
        if against and row.contender == baseline:
            cells += ["baseline", ""]
        elif against:
            cells += [
                number(row.difference, sign=True),
                interval(row.difference_lower, row.difference_upper, sign=True),
            ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _rank(row: Standing) -> str:
    if row.rank_low is None:
        return row.status if row.status != "done" else "—"
    return str(row.rank_low) if row.rank_low == row.rank_high else f"{row.rank_low} ... {row.rank_high}"


def _made_by(record: SuiteRecord) -> list[str]:
    lines = [f"- suite {code(record.name)}"]
    lines += [f"- {markdown(name)} {code(version)}" for name, version in sorted(record.versions.items())]
    if record.cpu:
        lines.append(f"- CPU class {code(record.cpu)}")
    if record.code_digest:
        lines.append(f"- code digest {code(record.code_digest)}")
    return ["## What made this", "\n".join(lines)]
