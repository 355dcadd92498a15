"""Outcome columns tell which of two items won.

The columns' own names come first: with ``--columns left=model_b,right=model_a`` the word
``model_a`` is the right one, though it means the left one elsewhere. A short word goes with the
column whose name holds it (``a`` with ``model_a``), and is no side at all where it could be either.

A word such as ``a`` may be both a side and a name. Were it read row by row, one word would mean different things in
one column; so all of the column is looked at, and what stays ambiguous is refused. Beside one column there may be
one for each of the two: whether it won, its score, or how many games it won.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import polars as pl

from rankbench.core.text import listed, plain_name, short_repr
from rankbench.data.tables.schemas import GAMES, SHARE
from rankbench.errors import InputError, nearest
from rankbench.interfaces.dataset import remark
from rankbench.interfaces.table import ROWS_SHOWN, ColumnReading, proposed
from rankbench.interfaces.table_check import BOOLEANS, WEIGHTLESS, weightless

MOST_WORDS = 6
"""Different words of a column that may say who won in words of its own."""

_PAIRS = (
    (("left",), ("right",)),
    (("a", "model_a", "item_a", "player_a", "response_a"), ("b", "model_b", "item_b", "player_b", "response_b")),
    (("first",), ("second",)),
    (
        ("1", "model_1", "item_1", "player_1", "model1", "player1"),
        ("2", "model_2", "item_2", "player_2", "model2", "player2"),
    ),
    (("home", "h"), ("away",)),
    (("white",), ("black",)),
)
"""Words of the left side and of the right; the first one of each is what names of columns hold."""

_ORDERED = (("1-0", "a>b", "a>>b", "win", "won", "w"), ("0-1", "b>a", "b>>a", "loss", "lost", "l"))
"""Words of the one that a log has first, and of the other; none are known where columns were given in another order."""

BOTH_BAD = ("tie (bothbad)", "bothbad", "both_bad", "both bad")
"""Ties of two items that are bad both, in small letters."""

TIED = (
    *(
        "tie",
        "tied",
        "ties",
        "draw",
        "drawn",
        "both",
        "neither",
        "equal",
        "same",
        "a=b",
        "0.5",
        "1/2-1/2",
        "½-½",
        "1/2",
        "½",
    ),
    *("0.5-0.5", "tie (inconsistent)", "[[c]]", "[[a=b]]"),
    *BOTH_BAD,
)
"""What a winner's column may say instead of a name, in small letters; see `tie_words`."""


_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"


def plain_word(word: pl.Expr) -> pl.Expr:
    """Return words of a winner's column in small letters, without blanks around them."""
    return word.cast(pl.String).str.strip_chars().str.to_lowercase()


def _as_written(words: Iterable[str], *, brackets: bool) -> list[str]:
    """Return words with each dash that may stand for their hyphens; sides also in the brackets of judges' verdicts.

    The words are few and the rows are many: rows are compared as they are.
    """
    dashed = {word.replace("-", dash) for word in words for dash in ("-", *_DASHES)}
    return sorted(dashed | ({f"[[{word}]]" for word in dashed} if brackets else set()))


def side_words(left: str, right: str) -> tuple[list[str], list[str]]:
    """Return the words that mean the left column, and those that mean the right one, in small letters.

    Parameters
    ----------
    left, right : str
        Names of the two columns.
    """
    own = (left.strip().lower(), right.strip().lower())
    held = (_parts(left), _parts(right))
    swapped = any(_only_on_side(held, 1, pair[0][0]) or _only_on_side(held, 0, pair[1][0]) for pair in _PAIRS)
    words: tuple[set[str], set[str]] = (set(), set())
    for pair in _PAIRS:
        marks = {names[0] for names in pair}
        for side, names in enumerate(pair):
            if marks & (held[0] | held[1]):
                # Of both marks in one name, neither says which column is meant.
                sides = [i for i in (0, 1) if held[i] & marks == {names[0]}]
            else:
                # Swapped columns take their roles from what was given, which is called left and right.
                sides = [side] if not swapped or pair is _PAIRS[0] else []
            if len(sides) == 1:
                words[sides[0]].update(names)
    if not swapped:
        for side, names in enumerate(_ORDERED):
            words[side].update(names)
    if _at_home(left, right):
        # The letters of football: H, D, A.
        away = 1 if "away" in held[1] else 0
        words[1 - away].difference_update({"a", "b"})
        words[away].difference_update({"b"})
        words[away].add("a")
    first, second = words[0] - {own[1]} | {own[0]} - {own[1]}, words[1] - {own[0]} | {own[1]} - {own[0]}
    return _as_written(first, brackets=True), _as_written(second, brackets=True)


