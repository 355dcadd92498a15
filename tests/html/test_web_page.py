"""A page is the same for the same rows, needs nothing from elsewhere, and shows names of others as text."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import re
import shutil
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pytest
import synthetic
from click.testing import CliRunner
from hostile_run import HOSTILE, reported
from pydantic import Field

import rankbench
from rankbench.cli import main
from rankbench.html.content import Page, PageData, Table
from rankbench.html.page import _picture, in_site, page_bytes, without_pictures
from rankbench.interfaces.method import Block, Fitted, Method
from rankbench.plugin import manager
from rankbench.plugin.component_description import describe_component
from rankbench.plugin.loading import PluginStatus
from rankbench.plugin.registry import Origin
from rankbench.reports import results as publishing
from rankbench.reports.references import KINDS, _keyed, is_own
from rankbench.reports.results import report
from rankbench.reports.verify import verify_files
from rankbench.reports.web_page import PAGE_DATA, WITHOUT_DATA, _commands, _shown, formulas_in
from rankbench.store.published import open_results
from rankbench.suites.suite_files import load_suite

ASSETS = files("rankbench.html").joinpath("assets")
TABLES = ("leaderboard.csv", "claims.csv")


def elements(page: str) -> list[tuple[str, list[tuple[str, str | None]]]]:
    """Return the elements of a page, each with its attributes."""
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attributes: found.append((tag, attributes))  # type: ignore[method-assign]
    parser.feed(page)
    return found


def test_the_policy_allows_what_the_page_holds_and_nothing_else(run: Path) -> None:
    page = (run / "leaderboard.html").read_text(encoding="utf-8")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts + style]
    assert len(scripts) == 5
    assert re.findall(r"'sha256-([^']+)'", policy) == digests
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; ")
    attributes = [one for _, attributes in elements(page) for one in attributes]
    loaded = {str(value).partition(",")[0] for name, value in attributes if name in ("src", "srcset", "href", "action")}
    assert {link for link in loaded if link[0] != "#"} == {"data:image/svg+xml", *TABLES}
    assert not [name for name, _ in attributes if name == "style" or name.startswith("on")]
    assert {tag for tag, _ in elements(page)}.isdisjoint({"link", "iframe", "object", "base", "b"})


@pytest.mark.parametrize("name", HOSTILE)
def test_names_of_others_are_text(name: str) -> None:
    table = Table([name], [[name]], (0,), name, name="a", opens=0)
    page = page_bytes(Page(name, "", [table], data=PageData(panels={name: [(name, 0)]}, texts=[name]))).decode()
    found = html.unescape(re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))
    assert found.count(name) == 5  # title, link to the table, heading, its label for screen readers, two cells but one
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert "<" not in data
    assert json.loads(data)["panels"] == {name: [[name, 0]]}


def test_all_standings_say_which_direction_of_each_metric_is_better(run: Path) -> None:
    page = (run / "leaderboard.html").read_text(encoding="utf-8")
    (note,) = re.findall(r'<h2 id="standings">All standings</h2><p>(.*?)</p>', page)
    rows = csv.DictReader(io.StringIO((run / "leaderboard.csv").read_text(encoding="utf-8")))
    less = dict.fromkeys(row["metric"] for row in rows if row["direction"] == "minimize")
    # Metrics named as gains, as ndcg, are losses here.
    named = [f"<code>{metric}</code>{' loss' * ('loss' not in metric)}" for metric in less]
    assert note == f"Less is better: {', '.join(named)}."


def test_where_nothing_is_drawn_no_n_is_1(tmp_path: Path) -> None:
    plan = synthetic.small()
    plan.n = (1,)
    report(synthetic.write(tmp_path, [plan], counts=""))
    page = tmp_path / "leaderboard.html"
    assert not re.search(r'<th scope="col"[^>]*>n</th>', page.read_text(encoding="utf-8"))
    assert {pairs["n"] for pairs in data_of(page)["pairs"]} == {""}


def test_links_lead_into_the_page_or_nowhere() -> None:
    words = "[a](details.md#the-data) [leaderboard.csv](leaderboard.csv) [units.csv](units.csv)"
    words += " [b](https://x.org/) [c](d.html)"
    page = page_bytes(Page("Title", words)).decode()
    assert '<a href="#the-data">a</a> <a href="#standings">All standings</a> <a>units.csv</a>' in page
    assert '<a href="https://x.org/">b</a> <a href="d.html">c</a>' in page
    beside = page_bytes(Page("Title", words, files=["units.csv"]))
    assert b' <a href="units.csv">units.csv beside this page</a>' in beside
    assert b' <a href="a%22%20b/units.csv">units.csv</a>' in in_site(beside, "i.html", 'a" b', ["units.csv"])


def differing(folder: Path) -> list[str]:
    """Return the files that verify finds to differ; the made-up run has no facts."""
    return [one.file for one in verify_files(folder).differences if one.file != "run.json"]


@pytest.mark.full
def test_verify_finds_what_was_edited_but_no_picture(tmp_path: Path) -> None:
    folder = reported(tmp_path / "run")
    path = folder / "leaderboard.html"
    whole = path.read_bytes()

    path.write_bytes(whole.replace(b"data:image/svg+xml,", b"data:image/svg+xml,other"))
    assert path.read_bytes() != whole
    assert differing(folder) == []
    assert "Static pictures" in verify_files(folder).shown[-1]
    assert len(without_pictures(whole)) < len(whole)
    path.write_bytes(whole.replace(b"logistic", b"hinge", 1))
    assert differing(folder) == ["leaderboard.html"]
    path.unlink()
    assert differing(folder) == ["leaderboard.html"]


def test_every_formula_of_a_contender_is_mathml_without_styles() -> None:
    found = {
        latex
        for kind in KINDS
        for name in manager.names(kind)
        if is_own(kind, name)
        for latex in formulas_in(describe_component(kind, name).documentation)
    }
    assert len(found) > 20
    mathml = json.loads(ASSETS.joinpath("formulas.json").read_text(encoding="utf-8"))
    assert set(mathml) == found  # make docs writes them
    for text in mathml.values():
        root = ElementTree.fromstring(text.replace("&ApplyFunction;", ""))
        assert root.tag == "math"
        assert all(one.tag[0] == "m" for one in root.iter())
        assert not [name for one in root.iter() for name in one.attrib if name in ("style", "href") or name[:2] == "on"]


def test_formulas_that_stand_together_are_one_answer() -> None:
    words = "Words.\n\n.. math:: a\n   b\n\n.. math:: c\n\nMore.\n\n.. math:: d\n"
    assert formulas_in(words) == ["a b", "c"]
    assert formulas_in("Words.") == []


PICTURE = """<?xml version="1.0"?>
<svg xmlns:xlink="http://www.w3.org/1999/xlink" xmlns="http://www.w3.org/2000/svg" width="10pt">
 <metadata><x/></metadata><!-- words -->
 <defs><clipPath id="p1"><rect x="0" y="0.123456"/></clipPath></defs>
 <g id="figure_1"><g id="axes_1" clip-path="url(#p1)">
  <g transform="translate(59.79774 1) scale(0.085 -0.085)"><defs><path id="Sans-31" d="M 1 2.5001
