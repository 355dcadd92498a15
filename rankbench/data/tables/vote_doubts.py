"""Doubts about votes: totals, walkovers, judges who name one item alone, and weights that are the items' own."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, lgamma, log

import polars as pl

from rankbench.core.text import listed, short_repr
from rankbench.data.tables.cells import NUMBER, is_flat, number_of, text_of
from rankbench.data.tables.column_texts import SAMPLED
from rankbench.data.tables.schemas import GAMES, LEFT_OUT, SHARE
from rankbench.data.tables.score_summaries import SELDOM
from rankbench.data.tables.totals import is_kept, keeping, leaving_out, refuse_totals
from rankbench.data.tables.vote_outcomes import outcome_roles
from rankbench.data.tables.vote_source import LEAD, OUT, VoteSource
from rankbench.errors import Unread, option
from rankbench.interfaces.table_check import ReadTable

_CHANCE = 0.001
"""Chance, in one log, below which what its rows have in common is asked about."""

GAMES_WON, SCORES = ("left_wins", "right_wins"), ("left_score", "right_score")
"""Roles of what each side won."""

_ONE, _OTHER, _SIGN = "\0one", "\0other", "\0sign"

_SIDED, _VOTES = 0.02, 5
"""Chance of a side by a coin's throws; fewest rows of a judge, or of an item beside it."""

_CANDIDATES, _ALIKE = 5, 4
"""Items that lost all games that are looked at; fewest names that are written alike."""

_LOST = 3
"""Fewest games of an item that may stand for walkovers."""

_OTHERS = 8
"""Fewest items that tell how much their strengths differ."""


def refuse_vote_totals(found: ReadTable) -> None:
    """Raise a question about judges and queries of votes, or items of counted votes, that are the others' total.

    Raises
    ------
    Unread
    """
    raw, reading = found.table, found.reading
    names = raw.schema.names()
    counts = [name for name in ("weight", "count") if name in names]
    keys = {name: role for name, role in (("query_id", "query"), ("judge", "judge")) if reading.first[role]}
    if not (keys or counts or GAMES[0] in names):
        return
    votes = pl.lit(1.0)
    for name in counts:
        votes *= number_of(text_of(name), reading.first["numbers"])
    won = pl.when(number_of(text_of("tie")) == 1).then(0.5).otherwise(1.0) if "tie" in names else pl.lit(1.0)
    won = pl.col(SHARE).fill_null(won) if SHARE in names else won
    lost = 1 - won
    if GAMES[0] in names:
        won, lost = (pl.col(GAMES[k]) + pl.col(GAMES[2]) / 2 for k in (0, 1))
    out = pl.col(LEFT_OUT) if LEFT_OUT in names else pl.lit(value=False)
    chosen = {"won": won * votes, "lost": lost * votes, "out": out, **{key: text_of(key) for key in keys}}
    # These are read beside the log: a log of many votes, which has no totals, is read once.
    some = raw.collect(raw.frame.head(SAMPLED).select(text_of("winner"), text_of("loser"), **chosen))
    if some.height == SAMPLED:
        return
    ways = (("winner", "loser", "won"), ("loser", "winner", "lost"))
    rows = pl.concat(some.select(*keys, "out", item=x, other=y, value=points) for x, y, points in ways)
    rows = rows.filter((pl.col("value") > 0) & ~pl.col("out")).drop("out")
    of_keys = {key: (role, reading.all(role)) for key, role in keys.items()}
    refuse_totals(raw, reading, rows.lazy(), of_keys, counted=True)
    if counts or GAMES[0] in names:
        beat = rows.select("item", "value", other=pl.concat_str(pl.lit("beat "), "other"))
        lost_to = rows.select("value", item="other", other=pl.concat_str(pl.lit("lost to "), "item"))
        both = pl.concat([beat, lost_to.select("item", "value", "other")])
        sides = ("winner", "loser") if reading.first["loser"] else ("left", "right")
        refuse_totals(raw, reading, both.lazy(), {"item": ("item", [reading.first[side] for side in sides])})


