"""What the tests of the aggregators of selections share: samples, and a brute-force view of them."""

import numpy as np
from hypothesis import strategies as st

from rankbench.interfaces.queries import Selections


def selections(*queries):
    """Return the selections of queries, each a list of (items shown, positions clicked from 0)."""
    sessions = [session for query in queries for session in query]
    lengths = [len(shown) for shown, _ in sessions]
    clicked = [position in clicks for shown, clicks in sessions for position in range(len(shown))]
    return Selections(
        np.cumsum([0, *map(len, queries)], dtype=np.int64),
        np.cumsum([0, *lengths], dtype=np.int64),
        np.array([item for shown, _ in sessions for item in shown], np.int32),
        np.array(clicked, np.bool_),
    )


@st.composite
def logs(draw, max_queries=3, max_items=5, single=False):
    """Draw (queries as `selections` takes them, item_offsets); some may have no session."""
    sizes = draw(st.lists(st.integers(1, max_items), min_size=1, max_size=max_queries))
    queries = []
    for m in sizes:
        query = []
        for _ in range(draw(st.integers(0, 8))):
            shown = draw(st.permutations(range(m)))[: draw(st.integers(1, m))]
            positions = st.sampled_from(range(len(shown)))
            query.append((shown, draw(st.lists(positions, unique=True, max_size=1 if single else None))))
        queries.append(query)
    return queries, np.cumsum([0, *sizes], dtype=np.int64)


def draw_sessions(rng, n, m, length, chance, stops=True):
    """Return n sessions: uniform lists of `length` of m items; `chance(item, position)` of a click."""
    sessions = []
    for _ in range(n):
        shown = rng.permutation(m)[:length].tolist()
        clicks = [j for j, item in enumerate(shown) if rng.random() < chance(item, j)]
        sessions.append((shown, clicks[:1] if stops else clicks))
    return sessions
