"""It leaves a thread pool behind."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import rankbench

CAUGHT = "check"
BY = "no-threads-left-behind"

POOL = ThreadPoolExecutor(2)


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "A test"

    def features(self, x):
        return POOL.submit(np.array, x).result()


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
