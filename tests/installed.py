"""Distributions as an installer leaves them behind."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def hook(brought: str) -> str:
    """Return the end of a plugin's module, which registers what is brought."""
    return f"\n@rankbench.hookimpl\ndef rankbench_register():\n    return [{brought}]\n"


def install_plugin(
    site: Path, name: str, entry_points: str, *, version: str = "1.0", requires: Iterable[str] = (), **modules: str
) -> Path:
    """Write a distribution as an installer leaves it behind; return the folder of what is known of it.

    Parameters
    ----------
    site : Path
    name : str
    entry_points : str
        Of the group ``rankbench``, as ``mine = my_module``; lines that begin a group of their own may follow.
    version : str
    requires : iterable of str
    **modules : str
        Sources by module.
    """
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        f"Version: {version}",
        *(f"Requires-Dist: {r}" for r in requires),
    ]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    (info / "entry_points.txt").write_text(f"[rankbench]\n{entry_points}\n")
    for module, source in modules.items():
        (site / f"{module}.py").write_text(source, encoding="utf-8")
    return info