def doubt_votes(votes: VoteSource) -> None:
    """Raise a question about walkovers, judges and weights that may be none.

    Most logs show by their first rows that there is nothing to ask; what these rows suggest must hold in all rows.

    Parameters
    ----------
    votes : VoteSource
        With the outcome as a column, unless its columns are winner and loser.

    Raises
    ------
    Unread
    """
    raw, reading = votes.raw, votes.reading
    sided, out, tie = not reading.first["loser"], votes.out, reading.first["tie"]
    lead = pl.col(LEAD).sign() if sided else pl.lit(1.0)
    if tie and not sided:
        lead = pl.when(number_of(text_of(tie)) == 1).then(0.0).otherwise(1.0)
    out = pl.col(OUT) if sided else out
    one, other = (votes.name(side).cast(pl.String) for side in votes.sides)

    def named(frame: pl.LazyFrame) -> pl.LazyFrame:
        kept = frame if out is None else frame.filter(~out)
        return kept.with_columns(one.alias(_ONE), other.alias(_OTHER), lead.alias(_SIGN))

    every, first = named(raw.frame), named(raw.frame.head(SAMPLED))
    with raw.located():
        few = raw.collect(first.select(_ONE, _OTHER, _SIGN, *sorted(reading.read() & {*raw.schema}))).lazy()
        for doubt in (_walkover, _one_minded, _own_weights, _games_twice):
            if doubt(votes, few, first) and (asked := doubt(votes, every, every)):
                raise asked


def _walkover(votes: VoteSource, rows: pl.LazyFrame, whole: pl.LazyFrame) -> Unread | None:
    """Return a question about the item that lost most games, and all, if no weak item would have these.

    Columns that nothing reads stand in `whole` alone.
    """
    raw = votes.raw
    ways = ((_ONE, _OTHER, 1.0), (_OTHER, _ONE, -1.0))
    games = pl.concat(rows.select(item=x, other=y, won=pl.col(_SIGN) * way, left=pl.lit(way > 0)) for x, y, way in ways)
    each = raw.collect(games.group_by("item").agg(pl.len(), lost=(pl.col("won") < 0).sum(), left=pl.col("left").sum()))
    losers = each.filter((pl.col("lost") == pl.col("len")) & (pl.col("len") >= _LOST)).sort("len", "item")
    if not losers.height or len(each) <= _LOST or is_kept(votes.reading, item := losers["item"][-1]):
        return None
    rest = each.filter(pl.col("item") != item)
    _, count, _, left = losers.row(-1)
    most, others = rest.select(most=pl.col("len").max(), others=pl.col("len").sum()).row(0)
    often = rest.filter(pl.col("len") >= min(count, 4))
    if count >= 2 * _LOST and count >= _LOST * most and others >= _LOST * count:
        why = "far more than any other has"
    elif not votes.reading.first["loser"] and left in (0, count) and often.height >= _LOST:
        both = often.select(((pl.col("left") > 0) & (pl.col("left") < pl.col("len"))).all()).item()
        one_side = f"always in {short_repr(votes.sides[0 if left else 1])}" * (both and 2.0 ** (1 - count) < _SIDED)
        why = one_side or _one_score(votes, rows, item)
    else:
        why = ""
    if not why and count >= 2 * _LOST and len(rest) >= _OTHERS:
        why = _beyond_chance(votes, games, item, count)
    beside = [name for name, dtype in raw.schema.items() if is_flat(dtype) and name not in (*votes.sides, LEAD, OUT)]
    if not why and whole is not rows:  # the first rows are read once
        whole = raw.collect(whole.select(_ONE, _OTHER, _SIGN, *beside)).lazy()
    if not (why := why or _at_once(votes, whole, beside, item)):
        names = each["item"].to_list()
        for item, count in losers.select("item", "len").reverse().head(_CANDIDATES).rows():  # noqa: B007
            if (
                why := ""
                if is_kept(votes.reading, item)
                else _odd_name(names, item) or _marked(votes, whole, beside, item)
            ):
                break
        else:
            return None
    return Unread(
        f"{short_repr(item)} lost each of its {count:,} games, {why}: an item, or walkovers?",
        f"{leaving_out(votes.sides, item)}; {keeping(item)} ranks it, too",
        code="walkover",
        column=votes.sides[0],
    )


