"""Changes with their standard errors, and when one of a whole family is called worse or better."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankbench.reports.compare.comparison import Change, ChangeVerdict
from rankbench.stats.critical import VarianceSources
from rankbench.stats.holm import holm

__all__ = ["ChangeEstimate", "Margin", "judged"]

POWER = 0.9


class Margin(NamedTuple):
    """What a change must exceed to matter.

    Attributes
    ----------
    size : float
    relative : bool
        It is a share of the base's mean.
    """

    size: float = 0.0
    relative: bool = False

    def at(self, base: float) -> float:
        """Return the margin of a cell whose mean was `base`."""
        return self.size * abs(base) if self.relative else self.size

    def __str__(self) -> str:
        return f"{100 * self.size:g}%" if self.relative else f"{self.size:g}"


@dataclass(frozen=True)
class ChangeEstimate:
    """A change with its standard error, before the family is known; `se` is nan where nothing shows a spread.

    Where `se` is 0 so many independent draws, or units, `agreed`: by chance with probability 2^(1 - n).
    """

    change: Change
    se: float = math.nan
    share: float = 1.0
    df: tuple[float, float] = (1.0, 1.0)
    margin: float = 0.0
    agreed: float = math.inf

    @property
    def tested(self) -> bool:
        """Whether an interval stands behind it."""
        return self.change.verdict == "described" and not math.isnan(self.se)

    def sources(self) -> VarianceSources:
        """Return where its variance comes from."""
        return VarianceSources(np.array([self.share]), *self.df)

    def with_interval(self) -> ChangeEstimate:
        """Return the same with the 95% interval of the change, for itself alone."""
        half = float(self.sources().quantile(0.05)[0]) * self.se
        change = self.change
        return replace(self, change=replace(change, lower=change.change - half, upper=change.change + half))


def judged(found: Sequence[ChangeEstimate], alpha: float) -> list[Change]:
    """Return the changes with their verdicts: worse, or better, beyond the margin, over the whole family."""
    worse, better = _p(found, 1.0), _p(found, -1.0)
    family = max(1, sum(one.tested for one in found))
    changes = []
    for one, p_worse, p_better in zip(found, holm(worse), holm(better), strict=True):
        change = one.change
        if one.tested:
            verdict: ChangeVerdict = "worse" if p_worse <= alpha else "better" if p_better <= alpha else "not shown"
            p = float(p_worse if change.change > 0 else p_better)
            change = replace(change, p=p, verdict=verdict, detectable=_detectable(one, alpha / family))
        changes.append(change)
    return changes


def _p(found: Sequence[ChangeEstimate], sign: float) -> NDArray[np.float64]:
    """Return one-sided p-values of changes beyond the margin, to the worse (1) or the better (-1); nan: not tested."""
    p = np.full(len(found), np.nan)
    same: dict[tuple[float, float], list[int]] = defaultdict(list)
    for i, one in enumerate(found):
        beyond = sign * one.change.change - one.margin
        if one.tested and one.se == 0:
            p[i] = min(2.0 ** (1 - one.agreed), 1.0) if beyond > 0 else 1.0
        elif one.tested:
            same[one.df].append(i)
    for df, places in same.items():
        t = np.array([(sign * found[i].change.change - found[i].margin) / found[i].se for i in places])
        two_sided = VarianceSources(np.array([found[i].share for i in places]), *df).p(t)
        p[places] = np.where(t > 0, two_sided / 2, 1 - two_sided / 2)
    return p


def _detectable(one: ChangeEstimate, level: float) -> float:
    from scipy.special import ndtri

    return one.margin + one.se * (float(one.sources().quantile(2 * level)[0]) + float(ndtri(POWER)))