def tie_words(left: str, right: str) -> list[str]:
    """Return the words that mean that neither column won, in small letters; see `side_words`."""
    return _as_written([*TIED, *(("d",) if _at_home(left, right) else ())], brackets=False)


def word_readings(
    roles: Mapping[str, str], rows: Sequence[tuple[str, str, str]], words: Iterable[str]
) -> list[ColumnReading]:
    """Return what two words of a winner's column may mean: each may be the left side's, and the other the right one's.

    Parameters
    ----------
    roles : mapping of str to str
        Columns of the left, the right and the winner.
    rows : sequence of (str, str, str)
        The first of the log: left, right, and what is said of them.
    words : iterable of str
        Of the winner's column, the commonest first; ties among them are left out.
    """
    ties = tie_words(roles["left"], roles["right"])
    free = [word for word in words if word.lower() not in ties][:2]
    found = []
    for sides in permutations(free, 2):
        said = dict(zip(("left_word", "right_word"), sides, strict=True))
        shown = []
        for left, right, word in rows[:ROWS_SHOWN]:
            verb = "ties with" if word.lower() in ties else "beats" if word in sides else "and"
            first, second = (right, left) if word == said["right_word"] else (left, right)
            shown.append(f"{short_repr(first)} {verb} {short_repr(second)}{': nothing' if verb == 'and' else ''}")
        found.append(ColumnReading({**roles, **said}, tuple(shown), sure=False))
    return found


def _at_home(left: str, right: str) -> bool:
    """Return whether one of two columns is of those at home, the other of those away."""
    return any("home" in _parts(x) and "away" in _parts(y) for x, y in ((left, right), (right, left)))


def _parts(name: str) -> frozenset[str]:
    """Return what a column's name is made of: ``{"model", "a"}`` of ``model_a`` and of ``modelA``."""
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return frozenset(re.findall(r"[^\W\d_]+|\d+", split))


def _only_on_side(held: tuple[frozenset[str], frozenset[str]], side: int, mark: str) -> bool:
    """Return whether only this side's name holds a mark."""
    return mark in held[side] and mark not in held[1 - side]


_OF_THE_LEFT = ("label", "result", "outcome", "points", "score", "target", "y")
"""Names of columns, in small letters, of which 1 says that the left won and 0 that the right did."""

_MISSING = ("", "na", "n/a", "nan", "null", "none", "-")
"""Texts, in small letters, of a score that nobody made."""

SCORELINE = r"^\s*(\d{1,4})\s*[-:\u2010-\u2015\u2212]\s*(\d{1,4})\s*$"
"""Two scores in one column."""

MOST_GAMES = 1_000_000
"""Games of a row, each way; a row is as many votes."""

_GRADES = "a grade g between 0 and 1 is one vote: the left has g points of it, the right 1 - g, and .5 is a tie"

_FLAGS = BOOLEANS | {"1.0": True, "0.0": False}


def as_number(text: pl.Expr) -> pl.Expr:
    """Return the finite numbers that texts say; truth values are 1 and 0, anything else is null."""
    plain = text.cast(pl.String).str.strip_chars().str.to_lowercase()
    value = plain.replace({"true": "1", "false": "0"}).cast(pl.Float64, strict=False)
    return pl.when(value.is_finite()).then(value)


def flag(column: pl.Expr) -> pl.Expr:
    """Return a column of truth values, in any writing; null is nothing said."""
    text = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    return text.replace_strict(_FLAGS, default=None, return_dtype=pl.Boolean)


def points_of_left(columns: Mapping[str, str]) -> pl.Expr:
    """Return the points that a winner's column gives to the left: its numbers, or what a preference of 1 to 2 says.

    AlpacaEval's preference is 1 where the left won, 2 where the right did, and 0 or 1.5 of a tie.
    """
    value = as_number(pl.col(columns["winner"]))
    if "preference" not in columns:
        return value
    return pl.when(value == 0).then(0.5).when((value >= 1) & (value <= 2)).then(2 - value)


def named_number(columns: Mapping[str, str]) -> pl.Expr:
    """Return by how much the left won, of the winner's column: above 0 it did, below the right did."""
    value = as_number(pl.col(columns["winner"]))
    if "margin" in columns:
        return value
    if "preference" in columns:
        return points_of_left(columns) - 0.5
    return pl.when((value >= 0) & (value <= 1)).then(value - 0.5)


