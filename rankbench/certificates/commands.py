"""`rankbench certify` tells how consistent a surrogate is."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from rankbench.certificates.calibration import Calibration
from rankbench.certificates.calibration import calibration as compute
from rankbench.certificates.certificate import short
from rankbench.certificates.certify import certify as find
from rankbench.certificates.certify import verify as check
from rankbench.certificates.conditions import failing
from rankbench.certificates.suite import consistency
from rankbench.cli.forms import Format, chosen_form, format_option, title_option
from rankbench.cli.help import FILES, SectionedCommand
from rankbench.cli.output import complete_names, heartbeat
from rankbench.cli.shown import Answer, Table, finish, show
from rankbench.core.text import count_text
from rankbench.interfaces.surrogate import Surrogate
from rankbench.plugin.manager import get

_OF_CERTIFICATES, _OF_CALIBRATION = ("k", "budget", "laws", "picture", "verify", "folder"), ("eps", "steps")


@click.command(
    cls=SectionedCommand,
    sections={
        "Which question": "loss noise aggregator items k mu",
        "Which answer": "calibration eps steps verify folder",
        "How sure": "budget laws",
        "How shown": f"picture {FILES}",
    },
)
@click.argument("surrogate", required=False, shell_complete=complete_names("surrogate"))
@click.option(
    "--loss",
    default="pairwise",
    show_default=True,
    shell_complete=complete_names("loss", also=("pairwise", "ndcg", "err", "precision")),
    help="pairwise, ndcg, err, precision, or a loss with parameters.",
)
@click.option(
    "--noise",
    type=click.Choice(["low", "dag", "any", "independent"]),
    default="low",
    show_default=True,
    help="Class of distributions: low noise, preferences without cycles (dag), any, or independent scores.",
)
@click.option(
    "--aggregator",
    metavar="NAME",
    shell_complete=complete_names("aggregator"),
    help="The surrogate sees judgments after this aggregation.",
)
@click.option("--items", type=click.IntRange(2, 5), default=3, show_default=True, help="Items to order.")
@click.option("--k", default="inf", type=float, show_default=True, help="Number of judgments to aggregate; inf: all.")
@click.option("--budget", default="10s", show_default=True, help="Time for the search, as in 500ms, 10s or 2m.")
@click.option("--laws", type=click.IntRange(min=1), help="Maximum number of distributions to search, within --budget.")
@click.option("--mu", type=click.Path(path_type=Path), help="Decide the distribution in this JSON file; no search.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the search.")
@click.option("--picture", type=click.Path(path_type=Path, dir_okay=False), help="Picture to draw, .png or .svg.")
@click.option("--verify", type=click.Path(path_type=Path), help="Check the certificate in this file alone.")
@click.option(
    "--all",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Decide every question of the suite consistency, and write the certificates into this folder.",
)
@click.option("--calibration", is_flag=True, help="Bound the true excess risk by the surrogate's, H(eps).")
@click.option("--eps", multiple=True, type=float, help="True excess, repeatable; default: tenths of the largest one.")
@click.option(
    "--steps",
    type=click.IntRange(min=0),
    default=3000,
    show_default=True,
    help="Steps of branch and bound at most, where H is not exact; 0 bounds none.",
)
@format_option(
    ["table", "csv", "parquet", "json", "md", "html"], "With --calibration; default: as --out ends, or table."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the certificate to this file; with --calibration a file as it ends: .html, .png, .svg, .csv, ...",
)
@title_option
@click.pass_context
def certify(
    ctx: click.Context,
    /,
    surrogate: str | None,
    form: Format | None,
    out: Path | None,
    calibration: bool,
    title: str,
    **question: Any,
) -> None:
    """Decide whether a surrogate is consistent, with a proof.

    A surrogate is consistent if minimizing its risk minimizes the risk of the loss, for every
    distribution of judgments in the noise class. rankbench searches for a counterexample, makes it
    small and proves it; for some classes it proves consistency instead. Check the certificate
    without rankbench's search by --verify FILE, or by python -m rankbench.certificates.check FILE.
    Its format is in docs/reference/certificate-format.md.

    With --calibration, H(eps) is the least surrogate excess of scores with a true excess of eps or more, whatever the
    distribution. H** is its largest convex minorant: H** at the true excess is at most the surrogate excess. H is exact
    for the hinge, linear and regression, and has bounds for other smooth surrogates.

    The exit code is 1 for INCONCLUSIVE, where rankbench decided nothing, else 0. With --verify it
    is 0 if the checker accepts the certificate, also one that claims nothing, 1 if it rejects it,
    and 2 if it cannot read or check it.
    """
    others = _OF_CERTIFICATES if calibration else _OF_CALIBRATION
    for name in others:
        if ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            which = "with" if calibration else "without"
            raise click.UsageError(f"{which} --calibration leave --{'all' if name == 'folder' else name} out")
    asked = {name: value for name, value in question.items() if name not in others}
    if sum(given is not None for given in (surrogate, question["verify"], question["folder"])) != 1:
        raise click.UsageError("give a SURROGATE, a certificate with --verify, or a folder with --all")
    if calibration:
        return _calibrate(str(surrogate), form, out, title, **asked)
    if form not in (None, "table", "json"):
        raise click.UsageError(f"a certificate is no {form}: leave --format out, or ask for --calibration")
    finish(_certify(surrogate, out, **asked), form or "table")


def _calibrate(
    surrogate: str,
    form: Format | None,
    out: Path | None,
    title: str,
    *,
    mu: Path | None,
    eps: Sequence[float],
    **question: Any,
) -> None:
    chosen = chosen_form(form, out, [] if mu is None else [str(mu)], pictures=True)
    with heartbeat(f"calibration function of {surrogate}"):
        found = compute(surrogate, mu=mu, eps=eps or None, **question)
    show(replace(calibration_answer(found), title=title), chosen, out)


def _certify(
    surrogate: str | None,
    out: Path | None,
    *,
    picture: Path | None,
    verify: Path | None,
    folder: Path | None,
    **question: Any,
) -> Answer:
    if verify is not None:
        accepted, lines = check(verify)
        said = f"{verify}: the checker {'accepts' if accepted else 'rejects'} it."
        by_itself = [shlex.join(["python", "-m", "rankbench.certificates.check", str(verify)])] * accepted
        record = {"accepted": accepted, "said": list(lines)}
        return Answer(record, said, lines, next=by_itself, exit_code=0 if accepted else 1)
    if picture is not None and picture.suffix not in (".png", ".svg"):
        raise click.BadParameter(f"{picture} ends neither with .png nor with .svg", param_hint="--picture")
    if folder is not None:
        answered = list[str]()
        with heartbeat(lambda: f"answering the suite consistency into {folder}, {len(answered)} done"):
            count = consistency(folder, answered.append)
        said = f"{count_text(count, 'question')} answered: {folder / 'leaderboard.md'}"
        return Answer({"folder": str(folder), "answers": answered}, said, answered)

    with heartbeat(f"deciding {surrogate}"):
        found = find(surrogate or "", **question)
    written, notes = (
        [f"Verdict: {found.label}."],
        [f"condition: {why}" for why in failing(get(Surrogate, surrogate or ""))],
    )
    if out is not None:
        found.write(out)
        written.append(f"Certificate: {out}")
    if picture is not None and not found.alpha:
        notes.append(f"no picture: {found.verdict} is not about one distribution")
    elif picture is not None:
        from rankbench.certificates.picture import draw_counterexample

        picture.write_bytes(draw_counterexample(found)[picture.suffix.removeprefix(".")])
        written.append(f"Picture: {picture}")
    undecided = found.verdict in ("INCONCLUSIVE", "NO_COUNTEREXAMPLE_FOUND") and question["mu"] is None
    longer = f"--laws {10 * question['laws']}" if question["laws"] else "--budget 1m"
    acts = [longer] * undecided + ["--picture law.svg"] * bool(found.alpha and picture is None)
    acts.append("--out certificate.json" if out is None else shlex.join(["rankbench", "certify", "--verify", str(out)]))
    code, explained = 1 if found.verdict == "INCONCLUSIVE" else 0, found.explanation()
    answer = Answer(found.content, found.headline(), [explained] * bool(explained), written, next=acts, exit_code=code)
    return answer.noted(notes)


def calibration_answer(found: Calibration) -> Answer:
    """Return a calibration function as an answer."""
    frame = found.table()
    facts = {"about": found.about, "structures": found.structures, "exact": found.exact, "consistent": found.consistent}
    ends = {"zero": float(found.zero), "largest": float(found.largest)}
    rows = [{name: x if math.isfinite(x) else None for name, x in row.items()} for row in frame.to_dicts()]
    bounds = [found.upper] if found.exact else [found.lower, found.upper]
    columns = [found.eps, *bounds, found.biconjugate(found.eps)]
    heads = ("eps", "H(eps)", "H**(eps)") if found.exact else ("eps", "H(eps) >=", "H(eps) <=", "H**(eps) >=")
    table = Table(heads, [list(map(short, row)) for row in zip(*columns, strict=True)])
    record = {**facts, **ends, "rows": rows}
    return Answer(record, found.words(), [table], next=["--out calibration.html"], frame=frame, drawing=found.drawing)
