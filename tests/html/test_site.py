"""A site has a page for each folder, an index that leads to them, and no broken link."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from rankbench.cli import main
from rankbench.html.page import in_site
from rankbench.reports.web_page import WITHOUT_DATA
from rankbench.tracking.site import folder_page


@pytest.mark.full
def test_local_links_of_a_site_lead_somewhere(pages: dict[str, Path], tmp_path: Path) -> None:
    broken = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "site_links.py"))["broken"]
    assert broken(pages["site"].parent) == []
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "index.html").write_text('<p id="here"><a href="../a%20b.html#there">', encoding="utf-8")
    links = ("folder/", "folder/#here", "folder#gone", "c.html", "#é", "#no", "https://x.org/y", "data:image/png,")
    text = "".join(f'<a href="{link}">' for link in links)
    (tmp_path / "a b.html").write_text(f'<p id="é"><p id="there">{text}', encoding="utf-8")
    assert broken(tmp_path) == [f"a b.html: {link}" for link in ("#no", "c.html", "folder#gone")]


def test_the_page_of_certificates_says_how_to_make_them(tmp_path: Path) -> None:
    folder = tmp_path / "consistency"
    (folder / "certificates").mkdir(parents=True)
    (folder / "leaderboard.md").write_text("# Consistency\n", encoding="utf-8")
    page = folder_page(folder).page
    assert b"\nrankbench certify --all FOLDER\n" in page
    assert WITHOUT_DATA.encode() not in page


def test_a_folder_with_one_text_is_a_page_of_it(tmp_path: Path) -> None:
    (tmp_path / "audit.md").write_text("# Audit of votes\n\n| a |\n|---|\n| 1 |\n", encoding="utf-8")
    (tmp_path / "audit.json").write_text("{}", encoding="utf-8")
    page, words, *_ = folder_page(tmp_path)
    assert b"<title>Audit of votes</title>" in page
    assert b'<table class="data md">' in page
    assert words.startswith("# Audit of votes")


@pytest.mark.full
def test_a_folder_with_one_page_of_a_ranking_is_in_the_index(pages: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / "votes"
    folder.mkdir()
    page = folder / "ranking.html"
    page.write_bytes(b"<h1>Somebody's page</h1>")
    command = ["site", str(folder), "--out", str(tmp_path / "site")]
    assert "nor one page alone that rankbench wrote" in CliRunner().invoke(main, command).output
    shutil.copy(pages["aggregate"], page)
    assert CliRunner().invoke(main, command).exit_code == 0
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    cells = index[index.index('<td><a href="votes.html">votes</a></td>') :].splitlines()[1:4]
    assert cells[0] == "<td></td>"
    assert "has the highest score of 5 items, but 4 may be first" in cells[1]
    assert (tmp_path / "site" / "votes.html").read_bytes() == in_site(page.read_bytes(), "index.html")
    shutil.copy(page, folder / "two.html")
    assert CliRunner().invoke(main, command).exit_code != 0


def test_the_index_has_a_small_picture_of_each_result(tmp_path: Path) -> None:
    published = Path(__file__).parents[2] / "leaderboards"
    folders = [str(published / name) for name in ("arena", "consistency")]
    done = CliRunner().invoke(main, ["site", *folders, "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    arena, consistency = (tmp_path / "index.html").read_text(encoding="utf-8").split('<td><a href="')[1:]
    assert '<td><img alt="" src="data:image/svg+xml,' in arena
    assert "<img" not in consistency


def test_a_site_refuses_folders_that_would_be_one_page_or_none(run: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    for folders, words in (([run, tmp_path / "run"], "two folders have one name"), ([tmp_path], "neither results")):
        done = CliRunner().invoke(main, ["site", *map(str, folders), "--out", str(tmp_path / "site")])
        assert done.exit_code != 0
        assert words in done.output + str(done.exception)
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(("command", "ending"), [("aggregate", "html"), ("audit", "html"), ("audit", "md")])
def test_a_page_has_the_title_that_it_is_given(tmp_path: Path, command: str, ending: str) -> None:
    votes, page = tmp_path / "votes.csv", tmp_path / f"page.{ending}"
    votes.write_text("winner,loser\na,b\nb,c\nc,a\na,c\n", encoding="utf-8")
    done = CliRunner().invoke(main, [command, str(votes), "--title", "Mine & yours", "--out", str(page)])
    assert done.exit_code == 0, done.output
    titled = "<title>Mine &amp; yours</title>" if ending == "html" else "# Mine"
    assert titled in page.read_text(encoding="utf-8")
