"""A page is one HTML file that needs no network: words, tables, charts, and the scripts that make them answer.

Names of items, plugins and files are untrusted. Texts come as Markdown in which they are escaped, raw HTML is off, data
stand in JSON that no browser reads as a script, and the content security policy names every script by its digest.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import itertools
import json
import re
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from string import Template
from urllib.parse import quote, unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from rankbench.core.text import LATEX, markdown
from rankbench.html.content import Chart, Page, Table

WEB_PAGE = "leaderboard.html"
"""The page of a run."""

LIBRARIES = ("vega.min.js", "vega-lite.min.js", "vega-embed.min.js", "datatables.min.js")
"""Scripts of others, in the order in which they need one another; ``assets/versions.json`` has their digests."""


def page_bytes(page: Page) -> bytes:
    """Return a page as one HTML file; the same content gives the same bytes."""
    charts = {chart.name: chart for chart in page.charts}
    shown: set[str] = set()
    words, below = (_markdown(text, charts, shown, page.files) for text in (page.words, page.below))
    if page.sorts:
        words, below = (text.replace("<table>", '<table class="data md">') for text in (words, below))
    body = [words, *(_table(table, page.files) for table in page.tables), below]
    if page.data.pairs:
        body.append(_PAIRS)
    if page.details:
        text = _markdown(page.details, charts, shown, page.files)
        body.append(f'<details><summary><h2 id="details">Details</h2></summary>{text}</details>')
    for title, text in page.texts.items():
        anchor = title.lower().replace(" ", "-")
        body.append(f'<section><h2 id="{anchor}">{title}</h2><pre tabindex="0">{html.escape(text)}</pre></section>')
    answering = {name: charts[name].content for name in charts if name in shown and charts[name].content}
    data = page.data.model_dump(exclude={"again", "works"}) | {"charts": answering, "latex": LATEX}
    data["texts"] = [one if isinstance(one, str) else _formulas(one) for one in page.data.texts]
    libraries = [
        *(LIBRARIES[:-1] if answering else ()),
        *(LIBRARIES[-1:] if page.tables or answering or page.sorts else ()),
    ]
    scripts = [_asset(name) for name in (*libraries, "page.js")]
    style = _asset("page.css")
    parts = {
        "policy": _policy(scripts, style),
        "title": html.escape(page.title),
        "style": style,
        "body": re.sub("<th[^>]*></th>", "<td></td>", _with_contents(body)),  # a header without words is none
        "data": _json(data),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    return Template(_asset("page.html")).substitute(parts).encode()


def title_of(text: str) -> str:
    """Return the first heading of a text in Markdown as plain text."""
    tokens = MarkdownIt("commonmark").parse(text)
    found = next((tokens[at + 1] for at, token in enumerate(tokens) if token.type == "heading_open"), None)
    return "".join(child.content for child in found.children or ()) if found else ""


def in_site(page: bytes, index: str, folder: str = "", names: Collection[str] = ()) -> bytes:
    """Return a page with a link to the index of its site, and with links to its files in a folder of the site."""
    for name in names:
        page = page.replace(_beside(name).encode(), f'<a href="{quote(folder)}/{name}">{name}</a>'.encode())
    return page.replace(_MAIN, _MAIN + f'<p><a href="{index}">All results</a></p>\n'.encode(), 1)


def words_of(page: bytes) -> str | None:
    """Return the text of a page above its first table or figure in Markdown; None if rankbench did not write it."""
    _, ours, rest = page.partition(_MAIN)
    above = re.split("<figure|<section|<div", re.sub("<nav.*?</nav>", "", rest.decode()), maxsplit=1)[0]
    lines = re.findall(r"<(?:h1|p|li)\b[^>]*>(.*?)</(?:h1|p|li)>", above, re.DOTALL)
    title, *said = [markdown(html.unescape(re.sub("<[^>]+>", "", one))) for one in lines] or [""]
    return "\n".join([f"# {title}\n", *(f"- {one}" for one in said)]) if ours and title else None


def without_pictures(page: bytes) -> bytes:
    """Return a page without its static pictures, which depend on fonts and on the version of matplotlib."""
    return re.sub(rb'src="data:image/svg\+xml,[^"]*"', b'src="data:image/svg+xml,"', page)


def _formulas(latex: Sequence[str]) -> dict[str, str] | str:
    """Return formulas as MathML, which `make docs` writes for rankbench's own; of others the LaTeX."""
    known = json.loads(_asset("formulas.json"))
    return {"html": "".join(known[one] for one in latex)} if known.keys() >= {*latex} else "\n".join(latex)


