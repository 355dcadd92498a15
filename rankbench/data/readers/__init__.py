"""Readers turn one file format each into a lazy frame; the hook registers the built-in ones."""

from __future__ import annotations

from rankbench.interfaces.dataset import Reader
from rankbench.plugin.registry import hookimpl

__all__ = ["rankbench_register"]


@hookimpl
def rankbench_register() -> list[type[Reader]]:
    """Return the built-in readers."""
    from rankbench.data.readers.ballot_lines import AbifReader, CefReader
    from rankbench.data.readers.ballots import BltReader, PreflibReader
    from rankbench.data.readers.choose import PartsReader
    from rankbench.data.readers.csv import CsvReader
    from rankbench.data.readers.excel import ExcelReader
    from rankbench.data.readers.json import JsonReader, NdjsonReader
    from rankbench.data.readers.letor import LetorReader
    from rankbench.data.readers.movielens import MovieLensReader
    from rankbench.data.readers.parquet import ParquetReader
    from rankbench.data.readers.trec import TrecReader
    from rankbench.data.readers.trec_eval import TrecEvalReader
    from rankbench.data.readers.yandex import YandexReader

    return [
        *(LetorReader, ParquetReader, CsvReader, NdjsonReader, JsonReader, ExcelReader),
        *(PreflibReader, BltReader, AbifReader, CefReader, YandexReader, MovieLensReader, PartsReader, TrecReader),
        TrecEvalReader,
    ]
