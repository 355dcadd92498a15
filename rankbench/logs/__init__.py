"""Comparison logs of any length: counted by pair as they stream by, and fitted from the counts.

======================  ================================================================
`count_log`             a file or lazy frame to `PairCounts`
`count_pairs`           NumPy arrays to `PairCounts`
`fit_bradley_terry`     maximum likelihood, with or without a ridge
======================  ================================================================

Importing this package imports neither numba nor Polars.
"""