_MAIN = b'<main id="main">\n'

_SAFE = " =:/,;.()-+_!?*@$<>'"
"""Characters that an address in an attribute may hold as they are, beside letters and digits."""

_PLACES = {
    "leaderboard.md": ("the page", "main"),
    "details.md": ("Details", "details"),
    "leaderboard.csv": ("All standings", "standings"),
    "claims.csv": ("Contrasts of the claims", "claims"),
}
"""Words and anchor of the part of a page that holds a folder's file."""

_PAIRS = """<section id="pairs" class="answers"><h2 id="two">Two against each other</h2><form>
<label>Contender <select name="first"></select></label> <label>minus <select name="second"></select></label>
</form><output></output></section>"""


@functools.cache
def _asset(name: str) -> str:
    """Return a script or a style for inclusion in a page, its own end tags escaped."""
    text = files("rankbench.html").joinpath("assets", name).read_text(encoding="utf-8").strip()
    if name.endswith(".html"):
        return f"{text}\n"
    return text.replace("</script", r"<\/script").replace("<!--", r"<\!--")


def _policy(scripts: Sequence[str], style: str) -> str:
    allowed = " ".join(map(_digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_digest(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _json(data: object) -> str:
    """Return JSON that HTML cannot take for the end of a script."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _with_contents(body: Sequence[str]) -> str:
    """Return a body with links to its headings of the second level below its title; the folded part counts as one."""
    parts = [part.partition("</summary>")[0] for part in body]
    heads = [one for part in parts for one in re.findall(r'<h2 id="([^"]+)">(.*?)</h2>', part)]
    links = "".join(f'<li><a href="#{anchor}">{words}</a></li>' for anchor, words in heads)
    contents = f'<nav aria-label="On this page"><ul>{links}</ul></nav>\n' if len(heads) > 1 else ""
    whole = "\n".join(body)
    below = whole.find("</h1>") + len("</h1>") if "</h1>" in whole else 0
    return f"{whole[:below]}{contents}{whole[below:]}"


def _beside(name: str) -> str:
    """Return a link to a file beside the page, which a mail may have left behind."""
    return f'<a href="{name}">{name} beside this page</a>'


def _markdown(text: str, charts: Mapping[str, Chart], shown: set[str], names: Collection[str] = ()) -> str:
    """Return Markdown as HTML: raw HTML is text, headings have anchors, images are charts, each shown once.

    A cell has the picture of its chart, as often as it is named.
    Files of these names stand beside the page.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    seen: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", _anchor(tokens[at + 1], seen))
        align = str(token.attrGet("style"))
        if "text-align" in align:
            # The policy allows no styles in attributes: a class puts numbers to the right.
            token.attrs = {} if "left" in align else {"class": "n"}
        for link, words in itertools.pairwise(token.children or ()):
            if link.type == "link_open":
                link.attrs = _target(str(link.attrGet("href")))
                words.content = _PLACES.get(words.content, (words.content,))[0]
    found = parser.renderer.render(tokens, parser.options, {})
    for name in names:
        found = found.replace(f"<a>{name}</a>", _beside(name))
    number = itertools.count(1)
    found = re.sub("<table>", lambda _: f"{_scrolling(f'table {next(number)}')}<table>", found)
    found = re.sub(
        r'<td><img src="figures/([^"]+)\.svg" alt="" ?/?></td>',
        lambda one: f'<td><img alt="" src="{_picture(charts[html.unescape(unquote(one[1]))].svg)}"></td>',
        found.replace("</table>", "</table></div>"),
    )
    return re.sub(
        r'<p><img src="figures/([^"]+)\.svg" alt="([^"]*)" ?/?></p>',
        lambda one: _figure(charts.get(html.unescape(one[1])), one[2], shown),
        found,
    )


def _scrolling(words: str) -> str:
    """Return the start of an element that scrolls by itself, by keyboard too."""
    return f'<div class="wide" tabindex="0" role="group" aria-label="{words}">'


def _anchor(inline: Token, seen: dict[str, int]) -> str:
    words = "".join(child.content for child in inline.children or ())
    anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
    seen[anchor] = seen.get(anchor, -1) + 1
    return f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor


def _target(link: str) -> dict[str, str | int | float]:
    """Return a link's target in this file, or another page; none for a file that may be missing."""
    file, _, anchor = link.partition("#")
    if file in _PLACES:
        return {"href": f"#{anchor or _PLACES[file][1]}"}
    return {"href": link} if not file or ":" in file or file.endswith(".html") else {}


def _figure(chart: Chart | None, words: str, shown: set[str]) -> str:
    if chart is None:
        return ""
    name = html.escape(chart.name)
    if chart.name in shown:
        return f'<p>Figure: <a href="#figure-{name}">{words}</a></p>'
    shown.add(chart.name)
    drawn = f' data-chart="{name}"' if chart.content else ""
    return (
        f'<figure id="figure-{name}"{drawn}><figcaption>{words}</figcaption><div class="legend"></div>'
        f'<div class="plots"></div><img alt="{html.escape(chart.words)}" src="{_picture(chart.svg)}"></figure>'
    )


_PART = r"\1"
"""Replacement of what was found by its part in parentheses."""

_USED = re.compile(r'(?:href="|url\()#([^")]+)')
"""Names by which parts of a picture use other ones."""

_LENGTHS = re.compile(r"scale\([^)]*\)|-?\d+\.\d{3,}")
"""Numbers with more decimals than a reader sees; the scales of letters keep theirs."""


def _picture(svg: bytes) -> str:
    """Return a picture as a data address, with short names, rounded numbers and no invisible parts."""
    text = re.sub(r"<\?xml.*?(?=<svg)|<metadata>.*?</metadata>|<!--.*?-->", "", svg.decode(), flags=re.DOTALL)
    text = re.sub(r">\s+<", "><", re.sub(r"\s+", " ", text))
    short = {name: f"a{at}" for at, name in enumerate(dict.fromkeys(_USED.findall(text)))}
    text = _USED.sub(lambda one: one[0].replace(one[1], short[one[1]]), text)
    text = re.sub(r' id="([^"]+)"', lambda one: f' id="{short[one[1]]}"' if one[1] in short else "", text)
    text = _ungrouped(text)
    text = re.sub(r' d="([^"]*)"', lambda one: f' d="{re.sub(" ?([A-Za-z]) ?", _PART, one[1])}"', text)
    text = re.sub(r'style="[^"]*"', lambda one: re.sub("([:;]) ", _PART, one[0]), text)
    text = _LENGTHS.sub(
        lambda one: one[0] if one[0][0] == "s" else f"{float(one[0]):.2f}".rstrip("0").rstrip("."), text
    )
    # An attribute x moves the used shape, as a translation does.
    text = re.sub(
        r'(<use [^>]*) transform="translate\(([-\d.]+)[ ,]0\)"', r'\1 x="\2"', text.replace("xlink:href", "href")
    )
    # Other quotes are shorter: a double one would have to be escaped in an attribute.
    text = text if "'" in text else text.replace('"', "'")
    return f"data:image/svg+xml,{quote(text, safe=_SAFE)}"


def _ungrouped(text: str) -> str:
    """Return a picture without groups that have neither a name nor a property."""
    kept: list[bool] = []

    def part(found: re.Match[str]) -> str:
        if found[0] == "<g/>":
            return ""
        if found[0] != "</g>":
            kept.append(found[0] != "<g>")
        return found[0] if (kept[-1] if found[0] != "</g>" else kept.pop()) else ""

    return re.sub(r"<g[ />][^<>]*>|<g>|</g>", part, text)


def _table(table: Table, names: Collection[str]) -> str:
    head = "".join(
        f'<th scope="col"{_marks(table, at)}>{html.escape(column)}</th>' for at, column in enumerate(table.columns)
    )
    # The next cell, or the end of the row, ends a cell.
    rows = "\n".join(f"<tr>{''.join(_cell(table, at, cell) for at, cell in enumerate(row))}</tr>" for row in table.rows)
    title, note = html.escape(table.title), _markdown(table.note, {}, set())
    file = next((name for name in names if _PLACES.get(name, ("", ""))[1] == table.name), "")
    note += f"<p>As a file: {_beside(file)}</p>" if file else ""
    return (
        f'<section><h2 id="{table.name}">{title}</h2>{note}{_scrolling(title)}<table class="data">'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div></section>"
    )


def _marks(table: Table, at: int) -> str:
    places = ((" data-filter", table.filters), (" data-more", table.later))
    return ' class="n"' * (at not in table.words) + "".join(mark for mark, chosen in places if at in chosen)


def _cell(table: Table, at: int, text: str) -> str:
    words = html.escape(text)
    if at == table.opens:
        return f"<th scope=row><button>{words}</button>"
    if at in table.words:
        return f"<td class=w>{words}"
    shade = f" class=h{round(10 * float(text))}" if table.shaded and re.fullmatch(r"[01]\.\d+", text) else ""
    return f"<td{shade}>{words}"
