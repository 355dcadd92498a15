"""rankbench's own checks of components, on every one that this package brings; skipped without its peer."""

from rankbench.testing import parametrize_with_checks
from rankbench_peers.from_evalica import EvalicaElo
from rankbench_peers.from_glicko2 import Glicko2Package
from rankbench_peers.from_kickscore import Kickscore
from rankbench_peers.from_openskill import Openskill
from rankbench_peers.from_trueskill import TrueskillThroughTime
from rankbench_peers.plugin import rankbench_register

FRACTIONS = "it is shown whole votes, one after the other; what the check shows it weighs 7.5, which it refuses"
WHOLE = (EvalicaElo, Glicko2Package, Kickscore, Openskill, TrueskillThroughTime)


@parametrize_with_checks(
    [found() if isinstance(found, type) else found for found in rankbench_register() if found not in WHOLE]
)
def test_it_does_what_it_declares(check):
    check()


@parametrize_with_checks(
    [EvalicaElo(), Glicko2Package(), Kickscore(margin=0.1), Openskill(), TrueskillThroughTime(p_draw=0.25)],
    dict.fromkeys(
        (
            "equivariant-under-relabelling",
            "picklable",
            "same-input-same-result",
            "shape-and-finiteness",
            "surroundings-not-touched",
        ),
        FRACTIONS,
    ),
)
def test_what_goes_vote_by_vote_does_what_it_declares_but_for_fractions_of_votes(check):
    check()
