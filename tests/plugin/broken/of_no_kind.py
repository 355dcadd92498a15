"""Its class derives from what all kinds derive from, and is of none of them."""

import rankbench

CAUGHT = "loading"
BY = "Broken derives from the base class of no kind; derive it from one of rankbench.Aggregator"


class Broken(rankbench.Component):
    """Nothing is done."""

    name = "broken"
    source = "A test"


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
