"""rankbench's own checks of components, on every one that this package brings; skipped without its peer."""

from rankbench.testing import parametrize_with_checks
from rankbench_peers.plugin import (
    rankbench_register_aggregators,
    rankbench_register_methods,
    rankbench_register_suites,
)


@parametrize_with_checks(
    [
        *(cls() for cls in rankbench_register_aggregators()),
        *(cls() for cls in rankbench_register_methods()),
        *rankbench_register_suites(),
    ]
)
def test_it_does_what_it_declares(check):
    check()
