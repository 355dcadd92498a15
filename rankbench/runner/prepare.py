"""Data are prepared once and mapped into memory."""

from __future__ import annotations

import json
import mmap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, get_type_hints

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from rankbench.core.spec import Spec, parse
from rankbench.core.system import check_memory, release_memory
from rankbench.core.temporary import temporary_folder
from rankbench.errors import InputError, PluginError, RankbenchError, SpecError, nearest, option
from rankbench.interfaces.cell import guarded, reason
from rankbench.interfaces.dataset import Dataset, clear_cache
from rankbench.interfaces.metric import Metric
from rankbench.interfaces.protocol import Prepared, Protocol
from rankbench.interfaces.suite import Suite
from rankbench.plugin import manager
from rankbench.plugin.manager import component_class, names
from rankbench.plugin.third_party import is_ours


@dataclass(frozen=True)
class Sources:
    """Prepared data of a suite's experiments.

    Attributes
    ----------
    sources : list of Prepared
    source_index : dict of str to int
        Index of each experiment's source.
    left_out : dict of str to str
        Optional experiments that the data do not allow, and why.
    """

    sources: list[Prepared]
    source_index: dict[str, int]
    left_out: dict[str, str]


def prepare_sources(suite: Suite, given: Sequence[Dataset] = ()) -> Sources:
    """Prepare the data of all experiments of a suite, each protocol on a data set once.

    Parameters
    ----------
    suite : Suite
        With its includes resolved.
    given : sequence of Dataset
        Each replaces that of every experiment whose protocol takes it, the first one that fits.

    Raises
    ------
    InputError
        The data are not there, cannot be read, or are too few.
    SpecError
        An unknown protocol or data set, one that does not go with the other, or a data set
        that no experiment takes.
    """
    wanted: dict[tuple[str, str], tuple[Protocol, Dataset | None]] = {}
    key_of: dict[str, tuple[str, str]] = {}
    own: dict[str, Dataset] = {}
    for experiment in suite.experiments:
        protocol = protocol_of(experiment.protocol)
        dataset = _first_fitting(protocol, given)
        if protocol.table is not None and dataset is None:
            dataset = _own(experiment.name, experiment.dataset, protocol, [protocol.refusal(one) for one in given])
            # One object, so that a protocol recognizes data that another one has loaded.
            dataset = own.setdefault(str(dataset), dataset)
        key_of[experiment.name] = key = (str(protocol), str(dataset) if dataset else "")
        wanted[key] = (protocol, dataset)
    for i, one in enumerate(given):
        # By itself: two files of one name are two data sets.
        if not any(dataset is one for _, dataset in wanted.values()):
            refusals = [protocol.refusal(one) for protocol, _ in wanted.values() if protocol.table is not None]
            why = refusals[-1] if refusals else "its protocols take none"
            if "" in refusals:
                why = "an earlier one takes its place; run the suite on one after the other"
            which = f"{one!s} (number {i + 1})" if len(given) > 1 else str(one)
            raise SpecError(f"no experiment of suite {suite.name!r} takes data set {which}: {why}")
    return _prepared(suite, wanted, key_of)


def _first_fitting(protocol: Protocol, given: Sequence[Dataset]) -> Dataset | None:
    """Return the first data set that a protocol takes, in the place of the suite's."""
    takes = protocol.table is not None
    return next((one for one in given if takes and not protocol.refusal(one)), None)


def source_names(suite: Suite, given: Sequence[Dataset] = ()) -> dict[str, tuple[str, str]]:
    """Return by experiment the name of its protocol and its data set, as `prepare_sources` chooses them."""
    found = {}
    for experiment in suite.experiments:
        protocol = protocol_of(experiment.protocol)
        data = _first_fitting(protocol, given)
        if data is None and protocol.table is not None and experiment.dataset:
            data = dataset_of(experiment.dataset)
        found[experiment.name] = protocol.name, str(data or "")
    return found


def in_time_units(suite: Suite, unit: str) -> tuple[Suite, list[str]]:
    """Return a suite whose sequential experiments group judgments by a unit of time, and their names.

    Raises
    ------
    SpecError
        There is no such unit, or no such experiment.
    """
    found = {e.name: protocol_of(e.protocol).in_time_units(unit) for e in suite.experiments}
    if not (changed := {name: str(protocol) for name, protocol in found.items() if protocol is not None}):
        raise SpecError(f"no experiment of suite {suite.name!r} goes by time: leave {option('time_unit')} out")
    whole = [e.model_copy(update={"protocol": changed.get(e.name, e.protocol)}) for e in suite.experiments]
    return suite.model_copy(update={"experiments": tuple(whole)}), list(changed)


