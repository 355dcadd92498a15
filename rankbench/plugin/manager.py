"""Look-ups find components, contenders, claims and figures by name or spec."""

from __future__ import annotations

import importlib.metadata
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

from pydantic import BeforeValidator, ValidationError

from rankbench.core.component import Component, build, first_problem
from rankbench.core.spec import Spec, Value, parse
from rankbench.errors import PluginError, SpecError, nearest
from rankbench.interfaces.claim import ClaimKind
from rankbench.interfaces.contender import Contender
from rankbench.interfaces.figure import FigureKind
from rankbench.interfaces.suite import Claim, ContenderEntry, Experiment, Figure
from rankbench.plugin import registry
from rankbench.plugin.loading import Loader, PluginStatus
from rankbench.plugin.registry import FORMAT, SUITE, Origin, base_of

C = TypeVar("C", bound=Component)
"""Of ``Callable[..., C]``, not of ``type[C]``, in which mypy accepts no abstract class."""

_lock = threading.RLock()
_loader: Loader | None = None
_loading = False


def plugins(kind: str = "") -> Loader:
    """Return the plugins of this process; the first call for a kind loads all that may have the kind.

    Parameters
    ----------
    kind : str
        Or ``suite``. By default all plugins are loaded.

    Raises
    ------
    PluginError
        A plugin is broken and ``RANKBENCH_STRICT_PLUGINS`` is set, or a plugin looks
        components up while it is being loaded.
    """
    global _loader, _loading
    with _lock:
        if _loading:
            raise PluginError("components cannot be looked up while plugins load; do it inside a function")
        loader = _loader
        if loader is None:
            strict = os.environ.get("RANKBENCH_STRICT_PLUGINS", "") not in ("", "0")
            loader = Loader(importlib.metadata.entry_points(group=registry.GROUP), strict=strict)
        # If a plugin is broken and must not be, the next call begins anew.
        _loader, _loading = None, True
        try:
            loader.load(kind)
        finally:
            _loading = False
        _loader = loader
        return loader


def get(base: Callable[..., C], text: str | Spec) -> C:
    """Return the component that a name or spec describes.

    Parameters
    ----------
    base : type
        Class that it must have: the base class of its kind, such as `rankbench.Aggregator`, or a
        class that derives from one. Type checkers know that the component is of this class.
    text : str or Spec
        ``name`` or ``name:param=value,...``.

    Raises
    ------
    SpecError
        Unknown name or parameter (the message has the nearest valid one), a component of the
        kind that is not of the class, a value that does not fit, no text at all, or a grid: a
        list describes several components, see `rankbench.core.component.build`.

    Examples
    --------
    >>> import rankbench
    >>> rankbench.get(rankbench.Aggregator, "elo:factor=20")
    Elo(factor=20.0)
    """
    spec = parse(text) if isinstance(text, str) else text
    found = written_class(base, spec.name)
    if _is_grid(spec):
        raise SpecError(f"{_kind(base)} {str(spec)!r} is a grid; write one value for each parameter here")
    return found.from_spec(spec)


def _is_grid(value: Value) -> bool:
    if isinstance(value, Spec):
        return any(_is_grid(v) for v in value.params.values())
    return isinstance(value, list)


def _kind(base: object) -> str:
    if isinstance(base, type) and issubclass(base, Component) and hasattr(base, "kind"):
        return base.kind
    raise SpecError(f"{base!r} is not a class of components, such as rankbench.Aggregator")


