"""The class has no docstring of its own."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "documented"


class Broken(rankbench.Model):
    name = "broken"
    source = "A test"

    def features(self, x):
        return np.array(x)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
