"""Compile the kernels of this checkout into a folder, for hatch_build.py: compile.py FOLDER."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def compile_into(folder: Path) -> None:
    """Compile in the user's cache folder, so that the next time compiles only what has changed, and copy from it."""
    from kernels import compile_all, processes

    from rankbench.core.code_digest import compiled_digest
    from rankbench.core.runtime import available_cores, settle_runtime

    os.environ.pop("NUMBA_CACHE_DIR", None)  # a folder of the user's choice may hold other code's
    settle_runtime()
    cores = available_cores()
    with processes(cores) as pool:
        compile_all(pool, cores)
    for path in sorted(Path(os.environ["NUMBA_CACHE_DIR"]).glob("rankbench*/*.nb[ci]")):
        place = folder / compiled_digest()[:16] / path.parent.name
        place.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place / path.name)


if __name__ == "__main__":
    # This checkout comes before a rankbench that is installed, in the processes that are started, too.
    sys.path.insert(0, str(ROOT))
    compile_into(Path(sys.argv[1]))
