"""It learns from the labels that contenders are judged by, and does not say so."""

import numpy as np

import rankbench

CAUGHT = "check"
BY = "labels-do-not-matter"


class Broken(rankbench.Method):
    """Least squares on the labels of the design."""

    name = "broken"
    source = "A test"

    def fit(self, block):
        theta = np.linalg.lstsq(block.design.x, block.design.labels, rcond=None)[0]
        return rankbench.Fitted(lambda queries: queries.x @ theta)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
