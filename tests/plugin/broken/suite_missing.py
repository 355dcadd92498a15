"""It names a suite file that is not there."""

from pathlib import Path

import rankbench

CAUGHT = "loading"
BY = r"suite file .*broken\.toml is not there"


@rankbench.hookimpl
def rankbench_register():
    return [Path(__file__).with_name("broken.toml")]
