"""Every module with compiled functions settles numba's cache folder before it compiles.

`rankbench.kernels.signatures`, which `rankbench.kernels.declared` imports, calls `settle_runtime` when it is imported.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rankbench

PACKAGE = Path(rankbench.__file__).parent
NUMBA = re.compile(r"^(from|import) numba", re.M)
SETTLES = re.compile(r"^(from rankbench\.kernels\.(signatures|declared) import|settle_runtime\(\)$)", re.M)
MODULES = {path: path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
# numba imports `machine_code` itself, once it is prepared.
COMPILED = [path for path, text in MODULES.items() if NUMBA.search(text) and path.name != "machine_code.py"]


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_that_compiles_settles_the_folder_or_imports_what_does(path):
    assert SETTLES.search(MODULES[path])


def test_there_is_something_to_check():
    assert len(COMPILED) > 15
    assert SETTLES.search(MODULES[PACKAGE / "kernels" / "signatures.py"])
    assert SETTLES.search(MODULES[PACKAGE / "kernels" / "declared.py"])
