"""Calibration functions bound the true excess risk by the excess of a surrogate's risk ([DMJ13]_ section 3.1)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankbench.certificates.answer import by_theorem
from rankbench.certificates.certificate import law_from_json, noise_words, short
from rankbench.certificates.certify import question_of
from rankbench.certificates.exact_modulus import Branch, convex_minorant, exact_modulus, linear_branches, lower_hull
from rankbench.certificates.law_cells import LawCell, dot, law_cells
from rankbench.certificates.laws import Law, NoiseClass, why_not_in_class
from rankbench.certificates.modulus_bounds import ComputedRisks, StatedRisks, modulus_bounds
from rankbench.certificates.probe import risk_of
from rankbench.certificates.question import Question, probe_surrogate, read_law
from rankbench.certificates.squares_modulus import squares_branches, targets_of
from rankbench.drawing.canvas import TitledDrawing
from rankbench.errors import InputError, SpecError
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.figure import Drawing, Line, Plot
from rankbench.interfaces.surrogate import Loss, Surrogate

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

Vector: TypeAlias = NDArray[np.float64]
WrittenStructure: TypeAlias = Mapping[str, object] | Sequence[object]

MOST_ITEMS = 4
"""Items; of more there are too many cells."""

MINORANT_ERROR = Fraction(1, 10**4)
"""Distance of the polygon from H**, where H is exact and curved."""

PARTS = 10
"""Parts of the largest excess at which H is computed, unless eps are given."""


@dataclass(frozen=True, eq=False)
class Calibration:
    r"""The calibration function H of a surrogate and a loss, [DMJ13]_ (8), at some eps.

    H(eps) is the least surrogate excess that scores can have whose true excess is eps or more, whatever the law.
    It is the largest delta(eps) of (7). The biconjugate H** is its largest convex minorant, and
    :math:`H^{**}(R(f) - R^*) \le R_\varphi(f) - R^*_\varphi` (supplement, eq. (1)).

    Attributes
    ----------
    question : Question
        Surrogate, loss, noise class, number of items and aggregator.
    structures : int
        Number of structures on which laws are defined.
    eps : tuple of Fraction
        True excesses, ascending, in units of the loss.
    lower, upper : tuple of Fraction or float
        Bounds of H(eps), equal where `exact`; inf where no law has such an excess.
    zero : Fraction or float
        Largest eps with H(eps) = 0: the true excess that minimizing the surrogate can leave. Where not `exact`,
        the largest one that the search found.
    largest : Fraction
        Largest true excess of all.
    exact : bool
        True if exact programs computed H; false if bounds are in double precision.
    minorant : ndarray of float64, shape (P, 2)
        Corners of H**, from (0, 0) to `largest`; of squares, of a polygon at most `MINORANT_ERROR` below it. Where not
        `exact`, of a convex function below H.
    theorem : str
        Name in `rankbench.certificates.theorems` of the theorem that proves consistency, where not `exact`; else empty.
    """

    question: Question
    structures: int
    eps: tuple[Fraction, ...]
    lower: tuple[Fraction | float, ...]
    upper: tuple[Fraction | float, ...]
    zero: Fraction | float
    largest: Fraction
    exact: bool
    minorant: Vector
    theorem: str = ""

    @property
    def consistent(self) -> bool | None:
        """True if H(eps) > 0 for all eps > 0 (Proposition 1), False if not; None if undecided."""
        return False if self.zero else True if self.exact or self.theorem else None

    @property
    def error(self) -> float:
        """Largest distance of the bounds of H at `eps`; 0 where `exact`."""
        pairs = zip(self.lower, self.upper, strict=True)
        return max((float(high - low) for low, high in pairs if math.isfinite(high)), default=0.0)

    def biconjugate(self, eps: Iterable[Fraction | float]) -> Vector:
        """Return H** at each eps, where not `exact` a lower bound of it; inf beyond the largest excess."""
        x = np.array([float(e) for e in eps])
        return np.where(x <= float(self.largest) * (1 + 1e-12), np.interp(x, *self.minorant.T), np.inf)

    def excess_bound(self, surrogate_excess: Vector) -> Vector:
        """Return the largest true excess that each surrogate excess allows: H** inverted, at most `largest`."""
        x, y = self.minorant.T
        return np.asarray(np.interp(surrogate_excess, y, x))  # where y is 0 more than once, the last x

    def table(self) -> pl.DataFrame:
        """Return a row for each eps: ``eps, lower, upper, biconjugate``."""
        import polars as pl

        columns = {"eps": self.eps, "lower": self.lower, "upper": self.upper, "biconjugate": self.biconjugate(self.eps)}
        return pl.DataFrame({name: [float(x) for x in column] for name, column in columns.items()})

    @property
    def about(self) -> str:
        """Surrogate, loss, items and noise class, in a line."""
        asked = self.question
        on = f" on {asked.aggregated.aggregator}" if asked.aggregated else ""
        noise = noise_words(asked.noise, asked.loss.graphs)
        return f"{asked.surrogate}{on} for {asked.loss.loss}, {asked.items} items, {noise}"

    def words(self) -> str:
        """Return the meaning of the numbers, in a paragraph."""
        how = "exact" if self.exact else f"bounds in double precision, at most {self.error:.2g} apart"
        about = f"{self.about}; laws over {self.structures} structures; {how}."
        if self.zero:
            least = "" if self.exact else "at least "
            return f"{about} H(eps) = 0 up to eps = {least}{short(self.zero)}: minimizing can leave that true excess."
        if self.exact:
            return f"{about} H(eps) > 0 for all eps > 0: pointwise consistent."
        unbound = max((e for e, low in zip(self.eps, self.lower, strict=True) if not low), default=None)
        empty = "" if unbound is None else f" A lower bound of 0, here up to eps = {short(unbound)}, says nothing of H."
        if self.theorem:
            return f"{about} H(eps) > 0 for all eps > 0, by {self.theorem}: pointwise consistent.{empty}"
        return f"{about} The search found no eps > 0 with H(eps) = 0.{empty}"

    def plot(self) -> Figure:
        """Draw H, H** and the bound of the true excess, as ``rankbench certify --out --calibration FILE.png``."""
        return self.drawing().canvas()

    def drawing(self) -> TitledDrawing:
        """Return that figure as data."""
        table = self.table().filter(self.table()["upper"].is_finite())
        eps, low, up = (np.array([0.0, *table[name]]) for name in ("eps", "lower", "upper"))
        none = np.full(len(eps), np.nan)
        band = (none, none) if self.exact else (low, up)
        x, y = self.minorant.T
        flat = np.full(len(x), np.nan)
        h, convex = ("H", "H**") if self.exact else ("H (upper bound)", "H** (lower bound)")
        names = (h, convex, "bound of the true excess")
        left = (Line(names[0], eps, up, *band), Line(names[1], x, y, flat, flat))
        plots = (
            Plot(x_label="true excess (eps)", y_label="surrogate excess", lines=left),
            Plot(x_label="surrogate excess", y_label="true excess", lines=(Line(names[2], y, x, flat, flat),)),
        )
        drawing = Drawing((plots,), names, bands="between the bounds")
        return TitledDrawing(drawing, f"Calibration function\n{self.about}")


def calibration(
    surrogate: Surrogate | str,
    loss: Loss | str = "pairwise",
    *,
    noise: NoiseClass = "low",
    items: int = 3,
    aggregator: Aggregator | str | None = None,
    structures: Sequence[WrittenStructure] | None = None,
    mu: Path | str | Sequence[Mapping[str, Any]] | None = None,
    eps: Sequence[Fraction | float] | None = None,
    steps: int = 3000,
    seed: int = 0,
) -> Calibration:
    r"""Compute the calibration function of a surrogate for a loss, [DMJ13]_ (8), or of one law, (9).

    .. math:: H(\epsilon) = \inf_{\mu, \alpha} \{ \ell_\varphi(\alpha, \mu) - \inf_{\alpha'} \ell_\varphi(\alpha', \mu)
              \mid \ell(\alpha, \mu) - \inf_{\alpha'} \ell(\alpha', \mu) \ge \epsilon \}

    Of piecewise linear surrogates (hinge) and of squares (`linear`, `regression`) H is exact: linear and quadratic
    programs in rational numbers. Of others, branch and bound over scores gives bounds in double precision.

    Parameters
    ----------
    surrogate, loss, noise, aggregator
        As of `rankbench.certify`. Aggregation is of all judgments, on ``difference-graph``, or changes nothing.
    items : int
        2 to 4.
    structures : sequence, optional
        Structures of the laws, as in certificates: ``{"1>2": 1}`` or ``[1, 0, 2]``. Default: one edge of weight 1,
        or grades 0 and 1 with at least one 1. Weights of a law sum to 1, so the weights of edges set H's scale.
    mu : path or list, optional
        One law, as in certificates: H(eps, mu).
    eps : sequence of number, optional
        True excesses above 0; default: tenths of the largest one.
    steps : int
        Steps of branch and bound at most, which ends where bounds of each H(eps) are 1e-6 apart, relative to it.
    seed : int
        Of the distributions that test the surrogate.

    Returns
    -------
    Calibration

    Raises
    ------
    SpecError
        Names or parameters that do not exist or do not go together; a surrogate that is neither smooth nor
        exactly stated; too many items or structures.
    InputError
        Structures or a law that do not fit the loss or the noise class.
    PluginError
        The surrogate breaks a promise: see `rankbench.certificates.probe.probe`.

    Examples
    --------
    On single judgments, minimizing the hinge can leave a true excess of 1/6:

    >>> import rankbench
    >>> found = rankbench.calibration("pairwise-hinge", eps=[0.1, 0.2, 1])
    >>> [str(h) for h in found.lower]
    ['0', '1/20', '1']
    >>> found.zero
    Fraction(1, 6)

    On the difference graph, a surrogate excess of .2 allows a true excess of .2 at most:

    >>> found = rankbench.calibration("pairwise-hinge", noise="dag", aggregator="difference-graph")
    >>> found.consistent, float(found.excess_bound(0.2))
    (True, 0.2)
    """
    if mu is not None and structures is not None:
        raise SpecError("a law has structures of its own: give mu or structures")
    law = None if mu is None else read_law(mu, items)
    given = law
    if structures is not None:
        given = law_from_json([{"weight": Fraction(1, len(structures)), "structure": s} for s in structures], items)
    asked = question_of(surrogate, loss, noise, items if given is None else given.items, aggregator, math.inf, seed)
    if asked.items > MOST_ITEMS:
        raise SpecError(f"a calibration function takes 2 to {MOST_ITEMS} items, not {asked.items}")
    if given is not None and given.of_graphs != asked.loss.graphs:
        kind = "graphs" if asked.loss.graphs else "scores"
        raise InputError(f"loss {asked.loss.loss} is of {kind}, the structures are not")
    if law is None and noise == "independent":
        raise SpecError("independent laws are no polytope, which a calibration function needs: give one law as mu")
    if law is not None and (why := why_not_in_class(noise, law)):
        raise InputError(f"mu is not in the noise class {noise!r}: {why}")
    over = _default_structures(asked) if given is None else [s for _, s in given.support]
    probe_surrogate(asked)
    cells = law_cells(asked, over, None if law is None else tuple(weight for weight, _ in law.support))
    largest = max(dot(gap, corner) for cell in cells for gap in cell.gaps.values() for corner in cell.corners)
    if largest <= 0:
        raise InputError("every order has the same loss under these laws: no order has an excess")
    grid = [largest * k / PARTS for k in range(1, PARTS + 1)] if eps is None else sorted(map(_rational, eps))
    if grid[0] <= 0:
        raise SpecError("every eps must be above 0")
    if all(map(_piecewise_linear, cells)):
        return _exactly(asked, over, [b for cell in cells for b in linear_branches(cell)], grid, largest)
    if all(map(targets_of, cells)):
        return _exactly(asked, over, [b for cell in cells for b in squares_branches(cell)], grid, largest)
    return _numerically(asked, over, cells, grid, largest, steps)


def _exactly(
    asked: Question, over: Sequence[Any], branches: list[Branch], eps: list[Fraction], largest: Fraction
) -> Calibration:
    kept = [branch for branch in branches if branch.end > 0]
    least, zero = exact_modulus(kept, eps)
    h = tuple(math.inf if value is None else value for value in least)
    minorant = np.array(convex_minorant(kept, MINORANT_ERROR), dtype=np.float64)
    return Calibration(asked, len(over), tuple(eps), h, h, zero, largest, True, minorant)


def _numerically(
    asked: Question, over: Sequence[Any], cells: list[LawCell], eps: list[Fraction], largest: Fraction, steps: int
) -> Calibration:
    risks = [(cell, _risks(asked, over, cell)) for cell in cells]
    lower, upper, zero, boxes = modulus_bounds(risks, np.array(eps, dtype=np.float64), steps)
    proved = (point for box in boxes for point in box.points())
    minorant: Vector = np.array(lower_hull([(0.0, 0.0), (zero, 0.0), *proved]))
    bounds = tuple(lower.tolist()), tuple(upper.tolist())
    found = by_theorem(asked)
    theorem = "" if found is None else str(found.content["theorem"]["name"])
    return Calibration(asked, len(over), tuple(eps), *bounds, zero, largest, False, minorant, theorem)


def _piecewise_linear(cell: LawCell) -> bool:
    return cell.risks is not None and not any(
        risk.entropy or any(risk.linear) or not all(term.phi.piecewise_linear for term in risk.terms)
        for risk in cell.risks
    )


def _rational(eps: Fraction | float) -> Fraction:
    return Fraction(eps).limit_denominator(10**9)


def _default_structures(asked: Question) -> list[Any]:
    if asked.loss.graphs:
        return [{pair: Fraction(1)} for pair in itertools.permutations(range(asked.items), 2)]
    return [s for s in itertools.product((Fraction(0), Fraction(1)), repeat=asked.items) if any(s)]


def _risks(asked: Question, over: Sequence[Any], cell: LawCell) -> StatedRisks | ComputedRisks:
    corners: Vector = np.array(cell.corners, dtype=np.float64)
    if cell.risks is not None:
        return StatedRisks(cell.risks, corners)
    if "smooth" not in asked.surrogate.properties:
        raise SpecError(f"surrogate {asked.surrogate} is neither smooth nor stated in exact numbers")
    own = [risk_of(asked.surrogate, Law(asked.items, ((Fraction(1), s),)), asked.loss) for s in over]
    return ComputedRisks(own, corners, asked.items, "shift-invariant" in asked.surrogate.properties)