def number_of_each(names: Sequence[str]) -> list[pl.Expr]:
    """Return the number of the left and that of the right: of a column each, or both of one, ``2-1``."""
    if names[0] == names[1]:
        return [as_number(pl.col(names[0]).cast(pl.String).str.extract(SCORELINE, group)) for group in (1, 2)]
    return [as_number(pl.col(name)) for name in names]


def scored(columns: Mapping[str, str]) -> tuple[pl.Expr, pl.Expr]:
    """Return the left's score less the right's, and whether one of the two is missing."""
    names = [columns[role] for role in ("left_score", "right_score")]
    left, right = number_of_each(names)
    return left - right, pl.any_horizontal(map(_missing, names))


def series(columns: Mapping[str, str]) -> tuple[list[pl.Expr], pl.Expr]:
    """Return the games that the left won, the right won, and neither did, and whether a row has none.

    What is no whole number from 0 to `MOST_GAMES` is null.
    """
    names = [columns[role] for role in ("left_wins", "right_wins", "tie") if role in columns]
    counts = [*number_of_each(names[:2]), *(as_number(pl.col(name)) for name in names[2:])]
    games = [
        pl.when((count >= 0) & (count <= MOST_GAMES) & (count == count.floor())).then(count).cast(pl.Int64)
        for count in counts
    ]
    games += [pl.lit(0, pl.Int64)] * (3 - len(games))
    none = pl.any_horizontal(map(_missing, names[:2])) | (pl.sum_horizontal(*games, ignore_nulls=False) == 0)
    return games, none.fill_null(False)


def _missing(name: str) -> pl.Expr:
    text = pl.col(name).cast(pl.String).fill_null("")
    return text.str.strip_chars().str.to_lowercase().is_in(list(_MISSING))


def pair_meaning(raw: pl.LazyFrame, columns: Mapping[str, str]) -> dict[str, str]:
    """Return the roles of a log with a column of numbers for each of the two items, where nobody gave these roles.

    Columns called wins may be truth values. Columns called scores may be games won: where whole numbers are never
    level, and half of the rows have one sum, or one number of the winner, as series of best of three have.

    Raises
    ------
    InputError
        Both readings are possible.
    """
    roles = dict(columns)
    kind = "wins" if "left_wins" in roles else "score"
    names = [roles[f"left_{kind}"], roles[f"right_{kind}"]]
    left, right = number_of_each(names)
    both = pl.max_horizontal(left, right)
    words = pl.any_horizontal(
        pl.col(name).cast(pl.String).str.strip_chars().str.contains(r"^[A-Za-z]") for name in names
    )
    level = (left == 0) & (right == 0)
    if kind == "wins" and "tie" in roles:
        level &= as_number(pl.col(roles["tie"])).fill_null(0) == 0
    whole = (left >= 0) & (right >= 0) & (left == left.floor()) & (right == right.floor())
    found = raw.select(
        words.fill_null(False).max().alias("words"),
        both.max().alias("most"),
        level.fill_null(False).max().alias("nothing"),
        (whole & (left != right)).fill_null(False).min().alias("decided"),
        # How often the commonest sum, or the winner's commonest number, stands there.
        (left + right).value_counts().struct.field("count").max().alias("sums"),
        both.value_counts().struct.field("count").max().alias("firsts"),
        pl.len().alias("rows"),
    )
    facts = found.collect(engine="streaming").row(0, named=True)
    if kind == "wins":
        flags = roles | {"left_won": names[0], "right_won": names[1]}
        flags = {role: name for role, name in flags.items() if role not in ("left_wins", "right_wins")}
        if facts["words"]:
            return flags
        if (facts["most"] or 0) <= 1 and facts["nothing"]:
            raise InputError(
                "the columns hold 0 and 1 alone, and two zeros may say that neither won, or that nothing was played: "
                + proposed([_pair_shown(raw, roles, "won", names), _pair_shown(raw, roles, "wins", names)]),
                column=names[0],
            )
        return roles
    often = max(facts["sums"] or 0, facts["firsts"] or 0)
    if (
        facts["decided"]
        and facts["most"] >= 2
        and often >= max(2, facts["rows"] / 2)
        and "goal" not in names[0].lower()
    ):
        raise InputError(
            "the numbers may be scores, and the higher one won, or the games that each side won: "
            + proposed([_pair_shown(raw, roles, "score", names), _pair_shown(raw, roles, "wins", names)]),
            column=names[0],
        )
    return roles