def with_parameters(suite: Suite, text: str) -> Suite:
    """Return a suite with other parameters of its protocols, in every experiment whose protocol has them.

    Parameters
    ----------
    suite : Suite
        With its includes resolved.
    text : str
        As ``design=50,heldout=200``.

    Raises
    ------
    SpecError
        No protocol of the suite has such a parameter, or a value does not fit.
    """
    given = parse(f"{Protocol.kind}:{text}").params
    known: set[str] = set()
    changed = []
    for experiment in suite.experiments:
        spec = parse(experiment.protocol)
        own = component_class(Protocol, spec.name).parameters()
        known.update(own)
        fitting = {name: value for name, value in given.items() if name in own}
        protocol = str(manager.get(Protocol, Spec(spec.name, spec.params | fitting)))
        changed.append(experiment.model_copy(update={"protocol": protocol} if fitting else {}))
    if unknown := [name for name in given if name not in known]:
        having = f"have {', '.join(sorted(known))}" if known else "have no parameters"
        said = f"{option('parameters', unknown[0])}: the protocols of suite {suite.name!r} {having}"
        raise SpecError(f"{said}{nearest(unknown[0], known)}")
    return suite.model_copy(update={"experiments": tuple(changed)})


def _prepared(
    suite: Suite, wanted: dict[tuple[str, str], tuple[Protocol, Dataset | None]], key_of: dict[str, tuple[str, str]]
) -> Sources:
    """Prepare each source once; optional experiments' sources may fail."""
    ready: dict[tuple[str, str], Prepared] = {}
    failed: dict[tuple[str, str], str] = {}
    for key, (protocol, dataset) in wanted.items():
        needed = any(not e.optional for e in suite.experiments if key_of[e.name] == key)
        try:
            ready[key] = _by(protocol, dataset, suite.seed)
        except (InputError, SpecError) as error:
            if needed:
                raise
            failed[key] = str(error)
    clear_cache()
    index = {key: i for i, key in enumerate(ready)}
    of = {name: index[key] for name, key in key_of.items() if key in index}
    return Sources(list(ready.values()), of, {name: failed[key] for name, key in key_of.items() if key in failed})


def _by(protocol: Protocol, dataset: Dataset | None, seed: int) -> Prepared:
    """Return the prepared protocol; protocol and data set may be third-party code.

    Raises
    ------
    PluginError
        Two units of a split have one name, or third-party code raised an error that it must not raise.
    """
    if dataset is not None:
        size: object = guarded(dataset.memory)
        if isinstance(size, int) and size > 0:
            check_memory(size, f"data set {dataset!s}", "less of it, or another one")
    ours = is_ours(protocol) and (dataset is None or is_ours(dataset))
    prepared = protocol.prepare(dataset, seed) if ours else guarded(lambda: protocol.prepare(dataset, seed))
    if isinstance(prepared, RankbenchError):
        raise prepared
    if isinstance(prepared, Exception):
        raise PluginError(f"protocol {protocol!s} cannot prepare {dataset or 'its data'!s}: {reason(prepared)}")
    for split, units in prepared.units.items():
        if twice := [name for name, count in Counter(units).items() if count > 1]:
            raise PluginError(f"protocol {protocol!s} names two of the {split} units {twice[0]!r}")
    return prepared


def _own(experiment: str, text: str, protocol: Protocol, refusals: Sequence[str]) -> Dataset:
    """Return the suite's own data set of an experiment; `refusals` are the errors of given data sets."""
    if not text and refusals:
        raise SpecError(f"experiment {experiment!r}: {'; '.join(refusals)}")
    if not text:
        raise SpecError(
            f"experiment {experiment!r}: protocol {protocol.name!r} needs a data set of {protocol.table}; name one "
            f"with {option('dataset')}, or a file of your own with {option('log')}"
        )
    dataset = dataset_of(text)
    if refusal := protocol.refusal(dataset):
        raise SpecError(f"experiment {experiment!r}: {refusal}")
    return dataset


def protocol_of(text: str) -> Protocol:
    """Return a protocol by its spec."""
    return manager.get(Protocol, text)


