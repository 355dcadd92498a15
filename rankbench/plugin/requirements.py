"""Whether a plugin asks for the rankbench that is installed."""

from __future__ import annotations

import importlib.metadata

from rankbench.text import normalized

__all__ = ["unmet"]


def unmet(distribution: importlib.metadata.Distribution, installed: str) -> str:
    """Return why a distribution does not work with a version of rankbench, and what to do; "" if it does.

    Parameters
    ----------
    distribution : Distribution
        With its requirements, as ``Requires-Dist`` has them.
    installed : str
        Version of rankbench.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    for text in distribution.requires or ():
        try:
            asked = Requirement(text)
        except InvalidRequirement as error:
            return (
                f"its requirement {text!r} cannot be read ({str(error).splitlines()[0]}); mend it in its pyproject.toml"
            )
        if normalized(asked.name) != "rankbench" or (asked.marker and not asked.marker.evaluate({"extra": ""})):
            continue
        # A checkout of rankbench between two releases has the version of a pre-release.
        if not asked.specifier.contains(installed, prereleases=True):
            return (
                f"it asks for rankbench {asked.specifier}, and {installed} is installed: install a release of it that "
                f"allows {installed}, or, if it is yours, widen the requirement and run `rankbench check` on it"
            )
    return ""
