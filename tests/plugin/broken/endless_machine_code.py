"""It never returns, in machine code that holds the interpreter's lock."""

import rankbench

CAUGHT = "process"
BY = "not done after"


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "A test"

    def features(self, x):
        from numba import njit

        @njit
        def turn(n):
            while n >= 0:
                n = (n + 1) % 7
            return n

        return x[: turn(1)]


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