def _pair_shown(raw: pl.LazyFrame, columns: Mapping[str, str], kind: str, names: list[str]) -> ColumnReading:
    given = {"left": columns["left"], "right": columns["right"], f"left_{kind}": names[0], f"right_{kind}": names[1]}
    given |= _beside(columns)
    texts = [pl.col(columns[role]).cast(pl.String).fill_null("") for role in ("left", "right")]
    won, lost = number_of_each(names)
    rows = raw.head(ROWS_SHOWN).select(left=texts[0], right=texts[1], won=won, lost=lost)
    shown = []
    for left, right, won, lost in rows.collect().iter_rows():
        if won is None or lost is None:
            shown.append(f"nothing of {short_repr(left)} and {short_repr(right)}")
        elif kind == "wins":
            shown.append(f"{short_repr(left)} beats {short_repr(right)} {won:g} times and loses {lost:g} times")
        else:
            shown.append(_words((left, right, won - lost)))
    return ColumnReading(given, tuple(shown))


def numbers_meaning(raw: pl.LazyFrame, columns: Mapping[str, str]) -> dict[str, str]:
    """Return what a winner's column of numbers holds, by role: points of the left, or by how much it won.

    One pass over the column. Empty: it holds words too, or sides called 1 and 2 alone.

    Parameters
    ----------
    raw : LazyFrame
    columns : mapping of str to str
        Columns by role, with a winner, or with points.

    Raises
    ------
    InputError
        Several readings are possible, or none is.
    """
    column = columns["winner"]
    facts = _facts(raw, column)
    if not facts["words"] and ("preference" in columns or _is_preference(facts, columns)):
        remark(
            f"{short_repr(column)} is read from 1, where {short_repr(columns['left'])} won, to 2, where "
            f"{short_repr(columns['right'])} did; 0 and 1.5 are ties"
        )
        if facts["fractions"]:
            remark(_GRADES)
        return {"preference": column} | ({"graded": column} if facts["fractions"] else {})
    if "points" in columns:
        return {"graded": column} if facts["graded"] else {}
    if facts["words"] or not facts["numbers"]:
        return {}
    low, high, between = facts["low"], facts["high"], facts["between"]
    swapped = dict(columns) | {"left": columns["right"], "right": columns["left"]}
    if low < 0 and (between or high > 1):
        raise InputError(
            f"the column holds numbers from {low:g} to {high:g}; where those above 0 say that the left won: "
            + proposed([_shown(raw, columns, "margin")]),
            column=column,
        )
    if low < 0:
        remark(f"{short_repr(column)} is read as 1 where {columns['left']!r} won, -1 where {columns['right']!r} did")
        return {"margin": column}
    if high > 1:
        raise InputError(
            f"the column holds numbers from {low:g} to {high:g}, of which it is not clear which say that "
            f"{short_repr(columns['left'])} won: write left, right or tie, or the winner's name",
            column=column,
        )
    if not between and column.strip().lower() not in _OF_THE_LEFT:
        raise InputError(
            "1 may say that the left won, or 0 may, as its number from 0: "
            + proposed([_shown(raw, columns, "points"), _shown(raw, swapped, "points")]),
            column=column,
        )
    remark(
        f"{short_repr(column)} is read as points of {short_repr(columns['left'])}: 1 where it won, 0 where "
        f"{short_repr(columns['right'])} did"
    )
    if facts["graded"]:
        remark(_GRADES)
        return {"points": column, "graded": column}
    return {"points": column}


def _is_preference(facts: Mapping[str, Any], columns: Mapping[str, str]) -> bool:
    """Return whether numbers are 0 or from 1 to 2, and the columns of the items are numbered so."""
    numbered = all(str(at) in plain_name(columns[side]).split("_") for at, side in enumerate(("left", "right"), 1))
    return numbered and bool(facts["preference"]) and facts["high"] > 1


def _shown(raw: pl.LazyFrame, columns: Mapping[str, str], role: str) -> ColumnReading:
    """Return a reading of numbers with the first rows, in words."""
    given = {"left": columns["left"], "right": columns["right"], role: columns["winner"], **_beside(columns)}
    named = {name: pl.col(columns[name]).cast(pl.String).fill_null("") for name in ("left", "right")}
    rows = raw.head(ROWS_SHOWN).select(**named, value=named_number({**columns, role: columns["winner"]})).collect()
    return ColumnReading(given, tuple(map(_words, rows.iter_rows())))


def _beside(columns: Mapping[str, str]) -> dict[str, str]:
    """Return which rows the user leaves out: a proposal says it again."""
    return {role: columns[role] for role in ("drop", "self", "mirrored") if role in columns}


