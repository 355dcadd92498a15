"""It implements a hook that there is not."""

import rankbench

CAUGHT = "loading"
BY = r"there is no hook 'rankbench_regster': .* write `@rankbench.hookimpl` / `def rankbench_register\(\)"


@rankbench.hookimpl
def rankbench_regster():
    return []
