"""It says shift-invariant, and pulls scores to zero."""

import rankbench

CAUGHT = "check"
BY = "shift-invariant"


class Broken(rankbench.ScoreSurrogate):
    """Least squares: the scores themselves are fitted."""

    name = "broken"
    source = "A test"
    properties = frozenset({"convex", "smooth", "quadratic", "equivariant", "shift-invariant"})

    def target(self, scores):
        return scores.copy()

    def value_and_gradient(self, alpha, target):
        residual = alpha - target
        return float(residual @ residual) / (2 * len(alpha)), residual / len(alpha)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
