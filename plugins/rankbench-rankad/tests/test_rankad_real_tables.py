"""On the tables of ADBench, with RANKBENCH_DATA: the anchored ranker stays near its teacher."""

import numpy as np
import pytest
from hypothesis import settings

from rankbench_rankad.adbench import TABLES, Mammography
from rankbench_rankad.items import from_items
from rankbench_rankad.peers import KnnDistance
from rankbench_rankad.rank_ad import RankAD
from rankbench_rankad.roc import auc

N = 2000

FULL = settings.get_current_profile_name() != "quick"

SEEDS = range(2 if FULL else 1)
"""Splits of a table: a quick run of the tests tries one, of every third table."""


@pytest.mark.parametrize("table", TABLES if FULL else TABLES[::3], ids=lambda table: table.name)
def test_anchored_is_within_two_points_of_its_teacher(real_table, table):
    real_table(table)
    x, labels = from_items(table().scan())
    differences = []
    for seed in SEEDS:
        draw = np.random.default_rng(seed)
        nominal = draw.permutation(np.flatnonzero(labels == 0))
        test = np.concatenate([nominal[N : 2 * N], np.flatnonzero(labels == 1)])
        anomalous = labels[test] == 1
        scores = [
            detector.train(x[nominal[:N]], np.random.default_rng(seed)).score(x[test])
            for detector in (RankAD(anchored=True), KnnDistance())
        ]
        differences.append(auc(scores[0], anomalous) - auc(scores[1], anomalous))
    assert abs(np.mean(differences)) <= 0.02


def test_the_cards_say_what_is_in_the_tables(real_table):
    for table in TABLES:
        x, labels = real_table(table)
        said = table().assumptions()[0]
        assert said.startswith(f"{len(x):,} points with {x.shape[1]} features, {int(labels.sum()):,} of them")


def test_duplicate_rows_of_a_real_table_share_a_level(real_table):
    from rankbench_rankad.neighbors import leave_one_out, levels_of

    x, _ = real_table(Mammography)
    _, of = np.unique(x, axis=0, return_inverse=True)
    levels = levels_of(-leave_one_out(x, 10), 10)
    first = np.full(of.max() + 1, -1)
    first[of] = levels
    np.testing.assert_array_equal(first[of], levels)
    assert len(first) < 0.8 * len(x), "there are many duplicates"
