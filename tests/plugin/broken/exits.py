"""It ends the process with os._exit."""

import os

import rankbench

CAUGHT = "process"
BY = "it ended its process (exit code 7)"


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "A test"

    def features(self, x):
        os._exit(7)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
