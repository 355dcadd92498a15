"""Votes are read as a reading says: every cell must fit, and what looks like something else is asked about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from rankbench.core.text import count_text, listed, short_repr
from rankbench.data.tables.cells import (
    EMPTY,
    items_text,
    refuse_first,
    refuse_lists,
    text_of,
    with_joined,
)
from rankbench.data.tables.codes import refuse_code
from rankbench.data.tables.column_texts import first_cells
from rankbench.data.tables.doubts import blank_cell, missing_steps, number_forms, refuse_grouped
from rankbench.data.tables.schemas import LEFT_OUT
from rankbench.data.tables.vote_doubts import doubt_votes, refuse_vote_totals
from rankbench.data.tables.vote_outcomes import (
    VoteOutcome,
    no_flag,
    outcome_of,
    outcome_roles,
    outcome_says,
    with_numbers,
)
from rankbench.data.tables.vote_sides import refuse_named_sides, with_sides, words_of_sides
from rankbench.data.tables.vote_source import AGAINST, LEAD, OUT, VoteSource
from rankbench.errors import InputError, Unread, option, options
from rankbench.interfaces.reading import Names, Reading, names_text
from rankbench.interfaces.table_check import RawTable, ReadTable

_KEY = "\0key"
"""Beginning of names of columns of keys; no user calls one so."""


def read_votes(raw: RawTable, reading: Reading) -> ReadTable:
    """Return votes in the schema of comparisons, with the reading as applied.

    Raises
    ------
    InputError
        A column is not there, or a cell does not fit: with its row.
    Unread
        Values speak against the reading.
    """
    said = reading.expanded(raw.schema.names())
    refuse_lists(raw, said.read())
    raw, several = _a_row_each(raw, said)
    frame, joined = with_joined(raw.frame, several)
    raw = replace(raw, frame=frame)
    _refuse_unused(raw, joined)
    found = _read_pairs(VoteSource(raw, joined)) if joined.first["loser"] else _read_sides(VoteSource(raw, joined))
    columns = {role: names for role, names in said.columns.items() if len(names) > 1}
    refuse_vote_totals(found)
    return replace(found, reading=found.reading.with_(columns))


_USED_BY = {
    "tie": ("winner", "left_won", "left_wins"),
    "ties": ("left_wins",),
    "first": ("loser",),
    "rest_of_vote": ("loser",),
}
"""Roles that are read beside some others alone."""


def _refuse_unused(raw: RawTable, reading: Reading) -> None:
    """Raise a question about a column whose role is unused with this reading of outcomes."""
    for role, others in _USED_BY.items():
        if (name := reading.first[role]) and not any(reading.first[role] for role in others):
            what = f"{short_repr(name)} is the {role}, which is read beside {listed(list(others))} alone"
            step = f"{option('columns', f'{role}=')} reads the votes without it"
            raise Unread(what, step, code="roles", column=name)
    if outcome_roles(reading) == ("winner", "loser") and reading.has("left", "right"):
        raise Unread(
            "two items are told twice, as left and right and as winner and loser",
            f"{option('columns', 'loser=')} or {option('columns', 'left=,right=')}",
            code="roles",
        )


def votes_as_read(frame: pl.LazyFrame, reading: Reading) -> pl.LazyFrame:
    """Return votes under the names of the schema, of a table whose reading was applied and whose rows need no check.

    Parameters
    ----------
    frame : LazyFrame
    reading : Reading
        As `read_votes` returns it, of votes that are rows, each with one winner.
    """
    frame, joined = with_joined(frame, reading)
    votes = VoteSource(RawTable(frame), joined, strip=False)
    if not joined.first["loser"]:
        frame = with_numbers(frame, joined)
        outcome = outcome_of(joined)
        found = _sided_table(votes.with_outcome(frame, outcome), outcome).frame
        return found.filter(~pl.col(LEFT_OUT)).drop(LEFT_OUT)
    found = votes.table(_pair_columns(votes), votes.out).frame
    return found if votes.out is None else found.filter(~pl.col(LEFT_OUT)).drop(LEFT_OUT)


def outcome_disagreement(raw: RawTable, reading: Reading, agree: Names) -> str:
    """Return an error text if other columns contradict the outcome, or ``""``.

    Parameters
    ----------
    raw : RawTable
    reading : Reading
        Of votes with two columns of items.
    agree : dict of str to tuple of str
        Columns of the other outcome, by role.
    """
    sides = {role: reading.columns[role] for role in ("left", "right")}
    says_too = reading.model_copy(update={"columns": {**sides, **agree}})
    first, other = outcome_of(reading), outcome_of(says_too)
    out = pl.any_horizontal(first.missing, *VoteSource(raw, reading).left_out().values())
    differ = (first.lead.sign() != other.lead.sign()).fill_null(value=True) & ~out.fill_null(value=False)
    frame = with_numbers(with_numbers(raw.frame, reading), says_too)
    rows = raw.collect(frame.with_row_index(OUT).filter(differ).select(OUT).head(1))
    for row in rows[OUT]:
        both = listed([name for names in agree.values() for name in names])
        place = raw.place(row + 1)[1]
        return f"{both} do not say the same of who won as {listed(list(first.columns))} does (row {place})"
    return ""


def _a_row_each(raw: RawTable, reading: Reading) -> tuple[RawTable, Reading]:
    """Return a table with a row for each of several winners' columns; the column may be the judge."""
    winners = reading.all("winner")
    if len(winners) < 2:
        return raw, reading
    if reading.first["loser"]:
        raise InputError(f"beside a loser there is one winner, not {listed(list(winners))}")
    name, judge = " | ".join(winners), "\0judge"
    several = pl.concat_list([text_of(winner) for winner in winners]).alias(name)
    judges = pl.lit(pl.Series([list(winners)])).first().alias(judge)
    others = {one for role, names in reading.columns.items() if role not in ("winner", "judge") for one in names}
    frame = raw.frame.with_columns(several, judges).explode(name, judge).drop(set(winners) - others)
    if reading.all("judge") == winners:
        reading = reading.with_({"judge": (judge,)})

    def located(row: int) -> tuple[Path | str | None, int | None]:
        return raw.place((row - 1) // len(winners) + 1)

    return replace(raw, frame=frame, locate=located), reading.with_({"winner": (name,)})


def _read_pairs(votes: VoteSource) -> ReadTable:
    """Return votes of a column of winners and one of losers: names are looked at as rows are checked, or counted."""
    votes.settle()
    reading, (winner, loser) = votes.reading, votes.sides
    if reading.source.startswith("standard"):
        _refuse_sorted_numbers(votes.raw, winner, loser)
        refuse_named_sides(votes.raw, reading)
    votes.counted()
    doubt_votes(votes)
    tie = reading.first["tie"]
    table = replace(votes.table(_pair_columns(votes), votes.out), doubts=partial(votes.refuse_items, votes.out))
    beat = f"{winner} beat {loser}" + f", ties by {tie}" * bool(tie)
    return ReadTable(table, reading, (beat, *votes.weighed), {}, (*votes.notes,))


def _pair_columns(votes: VoteSource) -> list[pl.Expr]:
    """Return the columns of votes of winners and losers."""
    winner, loser = votes.sides
    beside = [role for role in ("tie", "first", "rest_of_vote") if votes.reading.first[role]]
    chosen = [votes.name(winner).alias("winner"), votes.name(loser).alias("loser")]
    return [*chosen, *(pl.col(votes.reading.first[role]).alias(role) for role in beside)]


def _refuse_sorted_numbers(raw: RawTable, winner: str, loser: str) -> None:
    """Raise a question if names are numbers, and the winner's is never the lower one: scores, not names."""
    cells = pl.DataFrame(first_cells(raw, (winner, loser)))
    left, right = (cells[name].cast(pl.Float64, strict=False) for name in (winner, loser))
    if cells.height > 4 and bool((left >= right).fill_null(value=False).all()):
        raise Unread(
            f"{short_repr(winner)} is never below {short_repr(loser)}: are they scores, not names of items?",
            f"{option('columns', 'left=____,right=____,left_score=____,right_score=____')}; or name items by texts",
            code="flags",
        )


def _read_sides(votes: VoteSource) -> ReadTable:
    """Return votes of two columns of items with columns of outcomes."""
    if votes.reading.first["winner"]:
        votes.reading = with_sides(votes.raw, votes.reading)
    reading = votes.reading
    if not reading.has("left", "right"):
        raise Unread(
            "which two columns hold the items is not said", option("columns", "left=____,right=____"), code="sides"
        )
    votes.settle(*([] if words_of_sides(reading) else reading.all("winner")))
    votes.raw = replace(votes.raw, frame=with_numbers(votes.raw.frame, reading))
    outcome = outcome_of(reading)
    if reading.first["tie"] and reading.first["winner"]:
        _refuse_no_flags(votes)
    refuse_grouped(votes.raw, list(outcome.columns) if outcome.numbers else [], reading)
    gone = pl.any_horizontal(pl.lit(value=False), *votes.left_out().values())
    votes = votes.with_outcome(votes.raw.frame, outcome)
    counts = _outcomes(votes, outcome, gone)
    _refuse_one_sided(reading, counts)
    pairs = _different(votes)
    items = pl.concat([pairs["left"], pairs["right"]]).unique().sort().to_list()
    votes.refuse_items(pl.col(OUT), items)
    _refuse_mirrored(votes, pairs)
    doubt_votes(votes)
    decisive = counts["left"] + counts["right"]
    if decisive > 5 and not (counts["left"] and counts["right"]):
        side = votes.sides[0 if counts["left"] else 1]
        votes.notes.append(f"all {decisive:,} decisive votes are won by the item in {short_repr(side)}")
    parts = (f"{votes.sides[0]} against {votes.sides[1]}", outcome_says(reading, counts), items_text(items))
    says_all = (*parts, *votes.weighed)
    return ReadTable(_sided_table(votes, outcome), reading, says_all, counts, (*votes.notes,))


def _refuse_no_flags(votes: VoteSource) -> None:
    """Raise for a value in a column of ties that is neither true nor false."""
    raw, name, out = votes.raw, votes.reading.first["tie"], votes.out
    bad = no_flag(votes.reading)
    what = f"is not a truth value (true or false); {option('columns', 'tie=')} reads the log without it"
    wrong = {name: bad if out is None else bad & ~out}
    refuse_first(raw, wrong, lambda cell, _: InputError(f"{short_repr(cell)} {what}", column=name))


def _outcomes(votes: VoteSource, outcome: VoteOutcome, gone: pl.Expr) -> dict[str, int]:
    """Return the numbers of votes won by the left, by the right, and tied; unreadable cells raise an error."""
    lead, kept = pl.col(LEAD), ~pl.col(OUT)
    counts = votes.counted(
        pl.col(OUT),
        left=(lead > 0) & kept,
        right=(lead < 0) & kept,
        tie=(lead == 0) & kept,
        missing=pl.col(OUT) & ~gone,
        unread_row=lead.is_null() & kept,
        against_row=pl.col(AGAINST) & kept,
    )
    if outcome.numbers:
        table = replace(votes.raw, frame=votes.raw.frame.filter(kept))
        refuse_code(table, outcome.numbers, votes.reading, lowest=outcome.lowest)
    _refuse_unread(votes, outcome, counts.pop("unread_row"), counts.pop("against_row"))
    if counts["missing"]:
        words = [word or "an empty cell" for word in votes.reading.words.get("missing", ())]
        which = f"without an outcome ({', '.join(words)})" if words else "without a game"
        votes.notes.append(f"rankbench leaves out {count_text(counts['missing'], 'row', which)}")
    return counts


def _refuse_one_sided(reading: Reading, counts: Mapping[str, int]) -> None:
    """Raise a question if the right never wins: 0 and 1 may be flags, and a margin may be an absolute one."""
    role = outcome_roles(reading)[0]
    some = {"preference": counts["tie"] > 0, "margin": counts["left"] > 1}.get(role, False)
    if counts["right"] or not (some and counts["left"]):
        return
    name, left, right = reading.first[role], reading.first["left"], reading.first["right"]
    what = f"is never {'above 1' if role == 'preference' else 'below 0'}, so {short_repr(right)} never wins"
    words = names_text({left: ("____",), right: ("____",), "tie": ("____",)})
    step = f"{options(columns=names_text({'winner': (name,)}), words=words)} says what its numbers mean"
    other = names_text({"points": (name,)} if role == "preference" else {"winner": (left,), "loser": (right,)})
    why = f"it is the share of points of {left}" if role == "preference" else f"{left} always won"
    raise Unread(
        f"{short_repr(name)} {what}: are these flags, or sizes, of something else?",
        f"{step}; {option('columns', other)} if {why}",
        code="flags",
        column=name,
    )


def _refuse_unread(votes: VoteSource, outcome: VoteOutcome, unread: int, against: int) -> None:
    """Raise for the first row with an unreadable outcome, or with a contradicting column of ties."""
    rows = [row for row in (unread, against) if row >= 0]
    if not rows:
        return
    raw, first = votes.raw, min(rows)
    texts = raw.collect(raw.frame.slice(first, 1).select(text_of(name) for name in outcome.columns)).row(0)
    column = outcome.columns[0]
    if first == against:
        what = f"the column {short_repr(votes.reading.first['tie'])} says otherwise than {short_repr(texts[0])}"
        raise raw.at(first, InputError(f"{what}; {option('columns', 'tie=')} reads the log without it", column=column))
    named = bool(votes.reading.first["winner"])
    if blank := [text for text in texts if text.lower() in EMPTY]:
        raise raw.at(first, blank_cell(blank[0], column, more=("tie",) if named else ()))
    shown = " and ".join(short_repr(text) for text in texts)
    odd = next((text for text in texts if not re.fullmatch(r"[+-]?[\d.]+", text)), texts[0])
    code = "word" if named else "number"
    steps = [*missing_steps(odd, "leaves such rows out", word=named), *_number_steps(votes.reading, odd)]
    step = "; ".join(steps or [f"{option('where')} keeps some rows"])
    raise raw.at(first, Unread(outcome.wrong.replace("{}", shown, 1), step, code=code, column=column))


def _number_steps(reading: Reading, odd: str) -> list[str]:
    """Return steps for numbers of another form, or words among numbers."""
    if forms := number_forms(odd, reading):
        return forms
    if odd.endswith("%") and reading.has("left_score"):
        return [f"{option('columns', 'numbers=first')} reads the number that a cell begins with"]
    for role in ("points", "preference", "margin"):
        if name := reading.first[role]:
            words = names_text({side: ("____",) for side in (*reading.all("left"), *reading.all("right"), "tie")})
            how = option("columns", names_text({"margin": (name,)}))
            margin = f"; {how} if it is above 0 where the left won, else below"
            also = margin if role == "preference" else ""
            return [f"{options(columns=names_text({'winner': (name,)}), words=words)} says what its words mean{also}"]
    return []


def _different(votes: VoteSource) -> pl.DataFrame:
    """Return the different votes of the rows that are kept: two items, who won, and how many rows.

    Texts are few and rows are many: rows are grouped as they are.
    """
    sides = [pl.col(side).alias(name) for side, name in zip(votes.sides, ("left", "right"), strict=True)]
    rows = votes.raw.frame.filter(~pl.col(OUT)).select(*sides, pl.col(LEAD).sign().alias("lead"))
    grouped = votes.raw.collect(rows.group_by("left", "right", "lead").len())
    return grouped.with_columns(text_of("left").alias("left"), text_of("right").alias("right"))


def _refuse_mirrored(votes: VoteSource, pairs: pl.DataFrame) -> None:
    """Raise a question if each row has a mirrored row of the same query, judge and time."""
    reading = votes.reading
    if reading.first["mirrored"] or pairs["len"].sum() < 4 or not _are_mirrored(pairs, ()):
        return
    beside = [name for role in ("query", "judge", "time") if (name := reading.first[role])]
    # Few tables get here, so that others are grouped by few columns.
    if beside:
        texts = [text_of(name).alias(f"{_KEY}{at}") for at, name in enumerate((*votes.sides, *beside))]
        rows = votes.raw.frame.filter(~pl.col(OUT)).select(*texts, pl.col(LEAD).sign().alias("lead"))
        counted = votes.raw.collect(rows.group_by(pl.all()).len())
        names = {f"{_KEY}0": "left", f"{_KEY}1": "right"}
        if not _are_mirrored(counted.rename(names), [f"{_KEY}{at + 2}" for at in range(len(beside))]):
            return
    raise Unread(
        "each row has a row that says the same from the other side",
        f"{option('columns', 'mirrored=halve')} counts each game once, mirrored=keep twice",
        code="mirrored",
    )


def _are_mirrored(counted: pl.DataFrame, beside: Sequence[str]) -> bool:
    """Return whether each vote has equal numbers of rows from both sides."""
    turned = pl.col("left") > pl.col("right")
    even = counted.group_by(
        pl.min_horizontal("left", "right").alias("low"),
        pl.max_horizontal("left", "right").alias("high"),
        pl.when(turned).then(-pl.col("lead")).otherwise(pl.col("lead")).alias("lead"),
        *beside,
    ).agg(pl.col("len").filter(turned).sum().alias("one"), pl.col("len").filter(~turned).sum().alias("other"))
    return bool((even["one"] == even["other"]).all())


def _sided_table(votes: VoteSource, outcome: VoteOutcome) -> RawTable:
    """Return the votes with winner, loser, tie and side."""
    left, right = (votes.name(side).cast(pl.String) for side in votes.sides)
    divided = pl.any_horizontal(pl.lit(value=False), *(more.is_not_null() for more in outcome.more.values()))
    first = (pl.col(LEAD).fill_null(0.0) >= 0) | divided
    chosen = [
        pl.when(first).then(left).otherwise(right).alias("winner"),
        pl.when(first).then(right).otherwise(left).alias("loser"),
        ((pl.col(LEAD) == 0).fill_null(value=False) & ~divided).alias("tie"),
        first.alias("first"),
        *(more.alias(name) for name, more in outcome.more.items()),
    ]
    return votes.table(chosen, pl.col(OUT))
