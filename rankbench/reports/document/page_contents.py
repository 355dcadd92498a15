"""A list of contents, with links to the headings of a document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from html import unescape

from rankbench.reports.document.tree import Bullets, Details, Heading, Node

__all__ = ["contents", "heading_anchors"]

_ESCAPED = re.compile(r"\\([^\w\s]|_)")


def heading_anchors(blocks: Sequence[Node]) -> list[tuple[Heading, str]]:
    """Return every heading with its anchor, as GitHub and its followers make it of the words.

    Small letters, hyphens for spaces, letters, digits, hyphens and underscores only; of equal ones the second
    ends in ``-1``.
    """
    times: Counter[str] = Counter()
    found = []
    for heading in _headings(blocks):
        words = unescape(_ESCAPED.sub(r"\1", heading.text.replace("`", "").replace("*", "")))
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        found.append((heading, f"{slug}-{times[slug]}" if times[slug] else slug))
        times[slug] += 1
    return found


def contents(blocks: Sequence[Node], level: int = 2) -> Bullets:
    """Return links to all headings of one level, in their order."""
    return Bullets(
        tuple(f"[{heading.text}](#{anchor})" for heading, anchor in heading_anchors(blocks) if heading.level == level)
    )


def _headings(blocks: Sequence[Node]) -> Iterator[Heading]:
    for block in blocks:
        if isinstance(block, Heading):
            yield block
        elif isinstance(block, Details):
            yield from _headings(block.blocks)
