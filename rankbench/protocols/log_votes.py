"""What the protocols on logs share: votes in and out of blocks, and who can rank their items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankbench.component import Component
from rankbench.counts.votes import Votes, all_ones, coded_votes, load_votes, votes_of_ballots
from rankbench.data.remembered import remembered
from rankbench.data.tables.recognize import table_kind
from rankbench.describe.findings import name_notes, suspicious_votes
from rankbench.errors import InputError
from rankbench.kinds.aggregator import Aggregator
from rankbench.kinds.controlled_aggregator import ControlledAggregator
from rankbench.kinds.covariates import Covariates
from rankbench.kinds.dataset import Dataset
from rankbench.kinds.protocol import Prepared, pack
from rankbench.kinds.scales import connected_components
from rankbench.protocols.folds import HeldOut
from rankbench.protocols.grouped import ComparedPairs, compared_pairs, group_votes, pack_grouped, pack_pairs

__all__ = ["Loaded", "misfit_of", "pack_votes", "unchanged", "unpack_items", "unpack_votes", "votes_of"]


@dataclass(frozen=True, eq=False)
class Loaded:
    """A data set's votes.

    Attributes
    ----------
    votes : Votes
    notes : tuple of str
        What a reader must know about them.
    arrays : dict of str to ndarray
        The votes as `pack_votes` packs them: protocols on one data set share them.
    fingerprint : str
        Of the data set.
    """

    votes: Votes
    notes: tuple[str, ...]
    arrays: dict[str, NDArray[Any]]
    fingerprint: str

    @cached_property
    def _pairs(self) -> tuple[ComparedPairs, NDArray[np.int32], dict[str, NDArray[Any]]]:
        pairs, of_vote = compared_pairs(self.votes)
        return pairs, of_vote, pack_pairs(pairs)

    @cached_property
    def _grouped(self) -> dict[HeldOut, dict[str, NDArray[Any]]]:
        return {}

    def grouped(self, kind: HeldOut) -> dict[str, NDArray[Any]]:
        """Return the votes by group as `pack_grouped` packs them: protocols that group alike share them."""
        if kind not in self._grouped:
            pairs, of_vote, packed = self._pairs
            self._grouped[kind] = packed | pack_grouped(group_votes(self.votes, kind, pairs, of_vote))
        return self._grouped[kind]


def votes_of(dataset: Dataset) -> Loaded:
    """Return a data set's votes; those loaded last are not loaded again, unless their fingerprint is another one.

    Raises
    ------
    InputError
        There are none, or they are about one item; or the file changed while it was read.
    """
    fingerprint = dataset.fingerprint()

    def load() -> Loaded:
        votes, notes = _load(dataset)
        unchanged(dataset, fingerprint)
        return Loaded(votes, notes, pack_votes(votes), fingerprint)

    return remembered(dataset, fingerprint, load)


def unchanged(dataset: Dataset, fingerprint: str) -> None:
    """Refuse data whose content is not what it was before they were read.

    Raises
    ------
    InputError
        The fingerprint is another one now: somebody writes to the file.
    """
    if dataset.fingerprint() != fingerprint:
        raise InputError(f"{dataset!s} changed while it was read; run again when nobody writes to it, or on a copy")


def _load(dataset: Dataset) -> tuple[Votes, tuple[str, ...]]:
    from rankbench.data.tables.checks import judgments_of

    kind, table = judgments_of(table_kind(dataset.table), dataset.scan())
    if kind.row == "orders":
        votes = votes_of_ballots(table)
        notes = ["Ballots stand for the comparisons that they imply; a ballot is a judge."]
    else:
        # Names as numbers: what is held of a long log are its columns, not its texts.
        table = coded_votes(table)
        votes = load_votes(table)
        notes = [_sentence(note) for note in suspicious_votes(table, whole=True).notes()]
    notes += [_sentence(note) for note in name_notes(votes.items)]
    tied = float(votes.weights[votes.ties].sum() / votes.weights.sum())
    judges = "judges unknown" if votes.judges is None else f"{votes.judges.max() + 1:,} judges"
    if votes.unsigned:
        judges = "judges taken for unknown"
        notes.append(
            f"Of {votes.count:,} votes the log does not say for {votes.unsigned:,} who judged: all are taken for votes "
            "of unknown judges. Leave these rows out, or give them names, to go by judges."
        )
    order = votes.order_note()
    if order:
        notes.append(f"{order[0].upper()}{order[1:]}.")
    scales = len(connected_components(votes.counts()))
    if scales > 1:
        notes.append(
            f"{scales} groups of items were never compared with one another: scores of different groups stand on "
            "scales of their own, and nothing is said about their order."
        )
    notes.append(f"{votes.count:,} votes on {len(votes.items):,} items, {tied:.0%} ties, {judges}.")
    return votes, tuple(notes)


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."


def pack_votes(votes: Votes) -> dict[str, NDArray[Any]]:
    """Return votes as arrays of a `Prepared`."""
    # Not an array of texts: those have one width, that of the longest name, and lose a last NUL.
    names = [name.encode() for name in votes.items]
    arrays: dict[str, NDArray[Any]] = {
        "names": np.frombuffer(b"".join(names), dtype=np.uint8),
        "ends": np.cumsum([len(name) for name in names], dtype=np.int64),
        "winners": votes.winners,
        "losers": votes.losers,
        "ties": votes.ties,
        "groups": votes.groups,
    }
    if votes.covariates is not None:
        # Names have no line ends: terms are columns of a file.
        arrays["covariates"] = votes.covariates.values
        arrays["controls"] = np.frombuffer("\n".join(votes.covariates.names).encode(), dtype=np.uint8)
    known = {
        "rest": votes.rest,
        "weights": None if votes.alike else votes.weights,
        "judges": votes.judges,
        "times": votes.times,
    }
    return pack("votes", **arrays, **{name: array for name, array in known.items() if array is not None})


def unpack_items(prepared: Prepared) -> list[str]:
    """Return the names of the items that `pack_votes` packed."""
    text, ends = prepared.arrays["votes.names"].tobytes(), prepared.arrays["votes.ends"].tolist()
    return [text[begin:end].decode() for begin, end in zip([0, *ends[:-1]], ends, strict=True)]


def unpack_votes(prepared: Prepared) -> Votes:
    """Return what `pack_votes` packed."""
    of = {name.removeprefix("votes."): array for name, array in prepared.arrays.items() if name.startswith("votes.")}
    n, covariates = len(of["winners"]), None
    if "covariates" in of:
        names = tuple(of["controls"].tobytes().decode().split("\n"))
        covariates = Covariates(names, (1.0,) * len(names), of["covariates"])
    return Votes(
        unpack_items(prepared),
        of["winners"],
        of["losers"],
        of["ties"],
        of["weights"] if "weights" in of else all_ones(n),
        of.get("judges"),
        of["groups"],
        of.get("times"),
        covariates=covariates,
        rest=of.get("rest"),
    )


def misfit_of(contender: Component, *, covariates: bool = False) -> str:
    """Return why a component cannot rank the items of a log of votes; empty if it can.

    Parameters
    ----------
    contender : Component
    covariates : bool
        Whether the protocol shows those of the log.
    """
    if not isinstance(contender, Aggregator):
        return f"a {contender.kind} aggregates nothing"
    if isinstance(contender, ControlledAggregator) and contender.control and not covariates:
        return "it takes covariates, and this experiment shows none"
    if contender.needs_truth:
        return "it needs the truth, and a log has none"
    if contender.judgments != "comparisons":
        return f"it aggregates {contender.judgments}"
    if contender.structure != "scores":
        return f"it makes {contender.structure}, and a ranking needs scores"
    return ""
