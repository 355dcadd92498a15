"""A plan lists the cells of a suite."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rankbench.core.code_digest import OURSELVES, plugin_digest
from rankbench.core.text import count_text, grouped_digits
from rankbench.errors import SpecError, nearest, option
from rankbench.interfaces.cell import BlockKey
from rankbench.interfaces.contender import Contender, sees_truth
from rankbench.interfaces.protocol import BlockTask, Prepared
from rankbench.interfaces.suite import EVERYTHING, Experiment, Suite, SuitePart, in_gate, matches
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin.third_party import distributions_of, third_party_distributions
from rankbench.runner.additions import added
from rankbench.runner.experiment_check import CheckedExperiment, Competitor, check_experiment, config_of
from rankbench.runner.prepare import Sources
from rankbench.store.records import Member

MOST_CELLS = 5_000_000
"""Cells that experiments may show: their plan alone takes some GB."""


@dataclass(frozen=True)
class Plan:
    """Everything that a run is going to do.

    Attributes
    ----------
    suite : Suite
        Losses are as cells name them.
    members : list of Member
        Cells as experiments show them.
    tasks : list of BlockTask
        In the order of execution: repetition by repetition, so that a report of the first ones is of all contenders.
    added : dict of str to tuple of str
        By experiment, the labels of contenders that are not of the suite.
    made_by : dict of str to dict of str to tuple of str
        By experiment and label, the distributions of a contender; of those in which plugins have a part.
    plugins : tuple of str
        Distributions of the plugins that have a part in any cell: in a contender, protocol, data set or loss.
    smaller : tuple of str
        Sentences on what the data make smaller than the suite asks for: queries, n, repetitions.
    """

    suite: Suite
    members: list[Member]
    tasks: list[BlockTask]
    added: dict[str, tuple[str, ...]] = field(default_factory=dict)
    made_by: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    plugins: tuple[str, ...] = ()
    smaller: tuple[str, ...] = ()


@dataclass(frozen=True)
class Planned(Sources):
    """A suite with its data and its plan.

    Attributes
    ----------
    plan : Plan
    others : dict of str to (str, str)
        By experiment of the suite that was not selected, the name of its protocol and its data set.
    """

    plan: Plan
    others: dict[str, tuple[str, str]] = field(default_factory=dict)


def make_plan(
    suite: Suite,
    sources: Sequence[Prepared],
    source_index: Mapping[str, int],
    code: str,
    extra: Sequence[str] = (),
    part: SuitePart = EVERYTHING,
) -> Plan:
    """Plan a suite.

    Parameters
    ----------
    suite : Suite
        With its includes resolved.
    sources : sequence of Prepared
    source_index : mapping of str to int
        Index of each experiment's source.
    code : str
        Code digest of rankbench: part of every cell's id, with those of the plugins that have a part in the cell.
    extra : sequence of str
        Additions wherever they fit, see `rankbench.runner.additions.added`.
    part : SuitePart
        Contenders and n that are planned.

    Raises
    ------
    SpecError
        An unknown or ill-fitting component, two contenders of one label, something to
        add that fits no experiment, or a selection without a match.
    """
    members: list[Member] = []
    named: list[Experiment] = []
    blocks: dict[tuple[BlockKey, int, tuple[str, ...]], dict[str, Contender]] = defaultdict(dict)
    components: dict[tuple[int, tuple[str, ...]], tuple[Loss, ...]] = {}
    made_by: dict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    plugins: set[str] = set()
    of_source = [_strangers_of(prepared) for prepared in sources]
    experiments = added(suite.experiments, [sources[source_index[e.name]].protocol for e in suite.experiments], extra)
    protocols = [sources[source_index[e.name]].protocol for e in experiments]
    checked = [check_experiment(e, protocol) for e, protocol in zip(experiments, protocols, strict=True)]
    checked = _selected(suite, experiments, checked, part)
    _check_size([(e, sources[source_index[e.name]], found) for e, found in zip(experiments, checked, strict=True)])
    for experiment, (competing, metrics, losses) in zip(experiments, checked, strict=True):
        if not competing:
            continue
        source = source_index[experiment.name]
        prepared = sources[source]
        sizes = prepared.sizes(experiment.n)
        components[source, metrics] = losses
        for order, entry, label, found in competing:
            whose = set[str]().union(*map(distributions_of, found.points))
            if whose != {OURSELVES}:
                made_by[experiment.name][label] = tuple(sorted(whose))
            theirs = (whose | of_source[source]).union(*map(distributions_of, losses)) - {OURSELVES}
            plugins |= theirs
            codes = [code, *([name, plugin_digest(name)] for name in sorted(theirs))]
            config = config_of(entry, found)
            for scaled in prepared.sizes(entry.n or experiment.n):
                for repetition in range(prepared.repetitions(scaled, experiment.repetitions)):
                    data = str(prepared.dataset) if prepared.dataset else ""
                    key = BlockKey(str(prepared.protocol), data, scaled, repetition, suite.seed)
                    cell = _cell_id(key, prepared, found, metrics, codes)
                    blocks[key, source, metrics][cell] = found
                    at = scaled, sizes[scaled], repetition
                    members.append(Member(experiment.name, label, found.text, config, *at, cell, order))
        named.append(_settled(experiment, competing, metrics, prepared, part))
    tasks = [
        BlockTask(key, source, metrics, cells, components[source, metrics])
        for (key, source, metrics), cells in blocks.items()
    ]
    tasks.sort(key=lambda task: (task.key.repetition, task.source, task.key.n, task.metrics))
    kept = {
        e.name: labels
        for e, found in zip(suite.experiments, checked, strict=True)
        if (labels := tuple(one.label for one in found.competing if one.order >= len(e.contenders)))
    }
    whole = suite.model_copy(update={"experiments": tuple(named)})
    smaller = [text for e in named for text in _smaller(e, sources[source_index[e.name]])]
    return Plan(whole, members, tasks, kept, dict(made_by), tuple(sorted(plugins)), tuple(dict.fromkeys(smaller)))


def _settled(
    experiment: Experiment,
    competing: Sequence[Competitor],
    metrics: Sequence[str],
    prepared: Prepared,
    part: SuitePart,
) -> Experiment:
    """Return an experiment with canonical names of losses, with its oracles and its planned n."""
    canonical = dict(zip(experiment.losses, metrics, strict=True))
    margin = {canonical[text]: value for text, value in experiment.margin.items()}
    told = prepared.protocol.teaches_labels
    shown = [one.label for one in competing if not told and any(map(sees_truth, one.contender.points))]
    oracles = (*experiment.oracles, *(label for label in shown if not matches(label, experiment.oracles)))
    settled: dict[str, Any] = {"losses": tuple(metrics), "margin": margin, "oracles": oracles}
    if part.n:
        settled["n"] = tuple(n for n in experiment.n if n in part.n)
    return experiment.model_copy(update=settled)


def _smaller(experiment: Experiment, prepared: Prepared) -> Iterator[str]:
    """Yield sentences on quantities that the data make smaller than an experiment asks for."""
    yield from prepared.reduced
    sizes = {n: prepared.scaled(n) for n in experiment.n}
    if prepared.protocol.counts and (fewer := {n: scaled for n, scaled in sizes.items() if scaled < n}):
        declared, scaled = (", ".join(map(grouped_digits, some)) for some in (fewer, fewer.values()))
        yield f"Experiment {experiment.name}: n = {scaled} {prepared.protocol.counts} instead of {declared}."
    wanted = experiment.repetitions
    for n in {n for n in sizes.values() if prepared.repetitions(n, wanted) < wanted}:
        repetitions = count_text(prepared.repetitions(n, wanted), "repetition")
        yield f"Experiment {experiment.name}, n = {grouped_digits(n)}: {repetitions} instead of {wanted:,}."


def _strangers_of(prepared: Prepared) -> set[str]:
    """Return the plugins of the protocol, the data set and its readers."""
    from rankbench.logs.open import read_by

    data = [prepared.dataset, *read_by(prepared.dataset)] if prepared.dataset is not None else []
    return {each for component in (prepared.protocol, *data) for each in third_party_distributions(component)}


def _check_size(chosen: Sequence[tuple[Experiment, Prepared, CheckedExperiment]]) -> None:
    """Raise if cells would not fit into memory, before any is made."""
    cells = sum(
        prepared.repetitions(n, experiment.repetitions)
        for experiment, prepared, found in chosen
        for one in found.competing
        for n in prepared.sizes(one.entry.n or experiment.n)
    )
    if cells > MOST_CELLS:
        raise SpecError(
            f"the experiments have {cells:,} cells (contenders by n by repetitions), more than {MOST_CELLS:,}; take "
            f"fewer contenders, n or repetitions ({option('reps')})"
        )


def _selected(
    suite: Suite, experiments: Sequence[Experiment], checked: Sequence[CheckedExperiment], part: SuitePart
) -> list[CheckedExperiment]:
    """Return experiments with the contenders and n that are selected.

    Raises
    ------
    SpecError
        A pattern has none, or nothing that a run adds to the suite is selected.
    """
    found = []
    for experiment, whole in zip(experiments, checked, strict=True):
        competing = []
        for one in whole.competing:
            n = tuple(n for n in one.entry.n or experiment.n if part.takes(experiment.name, one.label, n))
            if n:
                entry = one.entry.model_copy(update={"n": n}) if part.n else one.entry
                competing.append(one._replace(entry=entry))
        found.append(whole._replace(competing=competing))
    places = [(e.name, one.label) for e, whole in zip(experiments, checked, strict=True) for one in whole.competing]
    for pattern in part.only:
        if not any(in_gate([pattern], *place) for place in places):
            known = nearest(pattern, ["/".join(place) for place in places])
            raise SpecError(f"{option('only', pattern)}: suite {suite.name!r} has no such contender{known}")
    if not any(one.competing for one in found):
        raise SpecError(
            f"no contender of suite {suite.name!r} that {option('only')} names has an n that {option('n')} names"
        )
    if (added := _added(suite, experiments, checked)) and not _added(suite, experiments, found):
        raise SpecError(
            f"{option('only')} leaves out all that {option('extra')} adds; select it too: {option('only', added[0])}"
        )
    return found


def _added(suite: Suite, experiments: Sequence[Experiment], checked: Sequence[CheckedExperiment]) -> list[str]:
    """Return the places of contenders that are not the suite's own."""
    own = [len(experiment.contenders) for experiment in suite.experiments]
    return [
        f"{experiment.name}/{one.label}"
        for experiment, first, whole in zip(experiments, own, checked, strict=True)
        for one in whole.competing
        if one.order >= first
    ]


def _cell_id(
    key: BlockKey, prepared: Prepared, found: Contender, metrics: tuple[str, ...], codes: Sequence[object]
) -> str:
    """Hash everything that determines a cell's value; `codes` are rankbench's digest and plugins' digests."""
    parts = [
        [key.dataset, key.n, key.repetition, key.seed],
        prepared.protocol.digest(),
        prepared.fingerprint,
        [point.digest() for point in found.points],
        list(metrics),
        *codes,
    ]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()
