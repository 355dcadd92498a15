"""The section on claims gives verdicts; the details give the intervals that they rest on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from rankbench.core.text import interval_text, markdown, number, numbered, sentence
from rankbench.interfaces.cell import Split
from rankbench.interfaces.suite import Claim
from rankbench.plugin.manager import claim_kind
from rankbench.reports.analysis import Analysis
from rankbench.reports.claim_verdicts import Finding, JudgedClaim
from rankbench.reports.document import Bullets, Column, Grid, Heading, Node, Paragraph, TerminalNode, first_rows
from rankbench.reports.leaderboard_intro import claims_counted, split_words
from rankbench.reports.recommendation import joined_words
from rankbench.store.records import SourceRecord

MOST_DIGITS = 8

MOST_CONTRASTS = 20
"""Contrasts of claims in the details; all are in ``claims.csv``."""

LATE = "written knowing earlier results"
"""What is said of claims whose origin is ``post hoc``."""


def claims_section(analysis: Analysis) -> list[Node]:
    """Return the claims' section, or nothing where nothing was claimed."""
    ordered = _by_claim(analysis)
    if not ordered:
        return []
    titles = {s.sampler.experiment.name: s.sampler.source for s in analysis.sections}
    words = split_words(analysis)
    splits = list(words)
    columns = [Column("claim"), *(Column(words[split]) for split in splits)]
    return [
        *_heading([answers[0].claim for answers in ordered]),
        Paragraph(
            f"Verdicts are about {_subject(analysis)}. One contrast on the other side suffices "
            "for *did not hold*: it does not refute the paper."
        ),
        Paragraph(
            "*Held*: the 95% interval of each contrast, taken alone, lies on the claimed side; a claim needs all of "
            "them, so that is a test at 5% as it is. *Did not hold*: of the intervals that cover all contrasts of the "
            "claim at once (95%), one lies entirely on the other side. Otherwise the run *could not tell*. "
            + _intervals([titles[answers[0].experiment] for answers in ordered])
        ),
        Grid.from_rows(columns, [_summary(answers, splits) for answers in ordered]),
        *map(Paragraph, claims_counted(analysis)),
    ]


def claims_details(analysis: Analysis) -> list[Node]:
    """Return the contrasts of all claims with the intervals that the verdicts rest on."""
    sources = {section.sampler.experiment.name: section.sampler.source for section in analysis.sections}
    rows, said, notes = list[tuple[str, ...]](), dict[str, list[str]](), list[str]()
    for answers in _by_claim(analysis):
        name, kind = f"**{markdown(answers[0].claim.id)}**", claim_kind(answers[0].claim)
        said.setdefault(kind.measured(), []).append(name)
        rows += [row for answer in answers for row in _contrasts(answer, sources[answer.experiment], kind.ratio)]
        notes += dict.fromkeys(f"{name}: {markdown(sentence(note))}" for answer in answers for note in answer.notes)
    if not said:
        return []
    titles = ("difference or ratio", "alone", "all at once", "all at once, over draws")
    columns = [Column("claim"), Column("contrast"), Column("on"), *(Column(title, "right") for title in titles)]
    explained = (
        "*Alone*: the 95% interval of that contrast by itself, which *held* rests on. *All at once*: those that cover "
        "every contrast of the claim together (95%), which *did not hold* rests on."
    )
    return [
        Heading(2, "The contrasts of the claims"),
        Paragraph(explained),
        *first_rows(Grid.from_rows(columns, rows), MOST_CONTRASTS, "claims.csv"),
        Bullets((*(f"{', '.join(names)}: {text}" for text, names in said.items()), *notes)),
    ]


def _by_claim(analysis: Analysis) -> list[list[JudgedClaim]]:
    """Return the answers to each claim, in the order of the claims' numbers."""
    claims: dict[tuple[str, str], list[JudgedClaim]] = {}
    for answer in (answer for section in analysis.sections for answer in section.answers):
        claims.setdefault((answer.experiment, answer.claim.id), []).append(answer)
    return [answers for _, answers in sorted(claims.items(), key=lambda item: (numbered(item[0][1]), item[0]))]


def claims_in_short(analysis: Analysis) -> list[TerminalNode]:
    """Return for a terminal a row for each claim, verdicts first, and how many held; nothing without claims."""
    ordered, words = _by_claim(analysis), split_words(analysis)
    if not ordered:
        return []
    rows = []
    for answers in ordered:
        claim, verdicts = answers[0].claim, {answer.about: answer.verdict for answer in answers}
        late = " †" if claim.origin == "post hoc" else ""
        rows.append(
            (f"{markdown(claim.id)}{late}", *(verdicts.get(split, "—") for split in words), markdown(claim.text))
        )
    columns = [Column("claim"), *(Column(markdown(title)) for title in words.values()), Column("")]
    note = [Paragraph(f"† {LATE}")] if any(answers[0].claim.origin == "post hoc" for answers in ordered) else []
    return [Grid.from_rows(columns, rows), *note, *map(Paragraph, claims_counted(analysis))]


