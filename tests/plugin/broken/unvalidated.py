"""A parameter takes anything, another one nan."""

import numpy as np
from pydantic import Field

import rankbench

CAUGHT = "check"
BY = "numbers-are-bounded"


class Broken(rankbench.Model):
    """Multiplies the features."""

    name = "broken"
    source = "A test"

    by: float = Field(default=1.0, description="By this number.")

    def features(self, x):
        return np.asarray(x * self.by, dtype=np.float32)


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
