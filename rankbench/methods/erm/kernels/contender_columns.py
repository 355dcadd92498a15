"""What the lockstep loop is told: its contenders, and where they are on their way."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["TILE", "WINDOW", "ContenderColumns", "ContenderPath"]

TILE = 16
"""Contenders in one matrix product."""

WINDOW = 100
"""Sampled losses in the paper's moving average (figure 2)."""


class ContenderColumns(NamedTuple):
    """The contenders: C rows of theta, first the padded tiles, then those with edges.

    Attributes
    ----------
    tiled : int
        Rows with score surrogates, a multiple of sixteen; the others have edges.
    active : ndarray of bool, shape (C,)
        False for padding.
    targets : ndarray of int64, shape (tiled,)
        Row of the target table.
    gradients : typed list of GRADIENT functions, one a tiled row
    gradient_params : ndarray of float64, with bounds of shape (tiled + 1,)
    edges : typed list of EDGES functions, one a group of rows that share edges and phi
    orders : ndarray of int64, shape (groups,)
        k of the group's edges.
    edge_params : ndarray of float64, with bounds of shape (groups + 1,)
    weighed : ndarray of bool, shape (groups,)
        Whether the weights of a group's edges are not taken as they are.
    weighs : typed list of WEIGH functions, one a group
    weigh_params : ndarray of float64, with bounds of shape (groups + 1,)
    phis, dphis : typed lists of PHI functions, one a group
    phi_params : ndarray of float64, with bounds of shape (groups + 1,)
    groups : ndarray of int64, shape (groups + 1,)
        Rows of a group are ``groups[g]:groups[g + 1]``.
    steps : typed list of STEP functions, one a run of rows with the same function
    runs : ndarray of int64, shape (runs, 2)
        First row and end of each run.
    step_params : ndarray of float64, shape (C, p)
    l2, l1 : ndarray of float64, shape (C,)
        Weights of the penalties.
    """

    tiled: Any
    active: Any
    targets: Any
    gradients: Any
    gradient_params: Any
    gradient_bounds: Any
    edges: Any
    orders: Any
    edge_params: Any
    edge_bounds: Any
    weighed: Any
    weighs: Any
    weigh_params: Any
    weigh_bounds: Any
    phis: Any
    dphis: Any
    phi_params: Any
    phi_bounds: Any
    groups: Any
    steps: Any
    runs: Any
    step_params: Any
    l2: Any
    l1: Any


class ContenderPath(NamedTuple):
    """Where the contenders are, and where they were at the recorded steps.

    Attributes
    ----------
    theta, total, gradient : ndarray of float64, shape (C, d)
        Current iterate, sum of the iterates that are averaged, sampled gradient.
    unaveraged : ndarray of int64, shape (C,)
        Steps whose iterates are left out of the average.
    state : ndarray of float64, shape (C, s)
        Memory of the optimizers.
    window : ndarray of float64, shape (100, C)
        Last sampled losses.
    record : ndarray of int64, shape (P,)
        Steps after which to record, increasing.
    estimates : ndarray of float64, shape (C, P)
        Moving average of the sampled losses plus the penalty, the paper's estimator.
    last, averaged : ndarray of float64, shape (P, C, d)
        Before there is anything to average, the last iterate stands for it.
    alpha, residual : ndarray of float64, shape (16 * max m_q,)
        Scores of one tile and gradients in them.
    tails, heads : ndarray of int32, shape (longest,)
    edge_weights, edge_offsets : ndarray of float64, shape (longest,)
    edge_work : ndarray of float64
    margins, slopes : ndarray of float64, shape (longest * C,)
    difference : ndarray of float64, shape (d,)
    features : ndarray of float64, shape (max m_q, d)
        Of the drawn query.
    turned : ndarray of float64, shape (d, 16)
        Iterates of a tile, transposed.
    by_item : ndarray of float64, shape (max m_q, 16)
        Scores of a tile, transposed.
    watched : bool
        Whether anybody wants the values of pairwise surrogates.
    """

    theta: Any
    total: Any
    gradient: Any
    unaveraged: Any
    state: Any
    window: Any
    record: Any
    estimates: Any
    last: Any
    averaged: Any
    alpha: Any
    residual: Any
    tails: Any
    heads: Any
    edge_weights: Any
    edge_offsets: Any
    edge_work: Any
    margins: Any
    slopes: Any
    difference: Any
    features: Any
    turned: Any
    by_item: Any
    watched: Any
