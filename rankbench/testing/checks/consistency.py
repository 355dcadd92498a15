"""A short certification: is the surrogate consistent? Reported, never failed: most surrogates are not."""

from __future__ import annotations

from rankbench.testing.catalog import conformance_check
from rankbench.testing.subjects import Subject
from rankbench.text import exception_text

LAWS = 25
"""Distributions that are looked at, at most."""


@conformance_check("surrogate")
def certified(subject: Subject) -> str:
    """A short `rankbench certify` reports its verdict; whatever it is, the check passes."""
    from rankbench.certify.verb import certify

    of_graphs = subject.it.structure == "edges" or subject.declares("score-linear")
    loss = "pairwise" if of_graphs else "ndcg"
    try:
        found = certify(subject.it, loss=loss, budget="20s", laws=LAWS)
    # Foreign code may raise anything; that is for the other checks to say.
    except Exception as error:
        return f"refused: {exception_text(error)}"
    noise = "low noise, " if of_graphs else ""
    return f"for information: {found.label} for {found.loss} ({noise}3 items)"
