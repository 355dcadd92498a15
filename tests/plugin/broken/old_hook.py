"""It implements one of the hooks that there were before there was one."""

import rankbench

CAUGHT = "loading"
BY = r"there is no hook 'rankbench_register_models': .* write `@rankbench.hookimpl` / `def rankbench_register\(\)"


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "A test"

    def features(self, x):
        return x.copy()


@rankbench.hookimpl
def rankbench_register_models():
    return [Broken]
