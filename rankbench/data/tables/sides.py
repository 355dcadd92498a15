"""Sides tell who won each vote, by the outcome columns of the whole log.

A word such as ``a`` may be both a side and a name. Were it read row by row, one word would mean different things in
one column; so all of the column is looked at, and rankbench rejects what stays ambiguous. Beside one column there may
be one for each of the two: whether it won, its score, or how many games it won.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import polars as pl

from rankbench.core.text import count_text, listed, short_repr
from rankbench.data.tables import outcomes
from rankbench.data.tables.outcome_readings import numbers_meaning, pair_meaning, word_readings
from rankbench.data.tables.schemas import GAMES, SHARE
from rankbench.errors import InputError, nearest
from rankbench.interfaces.dataset import remark
from rankbench.interfaces.row_weights import left_out
from rankbench.interfaces.table import proposed

SAID = "said"
"""Column of what was said of who won, where that cannot be read."""

CONTRADICTED = "contradicted"
"""Column of what the winner's column said, where the column of ties says otherwise."""

MARKED = "marked"
"""The column of ties as it is, where there is one."""

_LEAD = "\0lead"
"""Column of by how much the left won; no user calls one so."""

LEFT_OUT = "left_out"
"""Column of whether nothing was said, as of a match that was not played."""


WORD_ROLES = ("left_word", "right_word", "tie_word")
"""Roles of words of the winner's column, not of columns."""

OUTCOME_ROLES = ("winner", "loser", "left_won", "right_won", "left_wins", "right_wins", "left_score", "right_score")
"""Roles of columns that say who won."""


def plain_words(word: str) -> list[str]:
    """Return the words that a user said, ``one|another``, as `plain_word` has them; none where nothing was said."""
    return pl.select(outcomes.plain_word(pl.lit(pl.Series(word.split("|"))))).to_series().to_list() if word else []


def left_out_rows(columns: Mapping[str, str]) -> dict[str, pl.Expr]:
    """Return which rows are to be left out, by what is said of them.

    They say one of the words of ``drop=NA|no result`` of who won, or nothing in the column that there are rankings by;
    or, with ``self=drop``, compare an item with itself.
    """
    found = {}
    if "self" in columns:
        pair = ("winner", "loser") if "loser" in columns else ("left", "right")
        one, other = (pl.col(columns[role]).cast(pl.String) for role in pair)
        found["of an item against itself"] = (one == other).fill_null(False)
    if "by" in columns:
        empty = pl.col(columns["by"]).cast(pl.String).fill_null("").str.strip_chars() == ""
        found[f"with nothing in {short_repr(columns['by'])}"] = empty
    if "drop" in columns:
        words, plain = columns["drop"].split("|"), pl.Series(plain_words(columns["drop"]) or [""]).implode()
        names = dict.fromkeys(columns[role] for role in OUTCOME_ROLES if role in columns)
        said = listed([word if word.strip() else "nothing" for word in words])
        gone = (outcomes.plain_word(pl.col(name)).fill_null("").is_in(plain) for name in names)
        found[f"with {said} as outcome"] = pl.any_horizontal(gone)
    return found


def dropped(columns: Mapping[str, str]) -> pl.Expr:
    """Return which rows are to be left out, rows that weigh nothing too."""
    return pl.any_horizontal(*left_out_rows(columns).values(), *left_out(columns))


@dataclass(frozen=True)
class OutcomeWords:
    """Expressions of what a row's winner is by each reading: 1 for the left, -1 for the right, or null."""

    left: pl.Expr
    right: pl.Expr
    text: pl.Expr
    side: pl.Expr
    item: pl.Expr
    tied: pl.Expr
    word: pl.Expr

    @classmethod
    def from_columns(cls, columns: Mapping[str, str]) -> OutcomeWords:
        """Return the expressions of a log's columns by role."""
        left, right, said = (pl.col(columns[role]).cast(pl.String) for role in ("left", "right", "winner"))
        word = outcomes.plain_word(said)
        of_left, of_right = _sides_meant(columns)
        side = pl.when(word.is_in(of_left)).then(1.0).when(word.is_in(of_right)).then(-1.0)
        item = pl.when(said == left).then(1.0).when(said == right).then(-1.0)
        ties = outcomes.tie_words(columns["left"], columns["right"])
        if "tie_word" in columns:
            ties = [*ties, *plain_words(columns["tie_word"])]
        return cls(left, right, said, side, item, word.is_in(ties).fill_null(False), word)