def dataset_of(text: str) -> Dataset:
    """Return a data set by its name or spec; or a file, a folder of files or a pattern, with a table in it.

    Raises
    ------
    InputError
        There is no such file or data set, or it is nothing that a reader knows.
    """
    # A data set of this name comes before a file of this name.
    if text.split(":", 1)[0] in names(Dataset.kind):
        return manager.get(Dataset, text)
    from rankbench.logs.open import named

    return named(text)


_OBJECTS = ("protocol", "dataset", "arrays")
"""Fields of `Prepared` that are not written as plain values."""

_ALIGNMENT = 64
"""Arrays begin at multiples of so many bytes, as NumPy's own do."""

_LENGTH = 8
"""Bytes at the end that say how long the facts before them are."""


def write_shared(sources: Sequence[Prepared], file: BinaryIO) -> None:
    """Write the data of blocks: every array once, in NumPy's format, then a JSON text of the rest."""
    written: dict[int, int] = {}
    facts = []
    for prepared in sources:
        for array in prepared.arrays.values():
            # Data that sources share, as protocols on one log do, are written once.
            if id(array) not in written:
                file.write(bytes(-file.tell() % _ALIGNMENT))
                written[id(array)] = file.tell()
                np.lib.format.write_array(file, array, version=(2, 0), allow_pickle=False)
        facts.append(
            {name: getattr(prepared, name) for name in _plain_fields()}
            | {
                "protocol": str(prepared.protocol),
                "dataset": spec_of(prepared.dataset),
                "arrays": {of: written[id(array)] for of, array in prepared.arrays.items()},
            }
        )
    text = json.dumps(facts, default=_plain).encode()
    file.write(text + len(text).to_bytes(_LENGTH, "little"))


@cache
def _plain_fields() -> dict[str, TypeAdapter[Any]]:
    """Return the JSON adapter of each plain field of `Prepared`."""
    hints = get_type_hints(Prepared)
    return {field.name: TypeAdapter(hints[field.name]) for field in fields(Prepared) if field.name not in _OBJECTS}


def _plain(value: Any) -> Any:
    """Return a metric, a mapping or a NumPy scalar as a value for JSON."""
    if isinstance(value, Metric):
        return asdict(value)
    return dict(value) if isinstance(value, Mapping) else value.item()


@contextmanager
def shared(sources: list[Prepared]) -> Iterator[Path]:
    """Write the data of blocks to a temporary file that workers map into memory.

    So does this process: sources with mapped arrays take the place of those in the list, whose memory is free
    when nothing else refers to them.
    """
    with temporary_folder() as folder:
        path = folder / "shared"
        with path.open("wb") as file:
            write_shared(sources, file)
        # Not by a loop, whose variable would hold the last source as long as blocks run.
        sources[:] = [replace(one, arrays=open_shared(path, source).arrays) for source, one in enumerate(sources)]
        release_memory()
        yield path


def spec_of(dataset: Dataset | None) -> str:
    """Return the spec by which a worker makes the data set again, or ``""``.

    A data set that is not registered (a file of one's own, an object made in a script) is
    known to the parent process alone; its blocks have all that they need in the arrays.
    """
    if dataset is None or dataset.name not in names("dataset"):
        return ""
    return str(dataset) if component_class(Dataset, dataset.name) is type(dataset) else ""


def open_shared(place: str | Path, source: int) -> Prepared:
    """Open a source written by `write_shared`, with its arrays mapped read-only.

    Equal to the source as written in every field, except a data set without a `spec_of`
    text, which is None.
    """
    with Path(place).open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    end = len(mapped) - _LENGTH
    facts = json.loads(mapped[end - int.from_bytes(mapped[end:], "little") : end])[source]
    arrays = {name: _array(mapped, first) for name, first in facts["arrays"].items()}
    plain = {name: adapter.validate_python(facts[name]) for name, adapter in _plain_fields().items()}
    dataset = dataset_of(facts["dataset"]) if facts["dataset"] else None
    return Prepared(protocol=protocol_of(facts["protocol"]), dataset=dataset, arrays=arrays, **plain)


def _array(mapped: mmap.mmap, first: int) -> NDArray[Any]:
    """Return the array that begins at a byte."""
    mapped.seek(first)
    np.lib.format.read_magic(mapped)
    shape, columns, dtype = np.lib.format.read_array_header_2_0(mapped)
    return np.ndarray(shape, dtype, mapped, mapped.tell(), order="F" if columns else "C")
