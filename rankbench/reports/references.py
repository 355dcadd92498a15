"""The bibliography of a run: rankbench, the data, and the works that contenders, losses and protocols cite."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from rankbench.core.component import Component
from rankbench.core.spec import parse
from rankbench.core.text import latex, one_line
from rankbench.data.cards import card_of
from rankbench.interfaces.dataset import Dataset
from rankbench.interfaces.protocol import Protocol
from rankbench.interfaces.surrogate import Loss
from rankbench.plugin import manager
from rankbench.plugin.registry import base_of
from rankbench.reports.analysis import Analysis
from rankbench.store.records import SuiteRecord

KINDS = ("method", "aggregator", "surrogate", "model", "optimizer")
"""Kinds of components that a contender is made of."""

BY_AUTHOR = (
    ("Beck", "A. Beck and M. Teboulle. A fast iterative shrinkage-thresholding algorithm for linear inverse problems. "
     "SIAM Journal on Imaging Sciences 2(1), 2009."),
    ("Boyd", "S. Boyd and L. Vandenberghe. Convex optimization. Cambridge University Press, 2004."),
    ("Byrd", "R. H. Byrd, P. Lu, J. Nocedal and C. Zhu. A limited memory algorithm for bound constrained optimization. "
     "SIAM Journal on Scientific Computing 16(5), 1995."),
    ("Cao", "Z. Cao, T. Qin, T.-Y. Liu, M.-F. Tsai and H. Li. Learning to rank: from pairwise approach to listwise "
     "approach. ICML, 2007."),
    ("Chapelle", "O. Chapelle. Training a support vector machine in the primal. Neural Computation 19(5), 2007."),
    ("Chapelle", "O. Chapelle, D. Metzler, Y. Zhang and P. Grinspan. Expected reciprocal rank for graded relevance. "
     "CIKM, 2009."),
    ("Chapelle", "O. Chapelle and S. S. Keerthi. Efficient algorithms for ranking with SVMs. "
     "Information Retrieval 13(3), 2010."),
    ("Dekel", "O. Dekel, C. D. Manning and Y. Singer. Log-linear models for label ranking. "
     "Advances in Neural Information Processing Systems 16, 2004."),
    ("Freund", "Y. Freund, R. Iyer, R. E. Schapire and Y. Singer. An efficient boosting algorithm for combining "
     "preferences. Journal of Machine Learning Research 4, 2003."),
    ("Friedman", "M. Friedman. The use of ranks to avoid the assumption of normality implicit in the analysis of "
     "variance. Journal of the American Statistical Association 32, 1937."),
    ("Herbrich", "R. Herbrich, T. Graepel and K. Obermayer. Large margin rank boundaries for ordinal regression. "
     "Advances in Large Margin Classifiers, MIT Press, 2000."),
    ("Hoerl", "A. E. Hoerl and R. W. Kennard. Ridge regression: biased estimation for nonorthogonal problems. "
     "Technometrics 12(1), 1970."),
    ("Joachims", "T. Joachims, L. Granka, B. Pan, H. Hembrooke and G. Gay. Accurately interpreting clickthrough data "
     "as implicit feedback. SIGIR, 2005."),
    ("O'Donoghue", "B. O'Donoghue and E. Candès. Adaptive restart for accelerated gradient schemes. "
     "Foundations of Computational Mathematics 15(3), 2015."),
    ("Ravikumar", "P. Ravikumar, A. Tewari and E. Yang. On NDCG consistency of listwise ranking methods. "
     "AISTATS, 2011."),
    ("Zhang", "T. Zhang. Statistical analysis of some multi-category large margin classification methods. "
     "Journal of Machine Learning Research 5, 2004."),
)  # fmt: skip
"""First authors and texts of the works that a component cites by author and year, without a label."""


def components_of(config: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield kind, name and parameters of a contender's components, unless their plugin is not installed.

    Training data choose one of several points, which are a grid:
    a parameter has all its values then.

    Parameters
    ----------
    config : mapping
        All parameters of a contender, as the plan has them.
    """
    yield from _components(config.get("tuned", [config]), KINDS)


