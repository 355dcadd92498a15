"""`rankbench certify --verify`: what the checker says, and whether the surrogate is the one that is installed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rankbench.certify.check import Checked, Rejected, Uncheckable, check_file, described, printable
from rankbench.certify.writing import source_hash
from rankbench.errors import InputError, RankbenchError
from rankbench.kinds.surrogate import Surrogate
from rankbench.plugin.manager import component_class

__all__ = ["Verified", "verify"]


@dataclass(frozen=True)
class Verified:
    """What became of a certificate.

    Attributes
    ----------
    accepted : bool
    lines : tuple of str
        What to print.
    """

    accepted: bool
    lines: tuple[str, ...]


def verify(path: Path | str) -> Verified:
    """Check a certificate, and compare the hash of its surrogate's source with what is installed here.

    Of a surrogate whose formula the checker knows, nothing rests on the source. Of others, what is
    taken on trust is the source's: another one than that of the certificate is a reason to reject it.

    Raises
    ------
    InputError
        It cannot be checked.
    OSError
        The file cannot be read.
    """
    try:
        found = check_file(path)
    except Rejected as error:
        return Verified(False, (printable(f"{path}: rejected: {error}"),))
    except Uncheckable as error:
        raise InputError(f"{path} was not checked: {error}") from None
    said, same = _source(found)
    if found.followed or same is not False:
        return Verified(True, (*map(printable, described(str(path), found)), f"  {said}"))
    return Verified(False, (printable(f"{path}: rejected: {said}"),))


def _source(found: Checked) -> tuple[str, bool | None]:
    """Say whether the installed source is that of the certificate; None if there is nothing to compare."""
    name = printable(found.surrogate)
    try:
        here = source_hash(component_class(Surrogate, found.surrogate))
    except RankbenchError:
        return f"source: not compared, {name} is not installed here", None
    if "unknown" in (here, found.source_sha256):
        return f"source: not compared, that of {name} is unknown", None
    if here == found.source_sha256:
        return f"source: that of {name} as installed here", True
    hashes = f"{found.source_sha256[:12]}, not {here[:12]}"
    if found.followed:
        return f"source: another one of {name} than installed here ({hashes}); nothing rests on it", False
    return f"it is about another source of {name} than the one installed here (sha256 {hashes})", False
