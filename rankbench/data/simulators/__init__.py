"""Simulators draw data sets; the hook registers them, data cards and collections of ir_datasets."""

from __future__ import annotations

from rankbench.interfaces.dataset import Dataset
from rankbench.plugin.registry import hookimpl

__all__ = ["rankbench_register"]


@hookimpl
def rankbench_register() -> list[type[Dataset]]:
    """Return the data sets, without reading or downloading any."""
    from rankbench.data.cards import cards
    from rankbench.data.fetch import card_dataset
    from rankbench.data.ir_collections import IrCollection
    from rankbench.data.simulators.cascade_clicks import CascadeClicks
    from rankbench.data.simulators.feature_data import MovieLensLike, Web10kLike

    of_cards = (card_dataset(card) for card in cards().values())
    return [Web10kLike, MovieLensLike, CascadeClicks, IrCollection, *of_cards]
