"""It implements a hook that there is not."""

import rankbench

CAUGHT = "loading"
BY = "there is no hook 'rankbench_register_modells'; did you mean 'rankbench_register_models'"


@rankbench.hookimpl
def rankbench_register_modells():
    return []