L -0.0001 4
z" transform="scale(0.015625)"/></defs><use xlink:href="#Sans-31"/>
  <use xlink:href="#Sans-31" transform="translate(63.625 0)" style="fill: #0072b2; stroke: none"/></g>
 </g></g>
</svg>"""


def test_pictures_lose_what_no_reader_sees() -> None:
    address = _picture(PICTURE.encode())
    kind, _, text = address.partition(",")
    assert kind == "data:image/svg+xml"
    assert '"' not in address
    assert unquote(text) == (
        "<svg xmlns:xlink='http://www.w3.org/1999/xlink' xmlns='http://www.w3.org/2000/svg' width='10pt'>"
        "<defs><clipPath id='a0'><rect x='0' y='0.12'/></clipPath></defs><g clip-path='url(#a0)'>"
        "<g transform='translate(59.8 1) scale(0.085 -0.085)'><defs>"
        "<path id='a1' d='M1 2.5L-0 4z' transform='scale(0.015625)'/></defs><use href='#a1'/>"
        "<use href='#a1' x='63.62' style='fill:#0072b2;stroke:none'/></g></g></svg>"
    )


def headings(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return [html.unescape(re.sub("<[^>]+>", "", one)) for one in re.findall(r"<h2 id=[^>]*>.+?</h2>", text)]


@pytest.mark.full
def test_each_command_writes_a_page(pages: dict[str, Path], run: Path) -> None:
    assert headings(pages["aggregate"]) == ["All rows", "Share of wins", "Make it again", "Cite"]
    assert headings(pages["rank"]) == ["All rows", "Make it again", "Cite"]
    for name in ("aggregate", "rank"):
        text = pages[name].read_text(encoding="utf-8")
        assert text.count("\n<tr><t") == 5 * (2 if name == "aggregate" else 1)
        assert len(data_of(pages[name])["charts"]["figure"]["specs"]) == 1
    assert "All 36 rows are equal to the byte" in pages["compare"].read_text(encoding="utf-8")
    charts = data_of(pages["history"])["charts"]
    values = [one["data"]["values"][0]["y"] for one in charts["figure"]["specs"]]
    assert len(values) == 24
    assert all(len(two) == 2 and two[0] == two[1] for two in values)  # the same run twice
    names = ["All standings", "Contrasts of the claims", "Two against each other", "Details", "Make it again", "Cite"]
    assert [one for one in headings(pages["run"]) if one in names] == names
    site = pages["site"].parent
    assert sorted(path.name for path in site.glob("*.html")) == ["index.html", "past.html", "run.html", "submit.html"]
    assert (site / "run.html").read_bytes() == in_site(
        (run / "leaderboard.html").read_bytes(), "index.html", "run", TABLES
    )
    for name in TABLES:
        assert (site / "run" / name).read_bytes() == (run / name).read_bytes()
        assert f'<p>As a file: <a href="run/{name}">{name}</a></p>' in (site / "run.html").read_text(encoding="utf-8")


@pytest.mark.full
@pytest.mark.parametrize("name", ["aggregate", "rank", "compare", "history"])
def test_pages_say_how_to_make_them_again(pages: dict[str, Path], name: str) -> None:
    text = html.unescape(pages[name].read_text(encoding="utf-8"))
    (said,) = re.findall(r'<h2 id="make-it-again">Make it again</h2><pre tabindex="0">(.*?)</pre>', text, re.DOTALL)
    versions, *inputs, command = said.splitlines()
    assert f"rankbench {rankbench.__version__}, numpy {np.__version__}" in versions
    if name in ("aggregate", "rank"):
        log = pages[name].parent / {"aggregate": "votes<b>.csv", "rank": "scores.csv"}[name]
        size = {"aggregate": "80 judgments", "rank": "5 systems, 8 tasks"}[name]
        assert inputs == [f"# {log.name}: {size}, sha256 {hashlib.sha256(log.read_bytes()).hexdigest()}"]
    work = "@article{BT52," if name == "aggregate" else "{rankbench,"
    assert work in text
    assert (
        command
        == {
            "aggregate": "rankbench aggregate 'votes<b>.csv' --intervals --out aggregate.html",
            "rank": "rankbench rank scores.csv --out rank.html",
            "compare": "rankbench compare run run --out compare.html",
            "history": "rankbench history show past --out history.html",
        }[name]
    )


def test_no_p_is_zero_and_ends_that_tell_nothing_are_not_determined() -> None:
    assert (_shown("wins", "17.500000"), _shown("wins", "20.000000"), _shown("wins", "")) == ("17.5", "20", "")
    said = [("p_holm", "0.000000"), ("p_holm", "0.000001"), ("upper", "0.000000"), ("n", "1600000")]
    ends = [("upper", "1400000000000000000000000.000000"), ("lower_draws", "-1234567.000000"), ("lower", "999999.9")]
    assert [_shown(*one) for one in said] == ["< 1e-6", "0.000001", "0.000000", "1600000"]
    assert [_shown(*one) for one in ends] == ["not determined", "not determined", "999999.9"]


def data_of(page: Path) -> dict[str, Any]:
    (found,) = re.findall(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"))
    return dict(json.loads(found))


def test_a_page_without_rows_says_so(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "alone (1)"
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns("journal*", "*.html"))
    done = CliRunner().invoke(main, ["site", str(folder), "--out", str(tmp_path / "site")])
    assert done.exit_code == 0, done.output
    assert '<a href="alone%20%281%29.html">' in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    page = tmp_path / "site" / "alone (1).html"
    text = page.read_text(encoding="utf-8")
    assert WITHOUT_DATA in text
    assert data_of(page)["charts"] == {}
    assert text.count("data:image/svg+xml,") == 2
    rows = [len([*csv.reader(io.StringIO((folder / name).read_text("utf-8")))]) - 1 for name in TABLES]
    assert text.count("\n<tr><t") == sum(rows)


def test_the_command_says_what_a_run_changed_of_its_suite(run: Path) -> None:
    with open_results(run) as results:
        record = results.record()
    (planned,) = load_suite("demo").experiments
    assert planned.dataset == "web10k-like:queries=440"
    protocol = planned.protocol.replace("heldout=300", "heldout=90")
    experiment = planned.model_copy(update={"repetitions": 3, "protocol": protocol})
    assert experiment.protocol != planned.protocol
    changed = {"name": "demo", "experiments": (experiment,), "source_index": {"figure-3": 0}}
    folder = "# FOLDER is a new folder of yours, or to verify, the one with this page's leaderboard.csv.\n"
    again = "rankbench verify FOLDER --rerun 2\n"
    assert _commands(record.model_copy(update=changed), []) == (
        f"{folder}rankbench run --suite demo --dataset web10k-like --set heldout=90 --reps 3 --out FOLDER\n{again}"
    )
    less = {**changed, "experiments": (planned.model_copy(update={"n": (7,)}),)}
    note = "# The suite's figure-3 has other n, losses or parameters than this run.\n"
    assert _commands(record.model_copy(update=less), []).startswith(note)
    (graded,) = load_suite("graded").experiments
    run_as = [
        loss.replace("ndcg@10", "ndcg:gain=identity,cutoff=10").replace("p@10", "p:cutoff=10") for loss in graded.losses
    ]
    named = {"name": "graded", "experiments": (graded.model_copy(update={"losses": tuple(run_as)}),)}
    named["source_index"] = {"graded": 0}
    assert _commands(record.model_copy(update=named), []).startswith(f"{folder}rankbench run --suite graded ")
    theirs = record.model_copy(update={"name": "my own"})
    note = "# rankbench has no suite of this name: give its file, and the options of this run that changed it.\n"
    assert _commands(theirs, []) == f"{note}{folder}rankbench run --suite 'my own.toml' --out FOLDER\n{again}"


class Deep(Method):
    r"""Learn as others do.

    .. math:: \min_\theta |\theta|^2

    References
    ----------
    .. [XY20] X. Young and Z. Old. A title of theirs. Journal of Tests 3(4), 2020.
    """

    name: ClassVar[str] = "theirs"
    source: ClassVar[str] = "[XY20]_ eq. (3), [BT52]_"
    depth: int = Field(default=2, description="Layers.")

    def fit(self, block: Block) -> Fitted:
        raise NotImplementedError


@pytest.mark.full
def test_contenders_of_any_plugin_have_formula_source_and_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = synthetic.drawn()
    made.contenders[0].config = {"name": "theirs", "depth": 3}
    folder = synthetic.write(tmp_path / "run", [made], plugins=("their-plugin",))
    report(folder)
    data = data_of(folder / "leaderboard.html")
    label = made.contenders[0].label
    assert not [name for name, _ in data["panels"][label] if name == "method theirs"], "it is not installed"
    assert "% not here are works of plugins that are not installed: their-plugin" in cited(folder)
    assert any("leaderboard.html was compared with nothing" in one for one in verify_files(folder).shown)

    loaded = manager.plugins()
    monkeypatch.setitem(loaded.registry._found["method"], "theirs", (Deep, Origin("their-plugin", "1.0", "theirs")))
    status = PluginStatus("theirs", "their-plugin", "1.0", ("method/theirs",), 0.0, "ok", ())
    monkeypatch.setattr(manager, "statuses", lambda: [status])
    report(folder)
    data = data_of(folder / "leaderboard.html")
    facts = {name: data["texts"][place] for name, place in data["panels"][label]}
    said = "Learn as others do.\nParameters: depth = 3\nSource: [XY20] eq. (3), [BT52]"
    work = "X. Young and Z. Old. A title of theirs. Journal of Tests 3(4), 2020."
    assert (facts["method theirs"], facts["[XY20]"]) == (said, work)
    assert facts["formula of theirs"] == r"\min_\theta |\theta|^2"
    assert facts["[BT52]"].startswith("R. A. Bradley and M. E. Terry.")
    assert "@article{XY20,\n  author = {X. Young and Z. Old}" in cited(folder)
    assert "not here" not in cited(folder)
    assert differing(folder) == []


def cited(folder: Path) -> str:
    text = html.unescape((folder / "leaderboard.html").read_text(encoding="utf-8"))
    return text[text.index('<h2 id="cite">') :]


def test_works_of_one_label_are_all_cited() -> None:
    assert _keyed([("A1", "one"), ("A1", "two"), ("A1b", "three"), ("B", "four")]) == {
        "A1": "one", "A1b": "two", "A1bb": "three", "B": "four",
    }  # fmt: skip


@pytest.mark.full
def test_a_page_of_a_published_folder_needs_no_rows(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "LARGEST", 0)
    ended = shutil.copytree(run, tmp_path / "run")
    (ended / "run.json").write_text('{"suite": "paper"}')
    report(ended, tmp_path / "out")
    assert differing(tmp_path / "out") == []
    apart = tmp_path / "out-rows"
    apart.rename(tmp_path / "elsewhere")
    command = ["site", str(tmp_path / "out"), "--out", str(tmp_path / "site")]
    assert CliRunner().invoke(main, command).exit_code == 0
    page = in_site((run / "leaderboard.html").read_bytes(), "index.html", "out", TABLES)
    assert (tmp_path / "site" / "out.html").read_bytes() == page

    data = tmp_path / "out" / PAGE_DATA
    data.write_bytes(data.read_bytes().replace(b'"better":"less"', b'"better":"more"', 1))
    (tmp_path / "elsewhere").rename(apart)
    assert set(differing(tmp_path / "out")) == {PAGE_DATA}
    apart.rename(tmp_path / "elsewhere")
    data.write_text('{"pairs": 3}', encoding="utf-8")
    done = CliRunner().invoke(main, command)
    assert done.exit_code != 0
    assert "page.json: pairs" in done.output + str(done.exception)
