"""The built-in data sets: every data card, and the simulators."""

from __future__ import annotations

from rankbench.kinds.dataset import Dataset
from rankbench.plugin.hookspecs import hookimpl

__all__ = ["rankbench_register"]


@hookimpl
def rankbench_register() -> list[type[Dataset]]:
    """Return the data sets; nothing is read or downloaded."""
    from rankbench.data.card_dataset import card_dataset
    from rankbench.data.cards import cards
    from rankbench.data.simulators.cascade_clicks import CascadeClicks
    from rankbench.data.simulators.movielens_like import MovieLensLike
    from rankbench.data.simulators.web10k_like import Web10kLike

    return [Web10kLike, MovieLensLike, CascadeClicks, *(card_dataset(card) for card in cards().values())]
