"""rankbench's own checks of components, on every one that this package brings; skipped without its peer."""

from rankbench.testing import parametrize_with_checks
from rankbench_peers.plugin import rankbench_register


@parametrize_with_checks([found() if isinstance(found, type) else found for found in rankbench_register()])
def test_it_does_what_it_declares(check):
    check()