def _components(points: Sequence[Mapping[str, Any]], kinds: Sequence[str]) -> Iterator[tuple[str, str, dict[str, str]]]:
    first = points[0]
    name = first.get("name", "")
    if kind := next((kind for kind in kinds if name in manager.names(kind)), None):
        own = [key for key, value in first.items() if key != "name" and not isinstance(value, dict)]
        yield kind, name, {key: " or ".join(dict.fromkeys(str(point[key]) for point in points)) for key in own}
    for key, value in first.items():
        if isinstance(value, dict) and key in KINDS:
            yield from _components([value], (key,))


def is_own(kind: str, name: str) -> bool:
    """Return whether a component is rankbench's own."""
    return name in manager.names(kind) and manager.origin(kind, name).distribution == "rankbench"


def works_of(cls: type[Component]) -> Iterator[tuple[str, str]]:
    """Yield label and text of the works that the source of a component cites.

    A reference stands in a docstring of the class, of its module, or of rankbench; others are left out.
    """
    docstrings = [
        text for one in cls.__mro__ for text in (one.__doc__, getattr(inspect.getmodule(one), "__doc__", None))
    ]
    known = references() | _cited(filter(None, docstrings))
    for label in re.findall(r"\[(\w+)\]_", cls.source):
        if label in known:
            yield label, known[label]
    for author, text in BY_AUTHOR:
        year = text[-5:-1]
        if re.search(rf"(?<![\w']){author}\b[^;]*\b{year}\b", cls.source):
            yield f"{re.sub(r'[^A-Za-z]', '', author)}{year[2:]}", text


@functools.cache
def references() -> dict[str, str]:
    """Return the references of all docstrings of rankbench by label."""
    return _cited(path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parents[1].rglob("*.py")))


def _cited(texts: Iterable[str]) -> dict[str, str]:
    """Return the references of texts by label; the first text that has a label counts."""
    end = r"(?=\n\s*\n|\n *\.\. \[|\n *\"\"\"|\s*\Z)"
    found = re.findall(rf"\n *\.\. \[(\w+)\]\s+(.+?){end}", "\n".join(texts), re.DOTALL)
    return {label: " ".join(text.split()) for label, text in reversed(found)}


_SENTENCE = re.compile(r"(?<=\w\w)[.?] (?=[^\W_])")
"""End of authors or of a title; a dot after one letter is that of an initial."""

_YEAR = re.compile(r"(?:, | |^)\(?((?:1[89]|20)\d\d)\b(?: ?\([^)]*\))?\)?")
_JOURNAL = re.compile(r"(?P<journal>.+?) (?P<volume>\d+)(?:\((?P<number>[\d/]+)\))?\Z")


def bibtex(key: str, text: str, **more: str) -> str:
    """Return a reference ``A. Author and B. Author. Title. Journal 1(2), 2013.`` as an entry of BibTeX.

    One of another form is an entry whose note is all of the text.

    Parameters
    ----------
    key, text : str
    **more : str
        Fields beside the text's, with their marks of LaTeX.
    """
    parts = _SENTENCE.split(text.removesuffix("."), maxsplit=2)
    where = parts[2] if len(parts) == 3 else parts[-1]
    year = _YEAR.search(where)
    fields = {"note": latex(text)}
    if len(parts) == 3 or (len(parts) == 2 and year):
        authors = re.sub(r",? (?:and|et) |, ", " and ", parts[0]).replace(" and al", " and others")
        fields = {
            "author": latex(authors),
            "title": f"{{{latex(parts[1] if len(parts) == 3 else _without_year(parts[1]))}}}",
        }
        venue = _without_year(where) if len(parts) == 3 else ""
        if journal := _JOURNAL.match(venue):
            fields |= {name: latex(value) for name, value in journal.groupdict().items() if value}
        elif venue:
            fields["howpublished"] = latex(venue)
    if year:
        fields["year"] = year[1]
    kind = "article" if "journal" in fields else "misc"
    lines = ",\n".join(f"  {name} = {{{value}}}" for name, value in (fields | more).items())
    return f"@{kind}{{{key},\n{lines}\n}}\n"


