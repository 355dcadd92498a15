"""What the tests of aggregators share: samples of judgments, ballots and clicks, and calls of kernels."""

import numpy as np
from hypothesis import strategies as st

from rankbench.interfaces.queries import Orders, Selections


@st.composite
def samples(draw, max_items=9, max_judgments=30, weighted=None):
    """Draw (winners, losers, weights, m): k >= 1 judgments over m >= 2 items, with repeats."""
    m = draw(st.integers(2, max_items))
    k = draw(st.integers(1, max_judgments))
    # One number a judgment: the winner, and how far on the loser is.
    pairs = np.array(draw(st.lists(st.integers(0, m * (m - 1) - 1), min_size=k, max_size=k)))
    winners = (pairs // (m - 1)).astype(np.int32)
    losers = ((winners + 1 + pairs % (m - 1)) % m).astype(np.int32)
    if weighted is None:
        weighted = draw(st.booleans())
    if weighted:
        # Whole, fractional and very large weights (beyond any table of small counts).
        weight = st.sampled_from([1.0, 2.0, 0.25, 300.0, 1e5]) | st.floats(0.01, 10.0)
        weights = np.array(draw(st.lists(weight, min_size=k, max_size=k)))
    else:
        weights = np.ones(k)
    return winners, losers, weights, m


def compiled(aggregator, winners, losers, weights, m):
    """Call the kernel as the runner does; the structure, as `aggregate` returns it.

    Also checks the contract: scratch memory is given back zeroed, whatever was in `out`.
    """
    kernel = aggregator.kernel()
    work = np.zeros(kernel.work(m))
    if aggregator.structure == "scores":
        out = np.full(m, np.nan)
        kernel.function(winners, losers, weights, m, kernel.params, work, out)
        assert not work.any()
        return out
    k = len(winners)
    tails, heads = np.full(k, -1, dtype=np.int32), np.full(k, -1, dtype=np.int32)
    edge_weights = np.full(k, np.nan)
    count = kernel.function(winners, losers, weights, m, kernel.params, work, tails, heads, edge_weights)
    assert not work.any()
    assert 0 <= count <= k
    assert np.all(edge_weights[:count] > 0)
    edges = list(zip(tails[:count].tolist(), heads[:count].tolist(), strict=True))
    assert len(set(edges)) == count, "an edge is there twice"
    adjacency = np.zeros((m, m))
    for (tail, head), weight in zip(edges, edge_weights[:count], strict=True):
        adjacency[tail, head] = weight
    return adjacency


def btl_sample(labels, k, seed):
    """Draw k unit-weight judgments under (26) with NumPy alone, uniform pairs."""
    rng = np.random.default_rng(seed)
    m = len(labels)
    i = rng.integers(m, size=k)
    j = (i + rng.integers(1, m, size=k)) % m
    first = rng.random(k) < 1 / (1 + np.exp(labels[j] - labels[i]))
    winners, losers = np.where(first, i, j), np.where(first, j, i)
    return winners.astype(np.int32), losers.astype(np.int32), np.ones(k), m


def matrix(winners, losers, weights, m):
    """Return the weights w_ij by brute force, shape (m, m)."""
    w = np.zeros((m, m))
    for i, j, weight in zip(winners, losers, weights, strict=True):
        w[i, j] += weight
    return w


def build(ballots, weights=None):
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


def least_squares_scores(preferences, mask):
    """Minimize (22), one row an observed pair, by the solution of least norm: each component's scores sum to zero."""
    rows = np.argwhere(mask)
    if not len(rows):
        return np.zeros(len(mask))
    return np.linalg.lstsq(np.eye(len(mask))[rows[:, 0]] - np.eye(len(mask))[rows[:, 1]], preferences[mask])[0]
