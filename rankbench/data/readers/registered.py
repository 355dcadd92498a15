"""The readers that there are."""

from __future__ import annotations

from rankbench.kinds.reader import Reader
from rankbench.plugin.manager import component_class, names

__all__ = ["registered_readers"]


def registered_readers() -> list[type[Reader]]:
    """Return the classes of all readers, plugins' too."""
    return [component_class(Reader, name) for name in names("reader")]
