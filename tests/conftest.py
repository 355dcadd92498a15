"""Settled before anything imports NumPy: the same BLAS kernels and threads as a run has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from rankbench.runtime import settle_blas

if TYPE_CHECKING:
    from dask_cluster import Cluster

settle_blas()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler and two workers, processes of their own."""
    from dask_cluster import Cluster

    found = Cluster(tmp_path_factory.mktemp("cluster"), 2)
    yield found
    found.close()
