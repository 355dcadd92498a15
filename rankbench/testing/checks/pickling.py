"""Picklable: worker processes get components by pickle."""

from __future__ import annotations

import pickle

from rankbench.kinds.guard import reason
from rankbench.plugin.kinds import KINDS
from rankbench.testing.calls import CALLED, calls, outputs
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed
from rankbench.testing.close import same
from rankbench.testing.subjects import Subject


@conformance_check(*KINDS)
def picklable(subject: Subject) -> None:
    """Sent to a worker and back it is equal, also after it was used."""
    if subject.kind in CALLED:
        for call in calls(subject)[:1]:
            outputs(call)
    try:
        again = pickle.loads(pickle.dumps(subject.it))
    except Exception as error:
        raise CheckFailed(f"it cannot be pickled: {reason(error)}") from error
    if type(again) is not type(subject.it) or again.config() != subject.it.config():
        raise CheckFailed("a pickled copy is another component")


@conformance_check(*CALLED)
def pickled_copy_computes_the_same(subject: Subject) -> None:
    """A copy in another process would give the same bytes."""
    copy = Subject(subject.kind, pickle.loads(pickle.dumps(subject.it)))
    for call, again in zip(calls(subject), calls(copy), strict=True):
        if not same(outputs(call), outputs(again)):
            raise CheckFailed(f"{call.label}: a pickled copy gives something else")
