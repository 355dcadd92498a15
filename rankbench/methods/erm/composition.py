"""A composition names aggregator, surrogate, model and optimizer of a contender, and rejects parts that do not fit."""

from __future__ import annotations

import math
from typing import Annotated, Self

from pydantic import Field, model_validator

from rankbench.core.component import Order
from rankbench.interfaces.aggregator import Aggregator
from rankbench.interfaces.method import Method, Model, Optimizer, Penalty, Solver
from rankbench.interfaces.surrogate import ScoreSurrogate, Surrogate
from rankbench.plugin.manager import reference


class Composition(Method):
    """The parameters of `rankbench.methods.erm.ERM`, checked for its fits.

    Raises
    ------
    SpecError
        Parts do not go together: says which, and what to write instead.
    """

    aggregator: Annotated[Aggregator, reference(Aggregator)] = Field(
        default="mean-log-odds", validate_default=True, description="Aggregator s(Y_1..Y_k)."
    )
    k: Order = Field(default=math.inf, description="Order of the U-statistic; inf: all of a query's judgments.")
    surrogate: Annotated[Surrogate, reference(Surrogate)] = Field(
        default="regression", validate_default=True, description="Convex surrogate."
    )
    model: Annotated[Model, reference(Model)] = Field(
        default="linear", validate_default=True, description="From features to scores."
    )
    optimizer: Annotated[Optimizer, reference(Optimizer)] = Field(
        default="exact", validate_default=True, description="A step (lockstep) or a solver."
    )
    l2: float = Field(default=1e-3, alias="lambda", ge=0, allow_inf_nan=False, description="Ridge penalty.")
    l1: float = Field(default=0.0, ge=0, allow_inf_nan=False, description="Lasso penalty.")
    radius: float = Field(default=math.inf, gt=0, description="Largest length of theta.")
    box: float = Field(default=math.inf, gt=0, description="Largest absolute entry of theta; not with radius.")

    draws: int = Field(
        default=100_000,
        ge=1,
        le=10**9,
        description="Draws from the U-statistic: steps of a stochastic optimizer, subsets behind a solver's "
        "right-hand side where 1 < k < n_q.",
    )
    curve: int = Field(default=0, ge=0, le=10_000, description="Points to record along a stochastic optimizer's path.")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.aggregator.judgments != "comparisons":
            raise ValueError(f"aggregator {self.aggregator.name!r} works on {self.aggregator.judgments}")
        if self.aggregator.structure != self.surrogate.structure:
            raise ValueError(
                f"aggregator {self.aggregator.name!r} makes {self.aggregator.structure}, "
                f"surrogate {self.surrogate.name!r} wants {self.surrogate.structure}"
            )
        if {"additive", "sequential"} <= self.aggregator.properties and self.k != 1:
            raise ValueError(
                f"aggregator {self.aggregator.name!r} takes one judgment, whatever the sample: "
                f"its only order is 1; write k=1, not k={self.k}"
            )
        if "sequential" in self.aggregator.properties and self.k != 1 and not math.isinf(self.k):
            raise ValueError(
                f"aggregator {self.aggregator.name!r} depends on the order of the judgments, which samples of "
                f"k={self.k:g} do not have. Write k=inf, the order in which they were made, or k=1"
            )
        if math.isfinite(self.radius) and math.isfinite(self.box):
            raise ValueError("radius and box exclude each other: give one of them")
        if beyond := sorted(self.penalty.parts - self.optimizer.penalties):
            raise ValueError(f"optimizer {self.optimizer.name!r} cannot deal with {beyond[0]}; try proximal")
        of_labels = self.aggregator.needs_truth and self.aggregator.structure == "edges"
        if of_labels and not isinstance(self.optimizer, Solver):
            raise ValueError(
                f"optimizer {self.optimizer.name!r} draws samples of judgments, and aggregator "
                f"{self.aggregator.name!r} makes one graph of a query's labels. Take a solver, such as newton"
            )
        if isinstance(self.optimizer, Solver):
            lacking = sorted(self.optimizer.needs - self.surrogate.properties)
            hinge = "hinge" in self.surrogate.properties
            if hinge and "hinge" not in self.optimizer.needs:
                raise ValueError(
                    f"optimizer {self.optimizer.name!r} needs derivatives, which {self.surrogate.name!r} does not have "
                    "everywhere; write optimizer=hinge-dual or composite"
                )
            if lacking:
                others = [name for name in ("newton", "lbfgs", "composite") if name != self.optimizer.name]
                raise ValueError(
                    f"optimizer {self.optimizer.name!r} needs a {lacking[0]} surrogate, "
                    f"which {self.surrogate.name!r} is not; try {' or '.join(others)}"
                )
            linear = {"quadratic", "target-linear"} & self.surrogate.properties
            whole = math.isinf(self.k) or self.aggregator.needs_truth
            if isinstance(self.surrogate, ScoreSurrogate) and not (linear or whole):
                raise ValueError(
                    f"surrogate {self.surrogate.name!r} is not linear in its target, so that only k=inf has a solver; "
                    "use k=inf, or a stochastic optimizer such as composite"
                )
        return self

    @property
    def penalty(self) -> Penalty:
        """Penalty that is added to the risk."""
        return Penalty(self.l2, self.l1, self.radius, self.box)
