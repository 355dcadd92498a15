"""The section on claims gives verdicts; the details give their intervals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from rankbench.core.text import interval_text, markdown, number, numbered, sentence
from rankbench.interfaces.cell import SPLITS, Split
from rankbench.interfaces.suite import Claim
from rankbench.plugin.manager import claim_kind
from rankbench.reports.analysis import Analysis
from rankbench.reports.document import Bullets, Column, Grid, Heading, Node, Paragraph, TerminalNode, first_rows
from rankbench.reports.over_logs import over_logs
from rankbench.reports.verdicts import Finding, JudgedClaim, Verdict
from rankbench.store.records import SourceRecord

MOST_DIGITS = 8

FARTHEST = 1e6
"""Ends of intervals beyond it tell nothing, as of a ratio of spreads over three repetitions."""

UNDETERMINED = "not determined"
"""Words of a page for such an end."""

MOST_CONTRASTS = 10
"""Contrasts of claims in the details; all are in ``claims.csv``."""

LATE = "written knowing earlier results"
"""Mark of claims whose origin is ``post hoc``."""

VERDICTS: dict[Verdict, str] = {
    "held": "held",
    "did not hold": "did not hold here",
    "could not tell": "could not tell",
}
"""Words of a page for verdicts."""


def claims_section(analysis: Analysis) -> list[Node]:
    """Return the claims' section; nothing without claims."""
    if not (ordered := _by_claim(analysis)):
        return []
    words = split_words(analysis)
    splits = list(words)
    columns = [Column("claim"), *(Column(words[split]) for split in splits)]
    return [
        *_heading([answers[0].claim for answers in ordered]),
        Paragraph(
            "*Held*: every contrast of the claim lies on the claimed side, by its own 95% interval; this is a test at "
            "5%. *Did not hold here*: at least one contrast lies on the other side, by 95% intervals that cover all "
            "contrasts of the claim at once. *Could not tell*: neither. Verdicts are about these data and contenders: "
            "a claim that did not hold here does not refute the paper. Intervals are over queries and repetitions, or "
            "by the corrected resampled t where repetitions share training data."
            + " Of experiments on several logs they are over families of logs."
            * bool(over_logs(analysis.sections))
        ),
        Grid.from_rows(columns, [_summary(answers, splits) for answers in ordered]),
    ]


def claims_details(analysis: Analysis) -> list[Node]:
    """Return the contrasts of all claims, with the intervals of the verdicts."""
    sources = {section.data.experiment.name: section.data.source for section in analysis.sections}
    rows, said, notes = list[tuple[str, ...]](), dict[str, list[str]](), list[str]()
    for answers in _by_claim(analysis):
        name, kind = f"**{markdown(answers[0].claim.id)}**", claim_kind(answers[0].claim)
        said.setdefault(kind.measured(), []).append(name)
        rows += [row for answer in answers for row in _contrasts(answer, sources[answer.experiment], kind.ratio)]
        notes += dict.fromkeys(f"{name}: {markdown(sentence(note))}" for answer in answers for note in answer.notes)
    if not said:
        return []
    titles = ("difference or ratio", "alone", "all at once", "all at once, over repetitions")
    columns = [Column("claim"), Column("contrast"), Column("on"), *(Column(title, "right") for title in titles)]
    explained = (
        "*Alone*: the 95% interval of one contrast, for the verdict *held*. *All at once*: 95% intervals that cover "
        "every contrast of the claim together, for the verdict *did not hold here*."
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
    """Return a row for each claim for a terminal, verdicts first, and the number that held; nothing without claims."""
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
    return [Grid.from_rows(columns, rows), *note, Paragraph(claims_counted(analysis))]


def split_words(analysis: Analysis) -> dict[Split, str]:
    """Return the subject of claims as a short text, by split."""
    titles = {s.data.experiment.name: s.data.source for s in analysis.sections}
    about = [(a.about, titles[a.experiment].short(a.about)) for s in analysis.sections for a in s.answers]
    words = {split: " / ".join(dict.fromkeys(name for at, name in about if at == split)) for split in reversed(SPLITS)}
    return {split: name for split, name in words.items() if name}


def claims_counted(analysis: Analysis) -> str:
    """Count the claims by verdict, for each kind of data that they were judged on."""
    answers = [answer for section in analysis.sections for answer in section.answers]
    asked = Counter((answer.experiment, answer.claim.id) for answer in answers)
    twice = sum(count > 1 for count in asked.values())
    parts = []
    for split, words in split_words(analysis).items():
        found = Counter(answer.verdict for answer in answers if answer.about == split)
        counted = [f"{said} {found[verdict]}" for verdict, said in VERDICTS.items() if found[verdict]]
        parts.append(f"on {words} {', '.join(counted)}")
    said = f"{len(asked)} claim{'s' if len(asked) != 1 else ''}"
    if twice:  # else the verdicts, added up, would be more than the claims
        said += f", {f'{twice} of them ' if twice < len(asked) else ''}judged on several kinds of data"
    return f"**Do the claims hold?** {said}: {'; '.join(parts)}."


def _heading(claims: Sequence[Claim]) -> list[Node]:
    """Return a title, and a note on claims written knowing results."""
    late = sum(claim.origin == "post hoc" for claim in claims)
    said = (
        f"Claims marked *{LATE}* are no predictions. Before the authors wrote or last changed them, they had seen "
        "results of the experiment, of a trial of it, or of another program. "
    )
    others = f"{'The others' if late else 'All'} were declared before the run." * (late < len(claims))
    return [Heading(2, "The claims"), Paragraph((said * bool(late) + others).strip())]


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
    said = VERDICTS[answer.verdict]
    verdict = said if answer.verdict == "could not tell" else f"**{said}**"
    if answer.against:
        clearest, *more = answer.against
        verdict += f" ({markdown(clearest)}{f'; and {len(more)} more' if more else ''})"
    if answer.split is None:
        return f"{verdict} (over repetitions)"
    alone = "" if answer.by_draws == answer.verdict else f" (repetitions alone: {VERDICTS[answer.by_draws]})"
    return f"{verdict}{alone}"


def _contrasts(answer: JudgedClaim, source: SourceRecord, ratio: bool) -> list[tuple[str, ...]]:
    # Splits of one table have one interval of a difference, whether it is called over repetitions or not.
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
            "units": section.data.source.short(answer.about),
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
    """Return an interval with enough digits to show on which side of 0 (or of a ratio of 1) its ends are."""
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return "—"
    same, digits = 1.0 if ratio else 0.0, 2 if ratio else 4
    while digits < MOST_DIGITS and any(end != same and round(end, digits) == same for end in (lower, upper)):
        digits += 1
    if max(abs(lower), abs(upper)) < FARTHEST:
        return interval_text(lower, upper, digits, sign=not ratio)
    ends = (number(end, digits, sign=not ratio) if abs(end) < FARTHEST else UNDETERMINED for end in (lower, upper))
    return f"[{', '.join(ends)}]"
