"""Names of columns without what people write in different ways."""

from __future__ import annotations

import re

__all__ = ["plain_name"]


def plain_name(name: str) -> str:
    """Return a column's name in small letters with its words apart: ``player_1`` of ``Player1`` and of ``player 1``."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d+$)", "_", name.strip())
    return re.sub(r"[\W_]+", "_", apart.lower())
