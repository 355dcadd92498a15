"""rankbench's own checks of components, on every one that this package brings; skipped without its peer."""

from rankbench.testing import parametrize_with_checks
from rankbench_peers.from_evalica import EvalicaElo
from rankbench_peers.plugin import rankbench_register

FRACTIONS = "evalica's Elo is shown whole votes; what the check shows it weighs 7.5, which it refuses"


@parametrize_with_checks(
    [found() if isinstance(found, type) else found for found in rankbench_register() if found is not EvalicaElo]
)
def test_it_does_what_it_declares(check):
    check()


@parametrize_with_checks(
    [EvalicaElo()],
    dict.fromkeys(
        (
            "draws-from-no-global-generator",
            "equivariant-under-relabelling",
            "inputs-not-mutated",
            "no-threads-left-behind",
            "pickled-copy-computes-the-same",
            "same-input-same-result",
            "shape-and-finiteness",
            "surroundings-not-touched",
            "works-on-read-only-arrays",
        ),
        FRACTIONS,
    ),
)
def test_elo_does_what_it_declares_but_for_fractions_of_votes(check):
    check()
