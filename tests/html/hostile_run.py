"""A made-up run whose contenders have hostile names."""

from __future__ import annotations

from pathlib import Path

import synthetic
from synthetic import Contender, Plan

from rankbench.reports.results import report

HOSTILE = (
    "<script>window.hurt=1</script>",
    "</script><img src=x onerror=window.hurt=1>",
    "\"><b onclick='window.hurt=1'>",
    "[a](javascript:window.hurt=1)",
    "=1+1 \u202egnp\u202c `x` $a_b$ ${hurt}",
)
"""Names that would run, break out of an attribute, of JSON or of Markdown, or turn the text around."""


def plan() -> Plan:
    """Return an experiment with a figure of lines, a claim, and contenders with hostile names."""
    found = synthetic.drawn(file="figure-3")
    claim = synthetic.claimed().extra["claims"]
    found.contenders += [Contender(name, {"k": 1, "other": at}, 0.01 * at) for at, name in enumerate(HOSTILE)]
    for one in found.contenders[:3]:
        one.config |= {"name": "erm", "surrogate": {"name": "regression", "cutoff": "inf"}}
    found.extra |= {"claims": claim}
    found.extra["figures"][0]["title"] = HOSTILE[1]
    return found


def reported(folder: Path) -> Path:
    """Write the run with its report, and return its folder."""
    report(synthetic.write(folder, [plan()], title=f"A run of {HOSTILE[0]}"))
    return folder
