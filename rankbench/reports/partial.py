"""A first leaderboard on the terminal, while the run goes on: means only, no statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankbench.kinds.figure import matches
from rankbench.reports.sample import Sampler
from rankbench.reports.standings import oracle_mark
from rankbench.store.stored import StoredResults
from rankbench.text import grouped_digits, number, one_line

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["partial"]


def partial(results: StoredResults) -> RenderableType:
    """Return a table of what is known so far: for each experiment, the largest n with results.

    Contenders are in the order of their mean on the first split; cells that went wrong
    say so instead of a number.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    record, members, cells = results.record(), results.members(), results.cells()
    tables: list[RenderableType] = []
    for experiment in record.experiments:
        sampler = Sampler(results, record, experiment, members, cells)
        if sampler.source.layout != "race":
            continue
        race = next((race for race in reversed(sampler.races) if any(arm.stored for arm in race.arms)), None)
        if race is None:
            continue
        metric, splits = sampler.metrics[0], sampler.source.shown_splits()
        simulated = ", simulated data" if sampler.source.simulated else ""
        planned = f"{len(race.repetitions)} of {race.planned} repetitions"
        title = f"{one_line(experiment.title)}: n = {grouped_digits(race.n)}, {planned}"
        table = Table()
        table.add_column("contender")
        for split in splits:
            table.add_column(f"{one_line(metric)}, {one_line(sampler.source.short(split))}", justify="right")
        sign = 1 if sampler.source.direction(metric) == "minimize" else -1
        rows: list[tuple[float, str, list[str]]] = []
        for arm in race.arms:
            if arm.racing and race.repetitions:
                means = [float(sampler.means(arm, metric, split, race.repetitions).mean()) for split in splits]
                mark = oracle_mark(arm.label, matches(arm.label, experiment.oracles))
                rows.append((sign * means[0], arm.label + mark, [number(mean) for mean in means]))
            elif arm.stored:
                rows.append((float("inf"), arm.member.label, [arm.status] * len(splits)))
        for _, label, shown in sorted(rows, key=lambda row: row[0]):
            table.add_row(Text(one_line(label)), *shown)
        tables += [Text(title + simulated), table]
    return Group(*tables) if tables else Text("no results yet")
