"""It reads memory that is not its own."""

import ctypes

import rankbench

CAUGHT = "process"
BY = "it killed its process (SIGSEGV)"


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "A test"

    def features(self, x):
        return ctypes.string_at(0)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
