"""Score tables as readings say: layouts, cells, directions, and what is asked, with the option that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from amounts import part_of, trials
from hypothesis import given
from hypothesis import strategies as st

from rankbench.data.tables.measurements import MeasurementTable, load_scores
from rankbench.data.tables.score_summaries import Summary, summary_of
from rankbench.errors import InputError, Unread
from rankbench.interfaces.reading import Reading
from rankbench.interfaces.sequential_aggregator import TaskScores
from rankbench.interfaces.table_check import RawTable, ReadTable

KIND = MeasurementTable()


def raw_of(table: str | Mapping[str, Any]) -> RawTable:
    """Return a table of texts, given as CSV without quotes, or of any columns."""
    if isinstance(table, str):
        head, *rows = (line.split(",") for line in table.strip().split("\n"))
        table = {name: [row[at] for row in rows] for at, name in enumerate(head)}
    return RawTable(pl.LazyFrame(table), header=1)


def read(table: str | Mapping[str, Any], columns: str, words: str = "", **more: Any) -> ReadTable:
    return KIND.read(raw_of(table), Reading.told(columns, words).with_(**more))


def scores(found: ReadTable) -> TaskScores:
    check = KIND.check(found.table)()
    frames = [check.feed(batch) for batch in found.table.batches()]
    check.end()
    return load_scores(pl.concat(frames).lazy())


def cells(found: ReadTable) -> dict[tuple[str, str, str], float]:
    read = scores(found)
    named = np.ndenumerate(read.values)
    return {
        (read.systems[s], read.tasks[t], read.seeds[r]): float(value)
        for (r, t, s), value in named
        if not np.isnan(value)
    }


def asked(table: str | Mapping[str, Any], columns: str, words: str = "", **more: Any) -> Unread:
    with pytest.raises(Unread) as error:
        read(table, columns, words, **more)
    return error.value


CELLS = {("a", "t", ""): 0.5, ("a", "u", ""): 3.0, ("b", "t", ""): 0.25, ("b", "u", ""): 4.5}
LONG = "who,what,much,note\na,t,.5,x\na,u,3,y\nb,t,.25,x\nb,u,4.5,z"


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        (LONG, "system=who,task=what,score=much"),
        ("who,t,u,note\na,.5,3,x\nb,.25,4.5,y", "system=who,scores=t|u"),
        ("what,a,b\nt,.5,.25\nu,3,4.5", "task=what,scores=*"),
        ({"who": ["a", "b"], "t": [0.5, 0.25], "u": [3.0, 4.5], "x": [1, 1]}, "system=who,scores=*,ignore=x"),
        ("who,t,u\na,50%,3 ± .1\nb,25%,4.5 (0.2)", "system=who,scores=u|t"),
    ],
)
def test_layouts_are_one_table(table: str, columns: str) -> None:
    found = cells(read(table, columns))
    factor = 100 if "%" in str(table) else 1
    assert found == {key: value * (factor if key[1] == "t" else 1) for key, value in CELLS.items()}


def test_several_columns_are_one_name_and_one_that_never_differs_is_no_part_of_it() -> None:
    table = "who,size,what,turn,much\na,7b,t,1,1\na,7b,t,2,2\nb,7b,t,1,3\nb,7b,t,2,4"
    found = read(table, "system=who|size,task=what|turn,score=much")
    assert cells(found) == {("a", "1", ""): 1, ("a", "2", ""): 2, ("b", "1", ""): 3, ("b", "2", ""): 4}
    assert "'size' is the same in all rows, and no part of the system's name" in found.notes
    both = table + "\nb,7b,u,1,5"
    assert ("b", "u / 1", "") in cells(read(both, "system=who,task=what|turn,score=much"))


def test_less_is_better_of_losses_in_wide_and_long_tables() -> None:
    wide = scores(read("who,t,u\na,1,2\nb,3,4", "system=who,scores=t,losses=u"))
    assert (wide.less, wide.better[0].tolist()) == ({"u"}, [[1, 3], [-2, -4]])
    assert scores(read(LONG, "system=who,task=what,loss=much")).less == {"t", "u"}
    turned = scores(read("what,a,b\nt,1,2\nu,3,4", "task=what,losses=a|b"))
    assert (turned.systems, turned.less) == (["a", "b"], {"t", "u"})
    assert asked("what,a,b\nt,1,2\nu,3,4", "task=what,losses=a,scores=b").code == "roles"


def test_words_of_a_metric_say_which_way_is_better() -> None:
    table = "who,what,metric,much\na,t,auc,.5\nb,t,auc,.6\na,u,rmse,9\nb,u,rmse,8"
    question = asked(table, "system=who,task=what,score=much,metric=metric", "more=auc")
    assert (question.code, question.column) == ("metric", "metric")
    found = read(table, "system=who,task=what,score=much,metric=metric", "more=auc,less=*rmse")
    assert scores(found).less == {"u"}
    assert found.counts == {"auc": 2, "rmse": 2}
    both = table.replace("b,u,rmse", "b,u,auc")
    assert asked(both, "system=who,task=what,score=much,metric=metric", "more=auc,less=rmse").code == "second-key"


def test_rows_that_are_not_meant_are_left_out_and_errors_name_the_row_of_the_file() -> None:
    table = "who,what,split,much\na,t,val,1\na,t,test,2\nb,t,val,x\nb,t,test,4\na,all,test,9\n,t,test,1\nb,u,test,y"
    told = "system=who,task=what,score=much"
    question = asked(table, told, where={"split": ("test",)})
    assert (question.code, question.row, question.column) == ("blank", 7, "who")
    question = asked(table, told, "missing=", where={"split": ("test",)})
    assert (question.code, question.row, question.column) == ("number", 8, "much")
    found = read(table, f"{told},ignore=all", "missing=|y", where={"split": ("test",)})
    assert cells(found) == {("a", "t", ""): 2, ("b", "t", ""): 4}
    assert "rankbench leaves out 4 of 7 rows" in found.notes
    assert found.counts == {"missing": 1}
    assert cells(read(table, f"{told},ignore=all", "missing=|y", unless={"split": ("v*",)})) == cells(found)
    with pytest.raises(InputError, match="none of 7 rows is left"):
        read(table, told, where={"split": ("dev",)})
    with pytest.raises(InputError, match=r"no column 'splt'; did you mean 'split'"):
        read(table, told, where={"splt": ("dev",)})


WIDE = "who,t,u\na,{},3\nb,.5,4\nc,.25,{}"
ALIKE = "who,t,u\ngpt,1,9\nGPT,2,8"
TWICE = "who,what,split,much\na,t,x,1\na,t,y,2\nb,t,x,3\nb,t,y,4"
RANKED = "who,place,t,u\na,1,.9,.6\nb,2,.7,.8\nc,3,.5,.5"
MEAN = "who,mean,t,u,v\na,61.3,91.2,62.4,30.3\nb,63.9,70.5,80.1,41.1\nc,46.7,50.9,51.6,37.6\nd,35.3,11.7,22.5,71.7"


@pytest.mark.parametrize(
    ("table", "columns", "code", "answer", "words"),
    part_of([
        (WIDE.format("-1", "5"), "system=who,scores=*", "code", "", "missing=-1"),
        (WIDE.format("-1", "5"), "system=who,scores=*", "code", "", "missing="),
        (WIDE.format(".1", "999"), "system=who,scores=*", "code", "", "missing=999"),
        (WIDE.format(".1", "1.7e308"), "system=who,scores=*", "code", "", "missing=1.7e308"),
        (WIDE.format("0.4 s", "5"), "system=who,scores=*", "number", "cells=first", ""),
        (WIDE.format("0,4".replace(",", "'"), "5"), "system=who,scores=*", "number", "ignore=t", ""),
        (WIDE.format("inf", "5"), "system=who,scores=*", "number", "", "missing=inf"),
        (WIDE.format("4%", "5"), "system=who,scores=*", "number-form", "ignore=t", ""),
        (WIDE.format("1.234", "1.234").replace(".5", "987").replace(".25", "5"), "system=who,scores=*", "number-form",
         'numbers="1.234,5"', ""),
        (WIDE.format("1.234", "1.234").replace(".5", "987").replace(".25", "5"), "system=who,scores=*", "number-form",
         "numbers=1234.5", ""),
        ("who,t,u\na,-5,-2\nb,-999,-3", "system=who,scores=*", "code", "", "missing=-999"),
        (WIDE.format("1 234 s", "5"), "system=who,scores=*,cells=first", "number", "ignore=t", ""),
        ("who,year,t,u\na,2021,61.2,62\nb,2024,65.1,66", "system=who,scores=*", "wide", "ignore=year", ""),
        ("who,t,u,new\na,61.2,62,0\nb,65.1,66,1", "system=who,scores=*", "flags", "keep=new", ""),
        (ALIKE, "system=who,scores=*", "alike", "alike=keep", ""),
        (TWICE, "system=who,task=what,score=much", "twice", "seed=split", ""),
        (TWICE.replace("a,t,y", "a,t,x"), "system=who,task=what,score=much,seed=split", "twice", "", "missing="),
        (RANKED, "system=who,scores=*", "index", "ignore=place", ""),
        (RANKED, "system=who,scores=*", "index", "keep=place", ""),
        (MEAN, "system=who,scores=*", "summary", "ignore=mean", ""),
        (MEAN, "system=who,scores=*", "summary", "keep=mean", ""),
        ("what,a,b\nt,1,7\nu,2.5,3\nv,6,4\nall,3.17,4.67", "task=what,scores=*", "summary", "ignore=all", ""),
        ("who,t,u,size\na,.5,.6,7\nb,.7,.4,70\nc,.4,.2,8", "system=who,scores=*", "wide", "ignore=size", ""),
        ("who,t,u,size\na,.5,.6,7\nb,.7,.4,70\nc,.4,.2,8", "system=who,scores=*", "wide", "keep=size", ""),
        ("who,t,t_se,u\na,.5,.02,.6\nb,.7,.01,.4", "system=who,scores=*", "wide", "ignore=*_se", ""),
        ("who,t,u,moe\na,.5,.6,true\nb,.7,.4,false", "system=who,scores=*", "flags", "ignore=moe", ""),
        ("who,t,u,licence\na,.5,.6,MIT\nb,.7,.4,BSD", "system=who,scores=*", "number", "ignore=licence", ""),
        ("who,t,u\na,,.6\nb,-,.4", "system=who,scores=*", "blank", "ignore=t", ""),
        ("who,t,u\nNA,1.5,.6\nb,1,.4", "system=who,scores=*", "blank", "", "missing=NA"),
    ], 3),
)  # fmt: skip
def test_doubts_are_asked_and_options_answer_them(table: str, columns: str, code: str, answer: str, words: str) -> None:
    assert asked(table, columns).code == code
    told = ",".join(filter(None, [columns, answer]))
    if code == "twice" and not answer:  # rows that nothing parts: one must go
        assert asked(table, told, words).row == 3
        return
    scores(read(table, told, words))


def test_a_missing_number_does_not_leave_out_rows_that_are_called_so() -> None:
    table = "who,what,fold,much\na,t,0,0\na,t,1,2\nb,t,0,3\nb,t,1,0"
    found = cells(read(table, "system=who,task=what,seed=fold,score=much", "missing=0"))
    assert found == {("a", "t", "1"): 2, ("b", "t", "0"): 3}


def test_a_second_key_is_asked_about_unless_it_says_what_the_seed_says() -> None:
    rows = [
        (who, what, split, str(run)) for who in "ab" for what in "tuv" for split in ("test", "val") for run in (0, 1)
    ]
    names = ("who", "what", "split", "run")
    table: dict[str, list[Any]] = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    table |= {"id": [str(at) for at in range(len(rows))], "much": np.random.default_rng(0).uniform(size=len(rows))}
    told = "system=who,task=what,score=much"
    question = asked(table, f"{told},seed=id")
    assert (question.code, question.column) == ("second-key", "split")
    # One cell lacks a value: a run failed.
    assert asked({name: column[1:] for name, column in table.items()}, f"{told},seed=id,ignore=run").column == "split"
    assert len(cells(read(table, f"{told},seed=id,ignore=split|run"))) == len(rows)
    parted = read(
        table | {"date": [f"day {run}" for *_, run in rows]},
        f"{told},task=what|split,seed=run".replace("task=what,", "", 1),
    )
    assert len(scores(parted).tasks) == 6


def test_roles_that_make_no_score_table_are_asked_about() -> None:
    for columns in ("system=who,score=much", "system=who", "scores=much", "system=who,task=what,scores=much"):
        assert asked(LONG, columns).code == "roles", columns
    with pytest.raises(InputError, match="no column 'muc' for the score; did you mean 'much'"):
        read(LONG, "system=who,task=what,score=muc")


def test_missing_scores_need_no_telling_and_truth_values_are_numbers() -> None:
    found = read("who,t,u\na,,true\nb,NA,false\nc,0.5,\nd,.25,TRUE", "system=who,scores=t|u")
    assert cells(found) == {
        ("a", "u", ""): 1,
        ("b", "u", ""): 0,
        ("c", "t", ""): 0.5,
        ("d", "t", ""): 0.25,
        ("d", "u", ""): 1,
    }
    assert found.reading.unread(["who", "t", "u", "x"]) == ["x"]


def test_floats_are_names_where_they_are_whole() -> None:
    table = {"who": ["a", "b"] * 2, "what": [1.0, 1.0, 2.0, 2.0], "much": [1.5, 2, 3, 4]}
    assert scores(read(table, "system=who,task=what,score=much")).tasks == ["1", "2"]
    with pytest.raises(InputError, match=r"row 4 \[what\]: 2.5 is no name"):
        read(table | {"what": [1.0, 1.0, 2.5, 2.0]}, "system=who,task=what,score=much")


def test_notes_tell_of_a_task_that_runs_against_the_others_and_of_scores_far_apart() -> None:
    rng = np.random.default_rng(0)
    level = np.arange(12)[:, None] + rng.normal(size=(12, 6)) / 4
    level[:, 5] *= -1
    table = {"who": [f"s{at}" for at in range(12)], **{f"t{at}": level[:, at] for at in range(6)}}
    notes = " ".join(read(table, "system=who,scores=*").notes)
    assert "'t5' runs against the other tasks" in notes
    assert "'t4'" not in notes
    failed = {"who": list("abcde"), "t": [0.61, 0.63, 0.0, 0.62, 0.6], "u": [0.5, 0.4, 0.6, 0.7, 0.45]}
    assert "'c' has 0 on 't'" in " ".join(read(failed, "system=who,scores=*").notes)


SHAPES = st.tuples(st.integers(3, 9), st.integers(4, 9), st.integers(1, 3), st.integers(0, 10_000))


@given(SHAPES, st.sampled_from(["mean", "sum"]), st.data())
def test_a_mean_or_sum_of_a_block_is_found_and_chance_gives_none(
    shape: tuple[int, int, int, int], how: str, data: st.DataObject
) -> None:
    n, m, digits, seed = shape
    values = np.random.default_rng(seed).uniform(10, 90, size=(n, m)).round(digits)
    assert summary_of(values) is None
    low = data.draw(st.integers(0, n - 2))
    high = data.draw(st.integers(low + 2, n))
    block = values[low:high]
    summed = (block.mean(axis=0) if how == "mean" else block.sum(axis=0)).round(digits + 1)
    found = summary_of(np.vstack([values, summed]))
    assert found is not None
    # Of a mean of two, each is a sum of others, as well.
    assert found == Summary(n, tuple(range(low, high)), how) or found.at in range(n + 1)
    assert found.at == n or high - low == 2 or how == "sum"


@given(SHAPES)
def test_a_sum_of_two_is_found_wherever_these_stand(shape: tuple[int, int, int, int]) -> None:
    n, m, digits, seed = shape
    rng = np.random.default_rng(seed)
    values = rng.uniform(10, 90, size=(n, m)).round(digits)
    one, other = rng.choice(n, 2, replace=False)
    summed = np.vstack([values, values[one] + values[other]])
    order = rng.permutation(n + 1)
    found = summary_of(summed[order])
    assert found is not None
    assert (order[found.at], {*order[[*found.others]]}, found.how) == (n, {one, other}, "sum")


def test_scores_of_one_system_have_no_scale() -> None:
    one = {"system": ["a"] * 3, "task": ["t", "u", "v"], "score": [0.5, 0.25, 900.0]}
    assert scores(read(one, "system=system,task=task,score=score")).tasks == ["t", "u", "v"]
    two = {name: [*cells, *cells] for name, cells in one.items()} | {"system": [*"aaabbb"]}
    with pytest.raises(Unread, match=r"reach 900, and all others 0\.5"):
        read(two, "system=system,task=task,score=score")


@pytest.mark.parametrize(("n", "m"), [(4, 3), (6, 4), (12, 8)])
def test_counts_are_seldom_sums_by_chance(n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    drawn = [rng.poisson(rng.gamma(2, 4, (n, 1)), (n, m)) * 1.0 for _ in range(trials(120))]
    assert sum(summary_of(values) is not None for values in drawn) <= 0.05 * len(drawn)


def test_whole_flags_and_proportional_systems_are_no_means() -> None:
    rng = np.random.default_rng(1)
    assert summary_of((rng.uniform(size=(60, 40)) < 0.5) * 1.0) is None
    assert summary_of(rng.integers(1, 6, size=(240, 3)) * 1.0) is None
    assert summary_of(np.outer([9000, 4500, 3000, 1500, 40, 20], [1, 1.6, 0.7])) is None


def test_means_of_large_tables_are_found_where_they_stand_at_an_end() -> None:
    values = np.random.default_rng(2).uniform(size=(2_500, 5)).round(4)
    assert summary_of(values) is None
    every = tuple(range(2_500))
    assert summary_of(np.vstack([values, values.mean(axis=0).round(4)])) == Summary(2_500, every, "mean")
    gaps = np.where(np.random.default_rng(3).uniform(size=values.shape) < 0.1, np.nan, values)
    assert summary_of(np.vstack([np.nanmean(gaps, axis=0).round(4), gaps])) == Summary(
        0, tuple(range(1, 2_501)), "mean"
    )
