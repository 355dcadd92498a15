"""From a suite to what its blocks are drawn from: each protocol's data, prepared once."""

from __future__ import annotations

from collections.abc import Sequence

from rankbench.data.dataset import Dataset
from rankbench.errors import SpecError
from rankbench.plugin import manager
from rankbench.protocols.base import Prepared, Protocol
from rankbench.suites.schema import Suite

__all__ = ["dataset_of", "prepare", "protocol_of"]


def prepare(suite: Suite, datasets: Sequence[str] = ()) -> tuple[list[Prepared], dict[str, int]]:
    """Prepare the data of all experiments of a suite, each protocol on a data set once.

    Parameters
    ----------
    suite : Suite
        With its includes resolved.
    datasets : sequence of str
        In the contender grammar; each replaces that of every experiment whose protocol
        takes it, the first one that fits.

    Returns
    -------
    sources : list of Prepared
    of : dict of str to int
        Index of each experiment's source.

    Raises
    ------
    InputError
        The data are not there, cannot be read, or are too few.
    SpecError
        An unknown protocol or data set, one that does not go with the other, or a data set
        that no experiment takes.
    """
    given = [dataset_of(text) for text in datasets]
    wanted: dict[tuple[str, str], tuple[Protocol, Dataset | None]] = {}
    of: dict[str, int] = {}
    used: set[str] = set()
    refusals: list[str] = []
    for experiment in suite.experiments:
        protocol = protocol_of(experiment.protocol)
        dataset = None
        if protocol.table is not None:
            fitting = [d for d in given if not protocol.refusal(d)]
            refusals += [refusal for d in given if (refusal := protocol.refusal(d))]
            used |= {str(d) for d in fitting[:1]}
            dataset = fitting[0] if fitting else _own(experiment.name, experiment.dataset, protocol)
        key = (str(protocol), str(dataset) if dataset else "")
        wanted[key] = (protocol, dataset)
        of[experiment.name] = list(wanted).index(key)
    for d in given:
        if str(d) not in used:
            why = f": {refusals[0]}" if refusals else ""
            raise SpecError(f"no experiment of suite {suite.name!r} takes data set {d!s}{why}")
    return [protocol.prepare(dataset, suite.seed) for protocol, dataset in wanted.values()], of


def _own(experiment: str, text: str, protocol: Protocol) -> Dataset:
    if not text:
        raise SpecError(f"experiment {experiment!r}: protocol {protocol.name!r} needs a data set of {protocol.table}")
    dataset = dataset_of(text)
    refusal = protocol.refusal(dataset)
    if refusal:
        raise SpecError(f"experiment {experiment!r}: {refusal}")
    return dataset


def protocol_of(text: str) -> Protocol:
    """Return a protocol by its spec."""
    protocol = manager.get("protocol", text)
    if not isinstance(protocol, Protocol):
        raise SpecError(f"{text!r} is not a protocol")
    return protocol


def dataset_of(text: str) -> Dataset:
    """Return a data set by its spec."""
    dataset = manager.get("dataset", text)
    if not isinstance(dataset, Dataset):
        raise SpecError(f"{text!r} is not a data set")
    return dataset
