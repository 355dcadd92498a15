"""From a near start it goes half of the way."""

import rankbench

CAUGHT = "check"
BY = "near-starts-end-at-the-same-scores"


class Broken(rankbench.Aggregator):
    """Wins of an item less its losses, by weight."""

    name = "broken"
    source = "A test"

    def from_counts(self, counts):
        won, lost = counts.won_and_lost()
        return won - lost

    def from_counts_near(self, counts, scores):
        return (scores + self.from_counts(counts)) / 2


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