def _beyond_chance(votes: VoteSource, games: pl.LazyFrame, item: str, count: int) -> str:
    """Return a text if chance would hardly give an item that loses so many games, by how the others' losses differ.

    Shares of lost games follow a beta law around a half, whose variance is that among the others, less that of so many
    throws of a coin.
    """
    others = games.filter((pl.col("item") != item) & (pl.col("other") != item))
    each = others.group_by("item").agg(pl.len(), apart=((1 - pl.col("won")) / 2).mean() - 0.5)
    squares = (pl.col("apart") ** 2 * pl.col("len")).sum()
    items, total, found = votes.raw.collect(each.select(pl.len().alias("items"), pl.col("len").sum(), squares)).row(0)
    variance = max((found - items / 4) / max(total, 1), 1e-4)
    both = 0.25 / variance - 1
    chance = lgamma(both / 2 + count) - lgamma(both / 2) + lgamma(both) - lgamma(both + count) if both > 0 else 0.0
    return "more than chance would give the weakest of these items" if log(items + 1) + chance < log(_CHANCE) else ""


def _one_score(votes: VoteSource, rows: pl.LazyFrame, item: str) -> str:
    """Return a text if all games of an item on one side have one score, which others with that winner seldom have."""
    roles = [role for role in outcome_roles(votes.reading) if role != "winner"]
    names = list(dict.fromkeys(votes.reading.first[role] for role in roles))
    if not names:
        return ""
    score = pl.concat_str([text_of(name) for name in names], separator=", ")
    mine = (pl.col(_ONE) == item) | (pl.col(_OTHER) == item)
    cells = votes.raw.collect(rows.select(score=score, sign=_SIGN, mine=mine))
    own = cells.filter("mine")
    others = cells.filter(~pl.col("mine") & (pl.col("sign") == own["sign"][0]))["score"]
    likely = ((others == own["score"][0]).sum() + 1) / (len(others) + 2)
    seldom = own["score"].n_unique() == 1 and likely ** len(own) < _CHANCE
    return f"all with {own['score'][0]} in {listed(names)}" if seldom else ""


def _at_once(votes: VoteSource, rows: pl.LazyFrame, names: Sequence[str], item: str) -> str:
    """Return a text if an item alone has several games in rows of one round: a column's value that many rows share."""
    for name in names:
        pair = pl.concat_list(_ONE, _OTHER)
        games = rows.select(round=text_of(name), item=pair).explode("item").group_by("round", "item").len()
        again = votes.raw.collect(
            games.group_by(mine=pl.col("item") == item).agg(
                more=pl.col("len").sum() - pl.len(),
                most=pl.col("len").max(),
                rows=pl.col("len").sum(),
                rounds=pl.col("round").n_unique(),
            )
        ).sort("mine")
        (_, _, most, games_of, rounds), (_, more, *_) = again.rows()
        if most == 1 and more > 1 and games_of >= 6 * rounds:
            return f"several at one {short_repr(name)}, where no other has two"
    return ""


def _odd_name(names: Sequence[str], item: str) -> str:
    """Return a text if a name is written otherwise than all others, which are written alike: BYE among Ann and Bob."""
    forms = {_form(name) for name in names if name != item}
    odd = len(names) > _ALIKE and len(forms) == 1 and _form(item) not in forms
    return "and its name is written unlike all others" if odd else ""


def _form(name: str) -> tuple[bool, ...]:
    """Return whether a name has capitals, small letters, digits and blanks."""
    return tuple(any(map(kind, name)) for kind in (str.isupper, str.islower, str.isdigit, str.isspace))


