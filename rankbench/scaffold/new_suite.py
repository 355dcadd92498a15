"""``rankbench new suite``: a commented TOML file that runs in seconds."""

from __future__ import annotations

from pathlib import Path

from rankbench.errors import SpecError
from rankbench.plugin import manager
from rankbench.plugin.kinds import SUITE
from rankbench.scaffold.plugin_names import kebab
from rankbench.scaffold.templates import filled, write_all

__all__ = ["write_suite"]


def write_suite(name: str, parent: Path) -> Path:
    """Write ``NAME.toml``, a suite that loads and runs.

    Parameters
    ----------
    name : str
        Kebab-case.
    parent : Path
        Folder to write it into.

    Returns
    -------
    Path
        The new file.

    Raises
    ------
    SpecError
        A name that cannot be used, or that a registered suite has.
    InputError
        The file is there already or cannot be written; nothing was written.
    """
    kebab(name, SUITE)
    if name in manager.names(SUITE):
        raise SpecError(f"suite {name!r} is registered by {manager.origin(SUITE, name)}; choose another name")
    target = parent / f"{name}.toml"
    write_all(target, {"": filled("suite/suite.toml.in", {"COMPONENT": name, "WHERE": target.name})})
    return target
