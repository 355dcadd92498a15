"""Fixtures of the runner's tests."""

from __future__ import annotations

import pytest
from runner_blocks import make_block

from rankbench.methods.base import Block


@pytest.fixture
def block() -> Block:
    return make_block([4, 7, 3, 12, 5], 150)