def _marked(votes: VoteSource, rows: pl.LazyFrame, names: Sequence[str], item: str) -> str:
    """Return a text if a column has one text, or none, in all games of an item, and in these alone.

    It is no text of the item, as a country is, if other items have several, or all are empty. A rank may stay the same.
    """
    mine = (pl.col(_ONE) == item) | (pl.col(_OTHER) == item)
    lost = pl.when(pl.col(_SIGN) >= 0).then(_OTHER).otherwise(_ONE)
    columns = [name for name in names if name not in {votes.reading.first[role] for role in ("judge", "query", "time")}]
    texts = [text_of(name) for name in columns]
    firsts = [x.filter(mine).first() for x in texts]
    alone = [
        ~first.str.contains(rf"^{NUMBER}$") & (x.filter(mine).n_unique() == 1) & ((x != first) | mine).all()
        for x, first in zip(texts, firsts, strict=True)
    ]
    hits = votes.raw.collect(rows.select(one.alias(str(at)) for at, one in enumerate(alone)))
    for name in (name for name, hit in zip(columns, hits.row(0) if columns else (), strict=True) if hit):
        cells = votes.raw.collect(rows.select(value=text_of(name), lost=lost, mine=mine))
        own, rest = cells.filter("mine")["value"], cells.filter(~pl.col("mine"))
        several = rest.group_by("lost").agg(pl.len(), kinds=pl.col("value").n_unique()).filter(pl.col("len") > 1)
        varied = (several["kinds"] > 1).sum() * 4 > several.height or not (rest["value"] != "").any()
        # As likely as any value of as many rows.
        alike = 1 + (rest["value"].value_counts()["count"] == len(own)).sum()
        if varied and alike * len(columns) < _CHANCE * comb(len(cells), len(own)):
            return f"all with {short_repr(own[0])} in {short_repr(name)}, where no other has it"
    return ""


def _one_minded(votes: VoteSource, rows: pl.LazyFrame, _: pl.LazyFrame) -> Unread | None:
    """Return a question about a judge who names one item in each row, which others name less often."""
    raw, name = votes.raw, votes.reading.first["judge"]
    if not name:
        return None
    won = pl.when(pl.col(_SIGN) > 0).then(_ONE).when(pl.col(_SIGN) < 0).then(_OTHER)
    count = votes.number("count") if votes.reading.first["count"] else pl.lit(1.0)
    said = rows.select(judge=text_of(name), won=won, pair=pl.concat_list(_ONE, _OTHER), votes=count)
    pairs = pl.col("pair").list.sort().n_unique().alias("pairs")
    facts = (pl.col("votes").sum(), pl.col("won").first(), pl.col("won").n_unique().alias("kinds"), pairs)
    each = raw.collect(said.group_by("judge").agg(facts)).filter(pl.col("votes") >= _VOTES)
    # Who knows one pair alone has one vote, however often.
    found = each.filter((pl.col("kinds") == 1) & (pl.col("pairs") > 1)).drop_nulls("won").sort("votes", "judge")
    # Where many do, it is how rows were made: a judge for each item, or for each pair.
    few = found.tail(1) if len(found) * 3 <= len(each) else found.clear()
    for judge, times, item in few.select("judge", "votes", "won").rows():
        others = said.filter((pl.col("judge") != judge) & pl.col("pair").list.contains(item))
        by_others = others.select(pl.col("votes").sum(), named=pl.col("votes").filter(pl.col("won") == item).sum())
        seen, named = raw.collect(by_others).row(0)
        if seen < _VOTES or ((named + 1) / (seen + 2)) ** times * len(each) > _CHANCE or is_kept(votes.reading, judge):
            continue
        columns = votes.reading.all("judge")
        return Unread(
            f"the judge {short_repr(judge)} names {short_repr(item)} in each of {times:,.0f} votes, and others in "
            f"{named:,.0f} of {seen:,.0f}: are these judgments?",
            f"{leaving_out(columns, judge)}; {keeping(judge)} counts it, too",
            code="judge",
            column=name,
        )
    return None


