"""Suites of one experiment, as text."""

from __future__ import annotations

__all__ = ["OWN_LOG", "suite_text"]


def suite_text(
    *contenders: str,
    name: str = "tiny",
    protocol: str = "btl:design=10,heldout=10",
    dataset: str = "web10k-like:queries=24,features=8",
    n: str = "[100]",
    repetitions: int = 1,
    more: str = "",
) -> str:
    """Return a suite with one experiment.

    Parameters
    ----------
    *contenders : str
        Their tables in TOML, without braces, as ``use = "erm"``.
    name, protocol, dataset : str
        Of the suite; an empty data set is none.
    n : str
    repetitions : int
    more : str
        Further keys of the experiment.
    """
    data = f'dataset = "{dataset}"\n' if dataset else ""
    shown = ", ".join(f"{{ {contender} }}" for contender in contenders)
    return (
        f'name = "{name}"\ntitle = "{name.capitalize()}"\nprotocol = "{protocol}"\n{data}[[experiments]]\nname = "a"\n'
        f'title = "A"\nrepetitions = {repetitions}\nn = {n}\ncontenders = [{shown}]\n{more}\n'
    )


METHODS = ('label = "win rate", use = "win-rate"', 'label = "Borda", use = "borda"')
MORE = 'losses = ["disagreement"]\nbaseline = "win rate"'
OWN_LOG = suite_text(*METHODS, name="small", protocol="own-log", dataset="", n="[1]", repetitions=4, more=MORE)
"""Two methods on a log of one's own."""