def _heading(claims: Sequence[Claim]) -> list[Node]:
    """Return a title that promises no more than what is so, and the sentence that says which is which."""
    late = [claim for claim in claims if claim.origin == "post hoc"]
    if not late:
        return [Heading(2, "The claims, declared before the run")]
    said = (
        f"Claims marked *{LATE}* are no predictions: results of their experiment, of a trial of it or of another "
        "program for it had been seen before they were written, or last changed."
    )
    if len(late) < len(claims):
        return [Heading(2, "The claims"), Paragraph(f"{said} The others were declared before the run.")]
    return [Heading(2, f"The claims, {LATE}"), Paragraph(said)]


def _subject(analysis: Analysis) -> str:
    """Say what verdicts are about: minimizers where something was minimized, and what losses are given for."""
    claiming = [section.sampler for section in analysis.sections if section.answers]
    arms = [arm for sampler in claiming for race in sampler.races for arm in race.arms]
    parts = ["this data"]
    if any(not math.isnan(arm.optimality) for arm in arms):
        parts.append("these minimizers")
    sources = [sampler.source for sampler in claiming if sampler.source.test_share is None]
    names = [source.short(split).split()[-1] for source in sources for split in source.shown_splits()]
    parts += [f"these {name}" for name in dict.fromkeys(names)]
    return joined_words(parts)


def _intervals(sources: Sequence[SourceRecord]) -> str:
    """Say which intervals verdicts rest on."""
    resampled = [source.test_share is not None for source in sources]
    if all(resampled):
        return "Intervals are those of the corrected resampled t: repetitions share training data."
    where = "; where repetitions share training data, they are those of the corrected resampled t"
    return f"Intervals are over queries and draws{where if any(resampled) else ''}."


def _summary(answers: Sequence[JudgedClaim], splits: Sequence[Split]) -> list[str]:
    claim = answers[0].claim
    cells = [f"**{markdown(claim.id)}** {markdown(sentence(claim.text))}{_mark(claim)}"]
    for split in splits:
        answer = next((a for a in answers if a.about == split), None)
        cells.append("—" if answer is None else _words(answer))
    return cells


def _mark(claim: Claim) -> str:
    return f" *({LATE})*" if claim.origin == "post hoc" else ""


def _words(answer: JudgedClaim) -> str:
    verdict = f"**{answer.verdict}**" if answer.verdict != "could not tell" else answer.verdict
    if answer.against:
        clearest, *more = answer.against
        verdict += f" ({markdown(clearest)}{f'; and {len(more)} more' if more else ''})"
    if answer.split is None:
        return f"{verdict} (over draws)"
    return verdict if answer.by_draws == answer.verdict else f"{verdict} (draws alone: {answer.by_draws})"


def _contrasts(answer: JudgedClaim, source: SourceRecord, ratio: bool) -> list[tuple[str, ...]]:
    # Splits of one table have one interval of a difference, whether it is called over draws or not.
    single = source.test_share is not None and not ratio
    return [
        (
            markdown(answer.claim.id),
            markdown(f.text),
            source.short(answer.split) if answer.split else "curves",
            number(f.estimate, 2 if ratio else 4, sign=not ratio),
            _interval(f.own_lower, f.own_upper, ratio),
            _interval(f.lower, f.upper, ratio),
            "" if single else _interval(f.lower_draws, f.upper_draws, ratio),
        )
        for f in answer.findings
    ]


def contrast_rows(analysis: Analysis) -> list[dict[str, Any]]:
    """Return a row for each contrast of each claim."""
    numbers = [field.name for field in fields(Finding) if field.name != "text"]
    return [
        {
            "experiment": answer.experiment,
            "claim": answer.claim.id,
            "text": answer.claim.text,
            "kind": answer.claim.kind,
            "split": answer.split,
            "about": answer.about,
            "units": section.sampler.source.short(answer.about),
            "verdict": answer.verdict,
            "by_draws": answer.by_draws,
            "contrast": finding.text if finding else None,
            **{name: getattr(finding, name, None) for name in numbers},
            "origin": answer.claim.origin,
        }
        for section in analysis.sections
        for answer in section.answers
        for finding in (answer.findings or (None,))
    ]


def _interval(lower: float, upper: float, ratio: bool) -> str:
    """Return an interval with digits enough to see on which side of no difference (or of a ratio of 1) its ends are."""
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return "—"
    same, digits = 1.0 if ratio else 0.0, 2 if ratio else 4
    while digits < MOST_DIGITS and any(end != same and round(end, digits) == same for end in (lower, upper)):
        digits += 1
    return interval_text(lower, upper, digits, sign=not ratio)