def _words(row: tuple[str, str, float | None]) -> str:
    left, right, value = short_repr(row[0]), short_repr(row[1]), row[2]
    if value is None:
        return f"nothing of {left} and {right}"
    first, second = (right, left) if value < 0 else (left, right)
    return f"{first} {'ties with' if value == 0 else 'beats'} {second}"


def _facts(raw: pl.LazyFrame, column: str) -> dict[str, Any]:
    """Return the least and the largest number, and whether there are words, numbers but 1 and 2, and others."""
    said = pl.col(column).cast(pl.String).str.strip_chars()
    held = raw.select(value=as_number(said), said=said)
    value = pl.col("value")
    # Largest of truth values: `any` is not computed batch by batch.
    found = held.select(
        value.min().alias("low"),
        value.max().alias("high"),
        (value.is_null() & (pl.col("said") != "")).max().alias("words"),
        ((value != 1) & (value != 2)).max().alias("numbers"),
        ((value != 0) & (value.abs() != 1)).max().alias("between"),
        ((value != 0) & (value != 1) & (value != 0.5)).max().alias("graded"),
        ((value == 0) | ((value >= 1) & (value <= 2))).min().alias("preference"),
        ((value > 1) & (value < 2) & (value != 1.5)).max().alias("fractions"),
    )
    return found.collect(engine="streaming").row(0, named=True)


SAID = "said"
"""Column of what was said of who won, where that cannot be read."""

CONTRADICTED = "contradicted"
"""Column of what the winner's column said, where the column of ties says otherwise."""

MARKED = "marked"
"""The column of ties as it is, where there is one."""

LEFT_OUT = "left_out"
"""Column of whether nothing was said, as of a match that was not played."""


WORD_ROLES = ("left_word", "right_word", "tie_word")
"""Roles of words of the winner's column, not of columns."""

OUTCOME_ROLES = ("winner", "loser", "left_won", "right_won", "left_wins", "right_wins", "left_score", "right_score")
"""Roles of columns that say who won."""


def plain_words(word: str) -> list[str]:
    """Return the word that a user said as `plain_word` has it; none where nothing was said."""
    return pl.select(plain_word(pl.lit(word))).to_series().to_list() if word else []


def dropped(columns: Mapping[str, str]) -> pl.Expr:
    """Return which rows are to be left out.

    They say one of the words of ``drop=NA|no result`` of who won, or nothing in the column that there are rankings by,
    or weigh nothing; or, with ``self=drop``, compare an item with itself.
    """
    gone = []
    if "self" in columns:
        pair = ("winner", "loser") if "loser" in columns else ("left", "right")
        one, other = (pl.col(columns[role]).cast(pl.String) for role in pair)
        gone.append((one == other).fill_null(False))
    if "drop" in columns:
        words = pl.select(plain_word(pl.lit(pl.Series(columns["drop"].split("|"))))).to_series()
        names = dict.fromkeys(columns[role] for role in OUTCOME_ROLES if role in columns)
        gone += [plain_word(pl.col(name)).fill_null("").is_in(words.implode()) for name in names]
    if "by" in columns:
        gone.append(pl.col(columns["by"]).cast(pl.String).fill_null("").str.strip_chars() == "")
    if WEIGHTLESS in columns:
        gone.append(weightless(columns[WEIGHTLESS]))
    return pl.any_horizontal(gone)


@dataclass(frozen=True)
class _Words:
    """Expressions of what a row's winner is by each reading: ``left``, ``right`` or null."""

    left: pl.Expr
    right: pl.Expr
    said: pl.Expr
    side: pl.Expr
    item: pl.Expr
    tied: pl.Expr
    word: pl.Expr

    @classmethod
    def from_columns(cls, columns: Mapping[str, str]) -> _Words:
        left, right, said = (pl.col(columns[role]).cast(pl.String) for role in ("left", "right", "winner"))
        word = plain_word(said)
        on_left, on_right = pl.lit("left"), pl.lit("right")
        of_left, of_right = _sides_meant(columns)
        side = pl.when(word.is_in(of_left)).then(on_left).when(word.is_in(of_right)).then(on_right)
        item = pl.when(said == left).then(on_left).when(said == right).then(on_right)
        ties = tie_words(columns["left"], columns["right"])
        if "tie_word" in columns:
            ties = [*ties, *plain_words(columns["tie_word"])]
        return cls(left, right, said, side, item, word.is_in(ties).fill_null(False), word)


