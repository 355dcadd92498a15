"""The leaderboard as one HTML file: its words, all standings, and any two contenders against each other."""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from rankbench.core.runtime import one_blas_thread
from rankbench.core.text import csv_cell, one_line
from rankbench.drawing.looks import assign_looks
from rankbench.html.charts import Chart
from rankbench.html.page import Page, SortedTable, formulas, page_bytes
from rankbench.plugin import manager
from rankbench.plugin.component_description import describe_component
from rankbench.plugin.registry import base_of
from rankbench.reports.analysis import Section
from rankbench.reports.figures import over_units
from rankbench.reports.leaderboard_intro import headline_section
from rankbench.reports.recommendation_facts import together_level
from rankbench.reports.references import bibliography, own_components, works_of
from rankbench.reports.render import FIGURES, Pages
from rankbench.stats.contrast_columns import ArmContrast
from rankbench.stats.contrasts import contrasts, contrasts_over_draws

STANDINGS = (
    "experiment", "dataset", "n", "metric", "split", "contender", "mean", "lower_queries", "upper_queries", "lower",
    "upper", "rank_low", "rank_high", "difference", "difference_lower", "difference_upper", "p_holm", "wins",
    "repetitions", "status",
)  # fmt: skip
"""Columns of ``leaderboard.csv`` that the page shows, with the texts of the file."""

CONTRASTS = (
    "experiment", "claim", "verdict", "contrast", "estimate", "lower", "upper", "lower_draws", "upper_draws", "units",
    "origin",
)  # fmt: skip
"""Columns of ``claims.csv`` that the page shows, with the texts of the file."""

WORDS = {"experiment", "dataset", "metric", "split", "contender", "status", "claim", "verdict", "contrast", "units",
         "origin"}  # fmt: skip
"""Columns of words; all others have numbers."""


def leaderboard_html(pages: Pages, pictures: Mapping[str, bytes]) -> bytes:
    """Return the page of a report.

    Parameters
    ----------
    pages : Pages
    pictures : mapping of str to bytes
        Figures by path, as `rankbench.reports.render.pictures_of` returns them; the page has none of those that are
        missing.
    """
    analysis, texts = pages.analysis, {name: data.decode() for name, data in pages.files.items()}
    looks = assign_looks([one.drawing for one in pages.figures])
    levels = {section.sampler.experiment.name: together_level(section, analysis) for section in analysis.sections}
    with one_blas_thread():
        charts = [
            Chart(
                one.figure.file,
                one.figure.title or one.sampler.experiment.title,
                one.drawing,
                looks,
                pictures.get(f"{FIGURES}/{one.figure.file}.svg", b""),
                over_units(one, levels[one.sampler.experiment.name]),
            )
            for one in pages.figures
        ]
        first = headline_section(analysis)
        sections = sorted(analysis.sections, key=lambda section: section is not first)
        pairs = [one for section in sections for one in _pairs(section)]
    tables = []
    if any(section.rows for section in analysis.sections):
        tables.append(_table("standings", "All standings", texts["leaderboard.csv"], STANDINGS, STANDINGS[:6]))
    if "claims.csv" in texts:
        tables.append(_table("claims", "Contrasts of the claims", texts["claims.csv"], CONTRASTS, CONTRASTS[:3]))
    panels = _panels(analysis.sections)
    title, details = analysis.record.title, texts["details.md"]
    return page_bytes(
        Page(title, texts["leaderboard.md"], tables, charts, details, panels, pairs, works=bibliography(analysis))
    )


def _table(name: str, title: str, text: str, shown: Collection[str], filters: Collection[str]) -> SortedTable:
    """Return columns of a CSV file as a table of the page."""
    head, *rows = csv.reader(io.StringIO(text))
    return SortedTable(
        name,
        title,
        [column.replace("_", " ") for column in shown],
        [[row[head.index(column)] for column in shown] for row in rows],
        numeric={at for at, column in enumerate(shown) if column not in WORDS},
        filters={at for at, column in enumerate(shown) if column in filters},
        opens=next((at for at, column in enumerate(shown) if column == "contender"), None),
    )


def _panels(sections: list[Section]) -> dict[str, list[tuple[str, str]]]:
    """Return the facts on each contender: its text in each experiment, and its components."""
    found: dict[str, dict[str, str]] = {}
    for section in sections:
        experiment = section.sampler.experiment.name
        for arm in (arm for race in section.sampler.races for arm in race.arms):
            facts = found.setdefault(csv_cell(arm.label), {})
            facts[f"in {experiment}"] = one_line(arm.spec)
            for name, words in _components(arm.config):
                # Experiments may give one label to different parameters.
                if facts.setdefault(name, words) != words:
                    facts[f"{name} in {experiment}"] = words
    # Works that are cited come last.
    return {label: sorted(facts.items(), key=lambda fact: fact[0].startswith("[")) for label, facts in found.items()}


def _components(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what rankbench's own components of a contender are, and the works that they cite."""
    for kind, name, values in own_components(config):
        yield f"{kind} {name}", _described(kind, name, values)
        if found := formulas_in(describe_component(kind, name).documentation):
            yield f"formula of {name}", formulas(found)
        for label, text in works_of(manager.component_class(base_of(kind), name)):
            yield f"[{label}]", text


def _described(kind: str, name: str, values: Mapping[str, str]) -> str:
    """Return a component's summary, parameters and source."""
    one = describe_component(kind, name)
    lines = [re.sub(r":\w+:(?=`)|`", "", one.summary)]
    if values:
        lines.append(f"Parameters: {', '.join(f'{key} = {value}' for key, value in values.items())}")
    return "\n".join([*lines, f"Source: {one.source.replace(']_', ']')}"] if one.source else lines)


def formulas_in(documentation: str) -> list[str]:
    """Return the first formulas of a docstring, which stand together, each as LaTeX on one line."""
    found = re.search(r"\.\. math::\s*(.+?)\n\s*\n(?!\s*\.\. math::)", f"{documentation}\n\n", re.DOTALL)
    return [" ".join(latex.split()) for latex in re.split(r"\.\. math::", found[1])] if found else []


def _pairs(section: Section) -> Iterator[dict[str, Any]]:
    """Yield the paired differences of the tables at each n, each pair by itself."""
    sampler = section.sampler
    if sampler.source.layout != "race":
        return
    for race, metric, split in itertools.product(sampler.races, sampler.metrics, sampler.source.shown_splits()):
        if not race.repetitions or len(race.racing) < 2:
            continue
        sample, values = sampler.sample(race.racing, metric, split, race.repetitions), list[int | None]()
        for i, j in itertools.combinations(range(len(race.racing)), 2):
            both, alone = (found(sample, ArmContrast(i, j)) for found in (contrasts, contrasts_over_draws))
            found = both.estimate, both.lower, both.upper, alone.lower, alone.upper
            values += [_millionths(one[0]) for one in found]
        yield {
            "experiment": sampler.experiment.name,
            "dataset": csv_cell(sampler.source.dataset),
            "n": f"{race.n:,}",
            "metric": metric,
            "split": sampler.source.short(split),
            "units": sampler.source.judged_on,
            "better": "less" if sampler.source.direction(metric) == "minimize" else "more",
            "names": tuple(csv_cell(arm.label) for arm in race.racing),
            "values": values,
        }


def _millionths(value: float) -> int | None:
    """Return a number as ``leaderboard.csv`` has it, with six decimals."""
    return round(float(value) * 1e6) if math.isfinite(value) else None
