"""Files of any contents are opened decompressed and in UTF-8, in pieces of bounded size."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import shlex
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any, TypeAlias

from rankbench.core.system import GB, free_disk
from rankbench.core.temporary import kept_folder
from rankbench.errors import InputError
from rankbench.interfaces.table_check import QUOTED, UNREADABLE

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

BOM = codecs.BOM_UTF8

_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_BLOCK = 1 << 16
_MOST_MEMORY = 1 << 28
"""Bytes that unpacking xz may take: ``xz -9`` asks for a quarter of it."""

_PACKED = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\0", "zip": b"PK\3\4", "zstd": b"\x28\xb5\x2f\xfd"}
"""The first bytes of compressed files."""


_Decompressor: TypeAlias = bz2.BZ2Decompressor | lzma.LZMADecompressor | zstd.ZstdDecompressor

_DECOMPRESSORS: dict[str, Callable[[], _Decompressor]] = {
    "bzip2": bz2.BZ2Decompressor,
    "xz": partial(lzma.LZMADecompressor, memlimit=_MOST_MEMORY),
    "zstd": zstd.ZstdDecompressor,
}


def _decompressed(file: IO[bytes], started: Callable[[], _Decompressor]) -> Iterator[bytes]:
    """Yield the bytes of all streams of a file, at most a block at a time."""
    with file:
        data = file.read(_BLOCK)
        while data:
            stream = started()
            while not stream.eof:
                if not data and stream.needs_input:
                    raise EOFError("it ends in the middle")
                yield stream.decompress(data, _BLOCK)
                data = file.read(_BLOCK) if stream.needs_input and not stream.eof else b""
            data = stream.unused_data.lstrip(b"\0") or file.read(_BLOCK).lstrip(b"\0")  # xz pads its streams


class _Pieces(io.RawIOBase):
    """A file of bytes that come in pieces."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self.pieces, self.rest = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # what io.BufferedReader gives
        self.rest = self.rest or next(filter(None, self.pieces), b"")
        count = min(len(buffer), len(self.rest))
        buffer[:count], self.rest = self.rest[:count], self.rest[count:]
        return count


def opened(path: Path) -> IO[bytes]:
    """Open a file for reading, decompressed by its first bytes, and in UTF-8 if it has a byte-order mark.

    Raises
    ------
    InputError
        It cannot be read, is an archive of several files, or in another encoding.
    """
    file = _opened(path)
    first = file.peek(4)[:4]  # type: ignore[attr-defined]
    if first in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        raise InputError(f"it is UTF-32; convert it: {_command('UTF-32', path)}", path=path)
    if (name := _MARKS.get(first[:2])) is not None:
        file.read(2)
        return io.BufferedReader(_Pieces(_recoded(file, name, path)))
    # Of Latin letters every other byte is zero, and no text in UTF-8 has such.
    zeros = [byte == 0 for byte in first]
    if zeros in ([False, True] * 2, [True, False] * 2):
        guess = "UTF-16LE" if zeros[1] else "UTF-16BE"
        raise InputError(
            f"it looks like UTF-16 without a byte-order mark; convert it: {_command(guess, path)}", path=path
        )
    return file


