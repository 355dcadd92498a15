"""Its `packages` is a word in parentheses, not a tuple: the comma was forgotten."""

import rankbench

CAUGHT = "loading"
BY = r"Broken\.packages is 'numpy', not a tuple of distributions"


class Broken(rankbench.Model):
    """The features as they are."""

    name = "broken"
    source = "nowhere"
    packages = ("numpy")  # fmt: skip

    def features(self, x):
        return x.copy()


@rankbench.hookimpl
def rankbench_register():
    return [Broken]
