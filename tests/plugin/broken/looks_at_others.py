"""It standardizes features over the items that it happens to see."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "items-are-mapped-one-by-one"


class Broken(rankbench.Model):
    """Features less their mean."""

    name = "broken"
    source = "A test"

    def features(self, x):
        return np.asarray(x - x.mean(axis=0), dtype=np.float32) if len(x) else x


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
