"""Settled before anything imports NumPy: the same BLAS kernels and threads as a run has."""

from __future__ import annotations

from rankbench.runtime import settle_blas

settle_blas()
