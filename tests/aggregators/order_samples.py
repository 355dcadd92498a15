"""Ballots for tests: random ones, and containers of them."""

import numpy as np
from hypothesis import strategies as st

from rankbench.interfaces.queries import Orders


def build(ballots, weights=None, *, unranked="absent"):
    """Return one query's `Orders` of ballots, each a list of places, each a list of tied items."""
    items = [item for places in ballots for tied in places for item in tied]
    places = [at for places in ballots for at, tied in enumerate(places) for _ in tied]
    lengths = [sum(map(len, ballot)) for ballot in ballots]
    return Orders(
        np.array([0, len(ballots)]),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array(items, dtype=np.int32),
        np.array(places, dtype=np.int32),
        np.ones(len(ballots)) if weights is None else np.array(weights, dtype=float),
        unranked,
    )


@st.composite
def ballots(draw, max_items=7, max_ballots=8, ties=True):
    """Draw (ballots as lists of places, weights, m): partial, with ties, at least one item each."""
    m = draw(st.integers(2, max_items))
    found = []
    for _ in range(draw(st.integers(1, max_ballots))):
        order = draw(st.permutations(range(m)))[: draw(st.integers(1, m))]
        places = [[order[0]]]
        for item in order[1:]:
            if ties and draw(st.booleans()) and draw(st.booleans()):
                places[-1].append(item)
            else:
                places.append([item])
        found.append(places)
    weights = [draw(st.sampled_from([1.0, 2.0, 0.5, 68.0])) for _ in found]
    return found, weights, m


def naming(items, ballot):
    """Return a ballot with item i called items[i]."""
    return [[int(items[i]) for i in tied] for tied in ballot]