def component_class(base: Callable[..., C], name: str) -> type[C]:
    """Return the class of a component.

    Parameters
    ----------
    base : type
        As of `get`; `rankbench.plugin.registry.base_of` returns it where a text says the kind.
    name : str

    Raises
    ------
    SpecError
        Unknown name, or a component that is not of this class. If plugins are broken, the
        message says so: a missing component may be theirs.
    """
    kind = _kind(base)
    try:
        found = plugins(kind).registry.component_class(kind, name)
    except SpecError as error:
        raise SpecError(f"{error}{broken_plugins()}") from None
    wanted = cast("type[C]", base)
    if not issubclass(found, wanted):
        known = plugins(kind).registry
        fitting = [other for other in known.names(kind) if issubclass(known.component_class(kind, other), wanted)]
        these = f"; these are: {', '.join(fitting)}" if fitting else ""
        raise SpecError(f"{kind} {name!r} is not a {wanted.__name__}{these}")
    return found


def written_class(base: Callable[..., C], name: str) -> type[C]:
    """Return the class of a name in a user's spec, as `component_class` does.

    Raises
    ------
    SpecError
        Also for a name of rankbench that a plugin registers: which of the two is meant is not known.
    """
    check_contested(name, _kind(base))
    return component_class(base, name)


def check_contested(name: str, kind: str) -> None:
    """Raise if two distributions register a written name for a kind (or ``suite``).

    Raises
    ------
    SpecError
        It names the distributions, and the way to choose one.
    """
    plugins(kind).registry.check_contested(name, kind)


def broken_plugins(name: str = "") -> str:
    """Return a suffix for messages about unknown names: " (broken plugins: ...)", or "".

    Raises
    ------
    SpecError
        Two plugins have the name, and so it stands for neither.
    """
    plugins().registry.check_contested(name)
    broken = sorted({s.distribution for s in statuses() if s.status == "broken"})
    return f" (broken plugins: {', '.join(broken)}; see `rankbench info`)" if broken else ""


def names(kind: str) -> list[str]:
    """Return the names of a kind's components (or of the suites), sorted."""
    return plugins(kind).registry.names(kind)


def suites() -> dict[str, Path]:
    """Return the suite files by name."""
    return plugins(SUITE).registry.files(SUITE)


def format_files() -> dict[str, Path]:
    """Return the files of known formats by name."""
    return plugins(FORMAT).registry.files(FORMAT)


def origin(kind: str, name: str) -> Origin:
    """Return the distribution and version that a component (or a suite) comes from."""
    return plugins(kind).registry.origin(kind, name)


def component_distribution(component: Component) -> str:
    """Return the distribution that registered a component's class, or its module if unregistered.

    A class that is not registered, as in a script, is its module's.
    """
    made = type(component)
    known = plugins().registry.origin_of(made)
    return known.distribution if known is not None else made.__module__.partition(".")[0]


def statuses() -> list[PluginStatus]:
    """Return the status of each plugin, the built-in ones first."""
    return plugins().statuses


LABEL_LENGTH = 200


def contender(base: Callable[..., Component], spec: Spec) -> Contender:
    """Return the contender that a spec describes, a grid with all its points.

    Parameters
    ----------
    base : type
        Class of contenders, as of `rankbench.get`: the base class of their kind.
    spec : Spec

    Raises
    ------
    SpecError
        An unknown component or parameter, or a value that does not fit.
    """
    return Contender(str(spec), tuple(build(written_class(base, spec.name), spec)))


def contenders(entry: ContenderEntry, kind: str = "method") -> list[tuple[str, Contender]]:
    """Return the contenders of an entry by label, its grid multiplied out.

    An entry to be tuned is one contender whose points are its grid; the others have one
    point each.

    Raises
    ------
    SpecError
        An unknown component or parameter, a label that names one, or a label that gets
        longer than 200 characters.
    """
    whole = contender(base_of(kind), entry.use)
    if entry.tune:
        return [(entry.label or whole.text, whole)]
    labelled = []
    for point in whole.points:
        written = {key: _short(getattr(point, attribute)) for key, attribute in point.attributes().items()}
        alone = Contender.single(point)
        labelled.append((_label(entry, written) if entry.label else alone.text, alone))
    return labelled


