"""The table of orders in all formats, what is wrong with one, its container and its description."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from data_files import rejected, stored, written

import rankbench
from rankbench.cli import main
from rankbench.data.convert import convert
from rankbench.data.readers.choose import choose_reader
from rankbench.data.tables.checks import table_of, validate
from rankbench.data.tables.order_log import load_orders, take_orders
from rankbench.data.tables.schemas import orders_schema
from rankbench.descriptions.describe import describe
from rankbench.errors import InputError, Unread
from rankbench.logs.open import open_log, scan

RANKINGS = [[["b"], ["a", "c"]], [["x"], ["y"]], [["c"]], [["a"], ["b"]]]
FRAME = pl.DataFrame(
    {
        "query_id": ["q", "p", "q", "q"],
        "ranking": RANKINGS,
        "weight": [2.0, 1.0, 1.5, 1.0],
        "candidates": [["d", "c", "b", "a"], ["y", "x"], ["d", "c", "b", "a"], ["d", "c", "b", "a"]],
    }
)


def write(frame, path):
    if path.suffix == ".csv":
        texts = [pl.Series(name, [str(v).replace("'", '"') for v in frame[name].to_list()]) for name in LISTS]
        frame = frame.with_columns(texts)
    return stored(frame, path)


LISTS = ("ranking", "candidates")


@pytest.mark.parametrize("ending", [".csv", ".ndjson", ".parquet"])
def test_formats(tmp_path, ending):
    path = write(FRAME, tmp_path / f"votes{ending}")
    found = choose_reader(path).scan(path).collect()
    assert found.schema == orders_schema(("weight", "candidates"))
    assert found.rows() == FRAME.rows()


def test_rankings_without_ties():
    for column in (
        pl.Series("ranking", [["b", "a"], ["c"]]),
        pl.Series("ranking", ['["b", "a"]', '"c"']),
        pl.Series("ranking", [[["b"], ["a"]], [["c"]]]),
    ):
        found = validate("orders", pl.LazyFrame({"query_id": ["q", "q"], "ranking": column})).collect()
        assert found["ranking"].to_list() == [[["b"], ["a"]], [["c"]]]
        assert found.columns == ["query_id", "ranking"]
    numbers = pl.LazyFrame({"query_id": [1, 1], "ranking": [[3, 1], [2]], "candidates": [[1, 2, 3], [1, 2, 3]]})
    found = validate("orders", numbers).collect()
    assert found.rows() == [("1", [["3"], ["1"]], ["1", "2", "3"]), ("1", [["2"]], ["1", "2", "3"])]


@pytest.mark.parametrize(
    ("change", "row", "column", "said"),
    [
        ({"ranking": [[["b"], ["a", "b"]], *RANKINGS[1:]]}, 1, "ranking", "item 'b' is ranked twice"),
        ({"ranking": [*RANKINGS[:2], [["e"]], RANKINGS[3]]}, 3, "ranking", "item 'e' is not among the candidates"),
        ({"ranking": [RANKINGS[0], [["a"], ["x"]], *RANKINGS[2:]]}, 2, "ranking", "item 'a' is not among"),
        ({"ranking": [*RANKINGS[:3], None]}, 4, "ranking", "the ranking is missing"),
        ({"ranking": [RANKINGS[0], [["x"], []], *RANKINGS[2:]]}, 2, "ranking", "a place of the ranking has no items"),
        ({"ranking": [RANKINGS[0], [["x"], [None]], *RANKINGS[2:]]}, 2, "ranking", "an item has no name"),
        ({"ranking": [[1.5], [2.0], [1.0], [1.0]]}, 1, "ranking", "1.5 is no name: names must be"),
        ({"ranking": [1, 2, 3, 4]}, 1, "ranking", "holds Int64, not rankings"),
        ({"ranking": ['["b"]', '["x", "y"]', "[b", '["a"]']}, 3, "ranking", "'[b' is not JSON"),
        ({"ranking": ['["b"]', '["x", 1.5]', '["c"]', '["a"]']}, 2, "ranking", "1.5 is not a name"),
        ({"ranking": ['["b"]', '["x", ["y", []]]', '["c"]', '["a"]']}, 2, "ranking", "[] is not a name"),
        ({"weight": [1.0, 1.0, -1.0, 1.0]}, 3, "weight", "weight -1.0 is not positive"),
        (
            {"candidates": [["a", "b", "c"], ["x", "y"], ["a", "b", "c"], ["a", "b"]]},
            4,
            "candidates",
            "other candidates",
        ),
        ({"candidates": [["a", "b", "a"], ["x", "y"], ["a"], ["a"]]}, 1, "candidates", "'a' is a candidate twice"),
        ({"candidates": [["a", "b", "c"], None, ["a"], ["a"]]}, 2, "candidates", "the candidates are missing"),
        ({"candidates": [1, 2, 3, 4]}, 1, "candidates", "not lists of names"),
    ],
)
def test_errors_know_row_and_column(change, row, column, said):
    columns = [pl.Series(name, values, strict=False) for name, values in change.items()]
    frame = FRAME.with_columns(columns)
    with rejected(said=said, row=row, column=column):
        validate("orders", frame.lazy())


def test_candidates_are_compared_across_batches():
    rows = 200_000
    one = pl.concat_list(pl.repeat("a", rows))
    frame = pl.select(query_id=pl.repeat("q", rows), ranking=one, candidates=one).lazy()
    frame = frame.with_columns(
        candidates=pl.when(pl.int_range(pl.len()) == rows - 1).then(pl.lit(["a", "b"])).otherwise("candidates")
    )
    with rejected("has other candidates in its other rows", row=rows):
        validate("orders", frame)


def test_missing_column():
    with pytest.raises(InputError, match="'query_id' is missing, which orders must have"):
        validate("orders", pl.LazyFrame({"ranking": [["a"]]}))
    assert table_of(FRAME.schema).name == "orders"


def test_container():
    log = load_orders(FRAME.lazy())
    assert log.ids == ["p", "q"]
    # In the order of the candidates.
    assert log.items == ["y", "x", "d", "c", "b", "a"]
    assert log.item_offsets.tolist() == [0, 2, 6]
    assert (log.item_offsets.tolist(), len(log)) == ([0, 2, 6], 2)
    orders = log.orders
    assert orders.offsets.tolist() == [0, 1, 4]
    assert orders.starts.tolist() == [0, 2, 5, 6, 8]
    assert orders.items.tolist() == [1, 0, 2, 3, 1, 1, 3, 2]
    assert orders.places.tolist() == [0, 1, 0, 1, 1, 0, 0, 1]
    assert orders.weights.tolist() == [1, 2, 1.5, 1]
    assert (orders.items.dtype, orders.places.dtype, orders.starts.dtype) == (np.int32, np.int32, np.int64)
    second = take_orders(orders, 1)
    assert second.offsets.tolist() == [0, 3]
    assert second.starts.tolist() == [0, 3, 4, 6]
    assert second.items.tolist() == [2, 3, 1, 1, 3, 2]
    assert second.weights.tolist() == [2, 1.5, 1]


def test_container_without_candidates():
    log = load_orders(FRAME.select("query_id", "ranking").lazy())
    assert log.items == ["x", "y", "a", "b", "c"]
    assert log.orders.items.tolist() == [0, 1, 1, 0, 2, 2, 0, 1]
    assert log.orders.weights.tolist() == [1, 1, 1, 1]


def test_description(tmp_path, capsys):
    found = describe(FRAME.lazy()).as_dict()
    assert (found["table"], found["rows"], found["queries"], found["voters"]) == ("orders", 4, 2, 5.5)
    assert (found["complete"], found["ties"], found["judges"], found["unranked"]) == (1, 1, None, 1)
    assert found["items_per_query"] == {"smallest": 2, "median": 3, "mean": 3, "largest": 4}
    assert found["ranked"] == {"smallest": 1, "median": 2, "mean": 2, "largest": 3}
    judged = FRAME.drop("candidates", "weight").with_columns(judge=pl.Series(["m", "n", "m", None]))
    found = describe(judged.lazy()).as_dict()
    assert (found["voters"], found["judges"], found["unranked"], found["complete"]) == (4, 2, 0, 2)
    path = write(FRAME, tmp_path / "votes.parquet")
    with pytest.raises(SystemExit) as caught:
        main(["data", "describe", str(path)])
    assert caught.value.code in (0, None)
    shown = capsys.readouterr().out
    assert "orders" in shown
    assert "4, of 5.5 voters" in shown


def test_conversion_keeps_the_ballots(tmp_path):
    path = write(FRAME, tmp_path / "votes.parquet")
    manifest = convert(path, tmp_path / "shards", shards=2)
    assert (manifest.table, manifest.rows, manifest.queries) == ("orders", 4, 2)
    log = load_orders(choose_reader(tmp_path / "shards").scan(tmp_path / "shards"))
    expected = load_orders(FRAME.lazy())
    assert (log.ids, log.items) == (expected.ids, expected.items)
    assert np.array_equal(log.orders.items, expected.orders.items)


def test_ranked_choices_rank_by_all_of_them(tmp_path):
    """Of the pairs: Ada 2 to 2 against Bo and Cy, Bo 3 to 1 against Cy; by the first two ranks alone Ada leads."""
    rows = ["Ada,Bo,Cy", "Ada,Bo,Cy", "Bo,Cy,Ada", "Cy,Bo,Ada"]
    pairs = [
        {"winner": a, "loser": b} for row in rows for k, a in enumerate(row.split(",")) for b in row.split(",")[k + 1 :]
    ]
    expected = rankbench.aggregate(pairs).table.select("item", "score")
    path = written(tmp_path / "choices.csv", "\n".join(["rank1,rank2,rank3", *rows]))
    found = rankbench.aggregate(path).table
    assert found["item"].to_list() == ["Bo", "Ada", "Cy"]
    assert found["score"].to_list() == pytest.approx(expected["score"].to_list())


RACES = (
    "18,ham,1 18,hei,2 18,ros,DNF 18,alo,\\N 19,hei,1 19,alo,2 19,ham,3 19,ros,4 20,alo,10 20,ros,1 20,ham,2 20,hei,"
)


def test_places_in_races_are_ballots(tmp_path: Path) -> None:
    path = written(tmp_path / "results.csv", "\n".join(["raceId,driverId,position", *RACES.split(" ")]))
    told = "query=raceId,item=driverId,place=position; last=DNF|\\N|"
    found = dict(open_log(path, columns=told).frame.select("query_id", "ranking").collect().iter_rows())
    assert found == {
        "18": [["ham"], ["hei"], ["ros", "alo"]],
        "19": [["hei"], ["alo"], ["ham"], ["ros"]],
        "20": [["ros"], ["ham"], ["alo"], ["hei"]],
    }
    # The same as votes on all pairs, tied ones half each.
    votes = []
    for ballot in found.values():
        for at, place in enumerate(ballot):
            votes += [(x, y, False) for x in place for later in ballot[at + 1 :] for y in later]
            votes += [(x, y, True) for x, y in combinations(place, 2)]
    table = pl.DataFrame(votes, schema=["winner", "loser", "tie"], orient="row")
    ours = rankbench.aggregate(path, columns=told).table
    theirs = rankbench.aggregate(table).table
    assert dict(ours.select("item", "score").iter_rows()) == pytest.approx(
        dict(theirs.select("item", "score").iter_rows()), abs=1e-6
    )


@pytest.mark.parametrize("place", ["T3", "=2", "1st", "12:03.4"])
def test_places_in_other_forms_are_refused_and_places_without_a_first_are_named(tmp_path: Path, place: str) -> None:
    path = written(tmp_path / "races.csv", f"query,item,place\n1,ann,25\n1,bo,18\n2,ann,1\n2,bo,2\n2,cy,{place}\n")
    with rejected("no numbers", row=6, column="place"):
        open_log(path)
    path.write_text(path.read_text().replace(place, "3"))
    source = open_log(path)
    assert "rankbench takes the lowest place for the best in 1 ballot whose lowest is not 1" in source.notes
    found = dict(source.frame.collect().select("query_id", "ranking").iter_rows())
    assert found == {"1": [["bo"], ["ann"]], "2": [["ann"], ["bo"], ["cy"]]}


def test_texts_with_signs_are_rankings_and_empty_ones_say_nothing(tmp_path: Path) -> None:
    signs, lists = tmp_path / "signs.csv", tmp_path / "lists.jsonl"
    signs.write_text('ranking,count\nAda>Bo>Cy,40\n[],2\nBo > Cy > Ada,1\nCy>Bo=Ada,1\n"[""Bo>Cy"", ""Ada""]",1\n')
    rows = [([["Ada"], ["Bo"], ["Cy"]], 40), ([], 2), ([["Bo"], ["Cy"], ["Ada"]], 1), ([["Cy"], ["Bo", "Ada"]], 1)]
    rows.append(([["Bo>Cy"], ["Ada"]], 1))
    lists.write_text("\n".join(json.dumps({"ranking": ranking, "count": votes}) for ranking, votes in rows))
    found = [rankbench.aggregate(path) for path in (signs, lists)]
    assert found[0].table.equals(found[1].table)
    assert set(found[0].table["item"]) == {"Ada", "Bo", "Cy", "Bo>Cy"}
    assert found[0].table.filter(pl.col("item") == "Ada")["votes"].item() == 43
    assert all("rankbench leaves out 1 empty ballot" in one.notes for one in found)


@pytest.mark.parametrize("word", ["skipped", "Overvote", "undervote"])
def test_words_for_no_choice_are_asked_about(word: str) -> None:
    for ranking in ([["a", "b"], [word, "b"]], ['["a", "b"]', f'["{word}", "b"]'], ["a>b", f"b>{word}"]):
        with rejected(f'words="missing={word}" leaves it out', row=2):
            scan({"ranking": ranking}).collect()


@pytest.mark.parametrize(
    "rankings",
    [[["b", ["a", "c"]], ["a", "b", "c"], [["a", "b"], "c"]], [["b", ["a", "c"]], [["a", "b"], "c"]]],
    ids=["some of names alone", "all with ties"],
)
def test_ties_as_lists_in_some_places_are_read(rankings: list[list[object]], tmp_path: Path) -> None:
    """Polars alone reads ``["a", "c"]`` beside a name as the text of one item."""
    path = tmp_path / "ballots.ndjson"
    path.write_text("".join(json.dumps({"ranking": ranking}) + "\n" for ranking in rankings))
    places = [[place if isinstance(place, list) else [place] for place in ranking] for ranking in rankings]
    assert rankbench.aggregate(path).table.equals(rankbench.aggregate(pl.DataFrame({"ranking": places})).table)
    path.write_text('{"ranking": ["b", ["a"]]}\n{"ranking": ["a"]}\n[2]\n')
    with pytest.raises(InputError, match=r":3: a row must be a JSON object, not a list"):
        rankbench.aggregate(path)


def test_a_ballot_of_one_name_stands_among_signs(tmp_path):
    """Also far from the first sign, as a number, and as a tie."""
    texts = ["b", "7", "a=b", *["b"] * 40, "a>b>7", "c>a"]
    path = written(tmp_path / "signs.csv", "\n".join(["ranking", *texts]))
    found = open_log(path).frame.collect()["ranking"].to_list()
    assert found == [[place.split("=") for place in text.split(">")] for text in texts]
    frame = pl.DataFrame({"ranking": texts})
    assert open_log(frame).frame.collect()["ranking"].to_list() == found
    alone = written(tmp_path / "alone.csv", "ranking\nb\na b\n")
    with pytest.raises(Unread, match="no cell ranks two items"):
        open_log(alone)