def _opened(path: Path) -> IO[bytes]:
    """Open a file, unpacked; see `opened`."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"it cannot be read: {error.strerror}", path=path) from error
    if not (name := _packing(file.peek(8)[:8])):
        return file
    plain: Any
    with unpacking(path):
        if name == "zip":
            archive = zipfile.ZipFile(file)
            plain = archive.open(_only_member(archive, path))
        else:
            started = _DECOMPRESSORS.get(name)
            plain = gzip.GzipFile(fileobj=file) if started is None else _Pieces(_decompressed(file, started))
        plain = io.BufferedReader(plain, _BLOCK)
        plain.peek(1)  # raises here if its beginning is damaged
        return plain  # type: ignore[no-any-return]


def _packing(first: bytes) -> str:
    return next((name for name, mark in _PACKED.items() if first.startswith(mark)), "")


def _only_member(archive: zipfile.ZipFile, path: Path) -> str:
    names = [info.filename for info in archive.infolist() if not info.is_dir() and info.file_size]
    names = [name for name in names if not name.startswith("__MACOSX/")]
    if len(names) != 1:
        raise InputError(
            f"the archive holds {len(names)} files, and one is read: unzip {shlex.quote(path.name)}", path=path
        )
    return names[0]


def unpacked_name(path: Path) -> str:
    """Return a file's name without its compression's extension; of a ZIP archive, its member's name.

    Raises
    ------
    InputError
        A ZIP archive holds several files, or is damaged.
    """
    ending = path.suffix.lower()
    if ending == ".zip" and path.is_file():
        with unpacking(path), zipfile.ZipFile(path) as archive:
            return Path(_only_member(archive, path)).name
    return path.stem if ending in (".gz", ".bz2", ".xz", ".zst") else path.name


def _recoded(file: IO[bytes], name: str, path: Path) -> Iterator[bytes]:
    """Yield UTF-16 as UTF-8."""
    try:
        with file:
            for text in codecs.iterdecode(iter(lambda: file.read(_BLOCK), b""), name):
                yield text.encode()
    except UnicodeError as error:
        raise InputError(
            f"the text is damaged or cut off: not all of it is UTF-16, as its first bytes say ({error})", path=path
        ) from error


def foreign_byte(data: bytes, at: int, path: Path) -> str:
    """Return the error text for a byte that is not UTF-8: how to convert the file."""
    return (
        f"byte 0x{data[at]:02x} is not UTF-8; if the file is Latin-1 or Windows-1252, {_command('WINDOWS-1252', path)} "
        "converts it (from Excel: save it as CSV UTF-8)"
    )


def _command(encoding: str, path: Path) -> str:
    name = shlex.quote(path.name)
    return f"iconv -f {encoding} -t UTF-8 {name} > {shlex.quote(f'utf8-{path.name}')}"


_DAMAGED: tuple[type[BaseException], ...] = (
    EOFError,
    RuntimeError,
    zlib.error,
    lzma.LZMAError,
    zstd.ZstdError,
    zipfile.BadZipFile,
    *UNREADABLE,
)
"""Errors for compressed data that cannot be read; zipfile raises `RuntimeError` where a password is needed."""


@contextmanager
def unpacking(path: Path) -> Iterator[None]:
    """Add the file to errors of reading compressed data.

    Raises
    ------
    InputError
    """
    try:
        yield
    except InputError:
        raise
    except _DAMAGED as error:
        # bz2 raises an `OSError` that is not the system's.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(
            f"the compressed data is damaged or cut off ({str(error).splitlines()[0][:QUOTED]}); fetch or "
            "compress the file again",
            path=path,
        ) from error


def blocks(path: Path, size: int = _BLOCK) -> Iterator[bytes]:
    """Yield a file's contents, decompressed, in UTF-8 and without a byte-order mark, at most `size` bytes at a time.

    Raises
    ------
    InputError
        See `opened`; the compressed data is damaged.
    """
    with opened(path) as file, unpacking(path):
        mark = BOM
        while block := file.read(size):
            yield block.removeprefix(mark)
            mark = b""


def head(path: Path, size: int) -> bytes:
    """Return the first `size` bytes, unpacked, without a byte-order mark."""
    return next(blocks(path, size), b"")


def scannable(path: Path) -> Path | bytes:
    """Return an input for Polars in UTF-8: the file if possible, or else its contents; see `held`."""
    with path.open("rb") as file:
        first = file.read(8)
        state = os.fstat(file.fileno())
    if not _packing(first) and first[:2] not in _MARKS and not first.startswith(BOM):
        return path
    key = path.absolute(), state.st_mtime_ns, state.st_size
    if (found := _unpacked.get(key)) is not None:
        return found
    plain = held(blocks(path), str(path))
    if isinstance(plain, Path):
        _unpacked[key] = plain
    return plain


_unpacked: dict[tuple[Path, int, int], Path] = {}
"""Files with what large packed ones hold: a log that is read again is not unpacked again."""

_IN_MEMORY = 64 << 20


def held(pieces: Iterable[bytes], name: str) -> Path | bytes:
    """Return bytes given in pieces: up to 64 MB in memory, more in a file that exists until the program ends.

    Parameters
    ----------
    pieces : iterable of bytes
    name : str
        Name of their source in errors.

    Raises
    ------
    InputError
        More come than there is room for.
    """
    first, size, rest = list[bytes](), 0, iter(pieces)
    for piece in rest:
        first.append(piece)
        size += len(piece)
        if size > _IN_MEMORY:
            with kept_folder() as folder:
                return fill_file(folder / "unpacked", chain(first, rest), name)
    return b"".join(first)


_SHARE = 2
"""One part in so many of the free space may be taken: other programs need room, too."""

_ELSEWHERE = "give a file, or set TMPDIR to where there is room"


def fill_file(path: Path, pieces: Iterable[bytes], name: str) -> Path:
    """Write all pieces to a file of a temporary folder; see `held`."""
    room, size = free_disk(path.parent), 0
    try:
        with path.open("wb") as file:
            for piece in pieces:
                size += len(piece)
                if room is not None and size > room // _SHARE:
                    raise InputError(
                        f"{name}: it holds more than {room / _SHARE / GB:,.3f} GB, and {room / GB:,.3f} GB are free in "
                        f"{path.parent.parent}; rankbench takes half of that at most; {_ELSEWHERE}"
                    )
                file.write(piece)
    except OSError as error:
        raise InputError(
            f"{name}: rankbench cannot keep what it holds in {path.parent.parent} ({error.strerror}, after "
            f"{size / GB:,.3f} GB); {_ELSEWHERE}"
        ) from error
    return path
