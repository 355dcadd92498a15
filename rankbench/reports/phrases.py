"""Parts of sentences about a case: lists of names, differences with their intervals, what a coin gets."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rankbench.reports.cases import Case
from rankbench.reports.evaluations import Evaluation
from rankbench.text import code, interval_text, markdown, number, place_range_text

__all__ = ["codes", "coin_of", "covered", "difference", "joined_words", "margin_of", "place_range", "shown_by", "words"]


def joined_words(parts: Sequence[str], word: str = "and") -> str:
    """Return parts with commas, and a word before the last one."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def words(names: Sequence[str]) -> str:
    """Return labels."""
    return joined_words([markdown(name) for name in names])


def codes(names: Sequence[str], word: str = "and") -> str:
    """Return names of metrics or experiments."""
    return joined_words([code(name) for name in names], word)


def covered(case: Case) -> str:
    """Say of what intervals hold together."""
    return f"all methods in {codes(case.metrics)} of {codes([one.name for one in case.told_by])}"


def shown_by(case: Case) -> str:
    """Name what everything about differences was shown by."""
    return f"by 95% intervals of the differences between {covered(case)}, which hold together"


def difference(one: Evaluation, metric: str, label: str, other: str) -> str:
    """Return a difference of means, with the interval that holds together with all others of the page."""
    sign = one.sign(metric)
    text = number(sign * one.gap(metric, label, other), sign=True)
    low, high = sorted(sign * bound for bound in one.interval(metric, label, other))
    return f"{text}, interval {interval_text(low, high, sign=True)}" if math.isfinite(low + high) else text


def coin_of(one: Evaluation, metrics: Sequence[str]) -> str:
    """Return what a coin gets, by metric."""
    return joined_words([f"{one.chance[metric]:.4g} in {code(metric)}" for metric in metrics])


def margin_of(case: Case, metrics: Sequence[str]) -> str:
    """Return margins, by metric."""
    return joined_words([f"{case.margins[metric]:g} in {code(metric)}" for metric in metrics])


def place_range(one: Evaluation, metric: str, label: str) -> str:
    """Return the places that a contender may hold."""
    low, high = one.places(metric, label)
    return place_range_text(low, high)