def _sides_meant(columns: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the words of the left and those of the right: said ones beside the usual ones, unless these say else."""
    usual = side_words(columns["left"], columns["right"])
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
            f"{listed(words_said)}: the log has no winner's column, beside two items, that is read as words"
        )
    if roles.get("mirrored", "halve") != "halve" or ("mirrored" in roles and "loser" in roles):
        raise InputError(
            "columns may say mirrored=halve, of a log of two items and who won: of two rows of one game, one from each "
            "side, one is left out"
        )
    if roles.get("self", "drop") != "drop":
        raise InputError("columns may say self=drop: rows that compare an item with itself are left out")
    if "self" in roles:
        _left_out(
            raw,
            dropped({role: name for role, name in roles.items() if role not in ("drop", "by", WEIGHTLESS)}),
            "rows that compare an item with itself",
        )
    if "by" in roles:
        where = dropped({"by": roles["by"]})
        _left_out(raw, where, f"rows with nothing in {short_repr(roles['by'])}")
    if "drop" in roles:
        gone = dropped({role: name for role, name in roles.items() if role != "self"})
        said = listed(["nothing" if not word.strip() else word for word in roles["drop"].split("|")])
        _left_out(raw, gone, f"rows that say {said} of who won")
        # Of a winner's column errors have rows, which stay where they are.
        nothing = pl.when(~gone).then(pl.col(roles.get("winner", ""))).name.keep()
        raw = raw.with_columns(nothing) if "winner" in roles else raw.filter(~gone)
    if "loser" in roles:
        return roles
    for name in (roles["left"], roles["right"]):
        if name.strip().lower() in TIED:
            raise InputError("the column's name also means a tie: rename the column", column=name)
    if ("left_wins" in roles and "left_wins" not in given) or ("left_score" in roles and "left_score" not in given):
        roles = pair_meaning(raw, roles)
    if "left_score" in roles:
        _left_out(raw, scored(roles)[1], "rows without both scores")
    if "left_wins" in roles:
        games, none = series(roles)
        total = raw.select(pl.sum_horizontal(*games).sum()).collect(engine="streaming").item()
        names = " and ".join(short_repr(name) for name in dict.fromkeys([roles["left_wins"], roles["right_wins"]]))
        remark(f"a row is a series: {names} are games won, {total:,} games with ties are as many votes")
        _left_out(raw, none, "rows without a game")
    if words_said:
        roles |= _words_meant(raw, roles)
    if "side" in roles or "item" in roles or "margin" in roles or "winner" not in roles:
        return roles
    column = columns["winner"]
    if "points" in roles or "preference" in roles:
        return roles | numbers_meaning(raw, columns)
    words, row = _Words.from_columns(columns), pl.col("row")
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
        words.said.alias("said"),
        words.word.is_in(list(BOTH_BAD)).fill_null(False).alias("bad"),
        *[case.fill_null(False).alias(name) for name, case in cases.items()],
    ).with_row_index("row")
    facts = marked.select(
        *[row.filter(pl.col(name)).min().alias(name) for name in cases],
        *[pl.col("said").filter(pl.col(name)).first().alias(f"said_{name}") for name in cases],
        pl.col("bad").sum(),
    )
    found = facts.collect(engine="streaming").row(0, named=True)
    if found["bad"]:
        remark(f"{found['bad']:,} ties are votes that both items were bad: they count as ties")
    if found["other"] is not None and found["item"] is None:
        # Neither sides nor names are all there is.
        numbers = numbers_meaning(raw, columns)
        if numbers:
            return roles | numbers
        if _are_scorelines(raw, columns):
            remark(f"{short_repr(column)} is read as the scores of {columns['left']!r} and {columns['right']!r}")
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
    """Return whether a winner's column has two scores in every row where something stands; never those of chess."""
    if {"white", "black"} & {columns[side].strip().lower() for side in ("left", "right")}:
        return False
    text = pl.col(columns["winner"]).cast(pl.String).str.strip_chars()
    fits = (
        raw.select(text.alias("text")).filter(pl.col("text") != "").select(pl.col("text").str.contains(SCORELINE).min())
    )
    return fits.collect(engine="streaming").item() is True


def _words_said(raw: pl.LazyFrame, words: pl.Expr) -> list[str]:
    """Return the words of a column, the commonest first: `MOST_WORDS` and one more at most."""
    said = raw.select(said=words.cast(pl.String).str.strip_chars()).filter(pl.col("said") != "")
    counted = said.group_by("said").len().sort("len", "said", descending=[True, False]).head(MOST_WORDS + 1)
    return list(counted.collect(engine="streaming")["said"])


def _ask_words(raw: pl.LazyFrame, columns: Mapping[str, str], words: _Words) -> None:
    """Refuse a winner's column whose words nobody knows, with what they may mean; not if there are many, or one."""
    known = tie_words(columns["left"], columns["right"])
    said = [word for word in _words_said(raw, words.said) if word.lower() not in known]
    if not 1 < len(said) <= MOST_WORDS or any(char.isdigit() for word in said for char in word):
        return
    roles = {role: columns[role] for role in ("left", "right", "winner")}
    texts = [pl.col(name).cast(pl.String).fill_null("").alias(role) for role, name in roles.items()]
    readings = word_readings(roles, raw.head(ROWS_SHOWN).select(texts).collect().rows(), said)
    raise InputError(
        f"the column says {listed(said)}, which are neither sides nor names of the two items: {proposed(readings)}",
        column=columns["winner"],
    )


def _words_meant(raw: pl.LazyFrame, columns: Mapping[str, str]) -> dict[str, str]:
    """Return the words of the two sides where one was said: the other one is the only other word of the column."""
    roles = {role: columns[role] for role in WORD_ROLES if columns.get(role)}
    words = _Words.from_columns(columns)
    said = _words_said(raw, words.said)
    known = {word.lower() for word in said}
    for role, word in roles.items():
        if len(said) <= MOST_WORDS and word.strip().lower() not in known:
            raise InputError(f"no row says {word!r}, the {role}{nearest(word, said)}", column=columns["winner"])
    ties = tie_words(columns["left"], columns["right"])
    free = {
        word.lower(): word for word in said if word.lower() not in {*ties, *(w.strip().lower() for w in roles.values())}
    }
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


def _left_out(raw: pl.LazyFrame, rows: pl.Expr, what: str) -> None:
    count = raw.select(rows.sum()).collect(engine="streaming").item()
    if count:
        remark(f"{count:,} {what} are left out")


def halved(votes: pl.LazyFrame, *, sides: bool) -> pl.LazyFrame:
    """Return votes of which those are left out that say again what another one says from the other side.

    They are about the same items, with the same result, time, query and judge; of two the later one is left out.

    Parameters
    ----------
    votes : LazyFrame
        As `rankbench.data.tables.column_roles.as_comparisons` returns them.
    sides : bool
        Whether the left one is kept; of games seen from both sides neither is first.

    Raises
    ------
    InputError
        There are none.
    """
    names = votes.collect_schema().names()
    low, high = pl.min_horizontal("winner", "loser"), pl.max_horizontal("winner", "loser")
    turned = pl.when("first").then("winner").otherwise("loser") != low
    even = [pl.col("tie")]
    of_sides = [pl.when(pl.col("winner") == low).then(1).otherwise(2)]
    if GAMES[0] in names:
        of_sides = [pl.when(turned).then(GAMES[k]).otherwise(GAMES[1 - k]) for k in (0, 1)]
        even = [pl.col(GAMES[2])]
    elif SHARE in names:
        share = pl.col(SHARE)
        of_sides = [
            pl.when(share.is_null()).then(of_sides[0]),
            pl.when(turned).then(1 - share).otherwise(share).round(9),
        ]
    of_sides = [pl.when(~pl.col("tie")).then(one) for one in of_sides]
    out = pl.col(LEFT_OUT) if LEFT_OUT in names else pl.lit(value=False)
    beside = [pl.col(name) for name in ("query_id", "judge", "time", "weight", SAID) if name in names]
    keys = [out, low, high, *of_sides, *even, *beside]
    # The k-th row from one side is that of the k-th from the other.
    kth = pl.int_range(pl.len()).over(*keys, turned)
    both = pl.min_horizontal(turned.sum().over(*keys), (~turned).sum().over(*keys))
    again = ~out & (kth < both) & ~kth.is_first_distinct().over(*keys, kth)
    count = votes.select(again.sum()).collect().item()
    if not count:
        raise InputError("mirrored=halve: no row says again what another one says from the other side; leave it out")
    remark(f"{count:,} rows are left out: each says again what another one says from the other side")
    found = votes.with_columns((out | again).alias(LEFT_OUT))
    return found if sides else found.drop("first")


def of_two_sides(raw: pl.LazyFrame, columns: Mapping[str, str]) -> list[pl.Expr]:
    """Return winner, loser, tie, first, and what is to be refused, left out or divided.

    Parameters
    ----------
    raw : LazyFrame
    columns : mapping of str to str
        As `decided` returns them.
    """
    left, right = (pl.col(columns[role]).cast(pl.String) for role in ("left", "right"))
    more: list[pl.Expr] = []
    if "winner" in columns:
        outcome, said, more = _one_column(raw, columns)
    else:
        outcome, said, more = _two_columns(columns)
    winner = pl.when(outcome.is_in(["left", "tie"])).then(left).when(outcome == "right").then(right)
    loser = pl.when(outcome.is_in(["left", "tie"])).then(right).when(outcome == "right").then(left)
    return [
        winner.alias("winner"),
        loser.alias("loser"),
        (outcome == "tie").fill_null(False).alias("tie"),
        (outcome != "right").fill_null(False).alias("first"),
        pl.when(outcome.is_null()).then(said.fill_null("")).alias(SAID),
        *more,
    ]


_Outcome = tuple[pl.Expr, pl.Expr, list[pl.Expr]]


def _two_columns(columns: Mapping[str, str]) -> _Outcome:
    """Return who won of a column for each of the two, what was said, and which rows say nothing."""
    on_left, on_right, tie = (pl.lit(word) for word in ("left", "right", "tie"))
    if "left_score" in columns:
        difference, empty = scored(columns)
        outcome: pl.Expr = pl.when(difference > 0).then(on_left).when(difference < 0).then(on_right)
        names = list(dict.fromkeys(columns[role] for role in ("left_score", "right_score")))
        texts = [pl.col(name).cast(pl.String).fill_null("") for name in names]
        # What is left out has winner and loser as any vote, until it is.
        outcome = pl.when((difference == 0) | empty).then(tie).otherwise(outcome)
        return outcome, pl.concat_str(texts, separator=" : "), [empty.alias(LEFT_OUT)]
    if "left_wins" in columns:
        games, empty = series(columns)
        read = empty | pl.all_horizontal(count.is_not_null() for count in games)
        names = [columns[role] for role in ("left_wins", "right_wins", "tie") if role in columns]
        more = [count.alias(name) for count, name in zip(games, GAMES, strict=True)]
        return pl.when(read).then(on_left), _texts(names), [*more, empty.alias(LEFT_OUT)]
    names = [columns[role] for role in ("left_won", "right_won", "tie") if role in columns]
    won, lost = (flag(pl.col(columns[role])) for role in ("left_won", "right_won"))
    drawn = flag(pl.col(columns["tie"])) if "tie" in columns else ~won & ~lost
    outcome = (
        pl.when(won & ~lost & ~drawn)
        .then(on_left)
        .when(~won & lost & ~drawn)
        .then(on_right)
        .when(~won & ~lost & drawn)
        .then(tie)
    )
    return outcome, _texts(names), []


def _texts(names: list[str]) -> pl.Expr:
    texts = [pl.concat_str(pl.lit(f"{name}="), pl.col(name).cast(pl.String).fill_null("")) for name in names]
    return pl.concat_str(texts, separator=", ")


def _one_column(raw: pl.LazyFrame, columns: Mapping[str, str]) -> _Outcome:
    """Return who won by the winner's column, what it said, and what is to be refused or divided."""
    words = _Words.from_columns(columns)
    on_left, on_right, tie = (pl.lit(word) for word in ("left", "right", "tie"))
    more: list[pl.Expr] = []
    if {"points", "margin", "preference"} & columns.keys():
        value = named_number(columns)
        side: pl.Expr = pl.when(value > 0).then(on_left).when(value < 0).then(on_right)
        tied = (value == 0).fill_null(False)
        if "graded" in columns:
            share = points_of_left(columns)
            more = [pl.when((share > 0) & (share < 1) & (share != 0.5)).then(share).alias(SHARE)]
            side = pl.when(more[0].is_not_null()).then(on_left).otherwise(side)
    else:
        side = words.side if "side" in columns else words.item
        tied = words.tied if "side" in columns else words.tied & words.item.is_null()
    if "tie" in columns:
        marked = flag(pl.col(columns["tie"]))
        blank = words.said.fill_null("").str.strip_chars() == ""
        against = (marked & side.is_not_null() & ~tied) | (~marked & tied)
        tied |= marked.fill_null(False) & blank
        side = pl.when(~against.fill_null(False)).then(side)
        tied &= ~against.fill_null(False)
        more += [
            pl.when(against).then(words.said).alias(CONTRADICTED),
            pl.col(columns["tie"]).alias(MARKED),
        ]
    return pl.when(tied).then(tie).otherwise(side), words.said, more