def _label(entry: ContenderEntry, written: dict[str, str]) -> str:
    """Replace each ``{name}`` by that parameter's value: names only, no format string."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in written:
            raise SpecError(
                f"label {entry.label!r} of {str(entry.use)!r}: {match[1]!r} is no parameter{nearest(match[1], written)}"
            )
        return written[match[1]]

    label = re.sub(r"\{([^{}]*)\}", value, entry.label)
    if len(label) > LABEL_LENGTH:
        raise SpecError(
            f"label {entry.label!r} of {str(entry.use)!r}: longer than {LABEL_LENGTH} characters; shorten it"
        )
    return label


def _short(value: object) -> str:
    if isinstance(value, Component):
        return value.spec().nested()
    # Six digits, or all where these are another number.
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def reference(base: type[Component]) -> BeforeValidator:
    """Return a validator that looks up names and specs in the registry.

    Parameters
    ----------
    base : type
        Class that the component must have, as of `rankbench.get`: ``Annotated[Model, reference(Model)]``.

    Raises
    ------
    SpecError
        `base` is no class of components: at once, where the parameter is declared.
    """
    _kind(base)

    def resolve(value: object) -> object:
        if isinstance(value, (str, Spec)):
            return get(base, value)
        return value

    return BeforeValidator(resolve)


SuiteKind = TypeVar("SuiteKind", ClaimKind, FigureKind)


def claim_kind(claim: Claim) -> ClaimKind:
    """Return the kind of a claim, with the claim's own parameters.

    Keys that the kind does not know are left out: records of old runs hold the keys of all kinds.

    Raises
    ------
    SpecError
        It is not registered: the plugin that brought it is gone.
    """
    return _made(ClaimKind, claim)


def figure_kind(figure: Figure) -> FigureKind:
    """Return the kind of a figure, with the figure's own parameters; see `claim_kind`.

    Raises
    ------
    SpecError
        It is not registered: the plugin that brought it is gone. Or its parameters are none of this kind.
    """
    return _made(FigureKind, figure)


def check_tables(experiment: Experiment, where: str) -> None:
    """Check the tables of an experiment's claims and figures against their kinds.

    Parameters
    ----------
    experiment : Experiment
    where : str
        Its key path, for the error.

    Raises
    ------
    SpecError
        A kind that is not registered, a key that it does not know, a value that does not fit, or one that is missing.
    """
    for i, claim in enumerate(experiment.claims):
        _check(ClaimKind, claim, f"{where}.claims.{i}")
    for i, figure in enumerate(experiment.figures):
        _check(FigureKind, figure, f"{where}.figures.{i}")


def _made(base: Callable[..., SuiteKind], table: Claim | Figure) -> SuiteKind:
    cls = written_class(base, table.kind)
    try:
        return cls.model_validate({key: value for key, value in table.options.items() if key in cls.parameters()})
    except ValidationError as error:
        raise SpecError(f"a {cls.kind} of kind {cls.name!r}: {_first(error)}") from error


def _first(error: ValidationError, *where: str) -> str:
    """Return the first of the errors, with its key path."""
    key, reason = first_problem(error)
    return ": ".join(filter(None, [".".join(filter(None, [*where, key])), reason]))


def _check(base: Callable[..., ClaimKind | FigureKind], table: Claim | Figure, where: str) -> None:
    try:
        cls = written_class(base, table.kind)
    except SpecError as error:
        raise SpecError(f"{where}.kind: {error}") from error
    unknown = [key for key in table.options if key not in cls.parameters()]
    if unknown:
        known = [*type(table).model_fields, *cls.parameters()]
        raise SpecError(
            f"{where}.{unknown[0]}: unknown key of a {cls.kind} of kind {cls.name!r}{nearest(unknown[0], known)}"
        )
    try:
        lacking = cls.model_validate(table.options).lacks()
    except ValidationError as error:
        raise SpecError(_first(error, where)) from error
    if lacking:
        raise SpecError(f"{where}: {lacking}")