def _sides_meant(columns: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the words of the left and the right: given ones, with the usual ones unless these contradict."""
    usual = outcomes.side_words(columns["left"], columns["right"])
    said = [plain_words(columns.get(role, "")) for role in ("left_word", "right_word")]
    if set(said[0]) & set(usual[1]) or set(said[1]) & set(usual[0]):
        return said[0], said[1]
    return said[0] + usual[0], said[1] + usual[1]


def decided(raw: pl.LazyFrame, columns: Mapping[str, str], given: Collection[str] = ()) -> dict[str, str]:
    """Return the columns of a log by role, with ``side``, ``item``, ``points`` or ``margin`` for its winner's column.

    One pass over three columns, unless the log has no sides or it was given which of them it is. The reading
    is the one that fits every row; where sides and names both do, they must agree in every row. Beside ``points``
    stands ``graded`` where some are neither 0 nor 1 nor a half.

    Parameters
    ----------
    raw : LazyFrame
    columns : mapping of str to str
        As `rankbench.data.tables.column_roles.guess` returns them.
    given : collection of str
        Roles that the user said.

    Raises
    ------
    InputError
        With its row, from 1: a word that is a side, or a tie, and an item's name; or both sides and names.
        Without one: a column that is called like a tie, and numbers that may be read in two ways.
    """
    roles = dict(columns)
    words_said = [role for role in WORD_ROLES if role in roles]
    if words_said and ("winner" not in roles or {"loser", "item", "points", "margin", "preference"} & roles.keys()):
        raise InputError(
            f"{listed(words_said)}: these roles need two columns of items and a column of winners in words"
        )
    if (
        roles.get("mirrored", "halve") != "halve"
        or roles.get("self", "drop") != "drop"
        or {"mirrored", "loser"} <= roles.keys()
    ):
        raise InputError("columns may say mirrored=halve, of a log of two items and who won, and self=drop")
    left_out = left_out_rows(roles)
    for named, rows in left_out.items():
        _left_out(raw, rows, named)
    if "drop" in roles:
        kept = ~pl.any_horizontal(left_out.values())
        # Of a winner's column errors have rows, which stay where they are.
        winner = pl.when(kept).then(pl.col(roles.get("winner", ""))).name.keep()
        raw = raw.with_columns(winner) if "winner" in roles else raw.filter(kept)
    if "loser" in roles:
        return roles
    for name in (roles["left"], roles["right"]):
        if name.strip().lower() in outcomes.TIED:
            raise InputError("the column's name also means a tie: rename the column", column=name)
    if ("left_wins" in roles and "left_wins" not in given) or ("left_score" in roles and "left_score" not in given):
        roles = pair_meaning(raw, roles)
    if "left_score" in roles:
        _left_out(raw, outcomes.scored(roles)[1], "without both scores")
    if "left_wins" in roles:
        games, none = outcomes.series(roles)
        total = raw.select(pl.sum_horizontal(*games).sum()).collect(engine="streaming").item()
        names = " and ".join(short_repr(name) for name in dict.fromkeys([roles["left_wins"], roles["right_wins"]]))
        remark(f"a row is a series: {names} are games won, {count_text(total, 'game')} with ties are as many votes")
        _left_out(raw, none, "without a game")
    if words_said:
        roles |= _words_meant(raw, roles)
    if "side" in roles or "item" in roles or "margin" in roles or "winner" not in roles:
        return roles
    column = columns["winner"]
    if "points" in roles or "preference" in roles:
        return roles | numbers_meaning(raw, columns)
    words, row = OutcomeWords.from_columns(columns), pl.col("row")
    side, item, tied = words.side.is_not_null(), words.item.is_not_null(), words.tied
    cases = {
        "side": side & ~item,
        "item": item & ~side & ~tied,
        # An item against itself is another trouble.
        "both": item & ((side & (words.side != words.item)) | tied) & (words.left != words.right),
        "tied": item & tied,
        "alike": item & side,
        "other": ~(side | item | tied) & (words.word != ""),
    }
    marked = raw.select(
        words.text.alias("said"),
        words.word.is_in(list(outcomes.BOTH_BAD)).fill_null(False).alias("bad"),
        *[case.fill_null(False).alias(name) for name, case in cases.items()],
    ).with_row_index("row")
    facts = marked.select(
        *[row.filter(pl.col(name)).min().alias(name) for name in cases],
        *[pl.col("said").filter(pl.col(name)).first().alias(f"said_{name}") for name in cases],
        pl.col("bad").sum(),
    )
    found = facts.collect(engine="streaming").row(0, named=True)
    if found["bad"]:
        remark(f"{found['bad']:,} votes call both items bad: they count as ties")
    if found["other"] is not None and found["item"] is None:
        # Neither sides nor names are all there is.
        if numbers := numbers_meaning(raw, columns):
            return roles | numbers
        if _are_scorelines(raw, columns):
            remark(f"rankbench reads {short_repr(column)} as scores of {columns['left']!r} and {columns['right']!r}")
            scores = {role: name for role, name in columns.items() if role != "winner"}
            return decided(raw, scores | {"left_score": column, "right_score": column}, given)
        if found["side"] is None and found["alike"] is None:
            _ask_words(raw, columns, words)
    how = f"--columns side={column} reads it as sides, --columns item={column} as names of items"
    if found["side"] is not None and found["item"] is not None:
        other, last = sorted(("side", "item"), key=found.__getitem__)
        what = {"side": "a side", "item": "the name of an item"}
        raise InputError(
            f"{short_repr(found[f'said_{last}'])} is {what[last]}, but the column says {what[other]} in other rows "
            f"(first {short_repr(found[f'said_{other}'])}): write sides or names of items throughout",
            row=found[last] + 1,
            column=column,
        )
    if found["side"] is not None:
        return roles | {"side": column}
    case = "both" if found["item"] is None else "tied"
    if found[case] is not None:
        word = short_repr(found[f"said_{case}"])
        raise InputError(
            f"{word} may be meant as a side or a tie, or as the item of this name: {how}",
            row=found[case] + 1,
            column=column,
        )
    return roles | {"item": column}


def _are_scorelines(raw: pl.LazyFrame, columns: Mapping[str, str]) -> bool:
    """Return whether a winner's column has two scores in every row where something stands; never of chess."""
    if {"white", "black"} & {columns[side].strip().lower() for side in ("left", "right")}:
        return False
    text = pl.col(columns["winner"]).cast(pl.String).str.strip_chars()
    said = raw.select(text=text).filter(pl.col("text") != "")
    fits = said.select(pl.col("text").str.contains(outcomes.SCORELINE).min()).collect(engine="streaming").item()
    return fits is True


def _words_said(raw: pl.LazyFrame, words: pl.Expr) -> list[str]:
    """Return the words of a column, the commonest first: `MOST_WORDS` and one more at most."""
    said = raw.select(said=words.cast(pl.String).str.strip_chars()).filter(pl.col("said") != "")
    counted = said.group_by("said").len().sort("len", "said", descending=[True, False]).head(outcomes.MOST_WORDS + 1)
    return list(counted.collect(engine="streaming")["said"])


def _ask_words(raw: pl.LazyFrame, columns: Mapping[str, str], words: OutcomeWords) -> None:
    """Refuse a winner's column whose words nobody knows, with what they may mean; not if there are many, or one."""
    known = outcomes.tie_words(columns["left"], columns["right"])
    said = [word for word in _words_said(raw, words.text) if word.lower() not in known]
    if not 1 < len(said) <= outcomes.MOST_WORDS or any(char.isdigit() for word in said for char in word):
        return
    how = "--columns 'left_word=WORD|WORD,right_word=WORD|WORD,tie_word=WORD' says what they mean"
    if len(said) == 2:
        how = proposed(word_readings(raw, {role: columns[role] for role in ("left", "right", "winner")}, said))
    raise InputError(
        f"the column says {listed(said)}, which are neither sides nor names of the two items: {how}",
        column=columns["winner"],
    )


def _words_meant(raw: pl.LazyFrame, columns: Mapping[str, str]) -> dict[str, str]:
    """Return the words of the two sides where one was said: the other one is the only other word of the column."""
    roles = {role: columns[role] for role in WORD_ROLES if columns.get(role)}
    words = OutcomeWords.from_columns(columns)
    said = _words_said(raw, words.text)
    known = {word.lower() for word in said}
    for role, word in roles.items():
        for one in word.split("|"):
            if len(said) <= outcomes.MOST_WORDS and one.strip().lower() not in known:
                raise InputError(f"no row says {one!r}, the {role}{nearest(one, said)}", column=columns["winner"])
    ties = outcomes.tie_words(columns["left"], columns["right"])
    taken = {*ties, *(plain for words in roles.values() for plain in plain_words(words))}
    free = {word.lower(): word for word in said if word.lower() not in taken}
    missing = [role for role in ("left_word", "right_word") if role not in roles]
    if len(missing) == 2:
        return {}
    usual = dict(zip(("left_word", "right_word"), _sides_meant(columns), strict=True))
    own = [word for role in roles.keys() & usual.keys() for word in usual[role]]
    if missing and len(free) == 1 and free.keys().isdisjoint(own):
        return {"side": columns["winner"], missing[0]: next(iter(free.values()))}
    if len(free) > 1:
        free = {word: text for word, text in free.items() if all(word not in words for words in usual.values())}
    if missing and free:
        raise InputError(
            f"{listed(list(free.values()))} are other words of the column: say which one is the {missing[0]} "
            f"(--columns {missing[0]}=WORD), and which one a tie (tie_word=WORD)",
            column=columns["winner"],
        )
    return {"side": columns["winner"]}


def _left_out(raw: pl.LazyFrame, rows: pl.Expr, which: str) -> None:
    if count := raw.select(rows.sum()).collect(engine="streaming").item():
        remark(f"rankbench leaves out {count_text(count, 'row', which)}")


def of_two_sides(raw: pl.LazyFrame, columns: Mapping[str, str]) -> tuple[pl.LazyFrame, list[pl.Expr]]:
    """Return a log with who won, and winner, loser, tie, first, and what is to be refused, left out or divided.

    Parameters
    ----------
    raw : LazyFrame
    columns : mapping of str to str
        As `decided` returns them.
    """
    left, right = (pl.col(columns[role]).cast(pl.String) for role in ("left", "right"))
    outcome, said, more = _one_column(columns) if "winner" in columns else _two_columns(columns)
    # A column of its own: Polars takes up to seconds to plan a query in which a long expression stands often.
    lead = pl.col(_LEAD)
    return raw.with_columns(outcome.alias(_LEAD)), [
        pl.when(lead >= 0).then(left).when(lead < 0).then(right).alias("winner"),
        pl.when(lead >= 0).then(right).when(lead < 0).then(left).alias("loser"),
        (lead == 0).fill_null(False).alias("tie"),
        (lead >= 0).fill_null(False).alias("first"),
        pl.when(lead.is_null()).then(said.fill_null("")).alias(SAID),
        *more,
    ]


_Outcome = tuple[pl.Expr, pl.Expr, list[pl.Expr]]
"""By how much the left won, null where nobody knows; what was said; columns of what is to be refused or left out."""


def _two_columns(columns: Mapping[str, str]) -> _Outcome:
    """Return the outcome by a column for each of the two."""
    if "left_score" in columns:
        difference, empty = outcomes.scored(columns)
        names = list(dict.fromkeys(columns[role] for role in ("left_score", "right_score")))
        texts = [pl.col(name).cast(pl.String).fill_null("") for name in names]
        # Rows that are left out later have winner and loser as any vote.
        lead = pl.when(empty).then(0.0).otherwise(difference)
        return lead, pl.concat_str(texts, separator=" : "), [empty.alias(LEFT_OUT)]
    if "left_wins" in columns:
        games, empty = outcomes.series(columns)
        read = empty | pl.sum_horizontal(*games, ignore_nulls=False).is_not_null()
        names = [columns[role] for role in ("left_wins", "right_wins", "tie") if role in columns]
        more = [count.alias(name) for count, name in zip(games, GAMES, strict=True)]
        return pl.when(read).then(1.0), _texts(names), [*more, empty.alias(LEFT_OUT)]
    names = [columns[role] for role in ("left_won", "right_won", "tie") if role in columns]
    won, lost = (outcomes.flag(pl.col(columns[role])) for role in ("left_won", "right_won"))
    drawn = outcomes.flag(pl.col(columns["tie"])) if "tie" in columns else ~won & ~lost
    one = pl.sum_horizontal(*(case.cast(pl.Int8) for case in (won, lost, drawn)), ignore_nulls=False) == 1
    return pl.when(one).then(won.cast(pl.Int8) - lost.cast(pl.Int8)), _texts(names), []


def _texts(names: list[str]) -> pl.Expr:
    texts = [pl.concat_str(pl.lit(f"{name}="), pl.col(name).cast(pl.String).fill_null("")) for name in names]
    return pl.concat_str(texts, separator=", ")


def _one_column(columns: Mapping[str, str]) -> _Outcome:
    """Return the outcome by the winner's column."""
    words = OutcomeWords.from_columns(columns)
    more: list[pl.Expr] = []
    if {"points", "margin", "preference"} & columns.keys():
        lead = outcomes.named_number(columns)
        if "graded" in columns:
            share = outcomes.points_of_left(columns)
            more = [pl.when((share > 0) & (share < 1) & (share != 0.5)).then(share).alias(SHARE)]
            lead = pl.when(more[0].is_not_null()).then(1.0).otherwise(lead)
    elif "side" in columns:
        lead = pl.when(words.tied).then(0.0).otherwise(words.side)
    else:
        lead = pl.coalesce(words.item, pl.when(words.tied).then(0.0))
    if "tie" in columns:
        marked = outcomes.flag(pl.col(columns["tie"]))
        blank = words.text.fill_null("").str.strip_chars() == ""
        against = ((marked & (lead != 0)) | (~marked & (lead == 0))).fill_null(False)
        lead = pl.when(marked & blank).then(0.0).when(~against).then(lead)
        more += [pl.when(against).then(words.text).alias(CONTRADICTED), pl.col(columns["tie"]).alias(MARKED)]
    return lead, words.text, more
