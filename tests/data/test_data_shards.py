import hashlib

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st

from rankbench.data.readers.parquet import design_heldout, shards_of, stable_hash
from rankbench.errors import InputError

IDS = [str(i) for i in range(12)]


def test_golden_values():
    """Splits of published results and shards on disk: these never change."""
    assert stable_hash("train/16", "shard") == 8532766692138894534
    assert stable_hash("train/16", "split") == 6387064819088598015
    assert shards_of(IDS, 4).tolist() == [3, 1, 2, 3, 0, 0, 0, 2, 3, 0, 0, 3]
    design, heldout = design_heldout(IDS, 3, 4)
    assert (design.tolist(), heldout.tolist()) == ([4, 7, 2], [10, 5, 3, 1])


def test_it_is_blake2b_of_the_id():
    digest = hashlib.blake2b("ä".encode(), digest_size=8, person=b"rankbench-split").digest()
    assert stable_hash("ä", "split") == int.from_bytes(digest, "big")


def test_shards_are_about_equal_and_independent_of_the_split():
    ids = [f"q{i}" for i in range(20_000)]
    shards = shards_of(ids, 8)
    # Binomial(20000, 1/8): five standard deviations are 234.
    assert np.abs(np.bincount(shards, minlength=8) - 2500).max() < 234
    parts = np.array([stable_hash(query, "split") % 8 for query in ids])
    joint = np.bincount(parts * 8 + shards, minlength=64)
    assert np.abs(joint - 312.5).max() < 5 * 17.6


queries = st.lists(st.text(max_size=4), min_size=2, max_size=40, unique=True)


@examples(60)
@given(queries, st.integers(1, 30), st.integers(0, 30), st.randoms())
def test_the_split_depends_on_nothing_but_the_ids(ids, design, heldout, random):
    one, other = design_heldout(ids, design, heldout)
    shuffled = random.sample(ids, len(ids))
    again = design_heldout(shuffled, design, heldout)
    assert [ids[q] for q in one] == [shuffled[q] for q in again[0]]
    assert [ids[q] for q in other] == [shuffled[q] for q in again[1]]
    assert not set(one.tolist()) & set(other.tolist())
    if len(ids) >= design + heldout:
        assert (len(one), len(other)) == (design, heldout)
    else:
        assert (len(one), len(other)) == ((len(ids) + 1) // 2, len(ids) // 2)


def test_more_design_queries_contain_fewer():
    ids = [f"q{i}" for i in range(100)]
    assert design_heldout(ids, 50, 20)[0][:30].tolist() == design_heldout(ids, 30, 20)[0].tolist()


@pytest.mark.parametrize(
    ("ids", "sizes", "said"),
    [(IDS, (0, 5), "cannot take"), (IDS, (5, -1), "cannot take"), (["a"], (1, 1), "two are needed")],
)
def test_what_cannot_be_divided(ids, sizes, said):
    with pytest.raises(InputError, match=said):
        design_heldout(ids, *sizes)
