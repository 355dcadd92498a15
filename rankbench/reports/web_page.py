"""The leaderboard as one HTML file: its words, all standings, and any two contenders against each other."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, TypeAlias

from pydantic import ValidationError

from rankbench.core.component import first_problem
from rankbench.core.runtime import one_blas_thread
from rankbench.core.spec import Spec, Value, parse
from rankbench.core.text import csv_cell, one_line
from rankbench.drawing.looks import assign_looks
from rankbench.errors import InputError
from rankbench.html.charts import chart_content
from rankbench.html.content import Chart, Page, PageData, PairTable, Table
from rankbench.html.page import page_bytes, title_of
from rankbench.interfaces.protocol import Protocol
from rankbench.interfaces.suite import Experiment
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin import manager
from rankbench.plugin.component_description import describe_component
from rankbench.plugin.registry import base_of
from rankbench.reports.analysis import Section
from rankbench.reports.claims_section import FARTHEST, UNDETERMINED
from rankbench.reports.figures import over_units
from rankbench.reports.leaderboard import DETAILS, PAGE
from rankbench.reports.leaders import headline_section
from rankbench.reports.recommendation_facts import together_level
from rankbench.reports.references import bibliography, components_of, works_of
from rankbench.reports.render import Pages
from rankbench.reports.tables import metric_name
from rankbench.stats.contrast_columns import ArmContrast
from rankbench.stats.contrasts import contrasts, contrasts_over_draws
from rankbench.store.records import SuiteRecord
from rankbench.suites.suite_files import load_suite

STANDINGS = (
    "experiment", "dataset", "n", "metric", "split", "contender", "mean", "lower_queries", "upper_queries", "lower",
    "upper", "rank_low", "rank_high", "difference", "difference_lower", "difference_upper", "p_holm", "wins",
    "repetitions", "status",
)  # fmt: skip
"""Columns of ``leaderboard.csv`` that the page shows, with the texts of the file."""

LATER = {"lower", "upper", "difference_lower", "difference_upper", "p_holm", "wins", "repetitions", "status",
         "lower_draws", "upper_draws", "origin"}  # fmt: skip
"""Columns of both tables that the page shows when a reader asks for all."""

CONTRASTS = (
    "experiment", "claim", "verdict", "contrast", "estimate", "lower", "upper", "lower_draws", "upper_draws", "units",
    "origin",
)  # fmt: skip
"""Columns of ``claims.csv`` that the page shows, with the texts of the file."""

TITLES = {
    f"{end}_{of}": f"{end} over {words}"
    for end in ("lower", "upper")
    for of, words in (("queries", "units"), ("draws", "repetitions"))
}
"""Titles of columns whose names would mislead: units are queries, votes or populations."""

WORDS = {"experiment", "dataset", "metric", "split", "contender", "status", "claim", "verdict", "contrast", "units",
         "origin"}  # fmt: skip
"""Columns of words; all others have numbers."""


PAGE_DATA = "page.json"
"""Data of the page's scripts, published where rows are kept elsewhere: a page can then be made without them."""

MEANT = "[Details](details.md#the-contrasts-of-the-claims) say what each claim compares, and which side it claims."
"""Words above the contrasts."""

WITHOUT_DATA = "Made from tables alone: figures do not answer, and contenders are not compared in pairs."

MOST_PAIRED = 100
"""Largest number of contenders with a table of all pairs: a thousand contenders have half a million pairs."""


def leaderboard_html(files: Mapping[str, bytes]) -> bytes:
    """Return the page of a report.

    Parameters
    ----------
    files : mapping of str to bytes
        Files of the report, its pictures among them, and `PAGE_DATA`; the page has no picture that is missing.

    Raises
    ------
    InputError
        `PAGE_DATA` is not in the form that reports write.
    """
    words = files[PAGE].decode()
    try:
        data = PageData.model_validate_json(files.get(PAGE_DATA, b"{}"))
    except ValidationError as error:
        raise InputError("{}: {}: {}".format(PAGE_DATA, *first_problem(error))) from error
    remarks = [] if PAGE_DATA in files else [WITHOUT_DATA]
    if data.unpaired:
        named = ", ".join(f"`{name}`" for name in data.unpaired)
        remarks.append(f"The page compares no pairs of experiments with more than {MOST_PAIRED} contenders: {named}.")
    if remarks:
        title, _, rest = words.partition("\n")
        words = f"{title}\n\n*{' '.join(remarks)}*\n{rest}"
    pictures = {PurePosixPath(name).stem: svg for name, svg in sorted(files.items()) if name.endswith(".svg")}
    names = list(dict.fromkeys([*data.charts, *pictures]))
    charts = [
        Chart(name, str(data.charts.get(name, {}).get("words", name)), pictures.get(name, b""), data.charts.get(name))
        for name in names
    ]
    tables = [
        _table(name, title, files[f"{file}.csv"].decode(), columns, columns[:filters], note)
        for name, file, title, columns, filters, note in (
            ("standings", "leaderboard", "All standings", STANDINGS, 6, _directions(data.better)),
            ("claims", "claims", "Contrasts of the claims", CONTRASTS, 3, MEANT),
        )
        if files.get(f"{file}.csv", b"").count(b"\n") > 1
    ]
    details = files.get(DETAILS, b"").decode()
    copied = {"Make it again": data.again, "Cite": data.works}
    copied = {title: text for title, text in copied.items() if text}
    return page_bytes(Page(title_of(words), words, tables, charts, details, data, copied, [*tables_of(files)]))


