import hashlib
import io
import os
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from data_files import rejected, written
from data_paths import needs, real

from rankbench.data import fetch as module
from rankbench.data.cards import Card, cards, cards_folder, load_card
from rankbench.data.fetch import card_dataset, card_folder, fetch, locate
from rankbench.data.tables.items import load_dataset, usable
from rankbench.errors import ChecksumError, InputError, LicenseError
from rankbench.interfaces.dataset import Dataset
from rankbench.plugin.manager import get

TRAIN = "1 qid:1 1:1\n0 qid:1 2:1\n"
TEST = "0 qid:1 1:5\n2 qid:1 2:6\n"
FILE = {"path": "a", "sha256": "0" * 64}


def sha(content):
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()


def card(**changes):
    """Return the card of a small data set whose files are TRAIN and TEST."""
    plain = {
        "name": "toy",
        "title": "Toy",
        "licence": "Toy terms",
        "restricted": False,
        "homepage": "https://example.org/toy",
        "citation": "Nobody, 2013.",
        "reader": "letor:d=2",
        "d": 2,
        "expected": {"queries": 2, "rows": 4},
        "files": FILES,
    }
    return Card.model_validate(plain | changes)


FILES = [
    {"path": "train.txt", "sha256": sha(TRAIN), "prefix": "train"},
    {"path": "deep/test.txt", "sha256": sha(TEST), "prefix": "test"},
]


