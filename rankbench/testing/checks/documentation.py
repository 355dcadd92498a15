"""Documented, with a source."""

from __future__ import annotations

from rankbench.component import Property
from rankbench.plugin.kinds import KINDS
from rankbench.testing.catalog import conformance_check
from rankbench.testing.check_results import CheckFailed
from rankbench.testing.subjects import Subject


@conformance_check(*KINDS)
def documented(subject: Subject) -> None:
    """The class says in its own docstring what it computes, and every parameter what it means."""
    cls = type(subject.it)
    if not (cls.__dict__.get("__doc__") or "").strip():
        raise CheckFailed(f"class {cls.__name__} has no docstring")
    if not cls.summary().endswith("."):
        raise CheckFailed(f"the first line of the docstring is no sentence: {cls.summary()!r}")
    silent = [name for name, field in cls.parameters().items() if not (field.description or "").strip()]
    if silent:
        raise CheckFailed(f"parameter {silent[0]!r} has no description; write Field(..., description=...)")


@conformance_check(*KINDS)
def has_a_source(subject: Subject) -> None:
    """It says where it is described: paper and equation, or what else."""
    source = getattr(type(subject.it), "source", None)
    if not isinstance(source, str) or not source.strip():
        raise CheckFailed("`source` is empty; name the paper and the equation, or where else it is described")
    if source.strip().upper().rstrip(".:") in {"TODO", "FIXME", "TBD", "?", "-", "N/A", "NONE", "UNKNOWN"}:
        raise CheckFailed(f"`source` says {source!r}, which names nothing")


@conformance_check(*KINDS)
def properties_are_known(subject: Subject) -> None:
    """Every declared property is one that the checks know."""
    from typing import get_args

    from rankbench.errors import nearest

    known = get_args(Property)
    for word in sorted(subject.it.properties):
        if word not in known:
            raise CheckFailed(f"there is no property {word!r}{nearest(word, known)}")
