"""Empirical risk minimization over aggregated judgments: contenders of a block fitted together.

Sections 2 to 4 of [DMJ13]_: the U-statistic risk, its targets, and the lockstep loop.
"""
