"""What a leaderboard says of its data: what is simulated first, then what and how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rankbench.reports.analysis import Analysis
from rankbench.reports.document.tree import Bullets, Column, Grid, Heading, Node, Quote
from rankbench.store.records import SourceRecord
from rankbench.text import code, grouped_digits, markdown, sentence

__all__ = ["Group", "details", "facts", "overview", "source_groups"]


@dataclass(frozen=True)
class Group:
    """Sources that say the same of their data, and the experiments made from them.

    Attributes
    ----------
    sources : tuple of SourceRecord
    experiments : tuple of str
    n : tuple of int
        What was drawn, in increasing order.
    """

    sources: tuple[SourceRecord, ...]
    experiments: tuple[str, ...]
    n: tuple[int, ...]

    @property
    def first(self) -> SourceRecord:
        """The source that stands for all."""
        return self.sources[0]


def source_groups(analysis: Analysis) -> list[Group]:
    """Return the groups of a suite's sources, in their order."""
    record = analysis.record
    found: dict[tuple[object, ...], list[SourceRecord]] = {}
    for source in record.sources:
        own = "" if source.dataset else source.protocol
        key = (source.dataset, own, source.simulated, source.assumptions, source.notes)
        found.setdefault(key, []).append(source)
    return [
        Group(
            tuple(sources),
            tuple(name for name, index in record.source_index.items() if record.sources[index] in sources),
            tuple(
                sorted(
                    {
                        race.n
                        for section in analysis.sections
                        if section.sampler.source in sources and section.sampler.source.counts
                        for race in section.sampler.races
                    }
                )
            ),
        )
        for sources in found.values()
    ]


def facts(group: Group) -> list[Node]:
    """Return all that is to say of the only data of a suite."""
    return [*_simulated(group), _table(group), *_notes(group)]


def details(group: Group) -> list[Node]:
    """Return all that is to say of one of several data sets of a suite."""
    return [Heading(3, ", ".join(markdown(name) for name in group.experiments)), *facts(group)]


def overview(groups: Sequence[Group]) -> list[Node]:
    """Return which experiments of a suite are made from which of several data sets."""
    rows = []
    for group in groups:
        data = code(group.first.dataset) if group.first.dataset else "made by the protocol"
        names = ", ".join(markdown(name) for name in group.experiments)
        rows.append((names, _protocols(group), f"{data}{' (simulated)' if group.first.simulated else ''}"))
    return [Grid.from_rows([Column("experiments"), Column("protocol"), Column("data")], rows)]


def _simulated(group: Group) -> list[Node]:
    source = group.first
    assumed = tuple(markdown(sentence(text)) for text in source.assumptions)
    if not source.simulated:
        return [Quote(assumed)] if assumed else []
    what = code(source.dataset or source.protocol)
    warning = f"**These data are *simulated*** ({what}): no person judged anything."
    return [Quote((warning, "What the simulation assumes:"), assumed) if assumed else Quote((warning,))]


def _table(group: Group) -> Node:
    source = group.first
    rows = [("protocol", _protocols(group))]
    if source.dataset:
        rows.append(("data", f"{code(source.dataset)}{' (simulated)' if source.simulated else ''}"))
        rows.append(("sha256", code(source.fingerprint)))
    sizes = dict.fromkeys(
        f"{grouped_digits(len(s.units[split]))} {s.short(split)}"
        for s in group.sources
        if s.test_share is None
        for split in s.shown_splits()
    )
    if sizes:
        rows.append(("judged on", ", ".join(sizes)))
    if group.n:
        rows.append((f"{markdown(source.counts)} n", ", ".join(grouped_digits(n) for n in group.n)))
    return Grid.from_rows([Column(""), Column("")], rows)


def _protocols(group: Group) -> str:
    return ", ".join(dict.fromkeys(code(source.protocol) for source in group.sources))


def _notes(group: Group) -> list[Node]:
    notes = tuple(markdown(sentence(note)) for note in group.first.notes)
    return [Bullets(notes)] if notes else []
