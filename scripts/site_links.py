"""Check the pages of a built site: ``site_links.py build/docs``.

It names each local link that leads nowhere, and each page that is too large for a mail, and fails then.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LARGEST = 2_500_000
"""Bytes of a page."""


class Links(HTMLParser):
    """Links and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what an element links to, and the names by which links find it."""
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")


def broken(folder: Path) -> list[str]:
    """Return the local links of the pages of a folder that lead nowhere, each with its page."""
    pages = {path.resolve(): Links(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    found = []
    for page, read in pages.items():
        for link in sorted(read.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            known = pages[target].anchors if target in pages else {parts.fragment}
            if not target.is_file() or unquote(parts.fragment) not in known | {unquote(name) for name in known}:
                found.append(f"{page.relative_to(folder.resolve())}: {link}")
    return found


if __name__ == "__main__":
    site = Path(sys.argv[1])
    sizes = {page: page.stat().st_size for page in sorted(site.rglob("*.html"))}
    wrong = broken(site) + [f"{page}: {size:,} bytes" for page, size in sizes.items() if size > LARGEST]
    print("\n".join(wrong) or f"every local link leads somewhere; the largest page has {max(sizes.values()):,} bytes")
    sys.exit(bool(wrong))