def _own_weights(votes: VoteSource, rows: pl.LazyFrame, _: pl.LazyFrame) -> Unread | None:
    """Return a question about a weight, count or score that each item has one of, as kilograms, or a rating."""
    reading = votes.reading
    won = pl.when(pl.col(_SIGN) >= 0)
    items = {_ONE: pl.col(_ONE), _OTHER: pl.col(_OTHER)}
    items |= {"winner": won.then(_ONE).otherwise(_OTHER), "loser": won.then(_OTHER).otherwise(_ONE)}
    beside = {role: text_of(own) for role in ("query", "judge", "time") if (own := reading.first[role])}
    keys_of = dict.fromkeys(("weight", "count"), (*items,)) | dict.fromkeys(("left_score", "left_place"), (_ONE,))
    for role, keys in keys_of.items():
        if not (name := reading.first[role]) or is_kept(reading, name):
            continue
        cells = votes.raw.collect(rows.select(weight=text_of(name), **items, **beside))
        if any(_set_by(cells, key) for key in beside):
            continue  # it is a judge's weight, or a query's
        if key := next((key for key in keys if _set_by(cells, key)), ""):
            which = dict(zip((_ONE, _OTHER), votes.sides, strict=True)).get(key, key)
            some = cells.group_by(key, maintain_order=True).first().head(3).select(key, "weight").rows()
            rated = role.startswith("left_")
            without = f"{role}=,{role.replace('left', 'right')}=,winner=____" if rated else f"{role}="
            return Unread(
                f"each item in {short_repr(which)} has one {short_repr(name)} in all its rows "
                f"({', '.join(map(' '.join, some))}): is it of votes, or of items, as kilograms and ratings are?",
                f"{option('columns', without)} {'names who won' if rated else 'counts each row once'}; "
                f"{keeping(name)} says that it is of votes",
                code="weight",
                column=name,
            )
    return None


def _games_twice(votes: VoteSource, rows: pl.LazyFrame, _: pl.LazyFrame) -> Unread | None:
    """Return a question about a weight, a count or ties that are all that both sides won: games would count twice."""
    reading = votes.reading
    names = next(([*(reading.first[role] for role in pair)] for pair in (GAMES_WON, SCORES) if reading.has(*pair)), [])
    if len(set(names)) < 2:
        return None
    won = number_of(text_of(names[0])) + number_of(text_of(names[1]))
    tied = number_of(text_of(reading.first["ties"])).fill_null(0) if reading.first["ties"] else pl.lit(0.0)
    for role in ("count", "weight", "ties"):
        if not (name := reading.first[role]) or is_kept(reading, name):
            continue
        value = votes.number(role)
        same = (value == won).all() | (value == won + tied).all()
        facts = votes.raw.collect(rows.select(same=same, most=value.max(), ways=(1 + value).log().sum()))
        if facts["same"][0] and facts["most"][0] > 1 and facts["ways"][0] > SELDOM:
            return Unread(
                f"{short_repr(name)} is the sum of {listed(names)} in each row: a total, which says nothing more?",
                f"{option('columns', f'{role}=')} leaves it out; {keeping(name)} reads it, too",
                code="summary",
                column=name,
            )
    return None


def _set_by(cells: pl.DataFrame, key: str) -> bool:
    """Return whether each name has one weight in all its rows, which chance would hardly give.

    Weights stand in the rows in any order: in a few of these orders alone names have one weight each.
    """
    each = cells.group_by(key).agg(pl.col("weight").first(), kinds=pl.col("weight").n_unique())
    if each["kinds"].max() != 1:
        return False
    orders = [
        lgamma(len(x) + 1) - sum(lgamma(n + 1) for n in x["weight"].value_counts()["count"]) for x in (each, cells)
    ]
    return orders[0] - orders[1] < log(_CHANCE)
