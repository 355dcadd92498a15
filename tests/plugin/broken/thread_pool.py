"""It leaves a thread pool behind."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import rankbench

CAUGHT = "check"
BY = "no-threads-left-behind"


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "A test"

    def features(self, x):
        return ThreadPoolExecutor(2).submit(np.array, x).result()


@rankbench.hookimpl
def rankbench_register_models():
    return [Broken]
