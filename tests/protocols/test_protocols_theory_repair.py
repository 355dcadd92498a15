"""The protocols theory and repair: what they prepare, compute and refuse."""

from __future__ import annotations

import numpy as np
import pytest
from competing import executed
from scipy.special import expit

from rankbench.certify.conditional_risks import consistency_in
from rankbench.certify.populations import GRAPHS, draw_populations
from rankbench.errors import ContenderDiverged, SpecError
from rankbench.interfaces.cell import cell_problem
from rankbench.interfaces.protocol import Protocol
from rankbench.interfaces.surrogate import Surrogate
from rankbench.kernels.random import seed_state
from rankbench.losses.pairwise_disagreement import PairwiseDisagreement
from rankbench.plugin import manager
from rankbench.protocols import theory
from rankbench.protocols.theory import ROUNDING, Repair, Theory


def run(prepared, cells, metrics=(), n=1):
    return executed(prepared, cells, metrics, n=n, seed=7)


def test_theory_is_a_table_of_consistency():
    protocol = Theory(loss="pairwise-disagreement")
    prepared = protocol.prepare(None, 1)
    assert prepared.units["design"] == tuple(setting.name for setting in GRAPHS)
    (found,) = run(prepared, ["pairwise-logistic"]).values()
    assert cell_problem(found, {"design": len(GRAPHS)}) is None
    loss, surrogate = PairwiseDisagreement(), manager.get(Surrogate, "pairwise-logistic")
    expected = [consistency_in(surrogate, setting, loss) for setting in GRAPHS]
    assert found.losses["gap", "design"].tolist() == [one.gap for one in expected]
    assert found.losses["verdict", "design"].tolist() == [(one.gap > 0) - (one.gap < 0) for one in expected]
    assert found.losses["excess", "design"].tolist() == [one.excess for one in expected]


def test_theory_skips_losses_that_do_not_care():
    (found,) = run(Theory(loss="precision:k=3").prepare(None, 1), ["regression"], ("gap",)).values()
    assert found.status == "skipped"
    assert "same risk for all orders" in found.reason


def test_theory_calls_divergence_by_its_name(monkeypatch):
    def diverging(*args):
        raise ContenderDiverged("no minimum")

    monkeypatch.setattr(theory, "consistency_in", diverging)
    (found,) = run(Theory().prepare(None, 1), ["pairwise-logistic"], ("gap",)).values()
    assert (found.status, found.reason) == ("diverged", "no minimum")


def test_theory_aggregates_graphs_only():
    with pytest.raises(SpecError, match="aggregation is of graphs"):
        manager.get(Protocol, "theory:loss=ndcg,aggregation=difference")


@pytest.fixture(scope="module")
def prepared():
    return Repair(paper=True, populations=4).prepare(None, 5)


CELLS = {
    "oracle": "oracle",
    "single": "erm:aggregator=identity,k=1,surrogate=pairwise-logistic,optimizer=newton,lambda=1e-7",
    "repaired": "erm:aggregator=difference-graph,k=inf,surrogate=pairwise-logistic,optimizer=newton,lambda=1e-7",
    "linear": "erm:aggregator=net-weights,k=inf,surrogate=linear,optimizer=exact,lambda=1e-7",
}


def test_repair_on_the_papers_populations(prepared):
    """With many votes: (12) misorders items 2 and 3, which costs their weight; (23) and linear do not."""
    rows = {cell: one.losses["excess", "design"] for cell, one in run(prepared, CELLS, n=30_000).items()}
    assert not rows["oracle"].any()
    assert rows["single"][0] == pytest.approx(0.05 / 2.55)
    assert (rows["single"][1:] >= 0).all()
    # (2, 3) is 2% of the votes, all one way: no sample of this size has it otherwise.
    assert rows["repaired"][0] == rows["linear"][0] == 0


def test_repair_prefixes(prepared):
    from rankbench.protocols.theory import _draw, _populations

    populations = _populations(prepared)
    assert [len(p.votes) for p in populations] == [3, 3, 4, 4, 4, 4]
    few, many = (_draw(populations, n, (1, 2)) for n in (10, 50))
    for q in range(len(populations)):
        assert few.winners[10 * q : 10 * q + 10].tolist() == many.winners[50 * q : 50 * q + 10].tolist()


def test_repair_labels_are_a_best_ranking(prepared):
    from rankbench.protocols.theory import _populations, _queries

    queries = _queries(prepared)
    for q, population in enumerate(_populations(prepared)):
        labels = queries.labels[queries.offsets[q] : queries.offsets[q + 1]]
        risks = [
            PairwiseDisagreement().value(np.array(alpha, float), population.votes)
            for alpha in np.ndindex(*(len(labels),) * len(labels))
        ]
        assert PairwiseDisagreement().value(labels, population.votes) == pytest.approx(min(risks))


def test_the_papers_populations_are_low_noise():
    with pytest.raises(SpecError, match="low-noise"):
        Repair(noise="cyclic", paper=True).prepare(None, 1)


def test_the_page_says_why_populations_have_this_law():
    assumed = " ".join(Repair().assumptions())
    assert "chosen, before anything was trained, for how often the limit of (12)" in assumed
    assert "about a third of low-noise populations of four items, and on half of those of five" in assumed


@pytest.mark.parametrize(("items", "said"), [(4, 1 / 3), (5, 1 / 2)])
def test_how_often_the_limit_of_logistic_edges_is_wrong(items, said):
    """The shares that the page and the suite give: three standard errors of 1,000 populations are 0.047 at most."""
    drawn = draw_populations("low-noise", 1000, items, seed_state((items,)))
    loss = PairwiseDisagreement()
    wrong = sum(
        loss.value(limit(population.votes), population.votes) > loss.bayes_risk(population.votes[None]).upper + ROUNDING
        for population in drawn
    )
    assert wrong / 1000 == pytest.approx(said, abs=0.047)


def limit(votes):
    """Minimize (12) with the logistic phi for infinitely many votes: sum of votes[i, j] phi(s_i - s_j), by Newton."""
    scores = np.zeros(len(votes))
    for _ in range(50):
        p = expit(scores - scores[:, None])  # [i, j]: how much i over j is still to be learned
        slope = (votes * p).sum(axis=0) - (votes * p).sum(axis=1)
        if np.abs(slope).max() < 1e-13:
            return scores
        weights = (votes + votes.T) * p * (1 - p)
        scores -= np.linalg.lstsq(np.diag(weights.sum(axis=1)) - weights, slope, rcond=None)[0]
    raise AssertionError("Newton's method did not converge")
