"""No global random state, thread, warning filter or other setting is touched."""

from __future__ import annotations

from rankbench.testing.calls import CALLED, calls
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed
from rankbench.testing.state import State, changed_for_good, class_watched, left_behind, threads_before
from rankbench.testing.subjects import Subject


@conformance_check(*CALLED)
def surroundings_not_touched(subject: Subject) -> None:
    """After a call the process is as it was: random state, warnings, threads, environment."""
    for call in calls(subject):
        with class_watched(type(subject.it)):
            call.run(*call.make())  # what is imported or compiled at the first call may set something up
        if lasts := changed_for_good(type(subject.it)):
            raise CheckFailed(f"{call.label}, or a call before it: it changes {lasts[0]} and leaves it so")
        before = State.now()
        call.run(*call.make())
        if changed := before.changes():
            raise CheckFailed(f"{call.label}: it changes {changed[0]}")


@conformance_check(*CALLED)
def no_threads_left_behind(subject: Subject) -> None:
    """No thread and no process outlives a call, from the first one on."""
    before = threads_before(type(subject.it))
    for call in calls(subject):
        call.run(*call.make())
    if left := left_behind(before):
        raise CheckFailed(f"it leaves {left[0]} behind")
