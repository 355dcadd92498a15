"""It imports a module that is nowhere."""

import a_module_that_is_nowhere  # noqa: F401

CAUGHT = "loading"
BY = "cannot import .*ModuleNotFoundError: No module named 'a_module_that_is_nowhere'"