def _without_year(text: str) -> str:
    return _YEAR.sub("", text).strip(" ,.")


def bibliography(analysis: Analysis) -> str:
    """Return BibTeX of all that a run used: rankbench, data sets, and works by label.

    A comment names plugins that are not installed: their works are not known.
    """
    record = analysis.record
    missing = ", ".join(map(one_line, not_installed(record)))
    told = f"% not here are works of plugins that are not installed: {missing}\n" if missing else ""
    data = [(source.dataset, source.fingerprint) for source in record.sources]
    return references_text(_classes(analysis), record.versions.get("rankbench", ""), data) + told


def references_text(classes: Iterable[type[Component]], version: str, data: Iterable[tuple[str, str]]) -> str:
    """Return BibTeX of rankbench, of data sets, each with its fingerprint, and of the works that components cite."""
    known = _known()
    works = _keyed(sorted({work for cls in classes for work in works_of(cls)}))
    stamp = f",\n  version = {{{latex(version)}}}\n}}"
    read = dict(entry for dataset, fingerprint in data for entry in _data(dataset, fingerprint))
    cited = [known.get(label) or bibtex(label, text) for label, text in works.items()]
    return "".join([known["rankbench"].replace("\n}", stamp), *read.values(), *cited])


def _keyed(works: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return texts by label; where plugins give one label to several works, the later keys end with b, c, ..."""
    found: dict[str, str] = {}
    for label, text in works:
        key = next(key for key in (label, *(f"{label}{end}" for end in ascii_lowercase[1:])) if key not in found)
        found[key] = text
    return found


def not_installed(record: SuiteRecord) -> list[str]:
    """Return the plugins of a run that are not here in the versions that it had: pages describe their components."""
    here = {one.distribution: one.version for one in manager.statuses()}
    return [name for name in record.plugins if here.get(name) != record.versions.get(name)]


def _known() -> dict[str, str]:
    """Return entries of BibTeX that have more fields than a reference, by key."""
    text = files("rankbench.html").joinpath("assets", "citations.bib").read_text(encoding="utf-8")
    return {key: entry for entry, key in re.findall(r"(?ms)^(@\w+\{(\w+),.*?^\}\n)", text)}


def _classes(analysis: Analysis) -> Iterator[type[Component]]:
    """Yield the classes of components that a run used."""
    record = analysis.record
    for config in (
        runs.config for one in analysis.sections for matched in one.data.by_n for runs in matched.contenders
    ):
        for kind, name, _ in components_of(config):
            yield manager.component_class(base_of(kind), name)
    used: list[tuple[type[Component], str]] = [(Protocol, source.protocol) for source in record.sources]
    used += [(Loss, loss) for experiment in record.experiments for loss in experiment.losses]
    for base, spec in used:
        name = parse(spec).name
        if name in manager.names(base.kind):
            yield manager.component_class(base, name)


def _data(dataset: str, fingerprint: str) -> Iterator[tuple[str, str]]:
    """Yield key and entry of a data set that has a card, or that an installed class reads."""
    if (card := card_of(fingerprint)) is not None:
        note = latex(f"Licence of the data: {card.licence}")
        yield card.name, bibtex(card.name, card.citation, url=card.homepage, note=note)
        return
    name = dataset.partition(":")[0]
    if name in manager.names(Dataset.kind) and (cls := manager.component_class(Dataset, name)).citation:
        yield name, bibtex(name, cls.citation, note=latex(f"{dataset}; licence: {cls.licence}"))
