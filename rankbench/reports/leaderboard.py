"""The leaderboard is one Markdown page of a suite's results.

What was asked and of which data (what is simulated, first), who is best and whether that is real, how the claims fared,
a figure, and who is best in each experiment. Then a list of contents, and the rest: the recommendation, the claims,
each experiment with its figure and the table of its largest n, all other tables to be unfolded, the data, and how all
of it was made.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import unescape

from rankbench.core.text import code, first_of, grouped_digits, literal, markdown
from rankbench.interfaces.figure import Drawing
from rankbench.reports.analysis import Analysis, Section
from rankbench.reports.claims_section import claims_section
from rankbench.reports.document import Bullets, Column, Details, Grid, Heading, Image, Node, Paragraph
from rankbench.reports.experiment_data import Race
from rankbench.reports.figures import DrawnFigure
from rankbench.reports.footnotes import Group, facts, footnotes, overview, source_groups
from rankbench.reports.leaderboard_intro import at_a_glance, in_short, question_and_data, top_items
from rankbench.reports.recommendation import Recommendation, recommended
from rankbench.reports.tables import exact_tables, intervals_tables, race_title, ranking_tables
from rankbench.store.records import SuiteRecord

_ESCAPED = re.compile(r"\\([^\w\s]|_)")


def heading_anchors(blocks: Sequence[Node]) -> list[tuple[Heading, str]]:
    """Return every heading with its anchor, as GitHub and its followers make it of the words.

    Small letters, hyphens for spaces, letters, digits, hyphens and underscores only; of equal ones the second
    ends in ``-1``.
    """
    times: Counter[str] = Counter()
    found = []
    for heading in _headings(blocks):
        words = unescape(_ESCAPED.sub(r"\1", heading.text.replace("`", "").replace("*", "")))
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        found.append((heading, f"{slug}-{times[slug]}" if times[slug] else slug))
        times[slug] += 1
    return found


def _headings(blocks: Sequence[Node]) -> Iterator[Heading]:
    for block in blocks:
        if isinstance(block, Heading):
            yield block
        elif isinstance(block, Details):
            yield from _headings(block.blocks)


DATA = "The data"

MOST_NAMED = 30
"""Contenders that are named under a figure as left out for one reason."""


def leaderboard(analysis: Analysis, found: Sequence[Recommendation], figures: Sequence[DrawnFigure]) -> list[Node]:
    """Return the leaderboard of a suite, with what is recommended and its figures, as a document."""
    record = analysis.record
    groups = source_groups(analysis)
    glance, items = at_a_glance(analysis), top_items(analysis)
    rest = [
        *recommended(found),
        *claims_section(analysis),
        *_how_to_read(record),
        *(part for section in analysis.sections for part in _experiment(section, figures)),
        *_data(groups),
        *_made_by(record),
    ]
    beginning = [
        Heading(1, markdown(record.title)),
        *question_and_data(analysis, groups),
        *_progress(analysis),
        *in_short(analysis, found),
        *_left_out(record),
        *([Heading(2, "At a glance"), *glance] if glance else []),
        *([Heading(2, "First in the ranking"), *items] if items else []),
    ]
    before, contents = len(list(_headings(beginning))) + 1, Heading(2, "On this page")
    anchors = heading_anchors([*beginning, contents, *rest])[before:]
    links = tuple(f"[{heading.text}](#{anchor})" for heading, anchor in anchors if heading.level == 2)
    return [*beginning, contents, Bullets(links), *rest]


def _left_out(record: SuiteRecord) -> list[Node]:
    lines = tuple(f"{markdown(name)} is left out ({markdown(why)})." for name, why in record.left_out.items())
    return [Bullets(lines)] if lines else []


def _progress(analysis: Analysis) -> list[Node]:
    if analysis.cells_known >= analysis.cells_planned:
        return []
    line = (
        f"**Partial:** {grouped_digits(analysis.cells_known)} of {grouped_digits(analysis.cells_planned)} cells have "
        "been computed. Run the suite again to go on."
    )
    return [Bullets((line,))]


def _how_to_read(record: SuiteRecord) -> list[Node]:
    kinds = [source for source in record.sources if source.layout == "race"]
    if not kinds:
        return []
    lines = [
        "**rank**: the places that a contender may hold: *1 to 6* is any from the first to the sixth, all ranges "
        "of a table together at 95%. Contenders whose ranges do not overlap are told apart; those whose ranges "
        "overlap may or may not be: see the differences. Bold: nothing is significantly better, where anything is "
        "told apart.",
    ]
    units = dict.fromkeys(source.judged_on for source in kinds if source.test_share is None)
    for unit in units:
        lines += [
            f"**over draws**: 95% interval if the judgments were drawn again, for these very {unit} (what the "
            "papers show).",
            f"**over {unit} and draws**: 95% interval for other {unit} as well. Only what shows here is called "
            f"real. Contenders share {unit} and draws, so intervals of two means may overlap while their "
            "*difference* is certain: look at the difference, **minus** the baseline named before the run.",
        ]
    if any(source.test_share is not None for source in kinds):
        lines += [
            "**corrected**: 95% interval of the corrected resampled t. The runs split the same observations and so "
            "share training data; taken for independent, their intervals would be far too narrow. **wins**: runs in "
            "which a contender was better than the baseline.",
        ]
    cautions = {
        metric.name: metric.caution
        for experiment in record.experiments
        for metric in map(record.source(experiment.name).metric, experiment.losses)
        if metric.caution
    }
    lines += [f"**{markdown(name)}** {caution}" for name, caution in cautions.items()]
    return [Heading(2, "How to read the tables"), Bullets(tuple(lines))]


def _experiment(section: Section, figures: Sequence[DrawnFigure]) -> list[Node]:
    sampler = section.sampler
    experiment, source = sampler.experiment, sampler.source
    parts: list[Node] = [Heading(2, markdown(experiment.title))]
    for one in (one for one in figures if one.sampler is sampler):
        words = markdown(one.figure.title or experiment.title)
        parts.append(Image(words, f"figures/{one.figure.file}.svg"))
        parts += _not_in(one.drawing)
    open_race = next((race for race in reversed(sampler.races) if race.repetitions), sampler.races[-1])
    parts += _race(section, open_race, leading=True)
    for race in sampler.races:
        if race is not open_race:
            summary = f"{markdown(experiment.name)}{race_title(race, source)}"
            parts.append(Details(summary, tuple(_race(section, race, leading=False))))
    specs = {arm.label: arm.spec for race in sampler.races for arm in race.arms}
    listed = [(markdown(label), code(spec)) for label, spec in specs.items()]
    table = Grid.from_rows([Column("contender"), Column("spec")], listed)
    parts.append(Details("The contenders, as they are written on the command line", (table,)))
    return parts


def _race(section: Section, race: Race, *, leading: bool) -> list[Node]:
    """Return the tables of one n; of the leading one those of the headline are open, and the others to be unfolded."""
    sampler = section.sampler
    experiment, source = sampler.experiment, sampler.source
    parts: list[Node] = [Heading(3, f"{markdown(experiment.name)}{race_title(race, source)}")]
    if source.layout != "race":
        parts += exact_tables(sampler, race) if source.layout == "exact" else ranking_tables(sampler, race)
        return [*parts, *footnotes(race, source)]
    rows = [row for row in section.rows if row.n == race.n]
    first = [row for row in rows if not leading or row.metric == sampler.metrics[0]]
    others = [row for row in rows if leading and row.metric != sampler.metrics[0]]
    parts += intervals_tables(source, first, experiment.baseline)
    if others:
        names = ", ".join(code(metric) for metric in sampler.metrics[1:])
        parts.append(Details(f"By {names}", tuple(intervals_tables(source, others, experiment.baseline))))
    return [*parts, *footnotes(race, source)]


def _data(groups: Sequence[Group]) -> list[Node]:
    """Return what the data are, and how the judgments come from them."""
    if len(groups) == 1:
        return [Heading(2, DATA), *facts(groups[0])]
    titled = [(Heading(3, ", ".join(map(markdown, group.experiments))), *facts(group)) for group in groups]
    return [Heading(2, DATA), *overview(groups), *(part for parts in titled for part in parts)]


def _not_in(drawing: Drawing) -> list[Node]:
    """Say under a figure who is not in it, and why."""
    found: dict[str, list[str]] = {}
    for omission in drawing.left_out:
        why = omission.why if omission.cause != "choice" else "not chosen by the suite"
        at = f" at {omission.where}" if omission.where else ""
        found.setdefault(why, []).append(f"{literal(omission.label)}{at}")
    if not found:
        return []
    lists = [f"{first_of(names, MOST_NAMED)} ({markdown(why)})" for why, names in found.items()]
    return [Paragraph(f"Not in the figure: {'; '.join(lists)}.")]


def _made_by(record: SuiteRecord) -> list[Node]:
    lines = [f"suite {code(record.name)}, seed {code(str(record.seed))}"]
    lines += [f"{markdown(name)} {code(version)}" for name, version in sorted(record.versions.items())]
    if record.cpu:
        lines.append(f"CPU class {code(record.cpu)}")
    if record.code_digest:
        lines.append(f"code digest {code(record.code_digest)}")
    for name, digest in (record.plugins or {}).items():
        theirs = dict.fromkeys(label for made in record.made_by.values() for label, by in made.items() if name in by)
        whose = f", with a part in {', '.join(map(code, theirs))}" if theirs else ""
        lines.append(f"plugin {markdown(name)}{whose}; code digest {code(digest)}")
    return [Heading(2, "What made this"), Bullets(tuple(lines))]
