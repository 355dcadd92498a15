"""`rankbench site` writes results as pages with an index."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import click

from rankbench.cli.origin import Provenance
from rankbench.cli.output import heartbeat
from rankbench.cli.shown import Answer, answering, encoded
from rankbench.core.system import replace_file
from rankbench.core.text import markdown
from rankbench.errors import InputError, SpecError
from rankbench.html.content import Chart, Page, PageData
from rankbench.html.page import in_site, page_bytes, title_of, words_of
from rankbench.plugin import manager
from rankbench.reports.leaderboard import DETAILS
from rankbench.reports.leaderboard import PAGE as WORDS
from rankbench.reports.render import pages_of, pictures_of
from rankbench.reports.web_page import PAGE_DATA, leaderboard_html, page_data, tables_of
from rankbench.store.published import holds_results, open_results
from rankbench.suites.suite_files import read_suite
from rankbench.tracking.history import read_history
from rankbench.tracking.history_commands import shown_history

CERTIFICATES = "certificates"
"""Folder beside the answers of the suite consistency."""

INDEX, SUBMIT = "index.html", "submit.html"


@click.command()
@click.argument(
    "folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, file_okay=False)
)
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder of the site.")
@answering
def site(folders: tuple[Path, ...], out: Path) -> Answer:
    """Write several results as a static site.

    The site has a page for each DIR, an index, and a page on how to submit a result. DIR is the folder of a run, a
    published one, an audit, a history, or one page, as aggregate --out NAME.html writes it. No page loads anything from
    the network.
    """
    names = [folder.resolve().name for folder in folders]
    for name in (name for name in (INDEX, SUBMIT) if name.removesuffix(".html") in names):
        raise SpecError(f"the site has a page {name} of its own; rename the folder")
    if len({*names}) < len(names):
        raise SpecError(f"two folders have one name, and would be one page: {', '.join(sorted(names))}")
    pages, tables, entries, pictures = {}, dict[str, bytes](), [], []
    for name, folder in zip(names, folders, strict=True):
        with heartbeat(f"page of {folder}"):
            page, words, beside, picture = folder_page(folder)
        pages[f"{name}.html"] = in_site(page, INDEX, name, beside)
        tables |= {f"{name}/{file}": data for file, data in beside.items()}
        pictures += [Chart(name, "", picture)] * bool(picture)
        entries.append(_entry(f"{name}.html", words, f"![](figures/{quote(name)}.svg)" * bool(picture)))
    pages[SUBMIT] = in_site(page_bytes(Page("Submit a result", _how_to_submit())), INDEX)
    table = "\n".join(["| | question | answer | data | |", "|---|---|---|---|---|", *entries])
    contents = "\n\n".join(["# Results", table, f"[Submit a result]({SUBMIT})"])
    pages[INDEX] = page_bytes(Page("Results", contents, charts=pictures))
    written = [str(replace_file(out / name, data)) for name, data in (pages | tables).items()]
    return Answer({"files": written}, tables=written)


def _how_to_submit() -> str:
    """Return how to submit a result, in Markdown, with the installed suites."""
    text = files("rankbench.html").joinpath("assets", "submit.md").read_text(encoding="utf-8")
    suites = [f"- `{name}`: {markdown(read_suite(path).title)}" for name, path in manager.suites().items()]
    return "\n".join([text, "## Suites", "", *suites])


class FolderPage(NamedTuple):
    """The page of a folder, its text in Markdown, its tables by name, and the first picture of the text, as SVG."""

    page: bytes
    words: str
    tables: Mapping[str, bytes]
    picture: bytes = b""

    @classmethod
    def of_leaderboard(cls, files: Mapping[str, bytes]) -> FolderPage:
        """Return the page of the files of a leaderboard."""
        words = files[WORDS].decode()
        first = re.search(r"\]\((figures/[^)]+)\)", words)
        return cls(leaderboard_html(files), words, tables_of(files), files.get(first[1], b"") if first else b"")


def folder_page(folder: Path) -> FolderPage:
    """Return the page of a folder.

    Raises
    ------
    InputError
        The folder holds neither results nor a history, nor one page alone.
    """
    if holds_results(folder):
        with open_results(folder) as results:
            pages = pages_of(results)
            files = {**pages.files, **pictures_of(pages), PAGE_DATA: page_data(pages)}
            return FolderPage.of_leaderboard(files)
    if (folder / WORDS).is_file():
        names = (folder / name for name in (WORDS, DETAILS, PAGE_DATA))
        paths = [*names, *sorted(folder.glob("*.csv")), *sorted(folder.glob("figures/*.svg"))]
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths if path.is_file()}
        if (folder / CERTIFICATES).is_dir():
            origin = Provenance({str(folder): ""}, command="rankbench certify --all FOLDER").texts()
            data = PageData(again=origin["Make it again"], works=origin["Cite"])
            files[PAGE_DATA] = data.model_dump_json().encode()
        return FolderPage.of_leaderboard(files)
    if len(texts := [*folder.glob("*.md")]) == 1:
        text = texts[0].read_text(encoding="utf-8")
        return FolderPage(page_bytes(Page(title_of(text), text, sorts=True)), text, {})
    if any(folder.glob("*.json")):
        answer, name = shown_history(read_history(folder), 0.05, everything=True), folder.resolve().name
        again = shlex.join(["rankbench", "history", "show", name, "--all", "--out", f"{name}.html"])
        answer = replace(answer, provenance=Provenance({str(folder): ""}, command=again))
        return FolderPage(encoded(answer, "html"), f"# {markdown(answer.headline)}\n", {})
    if len(found := [*folder.glob("*.html")]) == 1 and (words := words_of(page := found[0].read_bytes())):
        return FolderPage(page, words, {})
    raise InputError(f"{folder}: it holds neither results nor a history, nor one page alone that rankbench wrote")


def _entry(page: str, words: str, picture: str) -> str:
    """Return a row of the index: a link, the question, the answer, whether data are real or simulated, a picture."""
    title, _, rest = words.partition("\n")
    said = [line for line in re.split(r"^(?=\||!|#)", rest, maxsplit=1, flags=re.MULTILINE)[0].splitlines() if line]
    kind, question = "", title.removeprefix("# ")
    if said and (found := re.fullmatch(r"\*\*([A-Z][^*]*)\.\*\* ?(.*)", said[0])):
        kind, question, said = found[1], found[2] or question, said[1:]
    if not said:  # a title that answers
        question, said = "", [question]
    answer = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(one.removeprefix("- ") for one in said[:1]))
    cells = f"[{markdown(page.removesuffix('.html'))}]({quote(page)})", question, answer, kind.lower(), picture
    return f"| {' | '.join(cells)} |"
