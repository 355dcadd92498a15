"""Letters that the font of pictures has not: one sentence about them, where matplotlib has a warning for each."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["MissingLettersWarning", "missing_letters_told"]

_MATPLOTLIBS = re.compile(r"Glyph (\d+) \(.*\) missing from font\(s\) (.+)\.", re.DOTALL)

_SHOWN = 8
"""Letters that are named."""


class MissingLettersWarning(UserWarning):
    """A picture has boxes in place of letters."""


@contextmanager
def missing_letters_told() -> Iterator[None]:
    """Say once, at the end, which letters were drawn as boxes; all other warnings are given as they came."""
    letters: dict[str, None] = {}
    fonts = ""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", "Glyph ", UserWarning)
        yield
    for one in caught:
        found = _MATPLOTLIBS.fullmatch(str(one.message))
        if found is None:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno, source=one.source)
        else:
            letters[chr(int(found[1]))] = None
            fonts = found[2]
    if letters:
        more = f" and {len(letters) - _SHOWN} more" if len(letters) > _SHOWN else ""
        words = f"letters that {fonts} has not are boxes in the picture: {' '.join([*letters][:_SHOWN])}{more}"
        warnings.warn(words, MissingLettersWarning, stacklevel=3)
