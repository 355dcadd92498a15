"""Three logs' numbers by independent programs: choix and SciPy fit, scikit-learn and SciPy have the losses."""

from itertools import compress

import choix
import numpy as np
import pytest
from amounts import part_of
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import kendalltau, norm
from sklearn.metrics import log_loss

from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.cell import BlockKey
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.protocol import BlockTask, Protocol
from rankbench.plugin.manager import get
from rankbench.protocols.folds import cut_groups
from rankbench.protocols.log_votes import unpack_grouped, unpack_votes

SEED, REPETITION = 20130501, 2
LINKS = {"logistic": lambda x: 1 / (1 + np.exp(-x)), "probit": norm.cdf}


def judged(protocol, dataset, use, metrics):
    """Return what is prepared, and the losses of a contender in one repetition."""
    whole = get(Protocol, protocol)
    prepared = whole.prepare(get(Dataset, dataset), SEED)
    key = BlockKey(protocol, dataset, prepared.scaled(1), REPETITION, SEED)
    cells = {"cell": Contender.single(get(Aggregator, use))}
    (found,) = whole.execute(prepared, BlockTask(key, 0, metrics, cells))
    assert found.status == "done"
    return prepared, {metric: float(found.losses[metric, "heldout"][0]) for metric in metrics}


def parts_of(groups, total, decisive, kind):
    """Return the inner part of each judgment, and the cut: folds alone are rankbench's."""
    cut = cut_groups(kind, (total, decisive), SEED, REPETITION)
    return cut.part[groups], cut


@pytest.mark.parametrize(
    ("dataset", "protocol"), part_of([("pandalm", "own-log:folds=query"), ("premier-league", "own-log")])
)
def test_bradley_terry_on_votes(dataset, protocol):
    prepared, found = judged(protocol, dataset, "bradley-terry:ridge=2", ("log-loss", "disagreement"))
    votes, grouped = unpack_votes(prepared), unpack_grouped(prepared.arrays)
    groups = votes.queries if grouped.kind == "query" else votes.groups
    part, cut = parts_of(groups, grouped.total, grouped.decisive, grouped.kind)

    def fit(rows):
        # Each vote twice, a tie once each way: half a win for both, and twice the penalty.
        pairs = np.stack([votes.winners, votes.losers], axis=1)
        tied, decisive = pairs[rows & votes.ties], pairs[rows & ~votes.ties]
        wins = np.concatenate([decisive, decisive, tied, tied[:, ::-1]]).tolist()
        return choix.opt_pairwise(len(votes.items), wins, alpha=2.0, tol=1e-10)

    def margins(scores, rows):
        kept = rows & ~votes.ties
        return scores[votes.winners[kept]] - scores[votes.losers[kept]]

    seen = np.concatenate([margins(fit(np.isin(part, known)), part == out) for known, out in cut.inner])
    unit = np.median(np.abs(seen[seen != 0]))

    def scale(cdf):
        padded = np.append(seen, [unit, -unit])
        return minimize_scalar(lambda b: -np.log(cdf(b * padded)).sum(), bounds=(0, 9), method="bounded").x

    cdf = min(LINKS.values(), key=lambda one: -np.log(one(scale(one) * seen)).mean())
    held = margins(fit((part >= 0) & (part < cut.tested)), part == cut.tested)
    expected = log_loss(np.ones(len(held)), cdf(scale(cdf) * held), labels=[0, 1])
    assert found["log-loss"] == pytest.approx(expected, abs=1e-5)
    assert found["disagreement"] == pytest.approx((held < 0).mean() + (held == 0).mean() / 2, abs=1e-12)


@pytest.mark.full
def test_plackett_luce_on_ballots():
    _, found = judged("held-out-ballots", "f1", "plackett-luce:ridge=1", ("next-place", "kendall-tau"))
    by_n = get(Dataset, "f1").scan().collect().sort("query_id", maintain_order=True)["ranking"].to_list()
    names = sorted({name for matched in by_n for (name,) in matched})
    number = {name: i for i, name in enumerate(names)}
    ballots = [[number[name] for (name,) in matched] for matched in by_n if len(matched) > 1]
    total = np.ones(len(ballots), np.int64)
    part, cut = parts_of(np.arange(len(ballots)), total, total, "vote")

    def fit(chosen):
        kept = list(compress(ballots, chosen))
        padded = np.full((len(kept), max(map(len, kept))), len(names))
        for row, ballot in zip(padded, kept, strict=True):
            row[: len(ballot)] = ballot

        def loss(scores):
            """Return the penalized loss of Plackett-Luce and its gradient; behind a ballot stands nobody."""
            worth = np.append(np.exp(scores), 0.0)[padded]
            behind = np.cumsum(worth[:, ::-1], axis=1)[:, ::-1]
            there = padded < len(names)
            value = (np.log(behind[there]) - scores[padded[there]]).sum() + scores @ scores / 2
            share = worth * np.cumsum(np.where(there, 1 / np.where(there, behind, 1), 0), axis=1)
            gradient = np.bincount(padded[there], share[there] - 1, len(names)) + scores
            return value, gradient

        return minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B", options={"ftol": 1e-14}).x

    def choices(scores, chosen):
        """Return the scores of those who stood behind each place, the one there first."""
        kept = compress(ballots, chosen)
        return [scores[ballot[place:]] for ballot in kept for place in range(len(ballot) - 1)]

    seen = [one for known, out in cut.inner for one in choices(fit(np.isin(part, known)), part == out)]

    def inner_loss(b):
        return np.mean([np.logaddexp.reduce(b * place) - b * place[0] for place in seen])

    b = minimize_scalar(inner_loss, bounds=(0, 10), method="bounded", options={"xatol": 1e-7}).x
    scores, tested = fit((part >= 0) & (part < cut.tested)), part == cut.tested
    chances = [np.exp(b * place) / np.exp(b * place).sum() for place in choices(scores, tested)]
    expected = np.mean([log_loss([0], [chance], labels=range(len(chance))) for chance in chances])
    assert found["next-place"] == pytest.approx(expected, abs=1e-4)
    taus = [kendalltau(-np.arange(len(ballot)), scores[ballot]).statistic for ballot in compress(ballots, tested)]
    assert found["kendall-tau"] == pytest.approx(np.mean(taus), abs=2e-3)