def tables_of(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a report that are tables beside its page."""
    return {name: files[name] for name in ("leaderboard.csv", "claims.csv", "units.csv") if name in files}


def _directions(better: Mapping[str, str]) -> str:
    """Return the better direction of each metric, in Markdown."""
    said: dict[str, list[str]] = {}
    for metric, words in better.items():
        said.setdefault(words, []).append(metric)
    return " ".join(f"{words[:1].upper()}{words[1:]}: {', '.join(names)}." for words, names in said.items())


def page_data(pages: Pages) -> bytes:
    """Return `PAGE_DATA` of a report; the same report gives the same bytes."""
    analysis = pages.analysis
    looks = assign_looks([one.drawing for one in pages.figures])
    levels = {section.data.experiment.name: together_level(section, analysis) for section in analysis.sections}
    with one_blas_thread():
        charts = {
            one.figure.file: {
                "words": one.figure.title or one.data.experiment.title,
                **chart_content(
                    one.drawing,
                    looks,
                    over_units(one, levels[one.data.experiment.name]),
                    one.data.source.judged_on,
                ),
            }
            for one in pages.figures
        }
        first = headline_section(analysis)
        sections = sorted(analysis.sections, key=lambda section: section is not first)
        lists: dict[tuple[str, ...], int] = {}
        unpaired = [one.data.experiment.name for one in sections if _most_racing(one) > MOST_PAIRED]
        paired = [one for one in sections if one.data.experiment.name not in unpaired]
        pairs = [one for section in paired for one in _pairs(section, lists)]
    panels, texts = _panels(analysis.sections), dict[str | tuple[str, ...], int]()
    data = PageData(
        panels={
            label: [(name, texts.setdefault(said, len(texts))) for name, said in facts]
            for label, facts in panels.items()
        },
        texts=[one if isinstance(one, str) else [*one] for one in texts],
        pairs=pairs,
        unpaired=unpaired,
        lists=[[*names] for names in lists],
        charts=charts,
        better={
            metric_name(metric): metric.better
            for section in analysis.sections
            if section.data.source.layout == "race"
            for metric in map(section.data.source.metric, section.data.metrics)
        },
        again=_commands(analysis.record, analysis.sections),
        works=bibliography(analysis),
    )
    return f"{json.dumps(data.model_dump(), ensure_ascii=False, allow_nan=False, separators=(',', ':'))}\n".encode()


def _commands(record: SuiteRecord, sections: Sequence[Section]) -> str:
    """Return the commands that compute and verify a result again, with the run's changes to the suite."""
    known = record.name in manager.suites()
    planned = {one.name: one for one in load_suite(record.name).experiments} if known else {}
    options, repetitions, parameters = [], list[int](), dict[str, Value]()
    unknown = "# rankbench has no suite of this name: give its file, and the options of this run that changed it.\n"
    notes = [] if known else [unknown]
    for one in (one for one in record.experiments if one.name in planned):
        dataset, own = record.sources[record.source_index[one.name]].dataset, planned[one.name]
        if dataset and dataset != own.dataset:
            options += [("--dataset" if own.dataset else "--log", dataset)]
        if one.repetitions != own.repetitions:
            repetitions.append(one.repetitions)
        now, before = (parse(text).params if text else {} for text in (one.protocol, own.protocol))
        parameters |= {key: value for key, value in now.items() if before.get(key) != value}
        if (one.n, one.losses) != (own.n, _canonical_losses(own)) or not before.keys() <= now.keys():
            notes.append(f"# The suite's {one.name} has other n, losses or parameters than this run.\n")
    options += [("--set", str(Spec("set", parameters)).removeprefix("set:"))] if parameters else []
    options += [("--reps", str(max(repetitions)))] if repetitions else []
    for section in sections:
        added = record.added.get(section.data.experiment.name, ())
        options += [
            ("--with", runs.spec) for matched in section.data.by_n for runs in matched.contenders if runs.label in added
        ]
    words = [f"{name} {shlex.quote(one_line(value))}" for name, value in dict.fromkeys(options)]
    suite = shlex.quote(one_line(record.name if known else f"{record.name}.toml"))
    command = " ".join([f"rankbench run --suite {suite}", *words, "--out FOLDER"])
    folder = "# FOLDER is a new folder of yours, or to verify, the one with this page's leaderboard.csv.\n"
    return "".join([*notes, folder, f"{command}\n", "rankbench verify FOLDER --rerun 2\n"])


def _canonical_losses(experiment: Experiment) -> tuple[str, ...]:
    """Return the losses of a suite's experiment as runs name them: ``ndcg@10`` is a short name."""
    if manager.component_class(Protocol, parse(experiment.protocol).name).metrics:
        return experiment.losses
    return tuple(str(manager.get(Loss, text)) for text in experiment.losses)


def _table(name: str, title: str, text: str, shown: Collection[str], filters: Collection[str], note: str) -> Table:
    """Return columns of a CSV file as a table of the page, without empty ones."""
    head, *rows = csv.reader(io.StringIO(text))
    # Where nothing is drawn, n is 1 and says nothing.
    filled = {
        column
        for column, *cells in zip(head, *rows, strict=True)
        if any(cells) and (column != "n" or {*cells} != {"1"})
    }
    shown = [column for column in shown if column in filled]
    return Table(
        [TITLES.get(column, column.replace("_", " ")) for column in shown],
        [[_shown(column, row[head.index(column)]) for column in shown] for row in rows],
        {at for at, column in enumerate(shown) if column in WORDS},
        title,
        note,
        name=name,
        filters={at for at, column in enumerate(shown) if column in filters},
        later={at for at, column in enumerate(shown) if column in LATER},
        opens=next((at for at, column in enumerate(shown) if column == "contender"), None),
    )


def _shown(column: str, text: str) -> str:
    """Return a cell of the page: no p is 0, and ends of intervals beyond a million are undetermined."""
    if column == "p_holm" and text == "0.000000":
        return "< 1e-6"
    if column == "dataset" and not text:
        return "made by the protocol"
    if column == "wins" and text:
        return f"{float(text):g}"
    is_end = text and re.search("lower|upper", column)
    return UNDETERMINED if is_end and abs(float(text)) >= FARTHEST else text


PanelFact: TypeAlias = tuple[str, str | tuple[str, ...]]
"""A name, and a text or formulas as LaTeX."""


def _panels(sections: list[Section]) -> dict[str, list[PanelFact]]:
    """Return the facts on each contender: its text in each experiment, and its components."""
    found: dict[str, dict[str, str | tuple[str, ...]]] = {}
    for section in sections:
        experiment = section.data.experiment.name
        for runs in (runs for matched in section.data.by_n for runs in matched.contenders):
            facts = found.setdefault(csv_cell(runs.label), {})
            facts[f"in {experiment}"] = one_line(runs.spec)
            for name, words in _components(runs.config):
                # Experiments may give one label to different parameters.
                if facts.setdefault(name, words) != words:
                    facts[f"{name} in {experiment}"] = words
    # Works that are cited come last.
    return {label: sorted(facts.items(), key=lambda fact: fact[0].startswith("[")) for label, facts in found.items()}


def _components(config: Mapping[str, Any]) -> Iterator[PanelFact]:
    """Yield descriptions of the components of a contender, and the works that they cite."""
    for kind, name, values in components_of(config):
        yield f"{kind} {name}", _described(kind, name, values)
        if found := formulas_in(describe_component(kind, name).documentation):
            yield f"formula of {name}", tuple(found)
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
    """Return the first contiguous formulas of a docstring, each as LaTeX on one line."""
    found = re.search(r"\.\. math::\s*(.+?)\n\s*\n(?!\s*\.\. math::)", f"{documentation}\n\n", re.DOTALL)
    return [" ".join(latex.split()) for latex in re.split(r"\.\. math::", found[1])] if found else []


def _most_racing(section: Section) -> int:
    return max((len(matched.compared) for matched in section.data.by_n), default=0)


def _pairs(section: Section, lists: dict[tuple[str, ...], int]) -> Iterator[PairTable]:
    """Yield the paired differences of the tables at each n, each pair by itself; `lists` gets places of new names."""
    data = section.data
    if data.source.layout != "race":
        return
    for matched, metric, split in itertools.product(data.by_n, data.metrics, data.source.shown_splits()):
        if not matched.repetitions or len(matched.compared) < 2:
            continue
        sample, values = data.sample(matched.compared, metric, split, matched.repetitions), list[int | None]()
        for i, j in itertools.combinations(range(len(matched.compared)), 2):
            both, alone = (found(sample, ArmContrast(i, j)) for found in (contrasts, contrasts_over_draws))
            found = both.estimate, both.lower, both.upper, alone.lower, alone.upper
            values += [_millionths(one[0]) for one in found]
        names = tuple(csv_cell(runs.label) for runs in matched.compared)
        yield PairTable(
            experiment=data.experiment.name,
            dataset=csv_cell(data.source.dataset),
            n=f"{matched.n:,}" if data.source.counts else "",
            metric=metric,
            split=data.source.short(split),
            units=data.source.judged_on,
            better="less" if data.source.direction(metric) == "minimize" else "more",
            names=lists.setdefault(names, len(lists)),
            values=values,
        )


def _millionths(value: float) -> int | None:
    """Return a number as ``leaderboard.csv`` has it, with six decimals."""
    return round(float(value) * 1e6) if math.isfinite(value) else None
