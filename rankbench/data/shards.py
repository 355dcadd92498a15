"""Shards and splits of queries by a stable hash of the query's id.

The hash is blake2b, so that it is the same on every machine, in every version of every
library and whatever other queries there are. Shards and splits are independent of one another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rankbench.errors import InputError

__all__ = ["design_heldout", "shards_of", "stable_hash"]


def stable_hash(query_id: str, purpose: Literal["shard", "split"]) -> int:
    """Return the 64-bit hash of a query's id for one purpose.

    Parameters
    ----------
    query_id : str
    purpose : {"shard", "split"}
        Hashes for different purposes are independent.

    Returns
    -------
    int
        In ``[0, 2**64)``.
    """
    digest = hashlib.blake2b(query_id.encode(), digest_size=8, person=f"rankbench-{purpose}".encode())
    return int.from_bytes(digest.digest(), "big")


def shards_of(ids: Sequence[str], shards: int) -> NDArray[np.int64]:
    """Return the shard of each query, in ``[0, shards)``.

    Raises
    ------
    InputError
        Fewer than one shard.
    """
    if shards < 1:
        raise InputError(f"the number of shards must be positive, not {shards}")
    return np.array([stable_hash(query, "shard") % shards for query in ids], dtype=np.int64)


def design_heldout(ids: Sequence[str], design: int, heldout: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split queries into those that are judged and those that are only evaluated on.

    Queries are ordered by hash; the first `design` are design, the next `heldout` are
    held out. If there are fewer than ``design + heldout``, half of them are design (one
    more if their number is odd) and the rest held out.

    Parameters
    ----------
    ids : sequence of str
        Distinct ids of the usable queries, in any order: the split does not depend on it.
    design, heldout : int

    Returns
    -------
    tuple of ndarray of int64
        Indices into `ids`, in the order of the hash.

    Raises
    ------
    InputError
        Fewer than two queries, or a negative size.
    """
    if design < 1 or heldout < 0:
        raise InputError(f"cannot take {design} design and {heldout} held-out queries")
    if len(ids) < 2:
        raise InputError(f"{len(ids)} usable queries cannot be split into design and held-out ones; two are needed")
    order = np.array(sorted(range(len(ids)), key=lambda q: (stable_hash(ids[q], "split"), ids[q])), np.int64)
    if len(ids) < design + heldout:
        design = (len(ids) + 1) // 2
        heldout = len(ids) - design
    return order[:design], order[design : design + heldout]
