"""The leaderboard is a Markdown page of a suite's results, with the details in a second one.

The page's first screen has the question, the answer, verdicts of claims, a table, a figure, and links. Then come the
recommendation, the best contender of each experiment, the first items, claims, the data, and how to verify and cite.
The details have each experiment at its largest n, the grounds of the recommendation, contrasts of claims, and the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rankbench.core.text import code, first_of, grouped_digits, literal, markdown
from rankbench.interfaces.figure import Drawing
from rankbench.reports.analysis import Analysis, Section
from rankbench.reports.claims_section import claims_details, claims_section
from rankbench.reports.document import Bullets, Heading, Image, Node, Paragraph
from rankbench.reports.figures import DrawnFigure
from rankbench.reports.footnotes import (
    data_facts,
    data_lines,
    data_remarks,
    footnotes,
    kinds_of_data,
    source_groups,
    troubles,
)
from rankbench.reports.leaderboard_intro import at_a_glance, compared_with, first_screen, named_otherwise, top_items
from rankbench.reports.over_logs import over_logs
from rankbench.reports.over_page import tables_over_logs
from rankbench.reports.recommendation import Recommendation
from rankbench.reports.tables import exact_tables, intervals_tables, race_title, ranking_tables
from rankbench.store.records import SuiteRecord

PAGE, DETAILS = "leaderboard.md", "details.md"

MOST_NAMED = 30
"""Contenders that a figure names as left out for one reason."""


def leaderboard(
    analysis: Analysis, found: Sequence[Recommendation], figures: Sequence[DrawnFigure]
) -> dict[str, list[Node]]:
    """Return the page and the details of a suite, with recommendations and figures, as documents by file."""
    record, groups = analysis.record, source_groups(analysis)
    experiments = [part for section in analysis.sections for part in _experiment(section, figures)]
    compared = dict.fromkeys(text for section in analysis.sections for text in compared_with(section.data.source))
    told = Bullets((*data_lines(groups), *compared, *data_remarks(groups)))
    read, claims, data = _how_to_read(analysis), claims_section(analysis), [told] if told.items else []
    glance = [*at_a_glance(analysis), *_left_out(record)]
    links: dict[str, Sequence[Node]] = {
        "How to read](details.md#words-of-the-tables)": read,
        "Claims](#the-claims)": claims,
        "Experiments](#each-experiment)": glance,
        "Data and assumptions](#data-in-short)": data,
    }
    first = [*_progress(analysis), *first_screen(analysis, kinds_of_data(groups), figures), _links(links)]
    sections: list[tuple[str, Sequence[Node]]] = [
        (PAGE, [Heading(1, markdown(record.title)), *first]),
        (PAGE, tables_over_logs(over_logs(analysis.sections))),
        (PAGE, _titled("Recommendation", [Bullets(one.answer) for one in found])),
        (PAGE, _titled("Each experiment", glance)),
        (PAGE, _titled("First in the ranking", top_items(analysis))),
        (PAGE, claims),
        (PAGE, _titled("Data in short", data)),
        (PAGE, _titled("Verify and cite", [Paragraph(_how_to_verify(record)), *_made_by(record)])),
        (DETAILS, [Heading(1, f"{markdown(record.title)}: details"), *read, *experiments]),
        (DETAILS, _titled("Grounds of the recommendation", [part for one in found for part in one.grounds])),
        (DETAILS, claims_details(analysis)),
        (DETAILS, _titled("The data", data_facts(groups))),
    ]
    return {name: [part for file, parts in sections if file == name for part in parts] for name in (PAGE, DETAILS)}


def _titled(title: str, parts: Sequence[Node]) -> list[Node]:
    return [Heading(2, title), *parts] if parts else []


def _left_out(record: SuiteRecord) -> list[Node]:
    lines = tuple(f"Rankbench leaves out {markdown(name)} ({markdown(why)})." for name, why in record.left_out.items())
    return [Bullets(lines)] if lines else []


def _links(places: Mapping[str, Sequence[Node]]) -> Paragraph:
    """Return links to explanations of the answer, if any."""
    links = [f"[{place}" for place, parts in places.items() if parts]
    return Paragraph(" | ".join([*links, "[Verify](#verify-and-cite)", "[Cite](#verify-and-cite)"]))


def _how_to_verify(record: SuiteRecord) -> str:
    real = dict.fromkeys(code(source.dataset) for source in record.sources if source.dataset and not source.simulated)
    on = f" on {', '.join(real)}" if real else ""
    return (
        "Verify: `rankbench verify FOLDER --rerun 2` makes these files again from their rows, and computes two "
        "repetitions again; FOLDER holds this page's `leaderboard.csv`. Reproduce: run the suite "
        f"{code(record.name)}{on} with the seed {code(str(record.seed))}. Cite: `rankbench report FOLDER --bib FILE` "
        "writes BibTeX of the data and of cited works."
    )


def _progress(analysis: Analysis) -> list[Node]:
    if analysis.cells_known >= analysis.cells_planned:
        return []
    line = (
        f"**Partial:** {grouped_digits(analysis.cells_known)} of {grouped_digits(analysis.cells_planned)} cells have "
        "been computed. Run the suite again to go on."
    )
    return [Bullets((line,))]


def _how_to_read(analysis: Analysis) -> list[Node]:
    record = analysis.record
    if not (kinds := [source for source in record.sources if source.layout == "race"]):
        return []
    lines = [
        "**rank**: the rank range of a contender, as *1 to 6*; all ranges of a table hold together at 95%. "
        "Contenders whose ranges do not overlap are in this order; of others see the differences. "
        "Bold, and a range from 1: it may be the best of the table. "
        "A contender with a worse mean may be the best where its differences are less certain. "
        "An oracle knows the truth, and is no contender for the best.",
    ]
    units = dict.fromkeys(source.judged_on for source in kinds if source.test_share is None)
    for unit in units:
        lines += [
            f"**over repetitions**: 95% interval for new judgments of these very {unit} (as in the papers).",
            f"**over {unit} and repetitions**: 95% interval for other {unit} as well; verdicts rest on it. Contenders "
            f"share {unit} and judgments: intervals of two means may overlap while their *difference* is significant. "
            "Look at the difference, **minus** the baseline named before the run.",
        ]
    if any(source.test_share is not None for source in kinds):
        lines += [
            "**corrected**: 95% interval of the corrected resampled t. Runs split the same observations and share "
            "training data; intervals for independent runs would be far too narrow. **wins**: runs in which a "
            "contender was better than the baseline.",
        ]
    cautions = {
        metric.name: metric.caution
        for experiment in record.experiments
        for metric in map(record.source(experiment.name).metric, experiment.losses)
        if metric.caution
    }
    lines += [f"**{markdown(name)}** {caution}" for name, caution in cautions.items()]
    lines += [f"Each experiment labels its contenders: {one}." for one in named_otherwise(analysis, "spec")]
    return [Heading(2, "Words of the tables"), Bullets(tuple(lines))]


def _experiment(section: Section, figures: Sequence[DrawnFigure]) -> list[Node]:
    data = section.data
    experiment, source = data.experiment, data.source
    parts: list[Node] = [Heading(2, markdown(experiment.title))]
    notes: list[str] = []
    for one in (one for one in figures if one.data is data and not (one.title or one.short)):
        words = markdown(one.figure.title or experiment.title)
        parts.append(Image(words, f"figures/{one.figure.file}.svg"))
        notes += _not_in(one.drawing)
    matched = next((matched for matched in reversed(data.by_n) if matched.repetitions), data.by_n[-1])
    if source.layout == "race":
        rows = [row for row in section.rows if (row.n, row.metric) == (matched.n, data.metrics[0])]
        parts += intervals_tables(data, matched, rows)
    elif source.layout == "exact":
        parts += exact_tables(data, matched)
    else:
        parts += ranking_tables(data, matched)
    file = "leaderboard.csv" if source.layout == "race" else "units.csv"
    others = [other for other in data.by_n if other is not matched]
    more = [*data.metrics[1:], *(race_title(other, source).lstrip(":, ") for other in others)]
    specs = {runs.label: runs.spec for matched in data.by_n for runs in matched.contenders}
    listed = "; ".join(f"{markdown(label)} {code(spec)}" for label, spec in specs.items() if label != spec)
    notes += footnotes(matched, source)
    notes += [f"n = {other.n:,}: {trouble}" for other in others for trouble in troubles(other)]
    notes += [f"Also in [{file}]({file}): {'; '.join(map(markdown, more))}."] if more else []
    notes += [f"Contenders on the command line: {listed}."] if listed else []
    return [*parts, *([Bullets(tuple(notes))] if notes else [])]


def _not_in(drawing: Drawing) -> list[str]:
    """Name contenders that a figure leaves out, and why."""
    found: dict[str, list[str]] = {}
    for omission in drawing.left_out:
        why = omission.why if omission.cause != "choice" else "not chosen by the suite"
        at = f" at {omission.where}" if omission.where else ""
        found.setdefault(why, []).append(f"{literal(omission.label)}{at}")
    if not found:
        return []
    lists = [f"{first_of(names, MOST_NAMED)} ({markdown(why)})" for why, names in found.items()]
    return [f"Not in the figure: {'; '.join(lists)}."]


def _made_by(record: SuiteRecord) -> list[Node]:
    lines = [f"suite {code(record.name)}, seed {code(str(record.seed))}"]
    lines += [f"{markdown(name)} {code(version)}" for name, version in sorted(record.versions.items())]
    if record.cpu:
        lines.append(f"CPU class {code(record.cpu)}")
    if record.code_digest:
        lines.append(f"code digest {code(record.code_digest)}")
    for name, digest in record.plugins.items():
        theirs = dict.fromkeys(label for made in record.made_by.values() for label, by in made.items() if name in by)
        whose = f", with a part in {', '.join(map(code, theirs))}" if theirs else ""
        lines.append(f"plugin {markdown(name)}{whose}; code digest {code(digest)}")
    return [Bullets(tuple(lines))]
