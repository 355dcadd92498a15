"""Checks in a process that has used nothing compiled before, as those of a plugin's tests are."""

from __future__ import annotations

import os
import subprocess
import sys


def test_what_numba_sets_up_is_not_the_components_doing():
    program = (
        "import rankbench; from rankbench.testing import check_component; "
        "print([str(r) for r in check_component(rankbench.get(rankbench.Aggregator, 'average-adjacency')) if not r.ok])"
    )
    fresh = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    shown = subprocess.run([sys.executable, "-c", program], env=fresh, capture_output=True, text=True, check=False)
    assert shown.stdout == "[]\n", shown.stderr
