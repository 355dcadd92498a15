"""One block in a process of its own: ``python -m rankbench.runner.remote FOLDER TASK RESULT``.

A machine of a cluster runs this, so that a block which hangs or dies takes nothing else
with it. FOLDER holds what `rankbench.runner.share` wrote, TASK is a file of JSON; RESULT is
written whole or not at all.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["main"]


def main(folder: str, task: str, result: str) -> None:
    """Run the block of the file `task`, and write its result."""
    from rankbench.runtime import prepare

    prepare()
    from rankbench.runner.blocks import run_block
    from rankbench.runner.isolation import alone
    from rankbench.runner.share import open_shared
    from rankbench.runner.wire import result_to_bytes, task_from_json

    alone()
    read = task_from_json(Path(task).read_text(encoding="utf-8"))
    block = run_block(open_shared(Path(folder), read.source), read)
    part = Path(f"{result}.part")
    part.write_bytes(result_to_bytes(block))
    os.replace(part, result)


if __name__ == "__main__":
    main(*sys.argv[1:])
