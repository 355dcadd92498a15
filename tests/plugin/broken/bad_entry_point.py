"""Its entry point names what is not in its module."""

CAUGHT = "loading"
BY = "cannot import .*AttributeError"

ATTRIBUTE = "nothing_here"