@pytest.fixture(autouse=True)
def no_data(tmp_path, monkeypatch):
    """Keep the user's data and cache out of the tests."""
    monkeypatch.delenv("RANKBENCH_DATA", raising=False)
    monkeypatch.setenv("RANKBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Return a folder named by RANKBENCH_DATA with the toy data in it."""
    folder = tmp_path / "data"
    (folder / "toy" / "deep").mkdir(parents=True)
    (folder / "toy" / "train.txt").write_text(TRAIN)
    (folder / "toy" / "deep" / "test.txt").write_text(TEST)
    monkeypatch.setenv("RANKBENCH_DATA", str(folder))
    return folder / "toy"


@pytest.fixture
def server(tmp_path):
    """Serve a folder on the loopback interface; yields (folder, address)."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def zipped(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def archived(content, address, **changes):
    """Return the toy card with its files in a zip at an address."""
    files = [file | {"archive": "toy.zip", "member": f"a/{file['prefix']}.txt"} for file in FILES]
    archive = {"name": "toy.zip", "sha256": sha(content), "url": f"{address}/toy.zip"}
    return card(files=files, archives=[archive], **changes)


def test_a_card_says_what_columns_mean(tmp_path, monkeypatch):
    text = "one,two,won,who\nAnts,Bees,2,ann\nBees,Ants,x,bob\n"
    (tmp_path / "toy").mkdir()
    written(tmp_path / "toy" / "votes.csv", text)
    monkeypatch.setenv("RANKBENCH_DATA", str(tmp_path))
    said = {"table": "comparisons", "reader": "csv", "d": None, "files": [{"path": "votes.csv", "sha256": sha(text)}]}
    columns = {"left": "one", "right": "two", "winner": "won", "judge": "who"}
    told = {"columns": columns, "words": {"one": "1", "two": "2", "tie": "x"}}
    toy = card_dataset(card(**said, reading=told))()
    found = toy.scan().collect()
    assert found.select("winner", "loser", "tie", "judge").rows() == [
        ("Bees", "Ants", False, "ann"),
        ("Bees", "Ants", True, "bob"),
    ]
    assert toy.scan_as("judge=").collect_schema().names() == ["query_id", "winner", "loser", "tie", "first"]


class TestCards:
    def test_unknown_keys_and_wrong_values_are_located(self, tmp_path):
        text = (cards_folder() / "mq2008.toml").read_text()
        path = tmp_path / "mq2008.toml"
        for old, new, where in [
            ("d = 46\n\n", "d = 46\ncolour = 1\n\n", "colour"),
            ('path = "mq2008.train"', 'path = "../mq2008.train"', "files.0.path"),
            ('path = "mq2008.train"', 'path = "/etc/passwd"', "files.0.path"),
            ("dc29d19e", "xyz", "files.0.sha256"),
        ]:
            assert old in text
            path.write_text(text.replace(old, new, 1))
            with rejected(path=path, column=where):
                load_card(path)
        path.write_text(text + "= nonsense")
        with pytest.raises(InputError, match=r"not TOML.*line"):
            load_card(path)

    @pytest.mark.parametrize("text", ["name = " + "[" * 20_000, "name = " + "9" * 10_000, 'name = "\\uD800"'])
    def test_toml_that_python_stumbles_over(self, tmp_path, text):
        path = written(tmp_path / "toy.toml", text)
        with pytest.raises(InputError, match=r"toy\.toml: not TOML"):
            load_card(path)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"table": "selections"}, "belongs to items"),
            ({"d": None}, "belongs to items"),
            ({"files": [FILE, FILE | {"path": "b"}]}, "different prefixes"),
            ({"files": [FILE | {"archive": "toy.zip", "member": "a"}]}, r"no archive 'toy\.zip'"),
            ({"reading": {"colums": {}}}, "no key 'colums'"),
        ],
    )
    def test_what_contradicts_itself_is_no_card(self, changes, message):
        with pytest.raises(ValueError, match=message):
            card(**changes)

    def test_files_of_selections_are_parts_of_one_log(self, tmp_path, monkeypatch):
        contents = {"train": "q\ta,b : a;\n", "test": "q\tb,a :;\n"}
        files = [{"path": name, "sha256": sha(text), "prefix": name} for name, text in contents.items()]
        made = card(table="selections", d=None, reader="yandex", files=files)
        (tmp_path / "toy").mkdir()
        for name, text in contents.items():
            (tmp_path / "toy" / name).write_text(text)
        monkeypatch.setenv("RANKBENCH_DATA", str(tmp_path))
        found = card_dataset(made)().scan().collect()
        assert found.rows() == [
            ("q", "train/1.1", ["a", "b"], [1], "train"),
            ("q", "test/1.1", ["b", "a"], [], "test"),
        ]


class TestDataset:
    def test_files_are_read_in_order_with_prefixes(self, data):
        queries = load_dataset(card_dataset(card())())
        assert queries.ids == ["train/1", "test/1"]
        assert queries.labels.tolist() == [1, 0, 0, 2]
        assert queries.x.tolist() == [[1, 0], [0, 1], [5, 0], [0, 6]]

    def test_the_fingerprint_follows_the_files(self):
        one = card_dataset(card())().fingerprint()
        other = card(files=[{"path": "train.txt", "sha256": sha(TEST)}])
        assert len(one) == 64
        assert card_dataset(other)().fingerprint() != one
        assert card_dataset(card(title="Other"))().fingerprint() == one

    def test_absent_data_says_what_to_do(self):
        with pytest.raises(InputError, match=r"RANKBENCH_DATA to a folder with toy/train\.txt, toy/deep/test\.txt"):
            card_dataset(card())().scan()
        restricted = archived(b"", "http://127.0.0.1:1", restricted=True)
        with pytest.raises(InputError, match="rankbench data get toy --accept-license"):
            card_dataset(restricted)().scan()

    def test_incomplete_data_says_what_is_missing(self, data):
        (data / "deep" / "test.txt").unlink()
        with pytest.raises(InputError, match=r"missing: deep/test\.txt"):
            card_folder(card())

    def test_a_folder_that_is_not_there(self, monkeypatch):
        monkeypatch.setenv("RANKBENCH_DATA", "/nowhere/at/all")
        with pytest.raises(InputError, match="does not name a folder"):
            card_folder(card())


class TestChecksums:
    def test_a_wrong_one_names_both(self, data):
        (data / "train.txt").write_text(TRAIN + "# one byte more\n")
        with pytest.raises(ChecksumError) as caught:
            locate(card())
        assert sha(TRAIN) in str(caught.value)
        assert sha(TRAIN + "# one byte more\n") in str(caught.value)
        assert caught.value.path == data / "train.txt"

    @pytest.mark.parametrize("use", [locate, lambda card: card_dataset(card)().scan()])
    def test_another_content_of_the_same_size_and_time_is_never_used(self, data, use):
        path = data / "train.txt"
        use(card())
        before = path.stat()
        path.write_text(TRAIN.replace("0", "2"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        after = path.stat()
        assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
        with pytest.raises(ChecksumError, match="train"):
            use(card())


class TestFetch:
    def test_single_files(self, server):
        folder, address = server
        (folder / "train.txt").write_text(TRAIN)
        (folder / "test.txt").write_text(TEST)
        toy = card(files=[file | {"url": f"{address}/{file['prefix']}.txt"} for file in FILES])
        assert fetch(toy) == module.cache_folder() / "toy"
        assert load_dataset(card_dataset(toy)()).ids == ["train/1", "test/1"]

    def test_members_of_an_archive_and_nothing_else(self, server):
        folder, address = server
        content = zipped(**{"a/train.txt": TRAIN, "a/test.txt": TEST, "../evil.txt": "x", "a/other.txt": "x"})
        (folder / "toy.zip").write_bytes(content)
        where = fetch(archived(content, address))
        found = sorted(p.relative_to(where).as_posix() for p in where.rglob("*") if p.is_file())
        assert found == ["deep/test.txt", "train.txt"]
        assert not list(where.parent.parent.rglob("evil.txt"))

    def test_what_is_here_is_not_fetched(self, data):
        assert fetch(archived(b"", "http://127.0.0.1:1")) == data

    def test_restricted_data_needs_the_licence_accepted(self, server):
        folder, address = server
        content = zipped(**{"a/train.txt": TRAIN, "a/test.txt": TEST})
        (folder / "toy.zip").write_bytes(content)
        toy = archived(content, address, restricted=True)
        with pytest.raises(LicenseError, match=r"Toy terms.*example\.org/toy.*get toy --accept-license"):
            fetch(toy)
        assert not (module.cache_folder() / "toy").exists()
        assert fetch(toy, accept_license=True).is_dir()

    def test_a_wrong_archive_leaves_nothing(self, server):
        folder, address = server
        (folder / "toy.zip").write_bytes(b"something else")
        with pytest.raises(ChecksumError) as caught:
            fetch(archived(b"the right one", address))
        assert sha(b"the right one") in str(caught.value)
        assert sha(b"something else") in str(caught.value)
        assert not [p for p in module.cache_folder().rglob("*") if p.is_file()]

    @pytest.mark.parametrize(
        ("members", "error"),
        [
            ({"a/train.txt": TRAIN, "a/test.txt": "altered"}, ChecksumError),
            ({"a/train.txt": TRAIN, "b/test.txt": TEST}, InputError),
        ],
    )
    def test_a_wrong_member_is_not_kept(self, server, members, error):
        folder, address = server
        content = zipped(**members)
        (folder / "toy.zip").write_bytes(content)
        with pytest.raises(error, match=r"a/test\.txt"):
            fetch(archived(content, address))
        assert not list(module.cache_folder().rglob("*test.txt*"))

    def test_a_dead_address_and_none(self):
        with pytest.raises(InputError, match=r"cannot download.*if the address is dead, set RANKBENCH_DATA"):
            fetch(archived(b"", "http://127.0.0.1:1"))
        with pytest.raises(InputError, match="not automated"):
            fetch(card())


@pytest.mark.parametrize(
    ("name", "good"),
    [
        pytest.param("mslr-web10k-sample", 82, marks=needs("mslr-web10k-sample/train.txt")),
        pytest.param("mq2008", 564, marks=needs("mq2008/mq2008.train")),
    ],
)
def test_real_data_is_what_the_cards_say(name, good, monkeypatch):
    monkeypatch.setenv("RANKBENCH_DATA", str(real(".")))
    queries = load_dataset(get(Dataset, name))
    expected = cards()[name]
    assert (len(queries), queries.x.shape) == (expected.expected.queries, (expected.expected.rows, expected.d))
    assert len(usable(queries)) == good
