"""Lockstep: nobody's result depends on the neighbors, and the compiled loop is the plain one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from amounts import examples
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from numpy.typing import NDArray
from small_blocks import make_block, reweighted

from rankbench.data.simulators.btl import limit_scores
from rankbench.interfaces.method import Block, Fitted, Method
from rankbench.kernels.signatures import PHI, Kernel
from rankbench.methods.erm import ERM
from rankbench.methods.erm import fit as composed
from rankbench.methods.erm.fit import _Fits, fit_composed
from rankbench.methods.erm.kernels import lockstep as loop
from rankbench.methods.erm.kernels import sampling, targets
from rankbench.methods.erm.risk import row_weights
from rankbench.plugin.manager import get
from rankbench.surrogates.pairwise import PairwiseSquared
from rankbench.surrogates.regression import Regression

STEP = "optimizer=composite(c=0.05,schedule=inverse-sqrt)"
SPECS = [
    *(f"erm:k={k},{STEP},draws=300,curve=9" for k in (1, 2, 3, 10, "inf")),
    *(f"erm:k=3,aggregator={a},{STEP},draws=300,lambda=0.1" for a in ("borda", "bradley-terry", "win-rate")),
    *(f"erm:aggregator=limit-scores,optimizer=composite(c={c},schedule=inverse-t,t0=5),draws=300" for c in (0.1, 1)),
    *(
        f"erm:aggregator={a},surrogate=pairwise-logistic,k={k},{STEP},draws=300,lambda={l2},curve=5"
        for a, k in (("average-adjacency", 1), ("average-adjacency", 4), ("identity", 1))
        for l2 in (0, 0.01)
    ),
    *(
        f"erm:aggregator={a},surrogate={s},k={k},{STEP},draws=300,lambda={l2},curve=5"
        for a, s, k in (
            ("average-adjacency", "pairwise-squared-hinge(form=margin,scale=3)", 4),
            ("average-adjacency", "pairwise-logistic(form=margin,power=0.5)", 4),
            ("identity", "pairwise-hinge(power=2)", 1),
            ("identity", "pairwise-squared(form=margin,power=0)", 1),
            ("difference-graph", "pairwise-exponential", "inf"),
            ("difference-graph", "pairwise-exponential(power=0.5)", 2),
        )
        for l2 in (0, 0.01)
    ),
    *(
        f"erm:surrogate={s},aggregator={a},k=3,{STEP},draws=300,curve=5"
        for s, a in (
            ("order-preserving", "mean-log-odds"),
            ("order-preserving-err(phi=exponential)", "borda"),
            ("listnet", "win-rate"),
            ("cross-entropy(cutoff=3)", "mean-log-odds"),
            ("linear", "net-weights"),
            ("linear-power", "net-weights"),
            ("regression(normalize=false)", "mean-log-odds"),
        )
    ),
    *(
        f"erm:k=3,optimizer=composite(c=0.05,averaging={a}),draws=300,curve=9,{p}"
        for a in ("full", "tail,tail=0.3", "off")
        for p in ("l1=0.01", "lambda=0,radius=0.3", "l1=0.002,box=0.1")
    ),
    *(
        f"erm:aggregator=identity,surrogate=pairwise-logistic,k=1,{STEP},draws=300,curve=5,lambda=0.1,{p}"
        for p in ("l1=0.01", "radius=0.2", "box=0.1")
    ),
    *(
        f"erm:surrogate={s},k={k},optimizer={o},draws=300,lambda=0.1"
        for s, k, o in (("listnet", 3, "newton"), ("order-preserving", 1, "lbfgs"), ("cross-entropy", "inf", "newton"))
    ),
    "erm:k=3,optimizer=proximal,draws=300,l1=0.01",
    "erm:surrogate=listnet,k=inf,optimizer=proximal,box=0.1",
    "erm:surrogate=linear,aggregator=net-weights,optimizer=exact,lambda=0.01",
    *(f"erm:k={k},optimizer=exact,draws=300,lambda=0.01" for k in (1, 3, 5, "inf")),
    "erm:aggregator=average-adjacency,k=1,surrogate=pairwise-logistic,optimizer=newton",
    "erm:aggregator=limit-scores,optimizer=exact",
    *(f"erm:k=3,{STEP},draws=300,lambda={i / 100}" for i in range(12)),
]


def contenders(specs: list[str]) -> dict[str, ERM]:
    found = {spec: get(Method, spec) for spec in specs}
    return {spec: method for spec, method in found.items() if isinstance(method, ERM)}


def parameters(outcome: Fitted | Exception) -> NDArray[np.float64]:
    assert isinstance(outcome, Fitted), outcome
    assert outcome.theta is not None
    return outcome.theta


def same(one: Fitted | Exception, other: Fitted | Exception) -> None:
    assert parameters(one).tobytes() == parameters(other).tobytes()
    assert np.array_equal(one.optimality, other.optimality, equal_nan=True)
    assert one.info == other.info
    assert set(one.curves) == set(other.curves)
    for name, curve in one.curves.items():
        assert curve.values.tobytes() == other.curves[name].values.tobytes()


@pytest.fixture(scope="module")
def wide() -> Block:
    return make_block([9, 23, 4, 40, 17, 2], 400, d=11)


def test_solo_equals_lockstep_byte_for_byte(wide: Block) -> None:
    together, backwards = (fit_composed(wide, contenders(specs)) for specs in (SPECS, SPECS[::-1]))
    assert list(together) == SPECS
    for spec in SPECS:
        alone = fit_composed(wide, contenders([spec]))[spec]
        same(alone, together[spec])
        same(alone, backwards[spec])


@pytest.mark.parametrize("compiled", [True, False])
@given(
    own=st.sampled_from([2, 5, 12]),
    others=st.sets(st.sampled_from([1, 2, 3, 4, 7, 11, 30]), max_size=4),
    weights=st.lists(st.sampled_from([0.1, 0.3, 0.7, 1 / 3, 5.9]), min_size=1, max_size=5),
)
@examples(15)
def test_orders_of_neighbors_change_nothing_where_weights_round(
    compiled: bool, own: int, others: set[int], weights: list[float]
) -> None:
    """Sums of weights such as .1 depend on where they are cut: a contender's own order decides, nobody else's."""
    block = reweighted(make_block([25, 31], 80, seed=2), weights)
    draws = 2000 if compiled else 120
    spec = f"erm:k={own},draws={draws}"
    specs = [spec, *(f"erm:k={k},draws={draws}" for k in others), f"erm:k=9,{STEP},draws={draws}"]
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setattr(composed, "is_compiled", lambda contender: False)
        together = fit_composed(block, contenders(specs))
        same(fit_composed(block, contenders([spec]))[spec], together[spec])


def test_solo_equals_lockstep_at_the_size_of_the_paper() -> None:
    block = make_block([100, 137, 64, 80], 4000, d=136)
    specs = [f"erm:k={k},{STEP.replace('0.05', '0.01')},draws=200" for k in (1, 3, 10, 30, 100, 300, "inf")]
    specs += [f"erm:k={k},optimizer=exact,draws=200" for k in (1, 3, 30, 300, "inf")]
    together = fit_composed(block, contenders(specs))
    for spec in specs:
        same(fit_composed(block, contenders([spec]))[spec], together[spec])


@pytest.mark.full
def test_compiled_equals_interpreted(wide: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = fit_composed(wide, contenders(SPECS))
    monkeypatch.setattr(composed, "is_compiled", lambda contender: False)
    interpreted = fit_composed(wide, contenders(SPECS))
    for spec in SPECS:
        one, other = compiled[spec], interpreted[spec]
        np.testing.assert_allclose(parameters(other), parameters(one), rtol=1e-7, atol=1e-9)
        assert set(one.curves) == set(other.curves)
        for name, curve in one.curves.items():
            np.testing.assert_array_equal(curve.steps, other.curves[name].steps)
            np.testing.assert_allclose(other.curves[name].values, curve.values, rtol=1e-6, atol=1e-9)
        for name in one.info:
            assert other.info[name] == pytest.approx(one.info[name], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("averaging", ["full", "tail", "off"])
def test_what_is_averaged(wide: Block, averaging: str) -> None:
    """The recorded last iterates, one for each step, are what the answer is an average of."""
    spec = f"erm:k=2,optimizer=composite(c=0.05,averaging={averaging},tail=0.25),draws=20,curve=200"
    outcome = fit_composed(wide, contenders([spec]))[spec]
    kept = {"full": 20, "tail": 5, "off": 1}[averaging]
    fits = _Fits(wide, contenders([spec]), 20, True)
    path = fits.stream.run(20, np.arange(1, 21))
    np.testing.assert_allclose(
        parameters(outcome), path.last[20 - kept :, fits.stream.rows[0]].mean(axis=0), rtol=1e-12
    )
    np.testing.assert_array_equal(path.averaged[19, fits.stream.rows[0]], parameters(outcome))
    np.testing.assert_array_equal(path.averaged[0], path.last[0])


def test_an_elastic_net_is_where_its_conditions_of_a_minimum_hold(wide: Block) -> None:
    """Of the solver exactly; what 40,000 stochastic steps come to is near."""
    spec = "erm:aggregator=limit-scores,lambda=1,l1=0.1,optimizer={},draws=40000"
    found, near = (
        parameters(fit_composed(wide, contenders([one]))[one])
        for one in (spec.format("proximal"), spec.format("composite(c=1,schedule=inverse-t,t0=100)"))
    )
    weights = row_weights(wide)
    x = wide.design.x * np.sqrt(len(weights) * weights)[:, None]
    target = np.concatenate(
        [Regression().target(limit) for limit in np.split(limit_scores(wide.design), wide.design.offsets[1:-1])]
    )
    slope = x.T @ (x @ found - target * np.sqrt(len(weights) * weights)) / len(x) + found
    zero = found == 0
    assert np.abs(slope[~zero] + 0.1 * np.sign(found[~zero])).max(initial=0) < 1e-7
    assert np.abs(slope[zero]).max(initial=0) <= 0.1 + 1e-7
    assert np.linalg.norm(near - found) < 0.05 * np.linalg.norm(found)


def test_a_contender_that_diverges_takes_nobody_with_it(wide: Block) -> None:
    wild = "erm:k=3,optimizer=composite(c=1e300,schedule=inverse-sqrt),draws=300"
    together = fit_composed(wide, contenders([wild, *SPECS[:3]]))
    assert type(together[wild]).__name__ == "ContenderDiverged"
    assert "smaller step constant" in str(together[wild])
    for spec in SPECS[:3]:
        same(fit_composed(wide, contenders([spec]))[spec], together[spec])


class Shifted(PairwiseSquared):
    """``(2 - t)^2``, by kernels that nobody has compiled yet."""

    name = "shifted"

    def phi_kernels(self) -> tuple[Kernel, Kernel, None]:
        def phi(margins, params, out):  # type: ignore[no-untyped-def]
            for i in range(len(margins)):
                out[i] = (2.0 - margins[i]) ** 2

        def dphi(margins, params, out):  # type: ignore[no-untyped-def]
            for i in range(len(margins)):
                out[i] = 2.0 * (margins[i] - 2.0)

        return Kernel(njit(PHI)(phi)), Kernel(njit(PHI)(dphi)), None


@pytest.mark.full
def test_a_new_surrogate_compiles_nothing_of_the_loop(wide: Block) -> None:
    def compiled() -> dict[str, int]:
        functions = (
            (module, name, value) for module in (loop, sampling, targets) for name, value in vars(module).items()
        )
        return {f"{module} {name}": len(f.signatures) for module, name, f in functions if hasattr(f, "signatures")}

    known = contenders([f"erm:aggregator=average-adjacency,k=1,surrogate=pairwise-squared,{STEP},draws=20"])
    fit_composed(wide, known)
    before = compiled()
    (method,) = known.values()
    new = method.model_copy(update={"surrogate": Shifted()})
    assert composed.is_compiled(new)
    assert np.isfinite(parameters(fit_composed(wide, {"": new})[""])).all()
    assert compiled() == before


def test_judgments_of_one_query_only(wide: Block) -> None:
    lonely = dataclasses.replace(wide, comparisons=make_one_query(wide))
    outcome = fit_composed(lonely, contenders(["erm:k=3,draws=300", SPECS[0], SPECS[-20]]))
    assert all(isinstance(o, Fitted) for o in outcome.values())


def make_one_query(block: Block):  # type: ignore[no-untyped-def]
    c = block.comparisons
    first, last = c.offsets[3:5]
    offsets = np.array([0, 0, 0, 0, last - first, last - first, last - first])
    return type(c)(offsets, c.winners[first:last], c.losers[first:last], c.weights[first:last])
