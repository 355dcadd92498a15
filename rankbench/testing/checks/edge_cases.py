"""Empty, single-item, disconnected, all-tied, huge and tiny."""

from __future__ import annotations

import warnings

from rankbench.errors import ContenderDiverged, InputError
from rankbench.kinds.guard import reason
from rankbench.testing.calls import CALLED, edge_calls
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed
from rankbench.testing.checks.outputs import well_formed
from rankbench.testing.subjects import Subject


@conformance_check(*CALLED)
def edge_cases(subject: Subject) -> None:
    """What the contract allows at its edges gives finite numbers of the right shape, or an error that says why not."""
    for call in edge_calls(subject):
        try:
            well_formed(call)
        except CheckFailed:
            raise
        except (InputError, ContenderDiverged):
            continue
        except Exception as error:
            raise CheckFailed(f"{call.label}: raised {reason(error)}") from error


@conformance_check(*CALLED)
def no_warnings(subject: Subject) -> None:
    """Nothing at the edges divides by zero or overflows with a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for call in edge_calls(subject):
            try:
                call.run(*call.make())
            except RuntimeWarning as warning:
                raise CheckFailed(f"{call.label}: warns: {warning}") from warning
            except Exception:
                continue  # `edge-cases` says so
